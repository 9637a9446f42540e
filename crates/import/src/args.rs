//! Parses the command line of a tool as getopt_long(3) does: bundled short options, attached or separate values.

/// A command line, split into words, with the short options of its tool that take a value.
pub struct Args<'a> {
    words: Vec<String>,
    valued: &'a str,
}

impl<'a> Args<'a> {
    /// Splits a command line; `valued` lists the letters of the options that take a value.
    pub fn new(line: &str, valued: &'a str) -> Self {
        Self { words: words(line), valued }
    }

    /// Returns the tool's name: the last part of the first word's path.
    pub fn tool(&self) -> Option<&str> {
        self.words.first().and_then(|word| word.rsplit('/').next())
    }

    /// Tells whether an option is present, with or without a value.
    pub fn has(&self, short: char, long: &str) -> bool {
        self.find(short, long).is_some()
    }

    /// Returns the value of an option. Its last occurrence counts.
    pub fn value(&self, short: char, long: &str) -> Option<&str> {
        self.find(short, long).flatten()
    }

    /// Returns the value of an option as a whole number.
    pub fn number(&self, short: char, long: &str) -> Option<i64> {
        crate::text::number(self.value(short, long)?.as_bytes())
    }

    /// Finds the last occurrence of an option. The outer `Option` tells whether it is present, the inner one is its value.
    fn find(&self, short: char, long: &str) -> Option<Option<&str>> {
        let mut found = None;
        let mut words = self.words.iter().skip(1).map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if let Some(option) = word.strip_prefix("--") {
                let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
                // getopt_long(3) accepts the beginning of a name if it is unambiguous. Otherwise the tool would have refused it.
                if name.len() > 1 && long.starts_with(name) {
                    found = Some(value.or_else(|| words.peek().copied().filter(|next| !next.starts_with('-'))));
                }
            } else if let Some(bundle) = word.strip_prefix('-') {
                for (at, letter) in bundle.char_indices() {
                    let takes = self.valued.contains(letter);
                    let attached = bundle.get(at + letter.len_utf8()..).filter(|rest| !rest.is_empty());
                    let value = if takes { attached.or_else(|| words.peek().copied()) } else { None };
                    if letter == short {
                        found = Some(value.map(|value| value.strip_prefix('=').unwrap_or(value)));
                    }
                    if takes {
                        break;
                    }
                }
            }
        }
        found
    }
}

/// Splits a line into words at blanks, with quotes as in a shell.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_as_getopt_finds_them() {
        let args = Args::new("/usr/bin/cyclictest -qmN -p95 -i 1000 -h 100 --policy=rr --json='a b'", "pihlD");
        assert_eq!(args.tool(), Some("cyclictest"));
        assert!(args.has('N', "nsecs") && !args.has('b', "breaktrace"));
        assert_eq!(
            (args.number('p', "prio"), args.number('i', "interval"), args.number('h', "histogram")),
            (Some(95), Some(1000), Some(100))
        );
        assert_eq!((args.value('\0', "policy"), args.value('\0', "json")), (Some("rr"), Some("a b")));
        // The value of a bundled option is no option.
        assert!(!Args::new("x -DN", "D").has('N', ""));
    }
}
