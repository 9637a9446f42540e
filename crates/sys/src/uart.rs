//! A serial port of the 16550 kind whose output is its own input: the chip's loopback (TIOCM_LOOP). latido writes bytes to the chip through
//! /dev/port, without the driver's knowledge, so that only the returning bytes cause interrupts.

use crate::{Errno, ioctl};
use std::{fs::File, os::fd::AsRawFd, os::unix::fs::FileExt};

/// The requests that set modem lines (`TIOCMBIS`) and clear them (`TIOCMBIC`).
const ADD: u64 = 0x5416;
const REMOVE: u64 = 0x5417;

/// The loopback's bit among the modem lines (asm-generic/termios.h).
const LOOP: libc::c_int = 0x8000;

/// Bits of a character on the line: one start bit, eight data bits, one stop bit.
const BITS: u64 = 10;

/// Bits per second.
const SPEED: (libc::speed_t, u64) = (libc::B9600, 9_600);

/// The longest wait of a read, in tenths of a second.
const PATIENCE: libc::cc_t = 20;

/// A port in loopback. Dropping it ends the loopback and restores the port's earlier settings.
#[derive(Debug)]
pub struct Loopback {
    tty: File,
    ports: File,
    address: u64,
    before: libc::termios,
}

impl Loopback {
    /// The time of one character on the line, in ns.
    pub const CHARACTER_NS: u64 = BITS * 1_000_000_000 / SPEED.1;

    /// Puts an open port at an address of /dev/port into loopback.
    ///
    /// # Errors
    /// The driver's error: `EIO` for a port without a chip, `EINVAL` for a driver without a loopback.
    pub fn start(tty: File, ports: File, address: u16) -> Result<Self, Errno> {
        let mut before = std::mem::MaybeUninit::<libc::termios>::uninit();
        // SAFETY: the structure is writable, and the call fills it if it succeeds.
        let before = unsafe {
            Errno::check(libc::tcgetattr(tty.as_raw_fd(), before.as_mut_ptr()))?;
            before.assume_init()
        };
        let mut raw = before;
        // SAFETY: tcgetattr(3) has filled the structure; the call writes to nothing else.
        unsafe { libc::cfmakeraw(&raw mut raw) };
        // This does what cfsetspeed(3) does (asm-generic/termbits.h); not every C library has that function in its static form.
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
        // Bytes that came before are not events.
        // SAFETY: takes numbers only.
        Errno::check(unsafe { libc::tcflush(looped.tty.as_raw_fd(), libc::TCIOFLUSH) })?;
        Ok(looped)
    }

    fn set(&self, how: &libc::termios) -> Result<(), Errno> {
        // SAFETY: the structure is complete and lives through the call.
        Errno::check(unsafe { libc::tcsetattr(self.tty.as_raw_fd(), libc::TCSANOW, how) }).map(drop)
    }

    /// Writes a byte to the chip's transmitter.
    ///
    /// # Errors
    /// As pwrite(2).
    #[inline(always)]
    pub fn send(&self) -> Result<(), Errno> {
        let byte = b"U";
        // SAFETY: the byte is readable for the stated length.
        let put = unsafe { libc::pwrite(self.ports.as_raw_fd(), byte.as_ptr().cast(), 1, self.address as libc::off_t) };
        if put == 1 { Ok(()) } else { Err(Errno::last()) }
    }

    /// Waits for returning bytes. Returns how many came, or 0 after two seconds.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self) -> Result<usize, Errno> {
        ioctl::take(&self.tty, &mut [0_u8; 16])
    }

    /// Returns whether the chip's transmitter is at the given address: the chip's line status must report an empty transmitter.
    pub fn is_there(&self) -> bool {
        /// The line status register, and its two bits for an empty transmitter and an empty transmitter register.
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
