//! Reads a plan from TOML and checks all of it before anything starts.

use super::{
    CELLS_MAX, Order, Plan, SCHEMA, TABLES_MAX, Unjudged,
    axes::{Axes, ProbeOption},
    declared::{self, Ground},
    expect, kernels,
    node::{Keys, Node},
    scale::SCALED_MIN,
    size,
    source::{Place, Problem, Source},
    study,
};
use crate::{catalogue::Catalogue, cell::Item, suggest::nearest};
use anyhow::{Context, Result as Anyhow};
use std::{collections::HashMap, io::Read, path::Path};
use toml::de::DeTable;

/// The largest plan file.
const BYTES_MAX: u64 = 1 << 20;

/// The most boots of each kernel.
const BOOTS_MAX: i64 = 1000;

const KEYS: &[&str] = &[
    "schema",
    "name",
    "about",
    "source",
    "size",
    "sized",
    "scaled",
    "seed",
    "order",
    "boots",
    "group",
    "kernel",
    "kernel_as",
    "expect",
    "unjudged",
    "published",
    "table",
    "figure",
];

/// What the command line changes in a plan.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Changes for every group.
    pub axes: Axes,
    /// Options for every probe that has them.
    pub options: Vec<ProbeOption>,
    /// Options for every probe that has them, with several values each.
    pub vary: Vec<Vec<ProbeOption>>,
    /// The requested size, by its name.
    pub size: Option<(String, Place)>,
    /// The size to use if the plan has it and the command line names none.
    pub preferred_size: Option<String>,
    /// The requested seed.
    pub seed: Option<u64>,
    /// The seed of a plan that names none.
    pub fallback_seed: u64,
    /// The kernel of the plan that the running one counts as.
    pub kernel_as: Option<(String, Place)>,
    /// The flags that `axes` come from, as typed.
    pub flags: Vec<String>,
}

impl Overrides {
    /// Returns every word on the command line that changes the plan.
    fn place(&self) -> Option<Place> {
        let varied = self.vary.iter().filter_map(|values| values.first());
        let options = self.options.iter().chain(varied).map(|option| option.place.shown());
        let words: Vec<&str> = self.flags.iter().map(String::as_str).chain(options).collect();
        (!words.is_empty()).then(|| Place::word(&words.join(" ")))
    }
}

/// Reads a plan as it is written; a plan that names no seed has seed 0.
///
/// # Errors
/// The first problem, as `NAME:LINE: message`.
pub fn parse(name: &str, text: &str, catalogue: &dyn Catalogue) -> Result<Plan, Problem> {
    read(name, text, &Overrides::default(), catalogue).map(|(plan, _)| plan)
}

/// Reads a plan and changes it; also returns the expectations that match no cell after the changes.
///
/// # Errors
/// The first problem, as `NAME:LINE: message` or `WORD: message`.
pub fn read(
    name: &str,
    text: &str,
    over: &Overrides,
    catalogue: &dyn Catalogue,
) -> Result<(Plan, Vec<String>), Problem> {
    if text.len() as u64 > BYTES_MAX {
        return Err(Place::whole(name).problem(too_large()));
    }
    let source = Source::file(name, text);
    let document = document(name, &source)?;
    let keys = Keys::document(&source, document.get_ref());
    schema(keys)?;
    keys.only("a plan", KEYS)?;
    let plan_name = keys.need("a plan", "name")?.name("run's id")?;
    let about = keys.get("about").map(|node| node.text("about")).transpose()?;
    let source_of = keys.get("source").map(study::citation).transpose()?;
    let scaled = keys.get("scaled").map(scaled).transpose()?;
    let seed = keys.get("seed").map(|node| node.number("seed", 0..=i64::MAX)).transpose()?;
    let boots = keys.get("boots").map(|node| node.number("boots", 1..=BOOTS_MAX)).transpose()?.unwrap_or(1);
    let order = keys.get("order").map(order).transpose()?.unwrap_or_default();

    let mut axes = groups(keys, catalogue)?;
    let sized = size::apply(keys, (over.size.as_ref(), over.preferred_size.as_deref()), &mut axes, catalogue)?;
    let told = || keys.get("sized").map(|node| node.name("report")).transpose();
    let sized = sized.map_or_else(told, |name| Ok(Some(name)))?;
    let mut plan = Plan {
        name: plan_name,
        about: about.map(String::from),
        source: source_of,
        sized,
        scaled,
        seed: over.seed.or(seed.map(i64::unsigned_abs)).unwrap_or(over.fallback_seed),
        order,
        boots: boots as u32,
        groups: axes.iter().map(|(axes, place)| axes.clone().finish(place, catalogue)).collect::<Result<_, _>>()?,
        ..Plan::default()
    };
    count(&plan, &Place::whole(name))?;
    plan.kernels = keys.get("kernel").map(|node| kernels::read(node, &plan.groups)).transpose()?.unwrap_or_default();
    if let Some(node) = keys.get("kernel_as") {
        plan.kernel_as = Some(known_kernel(node.text("kernel_as")?, &plan, &node.place())?);
    }
    if let Some(node) = keys.get("expect") {
        plan.expect = expect::read(node, &plan.groups, plan.source.is_some())?;
    }
    plan.unjudged = unjudged(keys, plan.source.is_some())?;
    let mut plan = with_report(plan, keys, catalogue)?;
    if plan.declared_cells() > CELLS_MAX {
        let message = format!("the tables and figures have more than {CELLS_MAX} cells");
        return Err(Place::whole(name).problem(message));
    }
    let dropped = override_with(&mut plan, axes, over, &Place::whole(name), catalogue)?;
    Ok((plan, dropped))
}

