//! Turns a program's activations into its series.

use super::{
    COMPLETION, MISSED, QUANTITIES, TaskProbe,
    distances::{distance, regular_distance},
    program::Ended as Program,
    slots::{AT_ONCE_NS, Grid, Job, Jobs, Over, Then},
    threads::{Following, Members, Seen, look, look_for_loop, periodic},
};
use crate::{
    measure::{Gathered, Interval, Place, Stage},
    probe::looking_on::{fits, paired, told_apart},
};
use anyhow::{Result, bail};
use latido_model::{record::Skip, units};
use latido_trace::{
    events::Events,
    file::Trace,
    pairing::{Activation, Activations, Begun, Ended, Forks, Met, Unpaired, WaitCalls},
};
use std::collections::{BTreeMap, BTreeSet};

/// The series of a thread.
struct Thread {
    /// Its name, made distinct from other threads with that name.
    name: String,
    /// The series of the [`QUANTITIES`], in their order. If the kernel left switches of the thread out of the trace, only `response` has
    /// one.
    places: [Option<Place>; QUANTITIES.len()],
    slots: Option<Slots>,
    unfinished: u64,
    /// Activations without the switch to the thread.
    unseen: u64,
    /// The time until which it could be activated.
    until: u64,
}

/// The slots of a periodic thread.
struct Slots {
    place: Place,
    jobs: Jobs,
    deadline: u64,
    seen: u64,
    missed: u64,
    /// Missed slots whose work an earlier job may have done: latido cannot distinguish.
    unclear: u64,
    /// Slots in time whose job may have continued in a later activation, which would make them late: latido cannot distinguish.
    open: u64,
    /// The missed slots: the time of each, and when the thread had done another job.
    without_job: Vec<(u64, u64)>,
}

/// How many missed slots per thread latido keeps with their times. A series keeps no more.
const MOST_MISSED: usize = 4_096;

/// Fills the series of a program from a trace.
///
/// # Errors
/// The trace shows nothing of the program. The message gives the reason as far as latido knows it.
pub(super) fn filled(
    probe: &TaskProbe,
    stage: &mut Stage<'_>,
    interval: Interval,
    trace: &Trace<'_>,
    program: &Program,
) -> Result<Gathered> {
    let (mut seen, mut longest) = (BTreeMap::new(), None);
    walk(trace, program, |one, how| {
        look(&mut seen, interval, one, how);
        look_for_loop(&mut longest, interval, one, how);
    });
    if let Some(pattern) = &probe.thread {
        let names: Vec<String> = seen.values().map(|thread| thread.comm.text().into_owned()).collect();
        seen.retain(|_, thread| fits(pattern, &thread.comm.text()));
        if seen.is_empty() && !names.is_empty() {
            bail!("no thread named `{pattern}` was activated; activated threads: {}", names.join(", "));
        }
    }
    if seen.is_empty() {
        bail!(nothing(program, longest));
    }
    let mut gathered = Gathered::over(interval);
    let mut threads = open(probe, stage, &mut gathered, &seen)?;
    let named = threads.iter().map(|(pid, thread)| (*pid, thread.name.as_str()));
    stage.evidence.watched = program.standings.of(named);
    let (met, voided) = walk(trace, program, |one, how| {
        if let Some(thread) = threads.get_mut(&one.pid) {
            thread.take(one, how, &mut gathered);
        }
    });
    for (pid, mut thread) in threads {
        let mut facts = thread.finish(&mut gathered);
        let wakings = seen.get(&pid).map_or([].as_slice(), |seen| seen.wakings.as_slice());
        facts.extend(distance(wakings).map(|ns| ("period_seen", ns)));
        facts.extend(regular_distance(wakings).map(|ns| ("woken_every", ns)));
        facts.push(("tid", u64::try_from(pid).unwrap_or(0)));
        facts.extend(program.exit.map(|status| ("exit_status", u64::from(status))));
        if let Some(before) = thread.slots.as_ref().map(|slots| slots.jobs.before).filter(|before| *before > 0) {
            let what = match before {
                1 => format!("the first waking of `{}`", thread.name),
                _ => format!("the first {before} wakings of `{}`", thread.name),
            };
            let why = "less than a period before the next waking: slots begin with the first regular wakings".into();
            stage.skipped.push(Skip { what, why });
        }
        let of_missed = thread.open_missed(stage, &mut gathered)?;
        for place in thread.all().chain(of_missed) {
            facts.iter().for_each(|(name, value)| gathered.fact(place, name, *value));
        }
    }
    gathered.met(&Met { unpaired: Unpaired { voided, ..met.unpaired }, ..met });
    Ok(gathered)
}

/// A thread that never waited counts as a loop if it ran for at least this time, ns. Otherwise it is a short program.
const LOOP_NS: u64 = 100_000_000;

