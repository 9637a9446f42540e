//! `ndjson`: samples as JSON, one object per line, with the names of the CSV columns as keys.

use crate::{
    format::{Asked, Format},
    imported::{Ending, Imported},
    keyed,
    samples::Samples,
    text::{self, lines, shown},
};
use anyhow::{Context, Result, bail, ensure};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::BTreeSet, fmt};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "ndjson", about: "samples: one object per line, with the keys of csv", recognise, read };

/// The most keys of an object.
const MOST_KEYS: usize = 8192;

/// An object whose values stay as written: a conversion to double would round them.
pub(crate) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    /// Keeps a repeated key, so that [`pairs`] can refuse it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut all = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    all.push((key, value));
                }
                Ok(Object(all))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

fn recognise(bytes: &[u8]) -> bool {
    let Some((_, line)) = lines(bytes).find(|(_, line)| !line.is_empty()) else { return false };
    let value = |object: Object<'_>| object.0.iter().any(|(key, _)| key == "value" || key.starts_with("value_"));
    serde_json::from_slice(line).is_ok_and(value)
}

fn field<'a>(value: &'a RawValue, key: &str) -> Result<Option<Cow<'a, str>>> {
    let raw = value.get();
    Ok(match raw.as_bytes().first() {
        Some(b'"') => Some(serde_json::from_str::<String>(raw)?.into()),
        Some(b'{' | b'[') => bail!("`{}` is neither a number nor a text", shown(key.as_bytes())),
        Some(b'n') => None,
        _ => Some(Cow::Borrowed(raw)),
    })
}

/// Returns the keys of an object with their values as written. Keys with the value null are left out.
///
/// # Errors
/// Too many keys, one of them twice, or a value that is neither a number nor a text.
pub(crate) fn pairs<'a>(object: &'a Object<'a>) -> Result<Vec<(&'a str, Cow<'a, str>)>> {
    ensure!(object.0.len() <= MOST_KEYS, "more than {MOST_KEYS} keys");
    let mut seen = BTreeSet::new();
    for (key, _) in &object.0 {
        ensure!(seen.insert(key.as_ref()), "the key `{}` appears twice", shown(key.as_bytes()));
    }
    let pair = |(key, value): &'a (Cow<'a, str>, &'a RawValue)| Ok(field(value, key)?.map(|text| (key.as_ref(), text)));
    object.0.iter().map(pair).filter_map(Result::transpose).collect()
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let (mut samples, mut cut) = (Samples::default(), None);
    for (at, line) in lines(bytes).filter(|(_, line)| !line.is_empty()) {
        text::within(at, line)?;
        let object: Object<'_> = match serde_json::from_slice(line) {
            Ok(object) => object,
            // A whole object ends with its brace: the last line needs no line feed.
            Err(_) if torn == Some(at) && samples.count() > 0 => {
                cut = Some(at);
                break;
            }
            Err(error) => return Err(error).with_context(|| format!("line {at}: not an object: `{}`", shown(line))),
        };
        let pairs = pairs(&object).with_context(|| format!("line {at}"))?;
        keyed::add(pairs.into_iter(), asked, &mut samples).with_context(|| format!("line {at}"))?;
    }
    let mut imported = keyed::imported("ndjson", samples, asked)?;
    if let Some(at) = cut {
        imported.ending = Ending::Interrupted(format!("line {at} {}", text::TORN));
    }
    Ok(imported)
}
