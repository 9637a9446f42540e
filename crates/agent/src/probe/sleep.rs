//! `sleep`: how long a sleep of a given length lasts, requested in the two ways of clock_nanosleep.

use crate::measure::{Def, Fact, Measurand, Probe, Quantity, Stage, rounds, with_defaults};
use anyhow::{Result, ensure};
use latido_model::units::Ns;
use latido_rt::{
    Snapshot,
    rounds::{Channel, LEFT_OUT, Monotonic},
    sleep::{self, Sleeps},
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "sleep",
    about: "how long clock_nanosleep sleeps, relative and absolute",
    help: "\
One thread per measured CPU (or `tasks` of them) reads CLOCK_MONOTONIC, sleeps once with clock_nanosleep(2), and reads the clock again. The
next sleep begins when the thread has recorded the previous one: there is no schedule, and nothing to miss. Two modes:
  relative   for `length`: the kernel adds it to the time at which the call arrives
  absolute   until the first reading + `length`: the call's way to the kernel adds nothing
A sample of `length` is the second reading less the first; a sample of `lateness` is that less the requested length.
With order=target-first the thread computes an absolute sleep's target from a reading before the first one: the measured
length lacks the time between the two, and may be less than the requested length.
Under a time-sharing policy both include the timer slack of the thread (50 µs by default).

--stop-on applies to `lateness` only.

Options:
  length   how long to sleep; default 1000us
  mode     both (default): relative and absolute sleeps alternately; relative; absolute
  order    of an absolute sleep: reading-first (default), its target is the first reading + `length`; target-first
  tasks    threads on each CPU, 1 to 256; default 1
  sleeps   end after this many sleeps of each mode instead of after the cell's duration; default 0, by duration

Quantities: length (ns), lateness (ns), each with the label mode=relative or mode=absolute. Fact of `length`:
interrupted, the sleeps that a signal ended early; they have no sample. Samples + interrupted are all sleeps.
The timers of the scheduling-latency study (2019). Comparable with cyclictest(8) in its relative and absolute modes,
which sleep along a schedule (see the probe `wakeup`).",
    main_option: Some("length"),
    new: |table| {
        let (length, mode) = (Ns::from_micros(1000), SleepModes::Both);
        let probe =
            with_defaults(table, SleepProbe { length, mode, order: Order::ReadingFirst, tasks: 1, sleeps: 0 })?;
        ensure!(probe.length >= Ns::from_micros(1), "`length` must be 1us or more: the call alone takes longer");
        ensure!(probe.length <= Ns::from_secs(3600), "`length` must be at most 1h");
        ensure!((1..=256).contains(&probe.tasks), "`tasks` must be 1 to 256 threads per CPU; got {}", probe.tasks);
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SleepProbe {
    length: Ns,
    mode: SleepModes,
    order: Order,
    tasks: u32,
    sleeps: u64,
}

/// Whether an absolute sleep computes its target from the first reading, or from a reading before that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    ReadingFirst,
    TargetFirst,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SleepModes {
    Both,
    Relative,
    Absolute,
}

impl SleepModes {
    /// Returns the modes to measure in rotation, with their labels.
    fn each(self, order: Order) -> Vec<(&'static str, sleep::SleepMode)> {
        let absolute = match order {
            Order::ReadingFirst => sleep::SleepMode::Absolute,
            Order::TargetFirst => sleep::SleepMode::TargetFirst,
        };
        let all = [(Self::Relative, "relative", sleep::SleepMode::Relative), (Self::Absolute, "absolute", absolute)];
        all.into_iter()
            .filter(|(one, ..)| self == Self::Both || self == *one)
            .map(|(_, name, mode)| (name, mode))
            .collect()
    }
}

impl Probe for SleepProbe {
    fn measurand(&self) -> Measurand {
        let modes = self.mode.each(self.order);
        let length = Quantity::time("length", "Sleep: length").each("sleep").beside();
        let lateness = Quantity::time("lateness", "Sleep: lateness").each("sleep");
        Measurand::new("Sleeps", [length, lateness])
            .labelled("mode", modes.iter().map(|(name, _)| name))
            .counted_by("sleeps", self.sleeps)
            .expected(Ns(self.length.0.saturating_mul(self.sleeps).saturating_mul(modes.len() as u64)))
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let course = rounds::course(&stage.cell, self.sleeps);
        let cpus = stage.cpus().into_iter().flat_map(|cpu| std::iter::repeat_n(cpu, self.tasks as usize));
        for cpu in cpus {
            let (mut modes, mut channels, mut series) = (Vec::new(), Vec::new(), Vec::new());
            for (label, mode) in self.mode.each(self.order) {
                let (length, of_length) = stage.series("length")?;
                let (lateness, of_lateness) = stage.series("lateness")?;
                modes.push(Sleeps { sleeper: Monotonic, mode, length_ns: self.length.0 });
                channels.push(Channel::new([length, lateness], 1));
                series.extend([of_length.facts(facts), of_lateness].map(|series| series.label("mode", label)));
            }
            let stop = stage.stop();
            stage.thread(cpu, series, move || {
                sleep::rehearse(&mut channels);
                move || rounds::interval(sleep::run(&mut modes, &course, &stop, &mut channels))
            });
        }
        stage.run()
    }
}

fn facts(snapshot: &Snapshot) -> Vec<Fact> {
    vec![("interrupted", snapshot.tallies[LEFT_OUT])]
}
