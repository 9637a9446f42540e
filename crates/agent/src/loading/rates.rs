//! Converts what a load reports about its work into rates: their means, and the slowest and fastest of their seconds.

use super::steps::Steps;
use latido_model::record::{LoadStep, Rate};
use std::collections::BTreeMap;

/// Cumulative counts since the start of a load, by name. `elapsed_ns` is the load's own clock, for rates.
pub type WorkCounts = BTreeMap<String, i64>;

/// The count that is the load's own clock, in ns.
pub const ELAPSED: &str = "elapsed_ns";

/// The shortest time for which latido computes a slowest and a fastest rate, ns.
const SECOND: u64 = 1_000_000_000;

/// How far the load's clock may stay behind latido's clock before latido ignores it, ns: a load that reports nothing stands still.
const SILENCE: u64 = SECOND;

/// What a load reported, and when it arrived by latido's clock, in ns.
#[derive(Clone, Debug)]
struct Moment {
    counts: WorkCounts,
    at_ns: u64,
}

/// The reports of a load from one moment on.
#[derive(Clone, Debug, Default)]
pub struct Seconds {
    first: Option<Moment>,
    last: Option<Moment>,
    /// Beginning and end of the last whole second. A rest at the end is too short for a second and is added to it.
    second: Option<(Moment, Moment)>,
    extremes: BTreeMap<String, (f64, f64)>,
    steps: Steps,
}

/// The results from the reports of a load.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Its rates; none if fewer than two reports arrived.
    pub rates: BTreeMap<String, Rate>,
    /// Its seconds, in steps. Their times are on latido's clock.
    pub steps: Vec<LoadStep>,
}

impl Seconds {
    /// Adds a report.
    pub fn tell(&mut self, counts: &WorkCounts, at_ns: u64) {
        let now = Moment { counts: counts.clone(), at_ns };
        let first = &*self.first.get_or_insert_with(|| now.clone());
        let begin = self.second.as_ref().map_or(first, |(_, end)| end);
        if span(begin, &now) >= SECOND {
            let next = (begin.clone(), now.clone());
            if let Some((begin, end)) = self.second.replace(next) {
                self.note(&begin, &end);
            }
        }
        self.last = Some(now);
    }

    fn note(&mut self, begin: &Moment, end: &Moment) {
        self.steps.push(begin.at_ns, span(begin, end), more(begin, end).collect());
        for (name, rate) in between(begin, end, span(begin, end)) {
            let (low, high) = self.extremes.entry(name).or_insert((rate, rate));
            (*low, *high) = (low.min(rate), high.max(rate));
        }
    }

    /// Returns the results until now.
    pub fn course(mut self, at_ns: u64) -> Course {
        // A load that fell silent has done nothing more, as far as latido knows.
        if let Some(last) = self.last.take() {
            self.tell(&last.counts, at_ns);
        }
        let (Some(first), Some(last)) = (self.first.take(), self.last.take()) else { return Course::default() };
        if let Some((begin, _)) = self.second.take() {
            self.note(&begin, &last);
        }
        let over_ns = span(&first, &last);
        let rate = |(name, mean): (String, f64)| {
            let extremes = self.extremes.get(&name);
            let (slowest, fastest) = (extremes.map(|(low, _)| round(*low)), extremes.map(|(_, high)| round(*high)));
            (name, Rate { mean: round(mean), slowest, fastest, over_ns, whole_life: false })
        };
        let rates = between(&first, &last, over_ns).into_iter().map(rate).collect();
        Course { rates, steps: self.steps.all() }
    }
}

/// Returns the time between two reports in ns: by the load's clock, or by latido's where the load has none or its clock fell behind.
fn span(from: &Moment, to: &Moment) -> u64 {
    let ours = to.at_ns.saturating_sub(from.at_ns);
    let clock = |moment: &Moment| moment.counts.get(ELAPSED).copied();
    match clock(from).zip(clock(to)).and_then(|(from, to)| u64::try_from(to.saturating_sub(from)).ok()) {
        Some(theirs) if ours <= theirs.saturating_add(SILENCE) => theirs,
        _ => ours,
    }
}

/// Returns the rates per second between two reports. A count that is new in the second report started at 0.
fn between(from: &Moment, to: &Moment, span: u64) -> Vec<(String, f64)> {
    if span == 0 {
        return Vec::new();
    }
    let seconds = span as f64 / SECOND as f64;
    more(from, to).map(|(name, more)| (name, more as f64 / seconds)).collect()
}

