//! A serial port of the 16550 kind whose output is its own input: the loopback of the chip (TIOCM_LOOP), with bytes put into it
//! behind the driver's back through /dev/port, so that only what comes back is an interrupt.

use crate::{Errno, ioctl};
use std::{fs::File, os::fd::AsRawFd, os::unix::fs::FileExt};

/// Adds modem lines: `TIOCMBIS`; takes them away: `TIOCMBIC`.
const ADD: u64 = 0x5416;
const REMOVE: u64 = 0x5417;

/// The loopback among the modem lines (asm-generic/termios.h).
const LOOP: libc::c_int = 0x8000;

/// Bits of a character on the line: start, eight, stop.
const BITS: u64 = 10;

/// Bits a second.
const SPEED: (libc::speed_t, u64) = (libc::B9600, 9_600);

/// Tenths of a second that a read waits at most.
const PATIENCE: libc::cc_t = 20;

/// A port in loopback; closing it ends the loopback and puts back what the port was set to.
#[derive(Debug)]
pub struct Loopback {
    tty: File,
    ports: File,
    address: u64,
    before: libc::termios,
}

impl Loopback {
    /// What one character takes on the line, ns.
    pub const CHARACTER_NS: u64 = BITS * 1_000_000_000 / SPEED.1;

    /// Makes a loop of an open port at an address of /dev/port.
    ///
    /// # Errors
    /// What the driver answers: `EIO` of a port without a chip, `EINVAL` of a driver without a loopback.
    pub fn start(tty: File, ports: File, address: u16) -> Result<Self, Errno> {
        let mut before = std::mem::MaybeUninit::<libc::termios>::uninit();
        // SAFETY: the structure is writable, and the call fills it where it succeeds.
        let before = unsafe {
            Errno::check(libc::tcgetattr(tty.as_raw_fd(), before.as_mut_ptr()))?;
            before.assume_init()
        };
        let mut raw = before;
        // SAFETY: a structure that tcgetattr(3) has filled; the call writes to nothing else.
        unsafe { libc::cfmakeraw(&raw mut raw) };
        // What cfsetspeed(3) does (asm-generic/termbits.h), which not every C library has in its static form.
        raw.c_cflag = raw.c_cflag & !libc::CBAUD | SPEED.0;
        (raw.c_ispeed, raw.c_ospeed) = (SPEED.0, SPEED.0);
        raw.c_cflag |= libc::CLOCAL | libc::CREAD;
        raw.c_cflag &= !libc::CRTSCTS;
        let control: [(usize, libc::cc_t); 2] = [(libc::VMIN, 0), (libc::VTIME, PATIENCE)];
        for (at, value) in control {
            raw.c_cc.get_mut(at).into_iter().for_each(|place| *place = value);
        }
        let looped = Self { tty, ports, address: address.into(), before };
        looped.set(&raw)?;
        ioctl::ask(&looped.tty, ADD, &mut { LOOP })?;
        // What came before is no event.
        // SAFETY: takes numbers only.
        Errno::check(unsafe { libc::tcflush(looped.tty.as_raw_fd(), libc::TCIOFLUSH) })?;
        Ok(looped)
    }

    fn set(&self, how: &libc::termios) -> Result<(), Errno> {
        // SAFETY: the structure is whole and lives through the call.
        Errno::check(unsafe { libc::tcsetattr(self.tty.as_raw_fd(), libc::TCSANOW, how) }).map(drop)
    }

    /// Puts a byte into the chip's transmitter.
    ///
    /// # Errors
    /// As pwrite(2).
    #[inline(always)]
    pub fn send(&self) -> Result<(), Errno> {
        let byte = b"U";
        // SAFETY: the byte is there for the length that is said.
        let put = unsafe { libc::pwrite(self.ports.as_raw_fd(), byte.as_ptr().cast(), 1, self.address as libc::off_t) };
        if put == 1 { Ok(()) } else { Err(Errno::last()) }
    }

    /// Waits for bytes that came back: how many; none after two seconds.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self) -> Result<usize, Errno> {
        ioctl::take(&self.tty, &mut [0_u8; 16])
    }

    /// Whether the chip's transmitter is where it was said to be: its line status says that it is empty.
    pub fn is_there(&self) -> bool {
        /// The line status register and its bits: the transmitter is empty, whole and its register.
        const STATUS: u64 = 5;
        const EMPTY: u8 = 0x60;
        let mut byte = [0];
        self.ports.read_exact_at(&mut byte, self.address + STATUS).is_ok()
            && byte[0] & EMPTY == EMPTY
            && byte[0] != 0xff
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        let _ = ioctl::ask(&self.tty, REMOVE, &mut { LOOP });
        let _ = self.set(&self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_that_of_the_headers() {
        let Some(told) = ioctl::tests::by_headers(&["asm/termios.h"], &["TIOCMBIS", "TIOCMBIC", "TIOCM_LOOP"]) else {
            return;
        };
        assert_eq!(told, [ADD, REMOVE, LOOP as u64]);
        assert_eq!(Loopback::CHARACTER_NS, 1_041_666);
    }

    #[test]
    fn what_is_no_serial_port_is_refused() {
        let null = || File::open("/dev/null").unwrap();
        assert_eq!(Loopback::start(null(), null(), 0x2f8).unwrap_err(), Errno::from_raw(libc::ENOTTY));
    }
}
