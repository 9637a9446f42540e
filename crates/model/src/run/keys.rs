//! The keys of a JSON document of any shape, read without building the document: a few megabytes of JSON make gigabytes of values.

use super::bounds::{MOST_KEYS, MOST_VALUES};
use anyhow::Result;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::{borrow::Cow, cell::Cell, collections::BTreeMap, fmt};

/// Every key with the keys below it; the elements of a list share theirs.
#[derive(Debug, Default)]
pub struct Keys(BTreeMap<String, Keys>);

/// How many more values and different keys the reader accepts.
struct Left {
    most_values: usize,
    values: Cell<usize>,
    keys: Cell<usize>,
}

/// Reads the keys.
///
/// # Errors
/// The bytes are not JSON, or exceed [`MOST_VALUES`] or [`MOST_KEYS`].
pub fn of(bytes: &[u8]) -> Result<Keys> {
    of_at_most(bytes, MOST_VALUES)
}

/// Reads the keys of a document with at most `most_values` values.
///
/// # Errors
/// The bytes are not JSON, or exceed that number or [`MOST_KEYS`].
pub fn of_at_most(bytes: &[u8], most_values: usize) -> Result<Keys> {
    let left = Left { most_values, values: Cell::new(most_values), keys: Cell::new(MOST_KEYS) };
    let mut keys = Keys::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    Below { keys: &mut keys, left: &left }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(keys)
}

impl Keys {
    /// Returns the paths of the keys that `others` lacks (`quality.novelty`), without what is below them.
    pub fn beside(&self, others: &Self) -> Vec<String> {
        let mut all = Vec::new();
        self.add(others, "", &mut all);
        all
    }

    fn add(&self, others: &Self, path: &str, all: &mut Vec<String>) {
        for (key, below) in &self.0 {
            match others.0.get(key) {
                Some(other) => below.add(other, &format!("{path}{key}."), all),
                None => all.push(format!("{path}{key}")),
            }
        }
    }
}

/// Reads one value and everything below it.
struct Below<'a> {
    keys: &'a mut Keys,
    left: &'a Left,
}

/// Subtracts one, or returns the error that names the limit.
fn take<E: Error>(left: &Cell<usize>, most: usize, what: &str) -> Result<(), E> {
    left.set(
        left.get()
            .checked_sub(1)
            .ok_or_else(|| E::custom(format!("more than {most} {what}, the most that latido reads")))?,
    );
    Ok(())
}

impl<'de> DeserializeSeed<'de> for Below<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        take(&self.left.values, self.left.most_values, "values")?;
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Below<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Below { keys: self.keys, left: self.left })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if !self.keys.0.contains_key(key.as_ref()) {
                take(&self.left.keys, MOST_KEYS, "different keys")?;
            }
            let keys = self.keys.0.entry(key.into_owned()).or_default();
            map.next_value_seed(Below { keys, left: self.left })?;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
