//! When a load ran relative to the measurement: whether the measurement contains its start, its end or its ramps; and the trust check for
//! that.

use super::checks::Graded;
use crate::{
    deciding::Deciding,
    finding::Grade::{Note, Ok},
    span::spans,
};
use latido_model::{
    record::{LoadRecord, LoadStep, Record},
    units::human,
};
use std::collections::BTreeSet;

/// Below this share of its usual rate a load is ramping up or down.
const USUAL: f64 = 0.75;

/// With fewer steps a load has no usual rate.
const FEWEST: usize = 5;

/// Returns whether the measurement contains a load's start and end; `None` for a load of which this is not known.
pub fn course(load: &LoadRecord, elapsed_ns: u64) -> Option<Course> {
    let life = load.life?;
    let elapsed = i64::try_from(elapsed_ns).unwrap_or(i64::MAX);
    let (began_ns, told) = life.worked_ns.map_or((life.started_ns, false), |at| (at, true));
    let beyond_ns = life.ended_ns.map(|at| at.saturating_sub(elapsed));
    let (up_ns, down_ns) = ramps(&load.steps);
    Some(Course { began_ns, told, beyond_ns, up_ns, down_ns })
}

/// A load's timing relative to the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// When it began to work, ns since the first sample; if the load does not report that, when it was started.
    pub began_ns: i64,
    /// Whether the load itself reported when it began to work.
    pub told: bool,
    /// How long after the last sample it ended, in ns; absent if it was still running.
    pub beyond_ns: Option<i64>,
    /// How long after the first sample its rate was still below the usual rate, in ns.
    pub up_ns: u64,
    /// How long before the last sample its rate fell below the usual rate, in ns.
    pub down_ns: u64,
}

impl Course {
    /// Whether the measurement contains its start, its end or a ramp.
    pub fn is_within(&self) -> bool {
        self.began_ns > 0 || self.beyond_ns.is_some_and(|at| at < 0) || self.up_ns > 0 || self.down_ns > 0
    }

    /// Returns the timing in words.
    pub fn sentence(&self) -> String {
        let verb = if self.told { "running from" } else { "started" };
        let begin = match self.began_ns {
            at if at > 0 => format!("{verb} {} after the first sample", human(at)),
            at => format!("{verb} {} before the first sample", human(at.saturating_neg())),
        };
        let end = match self.beyond_ns {
            None => "still going at the last".into(),
            Some(at) if at < 0 => format!("ended {} before the last", human(at.saturating_neg())),
            Some(at) => format!("ended {} after the last", human(at)),
        };
        let ramp = |ns: u64| human(i64::try_from(ns).unwrap_or(i64::MAX));
        let ramps = match (self.up_ns, self.down_ns) {
            (0, 0) => String::new(),
            (up, 0) => format!(", below its usual rate for the first {}", ramp(up)),
            (0, down) => format!(", below its usual rate for the last {}", ramp(down)),
            (up, down) => format!(", below its usual rate for the first {} and the last {}", ramp(up), ramp(down)),
        };
        let what = match self.is_within() {
            true => "that is part of what was measured",
            false => "its start and its end are not part of what was measured",
        };
        format!("{begin}, {end}{ramps}: {what}")
    }
}

/// Returns how long the steps at the start and at the end stay below the usual rates (the medians), in ns. A step counts only if all counts
/// of the load are low: a single count may vary for other reasons.
fn ramps(steps: &[LoadStep]) -> (u64, u64) {
    if steps.len() < FEWEST {
        return (0, 0);
    }
    let names: BTreeSet<&String> = steps.iter().flat_map(|step| step.counts.keys()).collect();
    let usual = |name: &&String| {
        let mut rates: Vec<f64> = steps.iter().filter_map(|step| step.rate(name)).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().filter(|usual| *usual > 0.0)
    };
    let usual: Vec<(&String, f64)> = names.into_iter().filter_map(|name| Some((name, usual(&name)?))).collect();
    let low = |step: &&LoadStep| {
        let slow = |(name, usual): &(&String, f64)| step.rate(name).is_some_and(|rate| rate < USUAL * usual);
        !usual.is_empty() && usual.iter().all(slow)
    };
    let length = |run: &mut dyn Iterator<Item = &LoadStep>| run.map(|step| step.length_ns).fold(0, u64::saturating_add);
    (length(&mut steps.iter().take_while(low)), length(&mut steps.iter().rev().take_while(low)))
}

