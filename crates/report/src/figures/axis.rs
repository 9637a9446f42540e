//! Axes: scales from values to pixels, ticks on round numbers, labels in human units.

use crate::words::{Unit, trimmed};

/// How values map to positions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spacing {
    Linear,
    Log,
}

/// A scale from `low..high` in values to `from..to` in pixels. Values outside are drawn at the edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisScale {
    kind: Spacing,
    /// Value at `from`.
    pub low: f64,
    /// Value at `to`.
    pub high: f64,
    from: f64,
    to: f64,
}

impl AxisScale {
    /// Returns a linear scale. An empty range is widened.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = if low.is_finite() { low } else { 0.0 };
        let high = if high.is_finite() && high > low { high } else { low + low.abs().max(1.0) };
        Self { kind: Spacing::Linear, low, high, from, to }
    }

    /// Returns a logarithmic scale. The range is made positive, and widened if it is empty.
    pub fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = if low.is_finite() { low.max(1e-9) } else { 1.0 };
        let high = if high.is_finite() && high > low { high } else { low * 10.0 };
        Self { kind: Spacing::Log, low, high, from, to }
    }

    /// Returns a logarithmic scale that shows all these values, with round numbers at both ends; 1 to 10 us without values.
    pub fn log_over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values
            .filter(|v| v.is_finite())
            .map(|v| v.max(1.0))
            .fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        if high == 0.0 {
            return Self::log(1e3, 1e4, from, to);
        }
        let (low, mut high) = (round_down(low), round_up(high));
        while high < low * 9.0 {
            high = round_up(high * 1.5);
        }
        Self::log(low, high, from, to)
    }

    /// Returns the position of a value, never outside `from..to`.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.kind {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.from + share * (self.to - self.from)
    }

    /// Returns the value that determines the unit of the whole scale: the middle of a logarithmic scale, the larger end of a linear one.
    pub fn middle(&self) -> f64 {
        match self.kind {
            Spacing::Log => (self.low * self.high).sqrt(),
            Spacing::Linear => self.high.abs().max(self.low.abs()),
        }
    }

    /// Returns whether a value is above the upper end.
    pub fn is_over(&self, value: f64) -> bool {
        value > self.high
    }

    /// Returns between 2 and `most` round values inside the range, ascending. `most` is at least 4.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        if self.kind == Spacing::Log {
            let candidates: [(&[f64], i32); 6] =
                [(&[1.0, 2.0, 5.0], 1), (&[1.0, 3.0], 1), (&[1.0], 1), (&[1.0], 2), (&[1.0], 3), (&[1.0], 6)];
            for (steps, decades) in candidates {
                let ticks = self.log_ticks(steps, decades);
                if (2..=most).contains(&ticks.len()) {
                    return ticks;
                }
            }
        }
        linear_ticks(self.low, self.high, most)
    }

    fn log_ticks(&self, steps: &[f64], decades: i32) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let powers = (first..=last).filter(|power| power.rem_euclid(decades) == 0);
        let ticks = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        ticks.filter(|v| (self.low..=self.high).contains(v)).collect()
    }
}

/// Returns round values between two numbers, at steps of 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let mut step = 10f64.powf(((high - low) / most as f64).log10().floor());
    for factor in [2.0, 2.5, 2.0].into_iter().cycle().take(12) {
        let (first, last) = ((low / step).ceil(), (high / step).floor());
        if last - first + 1.0 <= most as f64 {
            let count = (last - first) as usize;
            return (0..=count).map(|i| (first + i as f64) * step).filter(|v| (low..=high).contains(v)).collect();
        }
        step *= factor;
    }
    vec![low, high]
}

/// Rounds up to one of 1, 2, 5, 10, 20, ...
pub fn round_up(v: f64) -> f64 {
    let base = power_of_ten_below(v);
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * base).find(|round| *round >= v * (1.0 - 1e-9)).unwrap_or(v)
}

