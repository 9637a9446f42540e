//! Reads `[[table]]` and `[[figure]]`: checks picks against the plan's groups and its study before anything starts.

pub mod figure;
pub mod table;

use super::{
    Filter, Group, Pick, Probed, Published, Sought, TABLES_MAX, Taken,
    expect::{self, is_of_series, level_names, picked},
    node::{Keys, Node},
    ramp,
    source::Problem,
};
use crate::{
    catalogue::{Catalogue, Kind},
    suggest::nearest,
    written,
};

/// What picks are checked against.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub groups: &'a [Group],
    pub published: Option<&'a Published>,
    pub catalogue: &'a dyn Catalogue,
}

/// The keys of a pick. A table or figure may have them too; they then apply to all of it.
pub(super) const KEYS: &[&str] = &["system", "quantity", "metric", "where", "load"];

impl<'a> Ground<'a> {
    /// Reads the keys of a pick; `value` replaces `{}` in its texts.
    pub(super) fn common(self, keys: Keys, value: &str) -> Result<Pick, Problem> {
        let text = |key: &str| keys.get(key).map(|node| node.text(key).map(|text| (node, text.replace("{}", value))));
        let named = |key: &str, known: Vec<&str>| match text(key).transpose()? {
            None => Ok(None),
            Some((_, name)) if known.contains(&name.as_str()) => Ok(Some(name)),
            Some((node, name)) => Err(node.problem(unknown(key, &name, &known))),
        };
        let metric = match text("metric").transpose()? {
            Some((node, metric)) => expect::quantity(node, &metric, self.groups).map(|_| Some(metric))?,
            None => None,
        };
        Ok(Pick {
            name: String::new(),
            system: named("system", self.systems())?,
            quantity: named("quantity", self.quantities())?,
            metric,
            levels: keys.get("where").map(|node| self.levels(node, value)).transpose()?.unwrap_or_default(),
            load: text("load").transpose()?.map(|(_, load)| load),
        })
    }

    /// Reads an array of picks, or a ramp of them: `{ values = "4,8..44", where = { load = "ramp sleep={}" } }`.
    pub(super) fn picks(self, node: Node, what: &str) -> Result<Vec<Pick>, Problem> {
        let picks = match node.as_array() {
            Some(_) => {
                node.levels(what)?.into_iter().map(|node| self.pick(node, what)).collect::<Result<Vec<_>, _>>()?
            }
            None => self.ramp(node, what)?,
        };
        if picks.len() > TABLES_MAX {
            return Err(node.problem(format!("{what} has more than {TABLES_MAX} entries")));
        }
        Ok(picks)
    }

    fn pick(self, node: Node, what: &str) -> Result<Pick, Problem> {
        if let Some(word) = node.as_text() {
            let (system, quantity) = (self.systems().contains(&word), self.quantities().contains(&word));
            if !system && !quantity {
                let known = [self.systems(), self.quantities()].concat();
                return Err(node.problem(unknown("system or quantity", word, &known)));
            }
            let name = || Some(word.to_owned());
            let (system, quantity) = if system { (name(), None) } else { (None, name()) };
            return Ok(Pick { name: word.into(), system, quantity, ..Pick::default() });
        }
        let keys = node.table(what)?;
        keys.only(what, &[&["name"], KEYS].concat())?;
        let name = keys.need(what, "name")?.sentence("name")?;
        Ok(Pick { name, ..self.common(keys, "")? })
    }

    fn ramp(self, node: Node, what: &str) -> Result<Vec<Pick>, Problem> {
        let keys = node.table(what)?;
        keys.only(what, &[&["values"], KEYS].concat())?;
        let values = keys.need(what, "values")?;
        let text = values.text("values")?;
        let steps = match ramp::levels(text) {
            Some(Ok(steps)) => steps,
            Some(Err(why)) => return Err(values.problem(why)),
            None => return Err(values.problem(format!("`{text}` is not a ramp such as \"4,8,12..44\""))),
        };
        let one = |step: toml::Value| {
            let name = written::said(&step);
            Ok(Pick { name: name.clone(), ..self.common(keys, &name)? })
        };
        steps.into_iter().map(one).collect()
    }

    /// Reads axes of the plan and labels of its probes, each with an existing level.
    fn levels(self, node: Node, value: &str) -> Result<Filter, Problem> {
        let labels = expect::all_labels(self.groups);
        let mut known: Vec<&str> = expect::axes().map(crate::cell::Axis::name).collect();
        known.extend(labels.iter().map(|(label, _)| label.as_str()));
        let keys = node.table("where")?;
        keys.only("where", &known)?;
        let mut found = Filter::new();
        for entry in keys.entries() {
            let level = entry.value.text(entry.key)?.replace("{}", value);
            let names: Vec<String> = match labels.iter().find(|(label, _)| label == entry.key) {
                Some((_, values)) => values.clone(),
                None => self.groups.iter().flat_map(|group| level_names(group, entry.key)).collect(),
            };
            if !names.iter().any(|name| expect::is_level(name, &level)) {
                let hint = nearest(&level, names.iter().map(String::as_str));
                return Err(entry.value.problem(format!("no level of {} is called `{level}`{hint}", entry.key)));
            }
            found.push((entry.key.to_owned(), level));
        }
        Ok(found)
    }

