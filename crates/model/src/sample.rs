//! Synthetic records for tests: the samples are given, and everything else is derived from them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "only tests call it")]

use crate::{
    cell::{self, Cell, Conditions, Item, Level, Scheduling},
    machine::{Emulated, FairBudget, FairServer, Machine, RealTime},
    plan::{Order, Plan},
    quantity::{Measurand, Quantity},
    record::*,
    run::{CellState, Meta, Run, SeriesData, SeriesSource, StoredCell, codec},
    summary::{self, Exact},
    units::Ns,
};
use anyhow::{Context, Result};
use std::{collections::BTreeMap, path::PathBuf};

/// Returns a wake-up cell under the load `idle`: FIFO 80, CPUs 0-1, 10 s, 1 ms apart, limit 100 us.
pub fn cell() -> Cell {
    Cell {
        schema: cell::SCHEMA,
        plan: "quick".into(),
        target: cell::LOCAL.into(),
        kernel: cell::RUNNING.into(),
        boot: 1,
        tuning: Level { id: "stock".into(), items: Vec::new() },
        load: level("idle", &[]),
        scheduling: Scheduling::Fifo { prio: 80 },
        probe: Item { name: "wakeup".into(), options: toml::toml! { period = "1ms" } },
        conditions: Conditions {
            cpus: Some([0, 1].into_iter().collect()),
            duration: Ns::from_secs(10),
            warmup: Ns::from_millis(500),
            limit: Some(Ns::from_micros(100)),
            stop_on: None,
            max_temp: None,
            trace: None,
            explain: None,
        },
        repeat: 1,
        seed: 42,
    }
}

/// Returns a level that uses items without options.
pub fn level(id: &str, items: &[&str]) -> Level {
    let item = |name: &&str| Item { name: name.to_string(), options: toml::Table::new() };
    Level { id: id.into(), items: items.iter().map(item).collect() }
}

/// The cell under another load.
pub fn under(load: &str) -> Cell {
    Cell { load: level(load, &["spin"]), ..cell() }
}

/// The cell with another probe and no limit.
pub fn probing(probe: &str) -> Cell {
    let conditions = Conditions { limit: None, ..cell().conditions };
    Cell { probe: Item { name: probe.into(), options: toml::Table::new() }, conditions, ..cell() }
}

/// Returns what the probe of a cell measures: wake-ups with slots, gaps, or else a latency.
pub fn measurand(cell: &Cell) -> Measurand {
    let quantities = match cell.probe.name.as_str() {
        "wakeup" => vec![
            Quantity::time("latency", "Wake-up latency").each("wake-up").periodic(),
            Quantity::time("latency_after_overrun", "After a budget overrun").each("wake-up"),
        ],
        "gap" => vec![Quantity::time("gap", "Gaps in a busy loop").each("reading").latest("last gap").continuous()],
        name => vec![Quantity { title: format!("{name} latency").into(), ..Quantity::time("latency", "") }],
    };
    let title = quantities.iter().map(|quantity| quantity.title.clone()).next().unwrap_or_default();
    let period = quantities.iter().any(|quantity| quantity.periodic).then_some(Ns::from_millis(1));
    Measurand { title, quantities, period, ..Measurand::default() }
}

/// Returns evidence that no trust check objects to.
pub fn clean(threads: u32) -> Evidence {
    let thread = |thread| ThreadEvidence {
        thread,
        cpu: Some(thread),
        policy: "fifo 80".into(),
        voluntary_switches: 10_000,
        migrations: Some(0),
        run_delay_ns: Some(1_000),
        ..ThreadEvidence::default()
    };
    Evidence {
        clock: ClockEvidence {
            name: "monotonic".into(),
            source: Some("tsc".into()),
            cost_ns: 21.0,
            step_ns: 1.0,
            ..ClockEvidence::default()
        },
        threads: (0..threads).map(thread).collect(),
        throttle: ThrottleEvidence {
            rt_runtime_us: Some(-1),
            rt_period_us: Some(1_000_000),
            fair_server: Some("0".into()),
            ..ThrottleEvidence::default()
        },
        steal_ns: Some(0),
        smi: Some(0),
        frequency_khz: Some((3_000_000, 3_000_000)),
        temperature_mc: Some((45_000, Some(100_000))),
        timer_slack_ns: Some(1),
        autogroup: Some(false),
        cgroup: Some("0::/".into()),
        dma_latency_held: true,
        housekeeping: Some([2].into_iter().collect()),
        ..Evidence::default()
    }
}

