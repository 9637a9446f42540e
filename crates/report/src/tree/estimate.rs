//! A value with its uncertainty, as one cell of a table.

/// A value with the limits of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value, in the stored unit.
    pub value: f64,
    /// The lower limit, if there is one.
    pub lower: Option<f64>,
    /// The upper limit, if there is one.
    pub upper: Option<f64>,
    /// The text for a missing limit: `n too small`, `open`.
    pub without: &'static str,
}

impl Estimate {
    /// Returns `24.9 (20.1 to 30.2)`; `number` formats each number.
    pub fn text(&self, number: impl Fn(f64) -> String) -> String {
        let limit =
            |limit: Option<f64>| limit.filter(|v| v.is_finite()).map_or_else(|| self.without.to_owned(), &number);
        match (self.lower, self.upper) {
            (None, None) => format!("{} ({})", number(self.value), self.without),
            _ => format!("{} ({} to {})", number(self.value), limit(self.lower), limit(self.upper)),
        }
    }
}
