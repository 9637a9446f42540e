//! Events of a serial port in loopback: a byte goes out, and the port's interrupt says some characters later that it came
//! back.

use super::{Device, Log, Pass, Stamped, grid::Grid, sweep};
use crate::{end::End, recorder::Recorder, rounds::Refusal};
use core::sync::atomic::AtomicBool;
use latido_sys::{Errno, clock::Clock::Monotonic, uart::Loopback};

/// A received byte that is alone waits for others in the chip's FIFO for so many characters, then raises the interrupt
/// (16550A, data sheet: the time-out of the receiver's FIFO).
pub const TIMEOUT_CHARACTERS: u64 = 4;

/// A port that sends to itself; the thread that waits has sent.
#[derive(Debug)]
pub struct SerialEvents {
    port: Loopback,
    grid: Grid,
}

impl SerialEvents {
    /// A byte each period of ns, the first a period after `from`.
    pub fn every(port: Loopback, period_ns: u64, from: u64) -> Self {
        Self { port, grid: Grid::every(period_ns, from) }
    }
}

impl Device for SerialEvents {
    #[inline(always)]
    fn next(&mut self) -> Result<Stamped, Refusal> {
        let refused = |call| move |error| Refusal { call, error };
        let (number, _) = self.grid.wait()?;
        let before = Monotonic.now();
        self.port.send().map_err(refused("write to /dev/port"))?;
        let sent = Monotonic.now();
        // A signal is no reason to leave a byte on its way: it would be the next event's.
        let came = loop {
            match self.port.wait() {
                Err(Errno::EINTR) => {}
                other => break other,
            }
        };
        let t3 = Monotonic.now();
        if came.map_err(refused("read of the serial port"))? == 0 {
            return Err(Refusal { call: "wait for the byte that was sent", error: Errno::ETIMEDOUT });
        }
        let half = sent.wrapping_sub(before) >> 1;
        let t1 = before.wrapping_add(half).wrapping_add(TIMEOUT_CHARACTERS * Loopback::CHARACTER_NS);
        Ok(Stamped { number, t1, t3, error: half.wrapping_add(Loopback::CHARACTER_NS), ..Stamped::default() })
    }
}

#[inline(never)]
pub(super) fn answer(
    device: &mut SerialEvents,
    pass: &Pass,
    stop: &AtomicBool,
    response: &mut Recorder,
    log: &mut Log,
) -> End<Refusal> {
    sweep(device, pass, stop, response, log)
}
