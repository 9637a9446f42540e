//! `memory`: threads that copy through caches and memory and access random places in them.

use crate::loading::{
    Launch, Load, Surroundings,
    work::{self, Work},
};
use anyhow::{Result, ensure};
use latido_model::registry::{self, Def};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "memory",
    about: "thrashes caches and memory: copies for the bandwidth, jumps for the latency",
    help: "\
Its threads copy one half of their memory to the other half and back (bandwidth), or follow a chain of random places in
it (latency: one cache or TLB miss after another), or do both in turn.

Options:
  pattern   both (default), copy or random
  threads   default one per CPU, at most 4096
  size      memory of each thread, in MiB, 1 to 65536; default 64; all together at most half of what is available
  seed      of the places; default the cell's

The record's `achieved` holds copied_bytes, accesses and elapsed_ns.",
    main_option: Some("pattern"),
    new: |table| Ok(Box::new(checked(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MemoryLoad {
    pattern: Pattern,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<u32>,
    size: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Pattern {
    Both,
    Copy,
    Random,
}

impl Default for MemoryLoad {
    fn default() -> Self {
        Self { pattern: Pattern::Both, threads: None, size: 64, seed: None }
    }
}

fn checked(table: toml::Table) -> Result<MemoryLoad> {
    let load: MemoryLoad = registry::options(table)?;
    ensure!((1..=65_536).contains(&load.size), "`size` is 1 to 65536 MiB");
    ensure!((1..=4096).contains(&load.threads.unwrap_or(1)), "`threads` is 1 to 4096");
    Ok(load)
}

impl Load for MemoryLoad {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let threads = self.threads.unwrap_or_else(|| u32::try_from(around.counted.len()).unwrap_or(1).clamp(1, 4096));
        let wanted = u64::from(threads) * u64::from(self.size);
        if let Some(available) = available_mib() {
            ensure!(
                wanted <= available / 2,
                "memory: {threads} threads of {} MiB need {wanted} MiB, but the load uses at most half of the \
                 {available} MiB available: make `size` smaller",
                self.size
            );
        }
        let asked = Self { seed: Some(self.seed.unwrap_or(around.seed)), threads: Some(threads), ..self.clone() };
        Ok(Some(work::own(DEF.name, &asked)?))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

/// Returns MemAvailable of proc_meminfo(5), in MiB.
fn available_mib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? >> 10)
}

/// The bytes of one copy, and the steps of one walk, between two checks for the end.
const CHUNK: usize = 1 << 20;
const STEPS: u64 = 100_000;

impl MemoryLoad {
    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        let work = Work::of(match self.pattern {
            Pattern::Both => &["copied_bytes", "accesses"][..],
            Pattern::Copy => &["copied_bytes"],
            Pattern::Random => &["accesses"],
        });
        let threads = (0..self.threads.unwrap_or(1)).map(|number| {
            let load = self.clone();
            work.thread(move |work| {
                load.thrash(u64::from(number), work);
                Ok(())
            })
        });
        let threads = threads.collect::<Result<_>>()?;
        work.go_on(threads)
    }

    fn thrash(&self, number: u64, work: &Work) {
        let words = (self.size as usize) << 17;
        let mut random = ChaCha8Rng::seed_from_u64(self.seed.unwrap_or(1).wrapping_add(number));
        // The memory is written, so that every page exists and none is the shared page of zeros.
        let mut memory = vec![0_u64; words];
        for part in memory.chunks_mut(CHUNK / 8) {
            if work.is_over() {
                return;
            }
            random.fill(part);
        }
        let mut place = 0;
        while !work.is_over() {
            if self.pattern != Pattern::Random {
                copy(&mut memory, work);
            }
            if self.pattern != Pattern::Copy {
                for _ in 0..4 {
                    place = walk(&mut memory, place);
                    work.add("accesses", STEPS);
                    if work.is_over() {
                        return;
                    }
                }
            }
        }
    }
}

/// Copies the first half to the second, and back.
fn copy(memory: &mut [u64], work: &Work) {
    let (first, second) = memory.split_at_mut(memory.len() / 2);
    for back in [false, true] {
        let (from, to) = if back { (&mut *second, &mut *first) } else { (&mut *first, &mut *second) };
        for (to, from) in to.chunks_mut(CHUNK / 8).zip(from.chunks(CHUNK / 8)) {
            if work.is_over() {
                return;
            }
            to.copy_from_slice(from);
            work.add("copied_bytes", size_of_val(to) as u64);
        }
    }
    std::hint::black_box(memory);
}

/// Walks through memory: the word at each place decides the next place. Each word is changed, so that no walk is a circle.
fn walk(memory: &mut [u64], mut place: usize) -> usize {
    let length = memory.len().max(1) as u64;
    for _ in 0..STEPS {
        let Some(word) = memory.get_mut(place) else { return 0 };
        // The constants of Knuth's MMIX generator.
        *word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Its high bits are the random ones: multiply and shift.
        place = ((u128::from(*word) * u128::from(length)) >> 64) as usize;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["pattern = \"stride\"", "threads = 0", "threads = 4097", "size = 0"] {
            assert!(checked(bad.parse().unwrap()).is_err(), "{bad}");
        }
        let around = Surroundings { allowed: "0-1".parse().unwrap(), counted: "0-1".parse().unwrap(), seed: 7 };
        let error = checked("threads = 4096\nsize = 65536".parse().unwrap()).unwrap().launch(&around).unwrap_err();
        assert!(error.to_string().contains("at most half"), "{error}");
    }

    #[test]
    fn a_copy_counts_what_it_copied() {
        let work = Work::of(&["copied_bytes"]);
        let mut memory: Vec<u64> = (0..(1 << 18)).collect();
        copy(&mut memory, &work);
        assert_eq!(work.done("copied_bytes"), 2 << 20);
        assert_eq!(memory[..1 << 17], memory[1 << 17..]);
    }

    /// A walk reaches most of the memory: in as many steps as there are words, about two thirds (1 - 1/e).
    #[test]
    fn a_walk_goes_everywhere() {
        let before: Vec<u64> = {
            let mut random = ChaCha8Rng::seed_from_u64(1);
            (0..STEPS).map(|_| random.random()).collect()
        };
        let mut memory = before.clone();
        walk(&mut memory, 0);
        let touched = before.iter().zip(&memory).filter(|(a, b)| a != b).count();
        assert!(touched > STEPS as usize / 2, "{touched}");
    }
}
