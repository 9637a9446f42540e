//! Help that fits the terminal: hard-wrapped texts become paragraphs again, and each wrapped line continues below its own column.

use clap::Command;

/// The shortest hard-wrapped line: a shorter line ends its paragraph.
const WRAPPED: usize = 70;

/// A line longer than this is hard to read.
const WIDEST: usize = 100;

/// Turns the texts of a command and of all below it into paragraphs of one line each. clap then wraps them.
pub fn command(command: Command) -> Command {
    let after = |text: Option<&clap::builder::StyledStr>| text.map(|text| joined(&text.to_string()));
    let (short, long) = (after(command.get_after_help()), after(command.get_after_long_help()));
    let command = short.into_iter().fold(command, Command::after_help);
    let command = long.into_iter().fold(command, Command::after_long_help);
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    names.iter().fold(command, |all, name| all.mut_subcommand(name, self::command))
}

/// Joins the lines of each paragraph into one. Lines that start with a blank are examples and stay.
fn joined(text: &str) -> String {
    let mut all: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match all.last_mut() {
            Some(last) if open && !line.is_empty() && !line.starts_with(' ') => {
                last.push(' ');
                last.push_str(line);
            }
            _ => all.push(line.to_owned()),
        }
        open = !line.starts_with(' ') && line.chars().count() >= WRAPPED;
    }
    all.join("\n")
}

/// Wraps a page of help to this width.
pub fn page(text: &str, width: usize) -> String {
    let width = width.min(WIDEST);
    let mut out = String::new();
    for block in blocks(text) {
        block.write(&mut out, width);
    }
    out
}

/// Text that latido wraps together: its first column, where its further lines start, and its words.
struct Block {
    head: String,
    hang: usize,
    words: String,
    /// Whether the next line with the same indent continues the block.
    open: bool,
}

impl Block {
    fn of(line: &str) -> Self {
        let indent = line.len() - line.trim_start().len();
        let words = line.trim();
        // `  key    what it means` continues below its second column.
        let gap = words.find("  ").filter(|_| indent > 0 && !words.contains(" = "));
        let (head, hang, words) = match gap {
            Some(at) => {
                let (key, rest) = words.split_at(at);
                let rest = rest.trim_start();
                let head = format!("{:indent$}{}", "", &words[..words.len() - rest.len()]);
                let hang = indent + key.chars().count() + (words.len() - rest.len() - key.len());
                (head, hang, rest)
            }
            None => (" ".repeat(indent), indent, words),
        };
        let open = line.chars().count() >= WRAPPED;
        Self { head, hang, words: words.to_owned(), open }
    }

    /// Returns whether a line continues this block: below its second column, or in its paragraph.
    fn takes(&self, line: &str) -> bool {
        let indent = line.len() - line.trim_start().len();
        let is_entry = self.head.trim_start() != "";
        let plain = !line.trim().contains("  ") && !line.trim().starts_with('#') && !line.contains(" = ");
        !line.trim().is_empty()
            && plain
            && indent == self.hang
            && (is_entry || (self.open && !line.trim().starts_with('$')))
    }

    fn take(&mut self, line: &str) {
        self.words.push(' ');
        self.words.push_str(line.trim());
        self.open = line.chars().count() >= WRAPPED;
    }

    fn write(&self, out: &mut String, width: usize) {
        // A line of a file would change its meaning if broken in two.
        if self.hang > 0 && (self.words.contains(" = ") || self.words.starts_with('#')) {
            out.push_str(&format!("{}{}\n", self.head, self.words));
            return;
        }
        // Where the second column leaves no room, the words start on the next line.
        let (mut line, hang) = match self.hang + 20 > width && !self.head.trim().is_empty() {
            true => (format!("{}\n{:8}", self.head.trim_end(), ""), 8),
            false => (self.head.clone(), self.hang),
        };
        let mut used = hang;
        for (at, word) in self.words.split(' ').enumerate() {
            let wide = word.chars().count();
            if at > 0 && used + 1 + wide > width {
                line.push_str(&format!("\n{:hang$}", ""));
                used = hang;
            } else if at > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += wide;
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    for line in text.lines() {
        match all.last_mut() {
            Some(last) if last.takes(line) => last.take(line),
            _ => all.push(Block::of(line)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
One thread per measured CPU sleeps to absolute times of a fixed schedule: slot k is due at
the begin and k periods. A sample is a time.

Options:
  period     time between slots; default 1ms
  by         what the thread waits with: nanosleep (default), which is clock_nanosleep(2) until the slot; timerfd, a timer
             descriptor
  latido run wakeup
  latido run gap
";

    #[test]
    fn lines_go_on_below_their_words() {
        let told = page(TEXT, 60);
        assert!(told.lines().all(|line| line.chars().count() <= 60), "{told}");
        let paragraph = "\nfixed schedule: slot k is due at the begin and k periods. A\nsample is a time.\n";
        assert!(told.contains(paragraph), "{told}");
        assert!(told.contains("\n  by         what the thread waits with"), "{told}");
        assert!(told.contains("\n             "), "{told}");
        assert!(told.contains("\n  latido run wakeup\n  latido run gap\n"), "examples stay: {told}");
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let short = "a line\n\n  key  what it is\n  key2 words\n";
        assert_eq!(page(short, 80), short);
        assert_eq!(joined("An example:\n  latido run\n"), "An example:\n  latido run");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_and_no_word_is_lost(text in "[a-z $\\n]{0,300}", width in 20..120usize) {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            proptest::prop_assert_eq!(words(&page(&text, width)), words(&text));
        }
    }
}
