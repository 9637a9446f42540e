use super::*;
use crate::recorder::{self, Config};
use proptest::prelude::*;

/// Returns the largest angle during `actuations` actuations, with the times between them taken in turn from `times_ns`, and whether the
/// pendulum fell.
fn balance(seed: u64, times_ns: &[u64], actuations: usize) -> (i64, bool) {
    let mut pendulum = Pendulum::new(seed);
    let angles = times_ns.iter().cycle().take(actuations).map_while(|passed| pendulum.actuate(*passed));
    let largest = angles.map(i64::abs).max().unwrap_or(0);
    (largest, pendulum.fallen)
}

#[test]
fn the_sine_is_one() {
    for tenth in -10..=10 {
        let x = FALLEN * f64::from(tenth) / 10.0;
        assert!((sine(x) - x.sin()).abs() < 1e-6, "{x}");
    }
    assert_eq!((FALLEN * 1e6).round() as i64, FALLEN_URAD);
}

proptest! {
    /// With punctual actuations the pendulum stays within 6 degrees for 20 s, whatever the seed of the pushes.
    #[test]
    fn on_time_it_stands(seed: u64) {
        let (largest, fallen) = balance(seed, &[1_000_000], 20_000);
        prop_assert!(!fallen && largest < 105_000, "{largest} urad");
    }

    /// A torque held for 60 ms makes the pendulum fall, whatever the seed; after the fall there are no more angles.
    #[test]
    fn a_long_absence_throws_it_over(seed: u64) {
        let (largest, fallen) = balance(seed, &[60_000_000], 100);
        prop_assert!(fallen && largest >= FALLEN_URAD - 1, "{largest} urad");
        let mut pendulum = Pendulum::new(seed);
        let angles = (0..100).map_while(|_| pendulum.actuate(60_000_000)).count();
        prop_assert!(angles < 100);
    }

    /// The plant depends on time, not on steps: splitting the time of an actuation into the steps of the integration changes nothing while
    /// the torque is the same.
    #[test]
    fn pushes_depend_on_time_alone(seed: u64, at in 1u64..1_000, steps in 1u64..200) {
        let push = unit(seed, at * PUSH_NS);
        prop_assert!((-1.0..=1.0).contains(&push));
        prop_assert_ne!(push, unit(seed, (at + 1) * PUSH_NS));
        // Upright and at rest, the pendulum has only the speed of the first push. The controller then chooses a torque.
        let mut whole = Pendulum::new(seed);
        whole.actuate(PUSH_NS);
        prop_assert_eq!((whole.angle, whole.speed), (0.0, PUSH * unit(seed, PUSH_NS)));
        let mut split = whole;
        for _ in 0..steps {
            split.actuate(STEP_NS);
            split.torque = whole.torque;
        }
        whole.actuate(steps * STEP_NS);
        let state = |pendulum: Pendulum| (pendulum.age, pendulum.angle, pendulum.speed, pendulum.fallen);
        prop_assert_eq!(state(split), state(whole));
    }
}

/// Lateness has a cost: with every tenth actuation 9 ms late the pendulum swings farther for nine seeds out of ten.
#[test]
fn being_late_makes_it_swing() {
    let late = [&[1_000_000; 9][..], &[9_000_000]].concat();
    let farther =
        (0..100).filter(|seed| balance(*seed, &late, 2_000).0 > balance(*seed, &[1_000_000], 9_000).0).count();
    assert!(farther >= 90, "{farther} of 100");
}

/// Every actuation is a slot, and each has an angle until the pendulum falls. The ordered samples keep the sign.
#[test]
fn a_real_run_counts_slots_and_angles() {
    let keep = Config { ordered: 100, ..Config::default() };
    let (mut lateness, late) = recorder::new(&Config { periodic: true, ..keep.clone() }).unwrap();
    let (mut angles, angle) = recorder::new(&keep).unwrap();
    rehearse(&mut lateness, &mut angles);
    let schedule =
        Schedule { start_ns: 0, period_ns: 500_000, deadline_ns: 500_000, warmup: 5, slots: 60, phase: Phase::Fixed };
    // The first three pushes of this seed are negative.
    let outcome = run(&schedule, 8, &AtomicBool::new(false), &mut lateness, &mut angles);
    let (ordered_late, ordered) = (late.ordered().unwrap(), angle.ordered().unwrap());
    let (late, _) = late.finish(lateness);
    let (angle, _) = angle.finish(angles);
    assert_eq!(outcome.slots.met + outcome.slots.late + outcome.slots.missed, 60);
    assert_eq!(late.plain.count, outcome.slots.met + outcome.slots.late);
    assert_eq!((angle.plain.count, ordered.len() as u64), (late.plain.count, late.plain.count));
    assert_eq!(ordered_late.iter().map(|s| s.value).max(), late.plain.max);
    assert_eq!(ordered.iter().map(|s| s.value.abs()).max(), angle.plain.max);
    assert!(ordered.iter().any(|s| s.value < 0), "{ordered:?}");
    assert!(ordered.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
}