/// Explains why the trace shows nothing, with the facts about a thread that worked and never waited.
fn nothing(program: &Program, longest: Option<Activation>) -> String {
    let what = &program.words;
    let time = |ns: u64| units::human(ns.try_into().unwrap_or(i64::MAX));
    let said = String::from_utf8_lossy(&program.output);
    let said = said.lines().next().map(|line| format!("; it printed: {line}")).unwrap_or_default();
    if let Some(one) = longest.filter(|one| one.response() >= LOOP_NS) {
        let parts = one.running().map(|ns| format!(" ({} on a CPU, preempted for {})", time(ns), time(one.preempted)));
        return format!(
            "{what} has no activation to count: one of its threads ran for {}{} without waiting, but `task` measures from a waking to \
             the next wait. A polling loop can report its own times: `latido help command`{said}",
            time(one.response()),
            parts.unwrap_or_default()
        );
    }
    match program.exit {
        Some(status) => {
            format!("{what} ended with status {status} before latido counted an activation{said}; see --warmup")
        }
        None => format!(
            "latido saw no activation of {what}: no thread of it was woken and waited again during the run (a loop that never \
             waits has no activation; a longer -d may see rare ones)"
        ),
    }
}

/// Walks through the activations of a program. Returns what the trace lost, and how many activations that broke.
fn walk(trace: &Trace<'_>, program: &Program, mut take: impl FnMut(&Activation, Ended)) -> (Met, u64) {
    let members = Members::of(&program.threads);
    let following = Following { members: &members, first: &program.threads, forks: Forks::of(trace) };
    let activations = Activations::to(|one: &Activation, how| {
        if members.has(one.pid) {
            take(one, how);
        }
    })
    .heeding(WaitCalls::among(Events::of(&trace.formats, trace.endian).calls()).with_arguments(trace));
    let mut both = (following, activations);
    let met = paired(trace, &mut both);
    let voided = both.1.finish(met.last);
    (met, voided)
}

/// Opens the series of the threads with the most activations.
fn open(
    probe: &TaskProbe,
    stage: &mut Stage<'_>,
    gathered: &mut Gathered,
    seen: &BTreeMap<i32, Seen>,
) -> Result<BTreeMap<i32, Thread>> {
    // With a period, each thread also has a series of its slots and one of its missed slots.
    let most = gathered.room() / (QUANTITIES.len() + 2);
    let mut busiest: Vec<(&i32, &Seen)> = seen.iter().collect();
    busiest.sort_by_key(|(pid, thread)| (std::cmp::Reverse(thread.count), **pid));
    if busiest.len() > most {
        let why =
            format!("{} of its threads were activated; only the {most} busiest have their own series", busiest.len());
        stage.skipped.push(Skip { what: "threads of the program".into(), why: format!("{why}: see `thread`") });
        busiest.truncate(most);
    }
    let names = told_apart(busiest.iter().map(|(pid, thread)| (**pid, thread.comm)));
    let (periodic, helpers) =
        probe.period.map(|period| periodic(period.0, gathered.interval(), &busiest)).unwrap_or_default();
    stage.skipped.extend(without_slots(&helpers, &names));
    let mut threads = BTreeMap::new();
    for (pid, thread) in busiest {
        let Some(name) = names.get(pid) else { continue };
        let labels = [("task", name.as_str())];
        let mut place = |quantity| gathered.open(stage.series(quantity)?, &labels);
        let mut places = [None; QUANTITIES.len()];
        for (own, (quantity, _)) in places.iter_mut().zip(QUANTITIES) {
            if quantity == "response" || !thread.is_biased() {
                *own = Some(place(quantity)?);
            }
        }
        let slots = match probe.period.filter(|_| periodic.contains(pid)) {
            Some(period) => Some(Slots {
                place: place(COMPLETION)?,
                jobs: Jobs::of(Grid::of(period.0, thread.slots(period.0)), thread.asks_for_slots(period.0)),
                deadline: probe.deadline.unwrap_or(period).0,
                seen: 0,
                missed: 0,
                unclear: 0,
                open: 0,
                without_job: Vec::new(),
            }),
            None => None,
        };
        let name = name.clone();
        stage.skipped.extend(thread.is_biased().then(|| without_switches(&name, thread)));
        threads.insert(
            *pid,
            Thread { name, places, slots, unfinished: 0, unseen: 0, until: gathered.interval().ended_ns },
        );
    }
    Ok(threads)
}

/// Returns the note about quantities that a thread lacks because the trace lacks switches to it.
fn without_switches(name: &str, thread: &Seen) -> Skip {
    let (unseen, count) = (thread.unseen, thread.count);
    Skip {
        what: format!("wakeup, running and preempted of `{name}`"),
        why: format!(
            "the trace lacks the switch to it in {unseen} of {count} activations, and the other activations do not represent these"
        ),
    }
}

/// Returns the note about threads that have no slots although their program has a period.
fn without_slots(helpers: &BTreeSet<i32>, names: &BTreeMap<i32, String>) -> Option<Skip> {
    let named: Vec<String> = helpers.iter().filter_map(|pid| Some(format!("`{}`", names.get(pid)?))).collect();
    let why = "other threads wake once per period, these in less than a quarter of the slots; `thread` selects the periodic thread";
    (!named.is_empty()).then(|| Skip { what: format!("slots of {}", named.join(", ")), why: why.into() })
}

