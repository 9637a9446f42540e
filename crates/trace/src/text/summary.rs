//! The series and figures of a text: the longest latencies, samples by CPU and time, durations, rows.

use super::{
    durations::{Durations, Noises, Tally},
    event::{Body, Event, SystemCall, Time},
    gaps::Gaps,
    graph::{Call, Graph},
    header::{Header, Latency},
    histogram::{Bin, Taken, Total},
    line::Line,
    reader::Reader,
    tracers::{Context, Hwlat, Noise, Osnoise, Timerlat, Turn},
};
use std::collections::BTreeMap;

/// The most samples that are kept: enough for 16 s of 8 CPUs at 1 kHz with two samples each. latido continues tallies and counts beyond
/// that.
const MOST: usize = 1 << 18;

/// The most rows, snapshots and names that are kept.
const FEW: usize = 1 << 14;

/// The first items, and how many came after the room was used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capped<T> {
    /// The items that were kept.
    pub items: Vec<T>,
    /// How many items were not kept.
    pub beyond: u64,
}

impl<T> Default for Capped<T> {
    fn default() -> Self {
        Self { items: Vec::new(), beyond: 0 }
    }
}

impl<T> Capped<T> {
    fn push(&mut self, item: T, most: usize) {
        if self.items.len() < most { self.items.push(item) } else { self.beyond += 1 }
    }
}

/// A sample with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading<T> {
    /// The CPU.
    pub cpu: u32,
    /// Its time.
    pub time: Time,
    /// Its value.
    pub value: T,
}

/// The longest latency of one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The tracer.
    pub tracer: String,
    /// The latency, with the functions in which it started and ended if the tracer names them.
    pub latency: Latency,
    /// The kernel's release, if the header names it.
    pub release: Option<String>,
    /// The first wake-up of a wakeup tracer.
    pub woken: Option<Turned>,
    /// Its last switch.
    pub switched: Option<Turned>,
    /// The last stack of functions below it, innermost first.
    pub stack: Vec<String>,
}

/// A wake-up or a switch, with both tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turned {
    /// The task that ran: its thread's number, the kernel's priority and the letter of its state.
    pub from: (u32, i32, String),
    /// The CPU of the other task.
    pub cpu: u32,
    /// The other task, in the same form.
    pub to: (u32, i32, String),
    /// The name of the other task.
    pub task: String,
}

impl Turned {
    fn of(turn: &Turn<'_>) -> Self {
        let party = |party: super::Party<'_>| (party.pid, party.priority, party.state.to_owned());
        Self { from: party(turn.from), cpu: turn.cpu, to: party(turn.to), task: turn.task.to_owned() }
    }
}

/// The numbers of entries in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The tracer, if the header names it.
    pub tracer: Option<String>,
    /// Entries in the buffer.
    pub there: u64,
    /// Entries that were written.
    pub written: u64,
    /// How many CPUs were online, if the header shows it.
    pub cpus: Option<u32>,
}

/// What an action of a histogram saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The row, from 0.
    pub row: u64,
    /// The name: `max`, `changed`, `snapshot at onmax($lat)`.
    pub name: String,
    /// The value.
    pub value: u64,
    /// What else was saved with it: `next_comm: sh  prev_pid: 12`.
    pub rest: String,
}

/// The most functions of a stack that latido keeps.
const DEEPEST: usize = 64;

