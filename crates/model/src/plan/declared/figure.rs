//! Reads `[[figure]]`.

use super::{
    Ground, KEYS as PICK,
    table::{Heading, heading, statistics},
};
use crate::{
    catalogue::Catalogue,
    plan::{
        CELLS_MAX, Figure, Group, Kind, Pick, Published, Statistic, TABLES_MAX, expect,
        node::{Keys, Node},
        source::Problem,
    },
    suggest::nearest,
};

const KINDS: &[&str] = &["bands", "histogram", "instances", "moments", "time", "bars", "ramp"];

const KEYS: &[&str] = &[
    "title",
    "number",
    "printed",
    "kind",
    "edges",
    "statistic",
    "panels",
    "axis",
    "curves",
    "scale",
    "upto",
    "captions",
    "repeats",
    "each",
    "note",
];

/// Reads every `[[figure]]`.
pub fn read(
    node: Node,
    groups: &[Group],
    published: Option<&Published>,
    catalogue: &dyn Catalogue,
) -> Result<Vec<Figure>, Problem> {
    let ground = Ground { groups, published, catalogue };
    node.tables("figure", TABLES_MAX)?.into_iter().map(|keys| one(keys, ground)).collect()
}

fn one(keys: Keys, ground: Ground) -> Result<Figure, Problem> {
    let what = "a figure";
    keys.only(what, &[KEYS, PICK].concat())?;
    let Heading { title, number, printed, over, note } = heading(keys, what, ground)?;
    let common = ground.common(keys, "")?;
    let picks = |key: &str| keys.get(key).map(|node| ground.picks(node, key)).transpose();
    let panels = match picks("panels")? {
        Some(panels) => panels.iter().map(|panel| common.with(panel)).collect(),
        None => vec![common],
    };
    let kind = kind(keys, ground)?;
    let axis = picks("axis")?.unwrap_or_default();
    if kind.has_axis() == axis.is_empty() {
        let node = keys.need(what, "kind")?;
        let name = kind.name();
        return Err(node.problem(match axis.is_empty() {
            true => format!("{name} need `axis`, the entries along it"),
            false => format!("{name} have no `axis`; only bars and ramps have one"),
        }));
    }
    if let (Kind::Ramp(_), Some(pick)) = (&kind, axis.iter().find(|pick| pick.name.parse::<f64>().is_err())) {
        return Err(keys.problem(format!("`{}` is not a number, but the axis of a ramp needs numbers", pick.name)));
    }
    let figure = Figure {
        title,
        number,
        printed,
        kind,
        panels,
        axis,
        curves: picks("curves")?.unwrap_or_else(|| vec![Pick::default()]),
        log: keys.get("scale").map(is_log).transpose()?.unwrap_or_default(),
        upto: keys.get("upto").map(|node| node.positive_time("upto")).transpose()?,
        captions: keys
            .get("captions")
            .map(|node| statistics(node, "captions", ground))
            .transpose()?
            .unwrap_or_default(),
        over,
        note,
    };
    if figure.size() > CELLS_MAX {
        return Err(keys.problem(format!("the figure `{}` has more than {CELLS_MAX} curves", figure.title)));
    }
    match ground.objection(&figure.all()) {
        Some(why) => Err(keys.problem(format!("the figure `{}`: {why}", figure.title))),
        None => Ok(figure),
    }
}

fn kind(keys: Keys, ground: Ground) -> Result<Kind, Problem> {
    let node = keys.need("a figure", "kind")?;
    let name = node.text("kind")?;
    let statistic = || {
        let node = keys.need("a figure of this kind", "statistic")?;
        match expect::figure(node, node.text("statistic")?, ground.groups)? {
            Statistic::Variance => Err(node.problem("`variance` is for tables; a figure draws `sd`, its root")),
            statistic => Ok(statistic),
        }
    };
    let kind = match name {
        "bands" => Kind::Bands(edges(keys.need("a figure of bands", "edges")?, ground)?),
        "histogram" => Kind::Histogram,
        "instances" => Kind::Instances,
        "moments" => Kind::Moments,
        "time" => Kind::Time,
        "bars" => Kind::Bars(statistic()?),
        "ramp" => Kind::Ramp(statistic()?),
        other => {
            let hint = nearest(other, KINDS.iter().copied());
            return Err(node.problem(format!("there is no figure `{other}`{hint}: {}", KINDS.join(", "))));
        }
    };
    let strange = |key: &str, fits: bool| keys.get(key).filter(|_| !fits).map(|node| (key.to_owned(), node));
    let odd = strange("edges", matches!(kind, Kind::Bands(_))).or(strange("statistic", kind.has_axis()));
    match odd {
        Some((key, node)) => Err(node.problem(format!("{name} have no `{key}`"))),
        None => Ok(kind),
    }
}

/// Reads ascending edges at which samples are counted.
fn edges(node: Node, ground: Ground) -> Result<Vec<i64>, Problem> {
    let mut edges: Vec<i64> = Vec::new();
    for node in node.levels("edges")? {
        let text = node.text("edges")?;
        let edge = expect::figure(node, &format!("above{text}"), ground.groups)?.edge().unwrap_or_default();
        if edges.last().is_some_and(|last| *last >= edge) {
            return Err(node.problem("the edges must ascend"));
        }
        edges.push(edge);
    }
    Ok(edges)
}

fn is_log(node: Node) -> Result<bool, Problem> {
    match node.text("scale")? {
        "linear" => Ok(false),
        "log" => Ok(true),
        other => {
            let hint = nearest(other, ["linear", "log"]);
            Err(node.problem(format!("there is no scale `{other}`{hint}: linear or log")))
        }
    }
}

/// Removes what the changed groups no longer have; returns whether anything is left.
pub fn keep(figure: &mut Figure, ground: Ground) -> bool {
    let had = !figure.axis.is_empty();
    for picks in [&mut figure.panels, &mut figure.axis, &mut figure.curves] {
        picks.retain(|pick| ground.has(pick));
    }
    !figure.panels.is_empty()
        && !figure.curves.is_empty()
        && (!had || !figure.axis.is_empty())
        && ground.objection(&figure.all()).is_none()
}
