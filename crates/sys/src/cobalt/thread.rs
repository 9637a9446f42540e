//! A thread of Cobalt: the calling thread as a member of the core.

use super::{Cobalt, Timer, address, call, number};
use crate::{
    Errno,
    cokernel::{Counts, Time},
    layout::layout,
    sched,
};

/// `XNRELAX`: the thread runs in-band.
const RELAXED: u32 = 0x80;
/// `XNWARN`: send the thread SIGDEBUG when it goes in-band.
const WARN: u64 = 0x4000;

/// `COBALT_PRIMARY` and `COBALT_SECONDARY`: out of band and in-band.
const OUT_OF_BAND: u64 = 1;
const IN_BAND: u64 = 0;

/// struct sched_param_ex. The rest holds the parameters of other policies.
#[repr(C)]
#[derive(Clone, Copy)]
struct Scheduling {
    priority: i32,
    spare: i32,
    rest: [u64; 6],
}

// include/cobalt/uapi/sched.h.
layout!(Scheduling: 56, align 8, { priority: 0, spare: 4, rest: 8 });

/// struct cobalt_threadstat.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Stat {
    cpu_ns: u64,
    timeout: u64,
    in_band_switches: u64,
    context_switches: u64,
    calls: u64,
    status: u32,
    faults: u32,
    cpu: i32,
    priority: i32,
    name: [u8; 32],
    personality: [u8; 32],
}

// include/cobalt/uapi/thread.h.
layout!(Stat: 120, align 8, {
    cpu_ns: 0, timeout: 8, in_band_switches: 16, context_switches: 24, calls: 32, status: 40, faults: 44, cpu: 48, priority: 52, name: 56,
    personality: 88,
});

/// The calling thread as a thread of Cobalt. It must not go to another thread.
#[derive(Debug)]
pub(crate) struct Thread<'a> {
    cobalt: &'a Cobalt,
    /// The name of the thread in the core. The core's library takes its address of the thread; latido takes the kernel's number.
    key: u64,
    left: bool,
}

impl<'a> Thread<'a> {
    pub(crate) fn enter(cobalt: &'a Cobalt, prio: u8) -> Result<Self, Errno> {
        let key = u64::from(sched::gettid().unsigned_abs());
        let mut window = 0u32;
        schedule(key, prio, &raw mut window)?;
        let thread = Self { cobalt, key, left: false };
        // A new member is out of band. One that had left is not.
        thread.harden()?;
        Ok(thread)
    }

    pub(crate) fn warn(&self, on: bool) -> Result<(), Errno> {
        let (clear, set) = if on { (0, WARN) } else { (WARN, 0) };
        let mut old = 0i32;
        // SAFETY: the core writes the old mode, which is writable and lives through the call.
        unsafe { call(number::SET_MODE, [clear, set, address(&raw mut old), 0, 0]) }.map(drop)
    }

    #[inline(always)]
    pub(crate) fn harden(&self) -> Result<(), Errno> {
        migrate(OUT_OF_BAND)
    }

    pub(crate) fn is_out_of_band(&self) -> Result<bool, Errno> {
        Ok(stat()?.status & RELAXED == 0)
    }

    pub(crate) fn counts(&self) -> Result<Counts, Errno> {
        let stat = stat()?;
        if stat.calls == 0 {
            // The thread made a call when it entered. A core without CONFIG_XENO_OPT_STATS counts nothing, and its zeros mean nothing.
            return Err(Errno::EOPNOTSUPP);
        }
        Ok(Counts {
            out_of_band: stat.status & RELAXED == 0,
            switches: stat.in_band_switches,
            faults: Some(stat.faults.into()),
            context_switches: stat.context_switches,
            system_calls: Some(stat.calls),
            cpu_ns: stat.cpu_ns,
        })
    }

    #[inline(always)]
    pub(crate) fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        let time = Time::of(at_ns);
        let arguments = [libc::CLOCK_MONOTONIC as u64, libc::TIMER_ABSTIME as u64, address(&raw const time), 0, 0];
        // SAFETY: the core only reads the time, which lives through the call. It returns no remainder where it has no place for it.
        unsafe { call(number::SLEEP, arguments) }.map(drop)
    }

    pub(crate) fn timer(&self) -> Result<Timer, Errno> {
        Timer::new(self.cobalt)
    }

    #[inline(always)]
    pub(crate) fn set_priority(&self, prio: u8) -> Result<(), Errno> {
        // Without a place for the window the core makes no new member.
        schedule(self.key, prio, std::ptr::null_mut())
    }

    pub(crate) fn leave(mut self) -> Result<(), Errno> {
        self.left = true;
        self.part()
    }

    fn part(&self) -> Result<(), Errno> {
        let quiet = self.warn(false);
        quiet.and(migrate(IN_BAND))
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

/// Gives the member with this key, or the calling thread as a new member, a FIFO priority.
#[inline(always)]
fn schedule(key: u64, prio: u8, window: *mut u32) -> Result<(), Errno> {
    let scheduling = Scheduling { priority: prio.into(), spare: 0, rest: [0; 6] };
    let mut is_new = 0i32;
    let arguments =
        [key, libc::SCHED_FIFO as u64, address(&raw const scheduling), address(window), address(&raw mut is_new)];
    // SAFETY: the core reads the parameters and writes the two numbers. All live through the call; the window may be null.
    unsafe { call(number::SET_SCHEDULING, arguments) }.map(drop)
}

/// Takes the calling thread out of band or in-band. The core returns 1 when that changed something.
#[inline(always)]
fn migrate(to: u64) -> Result<(), Errno> {
    // SAFETY: takes a number only.
    unsafe { call(number::MIGRATE, [to, 0, 0, 0, 0]) }.map(drop)
}

/// Reads what the core counted for the calling thread. The call stays where the thread is.
fn stat() -> Result<Stat, Errno> {
    let mut stat = Stat::default();
    // SAFETY: the core writes the structure, which is writable and lives through the call. Process 0 means the caller.
    unsafe { call(number::GET_COUNTS, [0, address(&raw mut stat), 0, 0, 0]) }?;
    Ok(stat)
}
