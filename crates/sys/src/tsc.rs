//! The processor's time-stamp counter: reading it, checking whether latido can trust it, and calibrating its ticks.

use crate::clock::Clock;

/// Reads the counter: x86-64 `rdtsc`, AArch64 `cntvct_el0`.
///
/// The value is meaningful only where [`AVAILABLE`] is true; elsewhere the function returns 0.
#[inline(always)]
pub fn read() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has rdtsc, and Linux lets user space use it.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets user space read the virtual counter; the instruction has no other effect.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    0
}

/// Whether this architecture has a counter that user space can read.
const AVAILABLE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Returns why the counter cannot serve as a clock here, or `None` when it can. It must tick at one rate in every power state and be the
/// same on every CPU. It does if the kernel uses it as its clock source. If the kernel uses another source (a hypervisor's), the
/// processor's own flag and the kernel's list of sources decide.
pub fn unfit() -> Option<&'static str> {
    if cfg!(target_arch = "aarch64") {
        return None;
    }
    if !AVAILABLE {
        return Some("this architecture has no time-stamp counter that user space can read");
    }
    let read = |file| std::fs::read_to_string(format!("/sys/devices/system/clocksource/clocksource0/{file}"));
    if read("current_clocksource").is_ok_and(|source| source.trim() == "tsc") {
        return None;
    }
    if !invariant() {
        return Some("the processor does not promise an invariant time-stamp counter");
    }
    // The kernel removes `tsc` from the list when it has seen it run unevenly.
    match read("available_clocksource") {
        Ok(list) if list.split_whitespace().any(|source| source == "tsc") => None,
        Ok(_) => Some("the kernel found the time-stamp counter unstable"),
        Err(_) => Some("the kernel does not say whether the time-stamp counter is stable"),
    }
}

/// Returns the processor's own promise, CPUID 8000_0007h EDX bit 8.
#[cfg(target_arch = "x86_64")]
fn invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    #[allow(unused_unsafe, reason = "an unsafe function before Rust 1.94")]
    // SAFETY: every x86-64 processor has CPUID, and the code first reads the highest leaf.
    unsafe {
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn invariant() -> bool {
    false
}

/// Converts ticks to ns and back: fixed point with 32 fractional bits, so that one conversion is one multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// ns per tick, times 2^32.
    mult: u64,
    /// Ticks per ns, times 2^32.
    inverse: u64,
}

impl Scale {
    /// One tick is one ns.
    pub const NS: Self = Self { mult: 1 << 32, inverse: 1 << 32 };

    /// Returns the scale of a counter that advanced by `ticks` in `ns`, or `None` if either is 0 or the rate is absurd (outside 1 kHz to 1
    /// THz).
    pub fn new(ticks: u64, ns: u64) -> Option<Self> {
        let ratio = |a: u64, b: u64| u64::try_from((u128::from(a) << 32).checked_div(u128::from(b))?).ok();
        let scale = Self { mult: ratio(ns, ticks)?, inverse: ratio(ticks, ns)? };
        (scale.mult <= 1_000_000 << 32 && scale.inverse <= 1_000 << 32).then_some(scale)
    }

    /// Converts ticks to ns, rounded to the nearest; saturates.
    #[inline]
    pub const fn ns(self, ticks: u64) -> u64 {
        let ns = ((ticks as u128).wrapping_mul(self.mult as u128)).wrapping_add(1 << 31) >> 32;
        if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 }
    }

    /// Returns the largest number of ticks that [`Scale::ns`] converts to at most `ns`, without a division.
    #[inline]
    pub const fn ticks_within(self, ns: u64) -> u64 {
        let estimate = ((ns as u128).wrapping_add(1)).wrapping_mul(self.inverse as u128) >> 32;
        let mut ticks = if estimate > u64::MAX as u128 { u64::MAX } else { estimate as u64 };
        // The estimate is off by the rounding of the two factors: by a few steps at most for the length of any measurement.
        while ticks > 0 && self.ns(ticks) > ns {
            ticks = ticks.wrapping_sub(1);
        }
        while ticks < u64::MAX && self.ns(ticks.wrapping_add(1)) <= ns {
            ticks = ticks.wrapping_add(1);
        }
        ticks
    }

    /// Returns the ticks per second.
    pub fn hz(self) -> f64 {
        self.inverse as f64 / (1u64 << 32) as f64 * 1e9
    }

    /// Returns the ns per tick.
    pub fn ns_per_tick(self) -> f64 {
        self.mult as f64 / (1u64 << 32) as f64
    }
}

