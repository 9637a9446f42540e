//! `spin`: the built-in load of processor, memory and process creation, for machines without stress-ng.

use crate::loading::{
    Launch, Load, Surroundings,
    work::{Work, bound},
};
use anyhow::{Context, Result, ensure};
use latido_model::registry::{self, Def};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::process::Command;

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "spin",
    about: "built in: arithmetic, memory traffic and forks (seeded)",
    help: "\
Keeps the machine busy with no program but latido: threads that compute, threads that write and read memory at random
places, and a thread that starts and collects a short process again and again.

Options:
  cpu      threads that compute; default one per CPU
  memory   threads that touch memory; default 1
  size     memory of each of them, in MiB; default 64
  fork     whether processes are created; default true
  seed     seed of the access pattern; default the cell's

The record's `achieved` holds computed (random numbers), touched (words of memory), forks and elapsed_ns.",
    main_option: None,
    new: |table| Ok(Box::new(checked(table)?)),
};

/// The options of the load, also for the process that runs it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SpinLoad {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fork: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

fn checked(table: toml::Table) -> Result<SpinLoad> {
    let spin: SpinLoad = registry::options(table)?;
    ensure!(spin.cpu.unwrap_or(0) <= 4096 && spin.memory.unwrap_or(0) <= 4096, "more than 4096 threads are refused");
    ensure!((1..=65536).contains(&spin.size.unwrap_or(64)), "`size` is 1 to 65536 MiB");
    Ok(spin)
}

impl Load for SpinLoad {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let own = std::env::current_exe().context("cannot find latido's own file to start the load `spin`")?;
        let cpus = u32::try_from(around.counted.len()).unwrap_or(u32::MAX).max(1);
        let word = format!(
            "spin:cpu={},memory={},size={},fork={},seed={}",
            self.cpu.unwrap_or(cpus),
            self.memory.unwrap_or(1),
            self.size.unwrap_or(64),
            self.fork.unwrap_or(true),
            self.seed.unwrap_or(around.seed),
        );
        let argv = vec![own.to_string_lossy().into_owned(), "load".into(), word];
        Ok(Some(Launch { version: Some(env!("CARGO_PKG_VERSION").into()), ..Launch::of(argv) }))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(bear(self))
    }
}

/// Runs the load in this process until another process ends it.
fn bear(spin: &SpinLoad) -> Result<()> {
    let seed = spin.seed.unwrap_or(1);
    let size = spin.size.unwrap_or(64);
    let work = Work::of(&["computed", "touched", "forks"]);
    let mut threads = Vec::new();
    for n in 0..spin.cpu.unwrap_or(1) {
        threads.push(work.thread(move |work| compute(seed.wrapping_add(u64::from(n)), work))?);
    }
    for n in 0..spin.memory.unwrap_or(1) {
        threads.push(work.thread(move |work| touch(seed.wrapping_add(u64::from(n)), size as usize, work))?);
    }
    if spin.fork.unwrap_or(true) {
        threads.push(work.thread(fork)?);
    }
    work.go_on(threads)
}

/// The steps between two checks for the end.
const STEPS: u64 = 10_000;

fn fork(work: &Work) -> Result<()> {
    // `latido --version` is a program that is certainly there and ends at once.
    let own = std::env::current_exe()?;
    while !work.is_over() {
        // It runs as latido does: the agent starts the load, and the program is latido itself.
        bound(Command::new(&own)).arg("--version").status().context("spin: fork")?;
        work.add("forks", 1);
    }
    Ok(())
}

fn compute(seed: u64, work: &Work) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    while !work.is_over() {
        for _ in 0..STEPS {
            std::hint::black_box(random.next_u64());
        }
        work.add("computed", STEPS);
    }
    Ok(())
}

fn touch(seed: u64, mebibytes: usize, work: &Work) -> Result<()> {
    let words = mebibytes << 17;
    let mut memory = vec![0u64; words];
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    while !work.is_over() {
        for _ in 0..STEPS {
            let at = random.next_u64();
            let place = usize::try_from(at % words as u64).unwrap_or(0);
            if let Some(word) = memory.get_mut(place) {
                *word = word.wrapping_add(at);
            }
            std::hint::black_box(&memory);
        }
        work.add("touched", STEPS);
    }
    Ok(())
}
