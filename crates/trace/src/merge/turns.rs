//! Whose turn it is: a tournament between CPUs, in which each match is decided by the earlier time.

/// No event is due at the end of time: a lane that has this is at its end.
const NEVER: u64 = u64::MAX;

/// When a lane is due, and which one it is.
type Due = (u64, u32);

/// The lanes by when they are due.
#[derive(Debug)]
pub(super) struct Turns {
    /// A heap's shape: those that meet in match `n` are the winners of matches `2n` and `2n + 1`, in the last ones lanes.
    matches: Vec<[Due; 2]>,
    /// Who won match 1.
    first: Due,
}

impl Turns {
    /// Of so many lanes, none of which is due.
    pub fn of(lanes: usize) -> Self {
        let half = lanes.next_power_of_two().max(2) / 2;
        let lane = |at: usize| (NEVER, (2 * at.saturating_sub(half)) as u32);
        Self { matches: (0..2 * half).map(|at| [lane(at), (NEVER, lane(at).1 + 1)]).collect(), first: (NEVER, 0) }
    }

    /// A lane is due then, or at its end.
    #[inline(always)]
    pub fn set(&mut self, lane: usize, due: Option<u64>) {
        let mut winner = (due.map_or(NEVER, |due| due.min(NEVER - 1)), lane as u32);
        let mut at = self.matches.len() / 2 + lane / 2;
        let mut side = lane;
        while let Some([left, right]) = self.matches.get_mut(at) {
            *if side & 1 == 0 { &mut *left } else { &mut *right } = winner;
            winner = if right.0 < left.0 { *right } else { *left };
            if at == 1 {
                break;
            }
            side = at;
            at /= 2;
        }
        self.first = winner;
    }

    /// The lane at turn, and when another one is; none once all are at their end.
    #[inline(always)]
    pub fn next(&self) -> Option<(usize, u64)> {
        let (due, lane) = self.first;
        if due == NEVER {
            return None;
        }
        let mut side = lane as usize;
        let mut at = self.matches.len() / 2 + side / 2;
        let mut until = NEVER;
        while let Some([left, right]) = self.matches.get(at) {
            until = until.min(if side & 1 == 0 { right.0 } else { left.0 });
            if at <= 1 {
                break;
            }
            side = at;
            at /= 2;
        }
        Some((lane as usize, until))
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
