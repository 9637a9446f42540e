//! Deadlines that periodic work would have met, for a run that neither a limit nor an expectation judges: kernel by kernel.

use super::{
    copies,
    headline::{Deadlines, Missed, Periodic},
    label::kernel,
    limit::judged,
    names::Names,
    unseen::{Rarity, Watch, crowd_ns},
};
use latido_model::{
    record::{Record, Series},
    run::{SeriesSource, StoredCell},
    units::Ns,
};
use std::cmp::Reverse;

/// The deadlines that latido tries, in ns: each ten times the one before.
const DEADLINES: [u64; 6] = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The least number of slots for a statement about a deadline that the user did not request. If a twentieth of all slots were late, 59
/// slots would contain no late one in 5 % of runs.
const FEWEST: u64 = 59;

/// A measured cell with a periodic quantity: its period, and the series to which its limits apply.
pub(super) struct Slotted<'a> {
    cell: &'a StoredCell,
    record: &'a Record,
    period_ns: u64,
    series: Vec<&'a Series>,
}

impl<'a> Slotted<'a> {
    pub(super) fn of(cell: &'a StoredCell, record: &'a Record) -> Option<Self> {
        let period = cell.measurand.period?;
        let mut series = judged(record, &cell.measurand);
        series.retain(|series| series.slots.is_some());
        (period.0 > 0 && !series.is_empty()).then_some(Self { cell, record, period_ns: period.0, series })
    }

    fn slots(&self) -> u64 {
        let all = self.series.iter().filter_map(|series| series.slots);
        all.map(|slots| slots.met.saturating_add(slots.late).saturating_add(slots.missed)).fold(0, u64::saturating_add)
    }

    /// Returns how many of its slots were late or missed.
    fn not_met(&self) -> u64 {
        let all = self.series.iter().filter_map(|series| series.slots);
        all.map(|slots| slots.late.saturating_add(slots.missed)).fold(0, u64::saturating_add)
    }

    /// Returns how many of the missed slots an earlier job may have served.
    fn unclear(&self) -> u64 {
        let all = self.series.iter().filter_map(|series| u64::try_from(*series.facts.get("unclear")?).ok());
        all.fold(0, u64::saturating_add)
    }

    /// Returns what the cell watched, for the claim that no slot missed a deadline.
    fn watch(&self, source: &dyn SeriesSource) -> Watch<'_> {
        let crowd =
            |series: &&Series| source.series(self.cell, series).map_or(0, |data| crowd_ns(&data.largest, series.count));
        let crowd_ns = self.series.iter().map(crowd).max().unwrap_or(0);
        let is_emulated = self.record.machine.emulated.is_some();
        Watch {
            crowd_ns,
            ..Watch::none(&self.cell.cell, is_emulated, self.record.watched_ns(self.cell.measurand.period))
        }
    }

    /// Returns how many of its slots would have missed a deadline. A slot that passed without a run missed every deadline within the
    /// period. For a deadline beyond the period, it counts the missed slots whose delay exceeds the deadline.
    fn missed(&self, deadline_ns: u64, source: &dyn SeriesSource) -> Option<u64> {
        let above = |histogram: &hdrhistogram::Histogram<u64>| {
            histogram.len().saturating_sub(histogram.count_between(0, deadline_ns))
        };
        let mut count = 0u64;
        for series in &self.series {
            let data = source.series(self.cell, series).ok()?;
            // Samples beyond the histogram's range are beyond every deadline.
            let over = series.count.saturating_sub(data.histogram.len()).saturating_sub(series.negative);
            let passed = match &data.missed {
                Some(missed) if deadline_ns > self.period_ns => above(missed),
                _ => series.slots.map_or(0, |slots| slots.missed),
            };
            let seen = above(&data.histogram).saturating_add(over).saturating_add(passed);
            // The maximum is exact; a bucket of the histogram is not.
            let beyond = series.decisive().max.is_some_and(|max| max > deadline_ns.cast_signed());
            count = count.saturating_add(if beyond { seen.max(1) } else { passed });
        }
        Some(count)
    }
}

/// Returns the deadlines that each kernel meets, for the period with the most slots. The kernel that meets the least comes first; kernels
/// with the same result share an entry.
pub(super) fn of_kernels(mut slotted: Vec<Slotted<'_>>, source: &dyn SeriesSource) -> Vec<Deadlines> {
    let slots = |period_ns| {
        let alike = slotted.iter().filter(|one| one.period_ns == period_ns);
        alike.map(Slotted::slots).fold(0, u64::saturating_add)
    };
    let most = slotted.iter().map(|one| one.period_ns).max_by_key(|period_ns| slots(*period_ns));
    slotted.retain(|one| Some(one.period_ns) == most);
    slotted.sort_by_key(|one| one.cell.written);
    let mut all: Vec<Deadlines> = Vec::new();
    for (name, cells) in by_kernel(&slotted) {
        let kept = periodic(&cells, source);
        match all.iter_mut().find(|known| known.kept == kept) {
            Some(known) => known.kernels.extend(name),
            None => all.push(Deadlines { kernels: name.into_iter().collect(), kept }),
        }
    }
    if all.iter().all(|one| one.kept.is_none()) {
        return Vec::new();
    }
    let kept = |one: &Deadlines| one.kept.as_ref().and_then(|kept| kept.kept_ns).unwrap_or(u64::MAX);
    all.sort_by_key(|one| (one.kept.is_some(), Reverse(kept(one))));
    all
}

