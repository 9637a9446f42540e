//! Compares the sides of stored runs: what they differ in, a verdict per quantity and place, and how their distributions are shifted.

mod rows;
#[cfg(test)]
mod tests;

pub use rows::Row;

use crate::{
    numbers::compare::{Outcome, outcome_of, worst},
    observed::{
        Metric, Observed, Unlike, alike,
        differences::{self, Difference},
        grouping::{self, Group, Groups},
        unlike::{Despite, permitted},
    },
};
use latido_model::cell::{IDLE, NO_LOAD};
use latido_statistics::two::verdict::LEVEL;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The repeats to compare, grouped into sides.
#[derive(Debug)]
pub struct Arms {
    /// The name of each side; the first side is the base.
    pub names: Vec<String>,
    /// The repeats of each side.
    pub observed: Vec<Vec<Observed>>,
    /// The axis, option or label whose levels make the sides; absent where the sides are runs.
    pub factor: Option<String>,
}

/// What the user requests.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Which figure to compare, and which quantity decides.
    pub metric: Metric,
    /// The relative difference that counts as equal, .05 for 5 %.
    pub margin: Option<f64>,
    /// Compare although the sides are unlike in these.
    pub despite: Vec<Unlike>,
    /// How far apart the rates of loads may be, .25 for 25 %.
    pub load_margin: f64,
}

/// The result of a comparison.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// `max`, `wakeup.latency.p99.9`.
    #[serde(serialize_with = "as_text")]
    pub metric: Metric,
    /// The significance level, for all verdicts that decide together.
    pub level: f64,
    /// The relative difference that counts as equal.
    pub margin: Option<f64>,
    /// The axis, option or label that makes the sides; `null` where they are runs.
    pub by: Option<String>,
    /// The sides; the first one is the base.
    pub arms: Vec<ArmView>,
    /// What the sides differ in.
    pub differences: Vec<Difference>,
    /// What the sides are unlike in; latido compared them nevertheless.
    pub despite: Vec<Despite>,
    /// Whether latido measured one side completely before the other, so that a drift would look like a difference.
    pub in_turn: bool,
    /// Places that some side lacks.
    pub unmatched: Vec<String>,
    /// What the sides of other places are unlike in; latido did not compare these places.
    pub left_out: Vec<Despite>,
    /// A row per quantity and place, for each side against the base.
    pub rows: Vec<Row>,
    /// The joint outcome of the deciding rows.
    pub outcome: Outcome,
}

/// A side of the comparison.
#[derive(Debug, Serialize)]
pub struct ArmView {
    /// The name of the side.
    pub arm: String,
    /// The runs that the side comes from.
    pub runs: Vec<String>,
    /// The number of measured cells.
    pub cells: usize,
}

fn as_text<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(metric)
}

