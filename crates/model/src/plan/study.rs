//! What makes a plan a study: `[source]`, the publication that it repeats, and `[published]`, its printed numbers.

use super::{
    Citation, Distribution, Filter, Group, Published, TABLES_MAX, Taken, Unjudged,
    expect::{self, is_level},
    node::{Keys, Node},
    source::Problem,
};
use crate::{
    catalogue::{Catalogue, Kind},
    printed,
    suggest::nearest,
    written,
};
use std::collections::BTreeMap;

/// `[source]`
pub fn citation(node: Node) -> Result<Citation, Problem> {
    let what = "a source";
    let keys = node.table(what)?;
    keys.only(what, &["title", "author", "year", "where"])?;
    Ok(Citation {
        title: keys.need(what, "title")?.sentence("title")?,
        author: keys.need(what, "author")?.sentence("author")?,
        year: keys.need(what, "year")?.number("year", 1900..=9999)? as u16,
        place: keys.get("where").map(|node| node.sentence("where")).transpose()?,
    })
}

/// Every `[[unjudged]]`.
pub fn unjudged(node: Node) -> Result<Vec<Unjudged>, Problem> {
    let what = "an unjudged sentence";
    let one = |keys: Keys| {
        keys.only(what, &["conclusion", "claim", "why"])?;
        let text = |key: &str| keys.need(what, key)?.sentence(key);
        Ok(Unjudged { conclusion: text("conclusion")?, claim: text("claim")?, why: text("why")? })
    };
    node.tables("unjudged", TABLES_MAX)?.into_iter().map(one).collect()
}

/// `[published]`
pub fn published(node: Node, groups: &[Group], catalogue: &dyn Catalogue) -> Result<Published, Problem> {
    let what = "[published]";
    let keys = node.table(what)?;
    keys.only(what, &["study", "system", "quantity"])?;
    let study_node = keys.need(what, "study")?;
    let study = study_node.text("study")?;
    let figures = printed::study(study);
    if figures.is_empty() {
        let known = printed::studies();
        let hint = nearest(study, known.iter().copied());
        return Err(study_node
            .problem(format!("latido has no numbers of a study `{study}`{hint}; it has {}", known.join(", "))));
    }
    let systems = named(keys, "system", figures.iter().map(|figure| figure.system.as_str()).collect())?;
    let quantities = named(keys, "quantity", figures.iter().map(|figure| figure.quantity.as_str()).collect())?;
    let mut read = Published { study: study.into(), ..Published::default() };
    for (name, keys) in systems {
        keys.only("a system", &["name", "where"])?;
        read.systems.push((name, filter(keys, "", groups)?));
    }
    for (name, keys) in quantities {
        keys.only("a quantity", &["name", "metric", "where", "options", "of"])?;
        let Some(metric_node) = keys.get("metric") else {
            // No probe measures it yet; the report shows "not measured" next to its numbers.
            if let Some(entry) = keys.entries().iter().find(|entry| entry.key != "name") {
                return Err(entry.key_problem(format!("`{}` goes with `metric`", entry.key)));
            }
            read.unmeasured.push(name);
            continue;
        };
        let metric = metric_node.text("metric")?;
        let (probe, _, _) = expect::quantity(metric_node, metric, groups)?;
        let of = keys.get("of").map(distribution).transpose()?.unwrap_or_default();
        let options = keys.get("options").map(|node| options(node, &probe, groups, catalogue)).transpose()?;
        let taken = Taken { of, options: options.unwrap_or_default() };
        if taken != Taken::default() {
            read.taken.insert(name.clone(), taken);
        }
        read.quantities.push((name, metric.into(), filter(keys, &probe, groups)?));
    }
    Ok(read)
}