impl Thread {
    /// Takes an activation of this thread.
    fn take(&mut self, one: &Activation, how: Ended, gathered: &mut Gathered) {
        let interval = gathered.interval();
        if one.woken < interval.first_slot_ns || one.woken > interval.ended_ns {
            return;
        }
        if how == Ended::Dead {
            // The thread has ended: its later slots do not count as missed.
            self.until = one.woken.min(interval.ended_ns);
        }
        let whole = how == Ended::Blocked && one.end <= interval.ended_ns;
        if whole {
            let preempted = one.came.map(|_| one.preempted);
            self.unseen += u64::from(one.came.is_none());
            let values = [one.wakeup(), one.running(), preempted, Some(one.response())];
            for (place, value) in self.places.iter().zip(values) {
                let Some((place, value)) = place.zip(value) else { continue };
                gathered.sample(place, i64::try_from(value).unwrap_or(i64::MAX), one.woken, one.end);
            }
        }
        // A stopped activation continues later.
        self.unfinished += u64::from(!whole && how != Ended::Stopped);
        if let Some(slots) = &mut self.slots {
            slots.take(one, (whole, how), gathered);
        }
    }

    /// Closes the slots after the last activation. Returns the facts of the thread.
    fn finish(&mut self, gathered: &mut Gathered) -> Vec<(&'static str, u64)> {
        let mut facts = vec![("unfinished", self.unfinished), ("unseen", self.unseen)];
        if let Some(slots) = &mut self.slots {
            slots.finish(self.until, gathered);
            facts.extend([("expected", slots.seen + slots.missed), ("seen", slots.seen), ("extra", slots.jobs.extra)]);
            facts.extend([("unclear", slots.unclear), ("open", slots.open), ("before", slots.jobs.before)]);
        }
        facts
    }

    /// Opens and fills the series of the missed slots, if there are any.
    fn open_missed(&mut self, stage: &mut Stage<'_>, gathered: &mut Gathered) -> Result<Option<Place>> {
        let missed = self.slots.as_mut().map(|slots| std::mem::take(&mut slots.without_job)).unwrap_or_default();
        if missed.is_empty() {
            return Ok(None);
        }
        let place = gathered.open(stage.series(MISSED)?, &[("task", &self.name)])?;
        for (due, came) in missed {
            gathered.sample(place, i64::try_from(came.saturating_sub(due)).unwrap_or(i64::MAX), due, came);
        }
        Ok(Some(place))
    }

    fn all(&self) -> impl Iterator<Item = Place> + use<> {
        self.places.into_iter().flatten().chain(self.slots.as_ref().map(|slots| slots.place))
    }
}

impl Slots {
    /// Takes an activation.
    fn take(&mut self, one: &Activation, (whole, how): (bool, Ended), gathered: &mut Gathered) {
        let at_once = one.begun == Begun::AtOnce;
        let then = then(one, how);
        let job = Job {
            woken: one.woken,
            end: one.end,
            whole,
            at_once,
            told: one.asked_for_a_time() || one.gave_up_its_budget(),
            then,
        };
        let mut all = Vec::new();
        self.jobs.take(job, |over| all.push(over));
        all.into_iter().for_each(|over| self.count(over, gathered));
    }

    fn finish(&mut self, until: u64, gathered: &mut Gathered) {
        let mut all = Vec::new();
        self.jobs.finish(until, |over| all.push(over));
        all.into_iter().for_each(|over| self.count(over, gathered));
    }

    /// Counts a completed slot.
    fn count(&mut self, over: Over, gathered: &mut Gathered) {
        match over {
            Over::Missed { due, came, unclear } => {
                self.missed += 1;
                self.unclear += u64::from(unclear);
                if self.without_job.len() < MOST_MISSED {
                    self.without_job.push((due, came));
                }
                gathered.missed(self.place, came.saturating_sub(due));
            }
            Over::Done { due, began, end, or_end } => {
                self.seen += 1;
                let value = end.saturating_sub(due.min(began));
                let is_late = |end: u64| end.saturating_sub(due.min(began)) > self.deadline;
                self.open += u64::from(!is_late(end) && or_end.is_some_and(is_late));
                gathered.slot(self.place, value, value > self.deadline, began, end);
            }
        }
    }
}

/// Returns what a thread waits for after an activation. A deadline thread that gave up its budget waits for the time of its next period.
fn then(one: &Activation, how: Ended) -> Then {
    match how {
        Ended::Stopped if one.running().is_some_and(|ns| ns < AT_ONCE_NS) => Then::StoppedWaiting,
        Ended::Stopped => Then::Stopped,
        _ if one.asked_for_a_clock_time() || one.gave_up_its_budget() => Then::ATime,
        _ => Then::Another,
    }
}