/// The series and figures of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The longest latency of each header that has one.
    pub snapshots: Capped<Snapshot>,
    /// The latencies of timerlat.
    pub timerlat: Capped<Reading<Timerlat>>,
    /// The latencies of all timerlat samples, in nanoseconds, by CPU and context.
    pub timerlat_tallies: BTreeMap<(u32, Context), Tally>,
    /// The periods of osnoise.
    pub osnoise: Capped<Reading<Osnoise>>,
    /// How long the things took that interrupted CPUs.
    pub noises: Noises,
    /// The gaps of hwlat.
    pub hwlat: Capped<Reading<Hwlat>>,
    /// How long functions took.
    pub durations: Durations,
    /// How many of each event there are, without function calls.
    pub events: BTreeMap<String, u64>,
    /// Events for whose names there was no room.
    pub more_events: u64,
    /// Function calls without durations.
    pub calls: u64,
    /// Events in a form that latido does not know.
    pub others: u64,
    /// The first of these: its line number and its text.
    pub first_other: Option<(u64, String)>,
    /// Functions in stacks.
    pub stacked: u64,
    /// Interrupts among the calls of a graph.
    pub interrupts: u64,
    /// The numbers of entries in each header.
    pub entries: Capped<Entries>,
    /// Whether the kernel reports for any part that its figures are not valid.
    pub tainted: bool,
    /// The rows of histograms, with the ordinal of their header.
    pub bins: Capped<(u64, Bin)>,
    /// What actions saved for rows.
    pub saved: Capped<Saved>,
    /// The counts below histograms, with the ordinal of their header.
    pub totals: Capped<(u64, Total)>,
    /// The known losses.
    pub lost: Gaps,
    /// The header of the last snapshot, and the header of the last entries.
    ordinal: u64,
    counted: Option<u64>,
    /// Why the kernel took the snapshot whose row comes next.
    taken_at: Option<(String, u64)>,
}

impl Summary {
    /// Reads a whole text. The reader reports what it did not understand.
    pub fn of(text: &[u8]) -> (Self, Reader) {
        let (mut summary, mut reader) = (Self::default(), Reader::default());
        reader.push(text, |header, line| summary.take(header, &line));
        summary.lost.finish();
        (summary, reader)
    }

    /// Adds a line.
    pub fn take(&mut self, header: &Header, line: &Line<'_>) {
        self.lost.take(header, line);
        match line {
            Line::Header => {
                self.snapshot(header);
                self.entries(header);
            }
            Line::Event(event) => self.event(header, event),
            Line::Graph(graph) => self.graph(graph),
            Line::Switch { cpu, .. } => self.durations.switched(*cpu),
            Line::Lost { cpu, .. } => self.durations.lost(*cpu),
            Line::Stack(function) => {
                self.stacked += 1;
                if let Some(snapshot) = self.last(header).filter(|snapshot| snapshot.stack.len() < DEEPEST) {
                    snapshot.stack.push((*function).to_owned());
                }
            }
            Line::Bin(bin) => self.bins.push((header.ordinal, bin.clone()), FEW),
            Line::Saved { name, value, rest } => {
                let rows = self.bins.items.len() as u64 + self.bins.beyond;
                let (name, rest) = ((*name).to_owned(), (*rest).to_owned());
                self.saved.push(Saved { row: rows.saturating_sub(1), name, value: *value, rest }, FEW);
            }
            Line::Taken(taken) => self.taken(header, taken),
            Line::Total(Total::Begin)
            | Line::Key
            | Line::Begun
            | Line::Started { .. }
            | Line::Counted { .. }
            | Line::Statistic { .. }
            | Line::Unknown(_) => {}
            Line::Total(total) => self.totals.push((header.ordinal, *total), FEW),
        }
    }

    /// Adds a report of a snapshot: the value for which the kernel took it belongs to the row of its keys.
    fn taken(&mut self, header: &Header, taken: &Taken<'_>) {
        match taken {
            Taken::Begin => self.taken_at = None,
            Taken::At { action, value } => self.taken_at = Some(((*action).to_owned(), *value)),
            Taken::By(keys) => {
                let Some((action, value)) = self.taken_at.take() else { return };
                let of = |(ordinal, bin): &(u64, Bin)| *ordinal == header.ordinal && bin.keys == *keys;
                let row = self.bins.items.iter().position(of).unwrap_or_else(|| {
                    self.bins.push((header.ordinal, Bin { keys: keys.clone(), values: Vec::new() }), FEW);
                    self.bins.items.len() - 1
                });
                let name = format!("snapshot at {action}");
                self.saved.push(Saved { row: row as u64, name, value, rest: String::new() }, FEW);
            }
        }
    }

