//! How long the host waits for an agent, and what the user's Ctrl-C requests. The caller passes in the clock.

use anyhow::{Error, anyhow};
use std::time::Duration;

/// How long an agent may take for an immediate stop, including restoring the machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What the user requests for the running cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Stop and store what is measured so far.
    InOrder,
    /// Stop and store nothing.
    AtOnce,
}

/// The host's state while it listens. All times are of one clock.
#[derive(Clone, Debug)]
pub struct Patience {
    /// The longest time without a message from the agent.
    silence: Duration,
    heard: Duration,
    /// How many times the user requested the end.
    asked: usize,
    /// When the user requested an immediate end.
    given_up: Option<Duration>,
}

impl Patience {
    /// Starts the clock: the last message arrived `now`.
    pub fn new(silence: Duration, now: Duration) -> Self {
        Self { silence, heard: now, asked: 0, given_up: None }
    }

    /// Returns what the host must now request from the agent, if the user pressed Ctrl-C again. First Ctrl-C: finish and store what is
    /// measured; second: stop now. Both restore the settings.
    pub fn asked_for(&mut self, wanted: usize, now: Duration) -> Option<Stop> {
        if wanted <= self.asked {
            return None;
        }
        self.asked = wanted;
        if wanted == 1 {
            return Some(Stop::InOrder);
        }
        self.given_up.get_or_insert(now);
        Some(Stop::AtOnce)
    }

    /// Returns how many times the user requested the end.
    pub fn asked(&self) -> usize {
        self.asked
    }

    /// Notes that a message arrived.
    pub fn heard(&mut self, now: Duration) {
        self.heard = now;
    }

    /// Returns whether an agent took too long for an immediate stop, whatever messages it sends meanwhile.
    pub fn is_over(&self, now: Duration) -> bool {
        self.given_up.is_some_and(|since| now.saturating_sub(since) > PATIENCE)
    }

    /// Returns whether an agent was silent for too long.
    pub fn is_silent(&self, now: Duration) -> bool {
        now.saturating_sub(self.heard) > self.silence
    }

    /// The error for an agent that did not stop.
    pub fn refused(&self) -> Error {
        anyhow!("the agent did not stop within {} s, so latido ended it", PATIENCE.as_secs())
    }

    /// The error for an agent that was silent.
    pub fn deaf(&self) -> Error {
        anyhow!("the agent sent nothing for {} s, so latido ended it", self.silence.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prelude::*, test_runner::RngSeed};

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn each_ctrl_c_is_passed_on_once() {
        let mut patience = Patience::new(s(120), s(0));
        let asked = [0, 1, 1, 2, 2, 3].map(|wanted| patience.asked_for(wanted, s(1)));
        assert_eq!(asked, [None, Some(Stop::InOrder), None, Some(Stop::AtOnce), None, Some(Stop::AtOnce)]);
        assert_eq!(Patience::new(s(120), s(0)).asked_for(2, s(0)), Some(Stop::AtOnce), "two that came together");
    }

    /// An agent that sends messages but does not stop is ended one minute after the second Ctrl-C, not after the third.
    #[test]
    fn an_agent_has_a_minute_to_stop_at_once() {
        let mut patience = Patience::new(s(120), s(0));
        patience.asked_for(1, s(10));
        assert!(!patience.is_over(s(10_000)), "an end in order takes as long as it takes");
        patience.asked_for(2, s(20));
        patience.asked_for(3, s(70));
        patience.heard(s(80));
        assert!(!patience.is_over(s(80)) && patience.is_over(s(81)));
        assert_eq!(patience.refused().to_string(), "the agent did not stop within 60 s, so latido ended it");
    }

    #[test]
    fn silence_counts_from_the_last_word() {
        let mut patience = Patience::new(Duration::from_millis(1500), s(3));
        assert!(!patience.is_silent(Duration::from_millis(4500)) && patience.is_silent(Duration::from_millis(4501)));
        patience.heard(s(5));
        assert!(!patience.is_silent(s(6)) && patience.is_silent(s(7)));
        assert_eq!(patience.deaf().to_string(), "the agent sent nothing for 1.5 s, so latido ended it");
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(28), failure_persistence: None, ..ProptestConfig::default() })]

        /// However often and whenever the user requests the end, latido requests nothing twice, the immediate stop comes last, and patience
        /// ends one minute after its first request.
        #[test]
        fn an_end_is_asked_for_in_order(presses in prop::collection::vec((0u64..100, 0usize..3), 0..12)) {
            let mut patience = Patience::new(s(120), s(0));
            let (mut now, mut wanted, mut at_once) = (0, 0, None);
            let mut asked = Vec::new();
            for (after, more) in presses {
                (now, wanted) = (now + after, wanted + more);
                if wanted > 1 {
                    at_once = at_once.or(Some(now));
                }
                asked.extend(patience.asked_for(wanted, s(now)));
                prop_assert_eq!(patience.is_over(s(now)), at_once.is_some_and(|since| now - since > 60));
                prop_assert_eq!(patience.asked(), wanted);
            }
            prop_assert!(asked.len() <= wanted);
            let first = asked.iter().position(|stop| *stop == Stop::AtOnce).unwrap_or(asked.len());
            prop_assert!(first <= 1 && asked[first..].iter().all(|stop| *stop == Stop::AtOnce));
        }
    }
}
