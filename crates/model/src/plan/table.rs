//! `[[table]]`: a table of the report as the study lays it out, with the study's printed numbers below latido's.

use super::{Pick, Statistic};
use serde::{Deserialize, Serialize};

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Its number in the study.
    pub number: Option<String>,
    /// The study's tables and figures whose numbers its cells contain, named as in `published.csv`.
    pub printed: Vec<String>,
    /// Its rows.
    pub rows: Vec<Pick>,
    /// Its columns.
    pub columns: Vec<Pick>,
    /// The statistics of each cell.
    pub statistics: Vec<Statistic>,
    /// Whether the statistics share a cell.
    pub layout: Layout,
    /// How repeats are combined.
    pub over: Over,
    /// What the reader must know about it.
    pub note: Option<String>,
}

/// How the statistics of a cell are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// In one cell: `156 / 230 / 437 389`.
    #[default]
    Together,
    /// Each in its own column.
    Apart,
}

/// How repeats are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The median over the repeats, as in one run of the published size.
    #[default]
    Median,
    /// All samples of all repeats together.
    Pooled,
    /// Each repeat contributes this one figure, and the statistics are over these figures.
    Each(Statistic),
}

impl Table {
    /// Returns how many cells it has.
    pub fn size(&self) -> usize {
        self.rows.len().saturating_mul(self.columns.len())
    }

    /// Each cell's pick, row by row.
    pub fn cells(&self) -> Vec<Pick> {
        self.rows.iter().flat_map(|row| self.columns.iter().map(move |column| row.with(column))).collect()
    }
}
