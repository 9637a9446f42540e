//! Picks: the meaning of a row, a column, a panel or a curve of a declared table or figure, and the cells that it selects.

use super::{Filter, Published, Taken};
use serde::{Deserialize, Serialize};

/// The meaning of a row, a column, a panel or a curve. Several of them together define where a number comes from: a row names the quantity,
/// a column the system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pick {
    /// Its heading; empty if there is nothing to distinguish.
    pub name: String,
    /// The system, as the study calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The quantity, as the study calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// The plan's metric (`compute.elapsed`), if the study's quantity does not define it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Axes and labels with the level of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Filter,
    /// The load, as the study's numbers call it, if they distinguish several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
}

/// Where a number comes from: the plan's cells, and the study's name of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sought {
    /// Probe and quantity; absent where no probe measures it yet.
    pub metric: Option<(String, String)>,
    /// Axes and labels with the level of each; absent where the plan has no cells for the system.
    pub levels: Option<Filter>,
    /// From which distribution and with which options.
    pub taken: Taken,
    /// The study's system.
    pub system: Option<String>,
    /// The study's quantity.
    pub quantity: Option<String>,
    /// The study's load.
    pub load: Option<String>,
}

impl Pick {
    /// Merges two picks. Where both set a key, `other` wins.
    pub fn with(&self, other: &Self) -> Self {
        let or = |ours: &Option<String>, theirs: &Option<String>| theirs.as_ref().or(ours.as_ref()).cloned();
        Self {
            name: if other.name.is_empty() { self.name.clone() } else { other.name.clone() },
            system: or(&self.system, &other.system),
            quantity: or(&self.quantity, &other.quantity),
            metric: or(&self.metric, &other.metric),
            levels: merged(&self.levels, &other.levels),
            load: or(&self.load, &other.load),
        }
    }

    /// Returns where its number comes from.
    pub fn sought(&self, published: Option<&Published>) -> Sought {
        let system = self.system.as_ref().and_then(|name| published?.systems.iter().find(|(known, _)| known == name));
        let quantity =
            self.quantity.as_ref().and_then(|name| published?.quantities.iter().find(|(known, ..)| known == name));
        let metric = self.metric.as_ref().or(quantity.map(|(_, metric, _)| metric));
        let taken = self.quantity.as_ref().and_then(|name| Some(published?.taken(name)));
        let mut levels = system.map(|(_, levels)| levels.clone()).unwrap_or_default();
        // A system without levels has no cells in the plan.
        let nowhere = self.system.is_some() && levels.is_empty();
        levels = merged(&levels, quantity.map(|(.., levels)| levels.as_slice()).unwrap_or_default());
        Sought {
            metric: metric.and_then(|metric| metric.split_once('.')).map(|(a, b)| (a.into(), b.into())),
            levels: (!nowhere).then(|| merged(&levels, &self.levels)),
            taken: taken.unwrap_or_default(),
            system: self.system.clone(),
            quantity: self.quantity.clone(),
            load: self.load.clone(),
        }
    }

    /// Returns its name in reports: a study's `mutex_lock` in words.
    pub fn heading(&self) -> String {
        let own = [&self.system, &self.quantity].into_iter().flatten().any(|known| *known == self.name);
        if own { self.name.replace('_', " ") } else { self.name.clone() }
    }

    /// Returns the single word that is enough to write this pick, if there is one.
    pub(super) fn word(&self) -> Option<&str> {
        let known = |name: &Option<String>| name.as_ref() == Some(&self.name);
        let alone = self.metric.is_none() && self.levels.is_empty() && self.load.is_none();
        let one = known(&self.system) != known(&self.quantity) && self.system.is_some() != self.quantity.is_some();
        (alone && one).then_some(&self.name)
    }
}

/// Merges the levels of both; where both name an axis, the second wins.
fn merged(first: &[(String, String)], second: &[(String, String)]) -> Filter {
    let kept = first.iter().filter(|(key, _)| second.iter().all(|(other, _)| other != key));
    kept.chain(second).cloned().collect()
}
