//! Cobalt, the real-time core of Xenomai 3: its ABIs, its call, and how a process binds itself to it.
//!
//! The structures and numbers are those of include/cobalt/uapi of Xenomai 3.2, 3.2.7 and 3.3.1 (xenomai-ci/xenomai). latido ran only on
//! 3.3.1 on x86_64.

mod objects;
mod thread;

use crate::{
    Errno,
    clock::Clock::Monotonic,
    cokernel::{self, Core, Refused, Time},
    layout::layout,
};
use std::path::Path;

pub(crate) use objects::{Mutex, Semaphore, Timer};
pub(crate) use thread::Thread;

/// The numbers of the core's calls: include/cobalt/uapi/syscall.h. They are the same in every version that latido speaks, but the version
/// decides about the call that sets a timer.
mod number {
    pub(super) const BIND: u8 = 0;
    pub(super) const SET_MODE: u8 = 3;
    pub(super) const SET_SCHEDULING: u8 = 7;
    pub(super) const GET_COUNTS: u8 = 9;
    pub(super) const SEM_INIT: u8 = 10;
    pub(super) const SEM_DESTROY: u8 = 11;
    pub(super) const SEM_POST: u8 = 12;
    pub(super) const SEM_WAIT: u8 = 13;
    pub(super) const MUTEX_INIT: u8 = 26;
    pub(super) const MUTEX_DESTROY: u8 = 28;
    pub(super) const MUTEX_LOCK: u8 = 29;
    pub(super) const MUTEX_UNLOCK: u8 = 32;
    pub(super) const TIMER_CREATE: u8 = 57;
    /// Sets a timer in 3.2. In 3.3 this number takes 32-bit times, also on 64 bits.
    pub(super) const TIMER_SET: u8 = 58;
    pub(super) const CLOSE: u8 = 79;
    pub(super) const READ: u8 = 81;
    pub(super) const MIGRATE: u8 = 88;
    pub(super) const CLOCK_READ: u8 = 103;
    pub(super) const SLEEP: u8 = 105;
    /// Sets a timer in 3.3. 3.2 does not have this number.
    pub(super) const TIMER_SET_64: u8 = 118;
}

/// What latido knows about the core on an architecture.
struct Known {
    /// The ABI of Xenomai 3.2. Such a kernel is based on Dovetail or on the older I-pipe.
    v3_2: u32,
    /// The ABI of Xenomai 3.3. Such a kernel is based on Dovetail.
    v3_3: u32,
    /// The ABI of Xenomai 3.1. Such a kernel is based on the I-pipe.
    v3_1: u32,
    /// The ABIs that latido speaks, for a sentence.
    spoken: &'static str,
    /// The same when the core has another clock than Linux, as on the I-pipe.
    another_clock: &'static str,
}

// XENOMAI_ABI_REV in kernel/cobalt/arch/x86/include/asm/xenomai/uapi/features.h, in the tags v3.1.3, v3.2, v3.2.7, v3.3 and v3.3.1.
#[cfg(any(test, not(target_arch = "aarch64")))]
const X86: Known = Known {
    v3_2: 18,
    v3_3: 19,
    v3_1: 17,
    spoken: "18 (Xenomai 3.2) and 19 (Xenomai 3.3)",
    another_clock: "18 and 19 on Dovetail: the clock of this core is not Linux's",
};
// The same and abirevision.h in kernel/cobalt/arch/arm64.
#[cfg(any(test, target_arch = "aarch64"))]
const ARM64: Known = Known {
    v3_2: 2,
    v3_3: 20,
    v3_1: 1,
    spoken: "2 (Xenomai 3.2) and 20 (Xenomai 3.3)",
    another_clock: "2 and 20 on Dovetail: the clock of this core is not Linux's",
};
#[cfg(not(target_arch = "aarch64"))]
const HERE: &Known = &X86;
#[cfg(target_arch = "aarch64")]
const HERE: &Known = &ARM64;

/// The ABI that latido speaks with a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spoken {
    abi: u32,
    /// The number of the call that sets a timer.
    set_timer: u8,
    /// Whether the core can have another clock, which latido must compare with Linux's.
    has_doubtful_clock: bool,
}

impl Known {
    /// Chooses the ABI to speak with a kernel that has this one. An error says which ABIs latido speaks.
    const fn spoken(&self, abi: u32) -> Result<Spoken, &'static str> {
        if abi == self.v3_3 {
            Ok(Spoken { abi, set_timer: number::TIMER_SET_64, has_doubtful_clock: false })
        } else if abi == self.v3_2 {
            Ok(Spoken { abi, set_timer: number::TIMER_SET, has_doubtful_clock: true })
        } else if abi == self.v3_1 {
            Err(self.another_clock)
        } else {
            Err(self.spoken)
        }
    }
}

/// Returns the number of the system call that carries a call of the core (`__COBALT_SYSCALL_BIT`).
#[inline(always)]
const fn carried(number: u8) -> u64 {
    0x1000_0000 | number as u64
}

