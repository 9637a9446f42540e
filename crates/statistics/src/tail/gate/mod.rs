//! The gate before the tail: tests whether the largest samples come from one unchanging cause.

mod arrivals;
mod fits;
mod mixture;
pub mod nulls;
mod trend;

use super::{
    gpd::{Excesses, Fit},
    observed::{Observed, Peak},
    threshold::Exceedances,
};
use serde::Serialize;

/// The level of each test with a p value. The simulation shows that all tests together refuse few sound runs.
pub const ALPHA: f64 = 0.003;
/// The level of the likelihood ratio of two causes, at small shapes and at large ones. A second cause is the hardest defect to see, so this
/// test may refuse more of the sound runs. Lognormal and gamma tails have small shapes; they bend a little, and exceed a level more often
/// than it states.
const ALPHA_OF_CAUSES: (f64, f64) = (0.018, 0.045);
/// The shape at which small shapes end, and the one at which large ones begin.
const SMALL_TO_LARGE: (f64, f64) = (0.15, 0.25);
/// The level of the test of the largest excesses: rare causes show there.
const ALPHA_OF_TOP: f64 = 0.012;
/// The longest pause within a burst, relative to the mean time between bursts. With longer pauses they are not bursts but different states
/// of the system.
const LONGEST_PAUSE: f64 = 0.25;
/// The smallest extremal index of bursts: where more than 20 exceedances crowd together, the system was in another state.
const SMALLEST_INDEX: f64 = 0.05;
/// How many clusters the gate needs.
pub const CLUSTERS: u64 = 50;
/// How many block maxima the gate needs.
pub const BLOCKS: u64 = 20;
/// From this shape on the gate refuses: means of squares no longer exist.
pub const LARGEST_SHAPE: f64 = 0.5;
/// How many different values a fit of bins needs at least.
const FEWEST_BINS: u64 = 5;

/// The outcome of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The test finds no objection to a fit.
    Passed,
    /// The fit was adapted: it uses clusters, or bins.
    Adapted,
    /// The test does not allow a level.
    Refused,
}

/// One test of the gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateTest {
    /// Its name.
    pub name: &'static str,
    /// The statistic, if the test could compute it.
    pub statistic: Option<f64>,
    /// The probability of a statistic at least this large in sound data, if the test has one.
    pub p: Option<f64>,
    /// The outcome.
    pub decision: Decision,
    /// The reason, in words.
    pub reason: String,
}

/// The outcome of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Levels are allowed, from a fit of the values.
    Accepted,
    /// Levels are allowed, from a fit of bins: the values are quantised.
    IntervalCensored,
    /// Levels are not allowed.
    Refused,
}

/// All tests, passed or not, and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// Each test.
    pub tests: Vec<GateTest>,
    /// The outcome of all tests.
    pub verdict: Verdict,
}

impl GateTest {
    /// Creates a test that refuses if p is below the level of the gate.
    fn by_p(name: &'static str, statistic: f64, p: f64, against: &str) -> Self {
        Self::by_p_at(ALPHA, name, statistic, p, against)
    }

    fn by_p_at(alpha: f64, name: &'static str, statistic: f64, p: f64, against: &str) -> Self {
        let refused = p < alpha;
        let reason = if refused {
            format!("{against} ({})", if p < 0.001 { "p < 0.001".into() } else { format!("p {p:.3}") })
        } else {
            format!("no sign that {against} (p {p:.2})")
        };
        Self { name, statistic: Some(statistic), p: Some(p), decision: decision(refused), reason }
    }

    fn by_rule(name: &'static str, statistic: f64, refused: bool, reason: String) -> Self {
        Self { name, statistic: Some(statistic), p: None, decision: decision(refused), reason }
    }

    fn impossible(name: &'static str, reason: String) -> Self {
        Self { name, statistic: None, p: None, decision: Decision::Refused, reason }
    }
}

fn decision(refused: bool) -> Decision {
    if refused { Decision::Refused } else { Decision::Passed }
}

