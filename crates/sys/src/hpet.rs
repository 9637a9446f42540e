//! The high precision event timer's character device (include/uapi/linux/hpet.h, drivers/char/hpet.c). Each open device has a separate
//! comparator, and a read waits for its interrupts. The process can also map the registers (IA-PC HPET specification 1.0a).

use crate::{Errno, ioctl, layout::layout};
use std::{fs::File, os::fd::AsRawFd, ptr::NonNull, time::Duration};

/// Requests to the device.
const KIND: u8 = b'h';
const IE_ON: u64 = ioctl::plain(KIND, 0x01);
const INFO: u64 = ioctl::reads::<Info>(KIND, 0x03);
const EPI: u64 = ioctl::plain(KIND, 0x04);
const IRQFREQ: u64 = ioctl::writes::<libc::c_ulong>(KIND, 0x06);

/// Flag: the timer can repeat by itself.
const INFO_PERIODIC: libc::c_ulong = 0x0010;

/// Registers, as offsets in bytes: capabilities and period, the counter, the first timer, its comparator, and the distance from one timer
/// to the next.
const CAPABILITIES: usize = 0x000;
const COUNTER: usize = 0x0f0;
const TIMER: usize = 0x100;
const COMPARATOR: usize = 0x008;
const EACH: usize = 0x020;
const PAGE: usize = 4096;

/// Flags. In the capabilities: the counter has 64 bits. In a timer: it has 64 bits, and it is set to use only 32 of them, which the driver
/// does.
const COUNTER_64: u64 = 1 << 13;
const TIMER_64: u64 = 1 << 5;
const TIMER_USES_32: u64 = 1 << 8;

/// struct hpet_info.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Info {
    frequency: libc::c_ulong,
    flags: libc::c_ulong,
    hpet: libc::c_ushort,
    timer: libc::c_ushort,
}

// include/uapi/linux/hpet.h: two of `unsigned long`, two of `unsigned short`.
#[cfg(target_pointer_width = "64")]
layout!(Info: 24, align 8, { frequency: 0, flags: 8, hpet: 16, timer: 18 });
#[cfg(target_pointer_width = "32")]
layout!(Info: 12, align 4, { frequency: 0, flags: 4, hpet: 8, timer: 10 });

/// Returns a mask of the bits that comparator and counter have in common, from the registers of capabilities and of the timer.
fn mask(capabilities: u64, timer: u64) -> u64 {
    let wide = capabilities & COUNTER_64 != 0 && timer & TIMER_64 != 0 && timer & TIMER_USES_32 == 0;
    if wide { u64::MAX } else { u64::from(u32::MAX) }
}

/// The step of opening that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The name of the step: a system call or a request of the device.
    pub step: &'static str,
    /// The error that the kernel returned.
    pub error: Errno,
}

/// A comparator that this process owns while the value lives. Dropping it ends its interrupts and frees its interrupt line.
#[derive(Debug)]
pub struct Hpet {
    file: File,
    page: NonNull<u64>,
    comparator: usize,
    /// Length of a tick, in femtoseconds.
    tick_fs: u64,
    period_ticks: u64,
    mask: u64,
}

// SAFETY: the page is a read-only mapping of registers that only this value owns; reading them changes nothing.
unsafe impl Send for Hpet {}

impl Hpet {
    /// Makes the comparator of an open device raise interrupts at `rate` per second from now on.
    ///
    /// # Errors
    /// The step that failed: `EACCES` for a rate above 64 Hz without CAP_SYS_RESOURCE, `EBUSY` for an interrupt line that is in use,
    /// `ENOSYS` or `ENXIO` where the kernel does not allow mapping the registers.
    pub fn start(file: File, rate: u64) -> Result<Self, Failed> {
        let failed = |step| move |error| Failed { step, error };
        let fd = file.as_raw_fd();
        let ask = |request: u64, argument: libc::c_ulong| {
            // SAFETY: these requests take a number.
            Errno::check(unsafe { libc::ioctl(fd, request as _, argument) })
        };
        let (flags, protection) = (libc::MAP_SHARED, libc::PROT_READ);
        // SAFETY: a new mapping at a place that the kernel chooses touches no other memory.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, protection, flags, fd, 0) };
        let page = NonNull::new(at.cast()).filter(|_| at != libc::MAP_FAILED);
        let page = page.ok_or_else(Errno::last).map_err(failed("mmap"))?;
        let mut hpet = Self { file, page, comparator: TIMER + COMPARATOR, tick_fs: 0, period_ticks: 0, mask: 0 };
        ask(IRQFREQ, rate as libc::c_ulong).map_err(failed("HPET_IRQFREQ"))?;
        let mut info = Info::default();
        // SAFETY: the structure is writable and has the size that is part of the request's number.
        Errno::check(unsafe { libc::ioctl(fd, INFO as _, &raw mut info) }).map_err(failed("HPET_INFO"))?;
        if info.flags & INFO_PERIODIC != 0 {
            ask(EPI, 0).map_err(failed("HPET_EPI"))?;
        }
        let capabilities = hpet.register(CAPABILITIES);
        hpet.tick_fs = (capabilities >> 32).max(1);
        let timer = TIMER + EACH * usize::from(info.timer);
        if timer + EACH > PAGE {
            return Err(Failed { step: "HPET_INFO", error: Errno::EINVAL });
        }
        hpet.comparator = timer + COMPARATOR;
        // Round like the driver: first the frequency of the counter, then the ticks of a period.
        let frequency = (1_000_000_000_000_000 + hpet.tick_fs / 2) / hpet.tick_fs;
        hpet.period_ticks = (frequency + rate / 2) / rate.max(1);
        ask(IE_ON, 0).map_err(failed("HPET_IE_ON"))?;
        // Read the register only now: the driver has just set how many bits the comparator uses.
        hpet.mask = mask(capabilities, hpet.register(timer));
        Ok(hpet)
    }

