//! Counts of repeats, which may have different lengths.

use super::verdict::{Comparison, Question, Scale, compare};
use crate::Refusal;

/// The count of one repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// The number of events.
    pub count: u64,
    /// The exposure: hours, or samples.
    pub exposure: f64,
}

/// Compares counts as rates per exposure. The function compares differences if the question requests it, or if a rate is zero. In the
/// latter case it refuses a ratio question with a null other than 1, because no difference corresponds to it. Returns `Err` also for an
/// exposure that is not above zero.
pub fn compare_rates(a: &[Count], b: &[Count], question: Question) -> Result<Comparison, Refusal> {
    let rates = |arm: &[Count]| -> Result<Vec<f64>, Refusal> {
        let sound = arm.iter().all(|count| count.exposure > 0.0 && count.exposure.is_finite());
        let rates = arm.iter().map(|count| count.count as f64 / count.exposure).collect();
        if sound { Ok(rates) } else { Err(Refusal::OutOfRange { what: "a rate needs a length above zero" }) }
    };
    let (a, b) = (rates(a)?, rates(b)?);
    let zeros = a.iter().chain(&b).any(|rate| *rate == 0.0);
    if zeros && question.scale == Scale::Ratio {
        // A ratio to zero does not exist, but the function can test whether there is a difference.
        if question.null != 1.0 {
            return Err(Refusal::NotPositive);
        }
        return compare(&a, &b, Question::DIFFERENCE);
    }
    compare(&a, &b, question)
}
