//! The three lists of named items (probes, loads, tunings) seen alike, for plans, words and `list`.

use crate::{
    cell::Item,
    load::LOADS,
    probe::PROBES,
    registry::{Def, Objection, find},
    tuning::TUNINGS,
};
use anyhow::Result;
use toml::{Table, Value};

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`PROBES`].
    Probe,
    /// [`LOADS`].
    Load,
    /// [`TUNINGS`].
    Tuning,
    /// A list of one item with every kind of option.
    #[cfg(test)]
    Trial,
}

/// What a list says of an item.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// The whole help text.
    #[serde(skip)]
    pub help: &'static str,
    /// The option that a leading bare word sets.
    pub main_option: Option<&'static str>,
}

impl<T: ?Sized> From<&Def<T>> for Entry {
    fn from(def: &Def<T>) -> Self {
        Self { name: def.name, about: def.about, help: def.help, main_option: def.main_option }
    }
}

impl Kind {
    /// The kinds that people can name.
    pub const ALL: [Self; 3] = [Self::Probe, Self::Load, Self::Tuning];

    /// As complaints call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Load => "load",
            Self::Tuning => "tuning",
            #[cfg(test)]
            Self::Trial => "trial",
        }
    }

    /// Everything in the list.
    pub fn entries(self) -> Vec<Entry> {
        match self {
            Self::Probe => PROBES.iter().map(Entry::from).collect(),
            Self::Load => LOADS.iter().map(Entry::from).collect(),
            Self::Tuning => TUNINGS.iter().map(Entry::from).collect(),
            #[cfg(test)]
            Self::Trial => trial::TRIALS.iter().map(Entry::from).collect(),
        }
    }

    /// The entry of a name.
    pub fn entry(self, name: &str) -> Option<Entry> {
        self.entries().into_iter().find(|entry| entry.name == name)
    }

    /// Has the item read its options; returns them after defaults.
    ///
    /// # Errors
    /// What the item objects to.
    pub fn read(self, item: &Item) -> Result<Table> {
        let options = item.options.clone();
        Ok(match self {
            Self::Probe => (find("probe", PROBES, &item.name)?.new)(options)?.options(),
            Self::Load => (find("load", LOADS, &item.name)?.new)(options)?.options(),
            Self::Tuning => (find("tuning", TUNINGS, &item.name)?.new)(options)?.options(),
            #[cfg(test)]
            Self::Trial => (find("trial", trial::TRIALS, &item.name)?.new)(options)?.options(),
        })
    }

    /// A word as the value that the option takes: a number or truth value where it takes one, else a string.
    pub fn value(self, name: &str, key: &str, word: &str) -> Value {
        let text = Value::String(word.into());
        let scalar = match (word.parse(), word.parse(), word.parse()) {
            (Ok(number), _, _) => Value::Integer(number),
            (_, Ok(truth), _) => Value::Boolean(truth),
            (_, _, Ok(number)) if word.starts_with(|c: char| c.is_ascii_digit() || c == '-') => Value::Float(number),
            _ => return text,
        };
        let refused = |value| self.objection(name, key, value).is_some();
        if refused(&scalar) && !refused(&text) { text } else { scalar }
    }

    /// What the item says against one option alone, whatever else it may need.
    pub fn objection(self, name: &str, key: &str, value: &Value) -> Option<anyhow::Error> {
        let item = Item { name: name.into(), options: Table::from_iter([(key.to_string(), value.clone())]) };
        self.read(&item).err().filter(|error| !matches!(error.downcast_ref(), Some(Objection::Missing(_))))
    }

    /// The names of an item's options; none where it takes any.
    pub fn options(self, name: &str) -> Vec<String> {
        // No option has an empty name, so an item that knows its options tells them.
        let objection = self.objection(name, "", &Value::Boolean(true));
        match objection.as_ref().and_then(|error| error.downcast_ref()) {
            Some(Objection::Unknown { known, .. }) => known.clone(),
            _ => Vec::new(),
        }
    }

    /// A complaint about an item: "probe `wakeup` has no option...", "probe `wakeup`: `cycles` must be...".
    pub fn complaint(self, name: &str, error: &anyhow::Error) -> String {
        let colon = if is_unknown(error) { "" } else { ":" };
        format!("{} `{name}`{colon} {}", self.word(), format!("{error:#}").trim().replace('\n', " "))
    }
}

/// Whether an item objects to an option because it has none of that name.
pub fn is_unknown(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Objection::Unknown { .. }))
}

#[cfg(test)]
mod trial {
    use crate::{
        agent::stage::Stage,
        probe::Probe,
        registry::{self, Def},
        units::Ns,
    };
    use serde::{Deserialize, Serialize};

    pub const TRIALS: &[Def<dyn Probe>] = &[
        Def {
            name: "trial",
            about: "for tests",
            help: "",
            main_option: Some("period"),
            new: |table| Ok(Box::new(registry::options::<Trial>(table)?)),
        },
        Def {
            name: "command",
            about: "for tests",
            help: "",
            main_option: Some("argv"),
            new: |mut table| {
                table.insert("period".into(), "1ms".into());
                Ok(Box::new(registry::options::<Trial>(table)?))
            },
        },
    ];

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Trial {
        #[serde(default)]
        argv: Vec<String>,
        #[serde(default)]
        sleep: u32,
        #[serde(default)]
        cpus: String,
        period: Ns,
    }

    impl Probe for Trial {
        fn options(&self) -> toml::Table {
            registry::resolved(self)
        }
        fn quantities(&self) -> &'static [&'static str] {
            &["latency"]
        }
        fn measure(&self, _stage: &mut Stage) -> anyhow::Result<()> {
            Ok(())
        }
    }
}
