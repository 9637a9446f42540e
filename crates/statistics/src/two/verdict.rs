//! One of four verdicts on two sides, with the accompanying results.

use super::{
    P,
    anderson_darling::{AndersonDarling, anderson_darling},
    hodges_lehmann::{Difference, hodges_lehmann},
    mann_whitney::{MannWhitney, cliffs_delta, mann_whitney, repeats_needed, smallest_p},
    permutation::permutation,
    uneven::{Uneven, uneven},
};
use crate::{
    Refusal,
    refusal::{check, logs},
};
use serde::Serialize;

/// The level of a verdict; for a family of verdicts after Holm's adjustment.
pub const LEVEL: f64 = 0.05;

/// How a comparison relates b to a.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// b/a; all values are above zero.
    Ratio,
    /// b - a; for values that may be zero.
    Difference,
}

/// The question about two sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Question {
    /// Ratio or difference.
    pub scale: Scale,
    /// The null hypothesis: for a ratio the expected factor (`times`), 1 where the user expects no change; for a difference the expected
    /// difference (`by`), otherwise 0. The verdict states whether the ratio (difference) is lower or higher than this.
    pub null: f64,
    /// How far from the null the ratio may be to count as equal, .05 for 5 % (for a difference, in units of the values).
    pub margin: Option<f64>,
}

impl Question {
    /// Whether b/a is 1.
    pub const RATIO: Self = Self { scale: Scale::Ratio, null: 1.0, margin: None };
    /// Whether b - a is 0.
    pub const DIFFERENCE: Self = Self { scale: Scale::Difference, null: 0.0, margin: None };
}

/// The verdict on b.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Lower than the null, at 5 % for the family.
    Lower,
    /// Higher than the null, at 5 % for the family.
    Higher,
    /// The 90 % interval is within the margin (two one-sided tests; Schuirmann, JPB 15, 1987). This comes before lower and higher: a margin
    /// means that smaller differences do not count.
    Equivalent,
    /// None of these verdicts.
    Undecided {
        /// The reason, for the reader of a report.
        reason: String,
    },
}

/// A comparison of two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The question.
    pub question: Question,
    /// Numbers of repeats of a and b.
    pub repeats: (u64, u64),
    /// The test that decides: b against a shifted by the null.
    pub mann_whitney: MannWhitney,
    /// Where the sides may spread differently: the test that decides instead, and gives the estimates their limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uneven: Option<Uneven>,
    /// The permutation test of mean logarithms (of means, for differences), also with a shifted by the null.
    pub permutation: P,
    /// b/a or b - a with its 95 % interval, not shifted.
    pub estimate: Difference,
    /// The same with 90 %, which decides on equivalence.
    pub estimate_90: Difference,
    /// Cliff's delta of b over a, not shifted.
    pub cliffs_delta: f64,
    /// The test of shapes; `None` with fewer than two repeats per side or equal values.
    pub anderson_darling: Option<AndersonDarling>,
}

/// Compares b with a. Returns `Err` where a side is empty, a value is not finite, or a ratio question has values that are not above zero.
pub fn compare(a: &[f64], b: &[f64], question: Question) -> Result<Comparison, Refusal> {
    check(a, "repeats", 1)?;
    check(b, "repeats", 1)?;
    let sound = question.null.is_finite() && question.margin.is_none_or(|margin| margin.is_finite() && margin >= 0.0);
    if !sound || question.scale == Scale::Ratio && question.null <= 0.0 {
        return Err(Refusal::OutOfRange {
            what: "a comparison needs a finite null hypothesis, above zero for ratios, and no negative margin",
        });
    }
    // Multiply before taking logarithms, rather than adding to them: then a tie at exactly the null stays a tie.
    let (shifted, b_test, a_est, b_est) = match question.scale {
        Scale::Ratio => {
            let shifted: Vec<f64> = a.iter().map(|a| a * question.null).collect();
            (logs(&shifted)?, logs(b)?, logs(a)?, logs(b)?)
        }
        Scale::Difference => (a.iter().map(|a| a + question.null).collect(), b.to_vec(), a.to_vec(), b.to_vec()),
    };
    check(&shifted, "repeats", 1)?;
    let back = |difference: Difference| if question.scale == Scale::Ratio { difference.exp() } else { difference };
    let uneven = uneven(&shifted, &b_test)?;
    let estimated = |confidence| match &uneven {
        Some(uneven) => uneven.estimate(&a_est, &b_est, confidence),
        None => hodges_lehmann(&a_est, &b_est, confidence),
    };
    Ok(Comparison {
        question,
        repeats: (a.len() as u64, b.len() as u64),
        mann_whitney: mann_whitney(&shifted, &b_test)?,
        permutation: permutation(&shifted, &b_test)?,
        estimate: back(estimated(0.95)?),
        estimate_90: back(estimated(0.90)?),
        uneven,
        cliffs_delta: cliffs_delta(mann_whitney(a, b)?.u_a, a.len(), b.len()).unwrap_or(0.0),
        anderson_darling: anderson_darling(&[&a_est, &b_est]).ok(),
    })
}

