//! Whose turn it is: a tournament between CPUs, in which each match is decided by the earlier time.

/// No event is due at the end of time: a lane that has this is at its end.
const NEVER: u64 = u64::MAX;

/// The lanes by when they are due.
#[derive(Debug)]
pub(super) struct Turns {
    /// A heap's shape: the winner of all at 1, the two that met for place `n` at `2n` and `2n + 1`, the lanes at the end.
    matches: Vec<(u64, u32)>,
    lanes: usize,
}

impl Turns {
    /// Of so many lanes, none of which is due.
    pub fn of(lanes: usize) -> Self {
        let lanes = lanes.next_power_of_two();
        let lane = |at: usize| (NEVER, at.saturating_sub(lanes) as u32);
        Self { matches: (0..2 * lanes).map(lane).collect(), lanes }
    }

    /// A lane is due then, or at its end.
    #[inline(always)]
    pub fn set(&mut self, lane: usize, due: Option<u64>) {
        let mut at = self.lanes + lane;
        if let Some(own) = self.matches.get_mut(at) {
            own.0 = due.map_or(NEVER, |due| due.min(NEVER - 1));
        }
        while at > 1 {
            let (Some(left), Some(right)) = (self.matches.get(at & !1), self.matches.get(at | 1)) else { return };
            let winner = if right.0 < left.0 { *right } else { *left };
            at /= 2;
            if let Some(place) = self.matches.get_mut(at) {
                *place = winner;
            }
        }
    }

    /// The lane at turn, and when another one is; none once all are at their end.
    #[inline(always)]
    pub fn next(&self) -> Option<(usize, u64)> {
        let (due, lane) = *self.matches.get(1)?;
        let mut at = self.lanes + lane as usize;
        let mut until = NEVER;
        while at > 1 {
            until = until.min(self.matches.get(at ^ 1)?.0);
            at /= 2;
        }
        (due != NEVER).then_some((lane as usize, until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The lane at turn is always one that is due first, the lowest of several, and `until` is when the next other one is.
        #[test]
        fn the_earliest_is_at_turn(sets in proptest::collection::vec((0..9usize, proptest::option::of(0..50u64)), 0..60), lanes in 1..9usize) {
            let mut turns = Turns::of(lanes);
            let mut due = vec![None; lanes];
            for (lane, when) in sets {
                let lane = lane % lanes;
                turns.set(lane, when);
                due[lane] = when;
                let first = (0..lanes).filter_map(|lane| Some((due[lane]?, lane))).min();
                let others = |at: usize| (0..lanes).filter(|lane| *lane != at).filter_map(|lane| due[lane]).min();
                prop_assert_eq!(turns.next(), first.map(|(_, at)| (at, others(at).unwrap_or(NEVER))));
            }
        }
    }

    /// An event at the very end of time is not taken for the end of its lane.
    #[test]
    fn an_event_at_the_end_of_time_has_its_turn() {
        let mut turns = Turns::of(2);
        turns.set(1, Some(u64::MAX));
        assert_eq!(turns.next(), Some((1, u64::MAX)));
        turns.set(1, None);
        assert_eq!(turns.next(), None);
    }
}
