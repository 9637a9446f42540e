//! The tails of a section: the conclusions from the largest samples of a series about rarer samples.

use crate::{
    tree::{Datum, Estimate, Head, Named, Section, Sheet},
    words,
};
use latido_judge::extremes::tail::{Answer, Fitted, Return};

/// Returns the table that a report shows; `None` if nothing was sampled.
pub fn sheet(section: &Section) -> Option<Sheet> {
    let (shown, all) = (section.extremes(), section.threads());
    let only = if shown.len() < all {
        let shown = words::count(shown.len() as u64);
        format!("; {shown} of {}: those with the largest samples", series(all))
    } else {
        String::new()
    };
    of(section, shown).map(|sheet| sheet.remark(only))
}

/// Returns the table of each series of each repeat.
pub fn all(section: &Section) -> Option<Sheet> {
    of(section, &section.all_extremes())
}

/// Returns the number of series as text: `1 series`, `16 series`.
fn series(count: usize) -> String {
    format!("{} series", words::count(count as u64))
}

/// Returns the name of a series: `busy, repeat 2, CPU 3`.
pub fn place(named: &Named) -> String {
    let own = &named.extremes;
    let cpu = own.cpu.map_or_else(|| format!("thread {}", own.thread), |cpu| format!("CPU {cpu}"));
    format!("{}, repeat {}, {cpu}", named.name, own.repeat)
}

/// Returns a sentence on the shown tails that says how many of them may have levels: `... 3 of 16 series may have levels ...`.
pub fn told(section: &Section) -> String {
    let shown = section.extremes();
    let open = shown.iter().filter(|one| one.extremes.tail.reasons().is_empty()).count();
    format!(
        "A generalised Pareto distribution above the threshold u. {open} of {} pass the gate and may have levels, under the \
         causes observed.",
        series(shown.len())
    )
}

fn of(section: &Section, shown: &[Named]) -> Option<Sheet> {
    let periods = shown.iter().find_map(|one| match &one.extremes.tail {
        Answer::Fitted(found) => Some(found.levels.iter().map(|level| level.once).collect::<Vec<_>>()),
        Answer::Refused { .. } => None,
    });
    let periods = periods.unwrap_or_default();
    let mut head: Vec<Head> = ["configuration", "repeat", "CPU", "k", "u", "shape", "gate"].map(Head::from).into();
    head.extend(periods.iter().map(|period| Head::from(*period)));
    let rows = shown.iter().map(|one| row(one, periods.len())).collect();
    let typical: Vec<f64> = shown.iter().filter_map(|one| one.extremes.max).map(|max| max as f64).collect();
    let title = format!(
        "{}, tails: levels that are exceeded once in the given time, under the causes observed",
        section.title()
    );
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for one in shown {
        let reasons = one.extremes.tail.reasons().join("; ");
        match notes.iter_mut().find(|(known, _)| *known == reasons) {
            _ if reasons.is_empty() => {}
            Some((_, places)) => places.push(place(one)),
            None => notes.push((reasons, vec![place(one)])),
        }
    }
    let notes = notes.into_iter().map(|(reasons, places)| format!("No levels of {}: {reasons}.", places.join("; ")));
    let far = shown.iter().any(|one| levels(one).any(|level| level.level.is_none() && level.refused.is_some()));
    let far = (far && !periods.is_empty()).then(|| {
        "Too far: more than 100 times what was observed. Below u: so frequent that the quantiles show it.".to_owned()
    });
    let notes = notes.chain(far).chain(section.worth());
    (!shown.is_empty()).then(|| Sheet::new(title, head, rows, section.unit, &typical).leading(3).notes(notes))
}

/// Returns the levels of a tail that passes its gate.
fn levels(named: &Named) -> impl Iterator<Item = &Return> {
    let open = match &named.extremes.tail {
        Answer::Fitted(found) if found.reasons().is_empty() => Some(found),
        _ => None,
    };
    open.into_iter().flat_map(|found| &found.levels)
}

fn row(named: &Named, periods: usize) -> Vec<Datum> {
    let own = &named.extremes;
    let cpu = own.cpu.map_or_else(|| Datum::Text("not pinned".into()), |cpu| Datum::Count(cpu.into()));
    let mut row = vec![Datum::Text(named.name.clone()), Datum::Count(own.repeat.into()), cpu];
    match &own.tail {
        Answer::Fitted(found) => row.extend(fit(found)),
        Answer::Refused { .. } => row.extend(["–", "–", "–", "no fit"].map(|text| Datum::Text(text.into()))),
    }
    let none = || Datum::Text("none".into());
    row.extend(levels(named).map(level).chain(std::iter::repeat_with(none)).take(periods));
    row
}

fn fit(found: &Fitted) -> [Datum; 4] {
    let shape = Estimate { value: found.xi.value, lower: found.xi.lower, upper: found.xi.upper, without: "open" };
    let shape = shape.text(words::plain);
    [Datum::Count(found.k), Datum::Value(found.u as f64), Datum::Text(shape), Datum::Text(found.verdict().to_owned())]
}

fn level(level: &Return) -> Datum {
    match &level.level {
        Some(one) => {
            Datum::Estimate(Estimate { value: one.value, lower: one.lower, upper: one.upper, without: "open" })
        }
        None => Datum::Text(level.brief().to_owned()),
    }
}

#[cfg(test)]
mod tests;
