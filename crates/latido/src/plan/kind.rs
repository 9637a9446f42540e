//! The three lists of named items (probes, loads, tunings) seen alike, for plans, words and `list`.

use crate::{
    cell::Item,
    load::LOADS,
    probe::PROBES,
    registry::{Def, find},
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
    pub fn objection(self, name: &str, key: &str, value: &Value) -> Option<String> {
        let item = Item { name: name.into(), options: Table::from_iter([(key.to_string(), value.clone())]) };
        self.read(&item).err().map(|error| plain(&error)).filter(|message| !message.starts_with("missing field"))
    }
}

/// The right names in serde's complaint about an unknown key, or `None` for any other complaint.
pub fn unknown_option(objection: &str) -> Option<Vec<&str>> {
    let (_, expected) = objection.strip_prefix("unknown field `")?.split_once("`, ")?;
    Some(expected.split('`').skip(1).step_by(2).collect())
}

/// The message of an item in one line, without the key path that toml adds.
pub fn plain(error: &anyhow::Error) -> String {
    match error.downcast_ref::<toml::de::Error>() {
        Some(error) => error.message().trim().replace('\n', " "),
        None => format!("{error:#}").trim().replace('\n', " "),
    }
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
