//! Which figure latido compares, and which quantity decides.

use super::Quantity;
use latido_model::plan::{Statistic, expect};
use std::fmt;

/// `max`, or `wakeup.latency.p99.9`: then only that quantity decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The figure of each repeat.
    pub statistic: Statistic,
    /// Probe and quantity; without them, all quantities to which limits apply.
    pub only: Option<(String, String)>,
}

impl Default for Metric {
    fn default() -> Self {
        Self { statistic: Statistic::Max, only: None }
    }
}

impl std::str::FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(statistic) = expect::statistic(text) {
            return Ok(Self { statistic, only: None });
        }
        let mut parts = text.splitn(3, '.');
        let named = || Some((parts.next()?.to_owned(), parts.next()?.to_owned(), expect::statistic(parts.next()?)?));
        let mut named = named;
        let Some((probe, quantity, statistic)) = named() else {
            return Err(format!(
                "`{text}` is neither a statistic (max, p99.9, mean, sd, count, missed, late, above100us, share100us) nor \
                 PROBE.QUANTITY.STATISTIC, for example wakeup.latency.max"
            ));
        };
        Ok(Self { statistic, only: Some((probe, quantity)) })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.only {
            Some((probe, quantity)) => write!(f, "{probe}.{quantity}.{}", self.statistic),
            None => write!(f, "{}", self.statistic),
        }
    }
}

impl Metric {
    /// Whether a quantity of a probe decides.
    pub fn decides(&self, probe: &str, quantity: &str) -> bool {
        self.only.as_ref().is_none_or(|(p, q)| (p.as_str(), q.as_str()) == (probe, quantity))
    }

    /// Whether a comparison includes a quantity: those to which limits apply, and the named one.
    pub fn looks_at(&self, probe: &str, quantity: &Quantity) -> bool {
        quantity.judged || self.only.is_some() && self.decides(probe, &quantity.name)
    }

    /// Whether more is worse; for the share within an edge, less is worse.
    pub fn higher_is_worse(&self) -> bool {
        !matches!(self.statistic, Statistic::Share(_))
    }
}