    /// Updates the header's latency, to which further lines of the header add.
    fn snapshot(&mut self, header: &Header) {
        let (Some(tracer), Some(latency)) = (&header.tracer, &header.latency) else { return };
        // With the option `latency-format`, the header of events contains a latency that belongs to no task.
        if latency.us == 0 && latency.task.is_empty() {
            return;
        }
        let snapshot = || Snapshot {
            tracer: tracer.clone(),
            latency: latency.clone(),
            release: header.release.clone(),
            woken: None,
            switched: None,
            stack: Vec::new(),
        };
        if std::mem::replace(&mut self.ordinal, header.ordinal) != header.ordinal {
            self.snapshots.push(snapshot(), FEW);
        } else if self.snapshots.beyond == 0
            && let Some(last) = self.snapshots.items.last_mut().filter(|last| last.latency != *latency)
        {
            *last = snapshot();
        }
    }

    /// Returns the snapshot of this header.
    fn last(&mut self, header: &Header) -> Option<&mut Snapshot> {
        let of = self.ordinal == header.ordinal && self.snapshots.beyond == 0;
        self.snapshots.items.last_mut().filter(|_| of)
    }

    /// Adds a header's numbers of entries, once.
    fn entries(&mut self, header: &Header) {
        self.tainted |= header.tainted;
        let (Some(there), Some(written)) = (header.entries, header.written) else { return };
        if self.counted.replace(header.ordinal) != Some(header.ordinal) {
            let (tracer, cpus) = (header.tracer.clone(), header.cpus);
            self.entries.push(Entries { tracer, there, written, cpus }, FEW);
        }
    }

    fn graph(&mut self, graph: &Graph<'_>) {
        self.durations.take(graph);
        match graph.call {
            // An event among the calls.
            Call::Comment(text) => match Body::of(text) {
                Body::Named { name, .. } => self.named(name),
                _ => self.named("comment"),
            },
            Call::Interrupt { begins } => self.interrupts += u64::from(begins),
            Call::Enter { .. } | Call::Leaf { .. } | Call::Leave { .. } => {}
        }
    }

    /// Adds a tracer's sample, from a line or from a record of a file; it ignores anything else.
    pub fn reading(&mut self, cpu: u32, time: Time, body: Body<'_>) {
        match body {
            Body::Timerlat(value) => {
                self.timerlat.push(Reading { cpu, time, value }, MOST);
                let place = (cpu, value.context);
                if self.timerlat_tallies.len() < FEW || self.timerlat_tallies.contains_key(&place) {
                    self.timerlat_tallies.entry(place).or_default().add(value.latency_ns);
                }
            }
            Body::Osnoise(value) => self.osnoise.push(Reading { cpu, time, value }, MOST),
            Body::Hwlat(value) => self.hwlat.push(Reading { cpu, time, value }, MOST),
            _ => {}
        }
    }

    fn event(&mut self, header: &Header, event: &Event<'_>) {
        let Event { cpu, time, .. } = *event;
        match event.body {
            body @ (Body::Timerlat(_) | Body::Osnoise(_) | Body::Hwlat(_)) => self.reading(cpu, time, body),
            Body::Function { .. } => self.calls += 1,
            Body::Named { name, fields } => {
                self.named(name);
                let noise = Noise::parse(name, fields);
                noise.into_iter().for_each(|noise| self.noises.add(noise));
                // These are values of a tracer in a form that latido cannot read: it must report them.
                if (noise.is_none() && Noise::is_told_by(name))
                    || matches!(name, "timerlat" | "osnoise" | "hwlat" | "funcgraph_entry" | "funcgraph_exit")
                {
                    self.other(header, fields);
                }
            }
            Body::Call { call: SystemCall { name, begins }, .. } => {
                self.named(&format!("sys_{}_{name}", if begins { "enter" } else { "exit" }));
            }
            Body::Turn(turn) => {
                self.named(if turn.switches { "switch" } else { "wake-up" });
                if let Some(snapshot) = self.last(header) {
                    let turned = Turned::of(&turn);
                    if turn.switches {
                        snapshot.switched = Some(turned);
                    } else {
                        snapshot.woken.get_or_insert(turned);
                    }
                }
            }
            Body::Stack => self.last(header).into_iter().for_each(|snapshot| snapshot.stack.clear()),
            Body::Other(text) => self.other(header, text),
        }
    }

