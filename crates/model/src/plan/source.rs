//! Where a text came from, so that every complaint names its file and line, or its word on the command line.

use crate::clean;
use std::{fmt, ops::Range};

/// A text that is being read, and its origin.
pub struct Source<'a> {
    text: &'a str,
    origin: Origin<'a>,
}

enum Origin<'a> {
    /// The file's name and the offsets at which its lines start.
    File { name: &'a str, lines: Vec<usize> },
    /// The offsets at which the parts start, each with the word of the command line that it came from.
    Words(&'a [(usize, String)]),
}

/// The place of something: `quick.toml:7`, or `--limit 100`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    shown: String,
    typed: bool,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// The value.
    pub it: T,
    /// Its place.
    pub place: Place,
}

/// What is wrong with a plan, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    place: Place,
    message: String,
}

impl<'a> Source<'a> {
    /// A file, or a text that has a name like one.
    pub fn file(name: &'a str, text: &'a str) -> Self {
        let lines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1).collect();
        Self { text, origin: Origin::File { name, lines } }
    }

    /// A text made from words of the command line; `marks` are ascending offsets with the word that starts there.
    pub fn words(text: &'a str, marks: &'a [(usize, String)]) -> Self {
        Self { text, origin: Origin::Words(marks) }
    }

    /// The text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The place of a span of the text.
    pub fn place(&self, span: Range<usize>) -> Place {
        match &self.origin {
            Origin::File { name, .. } => Place::whole(&format!("{name}:{}", self.line(span))),
            Origin::Words(marks) => {
                let after = marks.partition_point(|(start, _)| *start <= span.start);
                let word = after.checked_sub(1).and_then(|at| marks.get(at));
                Place::word(word.map_or("the command line", |(_, word)| word))
            }
        }
    }

    /// The line, from 1, in which a span of the text starts; 0 for the command line.
    pub fn line(&self, span: Range<usize>) -> usize {
        match &self.origin {
            Origin::File { lines, .. } => lines.partition_point(|start| *start <= span.start) + 1,
            Origin::Words(_) => 0,
        }
    }

    /// A complaint about a span of the text.
    pub fn problem(&self, span: Range<usize>, message: impl Into<String>) -> Problem {
        self.place(span).problem(message)
    }
}

impl Place {
    /// Returns the place of a whole file, if no single line is to blame.
    pub fn whole(name: &str) -> Self {
        Self { shown: name.into(), typed: false }
    }

    /// A word of the command line.
    pub fn word(word: &str) -> Self {
        Self { shown: word.into(), typed: true }
    }

    /// Returns the place as complaints show it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns a complaint about this place.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        Problem { place: self.clone(), message: message.into() }
    }
}

impl Problem {
    /// Returns its place.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What is wrong there.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same complaint about another place.
    pub fn elsewhere(self, place: &Place) -> Self {
        Self { place: place.clone(), ..self }
    }

    /// Whether the command line is to blame, not a file.
    pub fn typed(&self) -> bool {
        self.place.typed
    }
}

impl fmt::Display for Problem {
    /// `FILE:LINE: message`, on one line: both may quote text that contains a line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", clean::line(&self.place.shown), clean::line(&self.message))
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_found_on_its_line() {
        let source = Source::file("f", "a\nbc\n\nd");
        for (offset, line) in [(0, 1), (1, 1), (2, 2), (4, 2), (5, 3), (6, 4), (99, 4)] {
            assert_eq!(source.place(offset..offset), Place::whole(&format!("f:{line}")));
        }
    }

    #[test]
    fn a_problem_is_one_line() {
        let problem = Place::whole("p\nq.toml").problem("a plan has no key `a\nb`");
        assert_eq!(problem.to_string(), "p\\u000aq.toml: a plan has no key `a\\u000ab`");
    }

    #[test]
    fn a_span_is_found_in_its_word() {
        let marks = [(0, "wakeup".to_string()), (5, "-d 1".to_string())];
        let source = Source::words("aaaaabb", &marks);
        assert_eq!(source.problem(4..5, "x").to_string(), "wakeup: x");
        assert_eq!(source.problem(6..7, "x").to_string(), "-d 1: x");
    }
}
