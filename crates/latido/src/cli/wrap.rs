//! Help that fits the terminal: hard-wrapped texts become paragraphs again, and each wrapped line continues below its own column.

use clap::Command;

/// The shortest hard-wrapped line: a shorter line ends its paragraph.
const WRAPPED: usize = 70;

/// A line longer than this is hard to read.
const WIDEST: usize = 100;

/// Wraps the texts below the options of a command and of all commands below it to this width.
pub fn command(command: Command, width: usize) -> Command {
    let after = |text: Option<&clap::builder::StyledStr>| text.map(|text| fitted(&text.to_string(), width));
    let (short, long) = (after(command.get_after_help()), after(command.get_after_long_help()));
    let command = short.into_iter().fold(command, Command::after_help);
    let command = long.into_iter().fold(command, Command::after_long_help);
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    names.iter().fold(command, |all, name| all.mut_subcommand(name, |one| self::command(one, width)))
}

/// Wraps a text below options. A description on the right of an example continues below its own column.
fn fitted(text: &str, width: usize) -> String {
    let mut all: Vec<Block> = Vec::new();
    for line in joined(text).lines() {
        match all.last_mut() {
            Some(last) if last.is_entry() && last.takes(line) => last.take(line),
            _ => all.push(Block::of(line)),
        }
    }
    let mut out = String::new();
    all.iter().for_each(|block| block.write(&mut out, width.min(WIDEST)));
    out.trim_end().to_owned()
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

/// Whether an indented line belongs to a file: a comment, `key = value` or `{ key = value }`. Broken in two, it would mean something else.
fn is_of_file(line: &str) -> bool {
    let is_key = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '"'));
    let value = line.split_once(" = ");
    line.starts_with('#') || value.is_some_and(|(key, _)| is_key(key) || key.starts_with('{'))
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
        let gap = words.find("  ").filter(|_| indent > 0 && !is_of_file(words));
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
        let (words, indent) = (line.trim(), line.len() - line.trim_start().len());
        let is_prose = !words.contains("  ") && !words.starts_with('#') && (indent == 0 || !is_of_file(words));
        !words.is_empty()
            && is_prose
            && indent == self.hang
            && (self.is_entry() || (self.open && !words.starts_with('$')))
    }

    /// Returns whether the block has a first column: an option, or an example with its description.
    fn is_entry(&self) -> bool {
        !self.head.trim_start().is_empty()
    }

    fn take(&mut self, line: &str) {
        self.words.push(' ');
        self.words.push_str(line.trim());
        self.open = line.chars().count() >= WRAPPED;
    }

    fn write(&self, out: &mut String, width: usize) {
        // A line of a file would change its meaning if broken in two.
        if self.hang > 0 && is_of_file(&self.words) {
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
    use crate::cli::Cli;
    use clap::CommandFactory;

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

    /// A sentence may contain ` = `. Only an indented line of a file must stay whole.
    #[test]
    fn a_sentence_with_an_equals_sign_has_no_hard_break() {
        let text = "\
With `than` the repeats of both sides decide (Mann-Whitney test, 5 % for all comparisons
of the plan together). margin = 0.05 is the largest difference.

  limit = \"100us\"                     # a sample above it fails the cell, and the line stays whole
  NAME     each key is an option without its dashes, for example `sleep = 16`, which becomes `--sleep 16`
";
        let told = page(text, 60);
        let paragraph = "\
With `than` the repeats of both sides decide (Mann-Whitney
test, 5 % for all comparisons of the plan together). margin
= 0.05 is the largest difference.
";
        assert!(told.starts_with(paragraph), "{told}");
        assert!(told.contains("fails the cell, and the line stays whole\n"), "{told}");
        assert!(told.ends_with("\n           example `sleep = 16`, which becomes `--sleep 16`\n"), "{told}");
    }

    /// At 80 columns no line of these texts is wider, and a description goes on below its own column.
    #[test]
    fn examples_of_commands_fit_a_narrow_terminal() {
        let all = Cli::command();
        for name in ["run", "compare"] {
            let command = all.find_subcommand(name).unwrap();
            let texts = [command.get_after_help(), command.get_after_long_help()];
            for text in texts.into_iter().flatten() {
                let told = fitted(&text.to_string(), 80);
                for line in told.lines() {
                    let begins = line.len() - line.trim_start().len();
                    assert!(line.chars().count() <= 80, "{line}");
                    assert!(begins != 2 || line.trim_start().starts_with("latido "), "{line}");
                }
            }
        }
        let plans = include_str!("help/plans.txt");
        assert!(page(plans, 80).lines().all(|line| line.chars().count() <= 80), "{}", page(plans, 80));
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