/// Notes a load that did not run evenly from the first sample to the last. Another check covers a load that died.
pub(super) fn load_course(record: &Record, _: &Deciding) -> Graded {
    let courses = record.load.iter().filter_map(|load| Some((load, course(load, record.elapsed_ns)?)));
    let (within, without): (Vec<_>, Vec<_>) = courses.partition(|(_, course)| course.is_within());
    let grade = if within.is_empty() { Ok } else { Note };
    let told = if within.is_empty() { without } else { within };
    let each: Vec<String> =
        told.iter().map(|(load, course)| format!("{} {}", load.item.name, course.sentence())).collect();
    (grade, spans![each.join("; ")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::record::LoadLife;

    const S: i64 = 1_000_000_000;

    fn load(life: LoadLife, rates: &[i64]) -> LoadRecord {
        let step = |(second, rate): (i64, &i64)| LoadStep {
            start_ns: second * S,
            length_ns: S.unsigned_abs(),
            counts: [("work".to_owned(), *rate)].into(),
        };
        LoadRecord { life: Some(life), steps: (0..).zip(rates).map(step).collect(), ..LoadRecord::default() }
    }

    fn said(life: LoadLife, rates: &[i64]) -> (String, bool) {
        let course = course(&load(life, rates), 10 * S.unsigned_abs()).unwrap();
        (course.sentence(), course.is_within())
    }

    #[test]
    fn what_surrounds_the_measurement_is_no_part_of_it() {
        let life = LoadLife { started_ns: -3 * S, worked_ns: Some(-2 * S), ended_ns: Some(10 * S + S / 10) };
        let (text, within) = said(life, &[100; 10]);
        assert_eq!(
            text,
            "running from 2.00 s before the first sample, ended 100 ms after the last: its start and its end are not part of what was measured"
        );
        assert!(!within);
        let (text, _) = said(LoadLife { worked_ns: None, ended_ns: None, ..life }, &[]);
        assert!(text.starts_with("started 3.00 s before the first sample, still going at the last"), "{text}");
    }

    #[test]
    fn a_start_an_end_or_a_ramp_within_is_told() {
        let life = LoadLife { started_ns: -S, worked_ns: Some(S / 2), ended_ns: Some(8 * S) };
        let (text, within) = said(life, &[100; 10]);
        assert_eq!(
            text,
            "running from 500 ms after the first sample, ended 2.00 s before the last: that is part of what was measured"
        );
        assert!(within);
        let life = LoadLife { started_ns: -3 * S, worked_ns: Some(-2 * S), ended_ns: Some(11 * S) };
        let (text, within) = said(life, &[10, 60, 100, 100, 95, 100, 100, 100, 100, 70]);
        assert!(text.contains("below its usual rate for the first 2.00 s and the last 1.00 s: that is part"), "{text}");
        assert!(within);
        // A single low count is no ramp.
        let mut mixed = load(life, &[10, 60, 100, 100, 95, 100]);
        mixed.steps.iter_mut().for_each(|step| _ = step.counts.insert("other".into(), 7));
        assert!(!course(&mixed, 10 * S.unsigned_abs()).unwrap().is_within());
        // A dip in the middle is no ramp.
        let (_, within) = said(life, &[100, 100, 100, 10, 100, 100, 100, 100, 100, 100]);
        assert!(!within);
    }

    #[test]
    fn of_an_older_record_nothing_is_said() {
        assert_eq!(course(&LoadRecord::default(), 5), None);
    }
}
