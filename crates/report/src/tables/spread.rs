//! How the repeats of each configuration differ: the largest sample of each. Pooled figures hide this.

use crate::tree::{Curve, Datum, Head, Section, Sheet, worth};
use latido_judge::{
    repeat::{Pooled, Repeat},
    statistics::median,
};

/// Returns the largest sample of each repeat, in the order of measurement; empty if there is only one repeat.
pub fn maxima<'c>(curve: &'c Curve) -> Vec<(&'c Repeat, f64)> {
    let own = |repeat: &'c Repeat| -> Option<&'c Pooled> {
        let mut each = repeat.quantities.iter().map(|one| &one.pooled);
        each.find(|pooled| pooled.key() == curve.pooled.key())
    };
    let all = curve.configuration.repeats.iter();
    let maxima: Vec<(&Repeat, f64)> =
        all.filter_map(|repeat| Some((repeat, own(repeat)?.summary.max? as f64))).collect();
    if maxima.len() > 1 { maxima } else { Vec::new() }
}

/// Returns the table of a section; `None` if nothing was repeated.
pub fn sheet(section: &Section) -> Option<Sheet> {
    let repeated: Vec<(&Curve, Vec<f64>)> = section
        .series
        .iter()
        .map(|curve| (curve, maxima(curve).into_iter().map(|(_, max)| max).collect::<Vec<f64>>()))
        .filter(|(_, maxima)| !maxima.is_empty())
        .collect();
    let row = |(curve, maxima): &(&Curve, Vec<f64>)| {
        let extreme = |pick: fn(f64, f64) -> f64| maxima.iter().copied().reduce(pick);
        let (low, high) = (extreme(f64::min), extreme(f64::max));
        let times = low.zip(high).filter(|(low, _)| *low > 0.0).map(|(low, high)| high / low);
        let times = times.map_or(Datum::Absent, |times| Datum::Text(crate::words::plain(times)));
        let count = Datum::Count(maxima.len() as u64);
        vec![
            Datum::Text(curve.name.clone()),
            count,
            Datum::value(low),
            Datum::value(Some(median(maxima))),
            Datum::value(high),
            times,
        ]
    };
    let rows: Vec<Vec<Datum>> = repeated.iter().map(row).collect();
    let typical: Vec<f64> = repeated.iter().flat_map(|(_, maxima)| maxima).copied().collect();
    let head = ["configuration", "repeats", "least max", "median max", "largest max", "largest / least"];
    let title = format!("{}, maxima of the repeats", section.title());
    let notes = worth(repeated.iter().map(|(curve, _)| *curve));
    (!rows.is_empty())
        .then(|| Sheet::new(title, head.map(Head::from).into(), rows, section.unit, &typical).notes(notes))
}
