//! The share of runs that the likelihood ratio of two causes could refuse if it alone caused all refusals of sound runs: one in ten of each
//! kind.
//!
//! Its limits depend on the fitted shape, as in the gate, and are here as low as the simulated sound runs allow.

use super::kinds::{Effect, Kind};

/// The fitted shape of a run, and the ratio of its two causes; `None` if the shape alone is refused.
pub type Look = (f64, Option<f64>);

/// The distance from a kind's usual shape within which its limit applies.
const NEAR: f64 = 0.1;
/// The share of sound runs that may be refused.
const REFUSED: f64 = 0.1;

/// The limits for one number of samples.
pub struct Limits {
    /// The usual shape of each generalised Pareto tail, and the ratio that nine in ten of its runs do not exceed.
    pareto: Vec<(f64, f64)>,
    /// The same for the other sound kinds.
    others: Vec<(f64, f64)>,
}

impl Limits {
    /// Computes the limits from the looks at sound runs of each kind.
    pub fn of<'a>(sound: impl Iterator<Item = (&'a Kind, &'a [Look])>) -> Self {
        let (mut pareto, mut others) = (Vec::new(), Vec::new());
        for (kind, looks) in sound.filter(|(kind, looks)| matches!(kind.effect, Effect::Sound) && !looks.is_empty()) {
            let limit = (
                quantile(looks.iter().map(|look| look.0).collect(), 0.5),
                quantile(looks.iter().map(|look| look.1.unwrap_or(f64::INFINITY)).collect(), 1.0 - REFUSED),
            );
            if kind.name.contains("GPD") { pareto.push(limit) } else { others.push(limit) }
        }
        pareto.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { pareto, others }
    }

    /// The share of runs that exceed their limit; `None` without sound runs of that length.
    pub fn refused(&self, looks: &[Look]) -> Option<f64> {
        if self.pareto.len() < 2 || looks.is_empty() {
            return None;
        }
        let refused = looks.iter().filter(|(xi, ratio)| ratio.is_none_or(|ratio| ratio > self.limit(*xi)));
        Some(refused.count() as f64 / looks.len() as f64)
    }

    fn limit(&self, xi: f64) -> f64 {
        let others = self.others.iter().filter(|(usual, _)| (usual - xi).abs() < NEAR).map(|(_, limit)| *limit);
        let at = self.pareto.partition_point(|(usual, _)| *usual < xi).clamp(1, self.pareto.len() - 1);
        let ((below, low), (above, high)) = (self.pareto[at - 1], self.pareto[at]);
        let part = ((xi - below) / (above - below)).clamp(0.0, 1.0);
        others.fold(low + part * (high - low), f64::max)
    }
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((share * values.len() as f64) as usize).min(values.len() - 1)]
}
