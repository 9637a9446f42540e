//! Turns comparisons into sentences: both figures, how far apart they are, how certain that is, and what follows.

use super::measured::{Amount, Apart, Compared, LeftOut, Pair, Ruling, Unfit};
use crate::span::{Span, spans};

/// Returns the number of decimals that give three significant digits.
pub(super) fn decimals(value: f64) -> usize {
    match value.abs() {
        size if size > 0.0 && size.is_finite() => (2.0 - size.log10().floor()).clamp(0.0, 12.0) as usize,
        _ => 0,
    }
}

fn three(value: f64) -> Span {
    Span::Quantity { value, unit: String::new(), decimals: Some(decimals(value)) }
}

/// `4 repeats per side`, `4 against 2 repeats`.
pub(crate) fn sides(n: u64, m: u64) -> String {
    match (n, m) {
        (1, 1) => "one run per side".to_owned(),
        (n, m) if n == m => format!("{n} repeats per side"),
        (n, 1) => format!("{n} repeats against 1"),
        (n, m) => format!("{n} against {m} repeats"),
    }
}

impl Pair {
    /// Returns `isolated 95.0 µs against stock 300 µs, ratio 0.317 (0.25 to 0.4), p 0.0011 of 24, 10 repeats per side`, and the reason if
    /// the comparison is undecided.
    pub fn spans(&self) -> Vec<Span> {
        let Self { own, other, apart, p, ruling, left_out, each: _ } = self;
        let apart = apart.as_ref().map(|apart| [spans![", "], apart.spans()].concat()).unwrap_or_default();
        // With one repeat per side the p-value says nothing, so latido omits it.
        let told = p.filter(|_| !matches!(ruling, Ruling::TooFew(_)));
        let p = told.map(|(p, family)| probability(p, family)).unwrap_or_default();
        let left_out = left_out.iter().flat_map(LeftOut::spans).collect();
        [
            own.spans(),
            spans![" against "],
            other.spans(),
            apart,
            p,
            spans![", ", self.repeats()],
            self.ruling(),
            left_out,
        ]
        .concat()
    }

    fn repeats(&self) -> String {
        sides(self.own.repeats as u64, self.other.repeats as u64)
    }

    fn ruling(&self) -> Vec<Span> {
        match &self.ruling {
            Ruling::Decided => Vec::new(),
            Ruling::Equivalent(margin) => spans!["; equal within ", three(margin * 100.0), " %"],
            Ruling::Chance => spans!["; undecided: this may be chance"],
            Ruling::NoneLeft(side) => spans!["; undecided: ", side.as_str(), " has no usable repeat"],
            Ruling::TooFew(needed) => {
                let family = self.p.map_or(1, |(_, family)| family);
                let of = if family > 1 { format!(" for one of {family} comparisons") } else { String::new() };
                let of_each = if self.own.repeats == self.other.repeats { "" } else { " of each" };
                let needed = needed.map(|needed| format!("; {needed}{of_each} needed")).unwrap_or_default();
                spans![format!("; undecided: {} cannot reach 5 %{of}{needed}", self.repeats())]
            }
        }
    }
}

impl Compared {
    fn spans(&self) -> Vec<Span> {
        let amount = self.amount.as_ref().map_or_else(|| spans!["none"], |amount| vec![amount.span()]);
        [spans![self.name.as_str(), " "], amount].concat()
    }
}

/// `, p 0.0011 of 24`
fn probability(p: f64, family: usize) -> Vec<Span> {
    let p = if p < 1e-4 { spans![", p below 0.0001"] } else { spans![format!(", p {p:.*}", decimals(p).min(4))] };
    let of = if family > 1 { spans![format!(" of {family}")] } else { Vec::new() };
    [p, of].concat()
}

impl Apart {
    fn spans(&self) -> Vec<Span> {
        let within = |limits: Option<(Span, Span)>| match limits {
            Some((low, high)) => spans![" (", low, " to ", high, ")"],
            None => Vec::new(),
        };
        match self {
            Self::Ratio { value, interval } => {
                [spans!["ratio ", three(*value)], within(interval.map(|(low, high)| (three(low), three(high))))]
                    .concat()
            }
            Self::Difference { value, interval } => {
                let limits = interval.as_ref().map(|(low, high): &(Amount, Amount)| (low.span(), high.span()));
                [spans!["difference ", value.span()], within(limits)].concat()
            }
        }
    }
}

impl LeftOut {
    fn spans(&self) -> Vec<Span> {
        let many = match self.repeats {
            1 => "; one repeat".to_owned(),
            many => format!("; {many} repeats"),
        };
        let why = match &self.why {
            Unfit::Doubt(reason) => reason.as_ref().map_or_else(|| spans!["in doubt"], |reason| reason.spans()),
            Unfit::ForeignAbove(ns) => {
                spans!["all above ", Span::Time(*ns), " may be time of other programs or the host"]
            }
            Unfit::Copy => spans!["identical to another, and identical members count once"],
            Unfit::Missing(missing) => missing.spans(),
        };
        [spans![many, " of ", self.side.as_str(), " left out: "], why].concat()
    }
}
