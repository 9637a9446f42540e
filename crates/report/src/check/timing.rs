//! Compares a loop's period and deadline with the findings of `latido check`: lists what can delay the loop for longer than the deadline,
//! and the two commands that measure it.

use latido_model::{
    check::{Point, Severity},
    machine::{Layer, Machine, Model},
    units::Ns,
};

/// The point's name.
pub const NAME: &str = "your deadline";

/// The default period of `latido run wakeup`.
const USUAL: Ns = Ns::from_millis(1);

/// The shortest period that latido can measure.
const SHORTEST: Ns = Ns::from_micros(1);

/// The longest period for which `latido run quick` measures enough jobs: its cells take some 10 s.
const QUICK: Ns = Ns::from_millis(100);

/// How many jobs to measure if a minute has too few.
const JOBS: u64 = 100;

/// A longer deadline is, in most cases, longer than a kernel without preemption works for other tasks.
const LONG: Ns = Ns::from_millis(10);

/// The timing that a user's loop must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    period: Ns,
    deadline: Ns,
}

impl Timing {
    /// Builds it from the command line. Without a deadline, the period is the deadline. Without a period, the period is the deadline or
    /// [`USUAL`], whichever is longer.
    ///
    /// # Errors
    /// One of them is 0, or the period is too short for any program.
    pub fn of(period: Option<Ns>, deadline: Option<Ns>) -> Result<Option<Self>, String> {
        let Some(any) = period.or(deadline) else { return Ok(None) };
        let (period, deadline) = (period.unwrap_or(any.max(USUAL)), deadline.unwrap_or(any));
        for (flag, value) in [("--period", period), ("--deadline", deadline)] {
            if value.0 == 0 {
                return Err(format!("{flag} must be above 0"));
            }
        }
        if period < SHORTEST {
            return Err(format!(
                "--period {period}: write {SHORTEST} or longer; a reading of the clock takes that long"
            ));
        }
        Ok(Some(Self { period, deadline }))
    }

    /// Returns what can break this timing, as a point of the list.
    pub fn point(self, machine: &Machine, points: &[Point]) -> Point {
        let mut against: Vec<(Severity, String)> = Vec::new();
        let timers = points.iter().find(|point| point.check == "high-resolution timers");
        if timers.is_some_and(|point| point.severity == Severity::Unfit) && self.deadline < LONG {
            against.push((Severity::Unfit, "timers wait for the next tick, up to 10 ms".into()));
        }
        if let Some((name, us)) =
            machine.idle.deepest().filter(|(_, us)| us.saturating_mul(1_000) > self.deadline.0 / 2)
        {
            let text =
                format!("a CPU needs {us} µs to leave the idle state {name} (latido keeps it awake while it measures)");
            against.push((Severity::Warning, text));
        }
        let weak = |model: Model| matches!(model, Model::None | Model::Voluntary | Model::NoneOrVoluntary);
        if let Some(preemption) = machine.preemption.as_ref().filter(|one| weak(one.model) && self.deadline < LONG) {
            let text = format!(
                "with the preemption model {}, kernel code of other tasks can run for milliseconds",
                preemption.model
            );
            against.push((Severity::Warning, text));
        }
        if let Some(Layer::Present(name)) = &machine.hypervisor {
            against.push((
                Severity::Warning,
                format!("the host of this virtual machine ({name}) may stop it at any time"),
            ));
        }
        let severity = against.iter().map(|(severity, _)| *severity).max().unwrap_or(Severity::Ok);
        let reasons: Vec<&str> = against.iter().map(|(_, text)| text.as_str()).collect();
        let state = match reasons.is_empty() {
            true => format!("{self}: nothing here rules it out; a measurement decides"),
            false => format!("{self}: {}", reasons.join("; ")),
        };
        Point {
            check: NAME.into(),
            severity,
            state,
            why: "Each of these can delay a loop by more than this deadline.".into(),
            remedies: Vec::new(),
            decides: false,
            rules_out: None,
        }
    }

    /// Returns the commands that give an answer, to print under the headline.
    pub fn next(self) -> String {
        let timing = format!("--period {} --deadline {}", self.period, self.deadline);
        if self.period > QUICK {
            let jobs = Ns(self.period.0.saturating_mul(JOBS));
            let command = format!("sudo latido run wakeup {timing} --vary load=idle,stress-cpu -d {jobs}");
            return format!(
                "\n{self}: measure {JOBS} periods idle and {JOBS} under load, for PASS or FAIL:\n        $ {command}\n"
            );
        }
        format!(
            "\n{self}: measure for a minute, then for a night under your own load, for PASS or FAIL:\n        \
             $ sudo latido run quick {timing}\n        $ sudo latido run wakeup {timing} --load stress-cpu -d 8h\n"
        )
    }
}

impl std::fmt::Display for Timing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a period of {} with a deadline of {}", self.period, self.deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::machine::{Idle, IdleState};

    fn timing(period: u64, deadline: u64) -> Timing {
        Timing::of(Some(Ns::from_micros(period)), Some(Ns::from_micros(deadline))).unwrap().unwrap()
    }

    #[test]
    fn what_delays_longer_than_the_deadline_is_named() {
        let deep = IdleState { name: "C6".into(), exit_latency_us: Some(133), disabled: None };
        let machine = Machine { idle: Idle { states: vec![deep], ..Idle::default() }, ..Machine::default() };
        let point = timing(1_000, 100).point(&machine, &[]);
        assert_eq!(point.severity, Severity::Warning);
        assert!(point.state.contains("133 µs to leave the idle state C6"), "{}", point.state);
        let point = timing(10_000, 10_000).point(&machine, &[]);
        assert_eq!((point.severity, point.state.contains("nothing here rules it out")), (Severity::Ok, true));
        let timers = Point { check: "high-resolution timers".into(), severity: Severity::Unfit, ..point };
        assert_eq!(timing(1_000, 1_000).point(&Machine::default(), &[timers]).severity, Severity::Unfit);
    }

    #[test]
    fn a_period_alone_is_its_deadline() {
        assert_eq!(Timing::of(None, None), Ok(None));
        let one = Timing::of(Some(Ns::from_millis(1)), None).unwrap().unwrap();
        assert!(one.next().contains("--period 1ms --deadline 1ms"), "{}", one.next());
        let one = Timing::of(None, Some(Ns::from_micros(100))).unwrap().unwrap();
        assert!(one.next().contains("--period 1ms --deadline 100us"), "{}", one.next());
        let one = Timing::of(Some(Ns::from_secs(3_600)), None).unwrap().unwrap();
        assert!(one.next().contains("--period 1h --deadline 1h --vary load=idle,stress-cpu -d 100h"), "{}", one.next());
        assert!(Timing::of(Some(Ns(1)), None).unwrap_err().contains("write 1us or longer"));
        assert!(Timing::of(Some(Ns(0)), None).unwrap_err().contains("--period must be above 0"));
    }
}