/// Returns the record of a cell: one series per list of samples, one thread per CPU from 0, one sample per millisecond.
pub fn measured(cell: Cell, threads: &[Vec<i64>]) -> Record {
    let quantity = if cell.probe.name == "gap" { "gap" } else { "latency" };
    let series =
        (0..).zip(threads).map(|(thread, values)| series(quantity, thread, values, cell.conditions.limit)).collect();
    Record {
        schema: SCHEMA,
        latido: "0.1.0".into(),
        probe: cell.probe.name.clone(),
        outcome: Outcome::Complete,
        elapsed_ns: cell.conditions.duration.0,
        warmup_ns: cell.conditions.warmup.0,
        anchors: Anchors::default(),
        machine: machine(),
        quality: clean(threads.len() as u32),
        load: Vec::new(),
        tunings: Vec::new(),
        series,
        skipped: Vec::new(),
        attachments: Vec::new(),
        source: None,
        cell,
    }
}

/// Returns the laboratory of a guest whose clock counts instructions.
pub fn emulated() -> Emulated {
    Emulated { instruction_ns: Some(1), ..Emulated::default() }
}

/// Returns the machine of every synthetic record.
#[allow(clippy::needless_update)] // The snapshot grows; tests of records need no more of it.
pub fn machine() -> Machine {
    let off = FairBudget { cpus: (0..8).collect(), runtime_ns: 0, period_ns: 1_000_000_000 };
    let realtime = RealTime { fair_server: FairServer::Known { budgets: vec![off] }, ..RealTime::default() };
    Machine { hostname: "bench-07".into(), kernel: "6.12.48".into(), realtime, ..Machine::default() }
}

/// Returns the record of [`cell`]: two threads with 10,000 samples each, from 2 to about 25 us.
pub fn record() -> Record {
    measured(cell(), &[quiet(0), quiet(1)])
}

/// Returns 10,000 samples between 2 and about 25 us, with a tail, always the same.
pub fn quiet(thread: i64) -> Vec<i64> {
    (0..10_000)
        .map(|k: i64| {
            let mix = (k * 7_919 + thread * 104_729) % 10_000;
            2_000 + mix / 8 + if mix > 9_990 { (mix - 9_990) * 2_400 } else { 0 }
        })
        .collect()
}

/// [`quiet`] with one sample replaced.
pub fn with_spike(thread: i64, at: usize, value: i64) -> Vec<i64> {
    let mut values = quiet(thread);
    values[at] = value;
    values
}

fn series(quantity: &str, thread: u32, values: &[i64], limit: Option<Ns>) -> Series {
    let data = data(values);
    let bands = bands(values, limit);
    let exact = Exact {
        count: values.len() as u64,
        min: values.iter().copied().min(),
        max: values.iter().copied().max(),
        sum: values.iter().map(|&v| i128::from(v)).sum(),
        sum_squares: values.iter().map(|&v| u128::from(v.unsigned_abs()).pow(2)).sum(),
        overflow: 0,
    };
    let all = summary::summarise(&exact, &data.histogram, bands);
    let slots = (quantity == "latency").then_some(Slots { met: exact.count, late: 0, missed: 0 });
    Series {
        quantity: quantity.into(),
        labels: BTreeMap::new(),
        cpu: Some(thread),
        thread,
        unit: "ns".into(),
        count: all.count,
        min: all.min,
        max: all.max,
        mean: all.mean,
        sd: all.sd,
        quantiles: all.quantiles.clone(),
        bands: all.bands.clone(),
        overflow: 0,
        negative: 0,
        slots,
        corrected: slots.is_some().then_some(all),
        facts: BTreeMap::new(),
        files: SeriesFiles {
            histogram: Some(format!("histogram-{thread}.hdr")),
            missed: None,
            blocks: Some(format!("blocks-{thread}.csv")),
            largest: Some(format!("largest-{thread}.csv")),
            ..SeriesFiles::default()
        },
        quantized: None,
        bounds: None,
    }
}

fn bands(values: &[i64], limit: Option<Ns>) -> Vec<Band> {
    let mut edges = BAND_EDGES.to_vec();
    edges.extend(limit.map(|limit| limit.0 as i64));
    edges.sort_unstable();
    edges.dedup();
    let mut below = i64::MIN;
    let mut bands = Vec::new();
    for upto in edges.into_iter().map(Some).chain([None]) {
        let top = upto.unwrap_or(i64::MAX);
        bands.push(Band { upto, count: values.iter().filter(|&&v| v > below && v <= top).count() as u64 });
        below = top;
    }
    bands
}

