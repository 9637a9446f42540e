//! `oslat-json`: the output of `oslat --json`.

use crate::{
    format::{Asked, Format},
    imported::Imported,
    oslat::{self, Generation, Label, Row, Thread},
    rt_json,
};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The list entry.
pub const FORMAT: Format = Format {
    name: "oslat-json",
    about: "oslat --json, versions 2.0 to 2.10",
    recognise: |bytes| rt_json::is_of(bytes, "oslat", &["freq", "duration"], &["sender"]),
    read,
};

/// The number of buckets without `-b`.
const BUCKETS: i64 = 32;

#[derive(Deserialize)]
struct Core {
    cpu: u32,
    freq: Option<i64>,
    min: serde_json::Number,
    max: serde_json::Number,
    duration: Option<serde_json::Number>,
    #[serde(default)]
    histogram: Histogram,
}

/// Labels and counts, ascending.
#[derive(Default)]
struct Histogram(Vec<(Label, u64)>);

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        // A map would lose the first count of a duplicate key.
        let all: Pairs = Deserialize::deserialize(from)?;
        let mut rows: Vec<(Label, u64)> = Vec::new();
        for (key, count) in all.0 {
            let label = Label::of(&key).map_err(|error| D::Error::custom(format!("{error:#}")))?;
            rows.push((label, count));
        }
        // Writers that sort the keys sort them as text.
        rows.sort_by_key(|(label, _)| label.ns());
        if rows.windows(2).any(|two| matches!(two, [(one, _), (next, _)] if one.ns() == next.ns())) {
            return Err(D::Error::custom("a bucket appears twice"));
        }
        Ok(Self(rows))
    }
}

/// All members of an object, including those with the same name.
struct Pairs(Vec<(String, u64)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> serde::de::Visitor<'de> for All {
            type Value = Pairs;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("buckets with their counts")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut all = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    all.push(pair);
                }
                Ok(Pairs(all))
            }
        }
        from.deserialize_map(All)
    }
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let (document, notes) = rt_json::read::<Core>(bytes)?;
    let mut imported = document.imported("oslat", notes, asked);
    // oslat's -p and -m are not the options of cyclictest.
    imported.findings.clear();
    let args = imported.command.as_deref().map(oslat::args_of);
    imported.policy = args.as_ref().and_then(oslat::policy);
    let cores = &document.thread.0;
    let zero = cores.iter().any(|(_, core)| core.min.to_string() == "0");
    let point = cores.iter().any(|(_, core)| core.histogram.0.iter().any(|(label, _)| label.decimals()));
    let generation = match document.version.as_deref() {
        _ if zero || point => Generation::Truncating,
        Some("2.50" | "2.60") => Generation::RoundingUp,
        Some("2.70" | "2.80" | "2.90") => Generation::Truncating,
        // Version 2.1 writes the same.
        Some("2.10") | None => Generation::Unknown,
        Some(_) => Generation::AddingOne,
    };
    let buckets = args.as_ref().and_then(|args| args.number('b', "bucket-size")).unwrap_or(BUCKETS);
    let width = args.as_ref().and_then(oslat::width).unwrap_or(1_000);
    let bias = args.as_ref().is_some_and(|args| args.has('B', "bias"));
    for (index, (key, core)) in (0u32..).zip(document.thread.0) {
        ensure!(key == u64::from(index), "thread {key} after {index}");
        let rows: Vec<Row> =
            core.histogram.0.iter().map(|(label, count)| Row { label: *label, count: *count }).collect();
        // The row with the overflows has no mark: it is the last of all buckets. A bias moves it further.
        let reach = buckets.checked_mul(width).context("buckets beyond 2^63 ns")?;
        let last = rows.last().map(|row| row.label.ns());
        let in_ns = point && width % 1000 != 0;
        let thread = Thread {
            cpu: Some(core.cpu),
            last_includes: last.is_some_and(|last| last >= reach) || (bias && last.is_some()),
            rows,
            min: Some(oslat::written(&core.min, in_ns)),
            max: Some(oslat::written(&core.max, in_ns)),
            mhz: core.freq,
            bias: None,
        };
        let told = thread.series(index, generation, args.as_ref(), &mut imported.notes);
        imported.series.push(told.with_context(|| format!("core {}", core.cpu))?);
        let duration = core.duration.and_then(|text| oslat::decimal_ns(&text.to_string(), 1_000_000_000));
        let duration = duration.and_then(|ns| u64::try_from(ns).ok());
        imported.elapsed_ns = imported.elapsed_ns.max(duration);
    }
    Ok(imported)
}
