//! The tail of one run: fit, gate, and the levels that are exceeded once in an hour, a day, a year.

use latido_statistics::{
    Refusal,
    tail::{
        Level, Observed, Peak, default_k,
        gate::{Decision, Gate, Verdict},
        gpd::{Fit, Interval},
        tail,
    },
};
use serde::Serialize;

/// The return periods by name, in seconds.
const PERIODS: [(&str, f64); 3] = [("once an hour", 3_600.0), ("once a day", 86_400.0), ("once a year", 31_557_600.0)];
/// The return periods where the length is not known, as multiples of the number of samples.
const TIMES: [(&str, f64); 2] = [("once in 10 such runs", 10.0), ("once in 100 such runs", 100.0)];
/// The most blocks, and the fewest samples per block.
const BLOCKS: (u64, u64) = (500, 20);

/// The tail, or why there is none.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// A fit with the result of its gate.
    Fitted(Box<Fitted>),
    /// No fit.
    Refused {
        /// How many of the largest samples the fit was to use.
        asked: u64,
        /// The reason, ready to print.
        refused: String,
    },
}

/// A fitted tail.
#[derive(Debug, Clone, Serialize)]
pub struct Fitted {
    /// How many of the largest samples the fit was to use.
    pub asked: u64,
    /// The threshold u = x_(n-k), ns.
    pub u: i64,
    /// The number of samples strictly above the threshold.
    pub exceedances: u64,
    /// The number that is left after declustering: the fit uses these.
    pub k: u64,
    /// The extremal index (Ferro & Segers); 1 for independent samples.
    pub extremal_index: f64,
    /// The step of the values, ns, if the fit treats them as quantised.
    pub step: Option<f64>,
    /// The shape with its profile interval; above 0 is heavy.
    pub xi: Interval,
    /// The scale, ns.
    pub sigma: f64,
    /// The log-likelihood at the estimate, for excesses in ns.
    pub log_likelihood: f64,
    /// Whether the shape is the smallest or largest allowed.
    pub at_bound: bool,
    /// The number of blocks for the tests over time.
    pub blocks: u64,
    /// Every test, and the verdict.
    pub gate: Gate,
    /// The levels under the observed causes.
    pub levels: Vec<Return>,
}

/// A level that is exceeded once per period.
#[derive(Debug, Clone, Serialize)]
pub struct Return {
    /// The name of the period.
    pub once: &'static str,
    /// The period in seconds, where the interval of samples is known.
    pub period_s: Option<f64>,
    /// The period in samples.
    pub samples: f64,
    /// The level with its profile interval, ns.
    pub level: Option<Interval>,
    /// Why there is no level.
    pub refused: Option<String>,
    #[serde(skip)]
    brief: &'static str,
}

/// Computes the tail of samples in order of time; `sorted` is their sorted copy.
pub fn of(samples: &[i64], sorted: &[i64], k: Option<u64>, length_s: Option<f64>) -> Answer {
    let count = samples.len() as u64;
    let asked = k.unwrap_or_else(|| default_k(count, count));
    let threshold = count.checked_sub(asked + 1).and_then(|at| sorted.get(usize::try_from(at).ok()?)).copied();
    let indexed = (0..).zip(samples).filter(|(_, value)| threshold.is_some_and(|least| **value >= least));
    let peaks: Vec<Peak> = indexed.map(|(index, value)| Peak { index, value: *value }).collect();
    let block_maxima = block_maxima(samples);
    // Without a known length each sample takes one second: the levels then refer to numbers of samples.
    let length = length_s.unwrap_or(count as f64);
    of_observed(
        &Observed { peaks: &peaks, count, length_s: length, block_maxima: &block_maxima },
        asked,
        length_s.is_some(),
    )
}

/// Computes the tail of a run above its `asked` largest samples; `timed` is whether the run's length is known.
pub fn of_observed(observed: &Observed, asked: u64, timed: bool) -> Answer {
    let count = observed.count;
    fitted(observed, asked, timed).unwrap_or_else(|refusal| {
        let refused = match refusal {
            Refusal::TooSmall { needed, .. } if asked >= count => {
                format!("too few samples: {count}; a fit to the {asked} largest needs {}", needed.max(asked + 1))
            }
            Refusal::TooSmall { of: "exceedances", needed, given } => {
                format!("too few samples are above the threshold: {given}; a fit needs {needed}")
            }
            other => other.to_string(),
        };
        Answer::Refused { asked, refused }
    })
}

