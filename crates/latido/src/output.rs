//! Standard output and standard error. Everything that the user sees goes through here, and only latido's own control codes reach the
//! terminal. Also handles a reader of stdout that goes away.

use anyhow::Result;
use latido_model::exit::Exit;
use latido_report::terminal::{printable, printable_signals};
use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

/// Returns whether the error is that the reader of the output went away.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(broken)
}

/// Writes a text to stdout. Returns the exit status of a command that has thereby done its work.
///
/// # Errors
/// It cannot be written.
#[expect(clippy::disallowed_methods, reason = "asks what it is, and writes nothing")]
pub fn write_out(text: &str) -> Result<u8> {
    put(&printable(text, is_coloured(io::stdout().is_terminal())))
}

/// Writes sentences and lists to stdout. On a terminal, long lines wrap between words; in a file or a pipe they stay whole.
///
/// # Errors
/// They cannot be written.
#[expect(clippy::disallowed_methods, reason = "asks what it is and how wide, and writes nothing")]
pub fn write_prose(text: &str) -> Result<u8> {
    match io::stdout().is_terminal() {
        true => write_out(&fitted(text, width(rustix::termios::tcgetwinsize(io::stdout())))),
        false => write_out(text),
    }
}

/// Writes latido's own signals to LAVA to stdout. No other text may look like a signal.
///
/// # Errors
/// They cannot be written.
pub fn write_signals(text: &str) -> Result<u8> {
    put(&printable_signals(text, false))
}

#[expect(clippy::disallowed_methods, reason = "the one place that writes there what was cleaned")]
fn put(text: &str) -> Result<u8> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Exit::Done.code())
}

/// Writes a line to stderr. latido ignores an error: it has no channel left to report it, and it is no reason to stop a measurement.
pub fn tell(line: &str) {
    let mut drawn = Drawn::default();
    match width_of_errors() {
        Some(width) => {
            let clean = printable(line, errors_have_colours());
            let lines =
                clean.split('\n').map(|line| if is_sentence(line) { fitted_line(line, width) } else { line.into() });
            drawn.line(&lines.collect::<Vec<_>>().join("\n"));
        }
        None => drawn.line(line),
    }
    drawn.show();
}

/// Returns whether a line is a sentence. A row of a table, a command after `$` and a path are never wrapped.
fn is_sentence(line: &str) -> bool {
    !line.starts_with([' ', '/']) && !line.contains("  ") && !line.contains("$ ")
}

/// Wraps the lines of a text that are wider than this, between words. A wrapped line continues below the text after a label, or two columns
/// to the right of the start of a list's line.
fn fitted(text: &str, width: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| fitted_line(line, width)).collect();
    lines.join("\n")
}

fn fitted_line(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    let begins = line.chars().take_while(|letter| *letter == ' ').count();
    let is_label = columns(first) <= LABEL && !rest.is_empty() && (first.ends_with(':') || first.ends_with(":\x1b[0m"));
    let of_list = if begins == 0 { 0 } else { begins + 2 };
    let indent = if is_label { columns(first) + 1 } else { of_list.min(width / 2) };
    let (mut out, mut used) = (String::new(), 0);
    // Leading blanks are not words, and two blanks in a row separate two columns of a list.
    for word in &words(line) {
        let room = columns(word.trim_end_matches(' '));
        if used > indent && used + room > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push_str(&format!("\n{:indent$}", ""));
            used = indent;
        }
        out.push_str(word);
        used += columns(word);
    }
    out
}

/// Returns the words of a line with the blanks after them. A command between backticks is one word, so that a copy of it is whole.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    let in_pairs = line.matches('`').count().is_multiple_of(2);
    for word in line.split_inclusive(' ') {
        match words.last_mut().filter(|_| is_open) {
            Some(last) => last.push_str(word),
            None => words.push(word.to_owned()),
        }
        is_open ^= in_pairs && word.matches('`').count() % 2 == 1;
    }
    words
}

/// The longest label before a sentence (`error:`, `warning:`, `not explained:`), in columns.
const LABEL: usize = 12;

/// Returns how many columns a line takes, without its colour codes.
fn columns(line: &str) -> usize {
    let pieces = line.split('\x1b').enumerate();
    pieces
        .map(|(at, piece)| if at == 0 { piece } else { piece.split_once('m').map_or("", |(_, rest)| rest) })
        .map(|piece| piece.chars().count())
        .sum()
}

