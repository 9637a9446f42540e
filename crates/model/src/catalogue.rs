//! What latido can measure with: the names, options and quantities of probes, loads and tunings, as plans and the command line request
//! them. The items themselves run on the target; this module only describes them.

#[cfg(any(test, feature = "sample"))]
pub mod trial;

#[cfg(any(test, feature = "sample"))]
pub use trial::trial;

use crate::{
    cell::{Cell, Item},
    quantity::Measurand,
    registry::{Def, Objection},
};
use anyhow::Result;
use toml::{Table, Value};

/// One of the three lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Measuring procedures.
    Probe,
    /// What disturbs the machine meanwhile.
    Load,
    /// Reversible changes of the machine's settings.
    Tuning,
}

impl Kind {
    /// All three lists.
    pub const ALL: [Self; 3] = [Self::Probe, Self::Load, Self::Tuning];

    /// Returns its name in error messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Load => "load",
            Self::Tuning => "tuning",
        }
    }

    /// Words an error about an item: "probe `wakeup` has no option...", "probe `wakeup`: `cycles` must be...".
    pub fn complaint(self, name: &str, error: &anyhow::Error) -> String {
        let colon = if is_unknown(error) { "" } else { ":" };
        format!("{} `{name}`{colon} {}", self.word(), format!("{error:#}").trim().replace('\n', " "))
    }
}

/// The description of an item in a list.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// A description in one line.
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

/// The three lists, and what their items describe.
pub trait Catalogue {
    /// Returns all items of a list.
    fn entries(&self, kind: Kind) -> Vec<Entry>;

    /// Has the item read its options. Returns them with the defaults filled in.
    ///
    /// # Errors
    /// What the item refuses.
    fn read(&self, kind: Kind, item: &Item) -> Result<Table>;

    /// Returns what a probe with these options measures.
    ///
    /// # Errors
    /// As [`Catalogue::read`].
    fn measurand(&self, probe: &Item) -> Result<Measurand>;

    /// Refuses a cell that its probe cannot measure on any machine, with the reason and the remedy.
    ///
    /// # Errors
    /// The reason.
    fn check(&self, cell: &Cell) -> Result<()>;
}

impl<'a> dyn Catalogue + 'a {
    /// Returns one of the lists.
    pub fn list(&'a self, kind: Kind) -> List<'a> {
        List { kind, catalogue: self }
    }
}

/// Returns the options of a probe without the defaults. An option is a default if leaving it out changes nothing.
///
/// # Errors
/// As [`Catalogue::read`].
pub fn chosen(catalogue: &dyn Catalogue, probe: &Item) -> Result<Table> {
    let whole = catalogue.read(Kind::Probe, probe)?;
    let mut kept = whole.clone();
    for key in whole.keys() {
        let mut fewer = kept.clone();
        fewer.remove(key);
        let item = Item { name: probe.name.clone(), options: fewer };
        if catalogue.read(Kind::Probe, &item).is_ok_and(|read| read == whole) {
            kept = item.options;
        }
    }
    Ok(kept)
}

/// One list of a catalogue.
#[derive(Clone, Copy)]
pub struct List<'a> {
    /// Which of the three lists it is.
    pub kind: Kind,
    catalogue: &'a dyn Catalogue,
}

impl List<'_> {
    /// Returns all items of the list.
    pub fn entries(self) -> Vec<Entry> {
        self.catalogue.entries(self.kind)
    }

    /// Returns the entry with this name.
    pub fn entry(self, name: &str) -> Option<Entry> {
        self.entries().into_iter().find(|entry| entry.name == name)
    }

    /// Has the item read its options. Returns them with the defaults filled in.
    ///
    /// # Errors
    /// What the item refuses.
    pub fn read(self, item: &Item) -> Result<Table> {
        self.catalogue.read(self.kind, item)
    }

    /// Returns a word as the value that the option takes: a number or truth value where it takes one, else a string.
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

    /// Returns the item's objection to one option alone, whatever other options it may need.
    pub fn objection(self, name: &str, key: &str, value: &Value) -> Option<anyhow::Error> {
        let item = Item { name: name.into(), options: Table::from_iter([(key.to_string(), value.clone())]) };
        self.read(&item).err().filter(|error| !matches!(error.downcast_ref(), Some(Objection::Missing(_))))
    }

    /// Returns the names of an item's options; empty if it takes any.
    pub fn options(self, name: &str) -> Vec<String> {
        // No option has an empty name, so an item that knows its options lists them in the error.
        let objection = self.objection(name, "", &Value::Boolean(true));
        match objection.as_ref().and_then(|error| error.downcast_ref()) {
            Some(Objection::Unknown { known, .. }) => known.clone(),
            _ => Vec::new(),
        }
    }
}

/// Returns whether an item refuses an option because it has no option of that name.
pub fn is_unknown(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Objection::Unknown { .. }))
}
