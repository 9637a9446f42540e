//! The trust check of samples that a program reported itself: invalid lines, samples that did not arrive, a full pipe.

use super::checks::{self, Graded};
use crate::{
    deciding::Deciding,
    finding::Grade::{Invalid, Note, Ok, Unknown},
    span::{many, plain, spans},
};
use latido_model::record::{Record, Reported};

/// Up to one bad line per this many lines is a remark; more give a doubt.
const BAD: u64 = 10_000;

/// Whether a program reported the samples.
pub(super) fn was(record: &Record) -> bool {
    record.quality.reported.is_some()
}

/// Whether latido's own process measured: only then are its memory and its timers known.
pub(super) fn was_not(record: &Record) -> bool {
    !was(record)
}

/// Whether nothing is known about the measuring threads, because the program named none.
pub(super) fn is_unseen(record: &Record) -> bool {
    was(record) && record.quality.threads.is_empty()
}

/// Checks how reliably the program reported.
pub(super) fn reported(record: &Record, _: &Deciding) -> Graded {
    let Some(told) = &record.quality.reported else { return (Unknown, spans!["not measured"]) };
    let doubts = doubts(told);
    let grade = match (doubts.is_empty(), remarks(told).is_empty()) {
        (false, _) => Invalid,
        (true, false) => Note,
        (true, true) => Ok,
    };
    let what: Vec<String> = doubts.into_iter().chain(remarks(told)).collect();
    let by = format!("by {}, ", told.by);
    match what.is_empty() {
        true => (grade, [spans![by], many(told.lines, "line"), spans![", none bad"]].concat()),
        false => (grade, spans![by, what.join("; ")]),
    }
}

/// Returns what makes it doubtful that these are the samples that the program took.
fn doubts(told: &Reported) -> Vec<String> {
    let bad = told.bad_lines();
    let lost = told.lost.unwrap_or(0);
    [
        (bad.saturating_mul(BAD) > told.lines).then(|| lines(told)),
        (told.dropped > 0).then(|| format!("it dropped {}", samples(told.dropped))),
        (lost > 0).then(|| format!("{} that it produced did not arrive", samples(lost))),
        (told.surplus > 0).then(|| format!("{} more arrived than it produced", samples(told.surplus))),
        told.pipe.blocked.then(|| "its pipe was full while it measured, so it may have blocked".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns what is worth knowing.
fn remarks(told: &Reported) -> Vec<String> {
    let bad = told.bad_lines();
    [
        (bad > 0 && bad.saturating_mul(BAD) <= told.lines).then(|| lines(told)),
        match told.backwards {
            0 => None,
            1 => Some("1 time that is earlier than the previous one".to_owned()),
            times => Some(format!("{times} times that are earlier than the previous one")),
        },
        (told.format == "latido" && !told.ended).then(|| "it did not report its end".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns `2 bad of 124 lines (number 1, not ASCII 1), the first: 0 12x4 99`.
fn lines(told: &Reported) -> String {
    let kinds: Vec<String> = told.bad.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let first = told.examples.first().map(|line| format!(", the first: {line}")).unwrap_or_default();
    let kinds = kinds.join(", ");
    match (told.bad_lines(), told.lines) {
        (1, 1) => format!("the only line is bad ({kinds}){first}"),
        (bad, lines) => format!("{bad} bad of {lines} lines ({kinds}){first}"),
    }
}

fn samples(count: u64) -> String {
    plain(&many(count, "sample"))
}

/// Checks the policy. For latido's own threads it works as usual. For a program's threads it reports their policies, and is invalid if the
/// user requested the cell's policy and a thread runs with another one.
pub(super) fn policy(record: &Record, deciding: &Deciding) -> Graded {
    let quality = &record.quality;
    let Some(told) = quality.reported.as_ref().filter(|_| quality.policy_refused.is_none()) else {
        return checks::policy(record, deciding);
    };
    let mut policies: Vec<&str> = record.quality.threads.iter().map(|thread| thread.policy.as_str()).collect();
    policies.sort_unstable();
    policies.dedup();
    let (asked, found) = (record.cell.scheduling.to_string(), policies.join(", "));
    match told.policy_asked {
        true if policies.iter().any(|own| *own != asked) => {
            (Invalid, spans![format!("{asked} was requested, but the measuring threads have {found}")])
        }
        true => (Ok, spans![format!("{asked} granted")]),
        false => (Ok, spans![format!("{found}: the program's own choice")]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{record::Pipe, sample};

    fn found(told: Reported) -> (crate::finding::Grade, String) {
        let mut record = sample::record();
        record.quality.reported = Some(Reported { by: "node.py".into(), ended: true, format: "latido".into(), ..told });
        let (grade, state) = reported(&record, &Deciding::default());
        (grade, plain(&state))
    }

    fn bad(count: u64, lines: u64) -> Reported {
        let examples = vec!["0 12x4 99".into()];
        Reported { lines, bad: [("number".into(), count)].into(), examples, ..Reported::default() }
    }

    /// One bad line in ten thousand gives a note, more give a doubt; so do lost samples and a full pipe.
    #[test]
    fn what_is_doubted_and_what_is_noted() {
        assert_eq!(found(Reported { lines: 7, ..Reported::default() }), (Ok, "by node.py, 7 lines, none bad".into()));
        assert_eq!(found(bad(1, 10_000)).0, Note);
        assert_eq!(
            found(bad(2, 19_999)),
            (Invalid, "by node.py, 2 bad of 19999 lines (number 2), the first: 0 12x4 99".into())
        );
        assert_eq!(found(Reported { lines: 1, ..Reported::default() }), (Ok, "by node.py, 1 line, none bad".into()));
        assert_eq!(found(bad(1, 1)).1, "by node.py, the only line is bad (number 1), the first: 0 12x4 99");
        assert_eq!(found(Reported { dropped: 1, ..bad(0, 9) }), (Invalid, "by node.py, it dropped 1 sample".into()));
        assert_eq!(found(Reported { lost: Some(3), ..bad(0, 9) }).0, Invalid);
        assert_eq!(found(Reported { surplus: 3, lost: Some(0), ..bad(0, 9) }).0, Invalid);
        assert_eq!(found(Reported { lost: Some(0), ..bad(0, 9) }).0, Ok);
        let earlier = |backwards| found(Reported { backwards, ..bad(0, 9) });
        assert_eq!(earlier(1), (Note, "by node.py, 1 time that is earlier than the previous one".into()));
        assert_eq!(earlier(2), (Note, "by node.py, 2 times that are earlier than the previous one".into()));
        let pipe = Pipe { blocked: true, ..Pipe::default() };
        assert_eq!(found(Reported { pipe, ..bad(0, 9) }).0, Invalid);
    }
}
