//! `[[table]]`: a table of the report as the study lays it out, its printed numbers under ours.

use super::{
    Group, Published, Statistic, TABLES_MAX, expect,
    node::{Keys, Node},
    pick::{self, Ground, Pick},
    source::Problem,
};
use crate::{catalogue::Catalogue, printed, suggest::nearest};
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

const KEYS: &[&str] =
    &["title", "number", "printed", "rows", "columns", "statistics", "layout", "repeats", "each", "note"];

/// What tables and figures have in common.
pub(super) struct Heading {
    pub title: String,
    pub number: Option<String>,
    pub printed: Vec<String>,
    pub over: Over,
    pub note: Option<String>,
}

/// Every `[[table]]`.
pub fn read(
    node: Node,
    groups: &[Group],
    published: Option<&Published>,
    catalogue: &dyn Catalogue,
) -> Result<Vec<Table>, Problem> {
    let ground = Ground { groups, published, catalogue };
    node.tables("table", TABLES_MAX)?.into_iter().map(|keys| one(keys, ground)).collect()
}

fn one(keys: Keys, ground: Ground) -> Result<Table, Problem> {
    let what = "a table";
    keys.only(what, &[KEYS, pick::KEYS].concat())?;
    let Heading { title, number, printed, over, note } = heading(keys, what, ground)?;
    let common = ground.common(keys, "")?;
    let rows = ground.picks(keys.need(what, "rows")?, "rows")?;
    let layout = keys.get("layout").map(layout).transpose()?.unwrap_or_default();
    let table = Table {
        title,
        number,
        printed,
        rows: rows.iter().map(|row| common.with(row)).collect(),
        columns: ground.picks(keys.need(what, "columns")?, "columns")?,
        statistics: statistics(keys.need(what, "statistics")?, "statistics", ground)?,
        layout,
        over,
        note,
    };
    match ground.objection(&table.cells()) {
        Some(why) => Err(keys.problem(format!("the table `{}`: {why}", table.title))),
        None => Ok(table),
    }
}

/// Title, number, printed tables, repeats and note.
pub(super) fn heading(keys: Keys, what: &str, ground: Ground) -> Result<Heading, Problem> {
    Ok(Heading {
        title: keys.need(what, "title")?.sentence("title")?,
        number: keys.get("number").map(|node| node.sentence("number")).transpose()?,
        printed: keys.get("printed").map(|node| printed(node, ground)).transpose()?.unwrap_or_default(),
        over: over(keys, ground)?,
        note: keys.get("note").map(|node| node.sentence("note")).transpose()?,
    })
}

/// An array of statistics.
pub(super) fn statistics(node: Node, what: &str, ground: Ground) -> Result<Vec<Statistic>, Problem> {
    node.levels(what)?.into_iter().map(|node| expect::figure(node, node.text(what)?, ground.groups)).collect()
}

/// The study's own names of where it printed numbers.
fn printed(node: Node, ground: Ground) -> Result<Vec<String>, Problem> {
    let Some(published) = ground.published else {
        return Err(node.problem("`printed` needs [published], which names the study"));
    };
    let mut known: Vec<String> = printed::study(&published.study).into_iter().map(|figure| figure.table).collect();
    known.dedup();
    let each = |node: Node| {
        let name = node.text("printed")?;
        if known.iter().any(|table| table == name) {
            return Ok(name.to_owned());
        }
        let hint = nearest(name, known.iter().map(String::as_str));
        Err(node.problem(format!("the study has no numbers of `{name}`{hint}; it has {}", known.join(", "))))
    };
    node.levels("printed")?.into_iter().map(each).collect()
}

fn layout(node: Node) -> Result<Layout, Problem> {
    match node.text("layout")? {
        "together" => Ok(Layout::Together),
        "apart" => Ok(Layout::Apart),
        other => {
            let hint = nearest(other, ["together", "apart"]);
            Err(node.problem(format!("there is no layout `{other}`{hint}: together or apart")))
        }
    }
}

fn over(keys: Keys, ground: Ground) -> Result<Over, Problem> {
    match (keys.get("repeats"), keys.get("each")) {
        (Some(node), Some(_)) => Err(node.problem("`repeats` and `each` exclude each other")),
        (None, Some(node)) => Ok(Over::Each(expect::figure(node, node.text("each")?, ground.groups)?)),
        (None, None) => Ok(Over::default()),
        (Some(node), None) => match node.text("repeats")? {
            "median" => Ok(Over::Median),
            "pooled" => Ok(Over::Pooled),
            other => {
                let hint = nearest(other, ["median", "pooled"]);
                let message = format!("repeats are never `{other}`{hint}: median, pooled, or `each` with a statistic");
                Err(node.problem(message))
            }
        },
    }
}

impl Table {
    /// Each cell's pick, row by row.
    pub fn cells(&self) -> Vec<Pick> {
        self.rows.iter().flat_map(|row| self.columns.iter().map(move |column| row.with(column))).collect()
    }

    /// Leaves out what changed groups no longer have; whether something is left.
    pub(super) fn keep(&mut self, ground: Ground) -> bool {
        self.rows.retain(|pick| ground.has(pick));
        self.columns.retain(|pick| ground.has(pick));
        !self.rows.is_empty() && !self.columns.is_empty() && ground.objection(&self.cells()).is_none()
    }
}
