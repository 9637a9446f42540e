//! `--scale`: shortens every measurement of a plan by the same factor, in its duration and in its number of samples.

use super::{Plan, Probed, axes};
use crate::{
    catalogue::{Catalogue, Kind},
    units::Ns,
    written,
};
use anyhow::{Context, Result, ensure};
use std::collections::HashSet;

/// The least scale that a plan can have: it makes a nanosecond of 200 days.
pub const SCALED_MIN: f64 = 1e-17;

/// Multiplies every duration and every counted option by a factor. A warm-up shrinks to the default for the new duration if it is longer;
/// limits, periods and deadlines stay.
///
/// # Errors
/// The factor is not above 0 and at most 1, or a probe refuses so few samples.
pub fn scale(plan: &mut Plan, factor: f64, catalogue: &dyn Catalogue) -> Result<()> {
    ensure!(factor > 0.0 && factor <= 1.0, "the scale must be above 0 and at most 1, not {factor}");
    if factor == 1.0 {
        return Ok(());
    }
    for group in &mut plan.groups {
        group.conditions.duration = shorter(group.conditions.duration, factor);
        group.conditions.warmup = group.conditions.warmup.min(axes::usual_warmup(group.conditions.duration));
        for probe in &mut group.probe {
            fewer(probe, factor, catalogue)?;
        }
        // Levels that differed only in their number of samples may now be the same.
        let mut seen = HashSet::new();
        group.probe.retain(|probe| seen.insert(written::item(&probe.item)));
    }
    // If the plan was shortened before, the product of both factors counts.
    plan.scaled = Some((plan.scaled.unwrap_or(1.0) * factor).max(SCALED_MIN));
    Ok(())
}

fn shorter(span: Ns, factor: f64) -> Ns {
    Ns((span.0 as f64 * factor).round().max(1.0) as u64)
}

/// Multiplies the options that count samples: the result is at least 1, and 0, which is without end, stays 0.
fn fewer(probe: &mut Probed, factor: f64, catalogue: &dyn Catalogue) -> Result<()> {
    let item = &mut probe.item;
    let resolved = catalogue.read(Kind::Probe, item)?;
    for key in &probe.measurand.counts {
        let Some(count) = resolved.get(key).and_then(toml::Value::as_integer).filter(|count| *count > 0) else {
            continue;
        };
        let fewer = (count as f64 * factor).round().max(1.0) as i64;
        item.options.insert(key.clone(), fewer.into());
    }
    let refused = || format!("scaled by {factor}, the probe `{}` cannot measure", item.name);
    probe.measurand = catalogue.measurand(item).with_context(refused)?;
    Ok(())
}
