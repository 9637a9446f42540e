//! The layout and the colours of text.

use crate::words::Tone;
use latido_model::clean;
use std::borrow::Cow;

/// The layout of text.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to use colours (the output is a terminal, and NO_COLOR is not set).
    pub color: bool,
}

/// The meaning of a piece of text.
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
    /// Returns the code that switches it on (ECMA-48, SGR).
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

/// The code that switches all of them off.
const OFF: &str = "\x1b[0m";

/// The additional code of the headings of `--help`.
const UNDERLINE: &str = "\x1b[4m";

/// Returns a line of text, cleaned, and coloured if `style` uses colours.
pub fn paint(text: &str, tone: Paint, style: Style) -> String {
    let text = clean::line(text);
    match tone.code().filter(|_| style.color) {
        Some(code) => format!("{code}{text}{OFF}"),
        None => text.into_owned(),
    }
}

/// Returns the part of a text that may be written to a terminal: everything printable, line ends and, with colours, exactly the codes that
/// [`paint`] writes. Everything else is escaped, see [`clean`]. A terminal, a reader of build logs or a reader of a device's console thus
/// obeys no text from outside, even if some code forgot to clean it.
pub fn printable(text: &str, color: bool) -> Cow<'_, str> {
    match clean::signals(text) {
        Cow::Borrowed(text) => printable_signals(text, color),
        Cow::Owned(text) => Cow::Owned(printable_signals(&text, color).into_owned()),
    }
}

/// Returns the same for a text that consists of latido's signals to LAVA.
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

/// Cuts a line of text to a width; a `~` marks the cut.
pub fn fit(text: &str, width: usize) -> String {
    let text = clean::line(text);
    if text.chars().count() <= width {
        return text.into_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['~']).collect()
}

/// Formats a label and a text; if the text is longer than a line, its further lines are indented.
pub fn hang(label: &str, tone: Paint, text: &str, style: Style) -> Vec<String> {
    // The texts are cleaned first, because escapes take room.
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
