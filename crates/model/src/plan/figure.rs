//! `[[figure]]`: a figure of the report as the study draws it.

use super::{Pick, Statistic, table::Over};
use crate::units::Ns;
use serde::{Deserialize, Serialize};

/// A figure: panels, in each the curves laid over each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// Its number in the study.
    pub number: Option<String>,
    /// Which tables and figures of the study's numbers its captions hold, as `published.csv` names them.
    pub printed: Vec<String>,
    /// What is drawn.
    pub kind: Kind,
    /// Its panels, two beside each other; a single one without a name where it has no parts.
    pub panels: Vec<Pick>,
    /// What stands along the axis of bars and ramps; empty for the others.
    pub axis: Vec<Pick>,
    /// What is laid over each other in each panel.
    pub curves: Vec<Pick>,
    /// Whether the axis of values (of bands: of counts) is logarithmic.
    pub log: bool,
    /// The end of the axis of values; what lies beyond has a triangle at its edge.
    pub upto: Option<Ns>,
    /// The figures under each panel.
    pub captions: Vec<Statistic>,
    /// What becomes of repeats in captions, bars and ramps.
    pub over: Over,
    /// What must be known of it.
    pub note: Option<String>,
}

/// What a figure draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// How many samples lie between these edges (ns), the last band above the last edge.
    Bands(Vec<i64>),
    /// How often each value occurred.
    Histogram,
    /// Each sample in the order of its instance.
    Instances,
    /// Running mean and variance against the instance.
    Moments,
    /// Samples over time.
    Time,
    /// A statistic as grouped bars.
    Bars(Statistic),
    /// A statistic against a number, with error bars.
    Ramp(Statistic),
}

impl Kind {
    /// As plans write it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bands(_) => "bands",
            Self::Histogram => "histogram",
            Self::Instances => "instances",
            Self::Moments => "moments",
            Self::Time => "time",
            Self::Bars(_) => "bars",
            Self::Ramp(_) => "ramp",
        }
    }

    /// Whether something of the plan stands along its axis.
    pub fn has_axis(&self) -> bool {
        matches!(self, Self::Bars(_) | Self::Ramp(_))
    }
}

impl Figure {
    /// How many picks are drawn.
    pub fn size(&self) -> usize {
        self.panels.len().saturating_mul(self.curves.len()).saturating_mul(self.axis.len().max(1))
    }

    /// Every pick that is drawn: panel by panel and curve by curve, along the axis where there is one.
    pub fn all(&self) -> Vec<Pick> {
        let along = |pick: Pick| match self.axis.is_empty() {
            true => vec![pick],
            false => self.axis.iter().map(|at| pick.with(at)).collect(),
        };
        let curves = |panel: &Pick| self.curves.iter().map(|curve| panel.with(curve)).collect::<Vec<_>>();
        self.panels.iter().flat_map(curves).flat_map(along).collect()
    }
}
