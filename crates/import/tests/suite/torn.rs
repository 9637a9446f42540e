//! A file that ends anywhere, or has any byte changed, is refused or read up to there: the reader never panics and never gives a figure
//! that the whole file does not have.

use crate::common::{sample, samples};
use latido_import::{Asked, Bin, Ending, Format, Imported, Interval, Series, recognised};
use proptest::prelude::*;

fn read(format: &Format, bytes: &[u8]) -> Option<Imported> {
    format.import(bytes, &Asked::default()).ok()
}

/// Formats without an end mark: a file that is cut between two lines or records looks like a shorter complete file.
const ENDLESS: [&str; 9] = [
    "rtai-latency",
    "rtai-preempt",
    "hlog",
    "csv",
    "ndjson",
    "jitterdebugger-raw",
    "jitterdebugger-csv",
    "rtla-timerlat-top",
    "rtla-osnoise-top",
];

/// Returns an error if a part of a file contradicts the whole file.
fn agrees(part: &Series, whole: &Series, same: bool) -> Result<(), String> {
    let told = |what: &str| Err(format!("{what}: {part:?} of {whole:?}"));
    if same && part != whole {
        return told("a whole file with other figures");
    }
    if part.count.unwrap_or(0) > whole.count.unwrap_or(u64::MAX) {
        return told("more samples");
    }
    for bin in &part.bins {
        let meets = |other: &Bin| {
            other.high.is_none_or(|high| bin.low <= high) && bin.high.is_none_or(|high| other.low <= high)
        };
        if !whole.bins.iter().any(|other| meets(other) && other.count >= bin.count) {
            return told("a bin that is not there");
        }
    }
    let least = whole.min.map_or(i64::MIN, |min| min.low);
    let most = whole.max.and_then(|max| max.high).unwrap_or(i64::MAX);
    for Interval { low, high } in [part.min, part.max].into_iter().flatten() {
        if low < least || high.is_some_and(|high| high > most) {
            return told("an extreme outside");
        }
    }
    Ok(())
}

#[test]
fn torn_at_every_byte_of_every_sample() {
    let (mut torn, mut taken) = (0, 0);
    for name in samples() {
        let bytes = sample(&name);
        // The reader may take a part of a file as any format that the whole file may have.
        for format in recognised(&bytes) {
            let Some(whole) = read(format, &bytes) else { continue };
            for end in 0..bytes.len() {
                let part = &bytes[..end];
                torn += 1;
                if !(format.recognise)(part) {
                    continue;
                }
                let Some(part) = read(format, part) else { continue };
                taken += 1;
                // A terminal shows older states, and fewer threads, at earlier moments.
                let live = ["cyclictest-screen", "cyclictest-v", "jitterdebugger-screen"].contains(&format.name)
                    || format.name == "signaltest"
                    || name.contains("-live.")
                    || ENDLESS.contains(&format.name)
                    || whole.series.len() > part.series.len();
                let same = part.ending == Ending::Complete && !live;
                for series in &part.series {
                    let of = |other: &&Series| {
                        (&other.quantity, &other.labels, other.thread)
                            == (&series.quantity, &series.labels, series.thread)
                    };
                    let other = whole.series.iter().find(of).unwrap_or_else(|| panic!("{name} at {end}: a new series"));
                    if let Err(why) = agrees(series, other, same) {
                        panic!("{name} at byte {end} as {}: {why}", format.name);
                    }
                }
            }
        }
    }
    assert!(torn > 50_000 && taken > 1_000, "{taken} of {torn} parts are read");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The reader answers a file in which bytes were changed, removed and inserted, and its bins are in order.
    #[test]
    fn changed_files_are_answered(which: prop::sample::Index, at: prop::sample::Index, put: Vec<u8>, out in 0usize..40) {
        let names = samples();
        let mut bytes = sample(&names[which.index(names.len())]);
        let at = at.index(bytes.len());
        let end = (at + out).min(bytes.len());
        bytes.splice(at..end, put);
        for format in latido_import::IMPORTS {
            let _ = (format.recognise)(&bytes);
            if let Some(imported) = read(format, &bytes) {
                for series in &imported.series {
                    prop_assert!(series.bins.iter().all(|bin| bin.high.is_none_or(|high| high >= bin.low)));
                    prop_assert!(series.bins.is_sorted_by_key(|bin| bin.low));
                }
            }
        }
    }

    #[test]
    fn junk_is_answered(bytes: Vec<u8>) {
        for format in latido_import::IMPORTS {
            let _ = (format.recognise)(&bytes);
            let _ = read(format, &bytes);
        }
    }
}
