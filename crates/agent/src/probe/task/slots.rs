//! The slots of a periodic thread, found in its wakings.

/// How far before its time a waking may come and still be of a slot: a part of the period.
const EARLY: u64 = 4;
/// So many wakings tell where the slots are.
const FIRST: usize = 1000;
/// A thread's slots begin with so many of them that have wakings, among so many: before lies what it does to prepare.
const REGULAR: usize = 6;
const AMONG: u64 = 8;
/// What a slot's time follows of a waking's distance from it, and the most of the period that it follows.
const FOLLOW: i64 = 16;
const MOST: i64 = 1000;

/// Where the slots of a thread are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    period: u64,
    phase: u64,
    /// When the first waking of its regular slots came.
    begins: u64,
    /// The next slot's time.
    next: Option<u64>,
}

/// Which slot an activation is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// The first of this slot, at this time; so many passed before without any.
    First {
        /// The slot's time.
        due: u64,
        /// Slots that passed.
        missed: u64,
    },
    /// A further one of the slot that there is.
    Further,
}

impl Grid {
    /// Of wakings a period apart, by the first of them: later ones may have drifted.
    pub fn of(period: u64, wakings: &[u64]) -> Self {
        let period = period.max(1);
        let mut at: Vec<u64> = wakings.iter().take(FIRST).map(|time| time % period).collect();
        at.sort_unstable();
        // Where the largest gap is, the circle is cut: the median of what follows it.
        let around = at.first().zip(at.last()).map(|(first, last)| (first + period - last, 0));
        let gaps = at.windows(2).zip(1..).filter_map(|(pair, index)| Some((pair.last()? - pair.first()?, index)));
        let cut = gaps.chain(around).max().map_or(0, |(_, index)| index);
        let middle = (cut + at.len() / 2).checked_rem(at.len()).unwrap_or(0);
        let phase = at.get(middle).copied().unwrap_or(0);
        Self { period, phase, begins: regular(period, phase, wakings), next: None }
    }

    /// Whether a waking lies before the slots begin: a program wakes while it prepares, too.
    pub fn is_before(&self, woken: u64) -> bool {
        woken < self.begins
    }

    /// Takes what begins without a waking, as its time has passed: it is of the oldest slot that had nothing.
    fn catch_up(&mut self, began: u64) -> Slot {
        let Some(due) = self.next.filter(|next| *next <= began) else { return self.take(began, None) };
        self.next = Some(due.saturating_add(self.period));
        Slot::First { due, missed: 0 }
    }

    /// Takes a waking; `following` is the next one. A waking shortly before a slot's time is of that slot, unless the one before had
    /// none and another waking follows for this: then it came late.
    fn take(&mut self, woken: u64, following: Option<u64>) -> Slot {
        let early = self.period / EARLY;
        let reach = woken.saturating_add(early);
        let (due, missed) = match self.next {
            None => (reach - (reach + self.period - self.phase) % self.period, 0),
            Some(next) => {
                let Some(beyond) = reach.checked_sub(next) else { return Slot::Further };
                let missed = beyond / self.period;
                let due = next + missed * self.period;
                let has_another = following.is_some_and(|other| other < due + self.period - early);
                match missed > 0 && woken < due && has_another {
                    true => (due - self.period, missed - 1),
                    false => (due, missed),
                }
            }
        };
        let most = (self.period.cast_signed() / MOST).max(1);
        let off = woken.wrapping_sub(due).cast_signed();
        let step = (off / FOLLOW).clamp(-most, most);
        self.next = Some(due.saturating_add(self.period).saturating_add_signed(step));
        Slot::First { due, missed }
    }

    /// The times of slots that would be over at this time and had nothing.
    fn rest(&self, until: u64) -> impl Iterator<Item = u64> + use<> {
        let Self { period, next, .. } = *self;
        let count = next.map_or(0, |next| until.saturating_sub(next) / period);
        (0..count).filter_map(move |index| Some(next?.saturating_add(index * period)))
    }
}