/// Reads the axes of every `[[group]]`, each with its place.
fn groups(keys: Keys, catalogue: &dyn Catalogue) -> Result<Vec<(Axes, Place)>, Problem> {
    let tables = keys.get("group").map(|node| node.tables("group", TABLES_MAX)).transpose()?.unwrap_or_default();
    if tables.is_empty() {
        return Err(keys.problem("a plan needs at least one [[group]]"));
    }
    let mut axes = Vec::new();
    for group in tables {
        axes.push((Axes::read(group, catalogue)?, group.place()));
    }
    one_meaning_per_id(&axes)?;
    Ok(axes)
}

/// Reads the sentences that no figure of the plan decides; `repeats` is whether the plan repeats a publication.
fn unjudged(keys: Keys, repeats: bool) -> Result<Vec<Unjudged>, Problem> {
    match keys.get("unjudged") {
        None => Ok(Vec::new()),
        Some(node) if repeats => study::unjudged(node),
        Some(_) => Err(keys.problem("`unjudged` is only for plans that repeat a publication and have a [source]")),
    }
}

/// Adds what only the report needs: the study's printed numbers, and the declared tables and figures.
fn with_report(plan: Plan, keys: Keys, catalogue: &dyn Catalogue) -> Result<Plan, Problem> {
    let groups = &plan.groups;
    let published = keys.get("published").map(|node| study::published(node, groups, catalogue)).transpose()?;
    let printed = published.as_ref();
    let tables = keys.get("table").map(|node| declared::table::read(node, groups, printed, catalogue)).transpose()?;
    let figures =
        keys.get("figure").map(|node| declared::figure::read(node, groups, printed, catalogue)).transpose()?;
    let (tables, figures) = (tables.unwrap_or_default(), figures.unwrap_or_default());
    Ok(Plan { published, tables, figures, ..plan })
}

/// Builds a plan of one group from the command line.
///
/// # Errors
/// As [`read`].
pub fn from_axes(name: &str, axes: Axes, seed: u64, place: &Place, catalogue: &dyn Catalogue) -> Result<Plan, Problem> {
    let groups = vec![axes.finish(place, catalogue)?];
    let plan = Plan { name: name.into(), seed, groups, ..Plan::default() };
    count(&plan, place)?;
    Ok(plan)
}

/// Reads a plan's text. Refuses a file that cannot be a plan before it fills the memory.
///
/// # Errors
/// The file cannot be read, is too large or is not text.
pub fn load(path: &Path) -> Anyhow<String> {
    let shown = path.display();
    let file = std::fs::File::open(path).with_context(|| format!("cannot open the plan {shown}"))?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read the plan {shown}"))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Place::whole(&shown.to_string()).problem(too_large()).into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(good).filter(|byte| **byte == b'\n').count() + 1;
        Place::whole(&format!("{shown}:{line}")).problem("this is not text (UTF-8), so it is not a plan").into()
    })
}

/// Parses TOML; the complaint has one line.
pub fn document<'a>(name: &str, source: &Source<'a>) -> Result<toml::Spanned<DeTable<'a>>, Problem> {
    DeTable::parse(source.text()).map_err(|error| {
        let message = format!("this is not TOML: {}", error.message().replace('\n', " "));
        match error.span() {
            Some(span) => source.problem(span, message),
            None => Place::whole(name).problem(message),
        }
    })
}

fn schema(keys: Keys) -> Result<(), Problem> {
    let Some(node) = keys.get("schema") else {
        return Err(keys.problem(format!("a plan begins with the line `schema = {SCHEMA}`; it is missing")));
    };
    let schema = node.number("schema", 1..=i64::MAX)?;
    if schema > SCHEMA {
        let message = format!("this plan has schema {schema}, but this latido reads schema {SCHEMA}: use a newer one");
        return Err(node.problem(message));
    }
    Ok(())
}

