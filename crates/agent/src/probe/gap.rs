//! `gap`: a thread that never sleeps reads the clock again and again; whatever takes the CPU away shows as a gap.

mod limits;

use crate::machine::{self, Root};
use crate::measure::{Def, Fact, Interval, Measurand, Probe, Quantity, Stage, with_defaults};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
    record::Skip,
    units::Ns,
};
use latido_rt::{
    Config, Snapshot,
    gap::{self, BusyLoop, Duty, TickSource},
};
use latido_sys::{
    clock::{self, Clock::Monotonic},
    procfs::SchedStatFile,
    tsc::{self, Scale},
};
use limits::Limits;
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "gap",
    about: "a loop that reads the clock: interrupts, preemptions and stolen time show as gaps (as oslat)",
    help: "\
One thread per measured CPU reads a clock without ever sleeping. A sample of `gap` is the difference between two
successive readings, the loop's own few nanoseconds included; every reading counts. From time to time the loop does its
own bookkeeping. Its time is not a gap, unless it exceeds twice its shortest time plus 0.5 µs.

After a gap above 100 µs the thread asks the kernel whether it was waiting for its CPU meanwhile: `preempted`; if not,
`in-place`: an interrupt, a system management interrupt or the hypervisor. A wait is `throttled` if it has the length
that the real-time throttle (sched_rt_runtime_us) or the deadline fair server imposes here, after so much use of the CPU
that its budget is used up; no kernel counter shows them. `throttled` states a cause only: the gap still counts.

By default it leaves one CPU to all other tasks; -c can name every CPU.

Options:
  clock        auto (default): the time-stamp counter where it is invariant, else CLOCK_MONOTONIC; tsc; monotonic
  iterations   end after this many readings per thread instead of after the cell's duration; default 0, by duration
  duty         busy time per period, as `900ms/1s`: the thread sleeps for the rest, which is not a gap, and stays below the
               real-time throttle and the fair server. Default: always busy

Quantity: gap (ns). Facts per thread: elapsed_ns (time covered by the readings), own_ns (time the loop spent on its
own bookkeeping, which is in no gap), slept_ns (duty), preempted, in_place, throttled (gaps above 100 µs by cause),
throttled_ns (their sum); the last two only where the machine shows its limits.
The measurement of the scheduling-latency study (2019); comparable with oslat(8).",
    main_option: None,
    new: |table| {
        let probe = with_defaults(table, GapProbe { clock: GapClock::Auto, iterations: 0, duty: None })?;
        probe.duty()?;
        Ok(Box::new(probe))
    },
};