fn fitted(observed: &Observed, k: u64, timed: bool) -> Result<Answer, Refusal> {
    let count = observed.count;
    let asked: Vec<(&str, f64)> = match timed {
        true => PERIODS.to_vec(),
        false => TIMES.iter().map(|(once, times)| (*once, times * count as f64)).collect(),
    };
    let periods: Vec<f64> = asked.iter().map(|(_, period)| *period).collect();
    let found = tail(observed, k, &periods)?;
    let all: Vec<Option<Level>> = match found.levels {
        Some(levels) => levels.into_iter().map(Some).collect(),
        None => vec![None; asked.len()],
    };
    let levels = asked.into_iter().zip(all).map(|((once, period), level)| {
        let (level, refused) = told(level, timed);
        let samples = count as f64 * (period / observed.length_s);
        let (brief, refused) = refused.unzip();
        Return { once, period_s: timed.then_some(period), samples, level, refused, brief: brief.unwrap_or_default() }
    });
    let Fit { gpd, log_likelihood, at_bound, .. } = found.fit;
    Ok(Answer::Fitted(Box::new(Fitted {
        asked: k,
        u: found.threshold,
        exceedances: found.exceedances,
        k: found.clusters,
        extremal_index: found.extremal_index,
        step: found.step_ns,
        xi: found.shape,
        sigma: gpd.sigma,
        log_likelihood,
        at_bound,
        blocks: observed.block_maxima.len() as u64,
        gate: found.gate,
        levels: levels.collect(),
    })))
}

/// Returns a level, or why there is none: in two words and in a sentence.
fn told(level: Option<Level>, timed: bool) -> (Option<Interval>, Option<(&'static str, String)>) {
    let none = |brief, why: &str| (None, Some((brief, why.to_owned())));
    match level {
        Some(Level::Estimated { level, .. }) if level.value.is_finite() => (Some(level), None),
        Some(Level::Estimated { .. }) => none("too far", "the estimate is not finite"),
        Some(Level::TooFar { furthest_s, .. }) if timed => {
            let furthest = crate::words::roughly(furthest_s).replace('\u{a0}', " ");
            let why = format!("more than 100 times what was observed; latido estimates up to once in {furthest}");
            none("too far", &why)
        }
        Some(Level::TooFar { .. }) => none("too far", "more than 100 times what was observed"),
        Some(Level::BelowThreshold { .. }) => {
            none("below u", "so frequent that the level is below the threshold; see the quantiles")
        }
        None => none("none", "the gate refuses"),
    }
}

/// Returns into how many equal blocks of time `count` samples are divided.
pub(super) fn blocks(count: u64) -> u64 {
    let (most, size) = BLOCKS;
    (count / size).min(most)
}

/// Returns the largest sample of each of equal blocks of time; the samples are divided evenly.
fn block_maxima(samples: &[i64]) -> Vec<i64> {
    let blocks = blocks(samples.len() as u64) as usize;
    let cut = |block: usize| block * samples.len() / blocks.max(1);
    (0..blocks).filter_map(|block| samples.get(cut(block)..cut(block + 1))?.iter().max().copied()).collect()
}

impl Answer {
    /// Returns why there is no level, each reason in words; empty where levels may be given.
    pub fn reasons(&self) -> Vec<&str> {
        match self {
            Self::Refused { refused, .. } => vec![refused],
            Self::Fitted(found) => found.reasons(),
        }
    }
}

impl Return {
    /// Returns why there is no level, in two words.
    pub fn brief(&self) -> &'static str {
        self.brief
    }
}

impl Fitted {
    /// Returns the reasons against levels; empty where they may be given.
    pub fn reasons(&self) -> Vec<&str> {
        let refused = self.gate.tests.iter().filter(|test| test.decision == Decision::Refused);
        refused.map(|test| test.reason.as_str()).collect()
    }

    /// Returns the verdict of the gate in a few words.
    pub fn verdict(&self) -> &'static str {
        match self.gate.verdict {
            Verdict::Accepted => "open",
            Verdict::IntervalCensored => "open, in bins",
            Verdict::Refused => "shut",
        }
    }
}
