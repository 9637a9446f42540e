//! The lists that make a probe, load or tuning one file and one line.

use crate::suggest::nearest;
use anyhow::{Context, Result, bail};

/// One entry of a folder's list.
pub struct Def<T: ?Sized + 'static> {
    /// The name in plans and on the command line.
    pub name: &'static str,
    /// One line for `latido list`.
    pub about: &'static str,
    /// The text of `latido help NAME`: options with units and defaults, what a sample is, sources.
    pub help: &'static str,
    /// The option that a leading bare word sets (`throttle:off`), if any.
    pub main_option: Option<&'static str>,
    /// Reads the options; refuses what it does not know.
    pub new: fn(toml::Table) -> Result<Box<T>>,
}

/// Finds an entry by name, or says which name was probably meant.
///
/// # Errors
/// No entry has the name.
pub fn find<T: ?Sized>(kind: &str, list: &'static [Def<T>], name: &str) -> Result<&'static Def<T>> {
    match list.iter().find(|def| def.name == name) {
        Some(def) => Ok(def),
        None => {
            let hint = nearest(name, list.iter().map(|def| def.name));
            bail!("there is no {kind} `{name}`{hint}; `latido list {kind}s` shows them all")
        }
    }
}

/// Reads an item's options into its own type; a misspelt key or an impossible value is named.
///
/// # Errors
/// An unknown key, a value of the wrong kind or unit.
pub fn options<T: serde::de::DeserializeOwned>(table: toml::Table) -> Result<T> {
    table.try_into::<T>().map_err(anyhow::Error::from)
}

/// The options of a resolved item, after defaults, for the record.
pub fn resolved<T: serde::Serialize>(options: &T) -> toml::Table {
    // Options are plain structs of strings, numbers and booleans: they always fit a table.
    toml::Table::try_from(options).unwrap_or_default()
}

/// Builds the item named in a cell.
///
/// # Errors
/// As [`find`] and [`options`], with the item's name in front.
pub fn build<T: ?Sized>(kind: &str, list: &'static [Def<T>], item: &crate::cell::Item) -> Result<Box<T>> {
    let def = find(kind, list, &item.name)?;
    (def.new)(item.options.clone()).with_context(|| format!("{kind} `{}`", item.name))
}