/// Rounds down to one of 1, 2, 5, 10, 20, ...
pub fn round_down(v: f64) -> f64 {
    let base = power_of_ten_below(v);
    [5.0, 2.0, 1.0].into_iter().map(|step| step * base).find(|round| *round <= v * (1.0 + 1e-9)).unwrap_or(v)
}

fn power_of_ten_below(v: f64) -> f64 {
    10f64.powf(v.max(1e-9).log10().floor())
}

/// Returns the ticks of a value axis, at most `most`, with their labels. On a log scale each tick has the unit that fits it: `500 ns`, `20
/// µs`, `10 ms`. On a linear scale all ticks share the unit of its end.
pub fn value_axis(scale: &AxisScale, most: usize, unit: &str) -> Vec<(f64, String)> {
    let shared = (scale.kind == Spacing::Linear).then(|| Unit::at(scale.middle(), unit));
    let label = |v: f64| match v {
        0.0 => "0".into(),
        v => {
            let unit = shared.clone().unwrap_or_else(|| Unit::at(v, unit));
            format!("{} {}", short_number(v / unit.per), unit.name)
        }
    };
    scale.ticks(most).into_iter().map(|v| (scale.at(v), label(v))).collect()
}

/// Formats a tick's number for the narrow space next to an axis: `0.5`, `1000`, `2·10⁶`.
pub fn short_number(v: f64) -> String {
    let power = v.abs().log10().floor();
    if !(5.0..60.0).contains(&power) {
        return trimmed(v);
    }
    let digits = (power as u32).to_string();
    let raised: String =
        digits.chars().filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10)? as usize)).collect();
    match trimmed(v / 10f64.powf(power)).as_str() {
        "1" => format!("10{raised}"),
        "−1" => format!("−10{raised}"),
        number => format!("{number}·10{raised}"),
    }
}

/// Formats a tick of a count axis: `1`, `500`, `20 k`, `5 M`, `1 G`.
pub fn count_label(v: f64) -> String {
    match v {
        v if v < 1e3 => trimmed(v),
        v if v < 1e6 => format!("{} k", trimmed(v / 1e3)),
        v if v < 1e9 => format!("{} M", trimmed(v / 1e6)),
        _ => format!("{} G", trimmed(v / 1e9)),
    }
}

/// Formats a count in at most four characters for a narrow place: `712`, `39k`, `2.5M`.
pub fn short_count(n: u64) -> String {
    let v = n as f64;
    let (scale, unit) = match n {
        0..1_000 => return n.to_string(),
        1_000..999_500 => (1e3, "k"),
        999_500..999_500_000 => (1e6, "M"),
        _ => (1e9, "G"),
    };
    let digits = if v / scale < 9.95 { 1 } else { 0 };
    format!("{:.digits$}{unit}", v / scale)
}

/// Usual steps of time, in seconds.
const TIME_STEPS: &[f64] = &[
    1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0,
    900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 604_800.0,
];

/// Returns the ticks of a time axis from 0 to `end` seconds, at most 12.
fn time_ticks(end: f64) -> Vec<f64> {
    let Some(step) = TIME_STEPS.iter().find(|step| end / **step <= 11.0) else {
        return linear_ticks(0.0, end, 12);
    };
    (0..=(end / step + 1e-9) as usize).map(|i| i as f64 * step).collect()
}

