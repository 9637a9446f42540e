//! What a file says of its times, applied in the order in which `trace-cmd report` does: the shift of a guest, the ticks of a
//! processor's counter, the offset.

use super::Options;

/// A conversion of ticks: ns = ticks · `factor` >> `shift`. The offset that stands beside it in a file is not applied:
/// trace-cmd has written none since 2.9.2, and found the older ones wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// The factor.
    pub factor: u32,
    /// By how many bits the product is shifted down.
    pub shift: u32,
}

/// How a guest's times become its host's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shifts {
    /// Whether the corrections between two samples lie on a line; otherwise each holds until the next.
    pub interpolated: bool,
    /// The samples of each CPU in the order of their times, no two of one.
    pub cpus: Vec<Vec<Shift>>,
}

/// A correction as it was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    /// The time by the file's own clock.
    pub at: u64,
    /// What is added.
    pub by: i64,
    /// By what the time is multiplied before; 0 means nothing.
    pub ratio: u64,
    /// How many of the ratio's binary digits are behind the point.
    pub fraction: u32,
}

impl Ticks {
    fn ns(self, ticks: u64) -> u64 {
        let product = u128::from(ticks) * u128::from(self.factor);
        u64::try_from(product >> self.shift.min(127)).unwrap_or(u64::MAX)
    }
}

impl Shifts {
    /// Those of a CPU must be in order; of several at one time the first holds.
    pub(super) fn of(interpolated: bool, mut cpus: Vec<Vec<Shift>>) -> Self {
        for samples in &mut cpus {
            samples.sort_by_key(|sample| sample.at);
            samples.dedup_by_key(|sample| sample.at);
        }
        Self { interpolated, cpus }
    }

    /// The host's time. A CPU without samples keeps its own.
    fn applied(&self, cpu: u32, time: u64) -> u64 {
        let samples = self.cpus.get(cpu as usize).map(Vec::as_slice).unwrap_or_default();
        // Before the first and behind the last pair that pair goes on.
        let next = samples.partition_point(|sample| sample.at <= time).clamp(1, samples.len().saturating_sub(1).max(1));
        match (samples.get(next - 1), samples.get(next)) {
            (Some(before), Some(after)) => before.scaled(time).wrapping_add_signed(self.between(before, after, time)),
            // The ratio is between two samples: one alone has none.
            (Some(alone), None) => time.wrapping_add_signed(alone.by),
            _ => time,
        }
    }

    /// The correction at a time, by two samples.
    fn between(&self, before: &Shift, after: &Shift, time: u64) -> i64 {
        if !self.interpolated {
            return before.by;
        }
        let wide = |a: u64, b: u64| i128::from(a) - i128::from(b);
        let span = wide(after.at, before.at).max(1);
        // Rounded as trace-cmd does. Products beyond any real time may be wrong, but have a value.
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
    /// Whether times change by what the file says.
    pub fn change_times(&self) -> bool {
        self.offset != 0 || self.ticks.is_some() || self.shifts.cpus.iter().any(|samples| !samples.is_empty())
    }

    /// A stored time with everything applied, in ns where the clock counts in it.
    pub fn time_ns(&self, cpu: u32, stored: u64) -> u64 {
        let shifted = self.shifts.applied(cpu, stored);
        let ns = self.ticks.map_or(shifted, |ticks| ticks.ns(shifted));
        ns.wrapping_add_signed(self.offset)
    }
}
