//! Reads lines in order, and determines the content of each from the lines before it.

use super::{
    clean,
    event::Event,
    graph::{self, Graph},
    header::{Form, Header},
    histogram::{self, Bin, Taken, Total},
    line::{Line, Seen},
    lines::{LONGEST, Lines},
    perf, report, wrapped,
};

/// Reads text in pieces of any size.
#[derive(Debug, Default)]
pub struct Reader {
    lines: Lines,
    state: State,
}

/// The most inputs of a report that latido distinguishes.
const SOURCES: usize = 1 << 10;

/// What the lines so far contained.
#[derive(Debug, Default)]
struct State {
    header: Header,
    seen: Seen,
    /// The inputs that lines name; the first has no name.
    sources: Vec<String>,
    /// The input of the next event: only the line that reported its loss names the input.
    owed: Option<u32>,
    /// The key of a row that is not complete yet.
    key: Option<String>,
    begun: Option<Begun>,
}

/// A line that is not complete yet.
#[derive(Debug)]
struct Begun {
    text: String,
    pieces: usize,
    header: bool,
    /// Whether it was the first line that latido did not understand.
    first: bool,
}

impl Reader {
    /// Passes on every line that ends in this piece, with the header at that point.
    pub fn push(&mut self, piece: &[u8], mut see: impl FnMut(&Header, Line<'_>)) {
        let Self { lines, state } = self;
        lines.push(piece, |bytes, cut| {
            state.seen.lines += 1;
            state.header.line = state.seen.lines;
            let bytes = if state.seen.lines == 1 { clean::unmarked(bytes) } else { bytes };
            let cleaned = clean::line(bytes);
            let text = String::from_utf8_lossy(&cleaned);
            let whole = state.whole(&text);
            let line = match &whole {
                Some(whole) => state.joined(whole),
                None => state.line(&text, cut),
            };
            see(&state.header, line);
        });
        state.seen.unfinished = lines.unfinished();
    }

    /// Returns the header so far.
    pub fn header(&self) -> &Header {
        &self.state.header
    }

    /// Returns what the reader has seen so far.
    pub fn seen(&self) -> &Seen {
        &self.state.seen
    }

    /// Returns the inputs that the lines of a report name (`a.dat:`), by [`Header::source`]. The first has no name: it is the input of
    /// lines that name no input.
    pub fn sources(&self) -> &[String] {
        &self.state.sources
    }
}

/// Parses a line with an event.
fn event<'a>(line: &'a str, header: &Header) -> Option<Event<'a>> {
    if perf::is_of_ended(line) {
        return perf::event(line);
    }
    Event::parse(line, header).or_else(|| perf::event(line))
}

