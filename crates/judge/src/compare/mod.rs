//! Arms of stored runs against each other: what they differ in, a verdict for each quantity in each place, and how their
//! distributions are shifted.

mod rows;
#[cfg(test)]
mod tests;

pub use rows::Row;

use crate::{
    numbers::compare::{Outcome, outcome},
    observed::{
        Metric, Observed, Unlike, alike,
        differences::{self, Difference},
        grouping::{self, Group, Groups},
        unlike::{Despite, permitted},
    },
};
use latido_model::cell::{IDLE, NO_LOAD};
use latido_statistics::two::{Verdict, verdict::LEVEL};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The repeats that are set against others.
#[derive(Debug)]
pub struct Arms {
    /// What each is called; the first is the base.
    pub names: Vec<String>,
    /// The repeats of each.
    pub observed: Vec<Vec<Observed>>,
    /// The axis, option or label whose levels they are; none where they are runs.
    pub factor: Option<String>,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Which figure, and which quantity decides.
    pub metric: Metric,
    /// How far apart is the same, .05 for 5 %.
    pub margin: Option<f64>,
    /// Although arms are unlike in these.
    pub despite: Vec<Unlike>,
    /// How far the rates of loads may be apart, .25 for 25 %.
    pub load_margin: f64,
}

/// Arms compared.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// `max`, `wakeup.latency.p99.9`.
    #[serde(serialize_with = "as_text")]
    pub metric: Metric,
    /// The level of a verdict, for all that decide together.
    pub level: f64,
    /// How far apart is the same.
    pub margin: Option<f64>,
    /// The axis, option or label that makes the arms; `null` where they are runs.
    pub by: Option<String>,
    /// The arms; the first is the base.
    pub arms: Vec<ArmView>,
    /// In what they differ.
    pub differences: Vec<Difference>,
    /// In what they are unlike, and were compared all the same.
    pub despite: Vec<Despite>,
    /// Whether the one arm was measured as a whole before the other, so that a drift would look like a difference.
    pub in_turn: bool,
    /// Places that not all arms have.
    pub unmatched: Vec<String>,
    /// In what the arms of further places are unlike, which keeps them from being compared.
    pub left_out: Vec<Despite>,
    /// Each quantity in each place, of each arm against the base.
    pub rows: Vec<Row>,
    /// What the deciding rows say together.
    pub outcome: Outcome,
}

/// An arm.
#[derive(Debug, Serialize)]
pub struct ArmView {
    /// What it is called.
    pub arm: String,
    /// The runs it came from.
    pub runs: Vec<String>,
    /// How many cells were measured.
    pub cells: usize,
}

fn as_text<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(metric)
}

/// The axes and options that have several levels within one probe: what can be compared in a run by itself.
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

/// The levels of an axis, an option of the probe or a label as arms, in the order of the plan; `base` comes first.
///
/// # Errors
/// There are no two levels, or none of the base's name.
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
        // A label tells series of one cell apart: each level is a repeat of its own quantities.
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
        return Err(format!("all that was measured has the {factor} `{level}`: it takes two levels to compare"));
    }
    if arms.names.is_empty() {
        return Err(format!("nothing measured has a `{factor}`: it is an axis, an option of the probe or a label"));
    }
    if let Some(base) = base {
        let Some(at) = arms.names.iter().position(|name| name == base || (base == NO_LOAD && name == IDLE)) else {
            return Err(format!("no {factor} is called `{base}`: there are {}", arms.names.join(", ")));
        };
        // The others stay in the order of the plan.
        if let (Some(names), Some(observed)) = (arms.names.get_mut(..=at), arms.observed.get_mut(..=at)) {
            names.rotate_right(1);
            observed.rotate_right(1);
        }
    }
    Ok(arms)
}

/// Compares every further arm with the first.
///
/// # Errors
/// The arms are unlike, or have nothing in common: all reasons, to be printed.
pub fn of(arms: &Arms, asked: &Asked) -> Result<Compared, String> {
    let factor = arms.factor.as_deref();
    let Groups { all, unlike } = grouping::groups(&arms.names, &arms.observed, factor);
    let complete: Vec<_> =
        all.iter().filter(|group| group.arms.iter().filter(|arm| !arm.is_empty()).count() > 1).collect();
    let unmatched = all.iter().filter_map(|group| missing(group, &arms.names)).collect();
    // Within one run the load was asked for alike: what it then did differs by chance, or follows from what is compared.
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
    let worse = |verdict: &Verdict| match verdict {
        Verdict::Lower if !asked.metric.higher_is_worse() => Verdict::Higher,
        Verdict::Higher if !asked.metric.higher_is_worse() => Verdict::Lower,
        other => other.clone(),
    };
    let deciding: Vec<Verdict> = rows.iter().filter(|row| row.decides).map(|row| worse(&row.verdict)).collect();
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
        outcome: match outcome(deciding.iter()) {
            // What was left out may be worse.
            Outcome::NotWorse if !left_out.is_empty() => Outcome::Undecided,
            outcome => outcome,
        },
        left_out,
    })
}

/// Places by whether their arms are alike.
struct Sorted<'g, 'a> {
    /// Those that are compared.
    complete: Vec<&'g Group<'a>>,
    /// In what the arms of those are unlike.
    found: Vec<(Unlike, String)>,
    /// In what the arms of the others are unlike.
    left_out: Vec<Despite>,
}

/// Leaves out the places in which something is unlike that nobody permitted. Where no place would be left all of them stay, and so the reasons.
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

/// A place that some arm lacks: `wakeup (busy): not in b`.
fn missing(group: &grouping::Group, names: &[String]) -> Option<String> {
    let lacking: Vec<&str> =
        group.arms.iter().zip(names).filter(|(arm, _)| arm.is_empty()).map(|(_, name)| name.as_str()).collect();
    let place = group.place_text();
    let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
    (!lacking.is_empty()).then(|| format!("{}{place}: not in {}", group.probe, lacking.join(", ")))
}

/// Whether arms are of different runs, all of the one before all of the other.
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
