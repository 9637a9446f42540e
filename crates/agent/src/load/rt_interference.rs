//! `rt-interference`: competing tasks of low, middle and high real-time priority on every CPU, as in the scheduling-latency study.

use crate::machine;
use crate::{
    loading::{Launch, Load, Surroundings, account},
    machine::Root,
};
use anyhow::{Context, Result, ensure};
use latido_model::{
    cpus::CpuSet,
    registry::{self, Def},
    units::Ns,
};
use latido_sys::{
    clock::{self, Clock::Monotonic},
    sched::{self, Policy},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "rt-interference",
    about: "three competing real-time threads on each CPU, low, middle and high: busy for 17 ms, asleep for 100 ms",
    help: "\
Runs three SCHED_FIFO threads on every CPU that it may enter. Each of them computes for a given processor time and then
sleeps. A measured task of priority 50 thus always has one competing thread above it, and no thread with the same priority. The
load never enters isolated CPUs (isolcpus, isolated cpuset partitions), which are kept free for the measured task.

Options:
  busy     processor time of each burst; default 17ms
  idle     sleep between two bursts; default 100ms
  low, middle, high   the priorities; default 10, 40, 90
  cpus     the CPUs; default every allowed one that is not isolated
  seed     of the moments at which the threads start; default the cell's

The record's `achieved` holds busy_ns (processor time of all bursts), bursts, elapsed_ns, and stalled_ns: how much
longer the bursts of the highest priority took than they ran, which is throttling, interrupts or stolen time. The load's
note has the setting of the real-time throttle. Needs permission for real-time priority. From the scheduling-latency
study (2019), measurement 6.",
    main_option: Some("busy"),
    new: |table| Ok(Box::new(checked(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Interference {
    busy: Ns,
    idle: Ns,
    low: u8,
    middle: u8,
    high: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<CpuSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

impl Default for Interference {
    fn default() -> Self {
        Self {
            busy: Ns::from_millis(17),
            idle: Ns::from_millis(100),
            low: 10,
            // A priority of 50 would tie with the measured task.
            middle: 40,
            high: 90,
            cpus: None,
            seed: None,
        }
    }
}

fn checked(table: toml::Table) -> Result<Interference> {
    let load: Interference = registry::options(table)?;
    ensure!(load.busy.0 > 0 && load.busy <= Ns::from_secs(1), "`busy` is above 0 and at most 1s");
    ensure!((Ns::from_millis(1)..=Ns::from_secs(60)).contains(&load.idle), "`idle` is 1ms to 60s");
    ensure!(
        1 <= load.low && load.low <= load.middle && load.middle <= load.high && load.high <= 99,
        "priorities are 1 to 99 and rise: low <= middle <= high"
    );
    // Three bursts in a row must leave the machine to other tasks in between.
    ensure!(
        load.idle.0 >= load.busy.0,
        "`idle` must be at least `busy`: three threads per CPU would leave no time for other tasks"
    );
    Ok(load)
}

impl Load for Interference {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let own = std::env::current_exe().context("cannot find latido's own file to start the load")?;
        let free = around.allowed.without(&machine::kept_free());
        let cpus = self.cpus.clone().unwrap_or(free);
        ensure!(!cpus.is_empty(), "rt-interference: every allowed CPU is isolated; name some with cpus=");
        let word = format!(
            "rt-interference:busy={},idle={},low={},middle={},high={},seed={},cpus={cpus}",
            self.busy,
            self.idle,
            self.low,
            self.middle,
            self.high,
            self.seed.unwrap_or(around.seed),
        );
        let argv = vec![own.to_string_lossy().into_owned(), "load".into(), word];
        let share = 300.0 * self.busy.0 as f64 / (self.busy.0 + self.idle.0) as f64;
        let note = format!("the threads request {share:.0} % of each of the CPUs {cpus}; {}", throttle());
        Ok(Some(Launch { version: Some(env!("CARGO_PKG_VERSION").into()), note: Some(note), ..Launch::of(argv) }))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(bear(self))
    }
}

/// Describes the setting of the real-time throttle.
fn throttle() -> String {
    let realtime = machine::read(&Root::default()).realtime;
    match (realtime.runtime_us, realtime.period_us) {
        (Some(-1), _) => "the real-time throttle is off".into(),
        (Some(runtime), Some(period)) => format!("the real-time throttle leaves them {runtime} of {period} µs"),
        _ => "the real-time throttle could not be read".into(),
    }
}

/// What all threads have done so far.
#[derive(Default)]
struct Served {
    busy_ns: AtomicU64,
    bursts: AtomicU64,
    stalled_ns: AtomicU64,
    refused: Mutex<Option<String>>,
}

/// Runs the load in this process until another process ends it.
fn bear(load: &Interference) -> Result<()> {
    let done = Arc::new(Served::default());
    let cpus = load.cpus.clone().unwrap_or_else(|| machine::own_cpus().without(&machine::kept_free()));
    let mut random = ChaCha8Rng::seed_from_u64(load.seed.unwrap_or(1));
    for cpu in cpus.iter() {
        for prio in [load.low, load.middle, load.high] {
            let begin = Duration::from_nanos(random.random_range(0..=load.busy.0 + load.idle.0));
            let (busy, idle, top) = (load.busy.0, load.idle.as_duration(), prio == load.high);
            let done = Arc::clone(&done);
            thread::Builder::new().spawn(move || rival(cpu, prio, begin, busy, idle, top, &done))?;
        }
    }
    let started = Monotonic.now();
    loop {
        thread::sleep(Duration::from_millis(100));
        if let Some(why) = done.refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            anyhow::bail!("{why}");
        }
        account::tell(&[
            ("elapsed_ns", Monotonic.now().saturating_sub(started)),
            ("busy_ns", done.busy_ns.load(Relaxed)),
            ("bursts", done.bursts.load(Relaxed)),
            ("stalled_ns", done.stalled_ns.load(Relaxed)),
        ])?;
    }
}

/// Runs one competing task without end.
fn rival(cpu: u32, prio: u8, begin: Duration, busy: u64, idle: Duration, top: bool, done: &Served) {
    let scheduling = latido_model::cell::Scheduling::Fifo { prio };
    let asked = sched::set_affinity(0, [cpu]).and_then(|()| sched::set_policy(0, Policy::Fifo { prio }, false));
    if let Err(error) = asked {
        let why = crate::measure::permission::explain(scheduling, error);
        *done.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("CPU {cpu}: {why}"));
        return;
    }
    thread::sleep(begin);
    loop {
        let (wall, cpu_time) = (Monotonic.now(), clock::thread_cpu_ns());
        let mut ran = 0;
        while ran < busy {
            ran = clock::thread_cpu_ns().saturating_sub(cpu_time);
        }
        let took = Monotonic.now().saturating_sub(wall);
        done.busy_ns.fetch_add(ran, Relaxed);
        done.bursts.fetch_add(1, Relaxed);
        if top {
            done.stalled_ns.fetch_add(took.saturating_sub(ran), Relaxed);
        }
        thread::sleep(idle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(text: &str) -> Result<Box<dyn Load>> {
        (DEF.new)(text.parse::<toml::Table>().unwrap())
    }

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in
            ["busy = \"0ns\"", "idle = \"5ms\"", "low = 60", "high = 100", "low = 0", "busy = \"2s\"", "rivals = 1"]
        {
            assert!(build(bad).is_err(), "{bad}");
        }
        assert!(build("busy = \"5ms\"\nidle = \"20ms\"\ncpus = \"0\"").is_ok());
    }

    #[test]
    fn the_command_names_everything() {
        let around = Surroundings { allowed: "0-1".parse().unwrap(), counted: "0-1".parse().unwrap(), seed: 7 };
        let launch = build("cpus = \"1\"").unwrap().launch(&around).unwrap().unwrap();
        let word = "rt-interference:busy=17ms,idle=100ms,low=10,middle=40,high=90,seed=7,cpus=1";
        assert_eq!(launch.argv.last().unwrap(), word);
        assert!(launch.note.unwrap().contains("44 % of each of the CPUs 1"));
    }
}
