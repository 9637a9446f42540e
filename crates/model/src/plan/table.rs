//! `[[table]]`: a table of the report as the study lays it out, its printed numbers under ours.

use super::{Pick, Statistic};
use serde::{Deserialize, Serialize};

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Its number in the study.
    pub number: Option<String>,
    /// Which tables and figures of the study's numbers its cells hold, as `published.csv` names them.
    pub printed: Vec<String>,
    /// Its rows.
    pub rows: Vec<Pick>,
    /// Its columns.
    pub columns: Vec<Pick>,
    /// The figures of each cell.
    pub statistics: Vec<Statistic>,
    /// Whether they share a cell.
    pub layout: Layout,
    /// What becomes of repeats.
    pub over: Over,
    /// What must be known of it.
    pub note: Option<String>,
}

/// How the figures of a cell stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// In one cell: `156 / 230 / 437 389`.
    #[default]
    Together,
    /// Each in a column of its own.
    Apart,
}

/// What becomes of repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The median over the repeats: what one run of the published size has.
    #[default]
    Median,
    /// All samples of all repeats together.
    Pooled,
    /// Each repeat contributes this one figure, and the statistics are over these.
    Each(Statistic),
}

impl Table {
    /// How many cells it has.
    pub fn size(&self) -> usize {
        self.rows.len().saturating_mul(self.columns.len())
    }

    /// Each cell's pick, row by row.
    pub fn cells(&self) -> Vec<Pick> {
        self.rows.iter().flat_map(|row| self.columns.iter().map(move |column| row.with(column))).collect()
    }
}
