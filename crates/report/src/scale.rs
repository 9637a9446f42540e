//! In which unit times are written: one for a table where that reads well, else one a column, else one a cell.

/// Values farther apart than this do not share a unit: the smallest would drown in digits of the largest.
const APART: f64 = 1e4;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// `us`.
    pub name: &'static str,
    ns: f64,
}

const UNITS: [Unit; 4] = [
    Unit { name: "s", ns: 1e9 },
    Unit { name: "ms", ns: 1e6 },
    Unit { name: "us", ns: 1e3 },
    Unit { name: "ns", ns: 1.0 },
];

/// The largest unit that leaves this magnitude at 1 or more.
fn fitting(magnitude: f64) -> Unit {
    UNITS.into_iter().find(|unit| magnitude >= unit.ns).unwrap_or(UNITS[3])
}

/// The smallest and the largest magnitude above zero.
fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let magnitudes = values.map(f64::abs).filter(|value| *value > 0.0);
    magnitudes.fold(None, |found, value| {
        let (low, high) = found.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// The unit that all of these values in ns can share; `None` where they are too far apart.
pub fn common(values: impl Iterator<Item = f64>) -> Option<Unit> {
    let Some((low, high)) = extremes(values) else { return Some(UNITS[3]) };
    (high / low <= APART).then(|| fitting(low))
}

/// Values in ns as a column of one unit, its decimal points below each other; without a unit each brings its own.
pub fn column(values: &[Option<f64>], unit: Option<Unit>) -> Vec<String> {
    let known = || values.iter().flatten().copied();
    let whole = known().all(|value| value.fract() == 0.0);
    let digits = match (unit, extremes(known())) {
        (Some(unit), _) if unit.ns == 1.0 && whole => 0,
        (Some(unit), Some((low, high))) => digits(low / unit.ns, high / low),
        _ => 0,
    };
    let text = |value: f64| match unit {
        _ if value == 0.0 => "0".into(),
        Some(unit) => format!("{:.digits$}", value / unit.ns),
        None => short(value),
    };
    values.iter().map(|value| value.map_or_else(|| "-".into(), text)).collect()
}

/// Three digits for the smallest, two where the largest has three more before the point: never none.
fn digits(smallest: f64, ratio: f64) -> usize {
    let point = match smallest {
        s if s >= 100.0 => 0,
        s if s >= 10.0 => 1,
        s if s >= 1.0 => 2,
        s => 2 + (-s.log10()).ceil() as usize,
    };
    if ratio >= 1e3 { point.saturating_sub(1) } else { point }
}

/// A time with its unit in as few characters as three digits take: `870ns`, `24.6us`, `2.01s`.
pub fn short(ns: f64) -> String {
    let unit = fitting(ns.abs());
    let shown = ns / unit.ns;
    let digits = if unit.ns == 1.0 && ns.fract() == 0.0 { 0 } else { digits(shown.abs(), 1.0) };
    format!("{shown:.digits$}{}", unit.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(values: &[f64]) -> Vec<String> {
        let unit = common(values.iter().copied());
        let mut cells = column(&values.iter().copied().map(Some).collect::<Vec<_>>(), unit);
        cells.push(unit.map_or("each", |unit| unit.name).into());
        cells
    }

    #[test]
    fn the_unit_keeps_the_smallest_readable() {
        assert_eq!(written(&[24_900.0, 228_000.0]), ["24.9", "228.0", "us"]);
        assert_eq!(written(&[9_790.0, 13_800.0, 4_800_000.0]), ["9.79", "13.80", "4800.00", "us"]);
        assert_eq!(written(&[2_625.0, 2_280_000.0, 9_000_000.0]), ["2.6", "2280.0", "9000.0", "us"]);
        assert_eq!(written(&[9.0, 2_100.0]), ["9", "2100", "ns"]);
        assert_eq!(written(&[9.84, 11.4]), ["9.84", "11.40", "ns"]);
        assert_eq!(written(&[0.0, 0.0]), ["0", "0", "ns"]);
        assert_eq!(written(&[0.0, 1.5e9]), ["0", "1.50", "s"]);
    }

    #[test]
    fn what_is_far_apart_has_a_unit_each() {
        assert_eq!(written(&[24_600.0, 2.01e9, 10.0, 0.0]), ["24.6us", "2.01s", "10ns", "0", "each"]);
    }

    proptest::proptest! {
        /// Whatever the company, a value above zero is never written as zero.
        #[test]
        fn nothing_is_rounded_away(values: Vec<u32>, powers in proptest::collection::vec(0i32..12, 1..8)) {
            let all: Vec<f64> =
                values.iter().zip(&powers).map(|(value, power)| f64::from(*value) * 10f64.powi(power - 9)).collect();
            for (value, text) in all.iter().zip(written(&all)) {
                proptest::prop_assert_eq!(*value == 0.0, !text.contains(|c: char| c.is_ascii_digit() && c != '0'), "{}", text);
            }
        }
    }
}
