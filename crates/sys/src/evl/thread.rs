//! A thread of EVL: the calling thread as a member of the core.

use super::{Evl, Timer, ask};
use crate::{Errno, cokernel::Counts, ioctl, layout::layout};
use std::{
    fs::File,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

// include/uapi/evl/thread-abi.h.
pub(super) const SET_SCHEDULING: u64 = ioctl::writes::<Scheduling>(b'T', 1);
pub(super) const GET_STATE: u64 = ioctl::reads::<State>(b'T', 4);
pub(super) const GO_OUT_OF_BAND: u64 = ioctl::plain(b'T', 5);
pub(super) const DETACH: u64 = ioctl::plain(b'T', 7);
pub(super) const SET_MODE: u64 = ioctl::exchanges::<u32>(b'T', 8);
pub(super) const CLEAR_MODE: u64 = ioctl::exchanges::<u32>(b'T', 9);

/// `EVL_T_INBAND`: the thread runs in-band.
const IN_BAND: u32 = 0x80;
/// `EVL_T_WOSS`: tell the thread when it goes in-band. `EVL_T_HMSIG`: tell it by SIGDEBUG.
const WARN: u32 = 0x8000 | 0x10_0000;

const FIFO: i32 = libc::SCHED_FIFO;

/// struct evl_sched_attrs. The rest holds the parameters of other policies.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Scheduling {
    policy: i32,
    priority: i32,
    rest: [u64; 2],
}

// include/uapi/evl/sched-abi.h.
layout!(Scheduling: 24, align 8, { policy: 0, priority: 4, rest: 8 });

/// struct evl_thread_state.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct State {
    scheduling: Scheduling,
    cpu: u32,
    /// EVL for Linux 6.10 writes the number of the CPU here (evl_get_thread_state). latido does not use it.
    state: u32,
    in_band_switches: u32,
    context_switches: u32,
    calls: u32,
    remote_wakeups: u32,
    cpu_ns: u64,
}

// include/uapi/evl/thread-abi.h.
layout!(State: 56, align 8, {
    scheduling: 0, cpu: 24, state: 28, in_band_switches: 32, context_switches: 36, calls: 40, remote_wakeups: 44, cpu_ns: 48,
});

/// The calling thread as a thread of EVL. It must not go to another thread.
#[derive(Debug)]
pub(crate) struct Thread<'a> {
    evl: &'a Evl,
    file: File,
    /// The core writes the thread's state flags here at the end of each call, and when the thread goes in-band.
    mode: &'a AtomicU32,
    left: bool,
}

impl<'a> Thread<'a> {
    pub(crate) fn enter(evl: &'a Evl, prio: u8) -> Result<Self, Errno> {
        let element = evl.create::<u8>("thread", None)?;
        let mode = evl.shared.word(element.state).inspect_err(|_| {
            // The thread is a member already.
            let _refused = ioctl::ask(&element.file, DETACH, &mut 0u32);
        })?;
        let thread = Self { evl, file: element.file, mode, left: false };
        // A new thread of the core is in-band and weak. With this policy it goes out of band and stays there. If the core refuses the
        // priority, dropping the thread detaches it.
        thread.set_priority(prio)?;
        Ok(thread)
    }

    pub(crate) fn warn(&self, on: bool) -> Result<(), Errno> {
        self.ask(if on { SET_MODE } else { CLEAR_MODE }, &mut { WARN })
    }

    #[inline(always)]
    pub(crate) fn harden(&self) -> Result<(), Errno> {
        self.ask(GO_OUT_OF_BAND, &mut 0u32)
    }

    /// Reads the mode without a call. A call would take an in-band thread out of band.
    #[inline(always)]
    pub(crate) fn is_out_of_band(&self) -> bool {
        self.mode.load(Relaxed) & IN_BAND == 0
    }

    /// Reads what the core counted, with the request that does not change where the thread runs.
    pub(crate) fn counts(&self) -> Result<Counts, Errno> {
        let out_of_band = self.is_out_of_band();
        let mut state = State::default();
        if out_of_band {
            self.ask(GET_STATE, &mut state)?;
        } else {
            ioctl::ask(&self.file, GET_STATE, &mut state)?;
        }
        if state.calls == 0 {
            // The thread made a call when it entered. A core without CONFIG_EVL_RUNSTATS counts nothing, and its zeros mean nothing.
            return Err(Errno::EOPNOTSUPP);
        }
        Ok(Counts {
            out_of_band,
            switches: state.in_band_switches.into(),
            faults: None,
            context_switches: state.context_switches.into(),
            system_calls: Some(state.calls.into()),
            cpu_ns: state.cpu_ns,
        })
    }

    #[inline(always)]
    pub(crate) fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        self.evl.sleep_until(at_ns)
    }

    pub(crate) fn timer(&self) -> Result<Timer, Errno> {
        Timer::new(self.evl)
    }

    #[inline(always)]
    pub(crate) fn set_priority(&self, prio: u8) -> Result<(), Errno> {
        self.ask(SET_SCHEDULING, &mut Scheduling { policy: FIFO, priority: prio.into(), rest: [0; 2] })
    }

    pub(crate) fn leave(mut self) -> Result<(), Errno> {
        self.left = true;
        self.part()
    }

    /// Detaches the thread. It no longer warns, because the call that detaches is in-band.
    fn part(&self) -> Result<(), Errno> {
        let quiet = self.warn(false);
        let detached = ioctl::ask(&self.file, DETACH, &mut 0u32);
        quiet.and(detached)
    }

    #[inline(always)]
    fn ask<T: Copy>(&self, request: u64, value: &mut T) -> Result<(), Errno> {
        ask(self.evl.spoken.form, &self.file, request, value)
    }
}

impl Drop for Thread<'_> {
    fn drop(&mut self) {
        if !self.left {
            // A drop cannot return the error.
            let _refused = self.part();
        }
    }
}
