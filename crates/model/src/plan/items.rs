//! Items and levels of a plan: latido looks up the names, checks options with their owners, and turns arrays into levels.

use super::{
    CELLS_MAX,
    node::{Entry, Node},
    ramp,
    source::{At, Problem},
};
use crate::{
    catalogue::{Kind, List},
    cell::{IDLE, Item, Level, NO_LOAD},
    registry::Objection,
    suggest::{closest, nearest},
};
use toml::{Table, Value};

/// The most items of a level, and the most options of an item.
const TOGETHER_MAX: usize = 100;

/// The longest name of a level, in characters.
const ID_MAX: usize = 200;

/// One level that an item describes: the item, and the values chosen from its arrays.
struct Variant {
    item: Item,
    /// ` sleep=4`, or empty if there was nothing to choose.
    chosen: String,
}

/// Reads the probe axis.
pub fn probes(node: Node, list: List<'_>) -> Result<Vec<At<Item>>, Problem> {
    let mut probes: Vec<At<Item>> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for element in node.levels("probe")? {
        for Variant { item, .. } in variants(element, list)? {
            let written = crate::written::item(&item);
            if !seen.insert(written.clone()) {
                return Err(element.problem(format!("the probe {written} is named twice")));
            }
            probes.push(element.at(item));
        }
    }
    Ok(probes)
}

/// Returns the name of the empty level, per axis.
pub fn nothing(kind: Kind) -> &'static str {
    if kind == Kind::Tuning { "default" } else { NO_LOAD }
}

/// Whether a name means the empty level: for loads also `idle`, for tunings also `none`.
pub fn is_nothing(kind: Kind, name: &str) -> bool {
    let other = match kind {
        Kind::Load => IDLE,
        Kind::Tuning => NO_LOAD,
        Kind::Probe => return false,
    };
    name == nothing(kind) || name == other
}

/// Reads the load or tuning axis: `"name"`, `{ id, use = [items] }`, or short `{ name, option... }`.
pub fn levels(node: Node, list: List<'_>) -> Result<Vec<At<Level>>, Problem> {
    let mut levels: Vec<At<Level>> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for element in node.levels(list.kind.word())? {
        for level in level(element, list)? {
            if !seen.insert(level.id.clone()) {
                return Err(element.problem(format!("two levels of {} are called `{}`", list.kind.word(), level.id)));
            }
            levels.push(element.at(level));
        }
    }
    Ok(levels)
}

fn level(node: Node, list: List<'_>) -> Result<Vec<Level>, Problem> {
    if let Some(name) = node.as_text() {
        if is_nothing(list.kind, name) {
            return Ok(vec![Level { id: nothing(list.kind).into(), items: Vec::new() }]);
        }
        let items = variants(node, list)?.into_iter().map(|variant| variant.item).collect();
        return Ok(vec![Level { id: name.into(), items }]);
    }
    let what = format!("a level of {}", list.kind.word());
    let keys = node.table(&what)?;
    if keys.get("name").is_some() && keys.get("use").is_none() && keys.get("id").is_none() {
        return short(node, list);
    }
    keys.only(&what, &["id", "use"])?;
    let id_node = keys.need(&what, "id")?;
    let id = id_node.text("id")?;
    if id.is_empty() || id.trim() != id || id.chars().count() > ID_MAX || id.chars().any(char::is_control) {
        return Err(id_node.problem("an id is 1 to 200 visible characters"));
    }
    let mut levels = vec![Level { id: id.into(), items: Vec::new() }];
    let elements = keys.need(&what, "use")?.array("use")?;
    if let Some(extra) = elements.get(TOGETHER_MAX) {
        return Err(extra.problem(format!("more than {TOGETHER_MAX} items in one level")));
    }
    for element in elements {
        let variants = variants(element, list)?;
        if levels.len().saturating_mul(variants.len()) > CELLS_MAX {
            return Err(element.problem(too_many()));
        }
        let join = |level: &Level, variant: &Variant| {
            let mut level = level.clone();
            level.id.push_str(&variant.chosen);
            level.items.push(variant.item.clone());
            level
        };
        levels = levels.iter().flat_map(|level| variants.iter().map(move |variant| join(level, variant))).collect();
    }
    Ok(levels)
}

