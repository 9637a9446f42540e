//! The deciding sentence: the worst sample, the limit, and the conclusion that the number of samples supports.

use crate::{
    tree::{Curve, Section, percent},
    words::{self, round_value},
};
use latido_judge::{span::unbroken, unseen::Rarity};

/// From this share on, latido writes a percentage: "one in" would not distinguish, for example, a half from a third.
const OFTEN: f64 = 0.02;

/// A figure of a card.
#[derive(Debug)]
pub struct Number {
    /// `worst`.
    pub label: String,
    /// `1.59 ms`.
    pub value: String,
    /// Whether it breaks the limit.
    pub is_over: bool,
}

/// Returns the figures of a card: the worst sample, p99.9, the samples above the limit, the missed slots.
pub fn numbers(section: &Section, series: &Curve) -> Vec<Number> {
    let Some(max) = series.max() else { return Vec::new() };
    let number = |label: &str, value: String, is_over| Number { label: label.into(), value, is_over };
    let over = |v: f64| series.limit().is_some_and(|limit| v > limit);
    let mut all = vec![number("worst", section.value(max), over(max))];
    let rare = series.quantile("0.999");
    let rare_text = rare.map_or_else(|| "too few".into(), |v| section.value(v));
    all.push(number("p99.9", rare_text, rare.is_some_and(over)));
    if let (Some(limit), Some(above)) = (series.limit(), series.pooled.above_limit) {
        let label = format!("above {}", round_value(limit, section.unit).replace(' ', "\u{a0}"));
        all.push(number(&label, words::count(above), above > 0));
    }
    if let Some(slots) = series.pooled.slots {
        all.push(number("missed", words::count(slots.missed), slots.missed > 0));
    }
    all
}

/// Returns one or two sentences on one series against its limit.
pub fn deciding(section: &Section, series: &Curve) -> String {
    let n = series.pooled.summary.count;
    let Some(max) = series.max() else {
        return format!("No {} was measured.", section.noun());
    };
    let worst = section.value(max);
    let samples = samples(section, series);
    let (Some(limit), Some(above)) = (series.limit(), series.pooled.above_limit) else {
        return format!("Worst of {samples}: {worst}.");
    };
    let limit_text = round_value(limit, section.unit).replace(' ', "\u{a0}");
    let rarity = series.configuration.rarity(series.pooled);
    if above > 0 {
        let share = above as f64 / n as f64;
        let share =
            if share > OFTEN { percent(share).replace(' ', "\u{a0}") } else { format!("one in {}", one_in(share)) };
        let came = match rarity {
            Some(rarity @ (Rarity::Time { .. } | Rarity::Crowded(_) | Rarity::Members { all: 2.., .. })) => {
                format!("They came {}.", sentence(&rarity))
            }
            Some(rarity) => format!("How often a cause strikes is not known: {}.", sentence(&rarity)),
            None => "Not all of them are stored: how often a cause strikes is not known.".into(),
        };
        let above = words::count(above);
        return format!("{above} of {samples} above {limit_text}, the worst {worst}. That is {share}. {came}");
    }
    let inside = section.value(limit - max);
    let rarity = rarity.map(|rarity| format!(": {}", sentence(&rarity))).unwrap_or_default();
    format!("Worst of {samples}: {worst}, {inside} inside the limit of {limit_text}. None was above it{rarity}.")
}

/// Returns a sentence in which no number is separated from its unit.
fn sentence(rarity: &Rarity) -> String {
    unbroken(&rarity.spans()).replace("95 %", "95\u{a0}%")
}

fn samples(section: &Section, series: &Curve) -> String {
    let missed = series.pooled.slots.map_or(0, |s| s.missed);
    let n = series.pooled.summary.count;
    match missed {
        0 => words::many(n, section.noun()),
        _ => format!("{} (missed ones counted)", words::many(n, section.noun())),
    }
}

/// Returns the denominator of a probability that is written as "one in".
fn one_in(probability: f64) -> String {
    if probability <= 0.0 {
        return "∞".into();
    }
    words::count((1.0 / probability) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};

    fn say(configuration: latido_judge::configuration::Configuration) -> String {
        let all = [configuration];
        let sections = sections(&all);
        deciding(&sections[0], &sections[0].series[0]).replace(['\u{202f}', '\u{a0}'], " ")
    }

    #[test]
    fn says_what_the_samples_support_and_no_more() {
        assert_eq!(say(sample::empty("x")), "No wake-up was measured.");
        let one = say(sample::of("x", &[24_900], Some(100_000)));
        assert_eq!(
            one,
            "Worst of 1 wake-up: 24.9 µs, 75.1 µs inside the limit of 100 µs. None was above it: the duration is unknown, \
             so latido cannot say how rare a cause may be."
        );
        let over = |samples: &[i64], elapsed_ns: u64| {
            let mut configuration = sample::of("x", samples, Some(100_000));
            (configuration.repeats[0].elapsed_ns, configuration.repeats[0].watched_ns) = (elapsed_ns, elapsed_ns);
            say(configuration)
        };
        let many = over(&[5_000; 3_000], 3_000_000_000);
        let rare = "None was above it: a cause that strikes more often than once in 1.00 s would have been seen with 95 % probability.";
        assert!(many.ends_with(rare), "{many}");
        assert_eq!(
            over(&[vec![5_000; 999], vec![150_000]].concat(), 1_000_000_000),
            "1 of 1 000 wake-ups above 100 µs, the worst 150 µs. That is one in 1 000. They came in 1 burst; with 95 % \
             confidence, the cause strikes once in 179 ms to 39.5 s."
        );
        assert_eq!(
            over(&[vec![5_000; 9], vec![150_000]].concat(), 10_000_000),
            "1 of 10 wake-ups above 100 µs, the worst 150 µs. That is 10.0 %. They came in 1 burst; with 95 % \
             confidence, the cause strikes once in 1.70 ms to 395 ms."
        );
        let mut missed = sample::of("x", &[5_000; 10], None);
        missed.quantities[0].slots = Some(latido_model::record::Slots { met: 8, late: 0, missed: 2 });
        assert_eq!(say(missed), "Worst of 10 wake-ups (missed ones counted): 5.00 µs.");
        let free = say(sample::of("x", &[5_000; 10], None));
        assert_eq!(free, "Worst of 10 wake-ups: 5.00 µs.");
    }
}
