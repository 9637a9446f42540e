//! How text is laid out and coloured.

use crate::words::Tone;
use latido_model::clean;
use std::borrow::Cow;

/// How text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether colours are wanted (a terminal, and no NO_COLOR).
    pub color: bool,
}

/// What a piece of text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Nothing special.
    Plain,
    /// In order.
    Good,
    /// Worth a look.
    Warn,
    /// Bad news.
    Bad,
    /// Less important.
    Dim,
    /// More important.
    Bold,
}

impl From<Tone> for Paint {
    fn from(tone: Tone) -> Self {
        match tone {
            Tone::Good => Self::Good,
            Tone::Bad => Self::Bad,
            Tone::Warn => Self::Warn,
            Tone::Plain => Self::Dim,
        }
    }
}

impl Paint {
    /// What switches it on (ECMA-48, SGR).
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Good => Some("\x1b[32m"),
            Self::Warn => Some("\x1b[33m"),
            Self::Bad => Some("\x1b[31m"),
            Self::Dim => Some("\x1b[2m"),
            Self::Bold => Some("\x1b[1m"),
        }
    }
}

/// What switches all of them off.
const OFF: &str = "\x1b[0m";

/// What the headings of `--help` bear beside these.
const UNDERLINE: &str = "\x1b[4m";

/// A text of one line, cleaned, in its colour where colours are wanted.
pub fn paint(text: &str, tone: Paint, style: Style) -> String {
    let text = clean::line(text);
    match tone.code().filter(|_| style.color) {
        Some(code) => format!("{code}{text}{OFF}"),
        None => text.into_owned(),
    }
}

/// What may be written to a terminal of a text: all that is printable, line ends, and where colours are wanted the very
/// codes that [`paint`] writes. Everything else is written out, see [`clean`]: a terminal obeys no text of others,
/// wherever on its way somebody forgot to clean it, and neither does the keeper of a build's log or of a device's console.
pub fn printable(text: &str, color: bool) -> Cow<'_, str> {
    match clean::signals(text) {
        Cow::Borrowed(text) => printable_signals(text, color),
        Cow::Owned(text) => Cow::Owned(printable_signals(&text, color).into_owned()),
    }
}

/// The same of a text that consists of our own signals to LAVA.
pub fn printable_signals(text: &str, color: bool) -> Cow<'_, str> {
    match clean::commands(text) {
        Cow::Borrowed(text) => without_codes(text, color),
        Cow::Owned(text) => Cow::Owned(without_codes(&text, color).into_owned()),
    }
}

fn without_codes(text: &str, color: bool) -> Cow<'_, str> {
    let clean = clean::text(text);
    if !color || matches!(clean, Cow::Borrowed(_)) {
        return clean;
    }
    let tones = [Paint::Good, Paint::Warn, Paint::Bad, Paint::Dim, Paint::Bold];
    let codes = tones.into_iter().filter_map(Paint::code).chain([OFF, UNDERLINE]);
    let codes: Vec<&str> = codes.collect();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        let (before, behind) = rest.split_at(at);
        out.push_str(&clean::text(before));
        let own = codes.iter().find_map(|code| Some((*code, behind.strip_prefix(code)?)));
        let (shown, behind) = own.unwrap_or_else(|| behind.split_at(1));
        out.push_str(if own.is_some() { shown } else { "\\u001b" });
        rest = behind;
    }
    out.push_str(&clean::text(rest));
    out.into()
}

/// Cuts a text of one line to a width, marked with `~`.
pub fn fit(text: &str, width: usize) -> String {
    let text = clean::line(text);
    if text.chars().count() <= width {
        return text.into_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['~']).collect()
}

/// A label and a text that hangs below itself where it is longer than a line.
pub fn hang(label: &str, tone: Paint, text: &str, style: Style) -> Vec<String> {
    // Cleaned first: what is written out takes room.
    let (label, text) = (&clean::line(label), clean::text(text));
    let indent = label.chars().count() + 1;
    let room = style.width.saturating_sub(indent).max(20);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().map(|line| line.chars().count()).unwrap_or(0);
        match lines.last_mut() {
            Some(line) if last == 0 => line.push_str(word),
            Some(line) if last + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    let label = paint(label, tone, style);
    let first =
        |(k, line): (usize, String)| if k == 0 { format!("{label} {line}") } else { " ".repeat(indent) + &line };
    lines.into_iter().enumerate().map(first).map(|line| line.trim_end().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_shown_our_codes_and_no_others() {
        let style = Style { width: 80, color: true };
        let line = paint("\x1b[31mred\x07", Paint::Bold, style);
        assert_eq!(line, "\x1b[1m\\u001b[31mred\\u0007\x1b[0m");
        assert_eq!(printable(&line, true), line);
        assert_eq!(printable(&line, false), "\\u001b[1m\\u001b[31mred\\u0007\\u001b[0m");
        let others = "\x1b]0;owned\x07 \x1b[2J\x1b[5m \u{9b}31m \u{202e}x\n";
        let shown = "\\u001b]0;owned\\u0007 \\u001b[2J\\u001b[5m \\u009b31m \\u202ex\n";
        assert_eq!((printable(others, true).as_ref(), printable(others, false).as_ref()), (shown, shown));
        let signal = "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=a RESULT=pass>";
        assert_eq!(printable(signal, true), format!("\\u003c{}", &signal[1..]));
        assert_eq!(printable_signals(signal, true), signal);
        assert_eq!(hang("a\x07:", Paint::Plain, "b\x1b c\nd", style), ["a\\u0007: b\\u001b c d"]);
        assert_eq!(fit("\x1b\x1b", 8), "\\u001b\\~");
    }

    proptest::proptest! {
        #[test]
        fn hanging_lines_keep_every_word(text in "[a-z ]{0,200}", width in 30usize..100) {
            let lines = hang("note:", Paint::Plain, &text, Style { width, color: false });
            let words: Vec<String> = lines.join(" ").split_whitespace().skip(1).map(String::from).collect();
            proptest::prop_assert_eq!(words, text.split_whitespace().map(String::from).collect::<Vec<_>>());
        }
    }
}