/// When the first of some wakings comes that are a period apart, most of them, and the first two of them; the first of all where none
/// are. A single waking before them is of what the thread did to prepare.
fn regular(period: u64, phase: u64, wakings: &[u64]) -> u64 {
    let slot = |woken: &u64| (woken + period / EARLY + period - phase % period) / period;
    let mut slots: Vec<(u64, u64)> = wakings.iter().map(|woken| (slot(woken), *woken)).collect();
    slots.dedup_by_key(|(slot, _)| *slot);
    let runs = slots.windows(REGULAR).find_map(|run| {
        let [first, second, .., last] = run else { return None };
        (last.0 - first.0 < AMONG && second.0 == first.0 + 1).then_some(first.1)
    });
    runs.unwrap_or(0)
}

/// A slot that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// Nothing began in it.
    Missed {
        /// Its time.
        due: u64,
        /// When something came at last, or nothing was waited for any more.
        came: u64,
        /// Whether an earlier job ran when its time came, and no call tells whether it did this slot's work too.
        unclear: bool,
    },
    /// What began in it was done.
    Done {
        /// Its time.
        due: u64,
        /// When its first activation began.
        began: u64,
        /// When its last one ended.
        end: u64,
    },
}

/// An activation of a periodic thread, as far as slots go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// When it began.
    pub woken: u64,
    /// When it ended.
    pub end: u64,
    /// Whether that is its end; one that is not whole begins in a slot and does not complete it.
    pub whole: bool,
    /// Whether it began without a waking, as its time had passed.
    pub at_once: bool,
    /// Whether calls tell which jobs the thread began.
    pub told: bool,
}

/// The jobs of a periodic thread, slot by slot. A slot whose job did not end while it was watched is none of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jobs {
    grid: Grid,
    /// The last activation: the next one tells how late it was.
    held: Option<Job>,
    /// The slot that there is: its time, when its first activation began, when its last one ended.
    current: Option<(u64, u64, u64)>,
    /// Activations beyond the first of a slot.
    pub extra: u64,
    /// Activations before the slots begin.
    pub before: u64,
    /// Until when the thread ran, and no call tells how many jobs it did.
    untold_until: u64,
}

impl Jobs {
    /// With these slots.
    pub fn of(grid: Grid) -> Self {
        Self { grid, held: None, current: None, extra: 0, before: 0, untold_until: 0 }
    }

    /// Takes an activation.
    pub fn take(&mut self, job: Job, mut over: impl FnMut(Over)) {
        if self.grid.is_before(job.woken) {
            self.before += 1;
            return;
        }
        if let Some(before) = self.held.replace(job) {
            self.place(before, Some(job), &mut over);
        }
    }

    /// Finds the slot of an activation. Where the next one began at once, its time had passed: this one, however late it was
    /// woken, is of the oldest slot too.
    fn place(&mut self, job: Job, next: Option<Job>, over: &mut impl FnMut(Over)) {
        let Job { woken, end, whole, at_once, told } = job;
        let slot = match at_once || next.is_some_and(|next| next.at_once) {
            true => self.grid.catch_up(woken),
            false => self.grid.take(woken, next.map(|next| next.woken)),
        };
        match slot {
            Slot::First { due, missed } => {
                self.flush(over);
                for back in (1..=missed).rev() {
                    let due = due.saturating_sub(back.saturating_mul(self.grid.period));
                    over(Over::Missed { due, came: end, unclear: due < self.untold_until });
                }
                self.current = whole.then_some((due, woken, end));
            }
            Slot::Further => {
                self.extra += 1;
                self.current = self.current.filter(|_| whole).map(|(due, began, _)| (due, began, end));
            }
        }
        self.untold_until = if told { 0 } else { end };
    }

    fn flush(&mut self, over: &mut impl FnMut(Over)) {
        if let Some((due, began, end)) = self.current.take() {
            over(Over::Done { due, began, end });
        }
    }

    /// Nothing follows, and until then something was waited for.
    pub fn finish(&mut self, until: u64, mut over: impl FnMut(Over)) {
        if let Some(last) = self.held.take() {
            self.place(last, None, &mut over);
        }
        self.flush(&mut over);
        let untold = self.untold_until;
        self.grid.rest(until).for_each(|due| over(Over::Missed { due, came: until, unclear: due < untold }));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::distances::distance, *};
    use proptest::prelude::*;

