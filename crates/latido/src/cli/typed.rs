//! Words that the user typed, as errors quote them: a line feed in a word must not begin a line that looks like a message of latido.

use latido_model::clean;

/// Returns an error in which each quoted word of the command line is on one line.
pub fn quoted(message: &str) -> String {
    among(message, std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

fn among(message: &str, words: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = words.flat_map(|word| parts(&word)).collect();
    // A part may be in another one.
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts.iter().fold(message.to_owned(), |text, part| text.replace(part, &clean::line(part)))
}

/// Returns the word and the pieces of it that errors quote, as far as a line ends in them.
fn parts(word: &str) -> Vec<String> {
    let value = word.split_once('=').map(|(_, value)| value);
    let pieces = word.split(['=', ':', ',']);
    let all = [word].into_iter().chain(value).chain(pieces);
    all.filter(|part| part.trim().contains(['\n', '\r'])).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str, words: &[&str]) -> String {
        among(message, words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn a_typed_line_feed_begins_no_line() {
        let forged = "x\nerror: the disk is full";
        let one_line = "x\\u000aerror: the disk is full";
        assert_eq!(
            said(&format!("there is no run `{forged}`\n  [possible values: a]"), &["show", forged]),
            format!("there is no run `{one_line}`\n  [possible values: a]")
        );
        let value = format!("--format={forged}");
        assert_eq!(said(&format!("invalid value '{forged}'"), &[&value]), format!("invalid value '{one_line}'"));
        assert_eq!(said("`b\nc` is no host", &["--on", "ssh:b\nc"]), "`b\\u000ac` is no host");
        assert_eq!(said("no `b\nc` in `a,b\nc`", &["a,b\nc"]), "no `b\\u000ac` in `a,b\\u000ac`");
    }

    #[test]
    fn lines_of_a_message_stay() {
        let lines = "first\n  second\n\nthird";
        assert_eq!(said(lines, &["show", "first", "\n"]), lines);
    }
}
