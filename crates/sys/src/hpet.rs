//! The high precision event timer's character device (include/uapi/linux/hpet.h, drivers/char/hpet.c): a comparator of
//! its own, whose interrupts a read waits for, and the registers to look at (IA-PC HPET specification 1.0a).

use crate::{Errno, ioctl, layout::layout};
use std::{fs::File, os::fd::AsRawFd, ptr::NonNull, time::Duration};

/// Requests of the device.
const KIND: u8 = b'h';
const IE_ON: u64 = ioctl::plain(KIND, 0x01);
const INFO: u64 = ioctl::reads::<Info>(KIND, 0x03);
const EPI: u64 = ioctl::plain(KIND, 0x04);
const IRQFREQ: u64 = ioctl::writes::<libc::c_ulong>(KIND, 0x06);

/// The timer can repeat by itself.
const INFO_PERIODIC: libc::c_ulong = 0x0010;

/// Registers, by their offset in bytes: capabilities and period, the counter, the first timer's, and from one timer to
/// the next.
const CAPABILITIES: usize = 0x000;
const COUNTER: usize = 0x0f0;
const TIMER: usize = 0x100;
const COMPARATOR: usize = 0x008;
const EACH: usize = 0x020;
const PAGE: usize = 4096;

/// Capabilities: the counter has 64 bits. Of a timer: it has, and it is made to use 32 of them, which the driver does.
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

/// The bits in which comparator and counter agree, from the registers of capabilities and of the timer.
fn mask(capabilities: u64, timer: u64) -> u64 {
    let wide = capabilities & COUNTER_64 != 0 && timer & TIMER_64 != 0 && timer & TIMER_USES_32 == 0;
    if wide { u64::MAX } else { u64::from(u32::MAX) }
}

/// Which step of opening failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The step, in the device's own words.
    pub step: &'static str,
    /// What the kernel answered.
    pub error: Errno,
}

/// A comparator that this process has, as long as this lives: closing it ends its interrupts and frees its line.
#[derive(Debug)]
pub struct Hpet {
    file: File,
    page: NonNull<u64>,
    comparator: usize,
    /// Femtoseconds of a tick.
    tick_fs: u64,
    period_ticks: u64,
    mask: u64,
}

// SAFETY: the page is a read-only mapping of registers that belongs to this value alone; reading them changes nothing.
unsafe impl Send for Hpet {}

impl Hpet {
    /// Has the comparator behind an open device raise interrupts `rate` times a second from now on.
    ///
    /// # Errors
    /// The step that was refused: `EACCES` for a rate above 64 Hz without CAP_SYS_RESOURCE, `EBUSY` for a line that
    /// somebody else has, `ENOSYS` or `ENXIO` where the kernel lets nobody map the registers.
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
        // SAFETY: the structure is writable and of the size that the request's number says.
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
        // As the driver rounds it: the frequency of the counter, then the ticks of a period.
        let frequency = (1_000_000_000_000_000 + hpet.tick_fs / 2) / hpet.tick_fs;
        hpet.period_ticks = (frequency + rate / 2) / rate.max(1);
        ask(IE_ON, 0).map_err(failed("HPET_IE_ON"))?;
        // Only now the driver has said how many bits the comparator uses.
        hpet.mask = mask(capabilities, hpet.register(timer));
        Ok(hpet)
    }

    /// Whether an interrupt comes within a time.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    pub fn came(&self, within: Duration) -> Result<bool, Errno> {
        let mut ready = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let ms = libc::c_int::try_from(within.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: one structure, writable, outlives the call.
        Ok(Errno::check(unsafe { libc::poll(&mut ready, 1, ms) })? > 0)
    }

    /// Waits for an interrupt: how many there were since the last wait.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self) -> Result<u64, Errno> {
        let mut raised: libc::c_ulong = 0;
        // SAFETY: the number is writable for its bytes.
        let got = unsafe { libc::read(self.file.as_raw_fd(), (&raw mut raised).cast(), size_of::<libc::c_ulong>()) };
        if got == -1 { Err(Errno::last()) } else { Ok(raised as u64) }
    }

    /// The counter.
    #[inline(always)]
    pub fn counter(&self) -> u64 {
        self.register(COUNTER) & self.mask
    }

    /// The comparator: the counter's value at the next interrupt.
    #[inline(always)]
    pub fn comparator(&self) -> u64 {
        self.register(self.comparator) & self.mask
    }

    /// By how many ticks `comparator` lies ahead of `counter`; below zero where it has passed.
    #[inline(always)]
    pub fn ticks(&self, comparator: u64, counter: u64) -> i64 {
        let ahead = comparator.wrapping_sub(counter) & self.mask;
        if self.mask == u64::MAX { ahead.cast_signed() } else { i64::from((ahead as u32).cast_signed()) }
    }

    /// Ticks between two interrupts.
    #[inline(always)]
    pub fn period_ticks(&self) -> u64 {
        self.period_ticks
    }

    /// Ticks as ns.
    #[inline(always)]
    pub fn ns(&self, ticks: u64) -> u64 {
        // Of a period at most: far from overflowing.
        ticks.wrapping_mul(self.tick_fs) / 1_000_000
    }

    /// Femtoseconds of a tick: the resolution.
    pub fn tick_fs(&self) -> u64 {
        self.tick_fs
    }

    #[inline(always)]
    fn register(&self, at: usize) -> u64 {
        // SAFETY: every offset that comes here lies in the mapped page and is a multiple of eight.
        unsafe { self.page.as_ptr().byte_add(at).read_volatile() }
    }
}

impl Drop for Hpet {
    fn drop(&mut self) {
        // SAFETY: the page was mapped by this value, and nothing refers to it any more.
        unsafe { libc::munmap(self.page.as_ptr().cast(), PAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers and places of the members are the kernel's headers'.
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

    /// Registers of QEMU's, 322 s after its start: the comparator has lost the upper half of the counter.
    #[test]
    fn a_timer_in_its_mode_of_32_bits_has_32() {
        let (capabilities, timer) = (0x0098_9680_8086_a201, 0x00ff_0104_0000_213e);
        assert_eq!(mask(capabilities, timer), u64::from(u32::MAX));
        assert_eq!(mask(capabilities, timer & !TIMER_USES_32), u64::MAX);
        assert_eq!(mask(capabilities & !COUNTER_64, timer & !TIMER_USES_32), u64::from(u32::MAX));
    }
}
