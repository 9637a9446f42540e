//! The memory that a reader may take per byte of a file, measured by an allocator that records the peak. The test repeats each kind of line
//! of each reader's samples, once unchanged and once with another number each time, as a hostile file would. docs/security.md has the
//! table.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by a panic")]

#[path = "../suite/samples.rs"]
mod samples;

use latido_import::{Asked, Format, IMPORTS};
use peak_alloc::PeakAlloc;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The test reads a file of this size and one of twice this size. The difference is the cost of the additional bytes, without the fixed
/// cost of any file.
const SIZE: usize = 48 << 10;

/// Files of the formats for which no sample exists.
const MADE: [&str; 1] = [
    "# libevl version: evl.0.47\n# sampling period: 1000 microseconds\n# thread affinity: CPU2\n# duration (hhmmss): 00:00:10\n\
     # min latency: 2.179\n# avg latency: 4.042\n# max latency: 10.997\n# sample count: 12\n2 5\n4 6\n10 1\n",
];

/// The format whose files latido refuses entirely.
const REFUSED: &str = "jitterdebugger-hdf5";

/// A line with each of its numbers replaced by a single 0.
fn shape(line: &[u8]) -> Vec<u8> {
    let mut shape: Vec<u8> = line.iter().map(|byte| if byte.is_ascii_digit() { b'0' } else { *byte }).collect();
    shape.dedup_by(|one, other| *one == b'0' && *other == b'0');
    shape
}

/// Returns the line with its `at`th number replaced; `None` if it has fewer numbers.
fn numbered(line: &[u8], at: usize, number: usize) -> Option<Vec<u8>> {
    let digit = |at: usize| line.get(at).is_some_and(u8::is_ascii_digit);
    let begins = (0..line.len()).filter(|one| digit(*one) && !one.checked_sub(1).is_some_and(digit)).nth(at)?;
    let ends = (begins..line.len()).find(|one| !digit(*one)).unwrap_or(line.len());
    Some([&line[..begins], number.to_string().as_bytes(), &line[ends..]].concat())
}

/// A sample with more lines like its line `at`, up to the size `bytes`.
fn grown(lines: &[&[u8]], at: usize, again: &dyn Fn(usize) -> Vec<u8>, bytes: usize) -> Vec<u8> {
    let mut file: Vec<u8> = lines[..=at].concat();
    let rest: Vec<u8> = lines[at + 1..].concat();
    let mut number = 0;
    while file.len() + rest.len() < bytes {
        number += 1;
        file.extend(again(number));
    }
    [file, rest].concat()
}

/// The peak of memory while the format reads a file, in bytes.
fn memory(format: &Format, file: &[u8]) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    drop(format.import(file, &Asked { args: Some("-h 100 -t 2".into()), ..Asked::default() }));
    MEMORY.peak_usage().saturating_sub(before)
}

/// The cost of an additional byte, in bytes of memory, in the most expensive file that grows from a sample.
fn dearest(format: &Format, sample: &[u8]) -> usize {
    let lines: Vec<&[u8]> = sample.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut shapes, mut most) = (BTreeSet::new(), 0);
    for (at, line) in lines.iter().enumerate() {
        if line.len() > SIZE / 8 || shapes.len() >= 24 || !shapes.insert(shape(line)) {
            continue;
        }
        let mut cost = |again: &dyn Fn(usize) -> Vec<u8>| {
            let [one, two] = [SIZE, 2 * SIZE].map(|size| memory(format, &grown(&lines, at, again, size)));
            most = most.max(two.saturating_sub(one) / SIZE);
        };
        cost(&|_| line.to_vec());
        for (place, from) in [(0, 0), (1, 0), (0, 1_000_000_000), (1, 1_000_000_000)] {
            if numbered(line, place, 1).is_some() {
                cost(&|number| numbered(line, place, from + number).unwrap_or_default());
            }
        }
    }
    most
}

/// The samples that a format recognises as its own, the smallest first.
fn of(format: &Format) -> Vec<Vec<u8>> {
    let folders = std::fs::read_dir(samples::folder()).unwrap().flatten().map(|entry| entry.path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|path| std::fs::read_dir(path).unwrap().flatten());
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.sort();
    let made = MADE.map(|text| text.as_bytes().to_vec());
    let mut all: Vec<Vec<u8>> = files.iter().map(|path| std::fs::read(path).unwrap()).chain(made).collect();
    all.retain(|bytes| bytes.len() < SIZE && (format.recognise)(bytes));
    all.sort_by_key(Vec::len);
    all
}

/// The row of each reader in docs/security.md agrees with the measurement, and no reader takes a thousand bytes for one.
#[test]
fn a_byte_costs_no_more_than_the_table_says() {
    let page = include_str!("../../../../docs/security.md");
    let told: BTreeMap<&str, usize> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .filter_map(|(name, rest)| Some((name, rest.strip_suffix(" |")?.parse().ok()?)))
        .collect();
    let mut wrong = Vec::new();
    for format in IMPORTS.iter().filter(|format| format.name != REFUSED) {
        let all = of(format);
        let most = all.iter().take(6).map(|sample| dearest(format, sample)).max();
        let row = told.get(format.name).copied();
        // An allocator rounds, and collections double.
        let holds = most.zip(row).is_some_and(|(most, row)| most <= row && row <= 2 * most + 8 && row < 1_000);
        if !holds {
            wrong.push(format!("{}: measured {most:?}, the table says {row:?}", format.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
