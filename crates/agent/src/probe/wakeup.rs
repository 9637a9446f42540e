//! `wakeup`: how late a periodic thread runs after its timer, every slot accounted for.

use crate::measure::{
    Probe,
    series::Name,
    stage::{Done, Job, Loop, Stage, Tap, no_facts},
};
use anyhow::{Context, Result, ensure};
use latido_model::{
    cell::{Cell, Scheduling},
    quantity::{Measurand, Quantity},
    registry::{self, Def},
    units::Ns,
};
use latido_rt::{
    Recorder, recorder,
    wakeup::{self, Schedule},
};
use latido_sys::{clock::Clock::Monotonic, signal};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, atomic::AtomicBool};

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
        let probe = registry::options::<Wakeup>(table)?;
        ensure!(probe.period >= Ns::from_micros(1), "a period under 1us is no schedule: the clock alone takes longer");
        ensure!(probe.period <= Ns::from_secs(3600), "a period over 1h is refused");
        ensure!(probe.deadline.is_none_or(|deadline| deadline.0 > 0), "`deadline` must be above 0");
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wakeup {
    period: Ns,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Ns>,
    clock: Clock,
    align: Align,
    distance: Ns,
    cycles: u64,
}

impl Default for Wakeup {
    fn default() -> Self {
        Self {
            period: Ns::from_millis(1),
            deadline: None,
            clock: Clock::Monotonic,
            align: Align::Common,
            distance: Ns(0),
            cycles: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Clock {
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

impl Clock {
    fn of_kernel(self) -> latido_sys::clock::Clock {
        match self {
            Self::Monotonic => Monotonic,
            Self::Boottime => latido_sys::clock::Clock::Boottime,
            Self::Tai => latido_sys::clock::Clock::Tai,
            Self::Realtime => latido_sys::clock::Clock::Realtime,
        }
    }
}

impl Probe for Wakeup {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn measurand(&self) -> Measurand {
        Measurand {
            title: "Wake-up latency".into(),
            quantities: vec![
                Quantity::time("latency", "Wake-up latency").each("wake-up").periodic(),
                Quantity::time("latency_after_overrun", "After a budget overrun").each("wake-up"),
            ],
            counts: vec!["cycles".into()],
            counts_samples: self.cycles > 0,
            expected: Some(Ns(self.period.0.saturating_mul(self.cycles))),
            ..Measurand::default()
        }
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
        let mut jobs = Vec::new();
        for (thread, cpu) in (0u32..).zip(stage.cpus()) {
            // The kernel refuses to pin a deadline thread: it is admitted for its whole root domain.
            let cpu = Some(cpu).filter(|_| !deadline_policy);
            let (recorder, reader) = recorder::new(&stage.config(true))?;
            let name = |quantity: &str| Name { quantity: quantity.into(), cpu, thread, ..Name::default() };
            let mut taps = vec![Tap { name: name("latency"), periodic: true, reader, facts: no_facts }];
            let mut after_overrun = None;
            if deadline_policy {
                let (recorder, reader) = recorder::new(&stage.config(false))?;
                after_overrun = Some(recorder);
                let name = name("latency_after_overrun");
                taps.push(Tap { name, periodic: false, reader, facts: no_facts });
            }
            let schedule = Schedule {
                start_ns: phase.saturating_add(self.distance.0.saturating_mul(thread.into())),
                period_ns: self.period.0,
                deadline_ns: self.deadline.unwrap_or(self.period).0,
                warmup: stage.cell.conditions.warmup.0 / self.period.0,
                slots,
            };
            let thread = Thread { clock, free: self.align == Align::Free, schedule, stop: Arc::clone(&stage.stop) };
            let rehearse = Box::new(move || thread.rehearse(recorder, after_overrun));
            jobs.push(Job { cpu, scheduling: Some(stage.cell.scheduling), taps, rehearse });
        }
        stage.run(jobs, self.measurand().counts_samples)
    }
}

/// What one thread needs to know.
struct Thread {
    clock: latido_sys::clock::Clock,
    free: bool,
    schedule: Schedule,
    stop: Arc<AtomicBool>,
}

impl Thread {
    fn rehearse(mut self, mut recorder: Recorder, mut after_overrun: Option<Recorder>) -> Loop {
        wakeup::rehearse(self.clock, &mut recorder, after_overrun.as_mut());
        Box::new(move || {
            if self.free {
                self.schedule.start_ns = self.clock.now();
            }
            // Whatever the clock of the schedule, the host places the thread on CLOCK_MONOTONIC.
            let offset = self.clock.now().wrapping_sub(Monotonic.now());
            let outcome = wakeup::run(self.clock, &self.schedule, &self.stop, &mut recorder, after_overrun.as_mut());
            Done {
                first_slot_ns: outcome.first_slot_ns.wrapping_sub(offset),
                ended_ns: outcome.ended_ns.wrapping_sub(offset),
                failed: outcome.end.failure().map(|error| format!("the kernel refused to sleep: {error}")),
            }
        })
    }
}
