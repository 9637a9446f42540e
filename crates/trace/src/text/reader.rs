//! Lines in turn: what each one is, with what the lines before it said.

use super::{
    event::Event,
    graph::{self, Graph},
    header::Header,
    histogram::{self, Bin, Total},
    lines::{LONGEST, Lines},
    scan::{digits, number},
};

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// An empty line, a rule, or a line with `#`, which the header has taken in.
    Header,
    /// Something that happened.
    Event(Event<'a>),
    /// A line of a graph of calls.
    Graph(Graph<'a>),
    /// In a graph: from here on another task runs on a CPU.
    Switch {
        /// The CPU.
        cpu: u32,
        /// The task.
        task: &'a str,
        /// Its thread's number.
        pid: u32,
    },
    /// ` => schedule`: a function of the stack of the event above.
    Stack(&'a str),
    /// `CPU:0 [LOST 123 EVENTS]`.
    Lost {
        /// The CPU.
        cpu: u32,
        /// How many, where the kernel knows.
        count: Option<u64>,
    },
    /// A row of a histogram.
    Bin(Bin),
    /// The begin of such a row, or a further line of its key: the row comes with its last line.
    Key,
    /// What an action saved for the row above: `max: 12  next_comm: sh`.
    Saved {
        /// `max` or `changed`.
        name: &'a str,
        /// Its value.
        value: u64,
        /// What else was saved, as it stands there.
        rest: &'a str,
    },
    /// The counts below a histogram.
    Total(Total),
    /// A line that is understood by nobody, or longer than any line of the kernel.
    Unknown(&'a str),
}

/// What was seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whole lines.
    pub lines: u64,
    /// Those of them that were not understood.
    pub unknown: u64,
    /// The first of those: its number, from 1, and how it begins.
    pub first_unknown: Option<(u64, String)>,
    /// Lines that were too long and were not read.
    pub cut: u64,
    /// Bytes behind the last whole line: a line is not read before its end has come.
    pub unfinished: u64,
}

/// Reads text in pieces of any size.
#[derive(Debug, Default)]
pub struct Reader {
    lines: Lines,
    state: State,
}

/// What the lines so far said.
#[derive(Debug, Default)]
struct State {
    header: Header,
    seen: Seen,
    /// The key of a row whose end has not come.
    key: Option<String>,
}

impl Reader {
    /// Gives every line that ends in this piece, with the header as it stands then.
    pub fn push(&mut self, piece: &[u8], mut see: impl FnMut(&Header, Line<'_>)) {
        let Self { lines, state } = self;
        lines.push(piece, |text, cut| {
            let line = state.line(text, cut);
            see(&state.header, line);
        });
        state.seen.unfinished = lines.unfinished();
    }

    /// The header so far.
    pub fn header(&self) -> &Header {
        &self.state.header
    }

    /// What was seen so far.
    pub fn seen(&self) -> &Seen {
        &self.state.seen
    }
}

impl State {
    fn line<'a>(&mut self, text: &'a str, cut: u64) -> Line<'a> {
        self.seen.lines += 1;
        if cut == 0
            && let Some(line) = self.read(text)
        {
            return line;
        }
        self.key = None;
        self.seen.cut += u64::from(cut > 0);
        self.seen.unknown += 1;
        let begin = || text.chars().take(120).collect();
        self.seen.first_unknown.get_or_insert_with(|| (self.seen.lines, begin()));
        Line::Unknown(text)
    }

    fn read<'a>(&mut self, text: &'a str) -> Option<Line<'a>> {
        if self.key.is_some() {
            return self.further(text);
        }
        // What `trace-cmd report` begins with.
        if text.strip_prefix("cpus=").is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit())) {
            return Some(Line::Header);
        }
        if text.starts_with("##### CPU ") && text.ends_with(" buffer started ####") {
            return Some(Line::Header);
        }
        if text.starts_with('#') {
            return self.header.take(text).map(|()| Line::Header);
        }
        let trimmed = text.trim();
        if trimmed.bytes().all(|byte| byte == b'-') {
            return Some(Line::Header);
        }
        if let Some(function) = text.strip_prefix(" => ") {
            return Some(Line::Stack(function.trim()));
        }
        if let Some(lost) = lost(trimmed) {
            return Some(lost);
        }
        if text.starts_with("{ ") {
            return self.begin(text);
        }
        let graph = || Graph::parse(text, &self.header).map(Line::Graph);
        let switch = || graph::switch(text).map(|(cpu, task, pid)| Line::Switch { cpu, task, pid });
        let event = || Event::parse(text, &self.header).map(Line::Event);
        let total = || Total::parse(text).map(Line::Total);
        let saved = || histogram::saved(text).map(|(name, value, rest)| Line::Saved { name, value, rest });
        graph().or_else(event).or_else(switch).or_else(total).or_else(saved)
    }

    /// The first line of a row.
    fn begin(&mut self, text: &str) -> Option<Line<'static>> {
        if !text.contains('}') {
            self.key = Some(text.to_owned());
            return Some(Line::Key);
        }
        Bin::parse(text, self.names()).map(Line::Bin)
    }

    /// A further line of a row.
    fn further(&mut self, text: &str) -> Option<Line<'static>> {
        let mut key = self.key.take().filter(|key| key.len() + text.len() < LONGEST)?;
        key.push('\n');
        key.push_str(text);
        if text.contains('}') {
            return Bin::parse(&key, self.names()).map(Line::Bin);
        }
        self.key = Some(key);
        Some(Line::Key)
    }

    fn names(&self) -> &[String] {
        self.header.trigger.as_ref().map_or(&[], |trigger| &trigger.keys)
    }
}

/// `CPU:0 [LOST 123 EVENTS]`, or without the count.
fn lost(text: &str) -> Option<Line<'static>> {
    let (cpu, rest) = digits(text.strip_prefix("CPU:")?)?;
    let count = rest.strip_prefix(" [LOST ")?.strip_suffix("EVENTS]")?.trim();
    let count = if count.is_empty() { None } else { Some(number(count)?) };
    Some(Line::Lost { cpu, count })
}
