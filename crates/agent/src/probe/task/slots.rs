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

/// A waking later than this part of the period is not on time.
const ON_TIME: u64 = 50;
/// So many jobs that begin at once in a row are looked at together.
const AT_ONCE_MOST: usize = 1000;

/// A thread that a signal wakes out of its wait, to stop it or to let it go on, does no more than this until it waits again, ns.
pub(super) const AT_ONCE_NS: u64 = 50_000;

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
        let phase = Self::phase(period, wakings);
        Self { period, phase, begins: regular(period, phase, wakings).unwrap_or(0), next: None }
    }

    /// Whether most of some wakings in a row are a period apart.
    pub fn is_regular(period: u64, wakings: &[u64]) -> bool {
        let period = period.max(1);
        regular(period, Self::phase(period, wakings), wakings).is_some()
    }

    /// Where in the period the wakings lie, in the middle.
    fn phase(period: u64, wakings: &[u64]) -> u64 {
        let mut at: Vec<u64> = wakings.iter().take(FIRST).map(|time| time % period).collect();
        at.sort_unstable();
        // Where the largest gap is, the circle is cut: the median of what follows it.
        let around = at.first().zip(at.last()).map(|(first, last)| (first + period - last, 0));
        let gaps = at.windows(2).zip(1..).filter_map(|(pair, index)| Some((pair.last()? - pair.first()?, index)));
        let cut = gaps.chain(around).max().map_or(0, |(_, index)| index);
        let middle = (cut + at.len() / 2).checked_rem(at.len()).unwrap_or(0);
        at.get(middle).copied().unwrap_or(0)
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

/// When the first of some wakings comes that are a period apart, most of them, and the first two of them; none where none
/// are. A single waking before them is of what the thread did to prepare.
fn regular(period: u64, phase: u64, wakings: &[u64]) -> Option<u64> {
    let slot = |woken: &u64| (woken + period / EARLY + period - phase % period) / period;
    let mut slots: Vec<(u64, u64)> = wakings.iter().map(|woken| (slot(woken), *woken)).collect();
    slots.dedup_by_key(|(slot, _)| *slot);
    slots.windows(REGULAR).find_map(|run| {
        let [first, second, .., last] = run else { return None };
        (last.0 - first.0 < AMONG && second.0 == first.0 + 1).then_some(first.1)
    })
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
        /// When it ended if the next activation, which nobody can tell from a next job, was still of it.
        or_end: Option<u64>,
    },
}

/// For what a thread waits where an activation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// For a time of a clock, in a call that the trace shows.
    ATime,
    /// For something else, or nobody knows.
    Another,
    /// It was stopped, and goes on where it was.
    Stopped,
    /// It was stopped in its wait, and goes on with that.
    StoppedWaiting,
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
    /// For what the thread waits then.
    pub then: Then,
}

/// The slot that there is.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// Its time.
    due: u64,
    /// When its first activation began.
    began: u64,
    /// When its last one ended.
    end: u64,
    /// Whether that one was stopped: its end is not known yet.
    stopped: bool,
}

/// Whether a waking for a time goes on with the job that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GoesOn {
    /// It is a slot's.
    No,
    /// Nobody can tell.
    Open,
    /// The jobs behind it that began at once are those of all slots that had come.
    Yes,
}

/// The jobs of a periodic thread, slot by slot. A slot whose job did not end while it was watched is none of them.
#[derive(Clone, Debug)]
pub(super) struct Jobs {
    grid: Grid,
    /// The last activation, and those behind it that began at once: they and the next one tell of which slot it is.
    held: Vec<Job>,
    /// Whether the thread asks for times that have passed where no slot waits for a job, too.
    asks_idly: bool,
    current: Option<Current>,
    /// Whether the thread asks for the time of each slot: then a waking out of another wait goes on with the job that there is.
    by_time: bool,
    /// For what the thread waited last.
    waited: Option<Then>,
    /// Activations beyond the first of a slot.
    pub extra: u64,
    /// Activations before the slots begin.
    pub before: u64,
    /// Until when the thread ran, and no call tells how many jobs it did.
    untold_until: u64,
}

impl Jobs {
    /// With these slots; `by_time` where the thread asks for the time of each.
    pub fn of(grid: Grid, by_time: bool) -> Self {
        let (held, asks_idly, current, waited) = (Vec::new(), false, None, None);
        Self { grid, held, asks_idly, current, by_time, waited, extra: 0, before: 0, untold_until: 0 }
    }

    /// Takes an activation.
    pub fn take(&mut self, job: Job, mut over: impl FnMut(Over)) {
        if self.grid.is_before(job.woken) {
            self.before += 1;
            return;
        }
        if job.at_once && (1..AT_ONCE_MOST).contains(&self.held.len()) {
            self.held.push(job);
            return;
        }
        let before = std::mem::replace(&mut self.held, vec![job]);
        self.place_all(&before, Some(job), &mut over);
    }