/// Reads `{ name, option... }` in the place of a level: one level, or one for each combination of its arrays, named as on the command line:
/// `stress-ng cpu=2 sleep=4`.
fn short(node: Node, list: List<'_>) -> Result<Vec<Level>, Problem> {
    let level = |Variant { item, .. }: Variant| {
        let main = list.entry(&item.name).and_then(|entry| entry.main_option);
        let mut id = item.name.clone();
        for (key, value) in &item.options {
            id.push_str(&match main == Some(key.as_str()) {
                true => format!(" {}", shown(value)),
                false => format!(" {key}={}", shown(value)),
            });
        }
        match id.chars().count() {
            0..=ID_MAX => Ok(Level { id, items: vec![item] }),
            _ => Err(node.problem("the name is too long: give the level an `id` and put the item into `use`")),
        }
    };
    variants(node, list)?.into_iter().map(level).collect()
}

/// Reads exactly one item.
pub fn single(node: Node, list: List<'_>) -> Result<Item, Problem> {
    let mut variants = variants(node, list)?;
    match variants.pop() {
        Some(only) if variants.is_empty() => Ok(only.item),
        _ => Err(node.problem("one item was expected, not several levels")),
    }
}

/// Reads `"name"` or `{ name, option... }`: one variant, or one for each combination of the elements of its arrays.
fn variants(node: Node, list: List<'_>) -> Result<Vec<Variant>, Problem> {
    let what = format!("a {}", list.kind.word());
    let (name_node, options) = match node.as_text() {
        Some(_) => (node, Vec::new()),
        None => {
            let keys = node.table(&what)?;
            let entries = keys.entries();
            let Some(name) = keys.get("name") else {
                let instead = closest("name", entries.iter().map(|entry| entry.key));
                let instead = instead.map(|key| format!(", not `{key}`")).unwrap_or_default();
                return Err(keys.problem(format!("{what} needs the key `name`{instead}")));
            };
            (name, entries)
        }
    };
    let name = name_node.text("name")?;
    if list.entry(name).is_none() {
        return Err(name_node.problem(unknown(list, name)));
    }
    let options: Vec<_> = options.into_iter().filter(|entry| entry.key != "name").collect();
    if let Some(extra) = options.get(TOGETHER_MAX) {
        return Err(extra.key_problem(format!("more than {TOGETHER_MAX} options for one {}", list.kind.word())));
    }
    let mut combinations = vec![Combination::default()];
    for entry in &options {
        let choices = choices(list, name, entry)?;
        if combinations.len().saturating_mul(choices.len()) > CELLS_MAX {
            return Err(entry.value.problem(too_many()));
        }
        combinations = combinations
            .iter()
            .flat_map(|one| choices.iter().map(|choice| one.with(entry, choice, &choices)))
            .collect();
    }
    let finish = |Combination { values, chosen }: Combination| {
        let options = values.iter().map(|(entry, one)| (entry.key.to_string(), one.value.clone())).collect::<Table>();
        let item = Item { name: name.into(), options };
        match list.read(&item) {
            Ok(_) => Ok(Variant { item, chosen }),
            Err(error) => Err(blame(node, list, name, &values, &error)),
        }
    };
    combinations.into_iter().map(finish).collect()
}

/// One of the values that an option takes in turn, with its place.
#[derive(Clone)]
struct Choice<'a> {
    value: Value,
    node: Node<'a>,
}

/// One value for each option so far.
#[derive(Clone, Default)]
struct Combination<'a> {
    values: Vec<(&'a Entry<'a>, Choice<'a>)>,
    chosen: String,
}

