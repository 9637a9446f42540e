//! Makes names and sentences from outside latido fit for a format: whatever names a plan, a load or a machine has, the file stays valid.

pub use crate::unique::Names;
use latido_model::{clean, units::many};

/// The longest name, in characters: some readers keep names in columns of 255 bytes.
const LONGEST: usize = 200;

/// Returns one line of at most `longest` characters: control characters are escaped, a cut is marked.
fn line_of(text: &str, longest: usize) -> String {
    let clean = clean::line(text);
    match clean.char_indices().nth(longest) {
        Some((at, _)) => format!("{}…", clean.get(..at).unwrap_or_default()),
        None => clean.into_owned(),
    }
}

/// Returns one line within the length limit of a name.
pub fn line(text: &str) -> String {
    line_of(text, LONGEST)
}

/// Returns one line of a sentence, which may be longer than a name.
pub fn sentence(text: &str) -> String {
    line_of(text, 10 * LONGEST)
}

/// Escapes text and attributes for XML 1.0 (section 2.2, characters; 2.4, markup) and drops the characters that XML forbids.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in sentence(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}

/// Says how many samples the histogram of a series lacks: `3 samples are beyond the histogram`.
pub fn beyond(samples: u64) -> String {
    format!("{} {} beyond the histogram", many(samples, "sample"), if samples == 1 { "is" } else { "are" })
}

/// Returns a name for KTAP without `#`, which would end the name, so that the kernel's reader loses the test.
pub fn ktap(text: &str) -> String {
    line(text).replace('#', "No.").trim().to_owned()
}

/// Returns a reason for use after a directive of KTAP.
pub fn ktap_reason(text: &str) -> String {
    sentence(text).replace('#', "No.").trim().to_owned()
}

/// Returns an id of `A` to `Z`, `a` to `z`, `0` to `9`, `_`, `-` and the characters of `also`. Each run of other characters becomes one
/// `-`.
pub fn id(text: &str, also: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let fits = c.is_ascii_alphanumeric() || c == '_' || c == '-' || also.contains(c);
        match (fits, out.ends_with('-')) {
            (true, _) => out.push(c),
            (false, false) => out.push('-'),
            (false, true) => {}
        }
    }
    let cut = out.trim_matches('-').get(..LONGEST.min(out.trim_matches('-').len())).unwrap_or_default();
    if cut.is_empty() { "unnamed".into() } else { cut.to_owned() }
}

/// Returns a name of a metric or a label for Prometheus: letters, digits and `_`, without a leading digit.
pub fn metric(text: &str) -> String {
    let plain: String = id(text, "").replace('-', "_");
    if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("_{plain}") } else { plain }
}

/// Returns a label value for Prometheus and OpenMetrics: `\`, `"` and line ends are escaped.
pub fn label(text: &str) -> String {
    // The escapes that `clean` writes start with a backslash, which needs escaping too.
    line(text).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_its_own_dangers() {
        let hostile = "a\"b'<c>&\\ #1\n\u{1b}[2J|@";
        assert_eq!(xml(hostile), "a&quot;b&apos;&lt;c&gt;&amp;\\ #1\\u000a\\u001b[2J|@");
        assert_eq!(ktap(hostile), "a\"b'<c>&\\ No.1\\u000a\\u001b[2J|@");
        assert_eq!(id(hostile, "."), "a-b-c-1-2J");
        assert_eq!(label("a\"b\\c\n"), "a\\\"b\\\\c\\\\u000a");
        assert_eq!(metric("1st value (max)"), "_1st_value_max");
        assert_eq!(xml("a\u{ffff}b"), "ab");
        assert_eq!(id("\u{1b}\n", ""), "unnamed");
        assert!(line(&"x".repeat(100_000)).chars().count() == 201 && id(&"x".repeat(100_000), "").len() == 200);
    }

    #[test]
    fn samples_beyond_the_histogram_are_counted() {
        assert_eq!(beyond(1), "1 sample is beyond the histogram");
        assert_eq!(beyond(2), "2 samples are beyond the histogram");
    }

    #[test]
    fn no_name_is_given_twice() {
        let mut names = Names::default();
        assert_eq!(["a", "a", "a-2", "a"].map(|name| names.unique(name.into())), ["a", "a-2", "a-2-2", "a-3"]);
        // If `unique` tried every number from 2 on for each name, this would take far too long.
        let last = (0..100_000).map(|_| names.unique("b".into())).last();
        assert_eq!(last.as_deref(), Some("b-100000"));
    }
}
