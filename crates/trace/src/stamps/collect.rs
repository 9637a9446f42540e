//! Collects the stamps of one interrupt from the events of a trace.

use super::{Stamp, Stamps};
use crate::{
    bytes::Endian,
    events::{Above, Events, Happened},
    file::Trace,
    format::Number,
    pairing::Sink,
};
use std::collections::BTreeMap;

/// The names that identify the stamps of an interrupt.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The handler's event, system and name: `timer:hrtimer_expire_entry`, or an event that was defined for this purpose.
    pub handler: (&'a str, &'a str),
    /// The start of the line's name, in `irq_handler_entry` and in its thread's `irq/N-NAME`. It is `None` for a timer, whose hard entry is
    /// the processor's own `local_timer`.
    pub line: Option<&'a str>,
}

/// The most timers that latido follows at one time.
const MOST: usize = 1 << 16;

/// A sink that takes stamps out of a trace while it is paired.
#[derive(Debug)]
pub struct Collect<'a> {
    names: Names<'a>,
    /// The number of the handler's event.
    handler: Option<u16>,
    events: Events,
    endian: Endian,
    /// For a timer that is set: the event's number, the timer, and its earliest expiry.
    start: Option<(u16, Number, Number)>,
    due: BTreeMap<u64, u64>,
    timed: bool,
    stamps: Stamps,
}

/// Prepares the collection for a trace; the walk through the trace (`crate::pairing::pair`) then fills it.
pub fn collect<'a>(trace: &Trace<'_>, names: Names<'a>) -> Collect<'a> {
    let (system, name) = names.handler;
    let of_handler = trace.formats.iter().find(|one| one.system == system && one.format.name == name);
    let start = || {
        let format = trace.format("hrtimer_start")?;
        Some((format.id, format.number("hrtimer", trace.endian)?, format.number("softexpires", trace.endian)?))
    };
    let timed = name == "hrtimer_expire_entry";
    Collect {
        names,
        handler: of_handler.map(|one| one.format.id),
        events: Events::of(&trace.formats, trace.endian),
        endian: trace.endian,
        start: start().filter(|_| timed),
        due: BTreeMap::new(),
        timed,
        stamps: Stamps::default(),
    }
}

impl Collect<'_> {
    /// Returns whether the trace describes the handler's event.
    pub fn knows_handler(&self) -> bool {
        self.handler.is_some()
    }

    /// Returns the stamps.
    pub fn stamps(self) -> Stamps {
        self.stamps
    }

    fn handled(&mut self, stamp: Stamp, happened: Option<&Happened>) {
        match (self.timed, happened) {
            // A timer's stamp names the timer, and the event that set the timer shows when it was due. Stamps of other timers are not
            // needed.
            (true, Some(Happened::Expired { timer, .. })) => {
                if let Some(due) = self.due.remove(timer) {
                    self.stamps.handler.push(Stamp { due: Some(due), ..stamp });
                }
            }
            (true, _) => {}
            (false, _) => self.stamps.handler.push(stamp),
        }
    }
}

impl Sink for Collect<'_> {
    fn event(&mut self, cpu: u32, at: u64, record: &[u8], happened: Option<&Happened>) {
        let stamp = Stamp { at, cpu, due: None };
        let id = self.endian.u16(record, 0);
        if id.is_some() && id == self.handler {
            return self.handled(stamp, happened);
        }
        if let Some((start, timer, soft)) = self.start
            && id == Some(start)
        {
            if let (Some(timer), Some(soft)) = (timer.of(record), soft.of(record))
                && (self.due.len() < MOST || self.due.contains_key(&timer.cast_unsigned()))
            {
                self.due.insert(timer.cast_unsigned(), soft.cast_unsigned());
            }
            return;
        }
        match (happened, self.names.line) {
            (Some(Happened::Enter(Above::Line(_))), Some(line))
                if self.events.device(record).is_some_and(|name| name.starts_with(line)) =>
            {
                self.stamps.entry.push(stamp);
            }
            (Some(Happened::Enter(Above::Vector(at))), None)
                if self.events.vectors().get(usize::from(*at)).is_some_and(|name| name == "local_timer") =>
            {
                self.stamps.entry.push(stamp);
            }
            (Some(Happened::Switch { to, .. }), Some(line)) if of_line(&to.comm.text(), line) => {
                self.stamps.thread.push(stamp);
            }
            _ => {}
        }
    }
}

/// Returns whether a thread like `irq/16-hpet2` belongs to a line whose name starts with `line`; the kernel cuts names after 15 characters.
/// If a handler requested a second thread, that thread is `irq/16-s-hpet2`.
pub fn of_line(comm: &str, line: &str) -> bool {
    let name = comm.strip_prefix("irq/").and_then(|rest| rest.split_once('-')).map(|(_, name)| name);
    name.map(|name| name.strip_prefix("s-").unwrap_or(name)).is_some_and(|name| {
        !name.is_empty() && (name.starts_with(line) || (comm.len() >= 15 && line.starts_with(name)))
    })
}
