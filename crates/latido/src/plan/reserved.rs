//! What plans may name before this version has it: kernels, tunings and loads to come. Their cells are skipped.

use super::kind::Kind;
use crate::cell::Cell;

/// The kernel that is there.
pub const RUNNING: &str = "running";

/// Tunings to come.
const TUNINGS: &[&str] = &[];

/// Loads to come.
const LOADS: &[&str] = &[];

/// The names to come of a kind.
pub fn names(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Load => LOADS,
        Kind::Tuning => TUNINGS,
        _ => &[],
    }
}

/// Whether an item is none of this version's, but one to come.
pub fn is_to_come(kind: Kind, name: &str) -> bool {
    names(kind).contains(&name) && kind.entry(name).is_none()
}

/// What is wrong with naming it where nothing can be skipped.
pub fn not_yet(kind: Kind, name: &str) -> String {
    format!("the {} `{name}` is not in this version yet", kind.word())
}

/// Why a cell cannot be measured by this version on any machine; `None` for one that can.
pub fn reason(cell: &Cell) -> Option<String> {
    if cell.kernel != RUNNING {
        return Some(format!("kernel `{}`: this version measures the running kernel alone", cell.kernel));
    }
    let tunings = cell.tuning.items.iter().map(|item| (Kind::Tuning, item));
    let mut items = tunings.chain(cell.load.items.iter().map(|item| (Kind::Load, item)));
    let (kind, item) = items.find(|(kind, item)| is_to_come(*kind, &item.name))?;
    Some(not_yet(kind, &item.name))
}
