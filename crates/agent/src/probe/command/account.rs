//! The lines of a program, by series: samples that count go to the recorders, everything else is counted here.

use super::threads::Watched;
use crate::measure::{Gathered, Interval, Place, Stage};
use anyhow::Result;
use latido_import::source::{Declared, Sink, TimeOf, Unit};
use latido_model::{
    quantity::Quantity,
    record::{Reported, Skip},
};
use latido_sys::clock::Clock;

/// A series, with counts of its lines.
struct Told {
    declared: Declared,
    /// The place of the series; `None` until samples count.
    place: Option<Place>,
    /// Its clock minus CLOCK_MONOTONIC in ns, if it is a clock of the machine.
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
    /// Whether the program sent a `miss`: it counts its slots.
    counts_slots: bool,
    missed: u64,
    /// The first and the last due time, on its own clock.
    due: Option<(i64, i64)>,
}

/// All series of a program.
pub(super) struct Account {
    series: Vec<Option<Told>>,
    gathered: Option<Gathered>,
    /// Whether the program is ready.
    pub ready: bool,
    pub threads: Watched,
    /// The time at which the current bytes were read.
    pub now: u64,
    /// The first time at which the pipe was full.
    full_since: u64,
    /// Whether a sample was taken after the pipe was full.
    pub blocked: bool,
    /// Why a series could not be opened.
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

    /// Whether the program has declared a series.
    pub fn has_series(&self) -> bool {
        self.told().next().is_some()
    }

    /// Whether all series have reported how many samples they produced.
    pub fn has_ended(&self) -> bool {
        self.has_series() && self.told().all(|told| told.produced.is_some())
    }

    /// Starts the interval in which samples count.
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

    /// Shortens the interval: samples that ended later do not count.
    pub fn until(&mut self, ended_ns: u64) {
        self.gathered.iter_mut().for_each(|gathered| gathered.until(ended_ns));
    }

    /// Returns the progress of the series.
    pub fn progress(&self) -> Vec<latido_model::protocol::ThreadProgress> {
        self.gathered.as_ref().map(Gathered::progress).unwrap_or_default()
    }

    /// Notes that the pipe was full. `measuring` is true until latido sends `stop`.
    pub fn pipe_was_full(&mut self, measuring: bool) {
        self.full_since = self.full_since.min(self.now);
        // If nothing shows when samples were taken, they may have been taken now.
        self.blocked |= measuring && self.told().any(|told| told.offset.is_none());
    }

    /// Checks that no line has caused an error.
    ///
    /// # Errors
    /// The error.
    pub fn sound(&mut self) -> Result<()> {
        self.problem.take().map_or(Ok(()), Err)
    }

    /// Lists threads that the program names and that do not exist.
    pub fn missing(&self) -> Vec<Skip> {
        let why = |tid: u32| {
            format!("there is no thread {tid}: the program may have reported the number of another PID namespace")
        };
        let skip = |tid| Skip { what: "trust checks of a reported thread".into(), why: why(tid) };
        self.threads.missing().into_iter().map(skip).collect()
    }

    /// Returns all series with their facts. It adds the counts of all series to `reported`.
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

    /// Returns the period of its slots. Only a series of times has one, because only times can be late.
    fn period(&self) -> Option<u64> {
        self.declared.period.filter(|_| self.declared.unit.kept() == "ns")
    }

    /// Returns the step of its values in ns, if that is more than a nanosecond, else 0.
    fn quantum(&self) -> u64 {
        match self.declared.unit {
            Unit::Us => 1_000,
            Unit::Ms => 1_000_000,
            _ => 0,
        }
    }

    /// Returns the slots without a sample between the first and the last sample, as far as period and times show them.
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
            // The sample's time is unknown: latido knows only that it arrived.
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
        // A program cannot miss more slots than the whole measurement has.
        let most = (length / period + 1).saturating_sub(told.missed);
        // No clock can represent a later time.
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
        // A missed slot has waited at least until the next slot that was not missed.
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
