//! What is measured: the quantities that a probe declares. A stored run contains them, so that a reader of the run needs no probe.

use crate::units::Ns;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap};

/// Text from the source code, or read from a stored run.
pub type Text = Cow<'static, str>;

/// A measured quantity, as its probe declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantity {
    /// The name in records, plans and tables: `latency`.
    pub name: Text,
    /// `ns`, `ps` (also a time), or a unit that is not a time, such as `urad`.
    pub unit: Text,
    /// For headings: `Wake-up latency`; `Mutex: lock` is `lock` under the heading of its probe.
    pub title: Text,
    /// What one sample is: `wake-up`, `call`.
    pub noun: Text,
    /// Whether limits and headlines use it. The requested length of a sleep or the cost of the clock, for example, is not a failure.
    pub judged: bool,
    /// Whether it is measured for the slots of a schedule, each met, late or missed.
    pub periodic: bool,
    /// The live view's name for its latest value: `now`, `last gap`.
    pub latest: Text,
    /// The value at which the measurement has nothing left to measure, such as the angle of a fallen pendulum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<i64>,
    /// Whether its samples follow each other without a pause. The longest one then shows how long everything stood still.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continuous: bool,
}

fn is_false(it: &bool) -> bool {
    !it
}

impl Quantity {
    /// Creates a time in ns that limits apply to.
    pub const fn time(name: &'static str, title: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            unit: Cow::Borrowed("ns"),
            title: Cow::Borrowed(title),
            noun: Cow::Borrowed("sample"),
            judged: true,
            periodic: false,
            latest: Cow::Borrowed("now"),
            bound: None,
            continuous: false,
        }
    }

    /// Returns the title under the heading of its probe: the part after a colon in the title, else the name in words.
    pub fn short(&self) -> String {
        let behind = self.title.split_once(": ").map(|(_, short)| short.to_owned());
        behind.unwrap_or_else(|| self.name.replace('_', " "))
    }

    /// Adds slots that are met, late or missed.
    pub fn periodic(self) -> Self {
        Self { periodic: true, ..self }
    }

    /// Makes its samples follow each other without a pause.
    pub fn continuous(self) -> Self {
        Self { continuous: true, ..self }
    }

    /// Exempts it from limits.
    pub fn beside(self) -> Self {
        Self { judged: false, ..self }
    }

    /// Changes its unit.
    pub fn in_unit(self, unit: &'static str) -> Self {
        Self { unit: Cow::Borrowed(unit), ..self }
    }

    /// Sets the word for one sample.
    pub fn each(self, noun: &'static str) -> Self {
        Self { noun: Cow::Borrowed(noun), ..self }
    }

    /// Sets the words for the latest value.
    pub fn latest(self, words: &'static str) -> Self {
        Self { latest: Cow::Borrowed(words), ..self }
    }

    /// Sets a value at which it ends.
    pub fn up_to(self, bound: i64) -> Self {
        Self { bound: Some(bound), ..self }
    }
}

/// What a probe with its options measures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurand {
    /// The heading above all of its quantities: `Mutex calls`.
    pub title: Text,
    /// The quantities.
    pub quantities: Vec<Quantity>,
    /// What distinguishes its series of one quantity, with the possible values: `kind` of a mutex, `size` of a matrix.
    pub labels: Vec<(String, Vec<String>)>,
    /// The label of series whose samples another series of the same quantity contains too: the series of single tasks in addition to those
    /// of their class. A count of samples must leave them out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts_by: Option<String>,
    /// Its options that count samples (`cycles`, `iterations`). `--scale` shortens them in addition to the duration. 0 means without end
    /// and stays 0.
    pub counts: Vec<String>,
    /// Whether the cell ends after the probe's number of samples instead of after the cell's duration.
    pub counts_samples: bool,
    /// How long the probe takes for its number of samples, as far as its options tell. The estimate of a plan's time uses it.
    pub expected: Option<Ns>,
    /// The time between the slots of its periodic quantities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Ns>,
    /// How long after its time a slot must be done, if this was requested; a later one counts as late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Ns>,
    /// The limit that its options imply, used if the cell names none: a program with a period must keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_limit: Option<Ns>,
    /// Whether its samples are made up. Then nothing is measured, and latido requests no policy and gives no advice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub made_up: bool,
    /// Whether the probe only watches passively: it runs no latido thread, so that its cells have no policy from latido.
    #[serde(default, skip_serializing_if = "is_false")]
    pub looks_on: bool,
    /// The options of the probe that differ from its defaults; absent in runs that older versions stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<toml::Table>,
}

impl Measurand {
    /// Creates a measurand from these quantities and a heading; the cell ends after its duration.
    pub fn new(title: &'static str, quantities: impl Into<Vec<Quantity>>) -> Self {
        Self { title: title.into(), quantities: quantities.into(), ..Self::default() }
    }

    /// Adds an option that counts samples. Unless it is 0, the cell ends after this many.
    pub fn counted_by(mut self, option: &str, samples: u64) -> Self {
        self.counts.push(option.into());
        self.counts_samples |= samples > 0;
        self
    }

    /// Sets the time that it takes for its number of samples.
    pub fn expected(self, time: Ns) -> Self {
        Self { expected: Some(time), ..self }
    }

    /// Sets the time between slots.
    pub fn every(self, period: Ns) -> Self {
        Self { period: Some(period), ..self }
    }

    /// Adds a label and its values.
    pub fn labelled(mut self, key: &str, values: impl IntoIterator<Item = impl ToString>) -> Self {
        self.labels.push((key.into(), values.into_iter().map(|value| value.to_string()).collect()));
        self
    }

    /// Sets the label of series whose samples other series contain too.
    #[must_use]
    pub fn parts_by(mut self, label: &str) -> Self {
        self.parts_by = Some(label.into());
        self
    }

    /// Whether another series contains the samples of a series with these labels too.
    pub fn is_part(&self, labels: &BTreeMap<String, String>) -> bool {
        self.parts_by.as_ref().is_some_and(|label| labels.contains_key(label))
    }

    /// The quantity of this name.
    pub fn quantity(&self, name: &str) -> Option<&Quantity> {
        self.quantities.iter().find(|quantity| quantity.name == name)
    }

    /// Whether limits apply to a quantity; they apply to undeclared ones.
    pub fn judges(&self, name: &str) -> bool {
        self.quantity(name).is_none_or(|quantity| quantity.judged)
    }

    /// Whether it has a quantity of this name.
    pub fn yields(&self, name: &str) -> bool {
        self.quantity(name).is_some()
    }
}