    /// Waits for an interrupt, and returns whether one came in time. It does not take the interrupt.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    pub fn came(&self, within: Duration) -> Result<bool, Errno> {
        ioctl::came(&self.file, within)
    }

    /// Waits for an interrupt. Returns how many there were since the last wait.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self) -> Result<u64, Errno> {
        let mut raised: libc::c_ulong = 0;
        // SAFETY: all bytes of the number are writable.
        let got = unsafe { libc::read(self.file.as_raw_fd(), (&raw mut raised).cast(), size_of::<libc::c_ulong>()) };
        if got == -1 { Err(Errno::last()) } else { Ok(raised as u64) }
    }

    /// Reads the counter, in ticks.
    #[inline(always)]
    pub fn counter(&self) -> u64 {
        self.register(COUNTER) & self.mask
    }

    /// Reads the comparator: the counter's value at the next interrupt.
    #[inline(always)]
    pub fn comparator(&self) -> u64 {
        self.register(self.comparator) & self.mask
    }

    /// Returns by how many ticks `comparator` is ahead of `counter`; negative if it has passed.
    #[inline(always)]
    pub fn ticks(&self, comparator: u64, counter: u64) -> i64 {
        let ahead = comparator.wrapping_sub(counter) & self.mask;
        if self.mask == u64::MAX { ahead.cast_signed() } else { i64::from((ahead as u32).cast_signed()) }
    }

    /// Returns the ticks between two interrupts.
    #[inline(always)]
    pub fn period_ticks(&self) -> u64 {
        self.period_ticks
    }

    /// Converts ticks to ns.
    #[inline(always)]
    pub fn ns(&self, ticks: u64) -> u64 {
        // At most a few periods: no overflow.
        ticks.wrapping_mul(self.tick_fs) / 1_000_000
    }

    /// Returns the length of a tick, in femtoseconds: the resolution.
    pub fn tick_fs(&self) -> u64 {
        self.tick_fs
    }

    #[inline(always)]
    fn register(&self, at: usize) -> u64 {
        // SAFETY: every offset that callers pass is in the mapped page and a multiple of eight.
        unsafe { self.page.as_ptr().byte_add(at).read_volatile() }
    }
}

impl Drop for Hpet {
    fn drop(&mut self) {
        // SAFETY: this value mapped the page, and there are no more references to it.
        unsafe { libc::munmap(self.page.as_ptr().cast(), PAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers and offsets equal those of the kernel's headers.
    #[test]
    fn requests_are_those_of_the_headers() {
        let told = [
            ("HPET_IE_ON", IE_ON),
            ("HPET_INFO", INFO),
            ("HPET_EPI", EPI),
            ("HPET_IRQFREQ", IRQFREQ),
            ("sizeof(struct hpet_info)", size_of::<Info>() as u64),
            ("offsetof(struct hpet_info, hi_timer)", std::mem::offset_of!(Info, timer) as u64),
        ];
        let Some(headers) = ioctl::tests::by_headers(&["linux/hpet.h"], &told.map(|(text, _)| text)) else { return };
        assert_eq!(headers, told.map(|(_, own)| own));
    }

    /// Registers of QEMU, 322 s after its start: the comparator has lost the upper half of the counter.
    #[test]
    fn a_timer_in_its_mode_of_32_bits_has_32() {
        let (capabilities, timer) = (0x0098_9680_8086_a201, 0x00ff_0104_0000_213e);
        assert_eq!(mask(capabilities, timer), u64::from(u32::MAX));
        assert_eq!(mask(capabilities, timer & !TIMER_USES_32), u64::MAX);
        assert_eq!(mask(capabilities & !COUNTER_64, timer & !TIMER_USES_32), u64::from(u32::MAX));
    }
}
