//! The gate before the tail: whether the largest samples come from one unchanging cause, test by test.

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

/// The level of each test that has a p value: all of them together refuse few sound runs, see the simulation.
pub const ALPHA: f64 = 0.003;
/// That of the likelihood ratio of two causes, at small shapes and at large ones: the second cause is the hardest to see, and
/// worth more of the refusals of sound runs. At small shapes lie lognormal and gamma tails, which bend a little and pass a
/// level more often than it says.
const ALPHA_OF_CAUSES: (f64, f64) = (0.018, 0.045);
/// Where small shapes end and large ones begin.
const SMALL_TO_LARGE: (f64, f64) = (0.15, 0.25);
/// That of the largest: seldom causes show there.
const ALPHA_OF_TOP: f64 = 0.012;
/// How long the pauses within a burst may be, in mean times between bursts: longer ones are no bursts but regimes.
const LONGEST_PAUSE: f64 = 0.25;
/// The smallest extremal index of bursts: where more than 20 exceedances crowd together, the system was in another state.
const SMALLEST_INDEX: f64 = 0.05;
/// How many clusters it takes.
pub const CLUSTERS: u64 = 50;
/// How many block maxima it takes.
pub const BLOCKS: u64 = 20;
/// From this shape on nothing is said: means of squares no longer exist.
pub const LARGEST_SHAPE: f64 = 0.5;
/// How many different values a fit of bins needs at least.
const FEWEST_BINS: u64 = 5;

/// What one test says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Nothing stands against a fit.
    Passed,
    /// The fit was made to suit: of clusters, or of bins.
    Adapted,
    /// No level may be given.
    Refused,
}

/// One test of the gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateTest {
    /// Its name.
    pub name: &'static str,
    /// What it computes, if it could.
    pub statistic: Option<f64>,
    /// The probability of as much in sound data, where it is a test of that kind.
    pub p: Option<f64>,
    /// What follows.
    pub decision: Decision,
    /// Why, in words.
    pub reason: String,
}

/// What the gate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Levels may be given, of a fit of the values.
    Accepted,
    /// Levels may be given, of a fit of bins: the values are quantised.
    IntervalCensored,
    /// No level may be given.
    Refused,
}

/// All tests, passed or not, and what follows from them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// Each test.
    pub tests: Vec<GateTest>,
    /// What follows.
    pub verdict: Verdict,
}

impl GateTest {
    /// A test that refuses below the level of the gate.
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

/// Asks every test.
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
        format!("{count} clusters above the threshold, and it takes {CLUSTERS}"),
    )
}

fn distinct(exceedances: &Exceedances) -> GateTest {
    let count = exceedances.distinct;
    let refused = count < FEWEST_BINS;
    let mut reason = format!("{count} different values, and it takes {FEWEST_BINS}");
    if let Some(step) = exceedances.step_ns.filter(|_| !refused) {
        reason = format!("values in steps of {step} ns: fitted as bins");
    }
    let test = GateTest::by_rule("distinct", count as f64, refused, reason);
    if exceedances.step_ns.is_some() && !refused { GateTest { decision: Decision::Adapted, ..test } } else { test }
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
        let reason = format!("exceedances crowd together by {:.0}: no bursts, but a state of its own", 1.0 / theta);
        return GateTest::by_rule(name, theta, true, reason);
    }
    let between = observed.count as f64 / exceedances.peaks.len().max(1) as f64;
    if gap as f64 > LONGEST_PAUSE * between {
        let reason = format!(
            "exceedances crowd together, but not in bursts: pauses up to {gap} samples, {between:.0} between crowds"
        );
        return GateTest::by_rule(name, theta, true, reason);
    }
    let reason = format!(
        "exceedances come in bursts (extremal index {theta:.2}): the largest of each is taken, {gap} samples apart"
    );
    GateTest { decision: Decision::Adapted, ..GateTest::by_rule(name, theta, false, reason) }
}

fn shape(fit: &Fit) -> GateTest {
    let xi = fit.gpd.xi;
    let refused = out_of_bounds(fit);
    let why = if fit.at_bound {
        "at the bound of what can be fitted"
    } else if refused {
        "too heavy for any level"
    } else {
        "within bounds"
    };
    GateTest::by_rule("shape", xi, refused, format!("xi = {xi:.2}: {why}"))
}

/// The level of the likelihood ratio of two causes at a fitted shape.
fn alpha_of_causes(xi: f64) -> f64 {
    let ((small, large), (end, begin)) = (ALPHA_OF_CAUSES, SMALL_TO_LARGE);
    small + (large - small) * ((xi - end) / (begin - end)).clamp(0.0, 1.0)
}

fn out_of_bounds(fit: &Fit) -> bool {
    fit.at_bound || fit.gpd.xi >= LARGEST_SHAPE
}
