//! What a program told, series by series: what counts goes to the recorders, all else is counted here.

use super::threads::Watched;
use crate::measure::{Gathered, Interval, Place, Stage};
use anyhow::Result;
use latido_import::source::{Declared, Sink, TimeOf, Unit};
use latido_model::{
    quantity::Quantity,
    record::{Reported, Skip},
};
use latido_sys::clock::Clock;

/// A series with all that became of its lines.
struct Told {
    declared: Declared,
    /// Absent until samples count.
    place: Option<Place>,
    /// Its clock minus CLOCK_MONOTONIC, where it is one of the machine's.
    offset: Option<i64>,
    thread: u32,
    received: u64,
    counted: u64,
    early: u64,
    beyond: u64,
    dropped: u64,
    produced: Option<u64>,
    backwards: u64,
    last: Option<u64>,
    /// A `miss` was told: it counts its slots.
    counts_slots: bool,
    missed: u64,
    /// The first and the last time at which something was due, on its own clock.
    due: Option<(i64, i64)>,
}

/// All series of a program.
pub(super) struct Account {
    series: Vec<Option<Told>>,
    gathered: Option<Gathered>,
    /// All is set up.
    pub ready: bool,
    pub threads: Watched,
    /// The time of the bytes that are being read.
    pub now: u64,
    /// Since when the pipe is known to have been full.
    full_since: u64,
    /// A sample was taken after the pipe was full.
    pub blocked: bool,
    /// What kept a series from being opened.
    problem: Option<anyhow::Error>,
}

/// An account while lines are read.
pub(super) struct Taking<'a, 'b> {
    pub account: &'a mut Account,
    pub stage: &'a Stage<'b>,
}

impl Account {
    pub fn new() -> Self {
        Self {
            series: Vec::new(),
            gathered: None,
            ready: false,
            threads: Watched::default(),
            now: 0,
            full_since: u64::MAX,
            blocked: false,
            problem: None,
        }
    }

    fn told(&self) -> impl Iterator<Item = &Told> {
        self.series.iter().flatten()
    }

    /// Whether it has declared a series.
    pub fn has_series(&self) -> bool {
        self.told().next().is_some()
    }

    /// Whether all series have told how many samples they produced.
    pub fn has_ended(&self) -> bool {
        self.has_series() && self.told().all(|told| told.produced.is_some())
    }

    /// From then on samples count.
    ///
    /// # Errors
    /// A series cannot be opened.
    pub fn begin(&mut self, stage: &Stage<'_>, interval: Interval) -> Result<()> {
        let mut gathered = Gathered::over(interval);
        for told in self.series.iter_mut().flatten() {
            told.place = Some(told.open(stage, &mut gathered)?);
        }
        self.gathered = Some(gathered);
        Ok(())
    }

    /// Nothing counts that ended after this time.
    pub fn until(&mut self, ended_ns: u64) {
        self.gathered.iter_mut().for_each(|gathered| gathered.until(ended_ns));
    }

    /// How its series go.
    pub fn progress(&self) -> Vec<latido_model::protocol::ThreadProgress> {
        self.gathered.as_ref().map(Gathered::progress).unwrap_or_default()
    }

    /// The pipe was full when it was read, and the program was not told to stop yet, or was.
    pub fn pipe_was_full(&mut self, measuring: bool) {
        self.full_since = self.full_since.min(self.now);
        // Where nothing says when samples were taken, they may have been taken now.
        self.blocked |= measuring && self.told().any(|told| told.offset.is_none());
    }

    /// What went wrong while lines were read.
    ///
    /// # Errors
    /// That.
    pub fn sound(&mut self) -> Result<()> {
        self.problem.take().map_or(Ok(()), Err)
    }

    /// Threads that the program names and that are not there.
    pub fn missing(&self) -> Vec<Skip> {
        let why = |tid: u32| format!("there is no thread {tid}: is it the number of a namespace of its own?");
        let skip = |tid| Skip { what: "trust checks of a reported thread".into(), why: why(tid) };
        self.threads.missing().into_iter().map(skip).collect()
    }

