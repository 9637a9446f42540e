//! A cell that was cut and continued later: latido judges each part by its own evidence, and says that the result comes from parts.

use super::{finding::Finding, trust::CHECKS};
use crate::span::{Span, joined, spans};
use latido_model::{
    run::{StoredCell, parts::ending},
    units::human,
};
use std::cmp::Reverse;

/// Describes the parts of a cell: `part 1 of 2: 255600 s, cut, known from its last checkpoint`. Empty for a cell that was measured without
/// a break.
pub fn told(cell: &StoredCell) -> Vec<String> {
    let of = cell.parts.len();
    let one = |(number, part): (usize, &latido_model::run::parts::Part)| {
        let elapsed = part.cell.record().map_or(0, |record| record.elapsed_ns);
        let measured = human(i64::try_from(elapsed).unwrap_or(i64::MAX));
        format!("part {number} of {of}: {measured}, {}", ending(part))
    };
    (1..).zip(&cell.parts).map(one).collect()
}

/// Returns where one part ends and the next starts on the time axis of the cell, in ns.
pub fn seams(cell: &StoredCell) -> Vec<u64> {
    let mut end_ns = 0u64;
    let mut ends: Vec<u64> = Vec::new();
    for part in &cell.parts {
        end_ns = end_ns.saturating_add(part.cell.record().map_or(0, |record| record.elapsed_ns));
        ends.push(end_ns);
    }
    ends.pop();
    ends
}

/// Combines the findings of all parts, check by check: the highest severity counts, and parts that agree share one text.
pub(super) fn findings(parts: &[Vec<Finding>]) -> Vec<Finding> {
    let of_check = |name: &'static str| {
        let own: Vec<(usize, &Finding)> = (1..)
            .zip(parts)
            .filter_map(|(number, findings)| Some((number, findings.iter().find(|one| one.check == name)?)))
            .collect();
        let grade = own.iter().map(|(_, finding)| finding.grade).max()?;
        let (_, first) = own.first()?;
        let alike = own.len() == parts.len() && own.iter().all(|(_, finding)| finding.state == first.state);
        let each = own.iter().map(|(number, finding)| said_of(*number, parts.len(), finding));
        let state = if alike { first.state.clone() } else { joined(each, "; ") };
        Some(Finding { check: name.into(), grade, state })
    };
    let mut all: Vec<Finding> = CHECKS.iter().filter_map(|check| of_check(check.name)).collect();
    all.sort_by_key(|finding| Reverse(finding.grade));
    all
}