/// Runs every test.
pub fn gate(observed: &Observed<'_>, exceedances: &Exceedances, fit: &Fit) -> Gate {
    let mut tests = vec![clusters(exceedances), distinct(exceedances)];
    tests.extend(trend::tests(observed, exceedances.threshold));
    tests.push(extremal_index(observed, exceedances));
    tests.extend(arrivals::tests(observed, exceedances));
    tests.push(shape(fit));
    tests.extend(fits::tests(exceedances, fit));
    let refused = tests.iter().any(|test| test.decision == Decision::Refused);
    let verdict = match (refused, &exceedances.excesses) {
        (true, _) => Verdict::Refused,
        (false, Excesses::Exact(_)) => Verdict::Accepted,
        (false, Excesses::Binned(_)) => Verdict::IntervalCensored,
    };
    Gate { tests, verdict }
}

fn clusters(exceedances: &Exceedances) -> GateTest {
    let count = exceedances.peaks.len() as u64;
    GateTest::by_rule(
        "clusters",
        count as f64,
        count < CLUSTERS,
        format!("{count} clusters above the threshold; the minimum is {CLUSTERS}"),
    )
}

fn distinct(exceedances: &Exceedances) -> GateTest {
    let count = exceedances.distinct;
    let refused = count < FEWEST_BINS;
    let mut reason = format!("{count} different values; the minimum is {FEWEST_BINS}");
    if let Some(step) = exceedances.step_ns.filter(|_| !refused) {
        reason = format!("values in steps of {step} ns: fitted as bins");
    }
    let test = GateTest::by_rule("distinct", count as f64, refused, reason);
    if exceedances.step_ns.is_some() && !refused { GateTest { decision: Decision::Adapted, ..test } } else { test }
}

/// Writes a count with its noun, in the singular for 1: `1 sample`, `3 samples`.
fn many(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn extremal_index(observed: &Observed<'_>, exceedances: &Exceedances) -> GateTest {
    let (theta, gap) = (exceedances.extremal_index, exceedances.gap);
    let name = "extremal-index";
    if gap == 0 {
        return GateTest::by_rule(
            name,
            theta,
            false,
            format!("exceedances come one by one (extremal index {theta:.2})"),
        );
    }
    if theta < SMALLEST_INDEX {
        let reason = format!("exceedances cluster by {:.0}: a separate state, not bursts", 1.0 / theta);
        return GateTest::by_rule(name, theta, true, reason);
    }
    let between = observed.count as f64 / exceedances.peaks.len().max(1) as f64;
    if gap as f64 > LONGEST_PAUSE * between {
        let reason = format!(
            "exceedances cluster, but not in bursts: pauses up to {}, {between:.0} between clusters",
            many(gap, "sample")
        );
        return GateTest::by_rule(name, theta, true, reason);
    }
    let reason = format!(
        "exceedances come in bursts (extremal index {theta:.2}): latido takes the largest of each, {} apart",
        many(gap, "sample")
    );
    GateTest { decision: Decision::Adapted, ..GateTest::by_rule(name, theta, false, reason) }
}

fn shape(fit: &Fit) -> GateTest {
    let xi = fit.gpd.xi;
    let refused = out_of_bounds(fit);
    let why = if fit.at_bound {
        "at the bound of the fit"
    } else if refused {
        "too heavy for any level"
    } else {
        "within bounds"
    };
    GateTest::by_rule("shape", xi, refused, format!("xi = {xi:.2}: {why}"))
}

/// Returns the level of the likelihood ratio of two causes for a fitted shape.
fn alpha_of_causes(xi: f64) -> f64 {
    let ((small, large), (end, begin)) = (ALPHA_OF_CAUSES, SMALL_TO_LARGE);
    small + (large - small) * ((xi - end) / (begin - end)).clamp(0.0, 1.0)
}

fn out_of_bounds(fit: &Fit) -> bool {
    fit.at_bound || fit.gpd.xi >= LARGEST_SHAPE
}