    /// Everything, with facts; the counts of all series together go into what is reported.
    pub fn close(mut self, reported: &mut Reported) -> (Option<Gathered>, Watched) {
        let mut lost = Some(0u64);
        let mut gathered = self.gathered.take();
        for told in self.series.into_iter().flatten() {
            let missing = told.produced.map(|produced| produced.saturating_sub(told.received));
            let surplus = told.produced.map_or(0, |produced| told.received.saturating_sub(produced));
            reported.surplus = reported.surplus.saturating_add(surplus);
            lost = lost.zip(missing).map(|(a, b)| a.saturating_add(b));
            reported.early += told.early;
            reported.beyond += told.beyond;
            reported.dropped = reported.dropped.saturating_add(told.dropped);
            reported.backwards += told.backwards;
            let (Some(place), Some(gathered)) = (told.place, &mut gathered) else { continue };
            let mut facts = vec![
                ("received", told.received),
                ("early", told.early),
                ("beyond", told.beyond),
                ("dropped", told.dropped),
                ("backwards", told.backwards),
                ("placed", u64::from(told.offset.is_some())),
                ("quantum_ns", told.quantum()),
            ];
            facts.extend(told.produced.map(|produced| ("produced", produced)));
            facts.extend(missing.map(|lost| ("lost", lost)));
            if told.counts_slots && told.period().is_some() {
                facts.push(("missed", told.missed));
            } else {
                gathered.unslotted(place);
                facts.extend(told.implied().map(|missed| ("implied_missed", missed)));
            }
            facts.retain(|(name, value)| *value > 0 || !matches!(*name, "quantum_ns"));
            facts.into_iter().for_each(|(name, value)| gathered.fact(place, name, value));
        }
        reported.lost = lost;
        (gathered, self.threads)
    }
}

impl Told {
    fn of(declared: Declared, thread: u32) -> Self {
        let monotonic = Clock::Monotonic.now();
        let offset = match declared.clock {
            TimeOf::Monotonic => Some(0),
            TimeOf::Boottime => Some(Clock::Boottime.now().wrapping_sub(monotonic).cast_signed()),
            TimeOf::Tai => Some(Clock::Tai.now().wrapping_sub(monotonic).cast_signed()),
            TimeOf::Realtime => Some(Clock::Realtime.now().wrapping_sub(monotonic).cast_signed()),
            TimeOf::Device | TimeOf::None => None,
        };
        Self {
            declared,
            place: None,
            offset,
            thread,
            received: 0,
            counted: 0,
            early: 0,
            beyond: 0,
            dropped: 0,
            produced: None,
            backwards: 0,
            last: None,
            counts_slots: false,
            missed: 0,
            due: None,
        }
    }

    fn open(&self, stage: &Stage<'_>, gathered: &mut Gathered) -> Result<Place> {
        let name = self.declared.quantity.clone();
        let quantity = Quantity {
            title: format!("Reported: {}", name.replace(['_', '-'], " ")).into(),
            name: name.into(),
            unit: self.declared.unit.kept().into(),
            periodic: self.period().is_some(),
            ..Quantity::time("", "")
        };
        let labels: Vec<(&str, &str)> =
            self.declared.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        gathered.open_as(stage.series_of(quantity)?, self.thread, self.declared.cpu, &labels)
    }

    /// The period of its slots: only times can be late.
    fn period(&self) -> Option<u64> {
        self.declared.period.filter(|_| self.declared.unit.kept() == "ns")
    }

    /// The step of its values, where that is above a nanosecond, in ns.
    fn quantum(&self) -> u64 {
        match self.declared.unit {
            Unit::Us => 1_000,
            Unit::Ms => 1_000_000,
            _ => 0,
        }
    }

    /// Slots between the first and the last sample that no sample is of, as far as period and times tell.
    fn implied(&self) -> Option<u64> {
        let (first, last) = self.due?;
        let period = self.period()?;
        let passed = (last.abs_diff(first).saturating_add(period / 2)) / period;
        Some(passed.saturating_add(1).saturating_sub(self.counted))
    }
}

