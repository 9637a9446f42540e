//! `pendulum`: a periodic task balances a simulated pendulum. A late task shows as a swing or a fall.

use crate::measure::{Def, Fact, Measurand, Probe, Quantity, Stage, with_defaults};
use anyhow::{Result, ensure};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
    record::ORDERED_MAX,
    units::Ns,
};
use latido_rt::{
    Config, Snapshot,
    pendulum::{self, FALLEN_URAD},
    wakeup::{Phase, Schedule},
};
use latido_sys::clock::Clock::Monotonic;
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "pendulum",
    about: "the demonstrator: a periodic task balances a simulated inverted pendulum, drawn live",
    help: "\
One thread per measured CPU actuates the motor of an inverted pendulum of 1 cm at each slot of a fixed schedule, as in
`wakeup`. The thread simulates the pendulum over the time that really passed since the last actuation: a torque
that acts too long overshoots. A push acts on it every 10 ms, by a seed, so that runs with the same seed see the same pushes. At
60 degrees it has fallen and stays down. Slots are met, late or missed as in `wakeup`, and limits apply to lateness.

On a terminal latido draws the pendulum next to the latency; the report shows angle and lateness over time.

Options:
  period   time between actuations; default 1ms
  cycles   end after this many slots per thread instead of after the cell's duration; default 0, by duration
  seed     seed of the pushes; default 1, the same in every cell, so that cells differ by the machine alone

Quantities: lateness (ns), from the slot to the moment the thread runs; angle (millionths of a radian, `urad`), read at
each actuation until the fall: magnitudes in the distribution, the first million samples in order with their sign.
Facts: fell (0 or 1) and fell_at_ns (since the first slot), with the angle.
The demonstration of the embedded-properties study (2014); requested by the scheduling-latency study (2019).",
    main_option: Some("period"),
    new: |table| {
        let probe = with_defaults(table, PendulumProbe { period: Ns::from_millis(1), cycles: 0, seed: 1 })?;
        ensure!(
            (Ns::from_micros(50)..=Ns::from_millis(10)).contains(&probe.period),
            "`period` must be 50us to 10ms: a longer period cannot balance this pendulum"
        );
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PendulumProbe {
    period: Ns,
    cycles: u64,
    seed: u64,
}

impl Probe for PendulumProbe {
    fn measurand(&self) -> Measurand {
        let lateness = Quantity::time("lateness", "Pendulum: lateness").periodic();
        let angle = Quantity::time("angle", "Pendulum: angle").in_unit("urad").beside().up_to(FALLEN_URAD);
        Measurand::new("Inverted pendulum", [lateness, angle]).every(self.period).counted_by("cycles", self.cycles)
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        ensure!(
            !matches!(cell.scheduling, Scheduling::Deadline { .. }),
            "the probe `pendulum` pins its threads, which the deadline policy forbids: use fifo, rr or other"
        );
        Ok(())
    }

    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        // One pendulum is enough to watch. Interrupts visit the last CPU least.
        allowed.iter().last().into_iter().collect()
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let slots =
            if self.cycles > 0 { self.cycles } else { (stage.cell.conditions.duration.0 / self.period.0).max(1) };
        let ordered = usize::try_from(slots).unwrap_or(ORDERED_MAX).min(ORDERED_MAX);
        let phase = Monotonic.now();
        for cpu in stage.cpus() {
            let (mut lateness, late) = stage.series_with("lateness", |config| Config { ordered, ..config })?;
            let (mut angles, angle) = stage.series_with("angle", |config| Config { ordered, ..config })?;
            let schedule = Schedule {
                start_ns: phase,
                period_ns: self.period.0,
                deadline_ns: self.period.0,
                warmup: stage.cell.conditions.warmup.0 / self.period.0,
                slots,
                phase: Phase::Fixed,
            };
            let (seed, stop) = (self.seed, stage.stop());
            stage.thread(cpu, [late, angle.facts(fall)], move || {
                pendulum::rehearse(&mut lateness, &mut angles);
                move || super::wakeup::interval(&pendulum::run(&schedule, seed, &stop, &mut lateness, &mut angles))
            });
        }
        stage.run()
    }
}

/// Tells whether and when the pendulum fell. The loop records the angle of a fallen pendulum once, and no larger angle.
fn fall(angles: &Snapshot) -> Vec<Fact> {
    match angles.largest.first().filter(|sample| sample.value >= FALLEN_URAD - 1) {
        Some(sample) => vec![("fell", 1), ("fell_at_ns", sample.at_ns)],
        None => vec![("fell", 0)],
    }
}
