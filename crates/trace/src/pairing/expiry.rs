//! Follows a timer from its due time to the task that it wakes: the interrupt, the timer's function, the waking, the switch to the task.

use super::{Sink, Wait, Why};
use crate::{
    bytes::Endian,
    events::{Above, Comm, Happened},
    file::Trace,
    format::Number,
};
use std::collections::BTreeMap;

/// A timer that woke a task. The four stages add up to the whole time: `expiry`, `handler`, `waking`, `switch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The task.
    pub pid: i32,
    /// Its name.
    pub comm: Comm,
    /// When the timer was due at the latest, ns. This is its expiry, which is later than its soft expiry by the slack that the task grants:
    /// 50 us for an ordinary task. If another timer's interrupt served it before that, this is the start of that interrupt.
    pub due: u64,
    /// When its interrupt started, or the timer was due, whichever is later, ns.
    pub entered: u64,
    /// When the timer's function started, ns.
    pub function: u64,
    /// When that function woke the task, ns.
    pub woken: u64,
    /// When the task came to a CPU, ns.
    pub came: u64,
}

impl Chain {
    /// Returns the four stages, ns: the lateness of the interrupt, its handler until the timer's function, the function until the waking,
    /// the wait for a CPU.
    pub fn stages(&self) -> [u64; 4] {
        let marks = [self.due, self.entered, self.function, self.woken, self.came];
        let mut stages = [0; 4];
        for (stage, pair) in stages.iter_mut().zip(marks.windows(2)) {
            if let [from, to] = pair {
                *stage = to.saturating_sub(*from);
            }
        }
        stages
    }
}

/// How far a timer's clock reading may be from the event's time, in ns, to be the trace's clock.
const NEAR: u64 = 10_000_000;
/// The most timers that latido keeps. No sound trace sets more at once.
const MOST: usize = 1 << 16;

/// A sink that finds the chains in the paired events, and passes each one on. The trace's clock must be CLOCK_MONOTONIC.
#[derive(Debug)]
pub struct Expiries<F> {
    fields: Option<Fields>,
    /// For each timer: when the kernel may serve it, and when it must, on the timer's own clock.
    due: BTreeMap<u64, (u64, u64)>,
    cpus: BTreeMap<u32, Cpu>,
    /// Tasks that a timer woke and that have not come to a CPU yet.
    woken: BTreeMap<i32, Chain>,
    /// Timers of other clocks, and timers that were set before the trace.
    pub unknown: u64,
    take: F,
}

#[derive(Clone, Copy, Debug)]
struct Fields {
    start: u16,
    exit: u16,
    endian: Endian,
    timer: Number,
    soft: Number,
    hard: Number,
}

/// A CPU in an interrupt.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// Since when it handles hard interrupts. `depth` is how many are nested.
    entered: u64,
    depth: u32,
    /// The timer whose function runs: when it was due, when the interrupt started, when the function started.
    function: Option<(u64, u64, u64)>,
}

impl<F: FnMut(&Chain)> Expiries<F> {
    /// Passes the chains to `take`.
    pub fn to(trace: &Trace<'_>, take: F) -> Self {
        let fields = || {
            let (start, exit) = (trace.format("hrtimer_start")?, trace.format("hrtimer_expire_exit")?);
            let number = |name| start.number(name, trace.endian);
            let (timer, soft, hard) = (number("hrtimer")?, number("softexpires")?, number("expires")?);
            Some(Fields { start: start.id, exit: exit.id, endian: trace.endian, timer, soft, hard })
        };
        Self::with(fields(), take)
    }

    fn with(fields: Option<Fields>, take: F) -> Self {
        Self { fields, due: BTreeMap::new(), cpus: BTreeMap::new(), woken: BTreeMap::new(), unknown: 0, take }
    }

    fn set(&mut self, timer: u64, due: (u64, u64)) {
        if self.due.len() < MOST || self.due.contains_key(&timer) {
            self.due.insert(timer, due);
        }
    }

    /// Reads events that are not a [`Happened`]: timers that are set, functions that end.
    fn raw(&mut self, cpu: u32, record: &[u8]) {
        let Some(fields) = self.fields else { return };
        let Some(id) = fields.endian.u16(record, 0) else { return };
        if id == fields.start
            && let (Some(timer), Some(soft), Some(hard)) =
                (fields.timer.of(record), fields.soft.of(record), fields.hard.of(record))
        {
            self.set(timer.cast_unsigned(), (soft.cast_unsigned(), hard.cast_unsigned()));
        }
        if id == fields.exit {
            self.cpus.entry(cpu).or_default().function = None;
        }
    }
}

