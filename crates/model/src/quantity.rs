//! What is measured: the quantities that a probe declares. A stored run carries them, so that whoever reads it needs no
//! probe.

use crate::units::Ns;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap};

/// Text that is written in the source, or read from a stored run.
pub type Text = Cow<'static, str>;

/// A measured quantity, as its probe declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantity {
    /// The name in records, plans and tables: `latency`.
    pub name: Text,
    /// `ns`, `ps` (also a time), or one that is no time, such as `urad`.
    pub unit: Text,
    /// For headings: `Wake-up latency`; `Mutex: lock` is `lock` under the heading of its probe.
    pub title: Text,
    /// What one sample is: `wake-up`, `call`.
    pub noun: Text,
    /// Whether limits and headlines look at it: how long a sleep was asked to be, or what the clock costs, is nobody's
    /// failure.
    pub judged: bool,
    /// Whether it is measured slot by slot of a schedule, each met, late or missed.
    pub periodic: bool,
    /// What the live view calls its latest value: `now`, `last gap`.
    pub latest: Text,
    /// The value beyond which there is nothing to measure any more, such as the angle of a fallen pendulum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<i64>,
    /// Whether its samples follow each other without a pause: the longest is how long everything stood still.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continuous: bool,
}

fn is_false(it: &bool) -> bool {
    !it
}

impl Quantity {
    /// A time in ns that limits look at.
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

    /// The title under the heading of its probe: what stands behind a colon of the title, else the name in words.
    pub fn short(&self) -> String {
        let behind = self.title.split_once(": ").map(|(_, short)| short.to_owned());
        behind.unwrap_or_else(|| self.name.replace('_', " "))
    }

    /// With slots that are met, late or missed.
    pub fn periodic(self) -> Self {
        Self { periodic: true, ..self }
    }

    /// With samples that follow each other without a pause.
    pub fn continuous(self) -> Self {
        Self { continuous: true, ..self }
    }

    /// Nothing that limits look at.
    pub fn beside(self) -> Self {
        Self { judged: false, ..self }
    }

    /// In another unit.
    pub fn in_unit(self, unit: &'static str) -> Self {
        Self { unit: Cow::Borrowed(unit), ..self }
    }

    /// With a word of its own for a sample.
    pub fn each(self, noun: &'static str) -> Self {
        Self { noun: Cow::Borrowed(noun), ..self }
    }

    /// With words of its own for the latest value.
    pub fn latest(self, words: &'static str) -> Self {
        Self { latest: Cow::Borrowed(words), ..self }
    }

    /// With a value at which it ends.
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
    /// What tells its series of one quantity apart, with the values possible: `kind` of a mutex, `size` of a matrix.
    pub labels: Vec<(String, Vec<String>)>,
    /// The label of series that hold samples which another series of their quantity holds too: those of single tasks beside those of
    /// their class. Whoever counts samples leaves them out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts_by: Option<String>,
    /// Its options that count samples (`cycles`, `iterations`): what `--scale` shortens besides the duration. 0 means
    /// without end there and stays.
    pub counts: Vec<String>,
    /// Whether the cell ends after a number of samples of the probe's own instead of after the cell's duration.
    pub counts_samples: bool,
    /// How long it takes to have its own number of samples, as far as its options say: for the time that a plan needs.
    pub expected: Option<Ns>,
    /// How far apart the slots of its periodic quantities are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Ns>,
    /// By when after its time a slot is to be done, where that was asked for: what counts as late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Ns>,
    /// The limit that its options mean, where the cell names none: a program with a period is to keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_limit: Option<Ns>,
    /// Whether its samples are made up: nothing is measured, so that no policy is asked for and nothing is advised.
    #[serde(default, skip_serializing_if = "is_false")]
    pub made_up: bool,
    /// Whether the probe only looks on: it runs no thread of latido's, so that its cells have no policy of latido's.
    #[serde(default, skip_serializing_if = "is_false")]
    pub looks_on: bool,
    /// The options of the probe that are not its defaults; absent in runs that older versions stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<toml::Table>,
}

impl Measurand {
    /// These quantities under a heading; the cell ends after its duration.
    pub fn new(title: &'static str, quantities: impl Into<Vec<Quantity>>) -> Self {
        Self { title: title.into(), quantities: quantities.into(), ..Self::default() }
    }

    /// With an option that counts samples: unless it is 0 the cell ends after so many.
    pub fn counted_by(mut self, option: &str, samples: u64) -> Self {
        self.counts.push(option.into());
        self.counts_samples |= samples > 0;
        self
    }

    /// With a time that it takes to have its own number of samples.
    pub fn expected(self, time: Ns) -> Self {
        Self { expected: Some(time), ..self }
    }

    /// With slots so far apart.
    pub fn every(self, period: Ns) -> Self {
        Self { period: Some(period), ..self }
    }

    /// With a label and its values.
    pub fn labelled(mut self, key: &str, values: impl IntoIterator<Item = impl ToString>) -> Self {
        self.labels.push((key.into(), values.into_iter().map(|value| value.to_string()).collect()));
        self
    }

    /// With series of this label that hold samples of others again.
    #[must_use]
    pub fn parts_by(mut self, label: &str) -> Self {
        self.parts_by = Some(label.into());
        self
    }

    /// Whether a series with these labels holds samples that another one holds too.
    pub fn is_part(&self, labels: &BTreeMap<String, String>) -> bool {
        self.parts_by.as_ref().is_some_and(|label| labels.contains_key(label))
    }

    /// The quantity of this name.
    pub fn quantity(&self, name: &str) -> Option<&Quantity> {
        self.quantities.iter().find(|quantity| quantity.name == name)
    }

    /// Whether limits look at a quantity; they do at one that nobody declared.
    pub fn judges(&self, name: &str) -> bool {
        self.quantity(name).is_none_or(|quantity| quantity.judged)
    }

    /// Whether it has a quantity of this name.
    pub fn yields(&self, name: &str) -> bool {
        self.quantity(name).is_some()
    }
}
