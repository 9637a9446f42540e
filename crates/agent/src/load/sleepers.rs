//! `sleepers`: threads that sleep for nanoseconds to milliseconds, as stress-ng's `--sleep` does, for machines without stress-ng.

use crate::loading::{
    Launch, Load, Surroundings,
    work::{self, Work},
};
use anyhow::{Context, Result, ensure};
use latido_model::registry::{self, Def};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::{event, time::Timespec};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "sleepers",
    about: "built in: threads that sleep for 1 ns to 10 ms, as stress-ng's --sleep",
    help: "\
Each worker has threads, and each thread sleeps twelve times per round: 1, 10 and 100 ns, 1, 10, 100, 1000 and 10000 us
by nanosleep, then 10, 100, 1000 and 10000 us by ppoll. stress-ng's `--sleep workers --sleep-max threads` sleeps for the
same times, and its workers are processes; here they are threads of one process, so that the kernel switches no address
space between them.

Options:
  workers  1 to 8192; default one per CPU
  threads  of each worker; default 1024, as stress-ng; all workers together have at most 8192
  seed     of the moments at which the threads start their first round: within 22 ms; default the cell's

The record's `achieved` holds rounds (stress-ng's operations) and elapsed_ns.",
    main_option: Some("workers"),
    new: |table| Ok(Box::new(checked(table)?)),
};

/// The most threads of all workers.
const THREADS: u64 = 8192;

/// By nanosleep, ns.
const SLEEPS: [i64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// By ppoll, ns.
const WAITS: [i64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// The options of the load.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sleepers {
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<u32>,
    threads: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

impl Default for Sleepers {
    fn default() -> Self {
        Self { workers: None, threads: 1024, seed: None }
    }
}

/// Returns the load with these options.
///
/// # Errors
/// An option does not exist, or there are more threads than allowed.
pub fn checked(table: toml::Table) -> Result<Sleepers> {
    let load: Sleepers = registry::options(table)?;
    let workers = load.workers.unwrap_or(1);
    ensure!(workers >= 1 && load.threads >= 1, "`workers` and `threads` are at least 1");
    allowed(workers, load.threads)?;
    Ok(load)
}

fn allowed(workers: u32, threads: u32) -> Result<()> {
    let all = u64::from(workers) * u64::from(threads);
    ensure!(
        all <= THREADS,
        "{workers} workers with {threads} threads each are {all} threads, but {THREADS} are allowed: use fewer \
         `threads`"
    );
    Ok(())
}

impl Load for Sleepers {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let cpus = u32::try_from(around.counted.len()).unwrap_or(u32::MAX).max(1);
        let (workers, seed) = (self.workers.unwrap_or(cpus), self.seed.unwrap_or(around.seed));
        let load = Self { workers: Some(workers), seed: Some(seed), ..*self };
        allowed(load.workers.unwrap_or(1), load.threads)?;
        Ok(Some(work::own(DEF.name, &load)?))
    }

    fn bear(&self) -> Option<Result<()>> {
        let threads = self.workers.unwrap_or(1).saturating_mul(self.threads);
        let mut random = ChaCha8Rng::seed_from_u64(self.seed.unwrap_or(1));
        Some(work::bear(&["rounds"], (0..threads).map(|_| sleeper(phase(&mut random)))))
    }
}

/// Returns how long a thread sleeps before its first round: at most the length of a round. So the replicates of a sweep of guests differ in
/// what their load does at a given moment, not only in the guest's own time.
fn phase(random: &mut impl RngCore) -> Timespec {
    let longest: i64 = SLEEPS.iter().chain(&WAITS).sum();
    let nanoseconds = i64::from(random.next_u32()).checked_rem(longest).unwrap_or(0);
    Timespec { tv_sec: 0, tv_nsec: nanoseconds }
}

/// Returns what a thread does: it waits for its phase once, then makes rounds.
fn sleeper(phase: Timespec) -> work::Chore {
    let mut phase = Some(phase);
    Box::new(move |work| {
        if let Some(span) = phase.take() {
            let _ = rustix::thread::nanosleep(&span);
        }
        round(work)
    })
}

/// Makes one round of sleeps.
fn round(work: &Work) -> Result<()> {
    let span = |nanoseconds| Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    for nanoseconds in SLEEPS {
        // A signal ends a sleep early: the load is over then, or goes on.
        let _ = rustix::thread::nanosleep(&span(nanoseconds));
    }
    for nanoseconds in WAITS {
        event::poll(&mut [], Some(&span(nanoseconds))).map(drop).or_else(interrupted).context("sleepers: ppoll")?;
    }
    work.add("rounds", 1);
    Ok(())
}

fn interrupted(error: rustix::io::Errno) -> Result<(), rustix::io::Errno> {
    if error == rustix::io::Errno::INTR { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["workers = 0", "threads = 0", "workers = 9", "workers = 2\nthreads = 4097", "sleep = 3"] {
            assert!(checked(bad.parse().unwrap()).is_err(), "{bad}");
        }
        assert!(checked("workers = 8".parse().unwrap()).is_ok(), "8 times 1024");
    }

    #[test]
    fn a_seed_tells_when_the_threads_begin() {
        let phases = |seed| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            [(); 4].map(|()| phase(&mut random).tv_nsec)
        };
        assert_eq!(phases(7), phases(7));
        assert_ne!(phases(7), phases(8));
        assert!(phases(7).iter().all(|ns| (0..22_221_111).contains(ns)), "{:?}", phases(7));
    }

    #[test]
    fn a_round_sleeps_for_as_long_as_it_says() {
        let (work, began) = (Work::of(&["rounds"]), std::time::Instant::now());
        round(&work).unwrap();
        assert!(began.elapsed().as_nanos() >= 22_221_111, "twelve sleeps in one round");
        assert_eq!(work.done("rounds"), 1);
    }
}
