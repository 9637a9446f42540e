//! From stored records to judgements: configurations, trust checks, verdicts, comparisons, tails and causes. Pure functions of runs.
//!
//! It opens no file and asks no machine; it knows no page, no table, no colour and no format: crate `report` says and draws what it finds.
#![forbid(unsafe_code)]

mod budget;
mod by_hand;
pub mod by_trace;
pub mod cause;
pub mod chains;
mod checks;
pub mod coarse;
pub mod compare;
pub(crate) mod comparison_wording;
pub mod configuration;
pub mod copies;
pub mod crowds;
mod deadline_wording;
mod deadlines;
pub mod decide;
pub mod deciding;
pub mod differing;
pub mod effects;
pub mod expect;
pub mod extremes;
pub mod factors;
pub mod finding;
pub mod foreign;
pub mod headline;
pub mod history;
pub mod judgement;
pub mod judging;
pub mod label;
pub mod late;
mod limit;
pub mod load_course;
pub mod maxima;
pub mod measured;
pub mod names;
pub mod numbers;
pub mod observed;
pub mod outcome;
pub mod parts;
mod period;
pub mod planning {
    //! What a plan can decide, said before it is measured: whether its repeats suffice, what a budget costs, what a pilot says.

    pub mod budget;
    pub mod power;
    pub mod repeats;
}
pub mod reason;
pub mod repeat;
mod reported;
mod run_delay;
// The worked example of CONTRIBUTING.md: the tests compile it.
#[cfg(test)]
mod sample_size;
pub mod span;
mod stamps;
mod start;
pub mod statistics;
pub mod title;
mod took;
mod tracing;
pub mod trust;
mod trusted;
pub mod unseen;
pub mod verdict_wording;
mod watched;
pub mod words;

#[cfg(test)]
mod tests {
    use latido_model::sample::{Fixture, cell, quiet};

    #[test]
    fn the_worked_example_is_a_trust_check() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        let record = fixture.record(1);
        for (count, grade) in [(999, super::finding::Grade::Note), (1000, super::finding::Grade::Ok)] {
            record.series[0].count = count;
            assert_eq!(super::sample_size::sample_size(record, &super::deciding::Deciding::default()).0, grade);
        }
    }
}
