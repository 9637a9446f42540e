//! `--budget`: chooses sizes and repeats that fit into a span of time, and says what that costs in certainty.

use super::repeats;
use crate::{
    expect::{
        grows,
        planned::{Planned, planned},
    },
    words,
};
use anyhow::{Result, ensure};
use latido_model::{
    catalogue::Catalogue,
    cell::Cell,
    plan::{Plan, around::Around, expand, extent::Extent, kernels, scale},
    quantity::Measurand,
    units::Ns,
};
use latido_statistics::two::{mann_whitney::repeats_needed, power::smallest_ratio, verdict::LEVEL};

/// The usual spread of maxima between repeats: the standard deviation of their logarithms.
const SPREAD: f64 = 0.4;

/// The probability with which the plan must find a difference.
pub(super) const POWER: f64 = 0.9;

/// The smallest part of the written sizes that is still worth measuring.
const LEAST_SCALE: f64 = 1e-4;

/// Makes a plan fit the budget. Returns sentences on the changes and their cost. It first gives up what the plan's statements need least:
/// repeats, if they concern maxima or counts (a shorter measurement says nothing about these); else the length of the measurements. It
/// keeps enough repeats to decide a comparison.
///
/// # Errors
/// The budget is too small for any form of the plan, or a probe refuses so few samples.
pub fn fit(plan: &mut Plan, budget: Ns, earlier: &Around, catalogue: &dyn Catalogue) -> Result<Vec<String>> {
    let asked = most_repeats(plan);
    let family = comparisons(plan, catalogue).len() as u64;
    let before = Extent::of_plan(plan, earlier);
    let needs = |plan: &Plan| Extent::of_plan(plan, earlier).total();
    let mut said = Vec::new();
    if needs(plan) > budget {
        let least = if family == 0 { 1 } else { repeats_needed(LEVEL / family as f64).unwrap_or(1000) };
        let least = u32::try_from(least).unwrap_or(u32::MAX).min(asked);
        if plan.expect.iter().any(|expect| grows(expect.statistic)) {
            let fits = (least..=asked).rev().find(|repeats| needs(&with_repeats(plan, *repeats)) <= budget);
            *plan = with_repeats(plan, fits.unwrap_or(least));
        }
        if shortened(plan, budget, earlier).is_none_or(|factor| factor < 0.01) {
            *plan = with_repeats(plan, least);
        }
        if needs(plan) > budget {
            let factor = shortened(plan, budget, earlier).filter(|factor| *factor >= LEAST_SCALE);
            ensure!(
                factor.is_some(),
                "as written it is {}; no shorter form fits in {budget}; remove axes or levels",
                before.sentence()
            );
            scale::scale(plan, factor.unwrap_or(1.0), catalogue)?;
        }
    }
    let repeats = most_repeats(plan);
    let mut changes = Vec::new();
    if repeats != asked {
        changes.push(format!("{} instead of {asked}", words::many(u64::from(repeats), "repeat")));
    }
    if let Some(part) = plan.scaled {
        changes.push(format!("{} of the size as written", words::share_of_size(part)));
    }
    let changes = if changes.is_empty() { "as written".to_owned() } else { changes.join(", ") };
    said.push(format!("--budget {budget}: {changes}: {}", Extent::of_plan(plan, earlier).sentence()));
    said.extend(certainty(family, (u64::from(asked), u64::from(repeats))));
    let lost = plan.expect.iter().filter(|expect| crate::expect::is_lost(plan, expect));
    said.extend(lost.map(|one| format!("not measured (scaled): {}", one.claim.as_ref().unwrap_or(&one.text))));
    said.extend(repeats::too_few(&comparisons(plan, catalogue)));
    Ok(said)
}

/// Says what differences these repeats find, where the plan compares something.
fn certainty(family: u64, (asked, left): (u64, u64)) -> Option<String> {
    let of = |repeats: u64| {
        let find = if repeats == 1 { "finds" } else { "find" };
        let found = smallest_ratio(repeats, SPREAD, family.max(1), POWER);
        let found = found.map_or_else(|| "nothing".into(), |ratio| format!("a ratio of {ratio:.2}"));
        format!("{} per side {find} {found}", words::many(repeats, "repeat"))
    };
    if family == 0 {
        let (fewer, cases) = (format!("{} and {}", of(left), of(asked)), POWER * 100.0);
        let fewer = format!("certainty: where you compare two such runs, {fewer}, each in {cases:.0} % of cases");
        return (asked != left).then_some(fewer);
    }
    let both = if asked == left { of(left) } else { format!("{} where {}", of(left), of(asked)) };
    let one = if family > 1 { format!("one of {family} comparisons") } else { "the comparison".to_owned() };
    Some(format!(
        "certainty: {both}, each in {:.0} % of cases, for {one} if the logarithms of the values spread by {SPREAD} \
         between repeats; --plan-power measures that spread",
        POWER * 100.0
    ))
}

/// Returns the comparisons between the cells that this version can measure.
fn comparisons(plan: &Plan, catalogue: &dyn Catalogue) -> Vec<Planned> {
    let cells: Vec<Cell> = expand(&kernels::had(plan));
    let known = cells.iter().filter_map(|cell| Some((cell, catalogue.measurand(&cell.probe).ok()?)));
    let known: Vec<(&Cell, Measurand)> = known.collect();
    let known: Vec<(&Cell, &Measurand)> = known.iter().map(|(cell, measurand)| (*cell, measurand)).collect();
    planned(plan, &known)
}

fn most_repeats(plan: &Plan) -> u32 {
    plan.groups.iter().map(|group| group.repeat).max().unwrap_or(1)
}

fn with_repeats(plan: &Plan, most: u32) -> Plan {
    let mut plan = plan.clone();
    plan.groups.iter_mut().for_each(|group| group.repeat = group.repeat.min(most));
    plan
}

/// Returns the part of the sizes that fits, rounded down to two digits; `None` where everything other than measuring already takes all the
/// time.
fn shortened(plan: &Plan, budget: Ns, earlier: &Around) -> Option<f64> {
    let Extent { time, around, .. } = Extent::of_plan(plan, earlier);
    let left = budget.0.checked_sub(around.0)?;
    let factor = (left as f64 / time.0.max(1) as f64).min(1.0);
    let digit = 10f64.powf(factor.log10().floor() - 1.0);
    (factor > 0.0).then(|| (factor / digit).floor() * digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan without comparisons may be compared with another run later.
    #[test]
    fn fewer_repeats_cost_certainty_without_a_comparison_too() {
        let told = certainty(0, (8, 1)).unwrap();
        let few = "certainty: where you compare two such runs, 1 repeat per side finds nothing and 8 repeats per side find a ratio of ";
        assert!(told.starts_with(few) && told.ends_with(", each in 90 % of cases"), "{told}");
        assert_eq!(certainty(0, (8, 8)), None);
    }
}
