//! `source=events`: how long interrupts are handled and how long they wait, and the path from a timer to its task, all from events.

use crate::{
    measure::{Gathered, Measurand, Place, Probe, Quantity, Stage, Wanted, with_defaults},
    probe::looking_on::{check, fits, paired, told_apart},
};
use anyhow::{Result, bail};
use latido_model::{cell::Cell, units::many};
use latido_trace::{
    events::{Above, Comm, Events, SOFT},
    file::Trace,
    pairing::{Chain, Expiries, Handled, Met, Sink, Span},
};
use serde::{Deserialize, Serialize};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

/// Builds the probe from its options.
///
/// # Errors
/// An option does not exist.
pub fn new(table: toml::Table) -> Result<Box<dyn Probe>> {
    Ok(Box::new(with_defaults(table, InterruptProbe { source: Source::Events, task: None })?))
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InterruptProbe {
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
}

/// Where the interrupts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Source {
    /// All interrupts that the machine handles meanwhile.
    Events,
}

const CHAIN: [(&str, &str); 5] = [
    ("expiry", "Timer to task: due to interrupt"),
    ("handler", "Timer to task: interrupt to function"),
    ("waking", "Timer to task: function to waking"),
    ("switch", "Timer to task: waking to running"),
    ("latency", "Timer to task: all of it"),
];

/// The most threads with separate series.
const MOST: usize = 24;

/// The vectors that have handlers, on x86 (arch/x86/include/asm/trace/irq_vectors.h). Other events of that system are about management.
const VECTORS: [&str; 10] = [
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
    "spurious_apic",
    "error_apic",
    "thermal_apic",
    "x86_platform_ipi",
    "deferred_error_apic",
];

impl Probe for InterruptProbe {
    fn measurand(&self) -> Measurand {
        let handled = ["duration", "raised"].map(|name| match name {
            "duration" => Quantity::time(name, "Interrupt: time in its handler").each("interrupt"),
            _ => Quantity::time(name, "Soft interrupt: from raise to entry").each("interrupt").beside(),
        });
        let Some(_) = &self.task else { return Measurand::new("Interrupts", handled) };
        let chain = CHAIN.map(|(name, title)| {
            let quantity = Quantity::time(name, title).each("expiry");
            if name == "latency" { quantity } else { quantity.beside() }
        });
        let all: Vec<Quantity> = handled.map(Quantity::beside).into_iter().chain(chain).collect();
        Measurand::new("Interrupts", all)
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        check("interrupt", cell)
    }

    fn wants(&self) -> Option<Wanted> {
        let mut wanted = Wanted::events(&["irq:irq_handler_entry", "irq:irq_handler_exit"]);
        if self.task.is_some() {
            let chain = [
                "timer:hrtimer_start",
                "timer:hrtimer_expire_entry",
                "timer:hrtimer_expire_exit",
                "sched:sched_waking",
                "sched:sched_switch",
            ];
            wanted.events.extend(chain.map(String::from));
            wanted = wanted.also(&["task:task_rename"]);
        }
        wanted = wanted.also(&[
            "irq:softirq_raise",
            "irq:softirq_entry",
            "irq:softirq_exit",
            "ipi:ipi_entry",
            "ipi:ipi_exit",
        ]);
        let vectors =
            VECTORS.iter().flat_map(|name| ["entry", "exit"].map(|edge| format!("irq_vectors:{name}_{edge}")));
        wanted.also.extend(vectors);
        Some(wanted)
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let interval = stage.watch(|| Ok(true))?;
        let mapped = stage.recorded()?;
        let trace = Trace::open(&mapped)?;
        let meant = |comm: &Comm| self.task.as_ref().is_some_and(|pattern| fits(pattern, &comm.text()));
        let mut tasks = BTreeMap::<i32, (u64, Comm)>::new();
        let chains = Expiries::to(&trace, |chain: &Chain| {
            if meant(&chain.comm) {
                let (count, comm) = tasks.entry(chain.pid).or_default();
                (*count, *comm) = (*count + 1, chain.comm);
            }
        });
        let mut first = (Seen::default(), chains);
        let met = paired(&trace, &mut first);
        let (seen, _) = first;
        if let Some(task) = self.task.as_ref().filter(|_| tasks.is_empty()) {
            bail!(
                "no timer woke a thread named `{task}` during the run: a message or a lock may wake it, or its timers were set \
                 before the run and do not repeat"
            );
        }
        let mut gathered = Gathered::over(interval);
        let places = seen.open(stage, &mut gathered, &met, &Events::of(&trace.formats, trace.endian))?;
        let threads = woken(tasks, stage, &mut gathered)?;
        // Both sinks of the same walk fill it.
        let gathered = RefCell::new(gathered);
        let chains = Expiries::to(&trace, |chain: &Chain| {
            let Some(places) = threads.get(&chain.pid) else { return };
            let [expiry, handler, waking, switch] = chain.stages();
            let values = [expiry, handler, waking, switch, chain.came.saturating_sub(chain.due)];
            for (place, value) in places.iter().zip(values) {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                gathered.borrow_mut().sample(*place, value, chain.due, chain.came);
            }
        });
        let mut second = (Interrupts { gathered: &gathered, places }, chains);
        let met = paired(&trace, &mut second);
        let unknown = second.1.unknown;
        let mut gathered = gathered.into_inner();
        for place in threads.values().flatten() {
            gathered.fact(*place, "unknown", unknown);
        }
        gathered.met(&met);
        stage.deliver(gathered)
    }
}

