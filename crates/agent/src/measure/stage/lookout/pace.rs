//! When the main thread checks, reports and stores while the loops run. The caller passes the times in, and nothing here allocates.

use latido_model::protocol::Phase;
use std::time::{Duration, Instant};

/// The interval at which the main thread checks for a request to stop, and the progress of the loops.
pub const LOOK: Duration = Duration::from_millis(200);

/// The checks per second. Once per second the main thread drains finished blocks and reads quantiles, because both take longer.
const A_SECOND: u64 = 5;

/// The number of series from which the agent reports progress only once per second: two processes read and write each report again.
const MANY: usize = 8;

/// Returns how long to wait for the next check: [`LOOK`], or less if the warm-up ends before, so that this is reported soon. Times are
/// CLOCK_MONOTONIC in ns.
pub fn patience(phase: Phase, warmup_ends_ns: u64, now_ns: u64) -> Duration {
    if phase == Phase::Measuring {
        return LOOK;
    }
    let until = warmup_ends_ns.saturating_add(1_000_000);
    Duration::from_nanos(until.saturating_sub(now_ns)).clamp(Duration::from_millis(1), LOOK)
}

/// What the main thread does at a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether the agent reports progress.
    pub told: bool,
    /// Whether it drains finished blocks and reads quantiles.
    pub thorough: bool,
}

/// Counts the checks of a number of series.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    count: u64,
    series: usize,
}

impl Looks {
    /// Starts without checks.
    pub fn of(series: usize) -> Self {
        Self { count: 0, series }
    }

    /// Returns what to do at the next check. The agent reports a new phase at once.
    pub fn next(&mut self, new_phase: bool) -> Look {
        let thorough = new_phase || self.count.is_multiple_of(A_SECOND);
        self.count += 1;
        Look { told: thorough || self.series < MANY, thorough }
    }
}

/// When the next checkpoint is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoints(Instant);

impl Checkpoints {
    /// Sets the first checkpoint `every` after `now`.
    pub fn after(every: Duration, now: Instant) -> Self {
        Self(now + every)
    }

    /// Whether a checkpoint is due. Before the first sample there is nothing to store.
    pub fn is_due(self, now: Instant, elapsed_ns: u64) -> bool {
        now >= self.0 && elapsed_ns > 0
    }

    /// Sets the next checkpoint after an attempt. If the attempt failed, latido tries again after a tenth of the time.
    pub fn tried(&mut self, made: bool, every: Duration, now: Instant) {
        self.0 = now + if made { every } else { every / 10 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_warm_up_is_not_slept_through() {
        let ms = Duration::from_millis;
        let of = |phase, left_ms: u64| patience(phase, 5_000_000_000, 5_000_000_000 - left_ms * 1_000_000);
        assert_eq!([of(Phase::Measuring, 30), of(Phase::WarmUp, 900)], [LOOK, LOOK]);
        assert_eq!([of(Phase::WarmUp, 30), of(Phase::WarmUp, 0)], [ms(31), ms(1)], "a millisecond behind it");
        assert_eq!(patience(Phase::WarmUp, 5, 9_000_000_000), ms(1), "it is over");
        assert_eq!(patience(Phase::WarmUp, u64::MAX, 0), LOOK);
    }

    /// The agent reports few series five times per second, many once, and a new phase at once.
    #[test]
    fn many_series_are_told_once_a_second() {
        let told = |series: usize, turn: usize| {
            let mut looks = Looks::of(series);
            (0..11).map(|look| looks.next(look == turn)).map(|look| (look.told, look.thorough)).collect::<Vec<_>>()
        };
        let thorough: Vec<usize> = (0..11).filter(|look| told(8, 7)[*look].1).collect();
        assert_eq!(thorough, [0, 5, 7, 10]);
        assert!(told(8, 7).iter().all(|(told, thorough)| told == thorough));
        assert!(told(7, 7).iter().all(|(told, _)| *told));
    }

    #[test]
    fn checkpoints_come_by_the_clock_and_sooner_where_one_failed() {
        let (every, begin) = (Duration::from_secs(60), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut checkpoints = Checkpoints::after(every, begin);
        assert!(!checkpoints.is_due(at(59), 1) && checkpoints.is_due(at(60), 1));
        assert!(!checkpoints.is_due(at(600), 0), "no sample counts yet");
        checkpoints.tried(true, every, at(61));
        assert!(!checkpoints.is_due(at(120), 1) && checkpoints.is_due(at(121), 1));
        checkpoints.tried(false, every, at(121));
        assert!(!checkpoints.is_due(at(126), 1) && checkpoints.is_due(at(127), 1));
    }
}
