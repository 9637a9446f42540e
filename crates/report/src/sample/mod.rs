//! Synthetic, seeded configurations for tests, and for a look at a report without a measurement.

pub mod calls;
pub mod declared;
mod recorder;

use crate::input::{ReportInput, RunPart};
use latido_judge::{
    configuration::Configuration,
    finding::{Finding, Grade},
    headline::{DecidingCell, Ground, Headline},
    judgement::{CellJudgement, ExpectJudgement, Judgement, SeriesJudgement},
    measured::{Amount, Decision, Dimension, Measured, Whose},
    outcome::Outcome,
    reason::{Reason, Worst},
    repeat::{Pooled, Repeat, RepeatQuantity},
};
use latido_model::{
    cell::{Cell, Conditions, Item, Level, Scheduling},
    machine::Machine,
    quantity::{Measurand, Quantity},
    record::Evidence,
    run::Meta,
    units::Ns,
    verdict::Verdict,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recorder::{PERIOD, SampleRecorder};

pub(crate) const RUN: &str = "20261121T200000Z-sample-k3f9";

pub(super) fn cell(label: &str, limit: Option<u64>) -> Cell {
    let mut options = toml::Table::new();
    options.insert("period".into(), "1ms".into());
    Cell {
        schema: latido_model::cell::SCHEMA,
        plan: "sample".into(),
        target: latido_model::cell::LOCAL.into(),
        kernel: latido_model::cell::RUNNING.into(),
        boot: 1,
        tuning: Level { id: "stock".into(), items: Vec::new() },
        load: Level { id: label.into(), items: Vec::new() },
        scheduling: Scheduling::Fifo { prio: 80 },
        probe: Item { name: "wakeup".into(), options },
        conditions: Conditions {
            cpus: Some([2, 3].into_iter().collect()),
            duration: Ns::from_secs(60),
            warmup: Ns::from_millis(500),
            limit: limit.map(Ns),
            stop_on: None,
            max_temp: None,
            trace: None,
            explain: None,
        },
        repeat: 1,
        seed: 7,
    }
}

fn latency() -> Quantity {
    Quantity::time("latency", "Wake-up latency").each("wake-up").periodic()
}

pub(super) fn measurand(title: &'static str, quantities: Vec<Quantity>) -> Measurand {
    let period = quantities.iter().any(|quantity| quantity.periodic).then_some(Ns::from_millis(1));
    Measurand { title: title.into(), quantities, period, ..Measurand::default() }
}

pub(super) fn machine(kernel: &str) -> Machine {
    fn name(machine: &mut Machine, kernel: &str) {
        machine.hostname = "bench-07".into();
        machine.kernel = kernel.into();
    }
    let mut machine = Machine::default();
    name(&mut machine, kernel);
    machine
}

/// Returns a repeat without quantities.
pub fn repeat(evidence: Evidence, elapsed_ns: u64) -> Repeat {
    let (loads, quantities) = (Vec::new(), Vec::new());
    Repeat {
        run: RUN.into(),
        number: 1,
        boot: 1,
        repeat: 1,
        evidence,
        elapsed_ns,
        watched_ns: elapsed_ns,
        loads,
        quantities,
        parts: Vec::new(),
        seams: Vec::new(),
    }
}

/// Returns a configuration of one repeat with these quantities.
pub(super) fn once(cell: Cell, number: usize, quantities: Vec<RepeatQuantity>) -> Configuration {
    Configuration {
        label: cell.load.id.clone(),
        short: cell.load.id.clone(),
        measurand: measurand("Wake-up latency", vec![latency()]),
        cell,
        machine: machine("6.12.48-amd64"),
        tunings: Vec::new(),
        quantities: quantities.iter().map(|one| one.pooled.clone()).collect(),
        repeats: vec![Repeat { number, quantities, ..repeat(Evidence::default(), 0) }],
    }
}

/// Changes a quantity of a configuration of one repeat, both in the repeat and in the pooled ones.
pub fn change(configuration: &mut Configuration, at: usize, change: impl Fn(&mut Pooled)) {
    change(&mut configuration.quantities[at]);
    change(&mut configuration.repeats[0].quantities[at].pooled);
}

fn configuration(label: &str, number: usize, limit: Option<u64>, recorder: SampleRecorder) -> Configuration {
    once(cell(label, limit), number, vec![recorder.pooled(limit)])
}

/// Returns a configuration with exactly these samples, one per millisecond.
pub fn of(label: &str, values: &[i64], limit: Option<u64>) -> Configuration {
    let mut recorder = SampleRecorder::new(limit);
    recorder.track(2, (values.len() as u64).div_ceil(1_000).max(1));
    for (i, value) in values.iter().enumerate() {
        recorder.add(*value, i as u64 * PERIOD, 1);
    }
    configuration(label, 1, limit, recorder)
}

/// Returns a configuration that measured nothing.
pub fn empty(label: &str) -> Configuration {
    let mut configuration = of(label, &[], Some(100_000));
    change(&mut configuration, 0, |pooled| pooled.slots = None);
    configuration.repeats[0].quantities[0].tracks[0].blocks.clear();
    configuration
}

const LABELS: [&str; 10] = [
    "6.12.48, none",
    "6.12.48, full",
    "6.12.48, rt",
    "rt, isolated",
    "rt, rcu options",
    "rt, isolated, rcu options",
    "none, isolated",
    "none, rcu options",
    "full, isolated",
    "full, rcu options",
];

/// Returns `n` configurations with a body, a shoulder and a tail each, on two CPUs for a minute.
pub fn configurations(n: usize) -> Vec<Configuration> {
    (0..n).map(|i| synthetic(i, 60, 2)).collect()
}

/// Returns `n` configurations of the largest size that a record can have: 3,600 blocks on each of four CPUs.
pub fn full_size(n: usize) -> Vec<Configuration> {
    (0..n).map(|i| synthetic(i, 3_600, 4)).collect()
}

fn synthetic(index: usize, seconds: u64, cpus: u32) -> Configuration {
    let limit = Some(100_000);
    let mut random = ChaCha8Rng::seed_from_u64(index as u64 + 1);
    // Typical value, spread, probability of a spike per second and size of spikes, from the worst to the best.
    let (body, spread, often, size) = match index % 3 {
        0 => (4_200.0, 0.55, 0.08, 180_000.0),
        1 => (3_600.0, 0.38, 0.02, 60_000.0),
        _ => (3_100.0 + 100.0 * index as f64, 0.28, 0.01, 9_000.0),
    };
    let mut recorder = SampleRecorder::new(limit);
    for cpu in 0..cpus {
        recorder.track(cpu + 2, seconds);
        for second in 0..seconds {
            let mut at = || second * 1_000_000_000 + random.random_range(0..1_000_000_000u64);
            let times: Vec<u64> = (0..20).map(|_| at()).collect();
            for at in times {
                let normal: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
                let slow = if random.random_bool(0.04) { 3.2 } else { 1.0 };
                let value = (body * (normal * spread).exp() * slow).max(1_100.0);
                recorder.add(value as i64, at, if slow > 1.0 { 1 } else { 51 });
            }
            if random.random_bool(often) {
                let value = size * (0.2 - f64::ln(1.0 - random.random::<f64>()));
                recorder.add(value as i64, second * 1_000_000_000 + 500_000_000, 1);
            }
        }
    }
    let mut configuration = configuration(LABELS[index % LABELS.len()], index + 1, limit, recorder);
    configuration.repeats[0].elapsed_ns = seconds * 1_000_000_000;
    configuration
}

/// Returns a configuration on this number of CPUs, each with 50 samples; a CPU with a larger number is slower.
#[cfg(test)]
pub fn on_cpus(label: &str, cpus: u32) -> Configuration {
    let mut recorder = SampleRecorder::new(None);
    for cpu in 0..cpus {
        recorder.track(cpu, 1);
        for i in 0..50u64 {
            recorder.add(2_000 + i as i64 * 100 + i64::from(cpu) * 10, i * PERIOD, 1);
        }
    }
    configuration(label, 1, None, recorder)
}

/// Returns the same machine measured with the busy loop: values from about ten nanoseconds to 54 ms, no slots, no limit.
pub fn gaps(label: &str, number: usize) -> Configuration {
    let mut random = ChaCha8Rng::seed_from_u64(99 + number as u64);
    let mut recorder = SampleRecorder::new(None);
    recorder.track(3, 30);
    for second in 0..30u64 {
        let start = second * 1_000_000_000;
        recorder.add(14, start, 30_000_000);
        recorder.add(15, start + 1_000, 2_000_000);
        for tick in 0..250u64 {
            recorder.add(random.random_range(1_200..3_800), start + tick * 4_000_000, 1);
        }
    }
    recorder.add(54_000_000, 17_300_000_000, 1);
    let mut configuration = configuration(label, number, None, recorder);
    configuration.cell.probe = Item { name: "gap".into(), options: toml::Table::new() };
    configuration.measurand = measurand(
        "Gaps in a busy loop",
        vec![Quantity::time("gap", "Gaps in a busy loop").each("reading").continuous()],
    );
    change(&mut configuration, 0, |pooled| {
        pooled.quantity = "gap".into();
        pooled.slots = None;
        pooled.elapsed_ns = 30_000_000_000;
    });
    configuration
}

fn single(ns: i64) -> Measured {
    let amount = Ok(Amount { value: ns as f64, dimension: Dimension::Time });
    Measured::Single { whose: Whose::Cpu(2), amount, but: None }
}

/// Returns an expectation's verdict for the quantities of a configuration; a failing one fails where the maximum is above 50 us.
fn series(text: &str, verdict: Verdict, configuration: &Configuration, cell: usize) -> Vec<SeriesJudgement> {
    let judge = |pooled: &Pooled| {
        let max = pooled.summary.max.filter(|_| text.starts_with(&format!("wakeup.{}.", pooled.quantity)))?;
        let failed = verdict == Verdict::Fail && max > 50_000;
        Some(SeriesJudgement {
            cell,
            quantity: pooled.quantity.clone(),
            labels: pooled.labels.clone(),
            verdict: if failed { Verdict::Fail } else { Verdict::Pass },
            measured: single(max),
        })
    };
    configuration.quantities.iter().filter_map(judge).collect()
}

/// Returns a finding of a trust check.
fn finding(check: &str, grade: Grade, text: &str) -> Finding {
    Finding { check: check.into(), grade, state: vec![text.into()] }
}

/// Returns the judgement of the cell at this index: the fifth and the seventh are in doubt.
fn cell_judgement((at, configuration): (usize, &Configuration)) -> CellJudgement {
    let above = configuration.quantities.iter().any(|q| q.above_limit.is_some_and(|n| n > 0));
    let doubt = match at {
        4 => Some(finding("foreign", Grade::Contaminated, "irq/44 (fifo 90) ran 12.1 ms on CPU 2 at the maximum")),
        6 => Some(finding("load", Grade::Invalid, "the load died after 12 s: stress-ng exited with 2")),
        _ => None,
    };
    let verdict = match doubt.as_ref().map(|doubt| doubt.grade) {
        Some(Grade::Contaminated) => Verdict::Contaminated,
        Some(_) => Verdict::Inconclusive,
        None if above => Verdict::Fail,
        None => Verdict::Pass,
    };
    let reasons = doubt.iter().cloned().map(Reason::Doubt).collect();
    let mut findings = vec![
        finding("policy", Grade::Ok, "SCHED_FIFO 80, memory locked, pinned"),
        finding("clock", Grade::Ok, &format!("clocksource tsc; one reading costs {} ns", 20 + at)),
        finding("throttle", Grade::Ok, "real-time throttling never hit"),
        finding("frequency", Grade::Note, "turbo is on: minimum and median drift with heat"),
        finding("smi", Grade::Unknown, "SMI count is not readable (no MSR access)"),
    ];
    findings.extend(doubt);
    CellJudgement { number: at + 1, verdict, reasons, findings }
}

/// Returns the judgement of an expectation, which this maximum decided.
fn expectation(text: &str, verdict: Verdict, max: Option<i64>, all: &[Configuration]) -> ExpectJudgement {
    let place = "wakeup, none".to_owned();
    let decision = max.map(|max| Decision { place, measured: single(max), alike: 0 });
    let condition = text.split(" where ").next().unwrap_or(text).replace("wakeup.latency.", "");
    let each = all.iter().zip(1..).flat_map(|(c, cell)| series(text, verdict, c, cell)).collect();
    let outcome = Outcome::of(verdict, decision.as_ref());
    let (text, claim, of_study, conclusion) = (text.into(), None, false, None);
    ExpectJudgement { text, condition, claim, of_study, conclusion, verdict, outcome, decision, each }
}

/// Returns the cell that decides the verdict, with one sample above the limit.
fn deciding() -> DecidingCell {
    let worst = Worst { value_ns: 812_000, from_ns: None, quantity: "latency".into(), cpu: Some(2), at_ns: None };
    let reason = Reason::Above {
        above: Some(1),
        count: Some(3_600),
        limit_ns: 100_000,
        worst,
        also: Vec::new(),
        foreign: None,
        named: Vec::new(),
        without_job: None,
    };
    DecidingCell { cell: "wakeup, none".into(), reason: Some(reason), doubted: None }
}

/// The run and the judgement for some configurations.
pub struct SampleRun {
    meta: Meta,
    judgement: Judgement,
}

impl SampleRun {
    /// Returns a judgement with a finding of every severity and an expectation of every outcome.
    pub fn of(configurations: &[Configuration]) -> Self {
        let expect = |text: &str, verdict, max| expectation(text, verdict, max, configurations);
        let judgement = Judgement {
            unjudged: Vec::new(),
            verdict: Verdict::Fail,
            exit: 2,
            headline: Headline {
                conclusions: None,
                ours: None,
                rest: Some(Ground::Cell { cause: deciding(), alike: None, failed: None, failing: 0 }),
                imported: false,
                emulated: None,
            },
            advice: None,
            cells: configurations.iter().enumerate().map(cell_judgement).collect(),
            expectations: vec![
                expect("wakeup.latency.p99.9 < 100us where load = idle", Verdict::Pass, Some(20_100)),
                expect("wakeup.latency.max < 50us", Verdict::Fail, Some(812_000)),
                expect("gap.gap.max < 1ms", Verdict::Inconclusive, None),
            ],
        };
        let meta = Meta {
            id: RUN.into(),
            plan: "sample".into(),
            latido: "0.1.0".into(),
            command: ["latido", "run", "plans/sample.toml", "--seed", "7"].map(String::from).into(),
            machine: "bench-07".into(),
            started: "2026-11-21T20:00:00Z".into(),
            finished: Some("2026-11-21T21:04:12Z".into()),
            cells: configurations.len(),
            verdict: Some(judgement.verdict),
            headline: Some(judgement.headline.sentence()),
            unjudged: false,
            unmeasured: false,
            label: None,
        };
        Self { meta, judgement }
    }

    /// Returns the same as another run.
    #[cfg(test)]
    pub fn named(configurations: &[Configuration], id: &str) -> Self {
        let one = Self::of(configurations);
        Self { meta: Meta { id: id.into(), ..one.meta }, ..one }
    }

    /// Returns the input for a report of these configurations.
    pub fn input<'a>(&'a self, configurations: &'a [Configuration]) -> ReportInput<'a> {
        let part = RunPart {
            meta: &self.meta,
            judgement: &self.judgement,
            word: "DOES NOT HOLD",
            plan_toml: "schema = 1\nname = \"sample\"\n",
            commands: std::slice::from_ref(&self.meta.command),
        };
        ReportInput {
            title: "Three preemption models".into(),
            runs: vec![part],
            configurations,
            problems: Vec::new(),
            study: None,
            not_measured: Vec::new(),
            published: Vec::new(),
            explained: Vec::new(),
            maxima: Vec::new(),
            chains: Vec::new(),
            declared: None,
        }
    }
}

/// Cuts a text at the line that starts with this. One blank line separates the two parts.
pub fn cut<'t>(text: &'t str, start: &str) -> (&'t str, &'t str) {
    let at = text.find(&format!("\n\n{start}")).unwrap();
    assert!(!text[..at].ends_with('\n'), "{text}");
    (&text[..at], &text[at + 2..])
}