fn order(node: Node) -> Result<Order, Problem> {
    match node.text("order")? {
        "interleaved" => Ok(Order::Interleaved),
        "as-written" => Ok(Order::AsWritten),
        other => {
            let hint = nearest(other, ["interleaved", "as-written"]);
            Err(node.problem(format!("there is no order `{other}`{hint}: interleaved or as-written")))
        }
    }
}

fn scaled(node: Node) -> Result<f64, Problem> {
    match node.real("scaled", 0.0..=1.0)? {
        factor if factor < SCALED_MIN => Err(node.problem("scaled must be above 0 and at most 1: 0.01 is a hundredth")),
        factor => Ok(factor),
    }
}

/// Checks that an id means the same in every group, because results are grouped by the ids of their levels.
pub(super) fn one_meaning_per_id(axes: &[(Axes, Place)]) -> Result<(), Problem> {
    let mut meanings: HashMap<(&str, &str), &[Item]> = HashMap::new();
    for (kind, level) in axes.iter().flat_map(|(axes, _)| axes.levels()) {
        let meaning = meanings.entry((kind.word(), &level.it.id)).or_insert(&level.it.items);
        if *meaning != level.it.items {
            let message =
                format!("the {} level `{}` means something else in an earlier group", kind.word(), level.it.id);
            return Err(level.place.problem(message));
        }
    }
    Ok(())
}

fn count(plan: &Plan, place: &Place) -> Result<(), Problem> {
    match plan
        .groups
        .iter()
        .try_fold(0usize, |sum, group| sum.checked_add(group.cells()?.checked_mul(plan.boots as usize)?))
    {
        Some(cells) if cells <= CELLS_MAX => Ok(()),
        _ => Err(place.problem(format!("the plan has more than {CELLS_MAX} cells"))),
    }
}

fn override_with(
    plan: &mut Plan,
    mut axes: Vec<(Axes, Place)>,
    over: &Overrides,
    place: &Place,
    catalogue: &dyn Catalogue,
) -> Result<Vec<String>, Problem> {
    for (axes, _) in &mut axes {
        *axes = axes.overlaid(&over.axes);
    }
    let singles = over.options.iter().map(std::slice::from_ref);
    for values in singles.chain(over.vary.iter().map(Vec::as_slice)) {
        let mut known = false;
        for (axes, _) in &mut axes {
            known |= axes.vary(values, catalogue)?;
        }
        if let (false, Some(option)) = (known, values.first()) {
            let known: Vec<String> = axes.iter().flat_map(|(axes, _)| axes.probe_options(catalogue)).collect();
            let hint = nearest(&option.key, known.iter().map(String::as_str));
            return Err(option.place.problem(format!("no probe of the plan has an option `{}`{hint}", option.key)));
        }
    }
    // The plan itself was sound, so the flags cause any problem from here on.
    let flags = over.place();
    if let Some((name, place)) = &over.kernel_as {
        plan.kernel_as = Some(known_kernel(name, plan, place)?);
    }
    let place = flags.as_ref().unwrap_or(place);
    let finish = |(axes, _): (Axes, Place)| axes.finish(place, catalogue).map_err(|problem| problem.elsewhere(place));
    plan.groups = axes.into_iter().map(finish).collect::<Result<_, _>>()?;
    count(plan, place)?;
    let (kernels, groups) = (&mut plan.kernels, &plan.groups);
    kernels.retain(|one| groups.iter().any(|group| group.kernel.contains(&one.name)));
    let (kept, dropped) =
        std::mem::take(&mut plan.expect).into_iter().partition(|expect| expect::reachable(expect, &plan.groups));
    plan.expect = kept;
    if let Some(published) = &mut plan.published {
        study::keep_what_is_left(published, &plan.groups, catalogue);
    }
    let ground = Ground { groups: &plan.groups, published: plan.published.as_ref(), catalogue };
    plan.tables.retain_mut(|table| declared::table::keep(table, ground));
    plan.figures.retain_mut(|figure| declared::figure::keep(figure, ground));
    let dropped: Vec<super::Expect> = dropped;
    Ok(dropped.into_iter().map(|expect| expect.text).collect())
}

/// Returns the name of a kernel, if some group of the plan has it.
fn known_kernel(name: &str, plan: &Plan, place: &Place) -> Result<String, Problem> {
    let levels = || plan.groups.iter().flat_map(|group| &group.kernel).map(String::as_str);
    if levels().any(|level| level == name) {
        return Ok(name.to_owned());
    }
    let mut all: Vec<&str> = levels().collect();
    all.sort_unstable();
    all.dedup();
    Err(place.problem(format!("the plan has no kernel `{name}`{}; it has {}", nearest(name, levels()), all.join(", "))))
}

fn too_large() -> String {
    "larger than 1 MiB, so it is not a plan".into()
}