    /// Counts an event that latido does not understand.
    fn other(&mut self, header: &Header, text: &str) {
        self.others += 1;
        self.first_other.get_or_insert_with(|| (header.line, text.chars().take(120).collect()));
    }

    fn named(&mut self, name: &str) {
        let room = self.events.len() < FEW;
        match self.events.get_mut(name) {
            Some(count) => *count += 1,
            None if room => drop(self.events.insert(name.to_owned(), 1)),
            None => self.more_events += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tracers' events must be read as `trace-cmd report` prints them.
    #[test]
    fn values_of_tracers_as_events_are_read() {
        let text = b"sh-1 [000] 1.000010: timerlat:             seq:1\tcontext:2\ttimer_latency:932\n\
            sh-1 [001] 2.000010: osnoise:              noise:190\tmax_sample:9\thw:18\tnmi:0\tirq:7\tsoftirq:5\tthread:1\n\
            sh-1 [001] 3.000010: hwlat:                cnt:4\tts:1581527483.0343962693\tinner:11\touter:12\tcount:6\tnmi-ts:4\tnmi-count:1\n\
            sh-1 [000] 4.000010: funcgraph_entry:                   |  vfs_read() {\n\
            sh-1 [000] 4.000020: funcgraph_entry:      + 18.150 us  |    fsnotify();\n\
            sh-1 [000] 4.000050: funcgraph_exit:       ! 140.2 us   |  }\n";
        let (summary, _) = Summary::of(text);
        let lat = Timerlat { activation: 1, context: Context::UserReturn, latency_ns: 932 };
        assert_eq!(summary.timerlat.items[0].value, lat);
        let noise = summary.osnoise.items[0].value;
        assert_eq!((noise.runtime_us, noise.noise_us, noise.longest_us, noise.hardware), (None, 190, 9, 18));
        assert_eq!((noise.nmi, noise.irq, noise.softirq, noise.thread), (0, 7, 5, 1));
        let gap = summary.hwlat.items[0].value;
        assert_eq!((gap.sample, gap.at_ns, gap.inner_us, gap.outer_us), (4, 1_581_527_483_343_962_693, 11, 12));
        assert_eq!((gap.count, gap.nmi_us, gap.nmi_count), (Some(6), Some(4), Some(1)));
        let sums: Vec<_> = summary.durations.functions.iter().map(|(name, tally)| (name.as_str(), tally.sum)).collect();
        assert_eq!(sums, [("fsnotify", 18_150), ("vfs_read", 140_200)]);
        assert_eq!((summary.others, summary.events.len()), (0, 0));
    }

    /// Events in a form that latido does not know must be counted, and the first line must be quoted.
    #[test]
    fn values_of_tracers_in_another_form_are_counted() {
        let text = b"sh-1 [000] 1.000010: timerlat:             seq:1 context:0 latency:932\n\
            sh-1 [000] 1.000020: sched_waking:         comm=a pid=12 prio=98 target_cpu=001\n";
        let (summary, _) = Summary::of(text);
        assert_eq!((summary.others, summary.events.len()), (1, 2));
        assert_eq!(summary.first_other, Some((1, "seq:1 context:0 latency:932".into())));
    }
}
