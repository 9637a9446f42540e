//! Events that a thread of this machine raises at a device whose interrupt another one waits for. What is said to each device
//! is a line of [`Line`].

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

/// An interrupt that takes longer than this does not come.
const PATIENCE: Duration = Duration::from_secs(2);

/// So many events that were raised are remembered: whoever waits is never that far behind.
const REMEMBERED: usize = 64;

/// A line that can be raised, taken back, and waited for.
#[derive(Debug)]
pub enum Line {
    /// A parallel port whose strobe is wired to its interrupt.
    Parport(Parport),
    /// A line of a chip that is wired to another.
    Gpio(Gpio),
    /// A register of a device.
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

    /// Whether the interrupt is an edge, and the line may be lowered at once; otherwise the device would forget it.
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

/// Which events were raised, told by one thread to another.
#[derive(Debug)]
struct Told {
    /// How many.
    count: AtomicU64,
    /// When, of the last ones.
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

    /// One that happens at this time.
    #[inline(always)]
    fn tell(&self, at: u64) {
        let number = self.count.load(Relaxed);
        if let Some(place) = self.place(number) {
            place.store(at, Relaxed);
        }
        self.count.store(number.wrapping_add(1), Release);
    }

    /// The last event from before `t3` that is not answered: its number and when.
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

/// What the thread that raises events and the one that waits for them share.
#[derive(Debug)]
pub struct Raised {
    line: Line,
    told: Told,
    /// The shortest time that lowering took, ns: so long is the way to the device at least, and t1 lies before it.
    way: AtomicU64,
    over: AtomicBool,
}

impl Raised {
    fn by(line: Line) -> Self {
        Self { line, told: Told::none(), way: AtomicU64::new(u64::MAX), over: AtomicBool::new(false) }
    }

    /// Nobody waits any more.
    pub fn end(&self) {
        self.over.store(true, Relaxed);
    }

    /// Raises an event now.
    #[inline(always)]
    fn raise(&self) -> Result<(), Refusal> {
        // Told before it happens: who waits may run before the call returns.
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

/// The events of a line, for the thread that waits.
#[derive(Debug)]
pub struct LineEvents {
    raised: Arc<Raised>,
    /// Numbers below are answered, or passed.
    answered: u64,
    /// Whether this thread raises each event itself, before it waits: until another one does.
    alone: bool,
}

impl LineEvents {
    /// Nobody raises them yet: each wait does.
    pub fn alone(line: Line) -> Self {
        Self { raised: Arc::new(Raised::by(line)), answered: 0, alone: true }
    }

    /// For the thread that is to raise them.
    pub fn raised(&self) -> Arc<Raised> {
        Arc::clone(&self.raised)
    }

    /// Another thread raises them from here on.
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
        // One that nobody raised is no event; as after a signal one waits on.
        let Some((number, t1)) = self.raised.told.last(self.answered, t3) else { return Err(refused(Errno::EINTR)) };
        self.answered = number.wrapping_add(1);
        Ok(Stamped { number, t1, t2: None, t3, error: self.raised.way.load(Relaxed) })
    }
}

/// Raises events until nobody waits for them, a period of ns apart.
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

    /// The last one that was raised before the clock was read, never a later one, and none twice.
    #[test]
    fn an_interrupt_is_of_the_last_event_before_it() {
        let told = Told::none();
        assert_eq!(told.last(0, 100), None);
        told.tell(100);
        assert_eq!((told.last(0, 99), told.last(0, 130), told.last(1, 130)), (None, Some((0, 100)), None));
        // Two more while the task was away, and a third after it had read the clock.
        for at in [200, 300, 400] {
            told.tell(at);
        }
        assert_eq!((told.last(1, 350), told.last(3, 350)), (Some((2, 300)), None));
        // Places are used again.
        (5..500).for_each(|number| told.tell(number * 100));
        assert_eq!(told.last(4, u64::MAX), Some((498, 49_900)));
    }
}
