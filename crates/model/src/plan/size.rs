//! `[[size]]`: sizes of a plan in addition to the one in which its groups are written. A measurement at one of them is an independent,
//! named measurement and not a shortened form of another: latido judges its maxima and counts.

use super::{
    axes::{Axes, ProbeOption},
    node::Keys,
    source::{Place, Problem},
};
use crate::{catalogue::Catalogue, suggest::nearest, written};

/// The most sizes of a plan.
const MOST: usize = 20;

/// What a size sets in place of the groups.
struct Size {
    name: String,
    axes: Axes,
    options: Vec<ProbeOption>,
    place: Place,
}

/// Reads the sizes of a plan, which must all be sound. Applies the requested size to the groups, or else the preferred one if the plan has
/// it.
///
/// # Errors
/// The first problem, or the requested size does not exist.
pub(super) fn apply(
    keys: Keys,
    (wanted, preferred): (Option<&(String, Place)>, Option<&str>),
    groups: &mut Vec<(Axes, Place)>,
    catalogue: &dyn Catalogue,
) -> Result<Option<String>, Problem> {
    let tables = keys.get("size").map(|node| node.tables("size", MOST)).transpose()?.unwrap_or_default();
    let mut sizes: Vec<Size> = Vec::new();
    for keys in tables {
        let size = Size::read(keys)?;
        if sizes.iter().any(|known| known.name == size.name) {
            return Err(size.place.problem(format!("the plan has the size `{}` twice", size.name)));
        }
        for (axes, _) in size.of(groups, catalogue)? {
            axes.finish(&size.place, catalogue)?;
        }
        sizes.push(size);
    }
    let Some((wanted, place)) = wanted else {
        let Some(size) = sizes.iter().find(|size| Some(size.name.as_str()) == preferred) else { return Ok(None) };
        *groups = size.of(groups, catalogue)?;
        return Ok(Some(size.name.clone()));
    };
    let Some(size) = sizes.iter().find(|size| size.name == *wanted) else {
        let names = || sizes.iter().map(|size| size.name.as_str());
        let all: Vec<&str> = names().collect();
        let has = if all.is_empty() { "only its own".to_owned() } else { all.join(", ") };
        return Err(place.problem(format!("the plan has no size `{wanted}`{}; it has {has}", nearest(wanted, names()))));
    };
    *groups = size.of(groups, catalogue)?;
    Ok(Some(size.name.clone()))
}

impl Size {
    fn read(keys: Keys) -> Result<Self, Problem> {
        let what = "a size";
        keys.only(what, &["name", "duration", "warmup", "repeat", "options"])?;
        let name = keys.need(what, "name")?.name("report")?;
        let mut options = Vec::new();
        if let Some(node) = keys.get("options") {
            for entry in node.table("options")?.entries() {
                let value = entry.value.plain()?;
                let word = written::said(&value);
                options.push(ProbeOption { key: entry.key.into(), word, place: entry.value.place() });
            }
        }
        Ok(Self { name, axes: Axes::of_size(keys)?, options, place: keys.place() })
    }

    /// Returns the groups of this size.
    fn of(&self, groups: &[(Axes, Place)], catalogue: &dyn Catalogue) -> Result<Vec<(Axes, Place)>, Problem> {
        let mut sized: Vec<(Axes, Place)> =
            groups.iter().map(|(axes, place)| (axes.overlaid(&self.axes), place.clone())).collect();
        for option in &self.options {
            let mut known = false;
            for (axes, _) in &mut sized {
                known |= axes.set(option, catalogue)?;
            }
            if !known {
                return Err(option.place.problem(format!("no probe of the plan has the option `{}`", option.key)));
            }
        }
        Ok(sized)
    }
}