/// Makes a call of the core. Every call of Cobalt is this one.
///
/// # Safety
/// The arguments must be what the call expects. Each pointer among them must be valid for what the call does with it.
#[inline(always)]
unsafe fn call(number: u8, arguments: [u64; 5]) -> Result<u64, Errno> {
    // SAFETY: as the caller promises. Another kernel knows no call with such a number.
    let result = unsafe { cokernel::call(carried(number), arguments) };
    // The result of each call is an int.
    cokernel::outcome(i64::from(result as i32))
}

/// Returns the address of a value as an argument of a call.
#[inline(always)]
fn address<T>(value: *const T) -> u64 {
    value.expose_provenance() as u64
}

/// struct cobalt_bindreq: the features and the ABI that a process wants, and those of the core. No architecture here adds anything.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bind {
    features: u32,
    abi: u32,
    spare: u64,
    spare_too: u32,
    kernel_abi: u32,
    all: u32,
    mandatory: u32,
    requested: u32,
    missing: u32,
    names: [[u8; 64]; 4],
}

// include/cobalt/uapi/asm-generic/syscall.h and features.h.
layout!(Bind: 296, align 8, {
    features: 0, abi: 4, spare: 8, spare_too: 16, kernel_abi: 20, all: 24, mandatory: 28, requested: 32, missing: 36, names: 40,
});

/// `smp`, `fastsynch` and `prioceiling`, as the core's own library asks.
const FEATURES: u32 = 0x8000_0000 | 0x2000_0000 | 0x0400_0000;

impl Bind {
    const fn new(features: u32, abi: u32) -> Self {
        Self {
            features,
            abi,
            spare: 0,
            spare_too: 0,
            kernel_abi: 0,
            all: 0,
            mandatory: 0,
            requested: 0,
            missing: 0,
            names: [[0; 64]; 4],
        }
    }

    /// Asks the core to bind this process. The core writes its own ABI and features also when it refuses the request.
    fn ask(&mut self) -> Result<(), Errno> {
        // SAFETY: the core reads and writes the structure, which is writable and lives through the call.
        unsafe { call(number::BIND, [address(std::ptr::from_mut(self)), 0, 0, 0, 0]) }.map(drop)
    }
}

/// Judges the answer to a request with ABI 0: the core's ABI, or `None` when no Cobalt answered.
fn answered(asked: Result<(), Errno>, kernel_abi: u32) -> Result<Option<u32>, Refused> {
    match asked {
        Err(Errno::EAGAIN) => Err(Refused::Stopped(Core::Cobalt)),
        _ if kernel_abi != 0 => Ok(Some(kernel_abi)),
        // Linux does not know the number. EVL's Dovetail denies it, and so do the filters of some containers.
        Ok(()) | Err(Errno::ENOSYS | Errno::EPERM | Errno::EACCES) => Ok(None),
        Err(error) => Err(Refused::Other(Core::Cobalt, error)),
    }
}

/// Returns whether the core's monotonic clock is Linux's. The I-pipe has another one.
fn clock_is_that_of_linux() -> Result<bool, Errno> {
    /// Two readings of one clock lie closer together on any machine, and two clocks farther apart.
    const SLACK_NS: u64 = 1_000_000;
    let mut time = Time::NEVER;
    let before = Monotonic.now();
    // SAFETY: the core writes the time, which is writable and lives through the call.
    unsafe { call(number::CLOCK_READ, [libc::CLOCK_MONOTONIC as u64, address(&raw mut time), 0, 0, 0]) }?;
    let after = Monotonic.now();
    Ok((before.saturating_sub(SLACK_NS)..=after.saturating_add(SLACK_NS)).contains(&time.ns()))
}

/// Cobalt, to which this process is bound.
#[derive(Debug)]
pub(crate) struct Cobalt {
    spoken: Spoken,
}

impl Cobalt {
    /// Looks for the core. `root` is `/` except in tests.
    pub(crate) fn find(root: &Path) -> Result<Option<Self>, Refused> {
        let other = |error| Refused::Other(Core::Cobalt, error);
        if !cokernel::SUPPORTED {
            let there = root.join("proc/xenomai").exists();
            return if there { Err(other(Errno::EOPNOTSUPP)) } else { Ok(None) };
        }
        let mut first = Bind::new(FEATURES, 0);
        let asked = first.ask();
        let Some(abi) = answered(asked, first.kernel_abi)? else { return Ok(None) };
        let refused = |known| Refused::Abi { core: Core::Cobalt, kernel: (abi, abi), known };
        let spoken = HERE.spoken(abi).map_err(refused)?;
        Bind::new(first.all, abi).ask().map_err(|error| match error {
            Errno::EAGAIN => Refused::Stopped(Core::Cobalt),
            Errno::EPERM => Refused::Denied(Core::Cobalt, error),
            _ => other(error),
        })?;
        if spoken.has_doubtful_clock && !clock_is_that_of_linux().map_err(other)? {
            return Err(refused(HERE.another_clock));
        }
        Ok(Some(Self { spoken }))
    }

    /// Returns the ABI that latido speaks.
    pub(crate) fn abi(&self) -> u32 {
        self.spoken.abi
    }
}

#[cfg(test)]
mod tests;
