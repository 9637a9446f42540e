//! Reads samples that a program reports line by line while it runs: takes bytes as they arrive, in pieces of any size, and passes the
//! samples to a [`Sink`].

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

/// The longest line in bytes, without its line end.
pub const LONGEST: usize = 256;

/// The most series that a program may report.
pub const SERIES: usize = 256;

/// The number of bad lines that the reader keeps as they came.
const KEPT: usize = 10;

/// The formats in which a program may report samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The line protocol of `docs/command.md`.
    Latido,
    /// What `cyclictest -v` prints.
    CyclictestV,
    /// Comma-separated values under a header line.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// Lines of jitterdebugger's samples.csv.
    Jitterdebugger,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 5] = [Self::Latido, Self::CyclictestV, Self::Csv, Self::Ndjson, Self::Jitterdebugger];

    /// Returns the name as plans use it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latido => "latido",
            Self::CyclictestV => "cyclictest-v",
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Jitterdebugger => "jitterdebugger",
        }
    }

    /// Returns the form with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// Receives what the program reports, in order. A series is named by its number, below [`SERIES`]; its declaration comes before anything
/// else about it.
pub trait Sink {
    /// The program declares a series.
    fn series(&mut self, series: usize, declared: Declared);
    /// The program has finished its setup.
    fn ready(&mut self);
    /// The program reports a sample in the kept unit ([`Unit::kept`]), and the sample's end on the series' clock in ns.
    fn sample(&mut self, series: usize, value: i64, end: Option<u64>);
    /// The program missed `count` slots; the first of them was due at `due`.
    fn missed(&mut self, series: usize, count: u64, due: Option<u64>);
    /// The program itself lost `count` samples.
    fn dropped(&mut self, series: usize, count: u64);
    /// The program produced `produced` samples in total.
    fn end(&mut self, series: usize, produced: u64);
}

/// Why a line is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bad {
    /// The line is longer than [`LONGEST`].
    Long,
    /// The line has bytes that are not printable ASCII.
    Bytes,
    /// The checksum is wrong, or is missing although the series has used one.
    Checksum,
    /// The line starts with no word of the protocol, or has too few or too many words.
    Words,
    /// The number is not whole, or not a decimal that is exact in the kept unit, or exceeds 63 bits.
    Number,
    /// The line belongs to a series that was not declared.
    Series,
    /// The declaration is invalid, or repeats an earlier one.
    Declaration,
    /// The last line has no line end.
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

    /// Returns the name as records use it.
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

/// The parser for the lines of a format.
trait Lines {
    /// Reads a line without its line end.
    fn line(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), Bad>;
    /// Reads as many complete plain samples as the bytes begin with. Returns their number and the remaining bytes.
    fn plain<'a>(&mut self, bytes: &'a [u8], sink: &mut impl Sink) -> (u64, &'a [u8]);
    /// Returns the longest line in bytes.
    fn longest(&self) -> usize;
}

enum Format {
    Latido(Protocol),
    Foreign(Foreign),
}

/// Reads what a program reports, in pieces of any size, and buffers at most one line.
pub struct Reader {
    format: Format,
    /// The beginning of a line whose end has not arrived.
    begun: Vec<u8>,
    /// Whether the reader is skipping the rest of a line that was too long.
    passing: bool,
    lines: u64,
    bad: [u64; Bad::ALL.len()],
    kept: Vec<String>,
}

impl Reader {
    /// Creates a reader for a form; `unit` applies to numbers in forms of other tools that do not give their unit.
    pub fn new(form: Form, unit: Option<Unit>) -> Self {
        let format = match form {
            Form::Latido => Format::Latido(Protocol::default()),
            foreign => Format::Foreign(Foreign::new(foreign, unit)),
        };
        let begun = Vec::with_capacity(LONGEST + 2);
        Self { format, begun, passing: false, lines: 0, bad: [0; Bad::ALL.len()], kept: Vec::new() }
    }

    /// Reads the next bytes.
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

    /// Buffers a part of a line. A line that is too long counts as bad at once, and the buffer is emptied.
    fn begin(&mut self, part: &[u8]) {
        if self.passing {
            return;
        }
        self.begun.extend_from_slice(part.get(..part.len().min(self.longest() + 2)).unwrap_or_default());
        // A carriage return may still follow the longest line.
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

    /// Ends the input: a line without an end counts as torn.
    pub fn finish(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        if !begun.is_empty() {
            self.lines += 1;
            self.is_bad(Bad::Torn, &begun);
        }
    }

    /// Whether the first line was the header that the form requires; `None` before the first line.
    pub fn header(&self) -> Option<bool> {
        match &self.format {
            Format::Latido(format) => format.header,
            Format::Foreign(_) => Some(true),
        }
    }

    /// Returns the number of lines so far, including bad ones.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the number of bad lines of each kind that occurred.
    pub fn bad(&self) -> impl Iterator<Item = (Bad, u64)> + '_ {
        Bad::ALL.into_iter().zip(self.bad).filter(|(_, count)| *count > 0)
    }

    /// Returns the first ten bad lines, in printable ASCII.
    pub fn kept(&self) -> &[String] {
        &self.kept
    }
}
