//! Makes text from other programs safe to print: characters that move the cursor, hide text or change its direction become escapes.
//!
//! A run, a task or another machine can have any name, and a terminal obeys the control characters in it. The escape is `\u001b`, as in
//! JSON: a cleaned JSON document is the same document.

use std::{borrow::Cow, fmt::Write as _};

/// Cleans text of several lines; line ends and tabs stay as they are.
pub fn text(text: &str) -> Cow<'_, str> {
    let is_line_end = |rest: &str| rest.starts_with("\r\n");
    cleaned(text, |c, rest| matches!(c, '\n' | '\t') || is_line_end(rest))
}

/// Cleans text that must stay on its line: a name, a cell of a table, a label.
pub fn line(text: &str) -> Cow<'_, str> {
    cleaned(text, |_, _| false)
}

/// Cleans text so that no line is a command to a CI runner that reads a build log. GitHub's runner obeys `::error` at the start of a line
/// and `##[error]` anywhere in it, Azure obeys `##vso[task.setvariable]`, TeamCity `##teamcity[`. The first character of such a command
/// becomes an escape.
pub fn commands(text: &str) -> Cow<'_, str> {
    if !text.contains("##") && !text.contains("::") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    // Whether the line has only blanks so far.
    let mut begins = true;
    for (at, c) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        if (begins && rest.starts_with("::")) || is_command(rest) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
        begins = matches!(c, '\n' | '\r') || (begins && c.is_whitespace());
    }
    Cow::Owned(out)
}

/// Cleans text so that it contains no signal to LAVA, whose dispatcher reads the console of a device: `<LAVA_SIGNAL_TESTCASE ...>` is a
/// result, `<LAVA_TEST_RUNNER EXIT>` the end of a test. The first character of a signal becomes an escape.
pub fn signals(text: &str) -> Cow<'_, str> {
    if text.contains("<LAVA_") { Cow::Owned(text.replace("<LAVA_", "\\u003cLAVA_")) } else { Cow::Borrowed(text) }
}

/// Whether the text starts with a command such as `##vso[`: two `#`, letters and digits or nothing, and a bracket.
fn is_command(rest: &str) -> bool {
    rest.strip_prefix("##")
        .is_some_and(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).starts_with('['))
}

/// Escapes the hidden characters unless `wanted` keeps them. `wanted` gets the character and the rest of the text from there on.
fn cleaned(text: &str, wanted: impl Fn(char, &str) -> bool) -> Cow<'_, str> {
    let hides = |(at, c): &(usize, char)| is_hidden(*c) && !wanted(*c, text.get(*at..).unwrap_or_default());
    if !text.char_indices().any(|one| hides(&one)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for one in text.char_indices() {
        if hides(&one) {
            // JSON needs two escapes for a character above U+FFFF.
            for unit in one.1.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(one.1);
        }
    }
    Cow::Owned(out)
}

/// Whether a character acts on the display instead of being shown. These are the control characters (ECMA-48, C0 and C1) and the Unicode
/// characters that set the direction, join or separate invisibly, end lines, annotate, or tag. All others that a font need not show
/// (Default_Ignorable_Code_Point of the Unicode character database) count too: two names that differ only in one of these look the same.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        assert_eq!(line("\x1b]0;owned\x07"), "\\u001b]0;owned\\u0007");
        assert_eq!(line("\u{9b}31m \u{202e}abc\u{2066}\u{61c}\u{200f}"), "\\u009b31m \\u202eabc\\u2066\\u061c\\u200f");
        assert_eq!(line("a\nb\tc\r"), "a\\u000ab\\u0009c\\u000d");
        assert_eq!(line("a\u{ad}b\u{3164}\u{fe0f}\u{e0100}"), "a\\u00adb\\u3164\\ufe0f\\udb40\\udd00");
        assert_eq!(text("a\nb\tc\r\nd\re"), "a\nb\tc\r\nd\\u000de");
        assert_eq!(text("\u{2028}\u{e0041}"), "\\u2028\\udb40\\udc41");
        assert!(matches!(text("µs, größer, 日本, 🙂, a\u{a0}b\u{202f}c"), Cow::Borrowed(_)));
    }

    /// A build log contains no commands except those of the build's author.
    #[test]
    fn a_log_obeys_nobody() {
        for (dirty, clean) in [
            ("::error::no", "\\u003a:error::no"),
            ("fine\n \t::set-output name=a::b", "fine\n \t\\u003a:set-output name=a::b"),
            ("x ##vso[task.setvariable variable=a]b", "x \\u0023#vso[task.setvariable variable=a]b"),
            ("##[error]no", "\\u0023#[error]no"),
            ("###teamcity[a]", "#\\u0023#teamcity[a]"),
        ] {
            assert_eq!(commands(dirty), clean);
        }
        for fine in ["## A heading [1]", "std::fmt::Error", "a ::b", "fe80::1", "#[derive]", "wakeup #2"] {
            assert_eq!(commands(fine), fine);
        }
    }

    /// A name that looks like a LAVA result does not become one.
    #[test]
    fn a_console_has_no_signals_of_others() {
        assert_eq!(
            signals("load <LAVA_SIGNAL_TESTCASE TEST_CASE_ID=boot RESULT=pass>"),
            "load \\u003cLAVA_SIGNAL_TESTCASE TEST_CASE_ID=boot RESULT=pass>"
        );
        assert_eq!(signals("LAVA <signals>"), "LAVA <signals>");
    }

    /// Any characters, the hidden ones far more often than by chance.
    fn any_text() -> impl Strategy<Value = String> {
        let hidden: Vec<char> = ('\0'..=char::MAX).filter(|c| is_hidden(*c)).collect();
        let one = prop_oneof![any::<char>(), prop::sample::select(hidden), prop::char::range(' ', '~')];
        prop::collection::vec(one, 0..40).prop_map(|all| all.into_iter().collect())
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left_and_the_rest_stays(dirty in any_text()) {
            let clean = line(&dirty).into_owned();
            prop_assert!(!clean.chars().any(is_hidden));
            prop_assert_eq!(line(&clean), clean.as_str(), "once is enough");
            let shown: String = dirty.chars().filter(|c| !is_hidden(*c)).collect();
            prop_assert_eq!(line(&shown), shown.as_str());
            let kept = text(&dirty).into_owned();
            prop_assert!(!kept.replace("\r\n", "").chars().any(|c| is_hidden(c) && !matches!(c, '\n' | '\t')));
            prop_assert_eq!(text(&kept), kept.as_str());
        }

        /// Keys and values come back unchanged.
        #[test]
        fn a_cleaned_document_is_the_same_document(key in any_text(), value in any_text()) {
            let mut document = serde_json::Map::new();
            document.insert(key, value.into());
            let written = serde_json::to_string_pretty(&document).unwrap();
            let clean = text(&written);
            prop_assert!(!clean.chars().any(|c| is_hidden(c) && c != '\n'), "{}", clean);
            let back: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&clean).unwrap();
            prop_assert_eq!(back, document);
        }
    }
}
