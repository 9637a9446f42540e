//! A trace for people: its content, every latency that it allows, the owners of the CPUs, and the worst cases with their causes.

mod analysis;
pub mod csv;
mod histograms;
mod lost;
mod perfetto;
mod readings;
mod sheets;
mod text;
mod text_file;
mod timeline;
mod tracers;

pub use analysis::{Analyses, Analysis, Kind, Lost, OfCpu, Row, Share, Stated, TaskRow};
use latido_judge::late::Worst;
use latido_model::units::many;
use latido_trace::{
    bytes::Endian,
    calls::{self, Machine},
    events::{Above, Call, Class, Events, Happened, Off},
    explain::{Begins, Explained, Window, explain, interrupt, named},
    file::{Buffer, Described, Packing, Trace},
    pairing::{Definition, Owner, Pairing, Sink, Why, pair},
    recorded::Recorded,
    summary::{Had, Of, Series, Summary},
    text::Time,
};
use std::collections::BTreeMap;
pub use text_file::{analyse_text, is_file};
pub use timeline::{Drawn, Timeline};
use tracers::Beside;
pub use tracers::Told;

/// The most tasks, and the most owners of each CPU, that are listed one by one: a machine may start millions.
const NAMED: usize = 1_000;

/// The number of longest waits per class that are explained.
const EXPLAINED: usize = 5;

/// The number of events of each kind, by the number of their format, and the measurements of tracers.
#[derive(Debug)]
struct Kinds {
    endian: Endian,
    counts: Vec<u64>,
    recorded: Recorded,
    readings: latido_trace::text::Summary,
}

impl Sink for Kinds {
    fn event(&mut self, cpu: u32, time: u64, record: &[u8], happened: Option<&Happened>) {
        if let Some(body) = happened.is_none().then(|| self.recorded.read(record)).flatten() {
            self.readings.reading(cpu, Time::Clock(time), body);
        }
        let Self { recorded, readings, .. } = self;
        recorded.noise(record, |noise| readings.noises.add(noise));
        let Some(at) = self.endian.u16(record, 0).map(usize::from) else { return };
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts.get_mut(at).into_iter().for_each(|count| *count += 1);
    }
}

/// The names of numbers in a trace.
struct Names<'a> {
    machine: Machine,
    calls: Vec<String>,
    vectors: Vec<String>,
    devices: BTreeMap<u32, String>,
    tasks: &'a Pairing,
}

impl Names<'_> {
    fn call(&self, call: Call) -> String {
        match call {
            Call::Named(at) => self.calls.get(usize::from(at)).cloned().unwrap_or_default(),
            Call::Number(number) => calls::call(self.machine, number),
        }
    }

    fn above(&self, above: Above) -> String {
        interrupt(above, &self.vectors, &self.devices)
    }

    fn task(&self, pid: i32) -> String {
        self.tasks.name(pid).map_or_else(|| pid.to_string(), |comm| named(&comm, pid))
    }

    fn owner(&self, owner: Owner) -> String {
        match owner {
            Owner::Nmi => "non-maskable interrupts".into(),
            Owner::Above(above @ Above::Soft(_)) => format!("soft interrupt {}", self.above(above)),
            Owner::Above(above) => format!("interrupt {}", self.above(above)),
            Owner::Task(pid) => self.task(pid),
            Owner::Idle => "idle".into(),
            Owner::Lost => "events lost".into(),
            Owner::Unknown => "not known yet".into(),
        }
    }
}

/// The depth of an analysis: each pass over a trace, and everything that is kept of each event, has a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// The latencies and the owners of the CPUs: one pass that keeps nothing else.
    Latencies,
    /// Also the number of events of each kind, and the causes of the longest waits.
    Worst,
    /// Also a timeline.
    Timeline,
}

/// Analyses a buffer of a trace; `of` selects the tasks whose waits and system calls count.
pub fn analyse(source: &str, trace: &Trace<'_>, buffer: &Buffer<'_>, depth: Depth, of: &Of) -> Analysis {
    let analysis = analyse_once(source, trace, buffer, depth, of, &[]);
    match analysis.lost.unplaced.clone() {
        unplaced if unplaced.is_empty() => analysis,
        // Only after the last page does latido know what the kernel's counts add to the pages.
        unplaced => analyse_once(source, trace, buffer, depth, of, &unplaced),
    }
}

