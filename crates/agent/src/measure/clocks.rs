//! The same instant on all clocks, and how far two of them drifted apart.

use latido_model::record::Anchors;
use latido_sys::{clock::Clock, tsc};

/// All clocks at one instant, from which any other instant can be converted.
pub struct Clocks {
    monotonic: u64,
    realtime: u64,
    boottime: u64,
    tai: u64,
    /// The counter that stamps the samples, if there is one: an instant before the loop, and its scale.
    pub counter: Option<(tsc::Instant, tsc::Scale)>,
}

impl Clocks {
    /// Reads all clocks.
    pub fn now() -> Self {
        Self {
            monotonic: Clock::Monotonic.now(),
            realtime: Clock::Realtime.now(),
            boottime: Clock::Boottime.now(),
            tai: Clock::Tai.now(),
            counter: None,
        }
    }

    /// Returns the instant `monotonic_ns` on all clocks.
    pub fn anchors(&self, monotonic_ns: u64) -> Anchors {
        let later = monotonic_ns.wrapping_sub(self.monotonic);
        let ticks = |(instant, scale): (tsc::Instant, tsc::Scale)| {
            let ns = monotonic_ns.wrapping_sub(instant.monotonic_ns).cast_signed() as f64;
            instant.ticks.wrapping_add_signed((ns / scale.ns_per_tick()).round() as i64)
        };
        Anchors {
            monotonic_ns,
            realtime_ns: self.realtime.wrapping_add(later),
            boottime_ns: self.boottime.wrapping_add(later),
            tai_ns: self.tai.wrapping_add(later),
            tsc: self.counter.map(ticks),
        }
    }

    /// Returns by how much the counter and CLOCK_MONOTONIC disagree since the calibration, in 10^-9.
    pub fn drift_ppb(&self) -> Option<f64> {
        let (start, scale) = self.counter?;
        let now = tsc::instant();
        let counted = scale.ns(now.ticks.wrapping_sub(start.ticks)) as f64;
        let passed = now.monotonic_ns.saturating_sub(start.monotonic_ns) as f64;
        (passed > 0.0).then(|| (counted - passed) / passed * 1e9)
    }

    /// Returns how far CLOCK_REALTIME moved against CLOCK_MONOTONIC since, in ns: steps and slewing.
    pub fn shift(&self) -> i64 {
        let now = Self::now();
        let offset = |c: &Self| c.realtime.wrapping_sub(c.monotonic).cast_signed();
        let shift = offset(&now).wrapping_sub(offset(self));
        // The two readings are some 50 ns apart: below a microsecond the difference means nothing.
        if shift.abs() < 1_000 { 0 } else { shift }
    }
}