/// Returns the width of the terminal that shows errors, if there is one.
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub fn width_of_errors() -> Option<usize> {
    if !io::stderr().is_terminal() {
        return None;
    }
    Some(width(rustix::termios::tcgetwinsize(io::stderr())))
}

/// Returns the width of a terminal, if it reports a plausible one; else 80.
fn width(size: rustix::io::Result<rustix::termios::Winsize>) -> usize {
    size.ok().map(|size| usize::from(size.ws_col)).filter(|width| *width >= 40).unwrap_or(80)
}

/// Makes latido report a panic like any other error (its message may quote data), and then end the process. Without this, a build for tests
/// would unwind and go on with one thread less.
pub fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| {
        tell(&format!("latido {panic}\n{}", std::backtrace::Backtrace::capture()));
        std::process::abort();
    }));
}

/// Text and cursor movements that go to stderr in one write. Only these reach it.
#[derive(Debug, Default)]
pub struct Drawn(String);

impl Drawn {
    /// Adds one or several lines of text.
    pub fn line(&mut self, text: &str) {
        self.0.push_str(&printable(text, errors_have_colours()));
        self.0.push('\n');
    }

    /// Adds a line of text that erases the rest of the old line (ECMA-48: EL).
    pub fn line_over(&mut self, text: &str) {
        self.0.push_str(&printable(text, errors_have_colours()));
        self.0.push_str("\x1b[K\n");
    }

    /// Moves the cursor up by this many lines, to the start of the line (CPL).
    pub fn up(&mut self, rows: usize) {
        if rows > 0 {
            let _ = write!(self.0, "\x1b[{rows}F");
        }
    }

    /// Erases everything from the cursor on (ED).
    pub fn erase_below(&mut self) {
        self.0.push_str("\x1b[J");
    }

    /// Returns the text collected so far.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Writes everything.
    #[expect(clippy::disallowed_methods, reason = "the one place that writes there, and all of it is clean")]
    pub fn show(self) {
        if !self.0.is_empty() {
            let _ = io::stderr().write_all(self.0.as_bytes());
        }
    }
}

/// Returns whether stderr gets colours.
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub fn errors_have_colours() -> bool {
    is_coloured(io::stderr().is_terminal())
}

/// When text has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal that can show them, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always, into files and pipes too
    Always,
    /// Never
    Never,
}

static COLOUR: OnceLock<Colour> = OnceLock::new();

/// Sets once when text has colours. Before that, the default `auto` applies.
pub fn set_colour(when: Colour) {
    let _ = COLOUR.set(when);
}

/// Returns whether text on this output has colours.
pub fn is_coloured(is_terminal: bool) -> bool {
    match COLOUR.get().copied().unwrap_or_default() {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => is_terminal && wants_colour(),
    }
}

/// Returns whether the terminal can move the cursor.
pub fn can_move() -> bool {
    std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Returns whether a terminal gets colours: `NO_COLOR` is unset or empty (no-color.org), and the terminal can show them.
fn wants_colour() -> bool {
    can_move() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_go_on_below_them() {
        let long = "error: no run is called `quick-2`: `latido list runs` lists those that are there";
        let expected =
            "error: no run is called `quick-2`:\n       `latido list runs` lists those\n       that are there";
        assert_eq!(fitted(long, 40), expected);
        let command = "next: try `latido run wakeup --load stress-cpu -d 10m` now";
        assert_eq!(fitted(command, 40), "next: try\n      `latido run wakeup --load stress-cpu -d 10m`\n      now");
        let coloured = "\x1b[31merror:\x1b[0m a b c d e f g h i j k l m n o p q r s t";
        let broken = "\x1b[31merror:\x1b[0m a b c d e f g h i j k l m n o p q\n       r s t";
        assert_eq!(fitted(coloured, 40), broken);
        let list = "  name   what latido prints of it in more words\n  short  one";
        assert_eq!(fitted(list, 40), "  name   what latido prints of it in\n    more words\n  short  one");
        let quoted = "error: cannot open `foo' because nobody may read it there";
        assert_eq!(fitted(quoted, 40), "error: cannot open `foo' because nobody\n       may read it there");
        assert!(is_sentence(long) && is_sentence(quoted));
        for whole in ["next: $ latido run", "idle   8000  3.97", "  indented", "/a path"] {
            assert!(!is_sentence(whole), "{whole}");
        }
        let one = "/a/path/that/has/no/blank/and/is/longer/than/the/terminal";
        assert_eq!(fitted(one, 40), one);
    }
}