/// Returns the data next to a record for these samples.
pub fn data(values: &[i64]) -> SeriesData {
    let mut histogram = codec::histogram().unwrap();
    for value in values {
        histogram.record(*value as u64).unwrap();
    }
    let sample = |(k, &value): (usize, &i64)| Sample { value, at_ns: k as u64 * 1_000_000, class: Class::Unknown };
    let all: Vec<Sample> = values.iter().enumerate().map(sample).collect();
    let top = |samples: &[Sample], n: usize| {
        let mut largest = samples.to_vec();
        largest.sort_by_key(|s| (-s.value, s.at_ns));
        largest.truncate(n);
        largest
    };
    let blocks = all.chunks(1000).zip(0..).map(|(chunk, k)| Block {
        start_ns: k * 1_000_000_000,
        length_ns: 1_000_000_000,
        count: chunk.len() as u64,
        sum: chunk.iter().map(|s| i128::from(s.value)).sum(),
        sum_squares: chunk.iter().map(|s| u128::from(s.value.unsigned_abs()).pow(2)).sum(),
        largest: top(chunk, 4),
    });
    SeriesData {
        histogram,
        missed: None,
        blocks: blocks.collect(),
        largest: top(&all, 4096),
        samples: Vec::new(),
        bins: Vec::new(),
    }
}

/// A run in memory with the samples that it was made from.
pub struct Fixture {
    /// The run.
    pub run: Run,
    samples: BTreeMap<(usize, u32), Vec<i64>>,
}

impl Fixture {
    /// Builds a run of these cells with the samples of each thread, all measured.
    pub fn new(cells: Vec<(Cell, Vec<Vec<i64>>)>) -> Self {
        let mut samples = BTreeMap::new();
        let count = cells.len();
        let mut stored = Vec::new();
        for (number, (cell, threads)) in (1..).zip(cells) {
            let state = CellState::Measured(Box::new(measured(cell.clone(), &threads)));
            let (measurand, written, dir) = (measurand(&cell), number - 1, PathBuf::from("/nowhere"));
            stored.push(StoredCell { number, dir, cell, measurand, written, state, host: None, parts: Vec::new() });
            samples.extend((0..).zip(threads).map(|(thread, values)| ((number, thread), values)));
        }
        let meta = Meta {
            id: "20261121T200000Z-quick-k3f9".into(),
            plan: "quick".into(),
            latido: "0.1.0".into(),
            command: ["latido", "run", "quick"].map(String::from).to_vec(),
            machine: "bench-07".into(),
            started: "2026-11-21T20:00:00Z".into(),
            finished: Some("2026-11-21T20:01:00Z".into()),
            cells: count,
            verdict: None,
            headline: None,
            unjudged: false,
            unmeasured: false,
            label: None,
        };
        let plan = Plan { name: "quick".into(), seed: 42, order: Order::AsWritten, ..Plan::default() };
        let run = Run {
            dir: "/nowhere".into(),
            meta,
            plan,
            cells: stored,
            problems: Vec::new(),
            damaged: false,
            at_work: false,
        };
        Self { run, samples }
    }

    /// Returns the record of a cell, for changes.
    pub fn record(&mut self, number: usize) -> &mut Record {
        match &mut self.run.cells[number - 1].state {
            CellState::Measured(record) => record,
            other => panic!("cell {number} is {other:?}"),
        }
    }
}

impl SeriesSource for Fixture {
    fn series(&self, cell: &StoredCell, series: &Series) -> Result<SeriesData> {
        self.samples.get(&(cell.number, series.thread)).map(|values| data(values)).context("no such series")
    }
}

/// Returns a trace of two CPUs with every field set.
pub fn trace() -> TraceRecord {
    TraceRecord {
        events: vec!["sched:sched_switch".into()],
        missing: vec![MissingEvent { event: "irq:softirq_raise".into(), why: "the kernel has none".into() }],
        clock: "mono".into(),
        ring_bytes: 1 << 20,
        sub_buffer_bytes: 4096,
        recorded_ns: 1_500_000_000,
        cpus: vec![TracedCpu { cpu: 0, events: 7, lost: 0 }, TracedCpu { cpu: 1, events: 1, lost: 3 }],
        read_on: Some([0].into_iter().collect()),
        cut: Some("the disk is full".into()),
        caused: Some(Caused { cpus: [1].into_iter().collect(), own_events: 0, irq_work: Some(1) }),
        kept: Some(Kept { samples: 20, pages: 300, dropped: 4_000 }),
        bytes: 3 << 20,
    }
}
