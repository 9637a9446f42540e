//! How often samples exceed the limit of a section's series: counted by samples, and by bursts where they come in bursts.

use crate::{
    tree::{Datum, Estimate, Head, Named, Section, Sheet, percent},
    words,
};
use latido_judge::extremes::limit::Limit;
use latido_statistics::exceed::{Bounded, Exceedance};

/// Returns the table that a report shows; `None` if no limit judges the section.
pub fn sheet(section: &Section) -> Option<Sheet> {
    of(section, section.extremes())
}

/// Returns the table of each series of each repeat.
pub fn all(section: &Section) -> Option<Sheet> {
    of(section, &section.all_extremes())
}

fn of(section: &Section, shown: &[Named]) -> Option<Sheet> {
    let limited: Vec<(&Named, &Limit)> =
        shown.iter().filter_map(|one| Some((one, one.extremes.limit.as_ref()?))).collect();
    let (_, first) = limited.first()?;
    let bursts = limited.iter().any(|(_, limit)| limit.clusters.is_some() || limit.not_clustered.is_some());
    let noun = words::plural(section.noun());
    let above = Head::from("above").alarm();
    let mut head = vec!["configuration".into(), "repeat".into(), "CPU".into(), Head::from(noun), above];
    head.extend(["share", "per hour"].map(Head::from));
    head.extend(bursts.then(|| ["bursts", "bursts per hour"].map(Head::from)).into_iter().flatten());
    let row = |(named, limit): &(&Named, &Limit)| {
        let own = &named.extremes;
        let cpu = own.cpu.map_or_else(|| Datum::Text("not pinned".into()), |cpu| Datum::Count(cpu.into()));
        let samples = &limit.samples;
        let mut row = vec![Datum::Text(named.name.clone()), Datum::Count(own.repeat.into()), cpu];
        row.extend([Datum::Count(samples.count), Datum::Count(samples.above), share(limit), hour(samples)]);
        if bursts {
            row.extend(match (&limit.clusters, &limit.not_clustered) {
                (Some(found), _) => [Datum::Count(found.above), hour(found)],
                (None, Some(_)) => ["not possible", "–"].map(|text| Datum::Text(text.into())),
                (None, None) if samples.above == 0 => ["none", "–"].map(|text| Datum::Text(text.into())),
                (None, None) => ["one by one", "–"].map(|text| Datum::Text(text.into())),
            });
        }
        row
    };
    let rows = limited.iter().map(row).collect();
    let mut limits: Vec<i64> = limited.iter().map(|(_, limit)| limit.limit).collect();
    limits.dedup();
    let limit = match limits.len() {
        1 => words::round_value(first.limit as f64, section.unit),
        _ => "the limit".into(),
    };
    let title = format!("{}, how often above {limit}, with 95 % limits", section.title());
    let mut notes: Vec<String> = Vec::new();
    for why in limited.iter().filter_map(|(_, limit)| limit.not_clustered.as_ref()) {
        let note = format!("Bursts: {why}.");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    if bursts {
        notes.push(
            "Where samples above the limit come in bursts, each burst counts once; trust the rate of bursts.".into(),
        );
    }
    Some(Sheet::plain(title, head, rows).leading(3).notes(notes))
}

/// Returns the share of samples above the limit: `0.03 % (0.01 % to 0.07 %)`. It has no limits if there is no such sample, or if it is not
/// known whether samples come in bursts, because the limits of independent samples would not be valid.
fn share(limit: &Limit) -> Datum {
    let found = &limit.samples;
    match found.above == 0 || limit.not_clustered.is_some() {
        true => Datum::Text(percent(found.share.value)),
        false => bounded(found, &found.share, percent),
    }
}

/// Returns the same per hour.
fn hour(found: &Exceedance) -> Datum {
    found.per_hour.as_ref().map_or(Datum::Absent, |hour| bounded(found, hour, words::plain))
}

fn bounded(found: &Exceedance, one: &Bounded, number: fn(f64) -> String) -> Datum {
    Datum::Text(match found.above {
        0 => format!("{} (at most {})", number(0.0), number(one.upper)),
        _ => {
            let limits = Estimate { value: one.value, lower: Some(one.lower), upper: Some(one.upper), without: "open" };
            limits.text(number)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};

    /// One sample of three above the limit has both bounds. The share of a series without such samples has no bounds, and its rate per hour
    /// has an upper bound alone. No row is narrower than its head.
    #[test]
    fn none_above_has_an_upper_bound_alone() {
        let mut all = [
            sample::of("late", &[1_000, 2_000, 200_000], Some(100_000)),
            sample::of("well", &[1_000; 3], Some(100_000)),
        ];
        all.iter_mut().for_each(|one| one.repeats[0].elapsed_ns = 3_000_000_000);
        let sheet = sheet(&sections(&all)[0]).unwrap();
        assert!(sheet.rows.iter().all(|row| row.len() == sheet.head.len()), "{sheet:?}");
        let share = |row: usize| sheet.rows[row][5].text(None);
        assert!(share(0).starts_with("33.3 % (") && share(1) == "0 %", "{sheet:?}");
        let hour = |row: usize| sheet.rows[row][6].text(None);
        assert!(hour(0).contains(" to ") && hour(1).starts_with("0 (at most "), "{sheet:?}");
        assert!(super::sheet(&sections(&[sample::of("free", &[1_000], None)])[0]).is_none());
    }
}