    /// What became of the slots of these wakings: with an activation, missed, further ones.
    fn counted(period: u64, wakings: &[u64], until: u64) -> [u64; 3] {
        let mut grid = Grid::of(period, wakings);
        let mut counts = [0; 3];
        for (at, woken) in wakings.iter().enumerate() {
            match grid.take(*woken, wakings.get(at + 1).copied()) {
                Slot::First { missed, .. } => {
                    counts[0] += 1;
                    counts[1] += missed;
                }
                Slot::Further => counts[2] += 1,
            }
        }
        counts[1] += grid.rest(until).count() as u64;
        counts
    }

    proptest! {
        /// However late wakings are, up to three quarters of a period, and whichever slots are left out: each is found, none
        /// is invented, at any phase.
        #[test]
        fn slots_left_out_are_found(
            phase in 0u64..1_000_000,
            slots in prop::collection::vec((0u64..20_000, prop::bool::weighted(0.9)), 50..200),
            late in 0usize..50,
        ) {
            let time = |index: usize, by: u64| 7_000_000_000 + phase + index as u64 * 1_000_000 + by;
            let mut wakings = Vec::new();
            for (index, (by, there)) in slots.iter().enumerate() {
                if *there || index == 0 {
                    let by = if index == late { 700_000 } else { *by };
                    wakings.push(time(index, by));
                }
            }
            let end = time(slots.len(), 0) + 40_000;
            let [there, missed, further] = counted(1_000_000, &wakings, end);
            prop_assert_eq!((there, further), (wakings.len() as u64, 0));
            prop_assert_eq!(there + missed, slots.len() as u64);
        }
    }

    /// A clock that runs 500 ppm otherwise is followed for ten minutes of slots; a period that is 5 % longer is not.
    #[test]
    fn a_drift_is_followed_and_a_wrong_period_is_seen() {
        let drifting: Vec<u64> = (0..600_000u64).map(|index| 5_000_000_000 + index * 1_000_500).collect();
        assert_eq!(counted(1_000_000, &drifting, 0), [600_000, 0, 0]);
        let longer: Vec<u64> = (0..2_000u64).map(|index| 5_000_000_000 + index * 1_050_000).collect();
        let [there, missed, _] = counted(1_000_000, &longer, 0);
        assert_eq!(there, 2_000);
        assert!((90..=100).contains(&missed), "{missed}");
        assert_eq!(distance(&longer), Some(1_050_000));
    }

    /// A job that goes on in an activation without an end, as the last one of a thread that ends, is neither met nor late, and
    /// what comes after is not waited for.
    #[test]
    fn a_job_without_an_end_is_no_slot() {
        let mut jobs = Jobs::of(Grid::of(1_000, &[10_000, 11_000, 12_000, 14_000]));
        let mut over = Vec::new();
        let done = |due, end| Over::Done { due, began: due, end };
        for (woken, end, whole) in
            [(10_000, 10_100, true), (11_000, 11_100, true), (11_200, 11_300, true), (12_000, 12_100, true)]
        {
            jobs.take(job(woken, end, whole), |one| over.push(one));
        }
        jobs.take(job(12_300, 99_000, false), |one| over.push(one));
        assert_eq!(over, [done(10_000, 10_100), done(11_000, 11_300)]);
        over.clear();
        jobs.take(job(14_000, 99_000, false), |one| over.push(one));
        jobs.finish(14_000, |one| over.push(one));
        assert_eq!((over, jobs.extra), (vec![Over::Missed { due: 13_000, came: 99_000, unclear: true }], 2));
    }

    fn job(woken: u64, end: u64, whole: bool) -> Job {
        Job { woken, end, whole, at_once: false, told: false }
    }

