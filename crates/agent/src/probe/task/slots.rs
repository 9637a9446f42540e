//! The slots of a periodic thread, found in its wakings.

/// How early a waking may come and still belong to a slot: the period divided by this.
const EARLY: u64 = 4;
/// How many wakings determine the phase of the slots.
const FIRST: usize = 1000;
/// A thread's slots begin where `REGULAR` of at most [`AMONG`] successive slots have wakings. The wakings before are its preparation.
const REGULAR: usize = 6;
const AMONG: u64 = 8;
/// The time of a slot follows a waking by its distance divided by `FOLLOW`, at most by the period divided by [`MOST`].
const FOLLOW: i64 = 16;
const MOST: i64 = 1000;

/// A waking is not on time if it is later than the period divided by this.
const ON_TIME: u64 = 50;
/// How many jobs that begin at once in a row are evaluated together.
const AT_ONCE_MOST: usize = 1000;

/// If a signal wakes a thread out of its wait, to stop it or to continue it, the thread runs for at most this time before it waits again,
/// ns.
pub(super) const AT_ONCE_NS: u64 = 50_000;

/// The times of a thread's slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    period: u64,
    phase: u64,
    /// The time of the first waking of its regular slots.
    begins: u64,
    /// The next slot's time.
    next: Option<u64>,
}

/// The slot that an activation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// The activation is the first of this slot.
    First {
        /// The slot's time.
        due: u64,
        /// Slots before it that passed without any activation.
        missed: u64,
    },
    /// The activation is a further one of the current slot.
    Further,
}

impl Grid {
    /// Finds the slots of wakings that are a period apart. Only the first of them determine the phase: later ones may have drifted.
    pub fn of(period: u64, wakings: &[u64]) -> Self {
        let period = period.max(1);
        let phase = Self::phase(period, wakings);
        Self { period, phase, begins: regular(period, phase, wakings).unwrap_or(0), next: None }
    }

    /// Tells whether most wakings of some run are a period apart.
    pub fn is_regular(period: u64, wakings: &[u64]) -> bool {
        let period = period.max(1);
        regular(period, Self::phase(period, wakings), wakings).is_some()
    }

    /// Returns the median phase of the wakings within the period.
    fn phase(period: u64, wakings: &[u64]) -> u64 {
        let mut at: Vec<u64> = wakings.iter().take(FIRST).map(|time| time % period).collect();
        at.sort_unstable();
        // The phases form a circle. It is cut at the largest gap, and the median is counted from there.
        let around = at.first().zip(at.last()).map(|(first, last)| (first + period - last, 0));
        let gaps = at.windows(2).zip(1..).filter_map(|(pair, index)| Some((pair.last()? - pair.first()?, index)));
        let cut = gaps.chain(around).max().map_or(0, |(_, index)| index);
        let middle = (cut + at.len() / 2).checked_rem(at.len()).unwrap_or(0);
        at.get(middle).copied().unwrap_or(0)
    }

    /// Tells whether a waking comes before the slots begin: a program also wakes while it prepares.
    pub fn is_before(&self, woken: u64) -> bool {
        woken < self.begins
    }

    /// Takes an activation that began without a waking, because its time had passed. It belongs to the oldest slot without an activation.
    fn catch_up(&mut self, began: u64) -> Slot {
        let Some(due) = self.next.filter(|next| *next <= began) else { return self.take(began, None) };
        self.next = Some(due.saturating_add(self.period));
        Slot::First { due, missed: 0 }
    }

    /// Takes a waking; `following` is the next one. A waking shortly before a slot's time belongs to that slot. But if the slot before had
    /// none and another waking follows for this slot, it came late for the slot before.
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

    /// Returns the times of the slots that would be over at this time and had no activation.
    fn rest(&self, until: u64) -> impl Iterator<Item = u64> + use<> {
        let Self { period, next, .. } = *self;
        let count = next.map_or(0, |next| until.saturating_sub(next) / period);
        (0..count).filter_map(move |index| Some(next?.saturating_add(index * period)))
    }
}

/// Returns the first waking of the first run in which most wakings are a period apart, including the first two. Returns `None` if there is
/// no such run. A single waking before the run belongs to the thread's preparation.
fn regular(period: u64, phase: u64, wakings: &[u64]) -> Option<u64> {
    let slot = |woken: &u64| (woken + period / EARLY + period - phase % period) / period;
    let mut slots: Vec<(u64, u64)> = wakings.iter().map(|woken| (slot(woken), *woken)).collect();
    slots.dedup_by_key(|(slot, _)| *slot);
    slots.windows(REGULAR).find_map(|run| {
        let [first, second, .., last] = run else { return None };
        (last.0 - first.0 < AMONG && second.0 == first.0 + 1).then_some(first.1)
    })
}