    /// Finds the slots of a waking and of those behind it that began at once.
    fn place_all(&mut self, all: &[Job], following: Option<Job>, over: &mut impl FnMut(Over)) {
        let mut goes_on = self.goes_on(all);
        for (at, job) in all.iter().enumerate() {
            self.place(*job, all.get(at + 1).copied().or(following), goes_on, over);
            goes_on = GoesOn::No;
        }
    }

    /// Whether a waking is none of a slot's. A thread that sleeps for some time within a job, and then asks for the slots that passed
    /// meanwhile, begins a job at once for each of them: no slot is left for the waking. On time it is its slot's, and the thread asks
    /// for nothing with the surplus.
    fn goes_on(&mut self, all: &[Job]) -> GoesOn {
        let (Some((waking, behind)), Some(due)) = (all.split_first(), self.grid.next) else { return GoesOn::No };
        let Some(last) = behind.last().filter(|last| self.by_time && !waking.at_once && last.woken >= due) else {
            return GoesOn::No;
        };
        let passed = (last.woken - due) / self.grid.period + 1;
        if (behind.len() as u64) < passed {
            return GoesOn::No;
        }
        let on_time = waking.woken <= due.saturating_add(self.grid.period / ON_TIME);
        self.asks_idly |= on_time;
        match (on_time, self.asks_idly) {
            (true, _) => GoesOn::No,
            (false, true) => GoesOn::Open,
            (false, false) => GoesOn::Yes,
        }
    }

    /// Finds the slot of an activation. Where the next one began at once, its time had passed: this one, however late it was
    /// woken, is of the oldest slot too.
    fn place(&mut self, job: Job, next: Option<Job>, by_those_behind: GoesOn, over: &mut impl FnMut(Over)) {
        let waited = self.waited.replace(job.then);
        // It waits for the same behind a stop: it asks for its time again, or does nothing else.
        let waits_on = job.then == Then::ATime || job.end.saturating_sub(job.woken) < AT_ONCE_NS;
        if job.then == Then::StoppedWaiting || waited == Some(Then::StoppedWaiting) && waits_on {
            return;
        }
        let goes_on = waited == Some(Then::Stopped)
            || self.by_time && waited == Some(Then::Another)
            || by_those_behind == GoesOn::Yes;
        let slot = match () {
            () if goes_on && !job.at_once => Slot::Further,
            () if job.at_once || next.is_some_and(|next| next.at_once) => self.grid.catch_up(job.woken),
            () => self.grid.take(job.woken, next.map(|next| next.woken)),
        };
        match slot {
            Slot::First { due, missed } => {
                // Where nothing tells for what the thread had waited, a waking that comes late may be of the job before.
                let late = job.woken > due.saturating_add(self.grid.period / EARLY);
                let may_go_on = !self.by_time && !job.at_once && waited == Some(Then::Another) && late;
                let may_go_on = may_go_on || by_those_behind == GoesOn::Open;
                self.flush(over, may_go_on.then_some(job.end));
                self.begin(job, due, missed, over);
            }
            Slot::Further => {
                self.extra += 1;
                let stopped = job.then == Then::Stopped;
                let current = self.current.filter(|_| job.whole || stopped);
                self.current = current.map(|current| Current { end: job.end, stopped, ..current });
            }
        }
        self.untold_until = if job.told { 0 } else { job.end };
    }

    /// An activation is the first of a slot.
    fn begin(&mut self, job: Job, due: u64, missed: u64, over: &mut impl FnMut(Over)) {
        let Job { woken, end, whole, then, .. } = job;
        for back in (1..=missed).rev() {
            let due = due.saturating_sub(back.saturating_mul(self.grid.period));
            over(Over::Missed { due, came: end, unclear: due < self.untold_until });
        }
        let stopped = then == Then::Stopped;
        self.current = (whole || stopped).then_some(Current { due, began: woken, end, stopped });
    }

    fn flush(&mut self, over: &mut impl FnMut(Over), or_end: Option<u64>) {
        if let Some(Current { due, began, end, .. }) = self.current.take().filter(|current| !current.stopped) {
            over(Over::Done { due, began, end, or_end });
        }
    }

    /// Nothing follows, and until then something was waited for.
    pub fn finish(&mut self, until: u64, mut over: impl FnMut(Over)) {
        let last = std::mem::take(&mut self.held);
        self.place_all(&last, None, &mut over);
        self.flush(&mut over, None);
        let untold = self.untold_until;
        self.grid.rest(until).for_each(|due| over(Over::Missed { due, came: until, unclear: due < untold }));
    }
}

#[cfg(test)]
mod tests;