impl<F: FnMut(&Chain)> Sink for Expiries<F> {
    fn event(&mut self, cpu: u32, time: u64, record: &[u8], happened: Option<&Happened>) {
        let Some(happened) = happened else { return self.raw(cpu, record) };
        match *happened {
            Happened::Enter(Above::Vector(_) | Above::Line(_)) => {
                let lane = self.cpus.entry(cpu).or_default();
                lane.entered = if lane.depth == 0 { time } else { lane.entered };
                lane.depth = lane.depth.saturating_add(1).min(8);
            }
            Happened::Exit(Above::Vector(_) | Above::Line(_)) => {
                let lane = self.cpus.entry(cpu).or_default();
                lane.depth = lane.depth.saturating_sub(1);
            }
            Happened::Switch { .. } => {
                // The kernel does not switch tasks in an interrupt: an interrupt whose end was lost is over.
                let lane = self.cpus.entry(cpu).or_default();
                (lane.depth, lane.function) = (0, None);
            }
            Happened::Expired { timer, now } => {
                let due = self.due.remove(&timer);
                let now = now.cast_unsigned();
                let same = now.abs_diff(time) < NEAR;
                let lane = self.cpus.entry(cpu).or_default();
                let entered = if lane.depth > 0 { lane.entered } else { now };
                lane.function = due.filter(|(soft, _)| same && *soft <= time).map(|(soft, hard)| {
                    let entered = entered.clamp(soft, time);
                    let due = hard.clamp(soft, entered);
                    (due, entered, time)
                });
                self.unknown += u64::from(lane.function.is_none());
            }
            Happened::Waking(woken) => {
                self.woken.remove(&woken.pid);
                if let Some((due, entered, function)) = self.cpus.get(&cpu).and_then(|lane| lane.function)
                    && self.woken.len() < MOST
                {
                    let chain =
                        Chain { pid: woken.pid, comm: woken.comm, due, entered, function, woken: time, came: 0 };
                    self.woken.insert(woken.pid, chain);
                }
            }
            _ => {}
        }
    }

    fn waited(&mut self, wait: &Wait) {
        // A wait that lost events may have broken does not arrive here; the task's next waking replaces the chain.
        if wait.why == Why::Woken
            && let Some(chain) = self.woken.remove(&wait.pid).filter(|chain| chain.woken == wait.begin)
        {
            (self.take)(&Chain { came: wait.end, ..chain });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        events::{Priority, State, Switched, Woken},
        pairing::{Definition, Pairing},
    };

    /// A timer is due at 100, its interrupt comes at 104, its function at 107, the waking at 109, the switch at 120: the stages must add
    /// up.
    #[test]
    fn the_stages_from_the_due_time_to_the_switch_add_up() {
        let mut chains = Vec::new();
        let mut sink = Expiries::with(None, |chain: &Chain| chains.push(*chain));
        sink.set(5, (100, 100));
        // One timer has slack up to 170 and is served before that; the other has slack up to 205 and is served later.
        sink.set(8, (150, 170));
        sink.set(9, (150, 205));
        let side = |pid| Switched { pid, priority: Priority(19), comm: Comm::of("t") };
        let woken = |pid| Woken { pid, priority: Priority(19), comm: Comm::of("t") };
        let story = [
            (50, Happened::Switch { from: side(7), state: State::Sleeping, to: side(0) }),
            (104, Happened::Enter(Above::Vector(0))),
            (107, Happened::Expired { timer: 5, now: 105 }),
            (109, Happened::Waking(woken(7))),
            (112, Happened::Exit(Above::Vector(0))),
            (120, Happened::Switch { from: side(0), state: State::Runnable, to: side(7) }),
            // No timer wakes this task: no chain.
            (130, Happened::Waking(woken(8))),
            (131, Happened::Switch { from: side(7), state: State::Sleeping, to: side(8) }),
            // A timer that was set before the trace.
            (140, Happened::Expired { timer: 6, now: 139 }),
            (160, Happened::Enter(Above::Vector(0))),
            (161, Happened::Expired { timer: 8, now: 160 }),
            (162, Happened::Waking(woken(7))),
            (163, Happened::Exit(Above::Vector(0))),
            (170, Happened::Switch { from: side(8), state: State::Sleeping, to: side(7) }),
            (190, Happened::Switch { from: side(7), state: State::Sleeping, to: side(0) }),
            (210, Happened::Enter(Above::Vector(0))),
            (211, Happened::Expired { timer: 9, now: 210 }),
            (212, Happened::Waking(woken(7))),
            (213, Happened::Exit(Above::Vector(0))),
            (220, Happened::Switch { from: side(0), state: State::Runnable, to: side(7) }),
        ];
        let mut pairing = Pairing::of(Definition::Waking);
        for (time, happened) in &story {
            sink.event(0, *time, &[], Some(happened));
            pairing.take(0, *time, happened, &mut sink);
        }
        assert_eq!(sink.unknown, 1);
        assert_eq!(chains.iter().map(|chain| chain.pid).collect::<Vec<_>>(), [7, 7, 7]);
        // The time that a timer's slack allows must not count as a delay.
        let stages: Vec<_> = chains.iter().map(Chain::stages).collect();
        assert_eq!(stages, [[4, 3, 2, 11], [0, 1, 1, 8], [5, 1, 1, 8]]);
        assert!(chains.iter().all(|chain| chain.stages().iter().sum::<u64>() == chain.came - chain.due));
    }
}
