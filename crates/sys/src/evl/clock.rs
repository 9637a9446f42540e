//! EVL's monotonic clock, which is Linux's: sleeping until a time on it, and timers that a thread sets and waits for.

use super::{Evl, Form, READ, ask, oob, request};
use crate::{
    Errno,
    cokernel::{Time, Times},
    ioctl,
    layout::layout,
};
use std::{
    fs::File,
    os::fd::{AsRawFd, FromRawFd},
};

// include/uapi/evl/clock-abi.h.
pub(super) const SLEEP: u64 = ioctl::writes::<Time>(b'c', 0);
pub(super) const NEW_TIMER: u64 = ioctl::plain(b'c', 5);
pub(super) const SET_TIMER: u64 = ioctl::exchanges::<Set>(b't', 0);

/// struct evl_timerfd_setreq: the pointers to the new times and to the place for the old ones.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Set {
    new: u64,
    old: u64,
}

// include/uapi/evl/clock-abi.h.
layout!(Set: 16, align 8, { new: 0, old: 8 });

impl Evl {
    /// Sleeps until a time in ns.
    #[inline(always)]
    pub(super) fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        ask(self.spoken.form, &self.monotonic, SLEEP, &mut Time::of(at_ns))
    }
}

/// A timer of the core on its monotonic clock.
#[derive(Debug)]
pub(crate) struct Timer {
    file: File,
    form: Form,
}

impl Timer {
    /// Creates a timer, not set. The call is in-band.
    pub(super) fn new(evl: &Evl) -> Result<Self, Errno> {
        let mut file = -1i32;
        // The number of this request has no size, but the core writes the descriptor to the value.
        ioctl::ask(&evl.monotonic, NEW_TIMER, &mut file)?;
        if file < 0 {
            return Err(Errno::EINVAL);
        }
        // SAFETY: the core has just opened the descriptor, and no other code has it.
        Ok(Self { file: unsafe { File::from_raw_fd(file) }, form: evl.spoken.form })
    }

    /// Sets the timer to expire once, at a time in ns. A time that has passed expires at once.
    #[inline(always)]
    pub(crate) fn set(&self, at_ns: u64) -> Result<(), Errno> {
        let times = Times::once(at_ns);
        let mut set = Set { new: (&raw const times).expose_provenance() as u64, old: 0 };
        // SAFETY: the times live through the call, which only reads them. The core returns no old times where it has no place for them.
        unsafe { request(self.form, &self.file, SET_TIMER, &mut set) }
    }

    /// Waits until the timer has expired. Returns how often it expired.
    #[inline(always)]
    pub(crate) fn wait(&self) -> Result<u64, Errno> {
        let mut expired = 0u64;
        let place = (&raw mut expired).expose_provenance() as u64;
        // SAFETY: the number is writable for its eight bytes.
        let got = unsafe { oob(self.form, READ, [self.file.as_raw_fd() as u64, place, size_of::<u64>() as u64]) }?;
        if got == size_of::<u64>() as u64 { Ok(expired) } else { Err(Errno::EINVAL) }
    }
}
