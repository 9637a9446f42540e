//! Lines of a graph of function calls (`function_graph`, and the latency tracers with the option `display-graph`).

use super::{
    event::{Body, Event, Mark, Time},
    header::{Form, GraphColumn, Header},
    scan::{decimal, digits, number, task},
};

/// A line of the graph. A field is `None` if the line has no column for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Graph<'a> {
    /// The time.
    pub time: Option<Time>,
    /// The CPU.
    pub cpu: Option<u32>,
    /// The task and its thread's number.
    pub task: Option<(&'a str, u32)>,
    /// The letters of the flags.
    pub flags: Option<&'a str>,
    /// The mark in front of the duration.
    pub mark: Option<Mark>,
    /// How long the call took, in nanoseconds.
    pub duration_ns: Option<u64>,
    /// Its depth in the graph, from 0.
    pub depth: usize,
    /// What happened.
    pub call: Call<'a>,
}

/// The content of a line of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call<'a> {
    /// A call starts: `vfs_read() {`.
    Enter {
        /// The function.
        name: &'a str,
    },
    /// `_raw_spin_lock();`: a call without another call in it.
    Leaf {
        /// The function.
        name: &'a str,
    },
    /// A call ends: `} /* vfs_read */`.
    Leave {
        /// The function, if the text names it (option `funcgraph-tail`, or its start was lost).
        name: Option<&'a str>,
    },
    /// `==========>` and `<==========`: an interrupt.
    Interrupt {
        /// Whether it starts.
        begins: bool,
    },
    /// `/* sched_switch: … */`: an event among the calls.
    Comment(&'a str),
}

/// Without a header, a line has the first of these sets of columns that fits it: the kernel's default, and what its options add.
const USUAL: [&[GraphColumn]; 6] = {
    use GraphColumn::{Cpu, Duration, Flags, Task, Time};
    [
        &[Cpu, Duration],
        &[Time, Cpu, Duration],
        &[Time, Cpu, Task, Duration],
        &[Cpu, Task, Duration],
        &[Time, Cpu, Task, Flags, Duration],
        &[Cpu, Task, Flags, Duration],
    ]
};

impl<'a> Graph<'a> {
    /// Parses a line, by the header's columns if the header is that of a graph.
    pub(super) fn parse(line: &'a str, header: &Header) -> Option<Self> {
        match &header.columns.form {
            Some(Form::Graph(columns)) => Self::of(line, columns),
            // Each of these sets has a column that ends with this character.
            _ if !line.contains('|') => None,
            _ => USUAL.into_iter().find_map(|columns| Self::of(line, columns)),
        }
    }

    /// Parses an event of `trace-cmd report`, which draws the graph in events: `funcgraph_entry:  + 18.1 us  |  foo();`.
    pub(super) fn of_event(event: &Event<'a>) -> Option<Self> {
        let Body::Named { name: "funcgraph_entry" | "funcgraph_exit", fields } = event.body else { return None };
        let graph = Self::of(fields, &[GraphColumn::Duration])?;
        let task = event.pid.map(|pid| (event.task, pid));
        Some(Self { time: Some(event.time), cpu: Some(event.cpu), task, flags: event.flags, ..graph })
    }

    fn of(line: &'a str, columns: &[GraphColumn]) -> Option<Self> {
        let mut graph = Self {
            time: None,
            cpu: None,
            task: None,
            flags: None,
            mark: None,
            duration_ns: None,
            depth: 0,
            call: Call::Comment(""),
        };
        let mut rest = line;
        let mut interrupt = None;
        for column in columns {
            let end = if *column == GraphColumn::Cpu { ')' } else { '|' };
            let (cell, behind) = rest.split_once(end)?;
            let cell = cell.trim();
            rest = behind;
            match column {
                GraphColumn::Time => graph.time = Some(time_of(cell)?),
                GraphColumn::Cpu => graph.cpu = Some(number(cell)?),
                GraphColumn::Task => graph.task = Some(task(cell)?),
                GraphColumn::Flags => graph.flags = Some(cell).filter(|cell| !cell.is_empty() && !cell.contains(' ')),
                GraphColumn::Duration => match cell {
                    "" => {}
                    "==========>" => interrupt = Some(true),
                    "<==========" => interrupt = Some(false),
                    _ => (graph.mark, graph.duration_ns) = duration(cell)?,
                },
            }
        }
        if let Some(begins) = interrupt {
            return rest.trim().is_empty().then_some(Self { call: Call::Interrupt { begins }, ..graph });
        }
        let text = rest.trim_start();
        let indent = rest.len() - text.len();
        // The margin is one space after the CPU and two after a bar.
        let margin = if columns.last() == Some(&GraphColumn::Cpu) { 1 } else { 2 };
        graph.depth = indent.saturating_sub(margin) / 2;
        graph.call = Call::parse(text.trim_end())?;
        Some(graph)
    }
}

impl<'a> Call<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        if let Some(tail) = text.strip_prefix('}') {
            return Some(Self::Leave { name: named(tail) });
        }
        if text.starts_with("/*") {
            return Some(Self::Comment(comment(text)?.trim()));
        }
        let name = |text: &'a str| text.split_once('(').map(|(name, _)| name).filter(|name| !name.is_empty());
        // The call's result may follow: `/* = 0x0 */`.
        let (call, _) = text.split_once("/*").unwrap_or((text, ""));
        let call = call.trim_end();
        match call.strip_suffix('{') {
            Some(call) => Some(Self::Enter { name: name(call)? }),
            None => Some(Self::Leaf { name: name(call.strip_suffix(';')?)? }),
        }
    }
}

/// Returns the text of a comment.
fn comment(text: &str) -> Option<&str> {
    text.trim().strip_prefix("/*")?.strip_suffix("*/")
}

/// Returns the function in the comment after the end of its call. The comment may contain the call's result as well, or only the result.
fn named(tail: &str) -> Option<&str> {
    let text = comment(tail)?.trim();
    let name = text.split(" = ").next()?.split(" ret=").next()?;
    Some(name).filter(|name| !name.is_empty() && !name.starts_with(['=', '<']) && !name.starts_with("ret="))
}

/// Parses `313.457105` or `4 us`.
fn time_of(cell: &str) -> Option<Time> {
    match cell.strip_suffix(" us") {
        Some(us) => decimal(us.trim_end(), 1000).map(Time::SinceFirst),
        None => decimal(cell, 1_000_000_000).map(Time::Clock),
    }
}

/// Parses `+ 30.765 us`.
fn duration(cell: &str) -> Option<(Option<Mark>, Option<u64>)> {
    let us = cell.strip_suffix(" us")?;
    let first = us.chars().next()?;
    let mark = Mark::of(first);
    let us = if mark.is_some() { us.get(1..)?.trim_start() } else { us };
    Some((mark, Some(decimal(us.trim_end(), 1000)?)))
}

/// Parses ` 1)   sleep-782    =>   rcuc/1-32   `: from here on another task runs on this CPU. Returns the CPU and the new task.
pub(super) fn switch(line: &str) -> Option<(u32, &str, u32)> {
    let (cpu, rest) = digits(line.trim_start())?;
    let (_, to) = rest.strip_prefix(')')?.split_once(" => ")?;
    let (name, pid) = task(to)?;
    Some((cpu, name, pid))
}
