//! `interrupts`: a storm of timers on every CPU.

use crate::loading::{
    Launch, Load, Surroundings,
    work::{self, Work},
};
use crate::machine;
use anyhow::{Context, Result, ensure};
use latido_model::{
    cpus::CpuSet,
    registry::{self, Def},
};
use latido_sys::{clock::Clock, sched, timer::TimerDescriptor};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "interrupts",
    about: "a storm of timer interrupts: many timers on every CPU",
    help: "\
Runs several threads on each CPU, and wakes each of them by a separate timer again and again. Every expiry that is not
close to another one is an interrupt of that CPU, and a wake-up. The load does not enter CPUs that are kept free
(isolcpus, isolated partitions).

Options:
  rate     expiries per second of each timer, 1 to 100000; default 2000
  timers   per CPU, 1 to 256; default 8
  by       timerfd (default): periodic timers, which fall behind rather than slow down; nanosleep: a sleep after each
  cpus     the CPUs; default every allowed one that is not isolated

The record's `achieved` holds expiries (with timerfd also those that passed while a thread could not run), wakeups and
elapsed_ns.",
    main_option: Some("rate"),
    new: |table| Ok(Box::new(checked(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct InterruptLoad {
    rate: u32,
    timers: u32,
    by: TimerKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<CpuSet>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TimerKind {
    Timerfd,
    Nanosleep,
}

impl Default for InterruptLoad {
    fn default() -> Self {
        Self { rate: 2000, timers: 8, by: TimerKind::Timerfd, cpus: None }
    }
}

fn checked(table: toml::Table) -> Result<InterruptLoad> {
    let load: InterruptLoad = registry::options(table)?;
    ensure!((1..=100_000).contains(&load.rate), "`rate` is 1 to 100000 per second");
    ensure!((1..=256).contains(&load.timers), "`timers` is 1 to 256");
    Ok(load)
}

impl Load for InterruptLoad {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let cpus = self.cpus.clone().unwrap_or_else(|| around.allowed.without(&machine::kept_free()));
        ensure!(!cpus.is_empty(), "interrupts: every allowed CPU is isolated; name some with cpus=");
        Ok(Some(work::own(DEF.name, &Self { cpus: Some(cpus), ..self.clone() })?))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

impl InterruptLoad {
    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        let work = Work::of(&["expiries", "wakeups"]);
        let cpus = self.cpus.clone().unwrap_or_else(machine::own_cpus);
        let mut threads = Vec::new();
        for cpu in cpus.iter() {
            for _ in 0..self.timers {
                let load = self.clone();
                threads.push(work.thread(move |work| {
                    sched::set_affinity(0, [cpu]).with_context(|| format!("interrupts: CPU {cpu}"))?;
                    load.expire(work)
                })?);
            }
        }
        work.go_on(threads)
    }

    /// Returns the time between two expiries of a timer.
    fn period(&self) -> Duration {
        Duration::from_nanos(1_000_000_000 / u64::from(self.rate))
    }

    fn expire(&self, work: &Work) -> Result<()> {
        let period = self.period();
        if self.by == TimerKind::Nanosleep {
            // With the default slack the kernel joins sleeps that end within 50 µs of each other.
            let _ = sched::set_timer_slack(1);
            while !work.is_over() {
                std::thread::sleep(period);
                work.add("expiries", 1);
                work.add("wakeups", 1);
            }
            return Ok(());
        }
        let timer = TimerDescriptor::new(Clock::Monotonic).context("a timer descriptor")?;
        timer.repeat(u64::try_from(period.as_nanos())?).context("a timer descriptor")?;
        while !work.is_over() {
            work.add("expiries", timer.wait().context("reading a timer")?);
            work.add("wakeups", 1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["rate = 0", "rate = 100001", "timers = 0", "by = \"hpet\"", "cpus = \"x\""] {
            assert!(checked(bad.parse().unwrap()).is_err(), "{bad}");
        }
        let around = Surroundings { allowed: "0-1".parse().unwrap(), counted: "0-1".parse().unwrap(), seed: 7 };
        let launch = checked("cpus = \"1\"".parse().unwrap()).unwrap().launch(&around).unwrap().unwrap();
        assert_eq!(launch.argv[2], "interrupts:by=timerfd,cpus=1,rate=2000,timers=8");
    }

    #[test]
    fn timers_expire_by_either_way() {
        for by in ["timerfd", "nanosleep"] {
            let load = checked(format!("rate = 10000\nby = \"{by}\"").parse().unwrap()).unwrap();
            let work = Work::of(&["expiries", "wakeups"]);
            let (began, period) = (Instant::now(), load.period());
            let thread = work.thread(move |work| load.expire(work));
            while work.done("wakeups") < 50 {
                std::thread::yield_now();
            }
            work.end();
            thread.unwrap().join().unwrap();
            let most = began.elapsed().as_nanos() / period.as_nanos();
            assert_eq!(period, Duration::from_micros(100));
            assert!(work.done("wakeups") <= work.done("expiries") && u128::from(work.done("expiries")) <= most, "{by}");
        }
    }
}
