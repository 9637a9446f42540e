//! `[[figure]]`: a figure of the report as the study draws it.

use super::{Pick, Statistic, table::Over};
use crate::units::Ns;
use serde::{Deserialize, Serialize};

/// A figure: panels, each with curves laid over each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// Its number in the study.
    pub number: Option<String>,
    /// The study's tables and figures whose numbers its captions contain, named as in `published.csv`.
    pub printed: Vec<String>,
    /// What is drawn.
    pub kind: Kind,
    /// Its panels, two next to each other. A figure without parts has a single panel without a name.
    pub panels: Vec<Pick>,
    /// What bars and ramps have along their axis; empty for the other kinds.
    pub axis: Vec<Pick>,
    /// The curves that are laid over each other in each panel.
    pub curves: Vec<Pick>,
    /// Whether the axis of values (of bands: of counts) is logarithmic.
    pub log: bool,
    /// The end of the axis of values. A triangle at the edge marks values beyond it.
    pub upto: Option<Ns>,
    /// The statistics under each panel.
    pub captions: Vec<Statistic>,
    /// How captions, bars and ramps combine repeats.
    pub over: Over,
    /// What the reader must know about it.
    pub note: Option<String>,
}

/// What a figure draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// How many samples are between these edges (ns); the last band is above the last edge.
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
    /// Returns the name that plans use.
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

    /// Whether the figure has picks along its axis.
    pub fn has_axis(&self) -> bool {
        matches!(self, Self::Bars(_) | Self::Ramp(_))
    }
}

impl Figure {
    /// Returns how many picks the figure draws.
    pub fn size(&self) -> usize {
        self.panels.len().saturating_mul(self.curves.len()).saturating_mul(self.axis.len().max(1))
    }

    /// Returns every pick that the figure draws: panel by panel and curve by curve, along the axis if it has one.
    pub fn all(&self) -> Vec<Pick> {
        let along = |pick: Pick| match self.axis.is_empty() {
            true => vec![pick],
            false => self.axis.iter().map(|at| pick.with(at)).collect(),
        };
        let curves = |panel: &Pick| self.curves.iter().map(|curve| panel.with(curve)).collect::<Vec<_>>();
        self.panels.iter().flat_map(curves).flat_map(along).collect()
    }
}
