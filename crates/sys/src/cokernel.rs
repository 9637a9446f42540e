//! What the two real-time cores beside Linux have in common: their names, why latido cannot use one, what they count, and the call.

use crate::{Errno, layout::layout};
use std::{fmt, fs::File, io, path::Path};

/// A real-time core beside Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Core {
    /// EVL, the core of Xenomai 4.
    Evl,
    /// Cobalt, the core of Xenomai 3.
    Cobalt,
}

impl Core {
    /// Returns the name for options and records: `evl` or `cobalt`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evl => "evl",
            Self::Cobalt => "cobalt",
        }
    }

    /// Returns the name for sentences.
    const fn title(self) -> &'static str {
        match self {
            Self::Evl => "EVL",
            Self::Cobalt => "Cobalt",
        }
    }
}

/// Why a core that is there cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The kernel speaks no ABI that latido speaks, or the core's clock is not Linux's.
    Abi {
        /// The core.
        core: Core,
        /// The first and the last ABI that the kernel speaks. They are equal for Cobalt.
        kernel: (u32, u32),
        /// Which ABIs latido speaks, for a sentence.
        known: &'static str,
    },
    /// The core is in the kernel, but it does not run.
    Stopped(Core),
    /// This process may not use the core.
    Denied(Core, Errno),
    /// The core returned an error that it should not return.
    Other(Core, Errno),
}

impl fmt::Display for Refused {
    /// Writes one sentence: what is wrong, and what a person can do about it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Abi { core, kernel: (first, last), known } => {
                let core = core.title();
                if first == last {
                    write!(f, "the {core} core of this kernel speaks ABI {first}, but latido speaks {known}")
                } else {
                    write!(f, "the {core} core of this kernel speaks ABI {first} to {last}, but latido speaks {known}")
                }
            }
            Self::Stopped(Core::Evl) => {
                f.write_str("the EVL core is stopped: write `start` to /sys/devices/virtual/evl/control/state")
            }
            Self::Stopped(Core::Cobalt) => f.write_str("the Cobalt core is stopped: start it with `corectl --start`"),
            Self::Denied(core, errno) => {
                write!(f, "this process may not use the {} core: {errno}; run latido as root", core.title())
            }
            Self::Other(core, errno) => write!(f, "latido cannot use the {} core: {errno}", core.title()),
        }
    }
}

impl std::error::Error for Refused {}

/// What a core counted for one of its threads since the thread entered the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Whether the thread ran out of band when latido asked.
    pub out_of_band: bool,
    /// Switches to in-band. Linux schedules the thread after each of them.
    pub switches: u64,
    /// Page faults and other faults. EVL does not count them.
    pub faults: Option<u64>,
    /// How often the core switched to this thread.
    pub context_switches: u64,
    /// Calls of the core.
    pub system_calls: Option<u64>,
    /// Time on the CPU out of band, in ns. EVL adds a stretch only when the thread gives up the CPU.
    pub cpu_ns: u64,
}

/// The time of a core's call on 64 bits: struct __evl_timespec, struct __kernel_timespec.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Time {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

// include/uapi/evl/types.h and include/uapi/linux/time_types.h.
layout!(Time: 16, align 8, { seconds: 0, nanoseconds: 8 });

const SECOND: u64 = 1_000_000_000;

impl Time {
    /// Both cores take a time of zero for "no time": wait without a limit, stop the timer.
    pub(crate) const NEVER: Self = Self { seconds: 0, nanoseconds: 0 };

    /// Converts a time in ns.
    #[inline(always)]
    pub(crate) const fn of(ns: u64) -> Self {
        Self { seconds: (ns / SECOND) as i64, nanoseconds: (ns % SECOND) as i64 }
    }

    /// Returns the time in ns.
    pub(crate) const fn ns(self) -> u64 {
        (self.seconds as u64).wrapping_mul(SECOND).wrapping_add(self.nanoseconds as u64)
    }
}

/// When a timer expires, and how often again: struct __evl_itimerspec, struct __kernel_itimerspec.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) interval: Time,
    pub(crate) value: Time,
}

// include/uapi/evl/types.h and include/uapi/linux/time_types.h.
layout!(Times: 32, align 8, { interval: 0, value: 16 });