impl State {
    fn line<'a>(&mut self, text: &'a str, cut: u64) -> Line<'a> {
        if self.sources.is_empty() {
            self.sources.push(String::new());
        }
        if cut == 0
            && let Some(line) = self.read(text).and_then(|line| self.of_source(line))
        {
            let begins = matches!(&line, Line::Event(event) if wrapped::is_begun(event));
            if begins {
                let first = self.unknown(text);
                self.begun = Some(Begun { text: text.to_owned(), pieces: 1, header: false, first });
                return Line::Begun;
            }
            return line;
        }
        self.key = None;
        self.seen.cut += u64::from(cut > 0);
        self.unknown(text);
        Line::Unknown(text)
    }

    /// Counts a line that latido does not understand. Returns whether it is the first.
    fn unknown(&mut self, text: &str) -> bool {
        self.seen.unknown += 1;
        let first = self.seen.first_unknown.is_none();
        let begin = || text.chars().take(120).collect();
        self.seen.first_unknown.get_or_insert_with(|| (self.seen.lines, begin()));
        first
    }

    /// Joins the previous line with this one, if they are two pieces of a broken line.
    fn whole(&mut self, text: &str) -> Option<String> {
        let begun = self.begun.take()?;
        let further = text.trim();
        if further.is_empty() || further.len() + begun.text.len() > LONGEST {
            return None;
        }
        if begun.header {
            let further = further.trim_start_matches("# ");
            let whole = format!("{} {further}", begun.text.trim_end());
            let ends = further.ends_with(')') && self.header.clone().take(&whole).is_some();
            return ends.then(|| {
                self.begun = Some(begun);
                whole
            });
        }
        // A complete line is not a piece of another.
        if event(text, &self.header).is_some() || report::stated(further).is_some() {
            return None;
        }
        let whole = format!("{} {further}", begun.text.trim_end());
        let parsed = event(&whole, &self.header)?;
        let goes_on = wrapped::is_begun(&parsed);
        if goes_on && (begun.pieces + 1 >= wrapped::PIECES || !wrapped::is_piece(further)) {
            return None;
        }
        self.begun = Some(begun);
        Some(whole)
    }

    /// Handles a joined line; further pieces of it may come.
    fn joined<'a>(&mut self, whole: &'a str) -> Line<'a> {
        let Some(begun) = self.begun.take() else { return Line::Unknown(whole) };
        self.seen.joined += 1;
        if begun.header {
            let _ = self.header.take(whole);
            return Line::Header;
        }
        let line = event(whole, &self.header).map(Line::Event).and_then(|line| self.of_source(line));
        match line {
            Some(Line::Event(event)) if wrapped::is_begun(&event) => {
                self.begun = Some(Begun { text: whole.to_owned(), pieces: begun.pieces + 1, ..begun });
                Line::Begun
            }
            Some(line) => {
                self.seen.unknown -= 1;
                if begun.first {
                    self.seen.first_unknown = None;
                }
                line
            }
            None => Line::Unknown(whole),
        }
    }

    /// Records the input of a line. Returns `None` if there are too many inputs.
    fn of_source<'a>(&mut self, line: Line<'a>) -> Option<Line<'a>> {
        if let Line::Event(event) = &line {
            self.header.source = match event.source {
                Some(source) => self.source(source)?,
                None => self.owed.unwrap_or(0),
            };
            self.owed = None;
        }
        Some(line)
    }

    /// Returns the number of an input.
    fn source(&mut self, name: &str) -> Option<u32> {
        let at = match self.sources.iter().position(|source| source == name) {
            Some(at) => at,
            None if self.sources.len() < SOURCES => {
                self.sources.push(name.to_owned());
                self.sources.len() - 1
            }
            None => return None,
        };
        u32::try_from(at).ok()
    }

    fn read<'a>(&mut self, text: &'a str) -> Option<Line<'a>> {
        if self.key.is_some() {
            return self.further(text);
        }
        let trimmed = text.trim();
        if report::is_word(trimmed) || trimmed.bytes().all(|byte| byte == b'-') {
            return Some(Line::Header);
        }
        if let Some(stated) = report::stated(trimmed) {
            self.header.source = 0;
            return Some(stated);
        }
        if trimmed.starts_with('#') {
            let begun = Begun { text: trimmed.to_owned(), pieces: 1, header: true, first: false };
            self.begun = Some(begun).filter(|_| wrapped::is_begun_header(trimmed));
            return self.header.take(trimmed).map(|()| Line::Header);
        }
        if let Some(function) = trimmed.strip_prefix("=> ") {
            return Some(Line::Stack(function.trim()));
        }
        if trimmed.starts_with("{ ") {
            return self.begin(trimmed);
        }
        let graph = || Graph::parse(text, &self.header).map(Line::Graph);
        let of_event = || {
            let event = event(text, &self.header)?;
            Some(Graph::of_event(&event).map_or(Line::Event(event), Line::Graph))
        };
        // Without a header, or with a graph's header, a line that can belong to a graph does.
        let calls = matches!(self.header.columns.form, None | Some(Form::Graph(_)));
        let line = if calls { graph().or_else(of_event) } else { of_event().or_else(graph) };
        let switch = || graph::switch(text).map(|(cpu, task, pid)| Line::Switch { cpu, task, pid });
        let total = || Total::parse(text).map(Line::Total);
        let saved = || histogram::saved(text).map(|(name, value, rest)| Line::Saved { name, value, rest });
        let taken = || Taken::parse(text, self.header.trigger.as_ref()).map(Line::Taken);
        line.or_else(|| perf::lost(text))
            .or_else(switch)
            .or_else(total)
            .or_else(saved)
            .or_else(taken)
            .or_else(|| perf::called(text))
            .or_else(|| self.prefixed(text))
    }

    /// Reads a line of a report with several inputs that is not an event. After a loss, the event comes without its input.
    fn prefixed<'a>(&mut self, text: &'a str) -> Option<Line<'a>> {
        let (source, rest) = report::prefixed(text)?;
        self.header.source = self.source(source)?;
        let line = report::stated(rest).unwrap_or(Line::Header);
        if matches!(line, Line::Lost { .. }) {
            self.owed = Some(self.header.source);
        }
        Some(line)
    }

    /// Reads the first line of a row.
    fn begin(&mut self, text: &str) -> Option<Line<'static>> {
        if !text.contains('}') {
            self.key = Some(text.to_owned());
            return Some(Line::Key);
        }
        Bin::parse(text, self.header.trigger.as_ref()).map(Line::Bin)
    }

    /// Reads another line of a row.
    fn further(&mut self, text: &str) -> Option<Line<'static>> {
        let mut key = self.key.take().filter(|key| key.len() + text.len() < LONGEST)?;
        key.push('\n');
        key.push_str(text);
        if text.contains('}') {
            return Bin::parse(&key, self.header.trigger.as_ref()).map(Line::Bin);
        }
        self.key = Some(key);
        Some(Line::Key)
    }
}
