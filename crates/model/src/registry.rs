//! The lists through which a probe, load or tuning needs only one file and one line.

use crate::suggest::nearest;
use anyhow::{Context, Result, bail};
use std::fmt;

/// One entry of a list.
pub struct Def<T: ?Sized + 'static> {
    /// The name in plans and on the command line.
    pub name: &'static str,
    /// One line for `latido list`.
    pub about: &'static str,
    /// The text of `latido help NAME`: options with units and defaults, what a sample is, sources.
    pub help: &'static str,
    /// The option that a bare word at the start sets (`throttle:off`), if any.
    pub main_option: Option<&'static str>,
    /// Reads the options; refuses unknown ones.
    pub new: fn(toml::Table) -> Result<Box<T>>,
}

/// Finds an entry by name, or suggests the name that was probably meant.
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

/// What is wrong with an item's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// The option does not exist.
    Unknown {
        /// The option as written.
        key: String,
        /// The options that exist.
        known: Vec<String>,
    },
    /// An option without a default is missing.
    Missing(String),
    /// An option cannot have this value; the sentence says which values it may have.
    Value(String),
}

impl std::error::Error for Objection {}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { key, known } => {
                let hint = nearest(key, known.iter().map(String::as_str));
                let has = if known.is_empty() { "no options".into() } else { known.join(", ") };
                write!(f, "has no option `{key}`{hint}; it has {has}")
            }
            Self::Missing(key) => write!(f, "the required option `{key}` is missing"),
            Self::Value(sentence) => f.write_str(sentence),
        }
    }
}

/// Reads an item's options into its own type. The error names a misspelt key or an impossible value.
///
/// # Errors
/// An [`Objection`].
pub fn options<T: serde::de::DeserializeOwned>(table: toml::Table) -> Result<T> {
    table.clone().try_into::<T>().map_err(|error| objection(&table, &error).into())
}

/// Translates the words of the TOML reader (serde's, which are the same in every release) into a sentence for people.
fn objection(table: &toml::Table, error: &toml::de::Error) -> Objection {
    let message = error.message().trim().replace('\n', " ");
    let whole = error.to_string();
    // The reader adds the path to the value as a last line: in `key`.
    let path = whole.trim_end().lines().last().and_then(|line| line.strip_prefix("in `")?.strip_suffix('`'));
    if let Some((key, expected)) = quoted(&message, "unknown field ") {
        return Objection::Unknown { key: key.into(), known: names(expected) };
    }
    if let Some((key, _)) = quoted(&message, "missing field ") {
        return Objection::Missing(key.into());
    }
    let Some(key) = path else { return Objection::Value(message) };
    if let Some((word, expected)) = quoted(&message, "unknown variant ") {
        return unknown_word(key, word, &names(expected));
    }
    let value = key.split('.').next().and_then(|key| table.get(key));
    let given = value.map(crate::written::value).unwrap_or_default();
    let too_large = value.and_then(toml::Value::as_integer).is_some_and(|number| number > 0);
    let mistyped = message.starts_with("invalid type: ") || message.starts_with("invalid value: ");
    match message.rsplit_once(", expected ").filter(|_| mistyped).and_then(|(_, expected)| wanted(expected, too_large))
    {
        Some(wanted) => Objection::Value(format!("`{key}` must be {wanted}, not {given}")),
        None => Objection::Value(format!("`{key}`: {message}")),
    }
}

/// Reads one of some known words, for an option that a table describes instead of a type.
///
/// # Errors
/// An [`Objection`], as [`options`] gives for the names of an enum.
pub fn word<'a>(key: &str, given: &'a toml::Value, known: impl IntoIterator<Item = &'a str>) -> Result<&'a str> {
    let Some(word) = given.as_str() else {
        let given = crate::written::value(given);
        return Err(Objection::Value(format!("`{key}` must be one of its names, not {given}")).into());
    };
    let known: Vec<String> = known.into_iter().map(String::from).collect();
    if known.iter().any(|name| name == word) { Ok(word) } else { Err(unknown_word(key, word, &known).into()) }
}

