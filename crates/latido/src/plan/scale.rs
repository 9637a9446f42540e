//! `--scale`: every measurement of a plan shortened alike, by its duration and by its number of samples.

use super::{Plan, axes, kind::Kind, print};
use crate::{cell::Item, probe::PROBES, registry, units::Ns};
use anyhow::{Context, Result, ensure};
use std::collections::HashSet;

/// The least scale that a plan can say: it makes a nanosecond of 200 days.
pub const SCALED_MIN: f64 = 1e-17;

/// Multiplies every duration and every counted option by a factor; limits, periods and deadlines stay.
///
/// # Errors
/// A factor that is not above 0 and at most 1, or a probe that refuses so few samples.
pub fn scale(plan: &mut Plan, factor: f64) -> Result<()> {
    ensure!(factor > 0.0 && factor <= 1.0, "the scale must be above 0 and at most 1, not {factor}");
    if factor == 1.0 {
        return Ok(());
    }
    for group in &mut plan.groups {
        group.duration = shorter(group.duration, factor);
        group.warmup = group.warmup.min(axes::usual_warmup(group.duration));
        for item in &mut group.probe {
            fewer(item, factor)?;
        }
        // Levels that differed only in how much they counted may now be one.
        let mut seen = HashSet::new();
        group.probe.retain(|item| seen.insert(print::item(item)));
    }
    // A plan that was shortened before is shortened further against the sizes as written.
    plan.scaled = Some((plan.scaled.unwrap_or(1.0) * factor).max(SCALED_MIN));
    Ok(())
}

fn shorter(span: Ns, factor: f64) -> Ns {
    Ns((span.0 as f64 * factor).round().max(1.0) as u64)
}

/// Multiplies the options that count samples: at least 1 stays, and 0, which is without end, stays 0.
fn fewer(item: &mut Item, factor: f64) -> Result<()> {
    let probe = registry::build("probe", PROBES, item)?;
    let resolved = probe.options();
    for key in probe.counts() {
        let Some(count) = resolved.get(*key).and_then(toml::Value::as_integer).filter(|count| *count > 0) else {
            continue;
        };
        let fewer = (count as f64 * factor).round().max(1.0) as i64;
        item.options.insert((*key).to_string(), fewer.into());
    }
    Kind::Probe.read(item).with_context(|| format!("scaled by {factor}, the probe `{}` cannot measure", item.name))?;
    Ok(())
}
