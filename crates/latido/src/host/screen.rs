//! What a person sees while a run goes on: a live view on a terminal, a line now and then elsewhere, or nothing.

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

/// The screen of a run. Everything goes to stderr: results alone go to stdout.
#[derive(Debug)]
pub struct Screen {
    kind: Kind,
    colour: bool,
}

#[derive(Debug)]
enum Kind {
    /// The widths of the lines that stand on the terminal.
    Live(Vec<usize>),
    Lines {
        last: Instant,
        /// The number of the cell that is being measured.
        measuring: Option<usize>,
    },
    Quiet,
}

impl Screen {
    /// Chooses by the terminal and by `quiet`.
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

    /// A sentence that stays, unless quiet is wanted.
    pub fn say(&mut self, sentence: &str) {
        if !matches!(self.kind, Kind::Quiet) {
            self.put(sentence);
        }
    }

    /// Worth knowing, unless quiet is wanted.
    pub fn note(&mut self, sentence: &str) {
        if !matches!(self.kind, Kind::Quiet) {
            self.labelled("note:", Paint::Plain, sentence);
        }
    }

    /// The run goes on, but not as it should; told to the quiet too.
    pub fn warn(&mut self, sentence: &str) {
        self.labelled("warning:", Paint::Warn, sentence);
    }

    /// Something was not measured; told to the quiet too.
    pub fn error(&mut self, sentence: &str) {
        self.labelled("error:", Paint::Bad, sentence);
    }

    /// The first line is words and may be broken; those below it are commands, which may not.
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

    /// The state of the running cell.
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
                // A line that fills the last column would lose it to the erasure behind it, and the cursor needs a row.
                let lines = live::frame(view, rows.saturating_sub(1), self.style(columns.saturating_sub(1)));
                self.frame(&lines).show();
            }
        }
    }

    /// A cell of the laboratory is measured: its guest may have run before its turn, of which no line tells.
    pub fn measured(&mut self, number: usize, cells: usize, label: &str) {
        if let Kind::Lines { measuring, .. } = &mut self.kind {
            *measuring = None;
            tell(&live::done(number, cells, label));
        }
    }

    /// Draws over the last frame, in one write: what stays the same is never dark, so nothing flickers.
    fn frame(&mut self, lines: &[String]) -> Drawn {
        let mut drawn = Drawn::default();
        drawn.up(self.height());
        for line in lines {
            drawn.line_over(line);
        }
        // What a longer frame or a narrower terminal left below.
        drawn.erase_below();
        self.kind = Kind::Live(lines.iter().map(|line| visible(line)).collect());
        drawn
    }

    /// The rows that our lines take. A terminal that was made narrower has broken them into more.
    fn height(&self) -> usize {
        let Kind::Live(widths) = &self.kind else { return 0 };
        let (_, columns) = size();
        widths.iter().map(|width| width.div_ceil(columns).max(1)).sum()
    }

    /// What takes the live view off the terminal.
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

    /// Takes the live view off the terminal.
    pub fn clear(&mut self) {
        self.erasure().show();
    }
}

impl Drop for Screen {
    /// An error ends a run anywhere: its message must not stand below half a view.
    fn drop(&mut self) {
        self.clear();
    }
}

/// Rows and columns of the terminal; 24 and 80 where they are not known.
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(stderr()).ok().map(|s| (usize::from(s.ws_row), usize::from(s.ws_col)));
    size.filter(|(rows, columns)| *rows > 1 && *columns > 1).unwrap_or((24, 80))
}

/// Characters of a line without its colours.
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
