//! When the test kills a process: at a step that latido passes, or at a time.

use super::tune_kill::Victim;
use crate::common::{World, processes, until};
use rand::{Rng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::Path,
    process::Child,
    thread::sleep,
    time::{Duration, Instant},
};

/// How many points each role passed.
#[derive(Clone, Debug, Default)]
pub struct Points(BTreeMap<String, u32>);

impl Points {
    /// Reads the points that `LATIDO_POINTS` wrote to this file, and removes the file.
    pub fn taken(file: &Path) -> Self {
        let mut points = Self::default();
        for role in fs::read_to_string(file).unwrap_or_default().lines() {
            *points.0.entry(role.into()).or_default() += 1;
        }
        let _ = fs::remove_file(file);
        points
    }

    fn of(&self, role: &str) -> u32 {
        self.0.get(role).copied().unwrap_or(0)
    }
}

/// A moment of an action.
pub enum Moment {
    /// A process of this role is stopped at this point of its run.
    Step(&'static str, u32),
    /// This long after the start, and then this long after the process to be killed exists.
    Time(Duration, Duration),
}

impl Moment {
    /// Draws one of the points of a role that exists whenever the victim does.
    pub fn step(chance: &mut ChaCha8Rng, victim: Victim, points: &Points) -> Self {
        let roles: &[&'static str] = match victim {
            Victim::Apply | Victim::Undo => &["host", "agent"],
            Victim::Host => &["host", "agent", "measure"],
            Victim::Supervisor | Victim::Both => &["agent"],
            Victim::Measure => &["measure"],
        };
        let there: Vec<&'static str> = roles.iter().copied().filter(|role| points.of(role) > 0).collect();
        let role = *there.choose(chance).unwrap_or_else(|| panic!("{victim:?} passes no points: {points:?}"));
        Self::Step(role, chance.random_range(1..=points.of(role)))
    }

    /// Draws any time of an action that takes about `length`.
    pub fn time(chance: &mut ChaCha8Rng, length: Duration) -> Self {
        let moment = length.mul_f64(chance.random());
        // The delay counts from the birth of the process, so that kills hit more than its first steps.
        let longest = [0.0, 0.02, 0.3].choose(chance).unwrap();
        Self::Time(moment, Duration::from_secs_f64(*longest * chance.random::<f64>()))
    }

    /// The variables that the action needs in its environment.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Step(role, number) => vec![("LATIDO_FAULT", format!("{role}:{number}:stop"))],
            Self::Time(..) => Vec::new(),
        }
    }

    /// Waits for the moment, or for the end of the action. Returns the process that is stopped.
    pub fn reached(&self, child: &mut Child, started: Instant, world: &World) -> Option<i32> {
        match self {
            Self::Step(..) => until(&format!("a process that stands still {self}"), || {
                let over = child.try_wait().unwrap().is_some();
                let stands = |pid: &i32| processes::state_of(Path::new(&format!("/proc/{pid}"))) == Some('T');
                let stopped = world.alive().into_iter().map(|(pid, _)| pid).find(stands);
                (over || stopped.is_some()).then_some(stopped)
            }),
            Self::Time(moment, _) => {
                while started.elapsed() < *moment && child.try_wait().unwrap().is_none() {
                    sleep((*moment - started.elapsed().min(*moment)).min(Duration::from_millis(2)));
                }
                None
            }
        }
    }

    /// Waits for the second delay of a time, once the process to be killed exists.
    pub fn and_then_some(&self) {
        if let Self::Time(_, delay) = self {
            sleep(*delay);
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(role, number) => write!(f, "at point {number} of the role {role}"),
            Self::Time(moment, delay) => write!(f, "{moment:.3?} after the start, {delay:.3?} after its own"),
        }
    }
}
