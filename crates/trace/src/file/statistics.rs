//! The kernel's own counts of each CPU, as a file carries them (`per_cpu/cpuN/stats`, Documentation/trace/ftrace.rst).

use crate::{
    accounts::{Accounts, Source},
    page::Missed,
};

/// What the counts that a file carries say of one of its rings; the main ring has no name.
pub(super) fn accounts(texts: &[String], ring: &str) -> Accounts {
    let mut accounts = Accounts::default();
    let (mut buffer, mut cpu) = (String::new(), None);
    let (mut any, mut lost) = (false, false);
    for line in texts.iter().flat_map(|text| text.lines()) {
        let Some((name, value)) = line.split_once(':') else { continue };
        let (name, value) = (name.trim(), value.trim());
        match name {
            "Buffer" => buffer = value.to_owned(),
            "CPU" => cpu = value.parse::<u32>().ok(),
            // Overwritten before they were read; given up as a writer was interrupted in them; not even written.
            "overrun" | "commit overrun" | "dropped events" if buffer == ring => {
                let Ok(count) = value.parse::<u64>() else { continue };
                any = true;
                if count > 0 {
                    let source = if name == "dropped events" { Source::Dropped } else { Source::Statistics };
                    accounts.lost(source, cpu, Missed::Events(count));
                    lost = true;
                }
            }
            _ => {}
        }
    }
    if any && !lost {
        accounts.none(Source::Statistics);
    }
    accounts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ring_has_its_own_counts() {
        let texts = [
            "CPU: 0\nentries: 0\noverrun: 7\ncommit overrun: 0\ndropped events: 2\nread events: 9\n",
            "CPU: 1\noverrun: 0\n",
            "\nBuffer: other\n\n",
            "CPU: 0\noverrun: 0\ndropped events: 0\n",
        ]
        .map(str::to_owned);
        let main = accounts(&texts, "");
        assert_eq!((main.events(), main.unplaced(), main.none_by()), (9, vec![0], None));
        assert_eq!(accounts(&texts, "other").none_by(), Some(Source::Statistics));
        assert_eq!(accounts(&texts, "third"), Accounts::default());
    }
}
