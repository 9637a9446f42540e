//! Computes how the factors of stored runs affect a figure of each repeat, quantity by quantity.

mod printed;

pub use printed::printed;

use crate::{
    factors::{self, Valued, fit::ORDER},
    numbers::{
        Kind,
        effects::{self, Factorial, Question},
    },
    observed::{
        Measure, Metric, Observed, Quantity,
        grouping::Group,
        taken::{is_continuous, nothing, quantities, taken},
    },
    words,
};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The effects in each quantity.
#[derive(Debug, Serialize)]
pub struct AllEffects {
    /// `max`, `wakeup.latency.p99.9`.
    #[serde(serialize_with = "as_text")]
    pub metric: Metric,
    /// The runs.
    pub runs: Vec<String>,
    /// Repeats that do not count, with the reasons.
    pub left_out: Vec<String>,
    /// The quantities, each with its labels.
    pub quantities: Vec<Quantified>,
}

/// The effects in one quantity.
#[derive(Debug, Serialize)]
pub struct Quantified {
    /// The name of the probe.
    pub probe: String,
    /// The name of the quantity.
    pub quantity: String,
    /// What distinguishes it from others of the quantity.
    pub labels: BTreeMap<String, String>,
    /// `ns`, `share`, `per hour`.
    pub measure: String,
    /// The fitted effects.
    #[serde(flatten)]
    pub found: Option<Factorial>,
    /// Why there are no fitted effects.
    pub refused: Option<String>,
}

fn as_text<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(metric)
}

/// Computes the effects of all factors in which the repeats of runs differ. `order` is the most factors of an interaction; `None` means
/// `ORDER`.
///
/// # Errors
/// The runs contain nothing that was requested.
pub fn of(observed: &[Observed], metric: &Metric, order: Option<usize>) -> Result<AllEffects, String> {
    let mut probes: Vec<Group> = Vec::new();
    let mut runs: Vec<String> = Vec::new();
    for one in observed {
        if !runs.contains(&one.run) {
            runs.push(one.run.clone());
        }
        let probe = &one.cell.probe.name;
        match probes.iter_mut().find(|group| group.probe == *probe).and_then(|group| group.arms.first_mut()) {
            Some(all) => all.push(one),
            None => probes.push(Group { probe: probe.clone(), place: Vec::new(), arms: vec![vec![one]] }),
        }
    }
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for group in &probes {
        let looked = quantities(group, metric);
        for quantity in looked.into_iter().filter(|quantity| metric.decides(&group.probe, &quantity.name)) {
            found.push(one(group, quantity, metric, order, &mut left_out));
        }
    }
    left_out.dedup();
    match found.is_empty() {
        true => Err(nothing(&probes.iter().collect::<Vec<_>>(), metric)),
        false => Ok(AllEffects { metric: metric.clone(), runs, left_out, quantities: found }),
    }
}

fn one(
    group: &Group,
    quantity: &Quantity,
    metric: &Metric,
    order: Option<usize>,
    left_out: &mut Vec<String>,
) -> Quantified {
    let mut values = Vec::new();
    for arm in &group.arms {
        let taken = taken(arm, quantity);
        left_out.extend(taken.left_out());
        values.extend(taken.repeats.iter().map(|one| valued(one.of, one.figure.value())));
    }
    let measure = Measure::of(metric.statistic, &quantity.unit, is_continuous(group, quantity));
    let fitted = fitted(&values, order, if measure.name() == "ns" { Kind::Ns } else { Kind::AsGiven });
    let (found, refused) = match fitted {
        Ok(found) => (Some(found), None),
        Err(why) => (None, Some(why)),
    };
    Quantified {
        probe: group.probe.clone(),
        quantity: quantity.name.clone(),
        labels: quantity.labels.clone(),
        measure: measure.name().to_owned(),
        found,
        refused,
    }
}

/// Returns a value with the levels under which it was measured, except the limit: the limit does not change the value.
fn valued(one: &Observed, value: f64) -> Valued {
    let mut columns = one.columns();
    columns.retain(|(name, _)| name != "limit");
    Valued { columns, block: format!("{} {}", one.run, one.repeat), value }
}

fn fitted(values: &[Valued], order: Option<usize>, kind: Kind) -> Result<Factorial, String> {
    let factors = factors::of(values);
    if factors.names.is_empty() {
        return Err("the cells differ only in the repeat, so there is no factor".into());
    }
    if let Some(low) = values.iter().find(|one| one.value <= 0.0) {
        return Err(format!("effects are ratios and need values above zero; a value is {}", words::trimmed(low.value)));
    }
    let blocked = factors.observations.iter().any(|one| one.block.is_some());
    let question = |block: bool| Question {
        factors: factors.names.clone(),
        block: block.then(|| "repeat".to_owned()),
        order: order.unwrap_or(ORDER),
    };
    let whole = effects::of(&factors.observations, question(blocked), kind);
    // If blocks and factors are confounded, latido drops the blocks: the user requested factors.
    let either = whole.or_else(|_| effects::of(&factors.without_blocks(), question(false), kind));
    either.map_err(|unfit| unfit.why)
}