impl<'a> Combination<'a> {
    fn with(&self, entry: &'a Entry<'a>, choice: &Choice<'a>, choices: &[Choice]) -> Self {
        let mut longer = self.clone();
        longer.values.push((entry, choice.clone()));
        if choices.len() > 1 {
            longer.chosen.push_str(&format!(" {}={}", entry.key, shown(&choice.value)));
        }
        longer
    }
}

/// Returns the values that an option takes in turn. An array is one value if the item takes lists, else one value per element.
fn choices<'a>(list: List<'_>, name: &str, entry: &Entry<'a>) -> Result<Vec<Choice<'a>>, Problem> {
    let whole = entry.value.plain()?;
    match entry.value.as_array() {
        Some(elements) if elements.is_empty() => match list.objection(name, entry.key, &whole) {
            // An item that takes lists reports itself what is wrong with an empty one.
            Some(error) if takes_lists(list, name, entry.key) => {
                Err(entry.value.problem(list.kind.complaint(name, &error)))
            }
            Some(_) => Err(entry.value.problem(format!("`{}` names no level", entry.key))),
            None => Ok(vec![Choice { value: whole, node: entry.value }]),
        },
        Some(elements) if list.objection(name, entry.key, &whole).is_some() => {
            let mut choices = Vec::new();
            for node in elements {
                choices.extend(ramp(node)?);
            }
            Ok(choices)
        }
        None => ramp(entry.value),
        _ => Ok(vec![Choice { value: whole, node: entry.value }]),
    }
}

/// Returns the steps of a ramp (`"4,8,12..44"`); returns any other value as it is.
fn ramp(node: Node) -> Result<Vec<Choice>, Problem> {
    match node.as_text().and_then(ramp::levels) {
        Some(Ok(values)) => Ok(values.into_iter().map(|value| Choice { value, node }).collect()),
        Some(Err(why)) => Err(node.problem(why)),
        None => Ok(vec![Choice { value: node.plain()?, node }]),
    }
}

/// Whether an option takes a list as its value.
fn takes_lists(list: List<'_>, name: &str, key: &str) -> bool {
    list.objection(name, key, &Value::Array(vec![Value::from("x")])).is_none()
}

/// Finds the option that the item rejects: the unknown one, the first one that gives the same message alone, or the only one that the
/// message names. Whether an option is valid can depend on the others.
fn blame(node: Node, list: List<'_>, name: &str, values: &[(&Entry, Choice)], error: &anyhow::Error) -> Problem {
    let message = list.kind.complaint(name, error);
    if let Some(Objection::Unknown { key, .. }) = error.downcast_ref() {
        let strange = values.iter().find(|(entry, _)| entry.key == key);
        return strange.map_or_else(|| node.problem(message.clone()), |(entry, _)| entry.key_problem(message.clone()));
    }
    let alone = |(entry, choice): &&(&Entry, Choice)| {
        let error = list.objection(name, entry.key, &choice.value);
        error.is_some_and(|error| list.kind.complaint(name, &error) == message)
    };
    let mut named = values.iter().filter(|(entry, _)| message.contains(&format!("`{}`", entry.key)));
    let only = named.next().filter(|_| named.next().is_none());
    let place = values.iter().find(alone).or(only).map_or(node, |(_, choice)| choice.node);
    place.problem(message)
}

fn unknown(list: List<'_>, name: &str) -> String {
    let word = list.kind.word();
    let entries = list.entries();
    let hint = nearest(name, entries.iter().map(|entry| entry.name).chain([nothing(list.kind)]));
    format!("there is no {word} `{name}`{hint}; `latido list {word}s` shows them all")
}

/// Returns a value as level names show it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => crate::written::value(other),
    }
}

fn too_many() -> String {
    format!("the arrays multiply to more than {CELLS_MAX} levels")
}
