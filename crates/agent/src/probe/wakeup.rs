//! `wakeup`: how late a periodic thread runs after its timer, every slot accounted for.

use crate::measure::{Def, Interval, Measurand, Probe, Quantity, Stage, out_of_band, with_defaults};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    cell::{Cell, Scheduling},
    units::Ns,
};
use latido_rt::wakeup::{self, Means, Schedule, Wakeups};
use latido_sys::{
    clock::{self, Clock::Monotonic},
    signal,
    timer::{SignalTimer, TimerDescriptor},
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "wakeup",
    about: "how late a periodic thread runs after its timer (as cyclictest, with every slot counted)",
    help: "\
One thread per measured CPU (or `tasks` of them) sleeps to absolute times of a fixed schedule: slot k is due at s_k = s_0 + k T. A sample
of `latency` is the time from s_k to the moment the thread reads the clock after waking. Then it arms the next slot
in the future, without catch-up bursts. latido counts every slot:
  met      the thread ran for it within the period (or `deadline`)
  late     the thread ran for it, but later
  missed   the thread never armed it, because it had not yet returned from an earlier slot
The plain distribution has the wake-ups; the corrected one also has the delay of each missed slot. Limits, expectations
and headline figures use the corrected one.

Options:
  period     time between slots; default 1ms
  deadline   a wake-up within this is met; default the period
  by         how the thread waits: nanosleep (default), clock_nanosleep(2) until the slot; timerfd, a timer
             descriptor set to the slot and read; posix-timer, timer_settime(2) and a wait for its signal; deadline,
             sched_yield(2) under `--policy deadline`: until the kernel begins the thread's next period
  phase      fixed (default): slot k at s_0 + k T, so that a period of 1 ms keeps one phase to the kernel's tick for
             ever; random: anywhere in its period, but at most a quarter of a period from the phase of the previous slot.
             The cell's seed determines the whole sequence
  tasks      threads on each CPU, 1 to 256; default 1. With one priority they run one after another
  clock      monotonic (default), boottime, tai or realtime: the kernel clock for sleeping and reading
  align      common (default): all threads share s_0; free: each starts on its own
  distance   shift of each further thread's schedule; default 0ns
  cycles     end after this many slots per thread instead of after the cell's duration; default 0, by duration

Quantity: latency (ns). Fact per thread: first_slot_ns (its first counted slot after the
cell's first). Under the deadline policy samples that follow a budget overrun have a separate series,
`latency_after_overrun`.
With by=deadline the kernel keeps the schedule, and does not report when a period began: the earliest of each 16 wake-ups
counts as on time, so that the smallest sample is near 0 and the others show how much later they were.
Comparable with cyclictest(8) `-m -a -t -h`, without its silently skipped periods.",
    main_option: Some("period"),
    new: |table| {
        let probe = with_defaults(table, DEFAULTS)?;
        ensure!(probe.period >= Ns::from_micros(1), "`period` must be 1us or more: the clock alone takes longer");
        ensure!(probe.period <= Ns::from_secs(3600), "`period` must be at most 1h");
        ensure!(probe.deadline.is_none_or(|deadline| deadline.0 > 0), "`deadline` must be above 0");
        ensure!((1..=256).contains(&probe.tasks), "`tasks` must be 1 to 256 threads per CPU; got {}", probe.tasks);
        ensure!(
            probe.by != WaitBy::Timerfd || probe.clock != SleepClock::Tai,
            "timer descriptors do not support the clock `tai`: use by=nanosleep or by=posix-timer"
        );
        ensure!(
            probe.by != WaitBy::Deadline || probe.is_kernels(),
            "with by=deadline the kernel keeps the schedule: omit `clock`, `phase`, `align` and `distance`"
        );
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WakeupProbe {
    period: Ns,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Ns>,
    by: WaitBy,
    phase: Phase,
    tasks: u32,
    clock: SleepClock,
    align: Align,
    distance: Ns,
    cycles: u64,
}

const DEFAULTS: WakeupProbe = WakeupProbe {
    period: Ns::from_millis(1),
    deadline: None,
    by: WaitBy::Nanosleep,
    phase: Phase::Fixed,
    tasks: 1,
    clock: SleepClock::Monotonic,
    align: Align::Common,
    distance: Ns(0),
    cycles: 0,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WaitBy {
    Nanosleep,
    Timerfd,
    PosixTimer,
    Deadline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Phase {
    Fixed,
    Random,
}

impl Phase {
    /// Returns the phase of one of the threads. Each thread has its own sequence, from the cell's seed.
    fn of_thread(self, seed: u64, thread: u64) -> wakeup::Phase {
        match self {
            Self::Fixed => wakeup::Phase::Fixed,
            Self::Random => wakeup::Phase::Random { seed: seed ^ thread << 53 },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SleepClock {
    Monotonic,
    Boottime,
    Tai,
    Realtime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Align {
    Common,
    Free,
}

impl SleepClock {
    fn of_kernel(self) -> clock::Clock {
        match self {
            Self::Monotonic => Monotonic,
            Self::Boottime => clock::Clock::Boottime,
            Self::Tai => clock::Clock::Tai,
            Self::Realtime => clock::Clock::Realtime,
        }
    }
}

impl WakeupProbe {
    /// Tells whether no option needs a schedule of latido's.
    fn is_kernels(&self) -> bool {
        let ours = (DEFAULTS.clock, DEFAULTS.phase, DEFAULTS.align, DEFAULTS.distance);
        (self.clock, self.phase, self.align, self.distance) == ours
    }

    /// Creates what a thread waits with. The thread itself must call this.
    fn means(&self) -> Result<Means> {
        let clock = self.clock.of_kernel();
        Ok(match self.by {
            WaitBy::Nanosleep => Means::Nanosleep(clock),
            WaitBy::Timerfd => {
                let timer = TimerDescriptor::new(clock).context("cannot make a timer descriptor")?;
                Means::TimerFd(clock, timer)
            }
            WaitBy::PosixTimer => {
                let timer = SignalTimer::new(clock).context("cannot make a POSIX timer")?;
                Means::PosixTimer(clock, timer)
            }
            WaitBy::Deadline => Means::Deadline,
        })
    }

    /// Creates what a thread waits with that a core beside the kernel schedules.
    fn means_out_of_band(&self) -> Result<Means> {
        let member = out_of_band::own()?;
        Ok(match self.by {
            WaitBy::Timerfd => Means::OutOfBandTimer(member.timer().context("cannot make a timer of the core")?),
            _ => Means::OutOfBand(member),
        })
    }
}

impl Probe for WakeupProbe {
    fn measurand(&self) -> Measurand {
        let latency = Quantity::time("latency", "Wake-up latency").each("wake-up").periodic();
        let after_overrun = Quantity::time("latency_after_overrun", "After a budget overrun").each("wake-up");
        Measurand::new("Wake-up latency", [latency, after_overrun])
            .every(self.period)
            .counted_by("cycles", self.cycles)
            .expected(Ns(self.period.0.saturating_mul(self.cycles)))
    }

    fn out_of_band(&self) -> Result<()> {
        ensure!(
            matches!(self.by, WaitBy::Nanosleep | WaitBy::Timerfd),
            "a core beside the kernel has no POSIX timer for latido and no deadline policy: use by=nanosleep or by=timerfd"
        );
        ensure!(self.clock == SleepClock::Monotonic, "latido sleeps out of band only on the clock `monotonic`");
        Ok(())
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        ensure!(
            self.by != WaitBy::Deadline || matches!(cell.scheduling, Scheduling::Deadline { .. }),
            "by=deadline needs a deadline thread: add --policy deadline"
        );
        if let Scheduling::Deadline { period, .. } = cell.scheduling {
            ensure!(
                period == self.period,
                "the deadline policy replenishes every {period} but the probe's period is {}: make them equal",
                self.period
            );
        }
        Ok(())
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let clock = self.clock.of_kernel();
        stage.evidence.clock.name = clock.name().into();
        let deadline_policy = matches!(stage.cell.scheduling, Scheduling::Deadline { .. });
        if deadline_policy {
            signal::catch_overruns().context("cannot install a handler for SIGXCPU to see budget overruns")?;
        }
        let slots =
            if self.cycles > 0 { self.cycles } else { (stage.cell.conditions.duration.0 / self.period.0).max(1) };
        let phase = clock.now();
        let free = self.align == Align::Free;
        let cpus = stage.cpus().into_iter().flat_map(|cpu| std::iter::repeat_n(cpu, self.tasks as usize));
        for (thread, cpu) in (0..).zip(cpus) {
            let (mut recorder, latency) = stage.series("latency")?;
            let mut series = vec![latency];
            let mut after_overrun = None;
            if deadline_policy {
                let (recorder, latency) = stage.series("latency_after_overrun")?;
                after_overrun = Some(recorder);
                series.push(latency);
            }
            let mut schedule = Schedule {
                start_ns: phase.saturating_add(self.distance.0.saturating_mul(thread)),
                period_ns: self.period.0,
                deadline_ns: self.deadline.unwrap_or(self.period).0,
                warmup: stage.cell.conditions.warmup.0 / self.period.0,
                slots,
                phase: self.phase.of_thread(stage.cell.seed, thread),
            };
            let (stop, probe) = (stage.stop(), self.clone());
            let is_out_of_band = stage.cell.scheduling.core().is_some();
            stage.thread(cpu, series, move || {
                let means = if is_out_of_band { probe.means_out_of_band() } else { probe.means() };
                if let Ok(means) = &means {
                    wakeup::rehearse(means, &mut recorder, after_overrun.as_mut());
                }
                move || {
                    // This makes no call that the dry run has not made: its code may not be in memory yet.
                    let means = match &means {
                        Ok(means) => means,
                        Err(error) => bail!("{error:#}"),
                    };
                    if free {
                        schedule.start_ns = clock.now();
                    }
                    // The host needs the thread's times on CLOCK_MONOTONIC, whatever the clock of the schedule.
                    let offset = clock.now().wrapping_sub(Monotonic.now());
                    let outcome = wakeup::run(means, &schedule, &stop, &mut recorder, after_overrun.as_mut());
                    let Interval { first_slot_ns, ended_ns } = interval(&outcome)?;
                    let (first_slot_ns, ended_ns) = (first_slot_ns.wrapping_sub(offset), ended_ns.wrapping_sub(offset));
                    Ok(Interval { first_slot_ns, ended_ns })
                }
            });
        }
        stage.run()
    }
}

/// Returns the interval of a completed periodic loop, for the stage.
pub fn interval(outcome: &Wakeups) -> Result<Interval> {
    match outcome.end.failure() {
        Some(error) => bail!("the kernel refused to sleep: {error}"),
        None => Ok(Interval { first_slot_ns: outcome.first_slot_ns, ended_ns: outcome.ended_ns }),
    }
}