/// Returns `part 1 of 2: not measured`.
fn said_of(number: usize, of: usize, finding: &Finding) -> Vec<Span> {
    [spans![format!("part {number} of {of}: ")], finding.state.clone()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{finding::Grade, judging::of_cell};
    use latido_model::{
        record::{Outcome, Record, Second, Series},
        run::{CellState, parts::Part},
        sample::{cell, data, measurand, measured, quiet, with_spike},
        verdict::Verdict,
    };

    /// A cell in parts with these samples; all parts except the last were cut.
    fn in_parts(all: &[Vec<i64>], change: impl Fn(usize, &mut Record)) -> StoredCell {
        let stored = |dir: String, record: Record, parts| StoredCell {
            number: 1,
            dir: dir.into(),
            cell: cell(),
            measurand: measurand(&cell()),
            written: 0,
            state: CellState::Measured(Box::new(record)),
            host: None,
            parts,
        };
        let part = |(number, values): (usize, &Vec<i64>)| {
            let mut record = measured(cell(), std::slice::from_ref(values));
            if number < all.len() {
                record.outcome = Outcome::Checkpoint;
                record.quality.threads.clear();
            }
            change(number, &mut record);
            Part { cell: stored(format!("{number}"), record, Vec::new()), cut: None }
        };
        let parts: Vec<Part> = (1..).zip(all).map(part).collect();
        let source = |cell: &StoredCell, _: &Series| {
            let number: usize = cell.dir.to_str().and_then(|dir| dir.parse().ok()).unwrap();
            Ok(data(&all[number - 1]))
        };
        let pooled = latido_model::run::parts::pooled(&cell(), &parts, &source).unwrap();
        stored("whole".into(), pooled, parts)
    }

    fn judged(stored: &StoredCell, all: &[Vec<i64>]) -> (Verdict, Vec<String>, Vec<Finding>) {
        let source = |cell: &StoredCell, series: &Series| match cell.dir.to_str().unwrap().parse::<usize>() {
            Ok(number) => Ok(data(&all[number - 1])),
            Err(_) => latido_model::run::parts::data(series, &cell.parts, &|part: &StoredCell, _: &Series| {
                Ok(data(&all[part.dir.to_str().unwrap().parse::<usize>().unwrap() - 1]))
            }),
        };
        let judgement = of_cell(stored, &source);
        (judgement.verdict, judgement.reasons.iter().map(|one| one.sentence()).collect(), judgement.findings)
    }

    #[test]
    fn a_cell_in_parts_passes_as_a_whole_and_names_them() {
        let all = [quiet(0), quiet(1)];
        let (verdict, reasons, findings) = judged(&in_parts(&all, |_, _| {}), &all);
        assert_eq!(verdict, Verdict::Pass, "{reasons:?}");
        insta::assert_snapshot!(reasons.join("\n"), @"
        worst 24.8 µs of 20000 samples (latency, CPU 0), 75.2 µs inside the limit of 100 µs
        part 1 of 2: 10.0 s, cut, known from its last checkpoint; part 2 of 2: 10.0 s, complete: the figures are pooled from the parts
        ");
        let text =
            |check: &str| findings.iter().find(|one| one.check == check).map(|one| (one.grade, one.text())).unwrap();
        let (grade, faults) = text("page faults");
        assert_eq!(grade, Grade::Unknown);
        assert_eq!(faults, "part 1 of 2: not measured; part 2 of 2: 0 minor, 0 major while measuring");
        assert_eq!(text("memory"), (Grade::Ok, "locked".into()), "where they agree it is said once");
        assert_eq!(seams(&in_parts(&all, |_, _| {})), [10_000_000_000]);
    }

    /// A disturbance in one part does not excuse an outright failure in the other.
    #[test]
    fn a_failure_of_one_part_fails_the_cell() {
        let all = [with_spike(0, 3_000, 228_000), with_spike(1, 3_000, 150_000)];
        let second =
            Second { start_ns: 3_000_000_000, length_ns: 1_000_000_000, foreign_ns: 90_000, ..Second::default() };
        let disturbed = |number: usize, record: &mut Record| {
            if number == 2 {
                record.quality.timeline.push(second);
            }
        };
        let (verdict, reasons, _) = judged(&in_parts(&all, disturbed), &all);
        assert_eq!(verdict, Verdict::Fail, "{reasons:?}");
        assert!(reasons.iter().any(|one| one.starts_with("2 of 20000 samples above")), "{reasons:?}");
        let last = [quiet(0), with_spike(1, 3_000, 150_000)];
        assert_eq!(judged(&in_parts(&last, disturbed), &last).0, Verdict::Contaminated);
    }

    #[test]
    fn one_invalid_part_is_enough() {
        let all = [quiet(0), quiet(1)];
        let refused = |number: usize, record: &mut Record| {
            if number == 1 {
                record.quality.policy_refused = Some("fifo 80 was refused: EPERM".into());
            }
        };
        let (verdict, reasons, _) = judged(&in_parts(&all, refused), &all);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(reasons[0].contains("part 1 of 2: fifo 80 was refused"), "{reasons:?}");
        let broken = |number: usize, record: &mut Record| {
            if number == 1 {
                record.series[0].mean = Some(-1.0);
            }
        };
        let (verdict, reasons, _) = judged(&in_parts(&all, broken), &all);
        assert_eq!(verdict, Verdict::Infra, "{reasons:?}");
        assert!(reasons[0].starts_with("part 1 of 2: the record contradicts itself"), "{reasons:?}");
    }
}
