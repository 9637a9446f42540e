//! Events that a thread of this machine raises at a device while another thread waits for the device's interrupt. [`Line`] is the device.

use super::{Device, Log, Pass, Stamped, grid::Grid, sweep};
use crate::{end::End, recorder::Recorder, rounds::Refusal};
use alloc::sync::Arc;
use core::{
    sync::atomic::{
        AtomicBool, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::Duration,
};
use latido_sys::{Errno, clock::Clock::Monotonic, gpio::Gpio, parport::Parport, uio::Uio};

/// How long to wait for an interrupt. After this it is considered lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many raised events the threads remember: the waiting thread is never that far behind.
const REMEMBERED: usize = 64;

/// A line that a thread can raise, lower and wait for.
#[derive(Debug)]
pub enum Line {
    /// A parallel port whose strobe is wired to its interrupt.
    Parport(Parport),
    /// A GPIO line that is wired to another line of the chip.
    Gpio(Gpio),
    /// A device register that raises an interrupt.
    Uio(Uio),
}

impl Line {
    #[inline(always)]
    fn raise(&self) -> Result<(), Errno> {
        match self {
            Self::Parport(port) => port.raise(),
            Self::Gpio(gpio) => gpio.raise(),
            Self::Uio(uio) => {
                uio.raise();
                Ok(())
            }
        }
    }

    #[inline(always)]
    fn lower(&self) -> Result<(), Errno> {
        match self {
            Self::Parport(port) => port.lower(),
            Self::Gpio(gpio) => gpio.lower(),
            Self::Uio(uio) => {
                uio.clear();
                Ok(())
            }
        }
    }

    /// Returns whether the interrupt is an edge, so that the line may be lowered at once. With a level, lowering would clear the interrupt.
    #[inline(always)]
    fn is_edge(&self) -> bool {
        match self {
            Self::Parport(_) | Self::Gpio(_) => true,
            Self::Uio(_) => false,
        }
    }

    #[inline(always)]
    fn wait(&self) -> Result<bool, Errno> {
        match self {
            Self::Parport(port) => port.wait(PATIENCE),
            Self::Gpio(gpio) => gpio.wait(PATIENCE),
            Self::Uio(uio) => uio.wait(PATIENCE),
        }
    }

    #[inline(always)]
    fn taken(&self) -> Result<(), Errno> {
        match self {
            Self::Parport(port) => port.taken(),
            Self::Gpio(gpio) => gpio.taken(),
            Self::Uio(uio) => uio.taken(),
        }
    }
}

/// The raised events, which one thread announces to another.
#[derive(Debug)]
struct Told {
    /// Number of events.
    count: AtomicU64,
    /// The times of the last ones, in ns.
    at: [AtomicU64; REMEMBERED],
}

impl Told {
    fn none() -> Self {
        Self { count: AtomicU64::new(0), at: core::array::from_fn(|_| AtomicU64::new(0)) }
    }

    #[inline(always)]
    fn place(&self, number: u64) -> Option<&AtomicU64> {
        self.at.get(number as usize % REMEMBERED)
    }

    /// Announces an event at time `at`.
    #[inline(always)]
    fn tell(&self, at: u64) {
        let number = self.count.load(Relaxed);
        if let Some(place) = self.place(number) {
            place.store(at, Relaxed);
        }
        self.count.store(number.wrapping_add(1), Release);
    }

    /// Returns the last event at or before `t3` that is not answered yet: its number and time.
    #[inline(always)]
    fn last(&self, answered: u64, t3: u64) -> Option<(u64, u64)> {
        let mut number = self.count.load(Acquire);
        while number > answered {
            number = number.wrapping_sub(1);
            let at = self.place(number)?.load(Relaxed);
            if at <= t3 {
                return Some((number, at));
            }
        }
        None
    }
}

/// The state that the raising and the waiting thread share.
#[derive(Debug)]
pub struct Raised {
    line: Line,
    told: Told,
    /// The shortest time that lowering took, in ns: an access to the device takes about that long, and t1 is from before the access.
    way: AtomicU64,
    over: AtomicBool,
}

impl Raised {
    fn by(line: Line) -> Self {
        Self { line, told: Told::none(), way: AtomicU64::new(u64::MAX), over: AtomicBool::new(false) }
    }

    /// Announces that no thread waits for events from now on.
    pub fn end(&self) {
        self.over.store(true, Relaxed);
    }

    /// Raises an event now.
    #[inline(always)]
    fn raise(&self) -> Result<(), Refusal> {
        // Announce the event first: the waiting thread may run before the call returns.
        self.told.tell(Monotonic.now());
        self.line.raise().map_err(|error| Refusal { call: "raising the line", error })?;
        if self.line.is_edge() { self.lower() } else { Ok(()) }
    }

    #[inline(always)]
    fn lower(&self) -> Result<(), Refusal> {
        let before = Monotonic.now();
        self.line.lower().map_err(|error| Refusal { call: "lowering the line", error })?;
        self.way.fetch_min(Monotonic.now().wrapping_sub(before), Relaxed);
        Ok(())
    }
}

/// The events of a line, for the waiting thread.
#[derive(Debug)]
pub struct LineEvents {
    raised: Arc<Raised>,
    /// Events with lower numbers are answered or passed.
    answered: u64,
    /// Whether this thread raises each event itself before it waits; it does so until another thread takes over.
    alone: bool,
}

impl LineEvents {
    /// Creates the events of a line. At first each wait raises its own event.
    pub fn alone(line: Line) -> Self {
        Self { raised: Arc::new(Raised::by(line)), answered: 0, alone: true }
    }

    /// Returns the shared state for the thread that will raise the events.
    pub fn raised(&self) -> Arc<Raised> {
        Arc::clone(&self.raised)
    }

    /// Leaves the raising of events to another thread from now on.
    pub fn together(&mut self) {
        self.alone = false;
    }
}

impl Device for LineEvents {
    #[inline(always)]
    fn next(&mut self) -> Result<Stamped, Refusal> {
        if self.alone {
            self.raised.raise()?;
        }
        let refused = |error| Refusal { call: "wait for the interrupt", error };
        let came = self.raised.line.wait().map_err(refused)?;
        let t3 = Monotonic.now();
        if !came {
            return Err(refused(Errno::ETIMEDOUT));
        }
        if !self.raised.line.is_edge() {
            self.raised.lower()?;
        }
        self.raised.line.taken().map_err(|error| Refusal { call: "taking the interrupt", error })?;
        // An interrupt that the raising thread did not cause is not an event: the loop continues to wait, as after a signal.
        let Some((number, t1)) = self.raised.told.last(self.answered, t3) else { return Err(refused(Errno::EINTR)) };
        self.answered = number.wrapping_add(1);
        Ok(Stamped { number, t1, t2: None, t3, error: self.raised.way.load(Relaxed) })
    }
}

/// Raises one event per period, given in ns, until the waiting thread has called [`Raised::end`].
#[inline(never)]
pub fn raise(raised: &Raised, period_ns: u64, stop: &AtomicBool) -> End<Refusal> {
    let mut grid = Grid::every(period_ns, Monotonic.now());
    loop {
        let failed = match grid.wait() {
            Ok(_) if raised.over.load(Relaxed) => return End::Complete,
            Ok(_) => raised.raise().err(),
            Err(Refusal { error: Errno::EINTR, .. }) => None,
            Err(refusal) => Some(refusal),
        };
        if let Some(refusal) = failed {
            stop.store(true, Relaxed);
            return End::Failed(refusal);
        }
        if stop.load(Relaxed) {
            return End::Stopped;
        }
    }
}

#[inline(never)]
pub(super) fn answer(
    device: &mut LineEvents,
    pass: &Pass,
    stop: &AtomicBool,
    response: &mut Recorder,
    log: &mut Log,
) -> End<Refusal> {
    sweep(device, pass, stop, response, log)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interrupt belongs to the last event raised before the clock was read, never to a later one, and no event is answered twice.
    #[test]
    fn an_interrupt_is_of_the_last_event_before_it() {
        let told = Told::none();
        assert_eq!(told.last(0, 100), None);
        told.tell(100);
        assert_eq!((told.last(0, 99), told.last(0, 130), told.last(1, 130)), (None, Some((0, 100)), None));
        // Two more events while the task was late, and a third after it had read the clock.
        for at in [200, 300, 400] {
            told.tell(at);
        }
        assert_eq!((told.last(1, 350), told.last(3, 350)), (Some((2, 300)), None));
        // Later events reuse the places.
        (5..500).for_each(|number| told.tell(number * 100));
        assert_eq!(told.last(4, u64::MAX), Some((498, 49_900)));
    }
}
