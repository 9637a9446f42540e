//! `csv`: samples in lines of comma-separated fields, after a line with the names of the fields.

use crate::{
    format::{Asked, Format},
    imported::{Ending, Imported},
    keyed,
    samples::Samples,
    text::{self, lines, shown},
};
use anyhow::{Context, Result, ensure};
use std::{borrow::Cow, collections::BTreeSet};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "csv",
    about: "samples: value_us (or value_ns, _ms, _s), optional at_ns, cpu, thread, quantity; other columns are labels",
    recognise,
    read,
};

/// Returns the names in a first line, if one of them is that of a value.
pub(crate) fn header(line: &[u8]) -> Option<Vec<String>> {
    let names: Vec<String> = fields(line).ok()?.into_iter().map(|name| name.trim().to_owned()).collect();
    names.iter().any(|name| name == "value" || name.starts_with("value_")).then_some(names)
}

fn recognise(bytes: &[u8]) -> bool {
    let first = lines(bytes).find(|(_, line)| !line.is_empty());
    first.is_some_and(|(_, line)| !line.starts_with(b"{") && header(line).is_some())
}

/// Splits a line into fields, with quotes as in RFC 4180, but without line feeds in them.
pub(crate) fn fields(line: &[u8]) -> Result<Vec<Cow<'_, str>>> {
    let line = std::str::from_utf8(line).context("bytes that are not UTF-8")?;
    if !line.contains('"') {
        return Ok(line.split(',').map(Cow::Borrowed).collect());
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    let record = reader.records().next().context("no fields")??;
    ensure!(line.matches('"').count().is_multiple_of(2), "a quote that is not closed in its line");
    Ok(record.iter().map(|field| Cow::Owned(field.to_owned())).collect())
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let (mut names, mut samples): (Option<Vec<String>>, _) = (None, Samples::default());
    let mut cut = None;
    for (at, line) in lines(bytes).filter(|(_, line)| !line.is_empty()) {
        text::within(at, line)?;
        let Some(names) = &names else {
            ensure!(torn != Some(at), "line {at} {}", text::TORN);
            let own = header(line).with_context(|| format!("line {at}: no column `value_us` (or _ns, _ms, _s)"))?;
            ensure!(
                own.iter().collect::<BTreeSet<_>>().len() == own.len(),
                "line {at}: two columns with the same name"
            );
            ensure!(own.len() <= 8192, "line {at}: more than 8192 columns");
            names = Some(own);
            continue;
        };
        if torn == Some(at) {
            // The last number of a torn line may have had more digits.
            cut = Some(at);
            break;
        }
        let own = fields(line).with_context(|| format!("line {at}"))?;
        let (had, asks) = (own.len(), names.len());
        ensure!(had == asks, "line {at}: {had} fields, but the first line names {asks}: `{}`", shown(line));
        let pairs = names.iter().map(String::as_str).zip(own);
        keyed::add(pairs, asked, &mut samples).with_context(|| format!("line {at}"))?;
    }
    let mut imported = keyed::imported("csv", samples, asked)?;
    if let Some(at) = cut {
        imported.ending = Ending::Interrupted(format!("line {at} {}", text::TORN));
    }
    Ok(imported)
}