/// Does the same, with CPUs about which nothing is certain.
fn analyse_once(
    source: &str,
    trace: &Trace<'_>,
    buffer: &Buffer<'_>,
    depth: Depth,
    of: &Of,
    doubted: &[u32],
) -> Analysis {
    let mut kinds = Kinds::of(trace);
    let (mut summary, mut timeline) = (Summary::of(of.clone()), Timeline::default());
    let mut pairing = Pairing::of(Definition::Waking);
    doubted.iter().for_each(|cpu| pairing.doubt(*cpu));
    let mut met = match depth {
        Depth::Latencies => summary.take(trace, buffer, &mut pairing),
        Depth::Worst => pair(trace, buffer, &mut pairing, &mut (&mut summary, &mut kinds)),
        Depth::Timeline => pair(trace, buffer, &mut pairing, &mut (&mut summary, (&mut timeline, &mut kinds))),
    };
    met.said.join(&trace.counted(buffer));
    let events = Events::of(&trace.formats, trace.endian);
    let names = Names {
        machine: Machine::of(trace.options.uname.as_deref().unwrap_or_default()),
        calls: events.calls().to_vec(),
        vectors: events.vectors().to_vec(),
        devices: met.devices.clone(),
        tasks: &pairing,
    };
    timeline.name(|owner| names.owner(owner));
    let cpus = summary.owners().map(|(cpu, owners)| OfCpu::of(cpu, owners, &names)).collect();
    let (rows, tasks, longest) = (rows(&summary, &names), tasks(&summary), longest(&summary));
    // Another pass follows that needs as much memory.
    drop((summary, pairing));
    Analysis {
        source: source.to_owned(),
        buffer: buffer.name.clone(),
        version: Some(trace.version),
        told: Some(Told::of(&kinds.readings, &Beside::default())).filter(|told| !told.is_empty()),
        clock: buffer.clock.clone().or_else(|| trace.options.clock.clone()),
        system: trace.options.uname.clone(),
        recorder: trace.options.recorder.clone(),
        packed: match trace.packing {
            Packing::None => None,
            Packing::Zlib => Some("zlib"),
            Packing::Zstd => Some("zstd"),
        },
        events: met.events,
        length_ns: met.last.saturating_sub(met.first),
        first_ns: met.first,
        kinds: kinds.named(trace),
        lost: Lost::of(&met),
        rows,
        cpus,
        tasks,
        worst: match depth {
            Depth::Latencies => Vec::new(),
            Depth::Worst | Depth::Timeline => worst(longest, met.first, |windows| explain(trace, buffer, windows).0),
        },
        unread: trace.lost.told().chain(met.unread.told()).collect(),
        timeline,
    }
}

impl Kinds {
    /// Returns empty counts for a trace.
    fn of(trace: &Trace<'_>) -> Self {
        let endian = trace.endian;
        let recorded = Recorded::of(&trace.formats, endian);
        Self { endian, counts: Vec::new(), recorded, readings: latido_trace::text::Summary::default() }
    }

    /// Returns the counts by name, the most frequent first.
    fn named(&self, trace: &Trace<'_>) -> Vec<(String, u64)> {
        let named = |(id, count): (usize, &u64)| {
            let described = trace.formats.iter().find(|described| usize::from(described.format.id) == id);
            let name = |one: &Described| format!("{}:{}", one.system, one.format.name);
            (*count > 0).then(|| (described.map_or_else(|| format!("unknown {id}"), name), *count))
        };
        let mut all: Vec<_> = self.counts.iter().enumerate().filter_map(named).collect();
        all.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        all
    }
}

impl Row {
    /// Returns nothing for an empty series.
    fn of(kind: Kind, name: String, series: &Series) -> Option<Self> {
        let all = &series.all;
        let longest = series.longest().into_iter().next();
        let enough = |p: f64, least: u64| if all.count() >= least { all.quantile(p) } else { None };
        Some(Self {
            kind,
            name,
            count: all.count(),
            mean_ns: all.mean()?,
            sd_ns: all.sd(),
            min_ns: all.min()?,
            p50_ns: all.quantile(0.5)?,
            p99_ns: enough(0.99, 100),
            p999_ns: enough(0.999, 1_000),
            max_ns: all.max()?,
            sum_ns: u64::try_from(all.sum()).unwrap_or(u64::MAX),
            blocked_ns: None,
            max_at_ns: longest.map(|worst| worst.begin),
            waited_ns: None,
            interrupted: None,
            max_of: longest.filter(|worst| worst.pid != 0).map(|worst| named(&worst.comm, worst.pid)),
            max_cpu: longest.map(|worst| worst.cpu),
        })
    }
}