/// The series of the stages of a chain.
type Chained = [Place; CHAIN.len()];

/// Opens the series of the threads that timers woke, each with its count and its name. If there are too many, only the threads that were
/// woken most often have separate series. The others share one.
fn woken(
    tasks: BTreeMap<i32, (u64, Comm)>,
    stage: &Stage<'_>,
    gathered: &mut Gathered,
) -> Result<BTreeMap<i32, Chained>> {
    let mut open = |name: &str| -> Result<Chained> {
        let [expiry, handler, waking, switch, latency] =
            CHAIN.map(|(quantity, _)| gathered.open(stage.series(quantity)?, &[("task", name)]));
        Ok([expiry?, handler?, waking?, switch?, latency?])
    };
    let mut often: Vec<(u64, i32, Comm)> = tasks.into_iter().map(|(pid, (count, comm))| (count, pid, comm)).collect();
    often.sort_unstable_by_key(|(count, pid, _)| (std::cmp::Reverse(*count), *pid));
    let rest = often.split_off(often.len().min(MOST));
    let mut threads = BTreeMap::new();
    for (pid, name) in told_apart(often.into_iter().map(|(_, pid, comm)| (pid, comm))) {
        threads.insert(pid, open(&name)?);
    }
    if !rest.is_empty() {
        let others = open(&many(rest.len(), "other"))?;
        threads.extend(rest.into_iter().map(|(_, pid, _)| (pid, others)));
    }
    Ok(threads)
}

/// The interrupts that occurred, and for each the total time of its handling in ns.
#[derive(Default)]
struct Seen {
    handled: BTreeMap<Above, u64>,
    raised: BTreeSet<u8>,
}

impl Sink for Seen {
    fn handled(&mut self, handled: &Handled) {
        let total = self.handled.entry(handled.above).or_default();
        *total = total.saturating_add(handled.ns());
    }

    fn raised(&mut self, raised: &Span<u8>) {
        self.raised.insert(raised.what);
    }
}

/// The series of each interrupt.
#[derive(Default)]
struct Places {
    handled: BTreeMap<Above, Place>,
    raised: BTreeMap<u8, Place>,
}

/// The most interrupts with separate series: those with the most time.
const MOST_INTERRUPTS: usize = 64;

impl Seen {
    fn open(self, stage: &Stage<'_>, gathered: &mut Gathered, met: &Met, events: &Events) -> Result<Places> {
        let mut places = Places::default();
        let mut most: Vec<(Above, u64)> = self.handled.into_iter().collect();
        most.sort_by_key(|(above, ns)| (std::cmp::Reverse(*ns), *above));
        most.truncate(MOST_INTERRUPTS);
        most.sort_unstable();
        for (above, _) in most {
            let (kind, line) = named(above, met, events);
            let place = gathered.open(stage.series("duration")?, &[("kind", kind), ("line", &line)])?;
            places.handled.insert(above, place);
        }
        for vec in self.raised {
            let (kind, line) = named(Above::Soft(vec), met, events);
            let place = gathered.open(stage.series("raised")?, &[("kind", kind), ("line", &line)])?;
            places.raised.insert(vec, place);
        }
        Ok(places)
    }
}

/// Returns the kind and the name of an interrupt.
fn named(above: Above, met: &Met, events: &Events) -> (&'static str, String) {
    match above {
        Above::Soft(vec) => ("soft", SOFT.get(usize::from(vec)).map_or_else(|| vec.to_string(), |name| (*name).into())),
        Above::Vector(at) => ("vector", events.vectors().get(usize::from(at)).cloned().unwrap_or_default()),
        Above::Line(line) => match met.devices.get(&line).filter(|name| !name.is_empty()) {
            Some(device) => ("line", format!("{line} {device}")),
            None => ("line", line.to_string()),
        },
    }
}

/// The sink that adds interrupts to their series.
struct Interrupts<'a> {
    gathered: &'a RefCell<Gathered>,
    places: Places,
}

impl Sink for Interrupts<'_> {
    fn handled(&mut self, handled: &Handled) {
        if let Some(place) = self.places.handled.get(&handled.above) {
            let value = i64::try_from(handled.ns()).unwrap_or(i64::MAX);
            self.gathered.borrow_mut().sample(*place, value, handled.begin, handled.end);
        }
    }

    fn raised(&mut self, raised: &Span<u8>) {
        if let Some(place) = self.places.raised.get(&raised.what) {
            self.gathered.borrow_mut().lasted(*place, raised.begin, raised.end);
        }
    }
}
