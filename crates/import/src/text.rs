//! Lines of text as tools leave them. The code that cleans the texts of traces also removes what mail, terminals and other systems added to
//! a line.

use anyhow::Context;
use latido_trace::text::clean::{bare, unmarked};
pub use latido_trace::text::clean::{decoded, plain};

/// The longest line that latido reads, in bytes; latido skips longer ones.
pub const LONGEST: usize = 1 << 20;

/// Returns the lines of a text with their numbers, from 1, without byte order mark, quotation marks of mail, carriage returns, and blanks
/// at both ends.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    unmarked(bytes).split(|byte| *byte == b'\n').enumerate().map(|(at, line)| (at + 1, bare(line).trim_ascii_start()))
}

/// Refuses a line that is longer than any tool writes.
///
/// # Errors
/// The line is too long; the error names its number.
pub fn within(at: usize, line: &[u8]) -> anyhow::Result<()> {
    anyhow::ensure!(line.len() <= LONGEST, "line {at}: longer than 1 MiB");
    Ok(())
}

/// Returns the number of the last line if no line end follows it: the line may be cut, so that none of its numbers counts. `None` where
/// only blanks follow the last line end.
pub fn torn(bytes: &[u8]) -> Option<usize> {
    let start = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let rest = bytes.get(start..).unwrap_or_default();
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    (!plain(rest).trim_ascii().is_empty()).then_some(ends + 1)
}

/// The text of an error about a line that [`torn`] names.
pub const TORN: &str = "has no end: the file may be cut there (add a line feed if the line is complete)";

/// Returns a line as a note or an error shows it: at most 200 characters.
pub fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.get(..line.len().min(800)).unwrap_or_default());
    let mut short: String = text.trim().chars().take(200).collect();
    if short.len() < text.trim().len() {
        short.push_str("...");
    }
    short
}

/// Writes a count with its noun, in the singular for 1: `1 sample`, `3 samples`.
pub fn many(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Whether a text contains these bytes.
pub fn contains(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|part| part == what)
}

/// Parses the numbers of a text, separated by blanks and tabs.
///
/// # Errors
/// A word is no number; the error names the first such word.
pub fn numbers(text: &[u8]) -> anyhow::Result<Vec<i64>> {
    let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.map(|word| number(word).with_context(|| format!("`{}` is not a whole number", shown(word)))).collect()
}

/// Parses a decimal number. Blanks around it and leading zeros are allowed and change nothing; `None` for any other text and above 2^63.
pub fn number(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let (sign, digits) = text.strip_prefix(b"-").map_or((1, text), |digits| (-1, digits));
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0i64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(sign * digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_quotations_and_sequences_are_dropped() {
        let all: Vec<_> = lines(b"\xef\xbb\xbfa \r\n\x1b[2K b\x1bc\n").map(|(at, line)| (at, plain(line))).collect();
        let all: Vec<_> = all.iter().map(|(at, line)| (*at, line.as_ref())).collect();
        assert_eq!(all, [(1, &b"a"[..]), (2, b" b"), (3, b"")]);
        let quoted: Vec<_> = lines(b"> T: 0 ( 1) P:80\r\n>> x\n").map(|(_, line)| line).collect();
        assert_eq!(quoted, [&b"T: 0 ( 1) P:80"[..], b"x", b""]);
        let quoted: Vec<_> = lines(b"> > 000001 000003\n>\n  \t# Max: 3\r\n").map(|(_, line)| line).collect();
        assert_eq!(quoted, [&b"000001 000003"[..], b"", b"# Max: 3", b""]);
    }

    #[test]
    fn one_has_its_noun_in_the_singular() {
        assert_eq!([many(1, "sample"), many(0, "sample"), many(14, "sample")], ["1 sample", "0 samples", "14 samples"]);
    }

    #[test]
    fn numbers_are_decimal() {
        assert_eq!(number(b" 000017 "), Some(17));
        assert_eq!(number(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(
            (number(b"9223372036854775808"), number(b"1,5"), number(b""), number(b"-")),
            (None, None, None, None)
        );
    }
}