impl Times {
    /// Expires once, at a time in ns.
    #[inline(always)]
    pub(crate) const fn once(at_ns: u64) -> Self {
        // Zero would stop the timer.
        Self { interval: Time::NEVER, value: Time::of(if at_ns == 0 { 1 } else { at_ns }) }
    }
}

/// Whether latido has the call instruction of this architecture, and knows the cores' structures on it.
pub(crate) const SUPPORTED: bool =
    cfg!(all(target_pointer_width = "64", any(target_arch = "x86_64", target_arch = "aarch64")));

/// Makes the system call with this number. Returns what the kernel returns: minus an error number, or a result.
///
/// It is one instruction and not a function of the C library, because a thread of a core may run nothing else between two calls.
///
/// # Safety
/// The arguments must be what the call expects. Each pointer among them must be valid for what the call does with it.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
#[inline(always)]
pub(crate) unsafe fn call(number: u64, [a, b, c, d, e]: [u64; 5]) -> i64 {
    let result: i64;
    // SAFETY: the instruction changes rax, rcx, r11 and the memory that the arguments point to, and the compiler knows that.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// As on x86_64.
///
/// # Safety
/// As on x86_64.
#[cfg(all(target_arch = "aarch64", target_pointer_width = "64"))]
#[inline(always)]
pub(crate) unsafe fn call(number: u64, [a, b, c, d, e]: [u64; 5]) -> i64 {
    let result: i64;
    // SAFETY: the instruction changes x0 and the memory that the arguments point to, and the compiler knows that.
    unsafe {
        core::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e,
            options(nostack),
        );
    }
    result
}

/// No core runs here that latido knows.
///
/// # Safety
/// It does nothing.
#[cfg(not(all(target_pointer_width = "64", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(always)]
pub(crate) unsafe fn call(_number: u64, _arguments: [u64; 5]) -> i64 {
    -(libc::ENOSYS as i64)
}

/// Tells the result of a call from its error.
#[inline(always)]
pub(crate) fn outcome(result: i64) -> Result<u64, Errno> {
    if result < 0 { Err(Errno::from_raw((-result) as i32)) } else { Ok(result as u64) }
}

/// Opens a device file to read and write; children do not inherit it.
pub(crate) fn open(path: &Path) -> Result<File, Errno> {
    File::options().read(true).write(true).open(path).map_err(|error: io::Error| {
        // Only a path with a null byte has no error number.
        Errno::from_raw(error.raw_os_error().unwrap_or(libc::EINVAL))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_seconds_and_nanoseconds() {
        assert_eq!(Time::of(3_000_000_007), Time { seconds: 3, nanoseconds: 7 });
        assert_eq!(Time::of(u64::MAX).ns(), u64::MAX);
        assert_eq!(Times::once(0).value, Time::of(1), "a time of zero would stop the timer");
        assert_eq!(Times::once(5).value, Time::of(5));
    }

    /// The instruction reaches the kernel, and latido tells an error from a result.
    #[test]
    fn a_call_by_number_reaches_the_kernel() {
        if !SUPPORTED {
            return;
        }
        // SAFETY: takes nothing.
        let pid = outcome(unsafe { call(libc::SYS_getpid as u64, [0; 5]) });
        assert_eq!(pid, Ok(u64::from(std::process::id())));
        // SAFETY: the kernel refuses the number of a closed file.
        assert_eq!(outcome(unsafe { call(libc::SYS_close as u64, [u64::MAX; 5]) }), Err(Errno::from_raw(libc::EBADF)));
    }

    #[test]
    fn a_refusal_is_a_sentence() {
        let abi = |kernel| Refused::Abi { core: Core::Evl, kernel, known: "27 to 36" }.to_string();
        assert_eq!(abi((39, 43)), "the EVL core of this kernel speaks ABI 39 to 43, but latido speaks 27 to 36");
        assert_eq!(abi((37, 37)), "the EVL core of this kernel speaks ABI 37, but latido speaks 27 to 36");
        assert_eq!(
            Refused::Denied(Core::Cobalt, Errno::EPERM).to_string(),
            "this process may not use the Cobalt core: Operation not permitted (errno 1); run latido as root"
        );
    }
}
