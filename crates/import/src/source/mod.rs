//! Samples that a program tells line by line while it runs: bytes as they come, in pieces of any size, to a [`Sink`].

mod declared;
mod foreign;
mod number;
mod protocol;
#[cfg(test)]
mod tests;

pub use declared::{Declared, TimeOf, Unit};
pub use protocol::{HEADER, checksum};

use foreign::Foreign;
use protocol::Protocol;

/// The longest line, its end not counted, in bytes.
pub const LONGEST: usize = 256;

/// So many series may be told apart.
pub const SERIES: usize = 256;

/// So many bad lines are kept as they came.
const KEPT: usize = 10;

/// The formats in which a program may tell samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The line protocol of `docs/command.md`.
    Latido,
    /// What `cyclictest -v` prints.
    CyclictestV,
    /// Comma-separated values under a header line.
    Csv,
    /// One JSON object a line.
    Ndjson,
    /// Lines of jitterdebugger's samples.csv.
    Jitterdebugger,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 5] = [Self::Latido, Self::CyclictestV, Self::Csv, Self::Ndjson, Self::Jitterdebugger];

    /// As plans name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latido => "latido",
            Self::CyclictestV => "cyclictest-v",
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Jitterdebugger => "jitterdebugger",
        }
    }

    /// The form of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// What is told, in order. Series are named by their numbers, below [`SERIES`], and declared before anything else of them.
pub trait Sink {
    /// There is such a series.
    fn series(&mut self, series: usize, declared: Declared);
    /// All is set up.
    fn ready(&mut self);
    /// A sample in the unit that is kept ([`Unit::kept`]), and its end on the series' clock in ns.
    fn sample(&mut self, series: usize, value: i64, end: Option<u64>);
    /// So many slots passed, the first of them due then.
    fn missed(&mut self, series: usize, count: u64, due: Option<u64>);
    /// So many samples the program lost itself.
    fn dropped(&mut self, series: usize, count: u64);
    /// So many samples it has produced.
    fn end(&mut self, series: usize, produced: u64);
}

/// Why a line is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bad {
    /// Longer than [`LONGEST`].
    Long,
    /// Bytes that are no printable ASCII.
    Bytes,
    /// A checksum that is wrong, or is missing where the series has used one.
    Checksum,
    /// No word of the protocol, or too few or too many.
    Words,
    /// No whole number, no decimal that is exact in the unit that is kept, or one beyond 63 bits.
    Number,
    /// Of a series that was not declared.
    Series,
    /// A declaration that cannot be, or that comes again.
    Declaration,
    /// The last line, without an end.
    Torn,
}

impl Bad {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Long,
        Self::Bytes,
        Self::Checksum,
        Self::Words,
        Self::Number,
        Self::Series,
        Self::Declaration,
        Self::Torn,
    ];

    /// As records name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Long => "too long",
            Self::Bytes => "not ASCII",
            Self::Checksum => "checksum",
            Self::Words => "unknown words",
            Self::Number => "number",
            Self::Series => "undeclared series",
            Self::Declaration => "declaration",
            Self::Torn => "torn",
        }
    }
}

/// The lines of a format.
trait Lines {
    /// Takes a line without its end.
    fn line(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), Bad>;
    /// Takes as many whole plain samples as the bytes begin with: how many, and what follows them.
    fn plain<'a>(&mut self, bytes: &'a [u8], sink: &mut impl Sink) -> (u64, &'a [u8]);
    /// The most bytes of a line.
    fn longest(&self) -> usize;
}

enum Format {
    Latido(Protocol),
    Foreign(Foreign),
}

/// Reads what a program tells, in pieces of any size; what it keeps is one line.
pub struct Reader {
    format: Format,
    /// The begin of a line whose end has not come.
    begun: Vec<u8>,
    /// Whether the rest of a line that was too long is passed through.
    passing: bool,
    lines: u64,
    bad: [u64; Bad::ALL.len()],
    kept: Vec<String>,
}

impl Reader {
    /// Of a form; `unit` is that of numbers in foreign forms which do not say it themselves.
    pub fn new(form: Form, unit: Option<Unit>) -> Self {
        let format = match form {
            Form::Latido => Format::Latido(Protocol::default()),
            foreign => Format::Foreign(Foreign::new(foreign, unit)),
        };
        let begun = Vec::with_capacity(LONGEST + 2);
        Self { format, begun, passing: false, lines: 0, bad: [0; Bad::ALL.len()], kept: Vec::new() }
    }

    /// Takes the next bytes.
    pub fn take(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.begun.is_empty() && !self.passing {
                let (count, after) = match &mut self.format {
                    Format::Latido(format) => format.plain(rest, sink),
                    Format::Foreign(format) => format.plain(rest, sink),
                };
                self.lines += count;
                rest = after;
            }
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                self.begin(rest);
                return;
            };
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            if self.begun.is_empty() && !self.passing {
                self.line(line, sink);
            } else {
                self.begin(line);
                let begun = std::mem::take(&mut self.begun);
                if !std::mem::take(&mut self.passing) {
                    self.line(&begun, sink);
                }
                self.begun = begun;
                self.begun.clear();
            }
        }
    }

    /// Keeps a part of a line; one that is too long is told and forgotten at once.
    fn begin(&mut self, part: &[u8]) {
        if self.passing {
            return;
        }
        self.begun.extend_from_slice(part.get(..part.len().min(self.longest() + 2)).unwrap_or_default());
        // A carriage return may still follow.
        if self.begun.len() > self.longest() + 1 {
            self.passing = true;
            self.lines += 1;
            let begun = std::mem::take(&mut self.begun);
            self.is_bad(Bad::Long, &begun);
        }
    }

    fn longest(&self) -> usize {
        match &self.format {
            Format::Latido(format) => format.longest(),
            Format::Foreign(format) => format.longest(),
        }
    }

    fn line(&mut self, line: &[u8], sink: &mut impl Sink) {
        self.lines += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let long = line.len() > self.longest();
        let taken = match &mut self.format {
            _ if long => Err(Bad::Long),
            Format::Latido(format) => format.line(line, sink),
            Format::Foreign(format) => format.line(line, sink),
        };
        if let Err(bad) = taken {
            self.is_bad(bad, line);
        }
    }

    fn is_bad(&mut self, bad: Bad, line: &[u8]) {
        if let Some(count) = self.bad.get_mut(bad as usize) {
            *count += 1;
        }
        if self.kept.len() < KEPT {
            let shown = line.get(..line.len().min(LONGEST)).unwrap_or_default();
            self.kept.push(shown.escape_ascii().to_string());
        }
    }

    /// Nothing follows.
    pub fn finish(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        if !begun.is_empty() {
            self.lines += 1;
            self.is_bad(Bad::Torn, &begun);
        }
    }

    /// Whether the first line was the header that its form demands; `None` before it.
    pub fn header(&self) -> Option<bool> {
        match &self.format {
            Format::Latido(format) => format.header,
            Format::Foreign(_) => Some(true),
        }
    }

    /// Lines so far, bad ones with them.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The bad lines by their kind, of those that came.
    pub fn bad(&self) -> impl Iterator<Item = (Bad, u64)> + '_ {
        Bad::ALL.into_iter().zip(self.bad).filter(|(_, count)| *count > 0)
    }

    /// The first ten of them, in printable ASCII.
    pub fn kept(&self) -> &[String] {
        &self.kept
    }
}
