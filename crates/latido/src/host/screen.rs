//! What a person sees while a run goes on: a live view on a terminal, a line now and then elsewhere, or nothing.

use crate::report::{
    live::{self, View},
    terminal::Style,
};
use std::{
    io::{IsTerminal, Write, stderr},
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
    Live { drawn: usize },
    Lines { last: Option<Instant>, phase: String },
    Quiet,
}

impl Screen {
    /// Chooses by the terminal and by `quiet`.
    pub fn new(quiet: bool) -> Self {
        let terminal = stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let kind = match (quiet, terminal) {
            (true, _) => Kind::Quiet,
            (false, true) => Kind::Live { drawn: 0 },
            (false, false) => Kind::Lines { last: None, phase: String::new() },
        };
        Self { kind, colour: terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    /// A sentence that stays; errors are said even to the quiet.
    pub fn say(&mut self, sentence: &str) {
        if !matches!(self.kind, Kind::Quiet) {
            self.warn(sentence);
        }
    }

    /// A sentence that stays, also for the quiet.
    pub fn warn(&mut self, sentence: &str) {
        self.clear();
        // Nobody to tell it to is no reason to stop a measurement.
        let _ = writeln!(stderr(), "{sentence}");
    }

    /// The state of the running cell.
    pub fn progress(&mut self, view: View<'_>) {
        match &mut self.kind {
            Kind::Quiet => {}
            Kind::Lines { last, phase } => {
                let now = &view.progress.phase;
                let due = last.is_none_or(|at| at.elapsed() >= LINE_EVERY);
                if now == "measuring" && (due || phase != now) {
                    *last = Some(Instant::now());
                    let _ = writeln!(stderr(), "{}", live::line(view));
                }
                phase.clone_from(now);
            }
            Kind::Live { .. } => {
                let size = rustix::termios::tcgetwinsize(stderr());
                let (rows, columns) =
                    size.map_or((24, 80), |size| (usize::from(size.ws_row), usize::from(size.ws_col)));
                let style = Style { width: columns.clamp(20, 200), color: self.colour };
                let lines = live::frame(view, rows.max(6), style);
                self.clear();
                let mut text = lines.join("\n");
                text.push('\n');
                let _ = stderr().write_all(text.as_bytes());
                self.kind = Kind::Live { drawn: lines.len() };
            }
        }
    }

    /// Takes the live view off the screen.
    pub fn clear(&mut self) {
        if let Kind::Live { drawn: drawn @ 1.. } = &mut self.kind {
            // ECMA-48: cursor to the first of our lines, erase to the end of the screen.
            let _ = write!(stderr(), "\x1b[{drawn}F\x1b[J");
            *drawn = 0;
        }
    }
}
