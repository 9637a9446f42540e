//! Writes a warehouse of synthetic runs, like the exports of a farm of machines, for docs/warehouse.md and its figures.
//!
//! `cargo run --release -p latido-report --features parquet --example warehouse -- DIR MACHINES DAYS RUNS WHOLE`: the number of machines,
//! of days, and of runs per day of each machine; the last WHOLE days also have buckets.

mod generator;

use anyhow::{Context, Result, ensure};
use generator::Farm;
use std::path::PathBuf;

/// The samples of a minute of wake-ups at 1 ms.
const MINUTE: u32 = 60_000;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    ensure!(words.len() == 5, "usage: warehouse DIR MACHINES DAYS RUNS WHOLE");
    let number = |at: usize| -> Result<u32> {
        let word = words.get(at).context("a number is missing")?;
        word.parse().with_context(|| format!("`{word}` is no number"))
    };
    let dir = PathBuf::from(words.first().context("DIR is missing")?);
    let farm = Farm { machines: number(1)?, days: number(2)?, runs: number(3)?, samples: MINUTE, whole: number(4)? };
    let written = farm.write(&dir)?;
    println!("{} series, {} buckets", written.series, written.buckets);
    Ok(())
}
