//! Pure functions from stored records to judgements: configurations, trust, verdicts, and their sentences.

mod budget;
mod by_hand;
pub mod cause;
mod checks;
pub mod coarse;
pub(crate) mod comparison_wording;
pub mod configuration;
pub mod copies;
pub mod crowds;
mod deadline_wording;
mod deadlines;
pub mod decide;
pub mod deciding;
pub mod differing;
pub mod expect;
pub mod finding;
pub mod foreign;
pub mod headline;
pub mod judgement;
pub mod judging;
pub mod label;
mod limit;
pub mod load_course;
pub mod measured;
pub mod names;
pub mod outcome;
pub mod parts;
mod period;
pub mod reason;
pub mod repeat;
mod reported;
mod run_delay;
// The worked example of CONTRIBUTING.md: the tests compile it.
#[cfg(test)]
mod sample_size;
mod stamps;
mod start;
pub mod title;
mod took;
mod tracing;
pub mod trust;
mod trusted;
pub mod unseen;
pub mod verdict_wording;
mod watched;

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
