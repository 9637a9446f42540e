//! Counts of repeats, which may have been of different length.

use super::verdict::{Comparison, Question, Scale, compare};
use crate::Refusal;

/// What was counted in one repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// How many.
    pub count: u64,
    /// In how much: hours, or samples.
    pub exposure: f64,
}

/// Compares counts as rates per exposure. Where zeros occur, or the question asks for it, as differences: a null of the
/// ratio scale other than 1 then becomes no difference and is refused. `Err` also for an exposure that is not above zero.
pub fn compare_rates(a: &[Count], b: &[Count], question: Question) -> Result<Comparison, Refusal> {
    let rates = |arm: &[Count]| -> Result<Vec<f64>, Refusal> {
        let sound = arm.iter().all(|count| count.exposure > 0.0 && count.exposure.is_finite());
        let rates = arm.iter().map(|count| count.count as f64 / count.exposure).collect();
        if sound { Ok(rates) } else { Err(Refusal::OutOfRange { what: "a rate needs a length above zero" }) }
    };
    let (a, b) = (rates(a)?, rates(b)?);
    let zeros = a.iter().chain(&b).any(|rate| *rate == 0.0);
    if zeros && question.scale == Scale::Ratio {
        // What is asked of a ratio has no answer; whether there is a difference at all has one.
        if question.null != 1.0 {
            return Err(Refusal::NotPositive);
        }
        return compare(&a, &b, Question::DIFFERENCE);
    }
    compare(&a, &b, question)
}
