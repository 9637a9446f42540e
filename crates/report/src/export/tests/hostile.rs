//! Hostile names in every field that has a name: each file stays valid in its format.

use super::*;
use csv::ReaderBuilder;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

/// Names that contain a terminator of one format or another.
fn hostile() -> Vec<String> {
    let mut all: Vec<String> = [
        "a\"b' <c>&amp; \\ # %s {x=\"y\"} | `d` [e](f) ]]> --> @g, h; i=j:k",
        "line\nnot ok 1 trust\r\n# EOF\n<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=x RESULT=pass>",
        "\u{1b}[2J\u{9b}31m\u{202e}\u{0}\u{7f}\u{feff}\u{ffff}\u{fffd}\u{2028}",
        "-1\t=cmd()\\",
        "\"",
        "\\",
        "日本 größer 🙂",
        "   ",
    ]
    .map(String::from)
    .into();
    all.push("very long \"<&\n".repeat(2_000));
    all
}

#[test]
fn no_name_breaks_a_file() {
    for name in hostile() {
        for (format, text) in texts(&name) {
            let control = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
            assert_eq!(control, None, "{format}");
            assert!(!text.trim().is_empty(), "{format}");
            check(format, &text);
        }
    }
}

fn check(format: &str, text: &str) {
    let whose = |line: &str| format!("{format}: {line}");
    match format {
        "ktap" => text.lines().for_each(|line| assert!(is_ktap(line), "{}", whose(line))),
        "junit" => xml(text),
        "lava" => text.lines().for_each(|line| assert!(is_signal(line), "{}", whose(line))),
        "lava-results" => text.lines().for_each(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(is_id(words[0]) && matches!(words.len(), 2 | 4), "{}", whose(line));
        }),
        "kcidb" | "rt-tests" | "perfetto" | "bencher" | "github-action-benchmark" => {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            assert!(!text.contains("null"), "{value}");
        }
        "prometheus" | "openmetrics" => exposition(text),
        "cyclictest" => text.lines().for_each(|line| {
            let number = |word: &str| word.len() >= 6 && word.bytes().all(|b| b.is_ascii_digit());
            assert!(line.starts_with("# ") || line.split([' ', '\t']).all(number), "{}", whose(line));
        }),
        "hgrm" => text.lines().skip(2).for_each(|line| {
            let numbers = line.split_whitespace().all(|word| word.parse::<f64>().is_ok());
            assert!(line.starts_with("#[") || numbers, "{}", whose(line));
        }),
        "hlog" => {
            let entries = IntervalLogIterator::new(text.as_bytes()).map(|entry| entry.unwrap());
            let is_interval = |entry: &LogEntry| matches!(entry, LogEntry::Interval(_));
            assert_eq!(entries.filter(is_interval).count(), 5);
        }
        "otava" => {
            let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
            let columns = reader.headers().unwrap().len();
            assert!(columns > 10);
            let rows: Vec<_> = reader.records().map(|row| row.unwrap()).collect();
            assert_eq!(rows.len(), 1, "a row for each run: {text}");
            for row in rows {
                assert!(!row[1].starts_with(['=', '+', '-', '@']), "{row:?}");
                assert!(row.iter().skip(2).all(|field| field.parse::<f64>().is_ok()), "{row:?}");
            }
        }
        "phoronix" => text.lines().for_each(|line| {
            let (_, value) = line.split_once(": ").unwrap();
            assert_eq!(line.matches(':').count(), 1, "{}", whose(line));
            assert!(value.split(' ').next().unwrap().parse::<f64>().is_ok(), "{}", whose(line));
        }),
        "markdown-summary" => {
            assert!(text.lines().filter(|line| line.starts_with('|')).all(|row| columns(row) == 8), "{text}");
            // An empty comment splits text that a site would turn into a link.
            let calls = |rest: &str| rest.starts_with(|next: char| next.is_alphanumeric());
            assert!(!text.split('@').skip(1).any(calls), "{text}");
            assert!(!unescaped(&text.replace("<!-- -->", ""), '<'), "{text}");
        }
        other => panic!("what is valid in {other}?"),
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// Checks a line by LAVA's rules: parameters between blanks, each with one `=`.
fn is_signal(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("<LAVA_SIGNAL_TESTCASE ").and_then(|rest| rest.strip_suffix('>')) else {
        return false;
    };
    rest.split(' ').all(|pair| pair.split('=').count() == 2 && pair.split('=').all(is_id))
}

fn is_ktap(line: &str) -> bool {
    let line = line.trim_start();
    let result = |rest: &str| {
        let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        // The only `#` starts a directive.
        let directive = rest
            .split_once('#')
            .is_none_or(|(_, of)| (of.starts_with(" SKIP ") || of.starts_with(" ERROR ")) && !of.contains('#'));
        number.parse::<u32>().is_ok() && directive
    };
    let plan = line.strip_prefix("1..").is_some_and(|n| n.parse::<u32>().is_ok());
    let tested = line.strip_prefix("ok ").or(line.strip_prefix("not ok ")).is_some_and(result);
    plan || tested || line == "KTAP version 1" || line.strip_prefix("# ").is_some_and(|rest| !rest.contains('#'))
}

/// Checks that the XML is well-formed: tags nest, attributes are quoted, and no other text contains markup.
fn xml(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    let entities = |text: &str| {
        for part in text.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "apos;"].iter().any(|entity| part.starts_with(entity));
            assert!(known, "&{part}");
        }
        assert!(!text.contains(['<', '\u{fffe}', '\u{ffff}']), "{text}");
    };
    while let Some((before, tag)) = rest.split_once('<') {
        entities(before);
        let (tag, after) = tag.split_once('>').unwrap();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let quotes: Vec<&str> = tag.split('"').collect();
            assert!(quotes.len() % 2 == 1, "{tag}");
            quotes.iter().skip(1).step_by(2).for_each(|value| entities(value));
            if !empty {
                open.push(tag.split(' ').next().unwrap());
            }
        }
        rest = after;
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
}

/// Checks for comments of known kinds, and for samples with unique names whose label values are closed.
fn exposition(text: &str) {
    let mut seen = std::collections::BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            assert!(["HELP ", "TYPE ", "UNIT ", "EOF"].iter().any(|word| rest.starts_with(word)), "{line}");
            continue;
        }
        let (of, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(seen.insert(of.to_owned()), "twice: {line}");
        let (name, labels) = of.split_once('{').unwrap();
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
        let mut rest = labels.strip_suffix('}').unwrap();
        while !rest.is_empty() {
            let (key, after) = rest.split_once("=\"").unwrap();
            assert!(key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
            let mut end = None;
            let mut escaped = false;
            for (at, c) in after.char_indices() {
                match (escaped, c) {
                    (true, c) => {
                        assert!(matches!(c, '\\' | '"' | 'n'), "{line}");
                        escaped = false;
                    }
                    (false, '\\') => escaped = true,
                    (false, '"') => {
                        end = Some(at);
                        break;
                    }
                    _ => {}
                }
            }
            rest = after[end.unwrap() + 1..].trim_start_matches(',');
        }
    }
}

/// Counts the occurrences of a character without a backslash before it.
fn times(text: &str, wanted: char) -> usize {
    let mut escaped = false;
    let bare = |c: char| {
        let bare = c == wanted && !escaped;
        escaped = c == '\\' && !escaped;
        bare
    };
    text.chars().filter(|c| *c != '\0').map(bare).filter(|bare| *bare).count()
}

fn unescaped(text: &str, wanted: char) -> bool {
    times(text, wanted) > 0
}

fn columns(row: &str) -> usize {
    times(row, '|') - 1
}
