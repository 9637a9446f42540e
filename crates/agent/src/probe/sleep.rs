//! `sleep`: how long a sleep of a given length is, asked for in the two ways of clock_nanosleep.

use crate::measure::{
    Probe,
    rounds::{self, Quantities},
    series::Name,
    stage::{Facts, Job, Loop, Stage},
};
use anyhow::{Result, ensure};
use latido_model::{
    cell::Scheduling,
    quantity::{Measurand, Quantity},
    registry::{self, Def},
    units::Ns,
};
use latido_rt::{
    Snapshot,
    rounds::{LEFT_OUT, Monotonic},
    sleep::{self, Sleeps},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "sleep",
    about: "how long clock_nanosleep sleeps, for a time and until a time",
    help: "\
One thread per measured CPU reads CLOCK_MONOTONIC, sleeps once with clock_nanosleep(2), and reads the clock again. The
next sleep begins when the one before is recorded: there is no schedule, and nothing to miss. Two ways to sleep:
  relative   for `length`: the kernel adds it to the time at which the call arrives
  absolute   until the first reading + `length`: the way to the kernel is not added
A sample of `length` is the second reading less the first; a sample of `lateness` is that less the length asked for.
Under a time-sharing policy both hold the timer slack of the thread (50 us where nobody changed it).

--stop-on looks at `lateness` only.

Options:
  length   how long to sleep; default 1000us
  mode     both (default): a relative and an absolute sleep by turns; relative; absolute
  sleeps   end after this many sleeps of each mode instead of after the cell's duration; default 0, by duration

Quantities: length (ns), lateness (ns), each with the label mode=relative or mode=absolute. Fact of `length`:
interrupted, the sleeps that a signal ended early; they are in no sample, and with the samples they are all sleeps made.
The timers of the scheduling-latency study (2019). Comparable with cyclictest(8) in its relative and absolute modes,
which sleep along a schedule (see the probe `wakeup`).",
    main_option: Some("length"),
    new: |table| {
        let probe = registry::options::<Sleep>(table)?;
        ensure!(probe.length >= Ns::from_micros(1), "`length` under 1us is no sleep: the call alone takes longer");
        ensure!(probe.length <= Ns::from_secs(3600), "`length` over 1h is refused");
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Sleep {
    length: Ns,
    mode: Mode,
    sleeps: u64,
}

impl Default for Sleep {
    fn default() -> Self {
        Self { length: Ns::from_micros(1000), mode: Mode::Both, sleeps: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    Both,
    Relative,
    Absolute,
}

impl Mode {
    /// The modes that take turns, with their labels.
    fn each(self) -> Vec<(&'static str, sleep::Mode)> {
        let all =
            [(Self::Relative, "relative", sleep::Mode::Relative), (Self::Absolute, "absolute", sleep::Mode::Absolute)];
        all.into_iter()
            .filter(|(one, ..)| self == Self::Both || self == *one)
            .map(|(_, name, mode)| (name, mode))
            .collect()
    }
}

impl Probe for Sleep {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn measurand(&self) -> Measurand {
        let modes = self.mode.each();
        Measurand {
            title: "Sleeps".into(),
            quantities: vec![
                Quantity::time("length", "Sleep: length").each("sleep").beside(),
                Quantity::time("lateness", "Sleep: lateness").each("sleep"),
            ],
            labels: vec![("mode".into(), modes.iter().map(|(name, _)| (*name).into()).collect())],
            counts: vec!["sleeps".into()],
            counts_samples: self.sleeps > 0,
            expected: Some(Ns(self.length.0.saturating_mul(self.sleeps).saturating_mul(modes.len() as u64))),
        }
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let task = rounds::task(&stage.cell, self.sleeps);
        let deadline_policy = matches!(stage.cell.scheduling, Scheduling::Deadline { .. });
        let mut jobs = Vec::new();
        for (thread, cpu) in (0u32..).zip(stage.cpus()) {
            // The kernel refuses to pin a deadline thread: it is admitted for its whole root domain.
            let cpu = Some(cpu).filter(|_| !deadline_policy);
            let (mut modes, mut channels, mut taps) = (Vec::new(), Vec::new(), Vec::new());
            for (label, mode) in self.mode.each() {
                let labels = [("mode".to_string(), label.to_string())].into();
                let name = Name { labels, cpu, thread, ..Name::default() };
                let quantities = Quantities { names: ["length", "lateness"], unit: None, stops: [false, true], facts };
                let (channel, series) = rounds::channel(stage, &quantities, &name, 1)?;
                modes.push(Sleeps { sleeper: Monotonic, mode, length_ns: self.length.0 });
                channels.push(channel);
                taps.extend(series);
            }
            let stop = Arc::clone(&stage.stop);
            let rehearse = move || -> Loop {
                sleep::rehearse(&mut channels);
                Box::new(move || rounds::done(sleep::run(&mut modes, &task, &stop, &mut channels)))
            };
            let scheduling = Some(stage.cell.scheduling);
            jobs.push(Job { cpu, scheduling, taps, rehearse: Box::new(rehearse) });
        }
        stage.run(jobs, self.measurand().counts_samples)
    }
}

fn facts(snapshot: &Snapshot) -> Facts {
    let interrupted = i64::try_from(snapshot.tallies[LEFT_OUT]).unwrap_or(i64::MAX);
    [("interrupted".to_string(), interrupted)].into()
}
