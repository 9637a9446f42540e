//! What the outputs of oslat have in common: the meaning of labels and extremes, which depends on the version.

use crate::{
    args::Args,
    cyclictest,
    doubt::{self, Doubt, Figure},
    format::Asked,
    imported::{Bin, Edge, Imported, Interval, Series},
};
use anyhow::{Context, Result, ensure};

/// The short options of oslat that take a value.
const VALUED: &str = "bcCDfmTwWz";

/// What a version means by a label L (us) and by an extreme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Up to 2.4: [L - 1, L), extremes are whole us plus 1.
    AddingOne,
    /// 2.5 and 2.6: (L - 2, L - 1], extremes are rounded up.
    RoundingUp,
    /// From 2.7 on: [L - width, L), extremes are truncated.
    Truncating,
    /// 2.1 or 2.10: the labels are the same in both, the extremes may be those of either.
    Unknown,
}

/// The label of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    ns: i64,
    decimals: bool,
}

impl Label {
    /// Parses a label: `001`, `0.500`.
    ///
    /// # Errors
    /// The text is no label.
    pub fn of(text: &str) -> Result<Self> {
        let ns = decimal_ns(text, 1_000).with_context(|| format!("`{text}` is not a bucket"))?;
        ensure!(ns > 0, "the bucket `{text}`");
        Ok(Self { ns, decimals: text.contains('.') })
    }

    /// Returns the label in ns.
    pub fn ns(self) -> i64 {
        self.ns
    }

    /// Whether the label is written with decimals.
    pub fn decimals(self) -> bool {
        self.decimals
    }
}

/// A bucket.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The label of the bucket.
    pub label: Label,
    /// The number of gaps in the bucket.
    pub count: u64,
}

/// What `-B` subtracts from extremes, in ns; absent where only the command line shows that `-B` was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bias(pub Option<i64>);

/// What the output reports about a core.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// The core.
    pub cpu: Option<u32>,
    /// The buckets of the core, ascending.
    pub rows: Vec<Row>,
    /// Whether the last bucket also contains all longer gaps.
    pub last_includes: bool,
    /// The shortest gap as printed, in us.
    pub min: Option<String>,
    /// The longest gap as printed, in us.
    pub max: Option<String>,
    /// The counter's frequency, in MHz.
    pub mhz: Option<i64>,
    /// What `-B` subtracted, where the file reports it.
    pub bias: Option<Bias>,
}

/// Splits oslat's command line into words.
pub fn args_of(line: &str) -> Args<'static> {
    Args::new(line, VALUED)
}

/// Returns the width of a bucket (`-W`), in ns.
pub fn width(args: &Args) -> Option<i64> {
    args.number('W', "bucket-width").filter(|width| *width > 0)
}

/// Returns the scheduling policy (`-f`).
pub fn policy(args: &Args) -> Option<String> {
    let priority = args.number('f', "rtprio").filter(|priority| (1..=99).contains(priority))?;
    Some(format!("fifo {priority}"))
}

/// Returns an import without its series.
pub fn imported(asked: &Asked) -> Imported {
    let policy = asked.args.as_deref().and_then(|line| policy(&args_of(line)));
    Imported { policy, findings: Vec::new(), ..cyclictest::described("oslat", asked) }
}

/// Converts a number as oslat writes it in JSON to a text in us: oslat writes ns where the buckets have decimals, else us.
pub fn written(number: &serde_json::Number, in_ns: bool) -> String {
    let text = number.to_string();
    match (in_ns, text.parse::<i64>()) {
        (true, Ok(ns)) => format!("{}.{:03}", ns / 1000, ns % 1000),
        _ => text,
    }
}

/// Parses an exact decimal number in a unit of `unit` ns: `0.023` us is 23 ns. `None` for a number that is finer than 1 ns or negative, and
/// for other text.
pub fn decimal_ns(text: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let mut ns = whole.parse::<i64>().ok()?.checked_mul(unit)?;
    let mut place = unit;
    for digit in fraction.bytes() {
        let digit = i64::from(digit - b'0');
        if place % 10 != 0 {
            return (digit == 0).then_some(ns);
        }
        place /= 10;
        ns = ns.checked_add(digit * place)?;
    }
    Some(ns)
}

impl Generation {
    /// Returns the interval that an extreme stands for.
    fn extreme(self, text: &str) -> Result<Interval> {
        let ns = decimal_ns(text, 1_000).with_context(|| format!("`{text}` is not a time in us"))?;
        if text.contains('.') {
            return Ok(Interval::exactly(ns));
        }
        let end = |low: i64, high: i64| Interval::between(low.max(0), high);
        let next = ns.checked_add(1_000).context("a time beyond 2^63 ns")?;
        Ok(match self {
            Self::AddingOne => end(ns - 1_000, (ns - 1).max(0)),
            Self::RoundingUp => end(ns - 999, ns),
            Self::Truncating => end(ns, next - 1),
            Self::Unknown => end(ns - 1_000, next - 1),
        })
    }

    /// Returns the first and the last value that belong to a bucket, in ns.
    fn bucket(self, label: Label, width: i64) -> (i64, i64) {
        let (low, high) = match self {
            Self::RoundingUp => (label.ns - 1_999, label.ns - 1_000),
            _ => (label.ns.saturating_sub(width), label.ns - 1),
        };
        (low.max(0), high.max(0))
    }
}