impl Sink for Taking<'_, '_> {
    fn series(&mut self, series: usize, declared: Declared) {
        let account = &mut *self.account;
        let thread = match declared.tid {
            Some(tid) => account.threads.add(tid),
            None => u32::try_from(series).unwrap_or(u32::MAX),
        };
        let mut told = Told::of(declared, thread);
        if let Some(gathered) = &mut account.gathered {
            match told.open(self.stage, gathered) {
                Ok(place) => told.place = Some(place),
                Err(error) => account.problem = Some(error),
            }
        }
        if account.series.len() <= series {
            account.series.resize_with(series + 1, || None);
        }
        if let Some(place) = account.series.get_mut(series) {
            *place = Some(told);
        }
    }

    fn ready(&mut self) {
        self.account.ready = true;
    }

    #[inline]
    fn sample(&mut self, series: usize, value: i64, end: Option<u64>) {
        let account = &mut *self.account;
        let Some(Some(told)) = account.series.get_mut(series) else { return };
        told.received += 1;
        if let Some(end) = end {
            told.backwards += u64::from(told.last.is_some_and(|last| end < last));
            told.last = Some(end);
        }
        let (Some(gathered), Some(place)) = (&mut account.gathered, told.place) else {
            told.early += 1;
            return;
        };
        let interval = gathered.interval();
        let at = match (end, told.offset) {
            (Some(end), Some(offset)) => {
                let at = end.saturating_add_signed(offset.saturating_neg());
                if at > interval.ended_ns {
                    told.beyond += 1;
                    return;
                }
                account.blocked |= at > account.full_since;
                at
            }
            // Its place in the machine's time is not known: that it came is all that there is.
            _ if account.now < interval.first_slot_ns => 0,
            _ => interval.first_slot_ns,
        };
        if at < interval.first_slot_ns {
            told.early += 1;
            return;
        }
        told.counted += 1;
        match told.period() {
            Some(period) => {
                if let Some(due) = end.map(|end| end.cast_signed().saturating_sub(value)) {
                    told.due = Some(told.due.map_or((due, due), |(first, last)| (first.min(due), last.max(due))));
                }
                match u64::try_from(value) {
                    Ok(value) => gathered.slot(place, value, value > period, at, at),
                    Err(_) => gathered.sample(place, value, at, at),
                }
            }
            None => gathered.sample(place, value, at, at),
        }
    }

    fn missed(&mut self, series: usize, count: u64, due: Option<u64>) {
        let account = &mut *self.account;
        let Some(Some(told)) = account.series.get_mut(series) else { return };
        told.counts_slots = true;
        let (Some(gathered), Some(place), Some(period)) = (&mut account.gathered, told.place, told.period()) else {
            return;
        };
        let interval = gathered.interval();
        let length = interval.ended_ns.saturating_sub(interval.first_slot_ns);
        // More than there are in the whole measurement nobody can have missed.
        let most = (length / period + 1).saturating_sub(told.missed);
        // No clock says a later time.
        let count = count.min(i64::MAX as u64 / period);
        let slots = match due.zip(told.offset) {
            Some((due, offset)) => {
                let due = due.saturating_add_signed(offset.saturating_neg());
                let begin = interval.first_slot_ns.saturating_sub(due).div_ceil(period);
                let behind = interval.ended_ns.checked_sub(due).map_or(0, |left| left / period + 1);
                begin..behind.min(count)
            }
            None if account.now < interval.first_slot_ns => 0..0,
            None => 0..count,
        };
        // A slot that passed has waited until the next one that did not, at least.
        let number = slots.end.saturating_sub(slots.start).min(most);
        if number > 0 {
            told.missed += number;
            gathered.missed_in_turn(place, count.saturating_sub(slots.start).saturating_mul(period), period, number);
        }
    }

    fn dropped(&mut self, series: usize, count: u64) {
        if let Some(Some(told)) = self.account.series.get_mut(series) {
            told.dropped = told.dropped.saturating_add(count);
        }
    }

    fn end(&mut self, series: usize, produced: u64) {
        if let Some(Some(told)) = self.account.series.get_mut(series) {
            told.produced = Some(produced);
        }
    }
}
