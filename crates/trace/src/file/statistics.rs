//! The kernel's own counts per CPU, as a file contains them (`per_cpu/cpuN/stats`, Documentation/trace/ftrace.rst).

use crate::{
    accounts::{Accounts, Source},
    page::Missed,
};

/// The state of reading such counts of one buffer's rings, line by line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// The buffer and the CPU of the following lines; the main buffer has no name.
    buffer: String,
    cpu: Option<u32>,
    any: bool,
    lost: bool,
}

impl Statistics {
    /// Adds `name: value` if the line belongs to this buffer.
    pub(crate) fn take(&mut self, name: &str, value: &str, ring: &str, accounts: &mut Accounts) {
        match name {
            "Buffer" => value.clone_into(&mut self.buffer),
            "CPU" => self.cpu = value.parse().ok(),
            // In this order: overwritten before they were read; discarded because the writer was interrupted in them; not written at all.
            "overrun" | "commit overrun" | "dropped events" if self.buffer == ring => {
                let Ok(count) = value.parse::<u64>() else { return };
                self.any = true;
                if count > 0 {
                    let source = if name == "dropped events" { Source::Dropped } else { Source::Statistics };
                    accounts.lost(source, self.cpu, Missed::Events(count));
                    self.lost = true;
                }
            }
            _ => {}
        }
    }

    /// Records whether the counts report that nothing is lost. The caller calls it after the last line.
    pub(crate) fn finish(&self, accounts: &mut Accounts) {
        if self.any && !self.lost {
            accounts.none(Source::Statistics);
        }
    }
}

/// Returns what the counts in a file report about one of its buffers; the main buffer has no name.
pub(super) fn accounts(texts: &[String], ring: &str) -> Accounts {
    let (mut accounts, mut statistics) = (Accounts::default(), Statistics::default());
    for line in texts.iter().flat_map(|text| text.lines()) {
        if let Some((name, value)) = line.split_once(':') {
            statistics.take(name.trim(), value.trim(), ring, &mut accounts);
        }
    }
    statistics.finish(&mut accounts);
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
