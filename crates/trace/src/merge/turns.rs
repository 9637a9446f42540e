//! Whose turn it is: a tournament between CPUs, in which each match is decided by the earlier time.

/// No event is due at the end of time: a lane that has this is at its end.
const NEVER: u64 = u64::MAX;

/// When a lane is due, and which one it is.
type Due = (u64, u32);

/// The lanes by when they are due. Only the winner's time changes: it plays again against those that lost on its way.
#[derive(Debug)]
pub(super) struct Turns {
    /// A heap's shape: the winner of match `n` goes on to match `n / 2`, and who lost it stays.
    losers: Vec<Due>,
    winner: Due,
}

impl Turns {
    /// Of lanes by when each is due; none of one at its end.
    pub fn of(lanes: impl IntoIterator<Item = Option<u64>>) -> Self {
        let mut round: Vec<Due> = (0..).zip(lanes).map(|(lane, due)| (known(due), lane)).collect();
        let all = round.len().next_power_of_two().max(2);
        round.extend((round.len()..all).map(|lane| (NEVER, lane as u32)));
        let mut losers = Vec::new();
        while round.len() > 1 {
            // Earlier rounds lie behind later ones.
            let (won, lost): (Vec<Due>, Vec<Due>) = round.chunks_exact(2).filter_map(decided).unzip();
            losers.splice(0..0, lost);
            round = won;
        }
        // Match 1 is the last one; there is none before it.
        losers.insert(0, (NEVER, 0));
        Self { losers, winner: round.first().copied().unwrap_or((NEVER, 0)) }
    }

    /// The lane at turn is due again then, or at its end.
    #[inline(always)]
    pub fn again(&mut self, due: Option<u64>) {
        let mut winner = (known(due), self.winner.1);
        let mut at = (self.losers.len() + winner.1 as usize) / 2;
        while at > 0
            && let Some(loser) = self.losers.get_mut(at)
        {
            // Of two at the same time the lower one goes first.
            if *loser < winner {
                std::mem::swap(loser, &mut winner);
            }
            at /= 2;
        }
        self.winner = winner;
    }

    /// The lane at turn, and when another one is; none once all are at their end.
    #[inline(always)]
    pub fn next(&self) -> Option<(usize, u64)> {
        let (due, lane) = self.winner;
        if due == NEVER {
            return None;
        }
        let mut at = (self.losers.len() + lane as usize) / 2;
        let mut until = NEVER;
        while at > 0
            && let Some(loser) = self.losers.get(at)
        {
            until = until.min(loser.0);
            at /= 2;
        }
        Some((lane as usize, until))
    }
}

/// An event at the very end of time is due all the same.
#[inline(always)]
fn known(due: Option<u64>) -> u64 {
    due.map_or(NEVER, |due| due.min(NEVER - 1))
}

/// Who wins a match, and who loses it.
fn decided(pair: &[Due]) -> Option<(Due, Due)> {
    let [one, other] = pair else { return None };
    Some(if other < one { (*other, *one) } else { (*one, *other) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The lane at turn is always one that is due first, the lowest of several, and `until` is when the next other one is.
        #[test]
        fn the_earliest_is_at_turn(
            first in proptest::collection::vec(proptest::option::of(0..50u64), 0..9),
            then in proptest::collection::vec(proptest::option::of(0..50u64), 0..60),
        ) {
            let mut due = first.clone();
            let mut turns = Turns::of(first);
            for when in then {
                let first = (0..due.len()).filter_map(|lane| Some((due[lane]?, lane))).min();
                let others = |at: usize| (0..due.len()).filter(|lane| *lane != at).filter_map(|lane| due[lane]).min();
                prop_assert_eq!(turns.next(), first.map(|(_, at)| (at, others(at).unwrap_or(NEVER))));
                let Some((_, at)) = first else { break };
                due[at] = when;
                turns.again(when);
            }
        }
    }

    /// An event at the very end of time is not taken for the end of its lane.
    #[test]
    fn an_event_at_the_end_of_time_has_its_turn() {
        let mut turns = Turns::of([None, Some(u64::MAX)]);
        assert_eq!(turns.next(), Some((1, u64::MAX)));
        turns.again(None);
        assert_eq!(turns.next(), None);
    }
}
