//! Single samples, collected into series: exact bins, extremes, order in time.

use crate::imported::{Bin, Interval, Series, Timed};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, HashMap};

/// The most samples per file, and the most per series that latido keeps with their times.
const MOST: usize = 10_000_000;
const KEPT: usize = 1_000_000;
/// The most series per file.
const MOST_SERIES: usize = 8192;

/// What distinguishes a series from others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// The quantity; `latency` unless the file names another.
    pub quantity: Option<String>,
    /// The labels: all other fields.
    pub labels: BTreeMap<String, String>,
    /// The thread.
    pub thread: Option<u32>,
    /// The CPU.
    pub cpu: Option<u32>,
}

/// The samples so far.
#[derive(Debug, Default)]
pub struct Samples {
    keys: HashMap<Key, usize>,
    all: Vec<(Key, Vec<i64>, Vec<Option<i64>>)>,
    count: usize,
}

impl Samples {
    /// Adds a sample by its lower end, in ns.
    ///
    /// # Errors
    /// There are too many samples or series.
    pub fn add(&mut self, key: &Key, value: i64, at_ns: Option<i64>) -> Result<()> {
        ensure!(self.count < MOST, "more than {MOST} samples");
        self.count += 1;
        let place = match self.keys.get(key) {
            Some(place) => *place,
            None => {
                ensure!(self.all.len() < MOST_SERIES, "more than {MOST_SERIES} series");
                self.all.push((key.clone(), Vec::new(), Vec::new()));
                self.keys.insert(key.clone(), self.all.len() - 1);
                self.all.len() - 1
            }
        };
        let (_, values, times) = self.all.get_mut(place).context("a series")?;
        values.push(value);
        if times.len() < KEPT {
            times.push(at_ns);
        }
        Ok(())
    }

    /// Returns the number of samples.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Builds the series in the order of their first samples. Each value stands for the range up to `width - 1` ns above it.
    ///
    /// # Errors
    /// A value is beyond 2^63 ns.
    pub fn series(self, width: i64) -> Result<Vec<Series>> {
        let first = self.all.iter().flat_map(|(_, _, times)| times.iter().flatten()).min().copied();
        let mut threads: HashMap<(Option<String>, BTreeMap<String, String>), u32> = HashMap::new();
        let mut all = Vec::with_capacity(self.all.len());
        for (key, mut values, times) in self.all {
            // Where the file names no thread, latido takes the samples of each CPU for those of one thread.
            let next = threads.entry((key.quantity.clone(), key.labels.clone())).or_default();
            let thread = key.thread.unwrap_or(*next);
            *next = next.saturating_add(1);
            let since = |at: i64| u64::try_from(i128::from(at) - i128::from(first?)).ok();
            let samples: Vec<Timed> = match times.len() == values.len() && times.iter().any(Option::is_some) {
                true => values
                    .iter()
                    .zip(times)
                    .map(|(value, at)| Timed { value: *value, at_ns: at.and_then(since) })
                    .collect(),
                false => Vec::new(),
            };
            let sum: i128 = values.iter().map(|value| i128::from(*value)).sum();
            let count = values.len();
            values.sort_unstable();
            let high = |low: i64| low.checked_add(width - 1).context("a value beyond 2^63 ns");
            let mut bins: Vec<Bin> = Vec::new();
            for low in &values {
                match bins.last_mut() {
                    Some(bin) if bin.low == *low => bin.count += 1,
                    _ => bins.push(Bin { low: *low, high: Some(high(*low)?), count: 1 }),
                }
            }
            let interval = |bin: Option<&Bin>| bin.map(|bin| Interval { low: bin.low, high: bin.high });
            let mean = sum as f64 / count.max(1) as f64;
            let named = key.quantity.unwrap_or_else(|| "latency".into());
            all.push(Series {
                heading: if named == "latency" { "Latency".into() } else { named.clone() },
                quantity: named,
                labels: key.labels,
                thread,
                cpu: key.cpu,
                unit: "ns",
                count: u64::try_from(count).ok(),
                min: interval(bins.first()),
                max: interval(bins.last()),
                mean: (count > 0).then_some([mean, mean + (width - 1) as f64]),
                bins,
                width: u64::try_from(width).ok().filter(|width| *width > 1),
                samples,
                ..Series::default()
            });
        }
        Ok(all)
    }
}

/// Multiplies a decimal by a factor, where the product is whole and below 2^63: `1.5` in us is 1500 ns, `0.0005` gives `None`.
pub fn decimal(text: &str, factor: i64) -> Option<i64> {
    let text = text.trim();
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, exponent.parse::<i32>().ok().filter(|power| power.abs() <= 40)?),
        None => (text, 0),
    };
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let part = match part {
        Some("") => return None,
        part => part.unwrap_or("").trim_end_matches('0'),
    };
    // Calculators and plotting programs write `.5`; a point alone is no number.
    if (whole.is_empty() && !digits.starts_with('.'))
        || !whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let digits = whole.bytes().chain(part.bytes());
    let mut value =
        digits.into_iter().try_fold(0i128, |sum, digit| sum.checked_mul(10)?.checked_add(i128::from(digit - b'0')))?;
    value = value.checked_mul(i128::from(factor))?;
    let mut places = i32::try_from(part.len()).ok()?.checked_sub(exponent)?;
    while places > 0 {
        if value % 10 != 0 {
            return None;
        }
        value /= 10;
        places -= 1;
    }
    for _ in places..0 {
        value = value.checked_mul(10)?;
    }
    i64::try_from(if negative { -value } else { value }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact() {
        let all = [
            ("80.5", 1000),
            ("89.204", 1000),
            ("0.0005", 1000),
            ("1,5", 1000),
            ("-0.001", 1000),
            ("1e-3", 1000),
            ("", 1),
        ];
        let expected = [Some(80_500), Some(89_204), None, None, Some(-1), Some(1), None];
        assert_eq!(all.map(|(text, factor)| decimal(text, factor)), expected);
        assert_eq!((decimal("9223372036854775807", 1), decimal("9223372036854775808", 1)), (Some(i64::MAX), None));
        assert_eq!(
            (decimal("1.", 1), decimal(".", 1000), decimal("+-1", 1), decimal("1e99999999999", 1)),
            (None, None, None, None)
        );
        assert_eq!(
            (decimal(".5", 1000), decimal("-.5", 1000), decimal("+2.5", 1000)),
            (Some(500), Some(-500), Some(2500))
        );
    }

    /// latido refuses a file that names more series than the bound before they fill the memory; samples of known series still count.
    #[test]
    fn more_series_than_the_bound_are_refused() {
        let mut all = Samples::default();
        let mut add = |thread: usize| all.add(&Key { thread: u32::try_from(thread).ok(), ..Key::default() }, 5, None);
        (0..MOST_SERIES).try_for_each(&mut add).unwrap();
        assert_eq!(add(MOST_SERIES).unwrap_err().to_string(), "more than 8192 series");
        add(0).unwrap();
    }

    proptest! {
        /// A value in ns that is printed in us must come back exactly.
        #[test]
        fn ns_come_back(ns in any::<i64>()) {
            let (sign, size) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
            prop_assert_eq!(decimal(&format!("{sign}{}.{:03}", size / 1000, size % 1000), 1000).filter(|_| ns != i64::MIN), Some(ns).filter(|_| ns != i64::MIN));
        }
    }
}
