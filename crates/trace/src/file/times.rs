//! Applies a file's corrections of times in the same order as `trace-cmd report`: a guest's shift, the ticks of a processor's counter, the
//! offset.

use super::Options;

/// A conversion of ticks: ns = ticks · `factor` >> `shift`. A file also contains an offset, which latido does not apply: trace-cmd has
/// written no offset since 2.9.2, because it found the older ones wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// The factor.
    pub factor: u32,
    /// The number of bits by which the product is shifted right.
    pub shift: u32,
}

/// The conversion of a guest's times to its host's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shifts {
    /// Whether latido interpolates linearly between two samples; otherwise each sample applies until the next.
    pub interpolated: bool,
    /// The samples of each CPU in order of time, at most one for each time.
    pub cpus: Vec<Vec<Shift>>,
}

/// A sampled correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    /// The time on the file's own clock.
    pub at: u64,
    /// The amount that is added.
    pub by: i64,
    /// The ratio by which the time is multiplied first; 0 means no ratio.
    pub ratio: u64,
    /// How many of the ratio's binary digits are after the point.
    pub fraction: u32,
}

impl Ticks {
    fn ns(self, ticks: u64) -> u64 {
        let product = u128::from(ticks) * u128::from(self.factor);
        u64::try_from(product >> self.shift.min(127)).unwrap_or(u64::MAX)
    }
}

impl Shifts {
    /// Sorts the samples of each CPU by time. If several have the same time, the first is kept.
    pub(super) fn of(interpolated: bool, mut cpus: Vec<Vec<Shift>>) -> Self {
        for samples in &mut cpus {
            samples.sort_by_key(|sample| sample.at);
            samples.dedup_by_key(|sample| sample.at);
        }
        Self { interpolated, cpus }
    }

    /// Returns the host's time. A CPU without samples keeps its own time.
    fn applied(&self, cpu: u32, time: u64) -> u64 {
        let samples = self.cpus.get(cpu as usize).map(Vec::as_slice).unwrap_or_default();
        // Before the first pair of samples and after the last pair, that pair continues to apply.
        let next = samples.partition_point(|sample| sample.at <= time).clamp(1, samples.len().saturating_sub(1).max(1));
        match (samples.get(next - 1), samples.get(next)) {
            (Some(before), Some(after)) => before.scaled(time).wrapping_add_signed(self.between(before, after, time)),
            // The ratio applies between two samples: a single sample has no ratio.
            (Some(alone), None) => time.wrapping_add_signed(alone.by),
            _ => time,
        }
    }

    /// Returns the correction at a time, from two samples.
    fn between(&self, before: &Shift, after: &Shift, time: u64) -> i64 {
        if !self.interpolated {
            return before.by;
        }
        let wide = |a: u64, b: u64| i128::from(a) - i128::from(b);
        let span = wide(after.at, before.at).max(1);
        // Rounded as trace-cmd does. Products beyond any real time may be wrong, but cannot overflow.
        let part = wide(time, before.at).saturating_mul(i128::from(after.by) - i128::from(before.by));
        let by = i128::from(before.by).saturating_add(part.saturating_add(span / 2) / span);
        i64::try_from(by).unwrap_or(before.by)
    }
}

impl Shift {
    fn scaled(&self, time: u64) -> u64 {
        match self.ratio {
            0 => time,
            ratio => {
                let product = u128::from(time) * u128::from(ratio);
                u64::try_from(product >> self.fraction.min(127)).unwrap_or(u64::MAX)
            }
        }
    }
}

impl Options {
    /// Returns whether the file's corrections change times.
    pub fn change_times(&self) -> bool {
        self.offset != 0 || self.ticks.is_some() || self.shifts.cpus.iter().any(|samples| !samples.is_empty())
    }

    /// Returns a stored time with all corrections applied, in ns if the clock counts ns.
    pub fn time_ns(&self, cpu: u32, stored: u64) -> u64 {
        let shifted = self.shifts.applied(cpu, stored);
        let ns = self.ticks.map_or(shifted, |ticks| ticks.ns(shifted));
        ns.wrapping_add_signed(self.offset)
    }
}