/// One instant on the counter and on CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    /// The counter's value.
    pub ticks: u64,
    /// CLOCK_MONOTONIC in ns.
    pub monotonic_ns: u64,
}

/// Reads both clocks at one instant. It takes the tightest of 32 bracketed readings, so an interrupt in between does not count.
pub fn instant() -> Instant {
    let mut best = Instant { ticks: read(), monotonic_ns: Clock::Monotonic.now() };
    let mut width = u64::MAX;
    for _ in 0..32 {
        let before = read();
        let monotonic_ns = Clock::Monotonic.now();
        let bracket = read().wrapping_sub(before);
        if bracket < width {
            width = bracket;
            best = Instant { ticks: before.wrapping_add(bracket / 2), monotonic_ns };
        }
    }
    best
}

/// Computes the scale from two instants, or returns `None` if the counter does not advance. A longer time between them is more exact: 10 ms
/// give about 1 ppm, the two ends of a cell give parts per billion.
fn scale_between(from: Instant, to: Instant) -> Option<Scale> {
    Scale::new(to.ticks.wrapping_sub(from.ticks), to.monotonic_ns.wrapping_sub(from.monotonic_ns))
}

/// Calibrates the counter against CLOCK_MONOTONIC, in about 10 ms.
pub fn calibrate() -> Option<Scale> {
    const SPAN: u64 = 10_000_000;
    let from = instant();
    // The loop stays awake because the counters of some old processors stop in idle states: that error must show here, not in a result.
    while Clock::Monotonic.now().wrapping_sub(from.monotonic_ns) < SPAN {
        std::hint::spin_loop();
    }
    scale_between(from, instant())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_is_exact() {
        for ns in [0, 1, 999, 1 << 40, u64::MAX >> 1] {
            assert_eq!(Scale::NS.ns(ns), ns);
            assert_eq!(Scale::NS.ticks_within(ns), ns);
        }
    }

    #[test]
    fn the_inverse_is_the_largest_that_fits() {
        for (ticks, ns) in [(2_445_000_000, 1_000_000_000), (3, 1), (1, 40), (24_000_000, 1_000_000_000)] {
            let scale = Scale::new(ticks, ns).unwrap();
            assert!(scale.ns(ticks).abs_diff(ns) <= 1, "{scale:?}");
            for at_most in [0, 1, 7, 1_000, 123_456, 60_000_000_000, 3_600_000_000_000] {
                let ticks = scale.ticks_within(at_most);
                assert!(scale.ns(ticks) <= at_most, "{scale:?} {at_most}");
                assert!(scale.ns(ticks + 1) > at_most, "{scale:?} {at_most}");
            }
        }
    }

    #[test]
    fn refuses_a_counter_that_stands_still() {
        assert_eq!(Scale::new(0, 10), None);
        assert_eq!(Scale::new(10, 0), None);
    }

    #[test]
    fn calibration_agrees_with_the_kernels_clock() {
        if let Some(why) = unfit() {
            eprintln!("skipped: {why}");
            return;
        }
        let scale = calibrate().unwrap();
        let from = instant();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let to = instant();
        let counted = scale.ns(to.ticks - from.ticks) as f64;
        let real = (to.monotonic_ns - from.monotonic_ns) as f64;
        assert!((counted / real - 1.0).abs() < 1e-3, "{counted} ns counted in {real} ns");
    }
}