/// Returns the axes and options that have several levels within one probe: what a user can compare within one run.
pub fn varied(observed: &[Observed]) -> Vec<String> {
    let mut firsts: BTreeMap<(&str, String), String> = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for one in observed {
        for (name, value) in one.columns() {
            let first = firsts.entry((&one.cell.probe.name, name.clone())).or_insert_with(|| value.clone());
            if *first != value && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Makes a side of each level of an axis, an option of the probe or a label, in the order of the plan; `base` comes first.
///
/// # Errors
/// There are fewer than two levels, or no level has the base's name.
pub fn by(factor: &str, observed: Vec<Observed>, base: Option<&str>) -> Result<Arms, String> {
    let mut arms = Arms { names: Vec::new(), observed: Vec::new(), factor: Some(factor.to_owned()) };
    let mut put = |level: String, one: Observed| {
        let at = arms.names.iter().position(|name| *name == level).unwrap_or(arms.names.len());
        match arms.observed.get_mut(at) {
            Some(arm) => arm.push(one),
            None => {
                arms.names.push(level);
                arms.observed.push(vec![one]);
            }
        }
    };
    for one in observed {
        if one.columns().iter().any(|(name, _)| name == factor) {
            put(one.column(factor), one);
            continue;
        }
        // A label distinguishes series of one cell: each level becomes a repeat with only the quantities that have this label.
        let mut levels: Vec<String> =
            one.quantities.iter().filter_map(|quantity| quantity.labels.get(factor).cloned()).collect();
        levels.sort();
        levels.dedup();
        for level in levels {
            let mut part = one.clone();
            part.quantities.retain_mut(|quantity| quantity.labels.remove(factor).as_ref() == Some(&level));
            put(level, part);
        }
    }
    if let [level] = arms.names.as_slice() {
        return Err(format!("everything measured has the {factor} `{level}`; a comparison needs two levels"));
    }
    if arms.names.is_empty() {
        return Err(format!("nothing measured has a `{factor}`; name an axis, an option of the probe or a label"));
    }
    if let Some(base) = base {
        let Some(at) = arms.names.iter().position(|name| name == base || (base == NO_LOAD && name == IDLE)) else {
            return Err(format!("no {factor} is called `{base}`: there are {}", arms.names.join(", ")));
        };
        // The other sides stay in the order of the plan.
        if let (Some(names), Some(observed)) = (arms.names.get_mut(..=at), arms.observed.get_mut(..=at)) {
            names.rotate_right(1);
            observed.rotate_right(1);
        }
    }
    Ok(arms)
}

/// Compares every other side with the first.
///
/// # Errors
/// The sides are unlike, or have nothing in common. The error has all reasons, ready to print.
pub fn of(arms: &Arms, asked: &Asked) -> Result<Compared, String> {
    let factor = arms.factor.as_deref();
    let Groups { all, unlike } = grouping::groups(&arms.names, &arms.observed, factor);
    let complete: Vec<_> =
        all.iter().filter(|group| group.arms.iter().filter(|arm| !arm.is_empty()).count() > 1).collect();
    let unmatched = all.iter().filter_map(|group| missing(group, &arms.names)).collect();
    // Within one run all sides request the same load: differences in what the load did are chance, or follow from the compared factor.
    let mut runs = arms.observed.iter().flatten().map(|one| one.run.as_str());
    let first = runs.next();
    let own = runs.all(|run| Some(run) == first).then_some(Unlike::Load);
    let permissions: Vec<Unlike> = asked.despite.iter().copied().chain(own).collect();
    let Sorted { complete, found, left_out } = sorted(complete, arms, asked, &permissions);
    let despite = permitted(unlike.into_iter().chain(found), &permissions)?;
    let rows = rows::of(&complete, &arms.names, asked)?;
    let taken: Vec<Vec<&Observed>> = (0..arms.names.len())
        .map(|arm| complete.iter().filter_map(|group| group.arms.get(arm)).flatten().copied().collect())
        .collect();
    let deciding = rows.iter().filter(|row| row.decides);
    let outcome = worst(deciding.map(|row| outcome_of(&row.verdict, asked.metric.higher_is_worse())));
    Ok(Compared {
        metric: asked.metric.clone(),
        level: LEVEL,
        margin: asked.margin,
        by: arms.factor.clone(),
        arms: arms.names.iter().zip(&arms.observed).map(|(name, arm)| ArmView::of(name, arm)).collect(),
        differences: differences::of(&taken).into_iter().filter(|one| factor != Some(one.what.as_str())).collect(),
        despite,
        in_turn: in_turn(&arms.observed),
        unmatched,
        rows,
        outcome: match outcome {
            // The places that were left out may be worse.
            Outcome::NotWorse if !left_out.is_empty() => Outcome::Undecided,
            outcome => outcome,
        },
        left_out,
    })
}

/// Places, sorted by whether their sides are similar enough to compare.
struct Sorted<'g, 'a> {
    /// The places that latido compares.
    complete: Vec<&'g Group<'a>>,
    /// What the sides of these places are unlike in.
    found: Vec<(Unlike, String)>,
    /// What the sides of the other places are unlike in.
    left_out: Vec<Despite>,
}

/// Leaves out the places whose sides are unlike in something that is not permitted. If no place would remain, all places stay, with all
/// reasons.
fn sorted<'g, 'a>(places: Vec<&'g Group<'a>>, arms: &Arms, asked: &Asked, permissions: &[Unlike]) -> Sorted<'g, 'a> {
    let factor = arms.factor.as_deref();
    let foreign = grouping::is_foreign(&arms.observed);
    let unlike = |group: &Group| {
        let mut found = alike::unlike(group, &arms.names, factor);
        if factor != Some("load") {
            found.extend(alike::rates_apart(group, &arms.names, asked.load_margin));
        }
        found
    };
    let each = places.into_iter().map(|group| (group, if foreign { Vec::new() } else { unlike(group) }));
    let permitted =
        |(_, found): &(&Group, Vec<(Unlike, String)>)| found.iter().all(|(what, _)| permissions.contains(what));
    let (taken, left): (Vec<_>, Vec<_>) = each.partition(permitted);
    let (taken, left) = if taken.is_empty() { (left, taken) } else { (taken, left) };
    let left_out = left.into_iter().flat_map(|(_, found)| found).filter(|(what, _)| !permissions.contains(what));
    let left_out = left_out.map(|(what, detail)| Despite { what, detail }).collect();
    let (complete, found): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
    Sorted { complete, found: found.into_iter().flatten().collect(), left_out }
}

/// Describes a place that some side lacks: `wakeup (busy): not in b`.
fn missing(group: &grouping::Group, names: &[String]) -> Option<String> {
    let lacking: Vec<&str> =
        group.arms.iter().zip(names).filter(|(arm, _)| arm.is_empty()).map(|(_, name)| name.as_str()).collect();
    let place = group.place_text();
    let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
    (!lacking.is_empty()).then(|| format!("{}{place}: not in {}", group.probe, lacking.join(", ")))
}

/// Whether the sides come from different runs, and all runs of one side started before those of the next.
fn in_turn(arms: &[Vec<Observed>]) -> bool {
    let mut spans: Vec<(&str, &str)> = arms
        .iter()
        .filter_map(|arm| {
            let times = || arm.iter().map(|one| one.started.as_str());
            Some((times().min()?, times().max()?))
        })
        .collect();
    spans.sort_unstable();
    spans.len() > 1 && spans.windows(2).all(|pair| matches!(pair, [(_, end), (start, _)] if end < start))
}

impl Compared {
    /// Returns what a row's verdict means.
    pub fn outcome_of(&self, row: &Row) -> Outcome {
        outcome_of(&row.verdict, self.metric.higher_is_worse())
    }
}

impl ArmView {
    fn of(name: &str, observed: &[Observed]) -> Self {
        let mut runs: Vec<String> = Vec::new();
        for one in observed {
            if !runs.contains(&one.run) {
                runs.push(one.run.clone());
            }
        }
        Self { arm: name.to_owned(), runs, cells: observed.len() }
    }
}
