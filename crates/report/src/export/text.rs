//! Names and sentences of others, made fit for a format: whatever a plan, a load or a machine calls itself, the file stays
//! valid.

pub use crate::unique::Names;
use latido_model::clean;

/// How long a name may be, in characters: some readers keep them in columns of 255 bytes.
const LONGEST: usize = 200;

/// One line of at most so many characters: controls are written out, a cut is marked.
fn line_of(text: &str, longest: usize) -> String {
    let clean = clean::line(text);
    match clean.char_indices().nth(longest) {
        Some((at, _)) => format!("{}…", clean.get(..at).unwrap_or_default()),
        None => clean.into_owned(),
    }
}

/// One line that is no longer than a name may be.
pub fn line(text: &str) -> String {
    line_of(text, LONGEST)
}

/// One line of a sentence, which may be longer.
pub fn sentence(text: &str) -> String {
    line_of(text, 10 * LONGEST)
}

/// Text and attributes of XML 1.0 (section 2.2, characters; 2.4, markup): what no document may hold is left out.
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

/// A name of KTAP: a `#` ends it there, and the kernel's reader then loses the test.
pub fn ktap(text: &str) -> String {
    line(text).replace('#', "No.").trim().to_owned()
}

/// A reason behind a directive of KTAP.
pub fn ktap_reason(text: &str) -> String {
    sentence(text).replace('#', "No.").trim().to_owned()
}

/// An id of `A` to `Z`, `a` to `z`, `0` to `9`, `_`, `-` and the characters of `also`: everything else becomes one `-`.
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

/// A name of a metric or a label of Prometheus: letters, digits and `_`, and no digit first.
pub fn metric(text: &str) -> String {
    let plain: String = id(text, "").replace('-', "_");
    if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("_{plain}") } else { plain }
}

/// A label's value of Prometheus and OpenMetrics: `\`, `"` and line ends are escaped.
pub fn label(text: &str) -> String {
    // What `clean` writes out begins with a backslash itself.
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
    fn no_name_is_given_twice() {
        let mut names = Names::default();
        assert_eq!(["a", "a", "a-2", "a"].map(|name| names.unique(name.into())), ["a", "a-2", "a-2-2", "a-3"]);
        // Were each number tried from 2 on, this would not end.
        let last = (0..100_000).map(|_| names.unique("b".into())).last();
        assert_eq!(last.as_deref(), Some("b-100000"));
    }
}
