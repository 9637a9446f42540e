//! `tee`: data duplicated between pipes by tee and splice, as stress-ng's `--tee` does, for machines without stress-ng.

use crate::loading::{
    Launch, Load, Surroundings,
    work::{self, Work},
};
use anyhow::{Context, Result, ensure};
use latido_model::registry::{self, Def};
use rustix::pipe::{SpliceFlags, splice, tee};
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions},
    io::{PipeReader, PipeWriter, Read, Write},
    sync::Arc,
    thread::JoinHandle,
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "tee",
    about: "built in: system calls and switches between pipes, as stress-ng's --tee",
    help: "\
Each worker has three threads: one writes zeros into a pipe, 64 KiB per call; one duplicates its content into a second
pipe by tee and moves it to /dev/null by splice; one reads the second pipe, 64 KiB per call. stress-ng's `--tee workers`
does the same with three processes.

Options:
  workers  1 to 1024; default one per CPU

The record's `achieved` holds tees (stress-ng's operations), tee_bytes and elapsed_ns.",
    main_option: Some("workers"),
    new: |table| Ok(Box::new(checked(table)?)),
};

/// The most workers.
const MOST: u32 = 1024;

/// The bytes that a thread writes or reads at once.
const BLOCK: usize = 65_536;

/// The options of the load.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tee {
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<u32>,
}

/// Returns the load with these options.
///
/// # Errors
/// An option does not exist, or the number of workers is not allowed.
pub fn checked(table: toml::Table) -> Result<Tee> {
    let load: Tee = registry::options(table)?;
    ensure!((1..=MOST).contains(&load.workers.unwrap_or(1)), "`workers` is 1 to {MOST}");
    Ok(load)
}

impl Load for Tee {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let cpus = u32::try_from(around.counted.len()).unwrap_or(MOST).clamp(1, MOST);
        Ok(Some(work::own(DEF.name, &Self { workers: Some(self.workers.unwrap_or(cpus)) })?))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

impl Tee {
    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        let work = Work::of(&["tees", "tee_bytes"]);
        let workers = (0..self.workers.unwrap_or(1)).map(|_| worker(&work)).collect::<Result<Vec<_>>>()?;
        // A thread that blocks on a full or empty pipe does not notice the end: all threads end with the process.
        drop(workers);
        work.go_on(Vec::new())
    }
}

/// Starts the threads of one worker.
fn worker(work: &Arc<Work>) -> Result<[JoinHandle<()>; 3]> {
    let pipe = || std::io::pipe().context("tee: no more pipes; see `ulimit -n`");
    let ((source, inlet), (outlet, copy)) = (pipe()?, pipe()?);
    let nowhere = OpenOptions::new().write(true).open("/dev/null").context("tee: /dev/null")?;
    Ok([
        work.thread(move |work| write(inlet, work))?,
        work.thread(move |work| duplicate(&source, &copy, &nowhere, work))?,
        work.thread(move |work| read(outlet, work))?,
    ])
}

fn write(mut inlet: PipeWriter, work: &Work) -> Result<()> {
    let block = vec![0; BLOCK];
    while !work.is_over() {
        inlet.write_all(&block).context("tee: writing")?;
    }
    Ok(())
}

fn read(mut outlet: PipeReader, work: &Work) -> Result<()> {
    let mut block = vec![0; BLOCK];
    while !work.is_over() && outlet.read(&mut block).context("tee: reading")? > 0 {}
    Ok(())
}

fn duplicate(source: &PipeReader, copy: &PipeWriter, nowhere: &File, work: &Work) -> Result<()> {
    // The kernel takes no greater length.
    const ALL: usize = i32::MAX as usize;
    while !work.is_over() {
        let bytes = tee(source, copy, ALL, SpliceFlags::empty()).context("tee")?;
        let mut left = bytes;
        while left > 0 {
            let moved = splice(source, None, nowhere, None, left, SpliceFlags::MOVE).context("tee: splice")?;
            ensure!(moved > 0, "tee: splice moved nothing of {left} bytes");
            left = left.saturating_sub(moved);
        }
        work.add("tees", 1);
        work.add("tee_bytes", bytes as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["workers = 0", "workers = 1025", "tee = 3"] {
            assert!(checked(bad.parse().unwrap()).is_err(), "{bad}");
        }
    }

    /// What a worker duplicates arrives at its reader.
    #[test]
    fn a_worker_duplicates() {
        let work = Work::of(&["tees", "tee_bytes"]);
        worker(&work).unwrap();
        while work.done("tees") < 100 {
            std::thread::yield_now();
        }
        assert!(work.done("tee_bytes") >= 100);
        work.end();
    }
}