fn rows(summary: &Summary, names: &Names) -> Vec<Row> {
    let mut rows = Vec::new();
    for (why, kind) in [(Why::Woken, Kind::Scheduling), (Why::Preempted, Kind::Preempted)] {
        let of = |class: Class| Row::of(kind, class.name().into(), summary.waits(why, class)?);
        rows.extend(Class::ALL.into_iter().filter_map(of));
    }
    rows.extend([Off::Interrupts, Off::Preemption].into_iter().filter_map(|off| {
        let name = if off == Off::Interrupts { "interrupts off" } else { "preemption off" };
        Row::of(Kind::Off, name.into(), summary.off(off)?)
    }));
    let handled = summary.handled();
    let (soft, hard): (Vec<_>, Vec<_>) = handled.iter().partition(|(above, _)| matches!(above, Above::Soft(_)));
    rows.extend(hard.iter().filter_map(|(above, series)| Row::of(Kind::Interrupt, names.above(**above), series)));
    rows.extend(soft.iter().filter_map(|(above, series)| Row::of(Kind::SoftInterrupt, names.above(**above), series)));
    let delay = |(vec, series): (u8, &Series)| Row::of(Kind::SoftDelay, names.above(Above::Soft(vec)), series);
    rows.extend(summary.raised().into_iter().filter_map(delay));
    let mut calls: Vec<Row> = summary
        .calls()
        .into_iter()
        .filter_map(|(call, of)| {
            let row = Row::of(Kind::SystemCall, names.call(call), &of.whole)?;
            let (blocked_ns, waited_ns) = (Some(of.blocked), Some(of.waited));
            Some(Row { blocked_ns, waited_ns, interrupted: Some(of.interrupted), ..row })
        })
        .collect();
    calls.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows.extend(calls);
    rows
}

impl OfCpu {
    fn of(cpu: u32, owners: BTreeMap<Owner, Had>, names: &Names) -> Self {
        let all: u64 = owners.values().map(|had| had.ns).sum();
        let share = |had: &Had| Share {
            ns: had.ns,
            share: if all == 0 { 0.0 } else { had.ns as f64 / all as f64 },
            pieces: had.pieces,
            longest_ns: had.longest,
        };
        let mut owners: Vec<(Owner, Had)> = owners.into_iter().collect();
        owners.sort_by_key(|(_, had)| std::cmp::Reverse(had.ns));
        let others = owners.split_off(owners.len().min(NAMED));
        let mut owners: Vec<_> = owners.iter().map(|(owner, had)| (names.owner(*owner), share(had))).collect();
        if !others.is_empty() {
            let had = others.iter().fold(Had::default(), |mut sum, (_, had)| {
                sum.join(had);
                sum
            });
            owners.push((many(others.len(), "other"), share(&had)));
        }
        Self { cpu, owners }
    }
}

fn tasks(summary: &Summary) -> Vec<TaskRow> {
    let row = |(pid, task): (i32, latido_trace::summary::OfTask)| TaskRow {
        name: named(&task.comm, pid),
        woken: task.woken,
        mean_wait_ns: (task.woken > 0).then(|| task.waited as f64 / task.woken as f64),
        longest_wait_ns: task.longest,
        preempted: task.preempted,
        held_up_ns: task.held_up,
        ran_ns: task.ran,
    };
    let mut all: Vec<_> = summary.tasks().filter(|(pid, task)| *pid != 0 && task.woken > 0).collect();
    all.sort_by_key(|(_, task)| std::cmp::Reverse(task.longest));
    all.into_iter().take(NAMED).map(row).collect()
}

/// Returns the longest waits of each class.
fn longest(summary: &Summary) -> Vec<(Class, latido_trace::summary::Worst)> {
    let of = |class: Class| {
        let longest = summary.waits(Why::Woken, class).map(Series::longest).unwrap_or_default();
        longest.into_iter().take(EXPLAINED).map(move |worst| (class, worst))
    };
    Class::ALL.into_iter().flat_map(of).collect()
}

/// Explains waits in a second pass; the longest of all come first.
fn worst(
    all: Vec<(Class, latido_trace::summary::Worst)>,
    first: u64,
    explain: impl FnOnce(&[Window]) -> Vec<Explained>,
) -> Vec<Worst> {
    let window = |worst: &latido_trace::summary::Worst| Window {
        begin: worst.begin,
        end: worst.end,
        pid: worst.pid,
        cpu: worst.cpu,
        begins: Begins::Asleep,
    };
    let windows: Vec<Window> = all.iter().map(|(_, worst)| window(worst)).collect();
    if windows.is_empty() {
        return Vec::new();
    }
    let explained = explain(&windows);
    let told = |(class, worst): (Class, latido_trace::summary::Worst)| {
        let found = explained.iter().find(|found| found.window == window(&worst))?;
        let since_start = worst.end.saturating_sub(first);
        Some(Worst::of(class, named(&worst.comm, worst.pid), since_start, found))
    };
    let mut told: Vec<Worst> = all.into_iter().filter_map(told).collect();
    told.sort_by_key(|worst| std::cmp::Reverse(worst.ns));
    told
}

#[cfg(test)]
mod handed;
#[cfg(test)]
mod tests;