impl Thread {
    /// Builds the series of a core.
    ///
    /// # Errors
    /// A figure is no time, or there are more than 2^64 gaps.
    pub fn series(
        self,
        index: u32,
        generation: Generation,
        args: Option<&Args>,
        notes: &mut Vec<String>,
    ) -> Result<Series> {
        let width = self.width(generation, args);
        let extreme = |text: &Option<String>| text.as_deref().map(|text| generation.extreme(text)).transpose();
        let (mut min, mut max) = (extreme(&self.min)?, extreme(&self.max)?);
        if generation == Generation::Unknown && index == 0 {
            notes.push("2.1 or 2.10: shortest and longest gap may be 1 us less than printed".into());
        }
        let bias = self.bias.or_else(|| args.filter(|args| args.has('B', "bias")).map(|_| Bias(None)));
        let biased = bias.is_some();
        if biased && index == 0 {
            notes.push("-B: shortest and longest gap exclude the bias, buckets include it".into());
        }
        let mut bins = self.bins(generation, width, bias, max);
        let whole = self.last_includes || args.is_some() || max.is_some();
        let count = bins.iter().try_fold(0u64, |sum, bin| sum.checked_add(bin.count)).context("more than 2^64 gaps")?;
        let none = count == 0;
        let mut doubts = crossed(min, max);
        if !doubts.is_empty() {
            (min, max) = (None, None);
        }
        if !biased {
            doubt::ends(&bins, &mut min, &mut max, &mut doubts);
        }
        if self.last_includes && max.is_none() && !none {
            let last = self.rows.last().map_or(0, |row| generation.bucket(row.label, width).0);
            if let Some(bin) = bins.last_mut().filter(|bin| bin.low >= last) {
                bin.high = None;
            }
        }
        let facts = self.mhz.map(|mhz| ("counter_mhz".to_owned(), mhz));
        Ok(Series {
            quantity: "gap".into(),
            heading: "Gaps in a busy loop".into(),
            thread: index,
            cpu: self.cpu,
            unit: "ns",
            count: Some(count),
            min: min.filter(|_| !none),
            max: max.filter(|_| !none),
            bins,
            width: (width > 1).then_some(width.unsigned_abs()),
            edge: Edge::Upper,
            cut: !whole || !none && self.max.is_some() && max.is_none(),
            facts: facts.into_iter().collect(),
            doubts,
            ..Series::default()
        })
    }

    /// Returns the width of a bucket, in ns.
    fn width(&self, generation: Generation, args: Option<&Args>) -> i64 {
        match (generation, args) {
            (Generation::AddingOne | Generation::RoundingUp, _) => 1_000,
            (_, Some(args)) => width(args).unwrap_or(1_000),
            // Where the command line does not give the width, the greatest common divisor of the labels is never too narrow.
            (_, None) => self.rows.iter().map(|row| row.label.ns).fold(0, gcd).max(1),
        }
    }

    /// Returns the bins of the buckets that have gaps.
    fn bins(&self, generation: Generation, width: i64, bias: Option<Bias>, max: Option<Interval>) -> Vec<Bin> {
        let mut bins = Vec::new();
        // Buckets include the bias, and so does the longest gap, which the last bucket contains.
        let longest = match bias {
            None => max.and_then(|max| max.high),
            Some(Bias(ns)) => max.and_then(|max| max.high?.checked_add(ns?)),
        };
        let last = self.rows.len().saturating_sub(1);
        for (at, row) in self.rows.iter().enumerate().filter(|(_, row)| row.count > 0) {
            let (low, high) = generation.bucket(row.label, width);
            let low = if bias.is_some() && at == 0 { 0 } else { low };
            let beyond = at == last && self.last_includes;
            // latido does not believe a longest gap that is shorter than the bucket's lower end.
            let high = if beyond { longest.filter(|high| *high >= low) } else { Some(high) };
            bins.push(Bin { low, high, count: row.count });
        }
        bins
    }
}

/// Returns the doubts about both extremes if the shortest gap is longer than the longest.
fn crossed(min: Option<Interval>, max: Option<Interval>) -> Vec<Doubt> {
    let (Some(least), Some(most)) = (min, max) else { return Vec::new() };
    if most.high.is_none_or(|high| least.low <= high) {
        return Vec::new();
    }
    let why = format!("the shortest gap is {} ns and the longest {} ns", least.low, most.low);
    [Figure::Smallest, Figure::Largest].map(|figure| Doubt::of(figure, why.clone())).into()
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_extremes_are_what_their_version_means() {
        let label = Label::of("002").unwrap();
        let buckets =
            [Generation::AddingOne, Generation::RoundingUp, Generation::Truncating].map(|one| one.bucket(label, 1_000));
        assert_eq!(buckets, [(1_000, 1_999), (1, 1_000), (1_000, 1_999)]);
        let one = |generation: Generation| generation.extreme("1").unwrap();
        assert_eq!(one(Generation::AddingOne), Interval::between(0, 999));
        assert_eq!(one(Generation::RoundingUp), Interval::between(1, 1_000));
        assert_eq!(one(Generation::Truncating), Interval::between(1_000, 1_999));
        assert_eq!(one(Generation::Unknown), Interval::between(0, 1_999));
        assert_eq!(Generation::Truncating.extreme("0.023").unwrap(), Interval::exactly(23));
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal_ns("52450.362", 1_000), Some(52_450_362));
        assert_eq!(decimal_ns("0.5000", 1_000), Some(500));
        assert_eq!(
            (decimal_ns("0.0005", 1_000), decimal_ns("-1", 1_000), decimal_ns("1,5", 1_000)),
            (None, None, None)
        );
    }
}
