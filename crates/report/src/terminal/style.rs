//! How text is laid out and coloured.

use crate::words::Tone;

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

/// Wraps a text in its colour (ECMA-48, SGR), where colours are wanted.
pub fn paint(text: &str, tone: Paint, style: Style) -> String {
    let code = match tone {
        _ if !style.color => return text.into(),
        Paint::Plain => return text.into(),
        Paint::Good => 32,
        Paint::Warn => 33,
        Paint::Bad => 31,
        Paint::Dim => 2,
        Paint::Bold => 1,
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Cuts a text to a width, marked with `~`.
pub fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    text.chars().take(width.saturating_sub(1)).chain(['~']).collect()
}

/// A label and a text that hangs below itself where it is longer than a line.
pub fn hang(label: &str, tone: Paint, text: &str, style: Style) -> Vec<String> {
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

    proptest::proptest! {
        #[test]
        fn hanging_lines_keep_every_word(text in "[a-z ]{0,200}", width in 30usize..100) {
            let lines = hang("note:", Paint::Plain, &text, Style { width, color: false });
            let words: Vec<String> = lines.join(" ").split_whitespace().skip(1).map(String::from).collect();
            proptest::prop_assert_eq!(words, text.split_whitespace().map(String::from).collect::<Vec<_>>());
        }
    }
}