/// Returns the tables of one kind with their names. The study must have printed each name.
fn named<'a>(keys: Keys<'a>, key: &str, mut known: Vec<&str>) -> Result<Vec<(String, Keys<'a>)>, Problem> {
    known.sort_unstable();
    known.dedup();
    let node = keys.need("[published]", key)?;
    let mut all: Vec<(String, Keys)> = Vec::new();
    for keys in node.tables(&format!("published.{key}"), TABLES_MAX)? {
        let name_node = keys.need(&format!("a {key}"), "name")?;
        let name = name_node.text("name")?;
        if !known.contains(&name) {
            let hint = nearest(name, known.iter().copied());
            let message = format!("the study printed no {key} `{name}`{hint}; it has {}", known.join(", "));
            return Err(name_node.problem(message));
        }
        if all.iter().any(|(other, _)| other == name) {
            return Err(name_node.problem(format!("the {key} `{name}` is named twice")));
        }
        all.push((name.into(), keys));
    }
    Ok(all)
}

fn distribution(node: Node) -> Result<Distribution, Problem> {
    match node.text("of")? {
        "corrected" => Ok(Distribution::Corrected),
        "plain" => Ok(Distribution::Plain),
        other => Err(node.problem(format!(
            "there is no distribution `{other}`{}: corrected (each missed slot counts with its delay) or plain (the \
             wake-ups alone, as cyclictest counts)",
            nearest(other, ["corrected", "plain"])
        ))),
    }
}

/// Reads options that the probe has in some group with this value, given or by default.
fn options(
    node: Node,
    probe: &str,
    groups: &[Group],
    catalogue: &dyn Catalogue,
) -> Result<BTreeMap<String, String>, Problem> {
    let mut found = BTreeMap::new();
    for entry in node.table("options")?.entries() {
        let value = entry.value.text(entry.key)?;
        let had = option_values(probe, entry.key, groups, catalogue);
        if !had.iter().any(|known| known == value) {
            let had = if had.is_empty() { "none".into() } else { had.join(", ") };
            let message = format!("no `{probe}` of the plan has {} = {value}; it has {had}", entry.key);
            return Err(entry.value.problem(message));
        }
        found.insert(entry.key.into(), value.into());
    }
    Ok(found)
}

/// The values that an option of a probe has in the groups, as text.
fn option_values(probe: &str, key: &str, groups: &[Group], catalogue: &dyn Catalogue) -> Vec<String> {
    let items = groups.iter().flat_map(|group| &group.probe).map(|one| &one.item).filter(|item| item.name == probe);
    let value = |item| {
        let table = catalogue.read(Kind::Probe, item).ok()?;
        table.get(key).map(written::said)
    };
    let mut values: Vec<String> = items.filter_map(value).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn filter(keys: Keys, probe: &str, groups: &[Group]) -> Result<Filter, Problem> {
    let Some(node) = keys.get("where") else { return Ok(Filter::new()) };
    let filter = expect::filter(node, "where", probe, groups)?;
    match filter.iter().any(|(key, _)| expect::option_of(key).is_some()) {
        true => Err(node.problem("put the options of a published quantity into `options`, not into `where`")),
        false => Ok(filter),
    }
}

/// Removes what the changed groups no longer have, so that the printed plan can be read again.
pub fn keep_what_is_left(published: &mut Published, groups: &[Group], catalogue: &dyn Catalogue) {
    let has =
        |probe: &str, filter: &Filter| filter.iter().all(|(key, level)| named_somewhere(groups, probe, key, level));
    published.systems.retain(|(_, filter)| has("", filter));
    let Published { quantities, taken, .. } = published;
    quantities.retain(|(name, metric, filter)| {
        let (probe, quantity) = metric.split_once('.').unwrap_or((metric, ""));
        let mut options = taken.get(name).into_iter().flat_map(|taken| &taken.options);
        let optioned = options.all(|(key, value)| option_values(probe, key, groups, catalogue).contains(value));
        expect::yields(groups, probe, quantity) && has(probe, filter) && optioned
    });
    taken.retain(|name, _| quantities.iter().any(|(known, ..)| known == name));
}

fn named_somewhere(groups: &[Group], probe: &str, key: &str, level: &str) -> bool {
    if expect::is_of_series(key) {
        return key == "cpu" || expect::has_label(groups, probe, key, level);
    }
    groups.iter().any(|group| expect::level_names(group, key).iter().any(|name| is_level(name, level)))
}