/// Returns the increase of each count. A count that ran backwards is left out.
fn more(from: &Moment, to: &Moment) -> impl Iterator<Item = (String, i64)> {
    let of = |(name, count): (&String, &i64)| {
        let more = count.checked_sub(from.counts.get(name).copied().unwrap_or(0)).filter(|more| *more >= 0)?;
        (name != ELAPSED).then(|| (name.clone(), more))
    };
    to.counts.iter().filter_map(of)
}

/// Rounds to millionths: further digits are noise.
pub fn round(rate: f64) -> f64 {
    if rate.abs() < 1e9 { (rate * 1e6).round() / 1e6 } else { rate.round() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn counts(work: i64, elapsed_ms: Option<u64>) -> WorkCounts {
        let mut counts = WorkCounts::from([("work".to_string(), work)]);
        if let Some(ms) = elapsed_ms {
            counts.insert(ELAPSED.into(), (ms * MS).cast_signed());
        }
        counts
    }

    /// Returns ten reports per second of a load that does 1000 per second, and half of it in the fourth and fifth second.
    fn collapsing(own_clock: bool) -> Seconds {
        let mut seconds = Seconds::default();
        let mut work = 5000;
        for tenth in 0..=80 {
            let ms = tenth * 100;
            seconds.tell(&counts(work, own_clock.then_some(700 + ms)), (9000 + ms) * MS);
            work += if (30..50).contains(&tenth) { 50 } else { 100 };
        }
        seconds
    }

    #[test]
    fn a_load_that_collapses_for_a_while_shows() {
        for own_clock in [true, false] {
            let rate = collapsing(own_clock).course(17_000 * MS).rates["work"];
            assert_eq!((rate.mean, rate.slowest, rate.fastest), (875.0, Some(500.0), Some(1000.0)));
            assert_eq!((rate.over_ns, rate.whole_life), (8000 * MS, false));
        }
    }

    /// The steps show second by second where the load collapsed.
    #[test]
    fn its_seconds_are_its_steps() {
        for own_clock in [true, false] {
            let steps = collapsing(own_clock).course(17_000 * MS).steps;
            let rates: Vec<f64> = steps.iter().filter_map(|step| step.rate("work")).collect();
            assert_eq!(rates, [1000.0, 1000.0, 1000.0, 500.0, 500.0, 1000.0, 1000.0, 1000.0]);
            assert_eq!((steps[0].start_ns, steps[7].start_ns), (9_000_000_000, 16_000_000_000));
            assert!(steps.iter().all(|step| !step.counts.contains_key(ELAPSED)));
        }
    }

    #[test]
    fn silence_is_no_work() {
        let rate = collapsing(true).course(25_000 * MS).rates["work"];
        assert_eq!((rate.mean, rate.slowest, rate.over_ns), (437.5, Some(0.0), 16_000 * MS));
        // This also holds for a load that repeats its report with a clock that stands still.
        let mut stuck = collapsing(true);
        for ms in 17_000..25_000 {
            stuck.tell(&counts(12_000, Some(8700)), ms * MS);
        }
        assert_eq!(stuck.course(25_000 * MS).rates["work"].slowest, Some(0.0));
    }

    /// A rest that is shorter than a second counts too: no mean is below the slowest second.
    #[test]
    fn seconds_cover_everything() {
        let mut seconds = Seconds::default();
        for (work, ms) in [(0, 0), (1000, 1000), (1050, 1900)] {
            seconds.tell(&counts(work, Some(ms)), ms * MS);
        }
        let rate = seconds.course(1900 * MS).rates["work"];
        assert_eq!((rate.mean, rate.slowest, rate.fastest), (552.631579, Some(rate.mean), Some(rate.mean)));
    }

    #[test]
    fn what_was_not_told_has_no_rate() {
        assert!(Seconds::default().course(5).rates.is_empty());
        let mut once = Seconds::default();
        once.tell(&counts(5, Some(1)), 1);
        assert!(once.course(1).rates.is_empty());
        // The time is too short for a slowest second, and a count runs backwards.
        let mut short = Seconds::default();
        short.tell(&counts(9, Some(0)), 0);
        short.tell(&counts(5, Some(500)), 500 * MS);
        assert!(short.clone().course(500 * MS).rates.is_empty());
        short.tell(&counts(19, Some(500)), 500 * MS);
        let rate = short.course(500 * MS).rates["work"];
        assert_eq!((rate.mean, rate.slowest), (20.0, None));
    }
}
