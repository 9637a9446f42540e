//! Reads `[[table]]`, and what tables and figures have in common.

use super::{Ground, KEYS as PICK};
use crate::{
    catalogue::Catalogue,
    plan::{
        CELLS_MAX, Group, Layout, Over, Published, Statistic, TABLES_MAX, Table, expect,
        node::{Keys, Node},
        source::Problem,
    },
    printed,
    suggest::nearest,
};

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

/// Reads every `[[table]]`.
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
    keys.only(what, &[KEYS, PICK].concat())?;
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
    if table.size() > CELLS_MAX {
        return Err(keys.problem(format!("the table `{}` has more than {CELLS_MAX} cells", table.title)));
    }
    match ground.objection(&table.cells()) {
        Some(why) => Err(keys.problem(format!("the table `{}`: {why}", table.title))),
        None => Ok(table),
    }
}

/// Reads title, number, printed tables, repeats and note.
pub(super) fn heading(keys: Keys, what: &str, ground: Ground) -> Result<Heading, Problem> {
    Ok(Heading {
        title: keys.need(what, "title")?.sentence("title")?,
        number: keys.get("number").map(|node| node.sentence("number")).transpose()?,
        printed: keys.get("printed").map(|node| printed(node, ground)).transpose()?.unwrap_or_default(),
        over: over(keys, ground)?,
        note: keys.get("note").map(|node| node.sentence("note")).transpose()?,
    })
}

/// Reads an array of statistics.
pub(super) fn statistics(node: Node, what: &str, ground: Ground) -> Result<Vec<Statistic>, Problem> {
    node.levels(what)?.into_iter().map(|node| expect::figure(node, node.text(what)?, ground.groups)).collect()
}

/// Reads the study's names for the places where it printed numbers.
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
                let message =
                    format!("`repeats` cannot be `{other}`{hint}: median, pooled, or `each` with a statistic");
                Err(node.problem(message))
            }
        },
    }
}

/// Removes what the changed groups no longer have; returns whether anything is left.
pub fn keep(table: &mut Table, ground: Ground) -> bool {
    table.rows.retain(|pick| ground.has(pick));
    table.columns.retain(|pick| ground.has(pick));
    !table.rows.is_empty() && !table.columns.is_empty() && ground.objection(&table.cells()).is_none()
}
