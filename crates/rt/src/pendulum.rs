//! A demonstration: a periodic thread balances a simulated inverted pendulum, and lateness makes it swing.
//!
//! The plant is a mass on a massless rod, driven by a torque at its pivot: `a = G/L sin(x) + u + pushes`. At each actuation the controller
//! reads angle and speed, chooses `u = -(P x + D v)` within the motor's limits and keeps it until the next actuation. The plant does not
//! depend on the schedule: it moves through the time that really passed since the last actuation, so that a torque overshoots if the
//! controller keeps it too long. Pushes come at fixed times; the seed determines them.

use crate::{
    recorder::Recorder,
    wakeup::{PeriodicTask, Phase, Schedule, Stretch, Wakeups, Walked, drive, sweep},
};
use core::sync::atomic::AtomicBool;
use latido_sys::clock::Clock;

/// Gravity divided by the length of the rod, 1 cm, in 1/s². So short a pendulum falls so fast that it needs a period of 1 ms.
const GRAVITY: f64 = 9.81 / 0.01;
/// The controller's gain for the angle, 1/s². With [`GRAVITY`] the closed loop has about 100 rad/s.
const PROPORTIONAL: f64 = 11_000.0;
/// The controller's gain for the speed, 1/s: damping ratio 0.8.
const DERIVATIVE: f64 = 160.0;
/// The motor's limit, rad/s².
const TORQUE: f64 = 3_000.0;
/// The largest push, rad/s.
const PUSH: f64 = 5.0;
/// Time between two pushes, in ns.
const PUSH_NS: u64 = 10_000_000;
/// The longest step of the integration, in ns.
const STEP_NS: u64 = 200_000;
/// At this angle the pendulum has fallen, in rad: 60 degrees.
const FALLEN: f64 = core::f64::consts::FRAC_PI_3;
/// The angle at which the pendulum has fallen, in microradians, the unit of the recorder.
pub const FALLEN_URAD: i64 = 1_047_198;

/// The pendulum and its controller.
#[derive(Clone, Copy, Debug)]
pub struct Pendulum {
    seed: u64,
    /// Simulated time since the start, in ns.
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
    /// Creates an upright pendulum at rest; `seed` determines the pushes.
    pub fn new(seed: u64) -> Self {
        Self { seed, age: 0, angle: 0.0, speed: 0.0, torque: 0.0, fallen: false }
    }

    /// Simulates `passed_ns` nanoseconds with the current torque, then lets the controller choose the next one. Returns the angle in
    /// microradians, or `None` if the pendulum had already fallen.
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

    /// Makes one step of semi-implicit Euler. A step (at most 0.2 ms) is short compared with the time constant of the closed loop (about 10
    /// ms), so the integration is stable.
    fn swing(&mut self, seconds: f64) {
        self.speed += (GRAVITY * sine(self.angle) + self.torque) * seconds;
        self.angle += self.speed * seconds;
        if self.angle.abs() >= FALLEN {
            self.angle = FALLEN.copysign(self.angle);
            self.fallen = true;
        }
    }
}

/// Returns the sine of an angle up to [`FALLEN`], to 10^-6, with Taylor's series: a `no_std` crate has no sine.
fn sine(x: f64) -> f64 {
    let square = x * x;
    x * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0))))
}

/// Returns a number from -1 to 1 that depends on seed and time only (SplitMix64's finaliser).
fn unit(seed: u64, at: u64) -> f64 {
    let mut z = seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) as i64 as f64 / i64::MAX as f64
}

/// The pendulum as the loop moves it, with the recorder of its angles.
struct Balance<'a> {
    pendulum: Pendulum,
    /// The time of the last actuation, in ns.
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

/// Balances on CLOCK_MONOTONIC until the schedule's end. Records in `lateness` how late each actuation was, and in `angles` the angle
/// before it: its magnitude in the histogram, the signed angle in the ordered samples. After the fall it records no more angles.
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
            // Warm-up and measurement each start with the pendulum upright.
            angles.reset();
            angles.start_at(pass.first());
            let mut balance = Balance { pendulum: Pendulum::new(seed), before: clock.now(), angles: &mut *angles };
            monotonic(pass, stop, lateness, &mut balance)
        },
    );
    angles.finish(outcome.ended_ns);
    outcome
}

/// Runs every cold path once and clears the recorders, like [`crate::wakeup::rehearse`].
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