fn unknown_word(key: &str, word: &str, known: &[String]) -> Objection {
    let hint = nearest(word, known.iter().map(String::as_str));
    Objection::Value(format!("`{key}` has no value `{word}`{hint}; its values are {}", known.join(", ")))
}

/// Returns the word in backquotes after a beginning, and what follows it.
fn quoted<'a>(message: &'a str, beginning: &str) -> Option<(&'a str, &'a str)> {
    message.strip_prefix(beginning)?.strip_prefix('`')?.split_once('`')
}

/// Returns all words in backquotes.
fn names(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(String::from).collect()
}

/// Returns what a value must be, from the name of its Rust type in the reader's words; with the largest value if it was exceeded.
fn wanted(expected: &str, too_large: bool) -> Option<String> {
    let most = match expected {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        // The largest number of TOML is not worth printing.
        "u64" | "usize" => return Some("a whole number from 0".into()),
        "i8" | "i16" | "i32" | "i64" | "isize" => return Some("a whole number".into()),
        "f32" | "f64" => return Some("a number".into()),
        "string only" => return Some("one of its names".into()),
        "a boolean" => return Some("true or false".into()),
        "a string" => return Some("a text".into()),
        "a sequence" => return Some("a list".into()),
        _ => return None,
    };
    Some(if too_large { format!("a whole number from 0 to {most}") } else { "a whole number from 0".into() })
}

/// As [`options`], with the item's default for each missing option.
///
/// # Errors
/// As [`options`].
pub fn with_defaults<T>(table: toml::Table, defaults: T) -> Result<T>
where
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    let mut whole = resolved(&defaults);
    whole.extend(table);
    options(whole)
}

/// An item that knows its options. Everything that can be serialized does.
pub trait Options {
    /// Every option after defaults, for the record.
    fn options(&self) -> toml::Table;
}

impl<T: serde::Serialize> Options for T {
    fn options(&self) -> toml::Table {
        resolved(self)
    }
}

/// Returns the options of a resolved item, after defaults, for the record.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    #[allow(dead_code, reason = "only ever read from TOML")]
    struct Everything {
        cpu: Option<u32>,
        samples: u64,
        share: f64,
        fork: bool,
        text: String,
        argv: Vec<String>,
        mode: HoldOrAsIs,
        period: crate::units::Ns,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum HoldOrAsIs {
        #[default]
        Hold,
        AsIs,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only ever read from TOML")]
    struct Needs {
        argv: Vec<String>,
    }

    /// The reader's own words must not reach users, so this test also notices when a new release changes them.
    #[test]
    fn what_is_wrong_is_said_in_words_of_the_option() {
        for (text, sentence) in [
            ("cpu = -3", "`cpu` must be a whole number from 0, not -3"),
            ("cpu = 9999999999", "`cpu` must be a whole number from 0 to 4294967295, not 9999999999"),
            ("samples = -1", "`samples` must be a whole number from 0, not -1"),
            ("samples = 1e6", "`samples` must be a whole number from 0, not 1000000.0"),
            ("samples = \"many\"", "`samples` must be a whole number from 0, not \"many\""),
            ("share = \"half\"", "`share` must be a number, not \"half\""),
            ("fork = 1", "`fork` must be true or false, not 1"),
            ("text = 1", "`text` must be a text, not 1"),
            ("argv = \"dd\"", "`argv` must be a list, not \"dd\""),
            ("mode = \"asis\"", "`mode` has no value `asis` (did you mean `as-is`?); its values are hold, as-is"),
            ("mode = 3", "`mode` must be one of its names, not 3"),
            ("period = 5", "`period`: 5 has no unit: write \"5us\", \"5ms\" or \"5s\""),
            (
                "cpus = 5",
                "has no option `cpus` (did you mean `cpu`?); it has cpu, samples, share, fork, text, argv, mode, period",
            ),
        ] {
            let error = options::<Everything>(text.parse().unwrap()).unwrap_err();
            assert_eq!(error.to_string(), sentence, "{text}");
            assert!(error.is::<Objection>());
        }
        let error = options::<Needs>(toml::Table::new()).unwrap_err();
        assert_eq!(error.to_string(), "the required option `argv` is missing");
    }
}
