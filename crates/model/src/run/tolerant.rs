//! Reads JSON that a newer version may have written: unknown keys are reported and left out, a higher schema is refused.

use super::{bounds, keys};
use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// The keys of a cell and of its parts. Their own reader refuses any other key, because a target must not measure only half of what was
/// requested; but latido may read what was already measured.
const CELL: &[&str] = &[
    "schema",
    "plan",
    "target",
    "kernel",
    "boot",
    "tuning",
    "load",
    "scheduling",
    "probe",
    "conditions",
    "repeat",
    "seed",
];
const CONDITIONS: &[&str] = &["cpus", "duration", "warmup", "limit", "stop_on", "max_temp", "trace", "explain"];
const LEVEL: &[&str] = &["id", "use"];
const ITEM: &[&str] = &["name", "options"];

/// Parses, and returns the paths of the keys that it left out (`quality.novelty`).
///
/// # Errors
/// The bytes are not JSON, have another shape, another schema than `schema`, or exceed the [`bounds`].
pub fn parse<T: Serialize + DeserializeOwned>(bytes: &[u8], schema: u32) -> Result<(T, Vec<String>)> {
    self::schema(bytes, schema)?;
    let found = keys::of(bytes)?;
    let mut unknown = Vec::new();
    let parsed: T = match serde_json::from_slice(bytes) {
        Ok(parsed) => parsed,
        Err(error) if bytes.len() > bounds::MOST_FOREIGN => return Err(error.into()),
        Err(_) => T::deserialize(stripped(bytes, &mut unknown)?)?,
    };
    for key in found.beside(&keys::of(&serde_json::to_vec(&parsed)?)?) {
        add(&mut unknown, key);
    }
    Ok((parsed, unknown))
}

/// Returns the document without the keys that the cells' own reader would refuse.
fn stripped(bytes: &[u8], unknown: &mut Vec<String>) -> Result<Value> {
    let mut value: Value = serde_json::from_slice(bytes)?;
    if let Some(cell) = value.get_mut("cell") {
        strip_cell(cell, "cell.", unknown);
    }
    for planned in value.get_mut("cells").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(cell) = planned.get_mut("cell") {
            strip_cell(cell, "cells.cell.", unknown);
        }
    }
    Ok(value)
}

/// Refuses a file whose schema is newer or older; a file without a schema is not checked.
pub fn schema(bytes: &[u8], highest: u32) -> Result<()> {
    #[derive(Deserialize)]
    struct Schema {
        schema: Option<u32>,
    }
    ensure!(!bytes.is_empty(), "the file is empty");
    match serde_json::from_slice::<Schema>(bytes)?.schema {
        Some(found) if found > highest => {
            bail!("written by a newer latido (schema {found}, this version reads {highest}); update latido")
        }
        Some(found) if found < highest => {
            bail!("written by an older latido (schema {found}, this version reads {highest}): read it with that latido")
        }
        _ => Ok(()),
    }
}

fn strip_cell(cell: &mut Value, path: &str, unknown: &mut Vec<String>) {
    strip(cell, CELL, path, unknown);
    for axis in ["tuning", "load"] {
        let Some(level) = cell.get_mut(axis) else { continue };
        let path = format!("{path}{axis}.");
        strip(level, LEVEL, &path, unknown);
        for item in level.get_mut("use").and_then(Value::as_array_mut).into_iter().flatten() {
            strip(item, ITEM, &format!("{path}use."), unknown);
        }
    }
    if let Some(conditions) = cell.get_mut("conditions") {
        strip(conditions, CONDITIONS, &format!("{path}conditions."), unknown);
    }
    if let Some(probe) = cell.get_mut("probe") {
        strip(probe, ITEM, &format!("{path}probe."), unknown);
    }
}

fn strip(value: &mut Value, known: &[&str], path: &str, unknown: &mut Vec<String>) {
    if let Value::Object(map) = value {
        let kept: Map<String, Value> = std::mem::take(map)
            .into_iter()
            .filter(|(key, _)| {
                let keep = known.contains(&key.as_str());
                if !keep {
                    add(unknown, format!("{path}{key}"));
                }
                keep
            })
            .collect();
        *map = kept;
    }
}

fn add(unknown: &mut Vec<String>, key: String) {
    if !unknown.contains(&key) {
        unknown.push(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        record::{Record, SCHEMA},
        sample,
    };

    /// The lists above contain exactly the keys that the types have.
    #[test]
    fn the_keys_of_a_cell_are_complete() {
        let keys =
            |value: &Value| value.as_object().unwrap().keys().cloned().collect::<std::collections::BTreeSet<_>>();
        let list = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
        let mut cell = sample::cell();
        // This key is absent if nothing is traced.
        cell.conditions.trace = Some(Vec::new());
        cell.conditions.explain = Some(1);
        let cell = serde_json::to_value(cell).unwrap();
        assert_eq!(keys(&cell), list(CELL));
        assert_eq!(keys(&cell["conditions"]), list(CONDITIONS));
        assert_eq!(keys(&cell["load"]), list(LEVEL));
        assert_eq!(keys(&cell["probe"]), list(ITEM));
    }

    #[test]
    fn unknown_keys_are_named_and_left_out() {
        let record = sample::record();
        let mut value = serde_json::to_value(&record).unwrap();
        value["novelty"] = 1.into();
        value["quality"]["clock"]["jitter"] = 2.into();
        value["series"][0]["mood"] = "fine".into();
        value["cell"]["colour"] = "red".into();
        value["cell"]["probe"]["version"] = 3.into();
        let (parsed, unknown) = parse::<Record>(value.to_string().as_bytes(), SCHEMA).unwrap();
        assert_eq!(parsed, record);
        assert_eq!(unknown, ["cell.colour", "cell.probe.version", "novelty", "quality.clock.jitter", "series.mood"]);
        let whole = serde_json::to_vec(&record).unwrap();
        assert_eq!(parse::<Record>(&whole, SCHEMA).unwrap(), (record, Vec::new()));
    }

    #[test]
    fn another_schema_is_refused_and_says_so() {
        for (schema, told) in [(SCHEMA + 1, "update latido"), (SCHEMA - 1, "an older latido")] {
            let mut value = serde_json::to_value(sample::record()).unwrap();
            value["schema"] = schema.into();
            let error = parse::<Record>(value.to_string().as_bytes(), SCHEMA).unwrap_err().to_string();
            assert!(error.contains(&format!("schema {schema}")) && error.contains(told), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn junk_never_panics(bytes: Vec<u8>, text in "[{}\\[\\]\",:a-z0-9]*") {
            let _ = parse::<Record>(&bytes, SCHEMA);
            let _ = parse::<Record>(text.as_bytes(), SCHEMA);
        }
    }
}