    fn systems(self) -> Vec<&'a str> {
        self.published.into_iter().flat_map(|one| &one.systems).map(|(name, _)| name.as_str()).collect()
    }

    fn quantities(self) -> Vec<&'a str> {
        let measured = self.published.into_iter().flat_map(|one| &one.quantities).map(|(name, ..)| name.as_str());
        let unmeasured = self.published.into_iter().flat_map(|one| &one.unmeasured).map(String::as_str);
        measured.chain(unmeasured).collect()
    }

    /// Returns how many configurations of the plan a pick names. Several do not give one number.
    pub(super) fn configurations(self, pick: &Pick) -> usize {
        let Sought { metric: Some((probe, quantity)), levels: Some(levels), taken, .. } = pick.sought(self.published)
        else {
            return 0;
        };
        let of_group = |group: &Group| {
            let axes = expect::axes().map(|axis| axis.name()).filter(|axis| *axis != "probe").map(|axis| {
                let all = level_names(group, axis);
                let wanted = levels.iter().find(|(key, _)| key == axis).map(|(_, level)| level.as_str());
                all.iter().filter(|name| wanted.is_none_or(|wanted| picked(name, wanted, &all))).count()
            });
            let probes = group.probe.iter().filter(|one| one.item.name == probe && one.measurand.yields(&quantity));
            let series = probes.map(|one| self.series(one, &levels, &taken)).sum();
            axes.fold(series, usize::saturating_mul)
        };
        self.groups.iter().map(of_group).fold(0, usize::saturating_add)
    }

    /// Returns how many series of a probe have the labels and options.
    fn series(self, probe: &Probed, levels: &Filter, taken: &Taken) -> usize {
        let labels = &probe.measurand.labels;
        let strange = |key: &str| is_of_series(key) && labels.iter().all(|(label, _)| label != key);
        if levels.iter().any(|(key, _)| strange(key)) {
            return 0;
        }
        let options = self.catalogue.read(Kind::Probe, &probe.item).unwrap_or_default();
        if taken.options.iter().any(|(key, value)| options.get(key).map(written::said).as_ref() != Some(value)) {
            return 0;
        }
        let of_label = |(label, values): &(String, Vec<String>)| match levels.iter().find(|(key, _)| key == label) {
            Some((_, level)) => values.iter().filter(|value| *value == level).count(),
            None => values.len(),
        };
        labels.iter().map(of_label).product()
    }

    /// Returns what is wrong with these combinations of a table or figure, if anything: one names several configurations, one has neither a
    /// metric nor a quantity, or no cell of the plan belongs to any of them.
    pub(super) fn objection(self, all: &[Pick]) -> Option<String> {
        let several = all.iter().map(|pick| (pick, self.configurations(pick))).find(|(_, found)| *found > 1);
        if let Some((pick, found)) = several {
            let name = if pick.name.is_empty() { "it" } else { &pick.name };
            return Some(format!("`{name}` matches {found} configurations of the plan: choose one with `where`"));
        }
        let printed = |pick: &Pick| pick.quantity.is_some();
        let metric = |pick: &Pick| pick.sought(self.published).metric.is_some();
        if let Some(pick) = all.iter().find(|pick| !metric(pick) && !printed(pick)) {
            return Some(format!("`{}` has neither `metric` nor `quantity`", pick.name));
        }
        let empty = all.iter().all(|pick| self.configurations(pick) == 0);
        let expected = all.iter().any(|pick| metric(pick) && pick.sought(self.published).levels.is_some());
        (empty && expected).then(|| "no cell of the plan belongs to it".into())
    }

    /// Whether the plan still has what a pick names, after flags changed its groups.
    pub(super) fn has(self, pick: &Pick) -> bool {
        let named =
            |name: &Option<String>, known: Vec<&str>| name.as_ref().is_none_or(|one| known.contains(&one.as_str()));
        let labels = expect::all_labels(self.groups);
        let level = |(key, level): &(String, String)| match labels.iter().find(|(label, _)| label == key) {
            Some((_, values)) => values.contains(level),
            None => {
                self.groups.iter().flat_map(|group| level_names(group, key)).any(|one| expect::is_level(&one, level))
            }
        };
        let metric = pick.metric.as_ref().and_then(|metric| metric.split_once('.'));
        named(&pick.system, self.systems())
            && named(&pick.quantity, self.quantities())
            && metric.is_none_or(|(probe, quantity)| expect::yields(self.groups, probe, quantity))
            && pick.levels.iter().all(level)
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let hint = nearest(name, known.iter().copied());
    let all = if known.is_empty() { "none".into() } else { known.join(", ") };
    format!("[published] names no {what} `{name}`{hint}; there are {all}")
}