impl Comparison {
    /// Returns the p that decides, before the adjustment for a family.
    pub fn p(&self) -> f64 {
        self.uneven.map_or(self.mann_whitney.p.p, |uneven| uneven.p)
    }

    /// Returns the verdict, given the adjusted p: [`Self::p`] itself if there is no other verdict.
    pub fn verdict(&self, p: f64, family: u64) -> Verdict {
        if self.equivalent() {
            return Verdict::Equivalent;
        }
        if p <= LEVEL {
            let MannWhitney { u_a, u_b, .. } = self.mann_whitney;
            return if u_b > u_a { Verdict::Higher } else { Verdict::Lower };
        }
        Verdict::Undecided { reason: self.why_undecided(p, family.max(1)) }
    }

    fn equivalent(&self) -> bool {
        let (Some(margin), Some((low, high))) = (self.question.margin, self.estimate_90.interval) else { return false };
        let null = self.question.null;
        match self.question.scale {
            Scale::Ratio => low >= null / (1.0 + margin) && high <= null * (1.0 + margin),
            Scale::Difference => low >= null - margin && high <= null + margin,
        }
    }

    fn why_undecided(&self, p: f64, family: u64) -> String {
        let (n, m) = self.repeats;
        let level = LEVEL / family as f64;
        if smallest_p(n, m) > level {
            let repeats = match (n, m) {
                (1, 1) => "one repeat per side".to_owned(),
                (n, m) if n == m => format!("{n} repeats per side"),
                (n, m) => format!("{n} and {m} repeats"),
            };
            let of = if family > 1 { format!(" for one of {family} verdicts") } else { String::new() };
            let needed = repeats_needed(level).map(|n| format!("; it takes {n} per side")).unwrap_or_default();
            return format!("{repeats} cannot reach 5 %{of}{needed}");
        }
        let margin = if self.question.margin.is_some() { ", and the interval is wider than the margin" } else { "" };
        let uneven =
            if self.uneven.is_some() { "; the sides may spread differently, and p allows for that" } else { "" };
        format!("p {p:.2} is above 5 %{margin}{uneven}")
    }
}

/// Returns the verdicts of a family of comparisons, with their p values after Holm.
pub fn verdicts(family: &[Comparison]) -> Vec<(f64, Verdict)> {
    let p: Vec<f64> = family.iter().map(Comparison::p).collect();
    let count = family.len() as u64;
    family.iter().zip(holm(&p)).map(|(comparison, p)| (p, comparison.verdict(p, count))).collect()
}

/// Returns the p values adjusted after Holm (Scandinavian Journal of Statistics 6, 1979), in the given order. If the p values below 5 %
/// count as findings, the probability that any of them is false is at most 5 % for the whole family.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = p.iter().copied().zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut adjusted = vec![1.0; p.len()];
    let (mut least, mut left) = (0.0_f64, p.len());
    for (p, at) in order {
        least = least.max((p * left as f64).min(1.0));
        if let Some(place) = adjusted.get_mut(at) {
            *place = least;
        }
        left -= 1;
    }
    adjusted
}
