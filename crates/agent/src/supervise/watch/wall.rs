//! Steps of CLOCK_REALTIME against CLOCK_MONOTONIC. latido looks repeatedly, since a step forward and one back leave no difference.

use latido_sys::clock::Clock;

/// The least difference between two looks that counts as a step, ns. Slewing changes 0.05 ms between looks that are 0.1 s apart (500 ppm,
/// adjtimex(2)), and half a millisecond per second.
const STEP_NS: u64 = 1_000_000;

/// The steps since the first look.
#[derive(Debug)]
pub struct Wall {
    last_ns: i64,
    largest_ns: i64,
    steps: u64,
}

impl Wall {
    /// Starts now.
    pub fn now() -> Self {
        Self::at(apart(Clock::Realtime))
    }

    fn at(apart_ns: i64) -> Self {
        Self { last_ns: apart_ns, largest_ns: 0, steps: 0 }
    }

    /// Takes one look.
    pub fn look(&mut self) {
        self.take(apart(Clock::Realtime));
    }

    fn take(&mut self, apart_ns: i64) {
        let moved = apart_ns.wrapping_sub(std::mem::replace(&mut self.last_ns, apart_ns));
        if moved.unsigned_abs() >= STEP_NS {
            self.steps += 1;
            if moved.unsigned_abs() > self.largest_ns.unsigned_abs() {
                self.largest_ns = moved;
            }
        }
    }

    /// Returns how many steps there were, and the largest, ns.
    pub fn steps(&self) -> (u64, i64) {
        (self.steps, self.largest_ns)
    }
}

/// Returns a clock minus CLOCK_MONOTONIC, ns. Of three readings it takes the one with the shortest time between its two readings of
/// CLOCK_MONOTONIC, so that a preemption in between is no step.
pub(super) fn apart(clock: Clock) -> i64 {
    let reading = |_| {
        let (before, other, after) = (Clock::Monotonic.now(), clock.now(), Clock::Monotonic.now());
        (after.saturating_sub(before), other.wrapping_sub(before).cast_signed())
    };
    (0..3).map(reading).min_by_key(|(between, _)| *between).map_or(0, |(_, apart)| apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn there_and_back_are_two_steps_and_slewing_is_none() {
        let mut wall = Wall::at(5 * SECOND);
        wall.take(6 * SECOND);
        wall.take(5 * SECOND);
        assert_eq!(wall.steps(), (2, SECOND));
        wall.take(5 * SECOND - 2 * SECOND);
        assert_eq!(wall.steps(), (3, -2 * SECOND));
        let mut slewed = Wall::at(0);
        (1..100).for_each(|second| slewed.take(second * 500_000));
        assert_eq!(slewed.steps(), (0, 0));
    }
}
