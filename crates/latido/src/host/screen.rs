//! What the user sees during a run: a live view on a terminal, a line from time to time elsewhere, or nothing.

use crate::output::{Drawn, can_move, errors_have_colours, tell};
use latido_model::protocol::Phase;
use latido_report::{
    live::{self, View},
    terminal::{Paint, Style, hang},
};
use std::{
    io::{IsTerminal, stderr},
    time::{Duration, Instant},
};

/// How often a line is printed where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The screen of a run. Everything goes to stderr; only results go to stdout.
#[derive(Debug)]
pub struct Screen {
    kind: Kind,
    colour: bool,
}

#[derive(Debug)]
enum Kind {
    /// The widths of the lines now on the terminal.
    Live(Vec<usize>),
    Lines {
        last: Instant,
        /// The number of the cell that is being measured.
        measuring: Option<usize>,
    },
    Quiet,
}

impl Screen {
    /// Chooses the kind of screen by the terminal and by `quiet`.
    #[expect(clippy::disallowed_methods, reason = "nothing is written")]
    pub fn new(quiet: bool) -> Self {
        let terminal = stderr().is_terminal() && can_move();
        let kind = match (quiet, terminal) {
            (true, _) => Kind::Quiet,
            (false, true) => Kind::Live(Vec::new()),
            (false, false) => Kind::Lines { last: Instant::now(), measuring: None },
        };
        Self { kind, colour: terminal && errors_have_colours() }
    }

    /// Prints a sentence that stays, except in quiet mode.
    pub fn say(&mut self, sentence: &str) {
        if !matches!(self.kind, Kind::Quiet) {
            self.put(sentence);
        }
    }

    /// Prints a note, except in quiet mode.
    pub fn note(&mut self, sentence: &str) {
        if !matches!(self.kind, Kind::Quiet) {
            self.labelled("note:", Paint::Plain, sentence);
        }
    }

    /// Prints a warning, in quiet mode too: the run goes on, but not as it should.
    pub fn warn(&mut self, sentence: &str) {
        self.labelled("warning:", Paint::Warn, sentence);
    }

    /// Prints an error, in quiet mode too: something was not measured.
    pub fn error(&mut self, sentence: &str) {
        self.labelled("error:", Paint::Bad, sentence);
    }

    /// Prints a labelled message. Its first line is text and may be wrapped; the lines below it are commands and may not.
    fn labelled(&mut self, label: &str, tone: Paint, sentence: &str) {
        let width = if matches!(self.kind, Kind::Live(_)) { size().1 } else { usize::MAX };
        let (words, commands) = sentence.split_once('\n').unwrap_or((sentence, ""));
        let mut lines = hang(label, tone, words, self.style(width));
        lines.extend(commands.lines().map(String::from));
        self.put(&lines.join("\n"));
    }

    fn put(&mut self, text: &str) {
        let mut drawn = self.erasure();
        drawn.line(text);
        drawn.show();
    }

    fn style(&self, width: usize) -> Style {
        Style { width, color: self.colour }
    }

    /// Shows the state of the running cell.
    pub fn progress(&mut self, view: View<'_>) {
        match &mut self.kind {
            Kind::Quiet => {}
            Kind::Lines { last, measuring } => {
                let is_measured = matches!(view.progress.phase, Phase::Measuring | Phase::Emulating);
                let now = is_measured.then_some(view.number);
                let starts = is_measured && now != *measuring;
                *measuring = now;
                if starts || (is_measured && last.elapsed() >= LINE_EVERY) {
                    *last = Instant::now();
                    tell(&if starts { live::start(view) } else { live::line(view) });
                }
            }
            Kind::Live(_) => {
                let (rows, columns) = size();
                // The erase sequence after a line would delete its character in the last column, and the cursor needs a row.
                let lines = live::frame(view, rows.saturating_sub(1), self.style(columns.saturating_sub(1)));
                self.frame(&lines).show();
            }
        }
    }

    /// Reports that a cell of the laboratory is measured. Its guest may have run before the cell's turn, without a line of progress.
    pub fn measured(&mut self, number: usize, cells: usize, label: &str) {
        if let Kind::Lines { measuring, .. } = &mut self.kind {
            *measuring = None;
            tell(&live::done(number, cells, label));
        }
    }

    /// Draws over the last frame in one write. Unchanged text is never cleared first, so nothing flickers.
    fn frame(&mut self, lines: &[String]) -> Drawn {
        let mut drawn = Drawn::default();
        drawn.up(self.height());
        for line in lines {
            drawn.line_over(line);
        }
        // Erases what a longer frame or a narrower terminal left below.
        drawn.erase_below();
        self.kind = Kind::Live(lines.iter().map(|line| visible(line)).collect());
        drawn
    }

    /// Returns the number of rows that the view takes. A terminal that was made narrower has wrapped the lines into more rows.
    fn height(&self) -> usize {
        let Kind::Live(widths) = &self.kind else { return 0 };
        let (_, columns) = size();
        widths.iter().map(|width| width.div_ceil(columns).max(1)).sum()
    }

    /// Returns the sequence that removes the live view from the terminal.
    fn erasure(&mut self) -> Drawn {
        let (rows, mut drawn) = (self.height(), Drawn::default());
        if let Kind::Live(widths) = &mut self.kind
            && !widths.is_empty()
        {
            widths.clear();
            drawn.up(rows);
            drawn.erase_below();
        }
        drawn
    }

    /// Removes the live view from the terminal.
    pub fn clear(&mut self) {
        self.erasure().show();
    }
}

impl Drop for Screen {
    /// An error may end a run anywhere. Its message must not appear below half a view.
    fn drop(&mut self) {
        self.clear();
    }
}

/// Returns rows and columns of the terminal; 24 and 80 where they are not known.
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(stderr()).ok().map(|s| (usize::from(s.ws_row), usize::from(s.ws_col)));
    size.filter(|(rows, columns)| *rows > 1 && *columns > 1).unwrap_or((24, 80))
}

/// Counts the characters of a line without its colour sequences.
fn visible(line: &str) -> usize {
    let mut escaped = false;
    let shown = |c: &char| {
        let hidden = escaped || *c == '\x1b';
        escaped = hidden && *c != 'm';
        !hidden
    };
    line.chars().filter(shown).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live() -> Screen {
        Screen { kind: Kind::Live(Vec::new()), colour: false }
    }

    #[test]
    fn a_frame_covers_the_one_before_it() {
        let mut screen = live();
        assert_eq!(screen.frame(&["one".into(), "two".into()]).as_str(), "one\x1b[K\ntwo\x1b[K\n\x1b[J");
        assert_eq!(screen.frame(&["three".into()]).as_str(), "\x1b[2Fthree\x1b[K\n\x1b[J");
        assert_eq!(screen.erasure().as_str(), "\x1b[1F\x1b[J");
        assert_eq!(screen.frame(&["a\x1b[2Jb\x07".into()]).as_str(), "a\\u001b[2Jb\\u0007\x1b[K\n\x1b[J", "of data");
        screen.erasure();
        assert_eq!(screen.erasure().as_str(), "", "it is taken off once");
    }

    #[test]
    fn colours_take_no_room() {
        assert_eq!(visible("a\x1b[31mbc\x1b[0m d"), 5);
        assert_eq!(visible("plain"), 5);
    }
}
