//! `pendulum`: a periodic task balances a simulated pendulum; being late is seen as a swing, or a fall.

use crate::measure::{
    Probe,
    series::Name,
    stage::{Done, Facts, Job, Loop, Stage, Tap, no_facts},
};
use anyhow::{Result, ensure};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
    quantity::{Measurand, Quantity},
    record::ORDERED_MAX,
    registry::{self, Def},
    units::Ns,
};
use latido_rt::{
    Config, Snapshot,
    pendulum::{self, FALLEN_URAD},
    recorder,
    wakeup::Schedule,
};
use latido_sys::clock::Clock::Monotonic;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "pendulum",
    about: "the demonstrator: a periodic task balances a simulated inverted pendulum, drawn live",
    help: "\
One thread per measured CPU actuates the motor of an inverted pendulum of 1 cm at each slot of a fixed schedule, as
`wakeup` sleeps to them. The pendulum is simulated in the time that really passed since the last actuation: a torque
that is held too long overshoots. Every 10 ms it is pushed, by a seed, so that runs of one seed see the same pushes. At
60 degrees it has fallen and stays down. Slots are met, late or missed as in `wakeup`, and limits look at lateness.

On a terminal the pendulum is drawn beside the latency; the report shows angle and lateness over time.

Options:
  period   time between actuations; default 1ms
  cycles   end after this many slots a thread instead of after the cell's duration; default 0, by duration
  seed     seed of the pushes; default 1, the same in every cell, so that cells differ by the machine alone

Quantities: lateness (ns), from the slot to the moment the thread runs; angle (millionths of a radian, `urad`), found at
each actuation until the fall: magnitudes in the distribution, the first million samples in order with their sign.
Facts: fell (0 or 1) and fell_at_ns (since the first slot), with the angle.
The demonstration of the embedded-properties study (2014); asked for by the scheduling-latency study (2019).",
    main_option: Some("period"),
    new: |table| {
        let probe = registry::options::<Balance>(table)?;
        ensure!(
            (Ns::from_micros(50)..=Ns::from_millis(10)).contains(&probe.period),
            "`period` is 50us to 10ms: slower, nobody balances this pendulum"
        );
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Balance {
    period: Ns,
    cycles: u64,
    seed: u64,
}

impl Default for Balance {
    fn default() -> Self {
        Self { period: Ns::from_millis(1), cycles: 0, seed: 1 }
    }
}

impl Probe for Balance {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn measurand(&self) -> Measurand {
        Measurand {
            title: "Inverted pendulum".into(),
            quantities: vec![
                Quantity::time("lateness", "Pendulum: lateness").periodic(),
                Quantity::time("angle", "Pendulum: angle").in_unit("urad").beside().up_to(FALLEN_URAD),
            ],
            counts: vec!["cycles".into()],
            counts_samples: self.cycles > 0,
            ..Measurand::default()
        }
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        ensure!(
            !matches!(cell.scheduling, Scheduling::Deadline { .. }),
            "the probe `pendulum` is pinned, which the deadline policy forbids: use fifo, rr or other"
        );
        Ok(())
    }

    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        // One pendulum is enough to look at; the last CPU is the one that interrupts visit least.
        allowed.iter().last().into_iter().collect()
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let slots =
            if self.cycles > 0 { self.cycles } else { (stage.cell.conditions.duration.0 / self.period.0).max(1) };
        let ordered = usize::try_from(slots).unwrap_or(ORDERED_MAX).min(ORDERED_MAX);
        let phase = Monotonic.now();
        let mut jobs = Vec::new();
        for (thread, cpu) in (0u32..).zip(stage.cpus()) {
            let (mut lateness, late) = recorder::new(&Config { ordered, ..stage.config(true) })?;
            // An angle has no deadline, and no band edge of the studies.
            let (mut angles, angle) = recorder::new(&Config { ordered, ..Config::default() })?;
            let name = |quantity: &str, unit| Name {
                quantity: quantity.into(),
                cpu: Some(cpu),
                thread,
                labels: BTreeMap::new(),
                unit,
            };
            let taps = vec![
                Tap { name: name("lateness", None), periodic: true, reader: late, facts: no_facts },
                Tap { name: name("angle", Some("urad")), periodic: false, reader: angle, facts: fall },
            ];
            let schedule = Schedule {
                start_ns: phase,
                period_ns: self.period.0,
                deadline_ns: self.period.0,
                warmup: stage.cell.conditions.warmup.0 / self.period.0,
                slots,
            };
            let (seed, stop) = (self.seed, Arc::clone(&stage.stop));
            let rehearse = move || -> Loop {
                pendulum::rehearse(&mut lateness, &mut angles);
                Box::new(move || {
                    let outcome = pendulum::run(&schedule, seed, &stop, &mut lateness, &mut angles);
                    Done {
                        first_slot_ns: outcome.first_slot_ns,
                        ended_ns: outcome.ended_ns,
                        failed: outcome.end.failure().map(|error| format!("the kernel refused to sleep: {error}")),
                    }
                })
            };
            let scheduling = Some(stage.cell.scheduling);
            jobs.push(Job { cpu: Some(cpu), scheduling, taps, rehearse: Box::new(rehearse) });
        }
        stage.run(jobs, self.measurand().counts_samples)
    }
}

/// Whether and when it fell: the angle at which it lies is recorded once, and none larger.
fn fall(angles: &Snapshot) -> Facts {
    let fell = angles.largest.first().filter(|sample| sample.value >= FALLEN_URAD - 1);
    let mut facts = Facts::from([("fell".to_string(), i64::from(fell.is_some()))]);
    if let Some(sample) = fell {
        facts.insert("fell_at_ns".into(), i64::try_from(sample.at_ns).unwrap_or(i64::MAX));
    }
    facts
}
