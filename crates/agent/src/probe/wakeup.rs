//! `wakeup`: how late a periodic thread runs after its timer, every slot accounted for.

use crate::measure::{Def, Interval, Measurand, Probe, Quantity, Stage, with_defaults};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    cell::{Cell, Scheduling},
    units::Ns,
};
use latido_rt::wakeup::{self, Schedule, Wakeups};
use latido_sys::{
    clock::{self, Clock::Monotonic},
    signal,
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "wakeup",
    about: "how late a periodic thread runs after its timer (as cyclictest, with every slot counted)",
    help: "\
One thread per measured CPU sleeps to absolute times of a fixed schedule: slot k is due at s_k = s_0 + k T. A sample
of `latency` is the time from s_k to the moment the thread reads the clock after waking. Then it arms the first slot
that is still to come: no catch-up bursts. Every slot is counted:
  met      the thread ran for it within the period (or `deadline`)
  late     it ran for it, later than that
  missed   it passed without being armed, because the thread was still away
The plain distribution holds the wake-ups; the corrected one also the delay of each missed slot. Limits, expectations
and headline figures use the corrected one.

Options:
  period     time between slots; default 1ms
  deadline   a wake-up within this is met; default the period
  clock      monotonic (default), boottime, tai or realtime: the kernel clock that is slept on and read
  align      common (default): all threads share s_0; free: each starts on its own
  distance   shift of each further thread's schedule; default 0ns
  cycles     end after this many slots a thread instead of after the cell's duration; default 0, by duration

Quantity: latency (ns). Fact per thread: first_slot_ns (its first counted slot after the
cell's first). Under the deadline policy samples that follow a budget overrun are a series of their own,
`latency_after_overrun`.
Comparable with cyclictest(8) `-m -a -t -h`, without its silently skipped periods.",
    main_option: Some("period"),
    new: |table| {
        let probe = with_defaults(table, DEFAULTS)?;
        ensure!(probe.period >= Ns::from_micros(1), "a period under 1us is no schedule: the clock alone takes longer");
        ensure!(probe.period <= Ns::from_secs(3600), "a period over 1h is refused");
        ensure!(probe.deadline.is_none_or(|deadline| deadline.0 > 0), "`deadline` must be above 0");
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WakeupProbe {
    period: Ns,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Ns>,
    clock: SleepClock,
    align: Align,
    distance: Ns,
    cycles: u64,
}

const DEFAULTS: WakeupProbe = WakeupProbe {
    period: Ns::from_millis(1),
    deadline: None,
    clock: SleepClock::Monotonic,
    align: Align::Common,
    distance: Ns(0),
    cycles: 0,
};

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

impl Probe for WakeupProbe {
    fn measurand(&self) -> Measurand {
        let latency = Quantity::time("latency", "Wake-up latency").each("wake-up").periodic();
        let after_overrun = Quantity::time("latency_after_overrun", "After a budget overrun").each("wake-up");
        Measurand::new("Wake-up latency", [latency, after_overrun])
            .counted_by("cycles", self.cycles)
            .expected(Ns(self.period.0.saturating_mul(self.cycles)))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
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
            signal::catch_overruns().context("cannot take over SIGXCPU to see budget overruns")?;
        }
        let slots =
            if self.cycles > 0 { self.cycles } else { (stage.cell.conditions.duration.0 / self.period.0).max(1) };
        let phase = clock.now();
        let free = self.align == Align::Free;
        for (thread, cpu) in (0..).zip(stage.cpus()) {
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
            };
            let stop = stage.stop();
            stage.thread(cpu, series, move || {
                wakeup::rehearse(clock, &mut recorder, after_overrun.as_mut());
                move || {
                    if free {
                        schedule.start_ns = clock.now();
                    }
                    // Whatever the clock of the schedule, the host places the thread on CLOCK_MONOTONIC.
                    let offset = clock.now().wrapping_sub(Monotonic.now());
                    let outcome = wakeup::run(clock, &schedule, &stop, &mut recorder, after_overrun.as_mut());
                    let Interval { first_slot_ns, ended_ns } = interval(&outcome)?;
                    let (first_slot_ns, ended_ns) = (first_slot_ns.wrapping_sub(offset), ended_ns.wrapping_sub(offset));
                    Ok(Interval { first_slot_ns, ended_ns })
                }
            });
        }
        stage.run()
    }
}

/// What the stage wants to know of a periodic loop that is over.
pub fn interval(outcome: &Wakeups) -> Result<Interval> {
    match outcome.end.failure() {
        Some(error) => bail!("the kernel refused to sleep: {error}"),
        None => Ok(Interval { first_slot_ns: outcome.first_slot_ns, ended_ns: outcome.ended_ns }),
    }
}
