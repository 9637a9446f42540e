//! What the likelihood ratio of two causes could refuse if all refusals of sound runs were its own: one in ten of each kind.
//!
//! It is judged by limits that depend on the fitted shape, as in the gate, here as low as the simulated sound runs allow.

use super::kinds::{Effect, Kind};

/// The fitted shape of a run, and the ratio of its two causes; none where the shape alone is refused.
pub type Look = (f64, Option<f64>);

/// How far from the usual shape of a kind its limit is kept.
const NEAR: f64 = 0.1;
/// How many refusals of sound runs are allowed.
const REFUSED: f64 = 0.1;

/// The limits of one number of samples.
pub struct Limits {
    /// The usual shapes of generalised Pareto tails and what nine in ten of their runs do not pass.
    pareto: Vec<(f64, f64)>,
    /// Those of the other sound kinds.
    others: Vec<(f64, f64)>,
}

impl Limits {
    /// From the looks at sound runs of each kind.
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

    /// The share of runs that pass their limit; none without sound runs of that length.
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
