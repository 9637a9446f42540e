//! EVL's monitors: a semaphore, and a gate, which is a mutex with priority inheritance.
//!
//! latido makes one call for each operation, and measures that call. The core's own library makes none when no thread has to wait: it
//! changes the shared state itself.

use super::{Evl, Form, ask, request};
use crate::{Errno, cokernel::Time, ioctl, layout::layout};
use std::{fs::File, os::fd::AsRawFd};

// include/uapi/evl/monitor-abi.h.
pub(super) const ENTER: u64 = ioctl::writes::<Time>(b'm', 0);
pub(super) const EXIT: u64 = ioctl::plain(b'm', 2);
pub(super) const WAIT: u64 = ioctl::exchanges::<Wait>(b'm', 3);
pub(super) const SIGNAL: u64 = ioctl::writes::<i32>(b'm', 6);

/// `EVL_MONITOR_EVENT` with the protocol `EVL_EVENT_COUNT`. The type has two bits, and the protocol has the four bits above them.
pub(super) const COUNTER: u32 = 1 << 2;
/// `EVL_MONITOR_GATE` with the protocol `EVL_GATE_PI`.
pub(super) const INHERITING: u32 = 1;

/// struct evl_monitor_attrs.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    clock: u32,
    kind: u32,
    initial: u32,
}

// include/uapi/evl/monitor-abi.h.
layout!(Attributes: 12, align 4, { clock: 0, kind: 4, initial: 8 });

/// struct evl_monitor_waitreq, up to ABI 36.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Wait {
    timeout: u64,
    gate: i32,
    status: i32,
    value: i32,
    spare: i32,
}

// include/uapi/evl/monitor-abi.h.
layout!(Wait: 24, align 8, { timeout: 0, gate: 8, status: 12, value: 16, spare: 20 });

fn monitor(evl: &Evl, kind: u32, initial: u32) -> Result<File, Errno> {
    let attributes = Attributes { clock: evl.monotonic.as_raw_fd() as u32, kind, initial };
    Ok(evl.create("monitor", Some(&attributes))?.file)
}

/// A counting semaphore of the core.
#[derive(Debug)]
pub(crate) struct Semaphore {
    file: File,
    form: Form,
}

impl Semaphore {
    pub(crate) fn new(evl: &Evl, initial: u32) -> Result<Self, Errno> {
        // The core counts with a signed number.
        let initial = i32::try_from(initial).map_err(|_| Errno::EINVAL)? as u32;
        Ok(Self { file: monitor(evl, COUNTER, initial)?, form: evl.spoken.form })
    }

    #[inline(always)]
    pub(crate) fn wait(&self) -> Result<(), Errno> {
        let without_limit = Time::NEVER;
        let timeout = (&raw const without_limit).expose_provenance() as u64;
        let mut wait = Wait { timeout, gate: -1, status: 0, value: 0, spare: 0 };
        // SAFETY: the time lives through the call, which only reads it.
        unsafe { request(self.form, &self.file, WAIT, &mut wait) }?;
        if wait.status == 0 { Ok(()) } else { Err(Errno::from_raw(wait.status.wrapping_neg())) }
    }

    #[inline(always)]
    pub(crate) fn post(&self) -> Result<(), Errno> {
        ask(self.form, &self.file, SIGNAL, &mut 1i32)
    }
}

/// A gate of the core: a mutex with priority inheritance.
#[derive(Debug)]
pub(crate) struct Gate {
    file: File,
    form: Form,
}

impl Gate {
    pub(crate) fn new(evl: &Evl) -> Result<Self, Errno> {
        Ok(Self { file: monitor(evl, INHERITING, 0)?, form: evl.spoken.form })
    }

    #[inline(always)]
    pub(crate) fn enter(&self) -> Result<(), Errno> {
        // A time of zero means that the core waits without a limit.
        ask(self.form, &self.file, ENTER, &mut { Time::NEVER })
    }

    #[inline(always)]
    pub(crate) fn exit(&self) -> Result<(), Errno> {
        ask(self.form, &self.file, EXIT, &mut 0u32)
    }
}
