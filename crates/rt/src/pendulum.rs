//! The demonstrator: a periodic thread balances a simulated inverted pendulum, and being late lets it swing.
//!
//! A mass on a massless rod, driven by a torque at its pivot: `a = G/L sin(x) + u + pushes`. The controller sees angle
//! and speed at each actuation, chooses `u = -(P x + D v)` within the motor's limits and holds it until the next. The
//! plant knows nothing of the schedule: it moves through the time that really passed since the last actuation, so that
//! a torque which is held too long overshoots. Pushes come at fixed times from a seed.

use crate::{
    recorder::Recorder,
    wakeup::{PeriodicTask, Phase, Schedule, Stretch, Wakeups, Walked, drive, sweep},
};
use core::sync::atomic::AtomicBool;
use latido_sys::clock::Clock;

/// Gravity over the length of a rod of 1 cm, 1/s²: it falls fast, so that a period of 1 ms is needed, not luxury.
const GRAVITY: f64 = 9.81 / 0.01;
/// The controller's answer to an angle, 1/s²: with [`GRAVITY`] a closed loop of about 100 rad/s.
const PROPORTIONAL: f64 = 11_000.0;
/// Its answer to a speed, 1/s: damping ratio 0.8.
const DERIVATIVE: f64 = 160.0;
/// The motor's limit, rad/s².
const TORQUE: f64 = 3_000.0;
/// The largest push, rad/s.
const PUSH: f64 = 5.0;
/// Time between two pushes.
const PUSH_NS: u64 = 10_000_000;
/// The longest step of the integration.
const STEP_NS: u64 = 200_000;
/// A pendulum that leans this far has fallen, rad: 60 degrees.
const FALLEN: f64 = core::f64::consts::FRAC_PI_3;
/// The same in microradians, as it is recorded.
pub const FALLEN_URAD: i64 = 1_047_198;

/// The pendulum and its controller.
#[derive(Clone, Copy, Debug)]
pub struct Pendulum {
    seed: u64,
    /// Time of its life, in ns.
    age: u64,
    /// Angle from upright, rad.
    angle: f64,
    /// Angular speed, rad/s.
    speed: f64,
    /// The acceleration that the motor gives, rad/s².
    torque: f64,
    fallen: bool,
}

impl Pendulum {
    /// Upright and at rest, pushed as this seed says.
    pub fn new(seed: u64) -> Self {
        Self { seed, age: 0, angle: 0.0, speed: 0.0, torque: 0.0, fallen: false }
    }

    /// Moves through so many ns with the torque held, then lets the controller choose the next one. The angle in
    /// microradians, or `None` if it had fallen before.
    pub fn actuate(&mut self, passed_ns: u64) -> Option<i64> {
        if self.fallen {
            return None;
        }
        let end = self.age.saturating_add(passed_ns);
        while self.age < end && !self.fallen {
            let push_at = self.age.checked_div(PUSH_NS).unwrap_or(0).saturating_add(1).saturating_mul(PUSH_NS);
            let next = self.age.saturating_add(STEP_NS).min(end).min(push_at);
            self.swing(next.saturating_sub(self.age) as f64 * 1e-9);
            self.age = next;
            if next == push_at {
                self.speed += PUSH * unit(self.seed, push_at);
            }
        }
        self.torque = (-PROPORTIONAL * self.angle - DERIVATIVE * self.speed).clamp(-TORQUE, TORQUE);
        Some((self.angle * 1e6) as i64)
    }

    /// One step of semi-implicit Euler, stable at a hundredth of the loop's own time.
    fn swing(&mut self, seconds: f64) {
        self.speed += (GRAVITY * sine(self.angle) + self.torque) * seconds;
        self.angle += self.speed * seconds;
        if self.angle.abs() >= FALLEN {
            self.angle = FALLEN.copysign(self.angle);
            self.fallen = true;
        }
    }
}

/// The sine of an angle up to [`FALLEN`], to 10^-6: Taylor's series. (A `no_std` crate has no other.)
fn sine(x: f64) -> f64 {
    let square = x * x;
    x * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0))))
}

/// A number from -1 to 1 that depends on seed and time only (SplitMix64's finaliser).
fn unit(seed: u64, at: u64) -> f64 {
    let mut z = seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) as i64 as f64 / i64::MAX as f64
}

/// The pendulum as the loop moves it, with the recorder of its angles.
struct Balance<'a> {
    pendulum: Pendulum,
    /// The last actuation.
    before: u64,
    angles: &'a mut Recorder,
}

impl PeriodicTask for Balance<'_> {
    #[inline(always)]
    fn step(&mut self, now: u64) {
        let passed = now.saturating_sub(self.before);
        self.before = now;
        if let Some(angle) = self.pendulum.actuate(passed) {
            let open = self.angles.begin();
            self.angles.record_as(angle.saturating_abs(), angle, now);
            self.angles.commit(open);
        }
    }
}

/// Balances on CLOCK_MONOTONIC until the schedule's end: how late each actuation was into `lateness`, the angle that it
/// found into `angles` (its magnitude in the histogram, itself in the ordered samples), none after the fall.
pub fn run(
    schedule: &Schedule,
    seed: u64,
    stop: &AtomicBool,
    lateness: &mut Recorder,
    angles: &mut Recorder,
) -> Wakeups {
    let clock = Clock::Monotonic;
    let outcome = drive(
        schedule,
        lateness,
        None,
        || clock.now(),
        |pass, lateness, _| {
            // Warm-up and measurement each begin upright.
            angles.reset();
            angles.start_at(pass.first());
            let mut balance = Balance { pendulum: Pendulum::new(seed), before: clock.now(), angles: &mut *angles };
            monotonic(pass, stop, lateness, &mut balance)
        },
    );
    angles.finish(outcome.ended_ns);
    outcome
}

/// Runs every cold path once and forgets it, as [`crate::wakeup::rehearse`].
pub fn rehearse(lateness: &mut Recorder, angles: &mut Recorder) {
    crate::wakeup::rehearse(&Clock::Monotonic.into(), lateness, None);
    angles.reset();
    angles.rehearse();
    let stop = AtomicBool::new(false);
    let now = Clock::Monotonic.now();
    let schedule =
        Schedule { start_ns: now, period_ns: 20_000, deadline_ns: 20_000, warmup: 2, slots: 20, phase: Phase::Fixed };
    run(&schedule, 1, &stop, lateness, angles);
    for recorder in [lateness, angles] {
        recorder.reset();
    }
}

/// The loop.
#[inline(never)]
fn monotonic(pass: &Stretch, stop: &AtomicBool, lateness: &mut Recorder, balance: &mut Balance<'_>) -> Walked {
    sweep(&Clock::Monotonic, pass.even(), pass, stop, lateness, None, balance)
}

#[cfg(test)]
mod tests;
