//! How many periods of a section were met, late or missed.

use crate::tree::{Curve, Datum, Head, Section, Sheet};

/// Returns the table; nothing for a probe without periods.
pub fn sheet(section: &Section) -> Option<Sheet> {
    section.series.iter().find(|series| series.pooled.slots.is_some())?;
    let row = |series: &Curve| {
        let name = [Datum::Text(series.name.clone())].into_iter();
        let Some(slots) = series.pooled.slots else {
            return name.chain(std::iter::repeat_n(Datum::Absent, 5)).collect();
        };
        let lost = slots.late.saturating_add(slots.missed);
        let all = slots.met.saturating_add(lost);
        let share = if all == 0 { Datum::Absent } else { Datum::Share(lost as f64 / all as f64) };
        name.chain([all, slots.met, slots.late, slots.missed].map(Datum::Count)).chain([share]).collect()
    };
    Some(Sheet::plain(
        "Met: the thread ran for the slot in time; late: it ran for it later; missed: the slot passed unarmed".into(),
        ["configuration", "slots", "met", "late", "missed", "late or missed"].map(Head::from).into(),
        section.series.iter().map(row).collect(),
    ))
}