/// Groups the cells by kernel and target, each with what distinguishes it; a single group has no name.
fn by_kernel<'s, 'a>(slotted: &'s [Slotted<'a>]) -> Vec<(Option<String>, Vec<&'s Slotted<'a>>)> {
    let mut groups: Vec<([String; 2], Vec<&'s Slotted<'a>>)> = Vec::new();
    for one in slotted {
        let cell = &one.cell.cell;
        let place = [cell.target.clone(), kernel(cell, &one.record.machine)];
        match groups.iter_mut().find(|(known, _)| *known == place) {
            Some((_, cells)) => cells.push(one),
            None => groups.push((place, vec![one])),
        }
    }
    let first = groups.first().map(|(place, _)| place.clone()).unwrap_or_default();
    let differs = |k: usize| groups.iter().any(|(place, _)| place.get(k) != first.get(k));
    let differing: Vec<usize> = (0..first.len()).filter(|k| differs(*k)).collect();
    let name = |place: &[String; 2]| {
        let parts: Vec<&str> = differing.iter().filter_map(|k| Some(place.get(*k)?.as_str())).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    groups.iter().map(|(place, cells)| (name(place), cells.clone())).collect()
}

/// Returns what it shows that no slot of these cells missed a deadline. Identical replicates of a sweep count once.
fn rarity(cells: &[&Slotted<'_>], deadline_ns: u64, source: &dyn SeriesSource) -> Option<Rarity> {
    let is_copy = |(at, one): &(usize, &&Slotted<'_>)| {
        cells.iter().take(*at).any(|before| copies::are(before.record, one.record))
    };
    let period_ns = cells.first()?.period_ns;
    let watches: Vec<Watch<'_>> =
        cells.iter().enumerate().filter(|one| !is_copy(one)).map(|(_, one)| one.watch(source)).collect();
    Rarity::of(&watches, period_ns.max(deadline_ns))
}

/// Returns how many of `count` missed slots an earlier job may have served.
fn unclear(cells: &[&Slotted<'_>], count: u64) -> u64 {
    cells.iter().map(|one| one.unclear()).fold(0, u64::saturating_add).min(count)
}

/// Uses the requested deadline, if all cells have the same one: the slots count exactly how many missed it.
fn asked(
    (period_ns, slots): (u64, u64),
    cells: &[&Slotted<'_>],
    names: &Names,
    source: &dyn SeriesSource,
) -> Option<Periodic> {
    let deadline_ns = cells.first()?.cell.measurand.deadline?.0;
    if slots == 0 || cells.iter().any(|one| one.cell.measurand.deadline != Some(Ns(deadline_ns))) {
        return None;
    }
    let each: Vec<(String, u64)> = cells.iter().map(|one| (names.of(&one.cell.cell), one.not_met())).collect();
    let count = each.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
    let most = each.into_iter().max_by_key(|(_, count)| *count).filter(|_| cells.len() > 1);
    let unclear = unclear(cells, count);
    let missed = (count > 0).then_some(Missed { deadline_ns, count, unclear, most });
    let kept_ns = (count == 0).then_some(deadline_ns);
    let rarity = kept_ns.and_then(|kept_ns| rarity(cells, kept_ns, source));
    Some(Periodic { period_ns, slots, kept_ns, rarity, missed })
}

/// Returns the deadlines that these cells of one kernel and period meet; `None` for too few slots.
fn periodic(cells: &[&Slotted<'_>], source: &dyn SeriesSource) -> Option<Periodic> {
    let period_ns = cells.first()?.period_ns;
    let slots = cells.iter().map(|one| one.slots()).fold(0, u64::saturating_add);
    // The sentence names the kernel first, so the names omit it.
    let names = Names::among(cells.iter().map(|one| &one.cell.cell));
    if let Some(asked) = asked((period_ns, slots), cells, &names, source) {
        return Some(asked);
    }
    if slots < FEWEST {
        return None;
    }
    let (mut kept_ns, mut missed) = (None, None);
    // A deadline that most slots missed says nothing: latido reports it only if no longer deadline was met.
    for deadline_ns in DEADLINES.into_iter().rev() {
        let each: Option<Vec<(String, u64)>> =
            cells.iter().map(|one| Some((names.of(&one.cell.cell), one.missed(deadline_ns, source)?))).collect();
        let each = each?;
        let count = each.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        if count == 0 {
            kept_ns = Some(deadline_ns);
            continue;
        }
        let alone = each.len() == 1;
        let most = each.into_iter().max_by_key(|(_, count)| *count).filter(|_| !alone);
        if kept_ns.is_none() || count <= slots / 2 {
            missed = Some(Missed { deadline_ns, count, unclear: unclear(cells, count), most });
        }
        break;
    }
    let rarity = kept_ns.and_then(|kept_ns| rarity(cells, kept_ns, source));
    Some(Periodic { period_ns, slots, kept_ns, rarity, missed })
}
