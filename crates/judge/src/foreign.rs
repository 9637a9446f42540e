//! Foreign time in a comparison: what makes a repeat larger than the other side must be its own.

use super::deciding::{Deciding, Stored};
use crate::statistics::middle;
use latido_model::{
    plan::{Statistic, expect::NS},
    record::Record,
};

/// A repeat of one side of a comparison.
pub trait Repeated {
    /// Its figure.
    fn value(&self) -> f64;

    /// What of each of its threads above an edge is foreign, as [`is_foreign_above`] has it.
    fn foreign_above(&self, edge: f64) -> Vec<Option<bool>>;
}

/// The repeats of a side.
#[derive(Debug)]
pub struct Parted<R> {
    /// Those that count.
    pub own: Vec<R>,
    /// Those whose excess over the other side is foreign as a whole.
    pub foreign: Vec<R>,
    /// The figure of the other side that they were held against: its median.
    pub edge: f64,
}

/// Parts the repeats of two sides. Expectations and comparisons of stored runs both leave out what this does: of the same
/// data they say the same. Each side is held against the other as it was before any were left out.
pub fn part<R: Repeated>(sides: [Vec<R>; 2]) -> [Parted<R>; 2] {
    let [a, b] = sides.each_ref().map(|side| middle(side.iter().map(R::value)));
    let [one, other] = sides;
    [of_side(one, b), of_side(other, a)]
}

/// Against an empty side nothing is too large.
fn of_side<R: Repeated>(side: Vec<R>, edge: Option<f64>) -> Parted<R> {
    let edge = edge.unwrap_or(f64::INFINITY);
    let is_foreign = |repeat: &R| {
        let told = || repeat.foreign_above(edge).into_iter().flatten();
        repeat.value() > edge && told().next().is_some() && told().all(|foreign| foreign)
    };
    let (foreign, own) = side.into_iter().partition(is_foreign);
    Parted { own, foreign, edge }
}

/// Whether a figure of a quantity in this unit rests on single samples in time: only these can be foreign.
pub fn is_of_samples(statistic: Statistic, unit: &str) -> bool {
    matches!(statistic, Statistic::Max | Statistic::Quantile(_)) && unit == NS
}

/// Whether what is above an edge, ns, in the samples of a thread is foreign as a whole; `None` where nothing is above.
pub fn is_foreign_above(record: &Record, edge: f64, thread: Stored<'_>) -> Option<bool> {
    let deciding = Deciding::new(record, Some(edge), &[thread]);
    (deciding.count > 0).then(|| deciding.is_foreign())
}
