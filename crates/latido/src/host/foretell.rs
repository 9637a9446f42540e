//! What latido reports about a run before its first cell: its duration, and what too few repeats cannot decide.

use super::{known::Known, screen::Screen};
use latido_judge::{expect::planned::planned, planning::repeats};
use latido_model::{
    cell::{Cell, LAB},
    plan::{
        Plan,
        around::{Around, Like},
        extent::Extent,
    },
    quantity::Measurand,
    units::Ns,
};

/// Reports the duration of the cells still to measure, `todo`, estimated from the time that `earlier` cells took, and checks the repeats of
/// everything that the plan compares.
pub(super) fn foretell(
    plan: &Plan,
    cells: &[Cell],
    todo: &[usize],
    known: &Known,
    earlier: &Around,
    screen: &mut Screen,
) {
    let told = |number: usize| -> Option<(&Cell, &Measurand)> {
        Some((cells.get(number.checked_sub(1)?)?, known.measurand_of(number)?))
    };
    let each = todo.iter().filter_map(|number| told(*number));
    let extent =
        each.map(|(cell, measurand)| Extent::of_cell(&cell.conditions, measurand).learned(&Like::of(cell), earlier));
    let extent = extent.fold(Extent::default(), Extent::and);
    if extent.cells > 1 && extent.time > Ns(0) {
        let emulated = todo.iter().filter_map(|number| told(*number)).any(|(cell, _)| cell.target == LAB);
        let emulated = emulated && !earlier.knows(LAB);
        let slower = if emulated { ", and the host needs many times as long for the laboratory's guests" } else { "" };
        screen.say(&format!("time: {}{slower}", extent.sentence()));
    }
    let is_had = |number: &usize| known.skips.get(number - 1).is_some_and(Option::is_none);
    let had: Vec<_> = (1..=cells.len()).filter(is_had).filter_map(told).collect();
    if let Some(short) = repeats::too_few(&planned(plan, &had)) {
        screen.warn(&short);
    }
}
