//! The common parts of the probes that take their samples from a trace.

use anyhow::{Result, ensure};
use latido_model::cell::Cell;
use latido_trace::{
    events::Comm,
    file::Trace,
    pairing::{Definition, Met, Pairing, Sink, pair},
};
use std::collections::BTreeMap;

/// Refuses the conditions that a probe cannot fulfil when it only watches passively.
///
/// # Errors
/// The reason.
pub fn check(probe: &str, cell: &Cell) -> Result<()> {
    ensure!(
        cell.conditions.stop_on.is_none(),
        "the probe `{probe}` takes its samples from a trace after the measurement, so --stop-on cannot stop it; omit --stop-on, or \
         use `wakeup`"
    );
    Ok(())
}

/// Pairs the events of a trace by the usual definition of a wake-up.
pub fn paired(trace: &Trace<'_>, sink: &mut dyn Sink) -> Met {
    paired_by(trace, Definition::Waking, sink)
}

/// Pairs the events of a trace by the given definition of a wake-up.
pub fn paired_by(trace: &Trace<'_>, definition: Definition, mut sink: &mut dyn Sink) -> Met {
    // A trace recorded by latido has one buffer. The compiler compiles this walk once for all probes, which read every event that they
    // record: a dynamic call per event costs less than a copy of the walk per probe.
    let buffer = trace.buffers.first();
    buffer.map_or_else(Met::default, |buffer| pair(trace, buffer, &mut Pairing::of(definition), &mut sink))
}

/// Returns names that distinguish the series of these tasks. Of several tasks with one name, the second, third, ... by their numbers get a
/// suffix. Numbers differ from run to run, names do not.
pub fn told_apart(tasks: impl IntoIterator<Item = (i32, Comm)>) -> BTreeMap<i32, String> {
    let mut all: Vec<(Comm, i32)> = tasks.into_iter().map(|(pid, comm)| (comm, pid)).collect();
    all.sort_unstable();
    all.dedup();
    let mut same = BTreeMap::<Comm, u32>::new();
    let name = |(comm, pid): (Comm, i32)| {
        let count = same.entry(comm).or_default();
        *count += 1;
        (pid, if *count == 1 { comm.text().into_owned() } else { format!("{} ({count})", comm.text()) })
    };
    all.into_iter().map(name).collect()
}

/// Tells whether a name matches the pattern: `*` stands for anything, `?` for one character.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut of, mut again) = (0, 0, None);
    while let Some(letter) = name.get(at) {
        match pattern.get(of) {
            Some('*') => {
                again = Some((at, of));
                of += 1;
            }
            Some(one) if one == letter || *one == '?' => (at, of) = (at + 1, of + 1),
            _ => {
                // The last star matches one more letter.
                let Some((from, star)) = again else { return false };
                again = Some((from + 1, star));
                (at, of) = (from + 1, star + 1);
            }
        }
    }
    pattern.iter().skip(of).all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_whole_names() {
        for (pattern, name) in
            [("loop", "loop"), ("l*p", "loop"), ("*", ""), ("kworker/?:*", "kworker/1:2H"), ("*a*b", "xaxbab")]
        {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("loop", "loops"), ("l?p", "loop"), ("", "x"), ("*a*b", "xaxba")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn the_same_names_are_numbered_by_who_has_them() {
        let told = told_apart([(9, Comm::of("b")), (7, Comm::of("a")), (8, Comm::of("b"))]);
        assert_eq!(told.into_values().collect::<Vec<_>>(), ["a", "b", "b (2)"]);
    }
}