/// The approximate time of a reading in ns, to predict the duration of many.
const READING_NS: u64 = 25;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GapProbe {
    clock: GapClock,
    iterations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    duty: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum GapClock {
    Auto,
    Tsc,
    Monotonic,
}

impl GapProbe {
    /// Parses busy time and period.
    fn duty(&self) -> Result<Option<(Ns, Ns)>> {
        let Some(text) = &self.duty else { return Ok(None) };
        let Some((busy, period)) = text.split_once('/') else {
            bail!("`duty` is written as busy/period, for example 900ms/1s; got `{text}`")
        };
        let (busy, period): (Ns, Ns) = (busy.parse()?, period.parse()?);
        ensure!(
            busy.0 > 0 && busy < period,
            "`duty`: the busy time must be above 0 and below the period, got `{text}`"
        );
        Ok(Some((busy, period)))
    }
}

impl Probe for GapProbe {
    fn measurand(&self) -> Measurand {
        let gap = Quantity::time("gap", "Gaps in a busy loop").each("reading").latest("last gap").continuous();
        let busy = self.iterations.saturating_mul(READING_NS);
        let expected = match self.duty() {
            Ok(Some((busy_ns, period))) => (busy as f64 / busy_ns.0 as f64 * period.0 as f64) as u64,
            _ => busy,
        };
        let measurand = Measurand::new("Gaps in a busy loop", [gap]).counted_by("iterations", self.iterations);
        measurand.expected(Ns(expected))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        ensure!(
            !matches!(cell.scheduling, Scheduling::Deadline { .. }),
            "the deadline policy needs a task that sleeps: use fifo, rr or other for the probe `gap`"
        );
        Ok(())
    }

    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        // The first CPU takes most of the interrupts and is left for everything else.
        match allowed.len() {
            // A loop that sleeps now and then leaves time for the rest of the machine. If a loop never sleeps, the user must name the CPU.
            0 | 1 if self.duty.is_some() => allowed.clone(),
            _ => allowed.iter().skip(1).collect(),
        }
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let (source, scale) = self.source(stage)?;
        let duty = self.duty()?.map(|(busy, period)| Duty { busy_ns: busy.0, period_ns: period.0 });
        let task = BusyLoop {
            iterations: if self.iterations > 0 { self.iterations } else { u64::MAX },
            duration_ns: if self.iterations > 0 { u64::MAX } else { stage.cell.conditions.duration.0 },
            warmup_ns: stage.cell.conditions.warmup.0,
            duty,
            budgets: [None; 2],
        };
        // The machine is read with the tunings in force, as in the record.
        let machine = machine::read(&Root::default());
        for cpu in stage.cpus() {
            let limits = limits::of(&machine.realtime, &machine.kernel, cpu);
            let limits = if stage.cell.scheduling.is_realtime() { limits } else { Limits::default() };
            let task = BusyLoop { budgets: limits.budgets, ..task };
            let facts = if limits.known { limited_facts } else { facts };
            let (mut recorder, series) = stage.series_with("gap", |config| Config { table: Some(scale), ..config })?;
            let stop = stage.stop();
            stage.thread(cpu, [series.facts(facts)], move || {
                let schedstat = SchedStatFile::open().ok();
                let costs = gap::rehearse(source, &mut recorder, schedstat.as_ref());
                move || {
                    let outcome = gap::run(source, &task, &stop, &mut recorder, schedstat.as_ref(), costs);
                    let ended_ns = Monotonic.now();
                    Ok(Interval { first_slot_ns: ended_ns.saturating_sub(outcome.elapsed_ns), ended_ns })
                }
            });
        }
        stage.run()
    }
}

impl GapProbe {
    /// Returns the counter to read, and the scale of its ticks.
    fn source(&self, stage: &mut Stage<'_>) -> Result<(TickSource, Scale)> {
        let unfit = tsc::unfit();
        match (self.clock, unfit) {
            (GapClock::Tsc, Some(why)) => bail!("clock=tsc: {why}; use clock=monotonic"),
            (GapClock::Monotonic, _) | (GapClock::Auto, Some(_)) => {
                if let Some(why) = unfit.filter(|_| self.clock == GapClock::Auto) {
                    stage.skipped.push(Skip { what: "the time-stamp counter as clock".into(), why: why.into() });
                }
                Ok((TickSource::Monotonic, Scale::NS))
            }
            (GapClock::Auto | GapClock::Tsc, None) => {
                let scale = tsc::calibrate().context("the time-stamp counter could not be calibrated")?;
                let grain = clock::grain(scale.ns_per_tick(), tsc::read);
                stage.evidence.clock.name = "tsc".into();
                stage.evidence.clock.cost_ns = grain.cost_ns;
                stage.evidence.clock.step_ns = grain.step_ns;
                stage.stamp_by(tsc::instant(), scale);
                Ok((TickSource::Tsc, scale))
            }
        }
    }
}

fn facts(snapshot: &Snapshot) -> Vec<Fact> {
    let spin = snapshot.spin;
    vec![
        ("own_ns", spin.own_ns),
        ("slept_ns", spin.slept_ns),
        ("elapsed_ns", snapshot.plain.sum.clamp(0, i64::MAX.into()) as u64),
        ("preempted", spin.preempted),
        ("in_place", spin.in_place),
    ]
}

/// Returns the facts if the kernel's limits are known. If they are unknown, the throttle counts are left out: they would not mean zero.
fn limited_facts(snapshot: &Snapshot) -> Vec<Fact> {
    let spin = snapshot.spin;
    let limited = [("throttled", spin.throttled), ("throttled_ns", spin.throttled_ns)];
    facts(snapshot).into_iter().chain(limited).collect()
}
