//! The command line of a tool, as getopt_long(3) reads it: short options in a bundle, values attached or apart.

/// A command line in words, with the short options of its tool that take a value.
pub struct Args<'a> {
    words: Vec<String>,
    valued: &'a str,
}

impl<'a> Args<'a> {
    /// Takes a command line apart; `valued` has the letters of the options that take a value.
    pub fn new(line: &str, valued: &'a str) -> Self {
        Self { words: words(line), valued }
    }

    /// The tool's name: the last part of the first word's path.
    pub fn tool(&self) -> Option<&str> {
        self.words.first().and_then(|word| word.rsplit('/').next())
    }

    /// Whether an option is there, with or without a value.
    pub fn has(&self, short: char, long: &str) -> bool {
        self.find(short, long).is_some()
    }

    /// The value of an option, the last one that counts.
    pub fn value(&self, short: char, long: &str) -> Option<&str> {
        self.find(short, long).flatten()
    }

    /// A whole number that an option has.
    pub fn number(&self, short: char, long: &str) -> Option<i64> {
        crate::text::number(self.value(short, long)?.as_bytes())
    }

    /// The option's last occurrence: whether it is there, and its value.
    fn find(&self, short: char, long: &str) -> Option<Option<&str>> {
        let mut found = None;
        let mut words = self.words.iter().skip(1).map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if let Some(option) = word.strip_prefix("--") {
                let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
                // getopt_long(3) takes the beginning of a name where it is that of one alone; else the tool had refused it.
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

/// The words of a line: between blanks, quotes as a shell has them.
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
        // What a bundle's option takes is no option.
        assert!(!Args::new("x -DN", "D").has('N', ""));
    }
}