    /// A job of 3.2 periods, then the jobs of the slots that passed, each begun at once: all are done, two of them late, none is
    /// missed. Without the calls' events nobody can tell that from slots left out: they are missed, and said to be unclear.
    /// A program that waits for the next slot by a call that is seen has left them out for certain.
    #[test]
    fn jobs_that_catch_up_are_told_where_calls_tell() {
        let wakings = [10_000, 11_000, 12_000, 13_000, 17_000, 18_000];
        let over = |jobs_of: &[Job]| {
            let (mut jobs, mut over) = (Jobs::of(Grid::of(1_000, &wakings)), Vec::new());
            jobs_of.iter().for_each(|one| jobs.take(*one, |slot| over.push(slot)));
            jobs.finish(18_000, |slot| over.push(slot));
            over
        };
        let told = |woken, end, at_once| Job { at_once, told: true, ..job(woken, end, true) };
        let done = |due, began, end| Over::Done { due, began, end };
        let caught_up = over(&[
            told(13_000, 16_200, false),
            told(16_201, 16_300, true),
            told(16_301, 16_400, true),
            told(16_401, 16_500, true),
            told(17_000, 17_100, false),
        ]);
        assert_eq!(
            caught_up,
            [
                done(13_000, 13_000, 16_200),
                done(14_000, 16_201, 16_300),
                done(15_000, 16_301, 16_400),
                done(16_000, 16_401, 16_500),
                done(17_000, 17_000, 17_100)
            ]
        );
        // A waking that is late by 0.9 of a period is its slot's where the next job begins at once.
        let late = over(&[told(13_000, 13_100, false), told(14_900, 15_000, false), told(15_001, 15_100, true)]);
        let (late, rest) = late.split_at(3);
        assert_eq!(late, [done(13_000, 13_000, 13_100), done(14_000, 14_900, 15_000), done(15_000, 15_001, 15_100)]);
        assert!(rest.iter().all(|one| matches!(one, Over::Missed { unclear: false, .. })), "{rest:?}");
        let missed = |due, unclear| Over::Missed { due, came: 17_100, unclear };
        for seen in [false, true] {
            let left_out = over(&[
                Job { told: seen, ..job(13_000, 16_200, true) },
                Job { told: seen, ..job(17_000, 17_100, true) },
            ]);
            let all = [
                done(13_000, 13_000, 16_200),
                missed(14_000, !seen),
                missed(15_000, !seen),
                missed(16_000, !seen),
                done(17_000, 17_000, 17_100),
            ];
            assert_eq!(left_out, all);
        }
    }

    /// A waking of 0.8 periods after its slot's time, with the next slot's own waking behind it, is of its slot: none is missed.
    /// Where none follows, it came early for the next.
    #[test]
    fn a_waking_shortly_before_another_slots_is_late_for_its_own() {
        let regular: Vec<u64> = (0..10).map(|slot| 10_000 + slot * 1_000).collect();
        let with = |last: &[u64]| [&regular[..], last].concat();
        assert_eq!(counted(1_000, &with(&[20_800, 21_000, 22_000]), 22_000), [13, 0, 0]);
        assert_eq!(counted(1_000, &with(&[20_800, 22_000]), 22_000), [12, 1, 0]);
    }

    /// What a program does to prepare has no slots: a waking each 37 ms for two seconds, then one a millisecond.
    #[test]
    fn slots_begin_with_the_first_that_are_regular() {
        let prepares: Vec<u64> = (0..54).map(|at| 5_000_000_000 + at * 37_000_000).collect();
        let works: Vec<u64> = (0..900).map(|at| 7_000_000_000 + at * 1_000_000).collect();
        let grid = Grid::of(1_000_000, &[&prepares[..], &works].concat());
        assert!(grid.is_before(prepares[53]) && !grid.is_before(works[0]));
        // No run of slots is regular where the period is another one: all count.
        assert!(!Grid::of(1_000_000, &prepares).is_before(prepares[0]));
    }

    /// A thread sets itself up, and asks for its first slot some periods later: its first waking is none of a slot, wherever it comes,
    /// and no slot lies between the two.
    #[test]
    fn the_waking_of_a_start_begins_no_slots() {
        for tenths in 3..60 {
            let begins = 9_000_000 + tenths * 100_000;
            let works: Vec<u64> = (0..300).map(|at| begins + at * 1_000_000 + at % 7 * 900).collect();
            let wakings = [&[9_000_000], &works[..]].concat();
            let mut jobs = Jobs::of(Grid::of(1_000_000, &wakings));
            let mut missed = 0;
            let mut over = |over| missed += u32::from(matches!(over, Over::Missed { .. }));
            wakings.iter().for_each(|woken| jobs.take(job(*woken, woken + 90_000, true), &mut over));
            jobs.finish(begins + 299_900_000, &mut over);
            assert_eq!(missed, 0, "{tenths} tenths of a period");
        }
    }

    /// Several wakings in one slot are one job that waited in between.
    #[test]
    fn further_wakings_are_of_the_same_slot() {
        let wakings = [1_000_000, 1_100_000, 1_300_000, 2_000_000, 4_000_000];
        assert_eq!(counted(1_000_000, &wakings, 6_000_000), [3, 2, 2]);
    }
}
