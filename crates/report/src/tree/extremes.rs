//! The extremes of a section's series, computed once for all formats that show them.

use super::{Curve, Section};
use latido_judge::{
    extremes::{Extremes, Seen, seen},
    repeat::{Repeat, Track},
};
use latido_model::machine::Emulated;
use std::cmp::Reverse;

/// The most series of a section that latido analyses, unless the user requests all: a fit of 4,096 samples takes about 30 ms.
const SERIES: usize = 16;

/// The extremes of one series, and the name of its configuration.
#[derive(Debug)]
pub struct Named {
    /// The configuration.
    pub name: String,
    /// Its extremes.
    pub extremes: Extremes,
}

impl Section<'_> {
    /// Returns the extremes that a report shows: the same number of series of each configuration, those with the largest samples. If there
    /// are too many configurations, only those with the largest samples.
    pub fn extremes(&self) -> &[Named] {
        self.extremes.get_or_init(|| {
            let mut shown: Vec<(usize, &Curve)> = self.series.iter().enumerate().collect();
            shown.sort_by_key(|(_, series)| Reverse(series.pooled.plain.max));
            shown.truncate(SERIES);
            shown.sort_by_key(|(at, _)| *at);
            let each = SERIES / shown.len().max(1);
            shown.into_iter().flat_map(|(_, series)| series.extremes(each)).collect()
        })
    }

    /// Returns the extremes of all series of all repeats.
    pub fn all_extremes(&self) -> Vec<Named> {
        self.series.iter().flat_map(|series| series.extremes(usize::MAX)).collect()
    }

    /// Returns the number of series of all repeats.
    pub fn threads(&self) -> usize {
        self.series.iter().flat_map(Curve::sampled).count()
    }

    /// Returns the remarks on the maxima of its configurations.
    pub fn worth(&self) -> Vec<String> {
        worth(self.series.iter())
    }
}

/// Returns the remarks on the maxima of these series: what the measured time may have missed, and what emulated times are worth. The time
/// of a laboratory guest cannot be compared with days: other replicates of its sweep show what it may have missed.
pub fn worth<'a, 'b: 'a>(series: impl Iterator<Item = &'a Curve<'b>> + Clone) -> Vec<String> {
    let real = series.clone().filter(|one| one.configuration.machine.emulated.is_none());
    seen::note(real.map(Curve::measured_ns)).into_iter().chain(emulated(series)).collect()
}

/// Returns what the emulated series of these are worth, and the cost of reading their clock; `None` if none is emulated.
pub fn emulated<'a, 'b: 'a>(series: impl Iterator<Item = &'a Curve<'b>>) -> Option<String> {
    let guests: Vec<_> = series.map(|one| one.configuration).filter(|one| one.machine.emulated.is_some()).collect();
    let worth = guests.iter().find_map(|one| one.machine.emulated.as_ref()).map(Emulated::worth)?;
    let costs = guests.iter().flat_map(|one| &one.repeats).map(|repeat| repeat.evidence.clock.cost_ns.round() as u64);
    let costs: Vec<u64> = costs.filter(|cost| *cost > 0).collect();
    let cost = match (costs.iter().min(), costs.iter().max()) {
        (Some(least), Some(most)) if least == most => format!("; a reading of the clock takes {least} ns"),
        (Some(least), Some(most)) => format!("; a reading of the clock takes {least} to {most} ns"),
        _ => String::new(),
    };
    Some(worth + &cost)
}

impl Curve<'_> {
    /// Returns the rarest events that the time of all its repeats was enough to see; nothing for a guest, whose time cannot be compared
    /// with days.
    pub fn seen(&self) -> Option<Seen> {
        let real = self.configuration.machine.emulated.is_none();
        real.then(|| Seen::of_ns(self.measured_ns())).flatten()
    }

    /// Returns how long the machine was watched in all of its repeats, in ns.
    pub fn measured_ns(&self) -> u64 {
        self.configuration.repeats.iter().map(|repeat| repeat.elapsed_ns).fold(0, u64::saturating_add)
    }

    /// Returns the threads that have samples.
    fn sampled(&self) -> impl Iterator<Item = (&Repeat, &Track)> {
        self.configuration.tracks(self.pooled).filter(|(_, track)| track.plain.count > 0)
    }

    fn extremes(&self, each: usize) -> Vec<Named> {
        let mut all: Vec<(usize, (&Repeat, &Track))> = self.sampled().enumerate().collect();
        all.sort_by_key(|(_, (_, track))| Reverse(track.plain.max));
        all.truncate(each);
        all.sort_by_key(|(at, _)| *at);
        let limit = self.limit().map(|limit| limit as i64);
        let is_guest = self.configuration.machine.emulated.is_some();
        let named = |(_, (repeat, track)): (usize, (&Repeat, &Track))| {
            let extremes = Extremes::of(repeat, track, limit);
            let extremes = if is_guest { extremes.of_a_guest() } else { extremes };
            Named { name: self.name.clone(), extremes }
        };
        all.into_iter().map(named).collect()
    }
}
