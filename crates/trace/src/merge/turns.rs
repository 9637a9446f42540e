//! Decides which CPU is next: a tournament between CPUs, in which the earlier time wins each match.

/// No event is due at the end of time: a lane with this time has ended.
const NEVER: u64 = u64::MAX;

/// When a lane is due, and its number.
type Due = (u64, u32);

/// The lanes by due time. Only the winner's time changes: the winner then plays again against the lanes that lost on its way.
#[derive(Debug)]
pub(super) struct Turns {
    /// A heap: the winner of match `n` goes on to match `n / 2`, and the loser stays.
    losers: Vec<Due>,
    winner: Due,
}

impl Turns {
    /// Builds the tournament from the due times of the lanes; `None` means that a lane has ended.
    pub fn of(lanes: impl IntoIterator<Item = Option<u64>>) -> Self {
        let mut round: Vec<Due> = (0..).zip(lanes).map(|(lane, due)| (known(due), lane)).collect();
        let all = round.len().next_power_of_two().max(2);
        round.extend((round.len()..all).map(|lane| (NEVER, lane as u32)));
        let mut losers = Vec::new();
        while round.len() > 1 {
            // Earlier rounds are after later ones.
            let (won, lost): (Vec<Due>, Vec<Due>) = round.chunks_exact(2).filter_map(decided).unzip();
            losers.splice(0..0, lost);
            round = won;
        }
        // Match 1 is the last match; no match is before it.
        losers.insert(0, (NEVER, 0));
        Self { losers, winner: round.first().copied().unwrap_or((NEVER, 0)) }
    }

    /// Sets when the current lane is due again, or that it has ended.
    #[inline(always)]
    pub fn again(&mut self, due: Option<u64>) {
        let mut winner = (known(due), self.winner.1);
        let mut at = (self.losers.len() + winner.1 as usize) / 2;
        while at > 0
            && let Some(loser) = self.losers.get_mut(at)
        {
            // At equal times the lane with the lower number goes first.
            if *loser < winner {
                std::mem::swap(loser, &mut winner);
            }
            at /= 2;
        }
        self.winner = winner;
    }

    /// Returns the current lane, and when another lane is due; `None` once all lanes have ended.
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

/// Returns a due time that differs from the end of a lane, even for an event at the very end of time.
#[inline(always)]
fn known(due: Option<u64>) -> u64 {
    due.map_or(NEVER, |due| due.min(NEVER - 1))
}

/// Returns the winner and the loser of a match.
fn decided(pair: &[Due]) -> Option<(Due, Due)> {
    let [one, other] = pair else { return None };
    Some(if other < one { (*other, *one) } else { (*one, *other) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The current lane must always be the lane that is due first, the lowest of several, and `until` must be when the next other lane
        /// is due.
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

    /// An event at the very end of time must not be mistaken for the end of its lane.
    #[test]
    fn an_event_at_the_end_of_time_has_its_turn() {
        let mut turns = Turns::of([None, Some(u64::MAX)]);
        assert_eq!(turns.next(), Some((1, u64::MAX)));
        turns.again(None);
        assert_eq!(turns.next(), None);
    }
}
