//! Time that other programs or the hypervisor took, in a comparison: a repeat may be larger than the other side only because of the
//! compared system.

use super::deciding::{Deciding, Stored};
use crate::statistics::middle;
use latido_model::{
    plan::{Statistic, expect::NS},
    record::Record,
};

/// A repeat on one side of a comparison.
pub trait Repeated {
    /// Returns its figure.
    fn value(&self) -> f64;

    /// Returns for each of its threads whether everything above an edge comes from outside, as [`is_foreign_above`] does.
    fn foreign_above(&self, edge: f64) -> Vec<Option<bool>>;
}

/// The repeats of a side, split by whether they count.
#[derive(Debug)]
pub struct Parted<R> {
    /// The repeats that count.
    pub own: Vec<R>,
    /// The repeats whose excess over the other side comes entirely from outside.
    pub foreign: Vec<R>,
    /// The figure of the other side with which they were compared: its median.
    pub edge: f64,
}

/// Splits the repeats of two sides. Expectations and comparisons of stored runs both use this, so they agree on the same data. Each side is
/// compared with the complete other side, before any repeat is left out.
pub fn part<R: Repeated>(sides: [Vec<R>; 2]) -> [Parted<R>; 2] {
    let [a, b] = sides.each_ref().map(|side| middle(side.iter().map(R::value)));
    let [one, other] = sides;
    [of_side(one, b), of_side(other, a)]
}

/// Compared with an empty side, nothing is too large.
fn of_side<R: Repeated>(side: Vec<R>, edge: Option<f64>) -> Parted<R> {
    let edge = edge.unwrap_or(f64::INFINITY);
    let is_foreign = |repeat: &R| {
        let told = || repeat.foreign_above(edge).into_iter().flatten();
        repeat.value() > edge && told().next().is_some() && told().all(|foreign| foreign)
    };
    let (foreign, own) = side.into_iter().partition(is_foreign);
    Parted { own, foreign, edge }
}

/// Whether a figure of a quantity in this unit depends on single samples in time: latido can attribute only such figures to causes from
/// outside.
pub fn is_of_samples(statistic: Statistic, unit: &str) -> bool {
    matches!(statistic, Statistic::Max | Statistic::Quantile(_)) && unit == NS
}

/// Whether everything above an edge (ns) in the samples of a thread comes from outside the system under test; `None` where nothing is
/// above.
pub fn is_foreign_above(record: &Record, edge: f64, thread: Stored<'_>) -> Option<bool> {
    let deciding = Deciding::new(record, Some(edge), &[thread]);
    (deciding.count > 0).then(|| deciding.is_foreign())
}
