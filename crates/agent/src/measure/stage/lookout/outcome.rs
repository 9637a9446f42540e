//! Decides how a measurement ended, from what its threads met.

use latido_model::record::{Outcome, ThrottleEvidence};
use std::collections::BTreeMap;

/// Notes that a thread met a sample above `stop_on`. Of several samples, the first in time ended the cell.
pub fn stopped(outcome: &mut Outcome, value_ns: i64, cpu: Option<u32>, at_ns: u64) {
    let before = matches!(outcome, Outcome::Stopped { at_ns: Some(earlier), .. } if *earlier <= at_ns);
    if !before {
        *outcome = Outcome::Stopped { value_ns, cpu, at_ns: Some(at_ns) };
    }
}

/// Returns the final outcome. An interruption after the end of the last loop does not count: the loops had no order to stop. A sample above
/// `stop_on` takes precedence over an interruption.
pub fn concluded(outcome: Outcome, interrupted: bool, loops_were_told: bool) -> Outcome {
    match outcome {
        Outcome::Complete if interrupted && loops_were_told => Outcome::Interrupted,
        other => other,
    }
}

/// Adds a thread's facts about the kernel's throttle. A value that no thread reports stays absent.
pub fn throttled(throttle: &mut ThrottleEvidence, facts: &BTreeMap<String, i64>) {
    for (total, fact) in [(&mut throttle.throttled, "throttled"), (&mut throttle.throttled_ns, "throttled_ns")] {
        if let Some(value) = facts.get(fact) {
            *total = Some(total.unwrap_or(0).saturating_add(value.unsigned_abs()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prelude::*, test_runner::RngSeed};

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(28), failure_persistence: None, ..ProptestConfig::default() })]

        /// latido names the earliest sample, whatever the order of the threads. Of two at the same time it names that of the first thread.
        #[test]
        fn the_first_sample_in_time_ended_the_cell(times in prop::collection::vec(0u64..6, 0..6)) {
            let mut outcome = Outcome::Complete;
            for (thread, at_ns) in times.iter().enumerate() {
                stopped(&mut outcome, thread as i64, Some(0), *at_ns);
            }
            let first = times.iter().enumerate().min_by_key(|(thread, at)| (**at, *thread));
            let expected = first.map_or(Outcome::Complete, |(thread, at)| Outcome::Stopped {
                value_ns: thread as i64,
                cpu: Some(0),
                at_ns: Some(*at),
            });
            prop_assert_eq!(outcome, expected);
        }
    }

    #[test]
    fn a_measurement_is_interrupted_where_its_loops_were_told() {
        let of = |interrupted, told| concluded(Outcome::Complete, interrupted, told);
        assert_eq!(of(true, true), Outcome::Interrupted);
        assert_eq!([of(true, false), of(false, true), of(false, false)], [(); 3].map(|()| Outcome::Complete));
        let stop = Outcome::Stopped { value_ns: 9, cpu: None, at_ns: Some(1) };
        assert_eq!(concluded(stop.clone(), true, true), stop);
    }

    #[test]
    fn what_no_thread_says_of_the_throttle_stays_unknown() {
        let mut throttle = ThrottleEvidence::default();
        throttled(&mut throttle, &BTreeMap::new());
        assert_eq!((throttle.throttled, throttle.throttled_ns), (None, None));
        for ns in [50, 7] {
            throttled(&mut throttle, &BTreeMap::from([("throttled".into(), 1), ("throttled_ns".into(), ns)]));
        }
        assert_eq!((throttle.throttled, throttle.throttled_ns), (Some(2), Some(57)));
    }
}
