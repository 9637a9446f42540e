//! Computes effects from the numbers that a study printed: there is one number per system, so there are no intervals.

use super::{AllEffects, Quantified, fitted};
use crate::{
    factors::{Valued, split::product},
    numbers::Kind,
    observed::Metric,
};
use latido_model::printed::{PrintedNumber, studies, study};
use std::collections::BTreeMap;

/// Computes the effects of the parts of a study's systems (`rt+isolated`) in each quantity that the study prints. Systems outside the
/// factorial are left out and named.
///
/// # Errors
/// The study does not exist, or does not print the requested figure for a factorial.
pub fn printed(name: &str, metric: &Metric, order: Option<usize>) -> Result<AllEffects, String> {
    let numbers = study(name);
    if numbers.is_empty() {
        return Err(format!("no study `{name}` is known: there are {}", studies().join(", ")));
    }
    let statistic = metric.statistic.to_string();
    let (mut quantities, mut left_out) = (Vec::new(), Vec::new());
    let mut groups: Vec<((&str, &str), Vec<&PrintedNumber>)> = Vec::new();
    for number in numbers.iter().filter(|number| number.stat == statistic) {
        let key = (number.quantity.as_str(), number.load.as_str());
        match groups.iter_mut().find(|(known, _)| *known == key) {
            // A second number for the same system is no repeat of it.
            Some((_, all)) if all.iter().any(|known| known.system == number.system) => {}
            Some((_, all)) => all.push(number),
            None => groups.push((key, vec![number])),
        }
    }
    for ((quantity, load), numbers) in groups {
        let levels: Vec<String> = numbers.iter().map(|number| number.system.clone()).collect();
        let Some(found) = product(&levels) else { continue };
        let (within, without): (Vec<_>, Vec<_>) = numbers.into_iter().partition(|number| found.has(&number.system));
        let told = |number: &&PrintedNumber| format!("{quantity}: {} does not fit a complete factorial", number.system);
        left_out.extend(without.iter().map(told));
        let valued = |number: &PrintedNumber| {
            let columns = vec![("system".to_owned(), number.system.clone())];
            Some(Valued { columns, block: String::new(), value: number.ns()? })
        };
        let values: Vec<Valued> = within.into_iter().filter_map(valued).collect();
        let (found, refused) = match fitted(&values, order, Kind::Ns) {
            Ok(found) => (Some(found), None),
            Err(why) => (None, Some(why)),
        };
        quantities.push(Quantified {
            probe: name.to_owned(),
            quantity: quantity.to_owned(),
            labels: BTreeMap::from([("load".to_owned(), load.to_owned())]),
            measure: "ns".into(),
            found,
            refused,
        });
    }
    left_out.sort();
    left_out.dedup();
    match quantities.is_empty() {
        true => Err(format!("`{name}` prints no {statistic} of a complete factorial (all combinations of some parts)")),
        false => Ok(AllEffects {
            metric: metric.clone(),
            runs: vec![format!("the study {name}, as printed")],
            left_out,
            quantities,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 2 x 2 x 2 of the study of 2019 gives three factors and their interactions, without intervals.
    #[test]
    fn the_printed_factorial_has_effects_without_intervals() {
        let found = printed("scheduling-latency", &Metric::default(), None).unwrap();
        let of = |quantity: &str| found.quantities.iter().find(|one| one.quantity == quantity).unwrap();
        let fitted = of("mutex_lock").found.as_ref().unwrap();
        let mut factors = fitted.factors.clone();
        factors.sort();
        assert_eq!((factors, fitted.count), (["isolated", "rcu", "rt"].map(String::from).to_vec(), 8));
        assert_eq!(fitted.effects.contrasts.len(), 7, "three factors, three pairs, all three");
        assert!(fitted.effects.contrasts.iter().all(|one| one.interval.is_none()));
        // In a complete factorial a main effect is the mean logarithm with the factor minus the mean without it.
        let rt = fitted.effects.contrasts.iter().find(|one| one.factors == ["rt"]).unwrap();
        let numbers = study("scheduling-latency").into_iter().filter(|one| {
            (one.quantity.as_str(), one.stat.as_str(), one.load.as_str()) == ("mutex_lock", "max", "geekbench+video")
        });
        let signed = |one: PrintedNumber| one.value.ln() * if one.system.contains("rt") { 0.25 } else { -0.25 };
        assert!((rt.log - numbers.map(signed).sum::<f64>()).abs() < 1e-9, "{rt:?}");
        // The study prints no maximum of the longest gap for PREEMPT_RT alone: the other systems make a 2 x 2.
        assert_eq!(of("gap_1e9").found.as_ref().unwrap().factors, ["isolated", "rcu"]);
        assert!(found.left_out.iter().any(|system| system.starts_with("gap_1e9: rt+rcu ")), "{:?}", found.left_out);
        assert!(printed("no-such", &Metric::default(), None).unwrap_err().contains("scheduling-latency"));
    }
}
