//! A sample in named fields, as CSV and NDJSON contain it.

use crate::{
    format::{Asked, Unit},
    imported::Imported,
    samples::{Key, Samples, decimal},
    text::shown,
};
use anyhow::{Context, Result, ensure};
use std::borrow::Cow;

/// Returns the unit with this name.
fn unit(name: &str) -> Result<Unit> {
    Ok(match name {
        "ns" => Unit::Ns,
        "us" => Unit::Us,
        "ms" => Unit::Ms,
        "s" => Unit::S,
        _ if name.contains(';') => anyhow::bail!("`;` does not separate fields: use commas"),
        _ => anyhow::bail!("`{}` is not a unit: ns, us, ms or s", shown(name.as_bytes())),
    })
}

/// The most labels per sample (a record allows no more either), and the most bytes of their names and texts together. Each series keeps its
/// own labels, and each label repeats a name from the file's first line.
const MOST_LABELS: usize = 16;
const MOST_LABEL_BYTES: usize = 1024;

/// Adds a label.
fn label(key: &mut Key, held: &mut usize, name: &str, text: &str) -> Result<()> {
    let others = "(all fields but value, unit, at_ns, cpu, thread and quantity are labels)";
    *held += name.len() + text.len();
    ensure!(*held <= MOST_LABEL_BYTES, "labels of more than {MOST_LABEL_BYTES} bytes with their names {others}");
    ensure!(key.labels.len() < MOST_LABELS, "more than {MOST_LABELS} labels {others}");
    key.labels.insert(name.to_owned(), text.to_owned());
    Ok(())
}

/// Adds the sample of one line. Empty fields count as absent.
///
/// # Errors
/// A field is invalid, appears twice, or is missing.
pub fn add<'a>(
    fields: impl Iterator<Item = (&'a str, Cow<'a, str>)>,
    asked: &Asked,
    samples: &mut Samples,
) -> Result<()> {
    let (mut value, mut named, mut at, mut key, mut held) = (None, None, None, Key::default(), 0);
    for (name, text) in fields.filter(|(_, text)| !text.trim().is_empty()) {
        let whole = || {
            text.trim().parse::<u32>().with_context(|| format!("{name}: `{}` is not a number", shown(text.as_bytes())))
        };
        match name {
            "value" => ensure!(value.replace(text).is_none(), "a second value"),
            "unit" => ensure!(named.replace(unit(text.trim())?).is_none(), "a second unit"),
            "at_ns" => {
                at = Some(
                    decimal(&text, 1)
                        .with_context(|| format!("at_ns: `{}` is not a time in ns", shown(text.as_bytes())))?,
                )
            }
            "cpu" => key.cpu = Some(whole()?),
            "thread" => key.thread = Some(whole()?),
            "quantity" => {
                ensure!(text.len() <= MOST_LABEL_BYTES, "a quantity of more than {MOST_LABEL_BYTES} bytes");
                key.quantity = Some(text.trim().to_owned());
            }
            _ => match name.strip_prefix("value_") {
                Some(of) => {
                    ensure!(named.replace(unit(of)?).is_none(), "a second unit");
                    ensure!(value.replace(text).is_none(), "a second value");
                }
                None => label(&mut key, &mut held, name, text.trim())?,
            },
        }
    }
    let value = value.context("no value")?;
    let unit = named.or(asked.unit).context("no unit: call the field value_us (or _ns, _ms, _s), or use --unit")?;
    let ns = decimal(&value, unit.ns());
    let ns = ns.with_context(|| {
        format!("`{}` is not a decimal number of whole ns (with a point, not a comma)", shown(value.as_bytes()))
    })?;
    samples.add(&key, ns, at)
}

/// Builds the import from the samples.
///
/// # Errors
/// There are no samples.
pub fn imported(tool: &str, samples: Samples, asked: &Asked) -> Result<Imported> {
    ensure!(samples.count() > 0, "no sample");
    let mut series = samples.series(1)?;
    let mut known = std::collections::HashSet::new();
    let distinct = series.iter().all(|one| known.insert((one.quantity.clone(), one.labels.clone(), one.thread)));
    if !distinct {
        // A thread that moved has one series per CPU.
        for one in &mut series {
            one.labels.extend(one.cpu.map(|cpu| ("cpu".to_owned(), cpu.to_string())));
        }
    }
    Ok(Imported {
        tool: tool.into(),
        title: "samples".into(),
        command: asked.args.clone(),
        series,
        ..Imported::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(fields: &[(&str, &str)]) -> String {
        let fields = fields.iter().map(|(name, text)| (*name, Cow::Borrowed(*text)));
        let mut samples = Samples::default();
        let error = add(fields, &Asked::default(), &mut samples).unwrap_err();
        assert_eq!(samples.count(), 0);
        format!("{error:#}")
    }

    /// Each series keeps the names of the file's first line, so latido refuses names that are too long or too many.
    #[test]
    fn names_that_each_series_would_keep_are_few_and_short() {
        let long = "n".repeat(MOST_LABEL_BYTES);
        assert!(refused(&[("value_us", "1"), (&long, "1")]).contains("more than 1024 bytes"));
        assert!(refused(&[("value_us", "1"), ("quantity", &(long + "x"))]).contains("more than 1024 bytes"));
        let names: Vec<String> = (0..=MOST_LABELS).map(|at| format!("n{at}")).collect();
        let all: Vec<(&str, &str)> =
            [("value_us", "1")].into_iter().chain(names.iter().map(|name| (name.as_str(), "1"))).collect();
        assert!(refused(&all).contains("more than 16 labels"));
    }
}
