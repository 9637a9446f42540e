//! The rows of histogram triggers, with what their actions saved.

use crate::{
    tree::{Datum, Head, Sheet},
    words,
};
use latido_trace::text::{Key, Saved, Summary, Total, Trigger, Value};
use serde::Serialize;
use std::collections::BTreeMap;

/// A histogram trigger's rows.
#[derive(Debug, Serialize)]
pub struct Histogram {
    /// The trigger as the user set it.
    pub trigger: String,
    /// `active` or `paused`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// Its rows: the keys as text, and the values by name.
    pub rows: Vec<OfRow>,
    /// The values that actions saved (`onmax`, `onchange`): the row, from 0, the name, the value, and the fields saved with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub saved: Vec<OfAction>,
    /// The numbers of counted events, of rows, and of events without room.
    pub totals: Vec<(&'static str, u64)>,
}

/// A row: its keys as text, and its values by name.
pub type OfRow = (String, Vec<(String, u64)>);

/// A value that an action saved for a row.
#[derive(Clone, Debug, Serialize)]
pub struct OfAction {
    /// The row, from 0.
    pub row: usize,
    /// `max`, `changed`, `snapshot at onmax($lat)`.
    pub name: String,
    /// The value, in the unit of the trigger's variable.
    pub value: u64,
    /// The fields saved with it: `next_comm: sh  prev_pid: 12`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub with: String,
}

/// Returns all histograms of a text, with the triggers by the ordinal of their header.
pub(super) fn histograms(summary: &Summary, triggers: &BTreeMap<u64, Trigger>) -> Vec<Histogram> {
    let mut all = BTreeMap::<u64, Histogram>::new();
    let mut of = |ordinal: u64, add: &mut dyn FnMut(&mut Histogram)| {
        let Trigger { text: trigger, state, .. } = triggers.get(&ordinal).cloned().unwrap_or_default();
        let empty = || Histogram { trigger, state, rows: Vec::new(), saved: Vec::new(), totals: Vec::new() };
        add(all.entry(ordinal).or_insert_with(empty));
    };
    let mut places = Vec::new();
    for (ordinal, bin) in &summary.bins.items {
        let keys: Vec<String> = bin.keys.iter().map(|(name, key)| format!("{name} {}", key_text(key))).collect();
        let value = |(name, value): &(String, Value)| match value {
            Value::Count(count) => (name.clone(), *count),
            Value::Bar(twentieths) => (format!("{name} (1/20 of the largest)"), *twentieths),
            Value::Percent(hundredths) => (format!("{name} (0.01 %)"), *hundredths),
        };
        let row = (keys.join(", "), bin.values.iter().map(value).collect());
        of(*ordinal, &mut |one| {
            places.push((*ordinal, one.rows.len()));
            one.rows.push(row.clone());
        });
    }
    for Saved { row, name, value, rest } in &summary.saved.items {
        let place = usize::try_from(*row).ok().and_then(|row| places.get(row));
        let Some((ordinal, row)) = place else { continue };
        of(*ordinal, &mut |one| {
            one.saved.push(OfAction { row: *row, name: name.clone(), value: *value, with: rest.trim().to_owned() });
        });
    }
    for (ordinal, total) in &summary.totals.items {
        let total = match total {
            Total::Begin => continue,
            Total::Hits(count) => ("hits", *count),
            Total::Entries(count) => ("entries", *count),
            Total::Dropped(count) => ("dropped", *count),
        };
        of(*ordinal, &mut |one| one.totals.push(total));
    }
    all.into_values().collect()
}

fn key_text(key: &Key) -> String {
    match key {
        Key::Number(number) => number.to_string(),
        Key::Log2(power) => format!("to 2^{power}"),
        Key::Range(from, to) => format!("{from} to {to}"),
        Key::Named { name, number } => format!("{name} [{number}]"),
        Key::Stack(functions) => functions.join(" < "),
        Key::Text(text) => text.clone(),
    }
}

/// A key of a histogram with its values, each with its name.
type Entry = (String, Vec<(String, u64)>);

impl Histogram {
    /// Returns the values that actions saved for a row.
    pub(super) fn saved(&self, row: usize) -> impl Iterator<Item = &OfAction> {
        self.saved.iter().filter(move |saved| saved.row == row)
    }

    pub(super) fn sheet(&self) -> Sheet {
        let (mut names, mut actions): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for (name, _) in self.rows.iter().flat_map(|(_, values)| values) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        for one in &self.saved {
            if !actions.contains(&one.name.as_str()) {
                actions.push(&one.name);
            }
        }
        let with = self.saved.iter().any(|one| !one.with.is_empty());
        let mut head = vec![Head::from("key")];
        head.extend(names.iter().chain(&actions).map(|name| Head::from(*name)));
        head.extend(with.then(|| Head::from("saved with it")));
        let row = |(at, (key, values)): (usize, &Entry)| {
            let cell = |name: &&str| {
                let value = values.iter().find(|(of, _)| of == name);
                value.map_or(Datum::Absent, |(_, count)| Datum::Count(*count))
            };
            let action = |name: &&str| {
                let value = self.saved(at).find(|one| one.name == **name);
                value.map_or(Datum::Absent, |one| Datum::Count(one.value))
            };
            let mut cells = vec![Datum::Text(key.clone())];
            cells.extend(names.iter().map(cell).chain(actions.iter().map(action)));
            let beside = || self.saved(at).map(|one| one.with.as_str()).collect::<Vec<_>>().join("; ");
            cells.extend(with.then(|| Datum::Text(beside())));
            cells
        };
        let title = if self.trigger.is_empty() { "Histogram".into() } else { self.trigger.clone() };
        let mut sheet = Sheet::plain(title, head, self.rows.iter().enumerate().map(row).collect());
        let state = Some(format!("trigger {}", self.state)).filter(|_| !matches!(self.state.as_str(), "" | "active"));
        let totals = self.totals.iter().map(|(name, count)| format!("{name} {}", words::count(*count)));
        let note: Vec<String> = state.into_iter().chain(totals).collect();
        sheet.notes.extend((!note.is_empty()).then(|| note.join(", ")));
        sheet
    }
}