/// Returns the ticks of a time axis with their labels, all in one form: `0`, `10 s`, `5 min`, `1:30`, `2 h`.
pub fn time_axis(scale: &AxisScale) -> Vec<(f64, String)> {
    let ticks = time_ticks(scale.high);
    let step = ticks.get(1).copied().unwrap_or(1.0);
    let label = |t: f64| match (t.round() as u64, step) {
        _ if t == 0.0 => "0".into(),
        (_, step) if step < 0.5 && scale.high < 1.0 => format!("{} ms", trimmed(t * 1e3)),
        (whole, step) if step >= 3_600.0 => format!("{} h", whole / 3_600),
        (whole, step) if step >= 60.0 && scale.high < 7_200.0 => format!("{} min", whole / 60),
        (whole, step) if step >= 60.0 => format!("{}:{:02} h", whole / 3_600, whole / 60 % 60),
        (whole, _) if scale.high > 120.0 => format!("{}:{:02}", whole / 60, whole % 60),
        _ => format!("{} s", trimmed(t)),
    };
    ticks.iter().map(|t| (scale.at(*t), label(*t))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sound(ticks: &[f64], low: f64, high: f64) -> bool {
        (2..=12).contains(&ticks.len())
            && ticks.windows(2).all(|pair| pair[0] < pair[1])
            && ticks.iter().all(|t| (low..=high).contains(t))
    }

    proptest! {
        #[test]
        fn ticks_ascend_inside_the_range(low in 1e-3f64..1e9, ratio in 1.001f64..1e9, most in 4usize..=12) {
            for scale in [AxisScale::log(low, low * ratio, 0.0, 100.0), AxisScale::linear(low, low * ratio, 0.0, 100.0)] {
                let ticks = scale.ticks(most);
                prop_assert!(sound(&ticks, scale.low, scale.high) && ticks.len() <= most, "{scale:?}: {ticks:?}");
            }
        }

        #[test]
        fn time_ticks_ascend_inside_the_range(end in 1e-2f64..1e8) {
            let ticks = time_ticks(end);
            prop_assert!(sound(&ticks, 0.0, end * 1.000_001), "{end}: {ticks:?}");
        }

        #[test]
        fn positions_are_finite_and_inside(low: f64, high: f64, value: f64) {
            for scale in [AxisScale::log(low, high, 10.0, 90.0), AxisScale::linear(low, high, 10.0, 90.0)] {
                prop_assert!((10.0..=90.0).contains(&scale.at(value)), "{scale:?}");
            }
        }

        #[test]
        fn rounding_goes_the_right_way(v in 1e-6f64..1e15) {
            prop_assert!(round_up(v) >= v * 0.999_999 && round_up(v) <= v * 2.6);
            prop_assert!(round_down(v) <= v * 1.000_001 && round_down(v) >= v / 2.6);
        }
    }

    #[test]
    fn labels_are_human() {
        let labels = |low, high, unit| {
            let scale = AxisScale::log(low, high, 0.0, 100.0);
            value_axis(&scale, 4, unit).into_iter().map(|(_, label)| label).collect::<Vec<_>>()
        };
        assert_eq!(labels(100.0, 1e5, "ns"), ["100 ns", "1 µs", "10 µs", "100 µs"]);
        assert_eq!(labels(1e5, 1e7, "ps"), ["100 ns", "1 µs", "10 µs"]);
        assert_eq!(labels(1e4, 1e7, "ns"), ["10 µs", "100 µs", "1 ms", "10 ms"]);
        assert_eq!(labels(10.0, 1e6, "urad"), ["100 µrad", "10 mrad", "1 rad"]);
        assert_eq!([0.5, 2e4, 1e5, 2.5e6, -1e7].map(short_number), ["0.5", "20\u{202f}000", "10⁵", "2.5·10⁶", "−10⁷"]);
        assert_eq!([1.0, 2e4, 5e6].map(count_label), ["1", "20 k", "5 M"]);
        assert_eq!([7, 1_234, 39_000, 999_700].map(short_count), ["7", "1.2k", "39k", "1.0M"]);
        let times = |end| time_axis(&AxisScale::linear(0.0, end, 0.0, 100.0)).into_iter().nth(1).unwrap().1;
        let second = [0.9, 60.0, 150.0, 3_600.0, 9_000.0, 90_000.0].map(times);
        assert_eq!(second, ["100 ms", "10 s", "0:15", "10 min", "0:15 h", "4 h"]);
    }

    #[test]
    fn an_empty_range_still_has_an_axis() {
        let scale = AxisScale::log_over(std::iter::empty(), 0.0, 100.0);
        assert_eq!((scale.low, scale.high), (1e3, 1e4));
        let one = AxisScale::log_over([3_000.0].into_iter(), 0.0, 100.0);
        assert!(one.low <= 3_000.0 && one.high >= 9.0 * one.low, "{one:?}");
    }
}