/// A completed slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// No activation began in it.
    Missed {
        /// Its time.
        due: u64,
        /// When a later job ended, or when the watching or the thread ended.
        came: u64,
        /// Whether an earlier job ran at its time and no call shows whether that job did this slot's work too.
        unclear: bool,
    },
    /// Its job ended.
    Done {
        /// Its time.
        due: u64,
        /// When its first activation began.
        began: u64,
        /// When its last one ended.
        end: u64,
        /// When its job ended if the next activation still belongs to it: latido cannot distinguish that from a next job.
        or_end: Option<u64>,
    },
}

/// What a thread waits for after an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// For a time of a clock, in a call that the trace shows.
    ATime,
    /// For something else, or for something unknown.
    Another,
    /// The thread was stopped, and will continue where it was.
    Stopped,
    /// The thread was stopped in its wait, and will continue the wait.
    StoppedWaiting,
}

/// The facts about an activation of a periodic thread that matter for its slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// When it began.
    pub woken: u64,
    /// When it ended.
    pub end: u64,
    /// Whether the activation really ended there. One that is not whole begins in a slot and does not complete it.
    pub whole: bool,
    /// Whether it began without a waking, because its time had passed.
    pub at_once: bool,
    /// Whether calls show which jobs the thread began.
    pub told: bool,
    /// What the thread waits for next.
    pub then: Then,
}

/// The current slot.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// Its time.
    due: u64,
    /// When its first activation began.
    began: u64,
    /// When its last one ended.
    end: u64,
    /// Whether that activation was stopped: its end is not known yet.
    stopped: bool,
}

/// Whether a waking for a time continues the current job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GoesOn {
    /// It belongs to a slot.
    No,
    /// latido cannot distinguish.
    Open,
    /// It continues the job: the jobs after it that began at once take all slots that had come.
    Yes,
}

/// The jobs of a periodic thread, slot by slot. A slot whose job did not end during the watching is left out.
#[derive(Clone, Debug)]
pub(super) struct Jobs {
    grid: Grid,
    /// The last activation, and those after it that began at once. They and the next activation determine their slots.
    held: Vec<Job>,
    /// Whether the thread also requests past times when no slot waits for a job.
    asks_idly: bool,
    current: Option<Current>,
    /// Whether the thread requests the time of each slot. Then a waking out of another wait continues the current job.
    by_time: bool,
    /// What the thread waited for last.
    waited: Option<Then>,
    /// Activations beyond the first of a slot.
    pub extra: u64,
    /// Activations before the slots begin.
    pub before: u64,
    /// The time until which the thread ran while no call showed how many jobs it did.
    untold_until: u64,
}

impl Jobs {
    /// Starts with these slots; `by_time` if the thread requests the time of each.
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

    /// Finds the slots of a waking and of the jobs after it that began at once.
    fn place_all(&mut self, all: &[Job], following: Option<Job>, over: &mut impl FnMut(Over)) {
        let mut goes_on = self.goes_on(all);
        for (at, job) in all.iter().enumerate() {
            self.place(*job, all.get(at + 1).copied().or(following), goes_on, over);
            goes_on = GoesOn::No;
        }
    }

    /// Tells whether a waking belongs to no slot. A thread may sleep for some time within a job and then request the slots that passed
    /// meanwhile. It begins a job at once for each of them, and no slot is left for the waking. But a waking on time belongs to its slot,
    /// and then the thread requests the surplus times idly.
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

    /// Finds the slot of an activation. If the next activation began at once, its time had passed: this one also belongs to the oldest
    /// slot, however late it was woken.
    fn place(&mut self, job: Job, next: Option<Job>, by_those_behind: GoesOn, over: &mut impl FnMut(Over)) {
        let waited = self.waited.replace(job.then);
        // After a stop the thread waits for the same again: it requests its time again, or does nothing else.
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
                // If nothing shows what the thread had waited for, a late waking may belong to the job before.
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

    /// Begins a slot with its first activation.
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

    /// Closes the slots after the last activation. Slots up to `until` count.
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
