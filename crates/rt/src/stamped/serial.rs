//! Events of a serial port in loopback: the thread sends a byte, and some character times later the port's interrupt reports that it came
//! back.

use super::{Device, Log, Pass, Stamped, grid::Grid, sweep};
use crate::{end::End, recorder::Recorder, rounds::Refusal};
use core::sync::atomic::AtomicBool;
use latido_sys::{Errno, clock::Clock::Monotonic, uart::Loopback};

/// A single received byte waits in the chip's FIFO for this many character times, then the chip raises the interrupt (16550A, data sheet:
/// the time-out of the receiver's FIFO).
pub const TIMEOUT_CHARACTERS: u64 = 4;

/// A port that sends to itself. The waiting thread also sends.
#[derive(Debug)]
pub struct SerialEvents {
    port: Loopback,
    grid: Grid,
}

impl SerialEvents {
    /// Creates the events: one byte per period, given in ns; the first is one period after `from`.
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
        // After a signal the loop continues to wait for its byte: otherwise the byte would count for the next event.
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
