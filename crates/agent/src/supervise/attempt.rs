//! Decides the course of an attempt at a cell: what happened and the clock determine what latido does next. Nothing here acts: a [`World`]
//! does that (`cell.rs` has the real one, the tests one of plain values).

mod drive;
mod moves;
#[cfg(test)]
mod plain;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use super::client::Wish;
use crate::measure::reporter::Told;
pub use drive::{World, carry_out};
use latido_model::{
    protocol::{Phase, Progress},
    record::Outcome,
};
pub use moves::{Ask, Close, Deed, Event, Measured, Move, Next};
use moves::{ask, deeds};
use std::time::Duration;

/// How often the supervisor looks at the loads and at its own signals.
pub const LOOK: Duration = Duration::from_millis(100);

/// How often it looks while a thread of the probe is stalled.
const CLOSE_LOOK: Duration = Duration::from_millis(10);

/// How often it checks loads, temperatures and other tasks.
const ROUND: Duration = Duration::from_secs(1);

/// How long loops may take to end after the host is gone.
const OVERDUE: Duration = Duration::from_secs(10);

/// The current step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Tuning,
    Loading,
    Settling { until: Duration, left: Duration },
    Starting,
    Listening,
    Collecting,
    Undoing(Close),
    Over,
}

/// Whether samples count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counting {
    NotYet,
    Now,
    NoMore,
}

/// The state of an attempt. Its times are those of the clock that the caller passes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    stage: Stage,
    counting: Counting,
    /// The first timer is armed.
    armed: bool,
    /// It was too hot once.
    hot: bool,
    /// Whether latido has requested the end of the measuring process.
    stopping: bool,
    /// When the host first wanted the end.
    ending: Option<Duration>,
    /// How long a wait for a message may last.
    patience: Duration,
    /// The time of the last glance.
    glanced: Duration,
    /// The time of the last look around. `None` if the second begins with the next turn.
    looked: Option<Duration>,
}

impl Default for Attempt {
    fn default() -> Self {
        Self {
            stage: Stage::New,
            counting: Counting::NotYet,
            armed: false,
            hot: false,
            stopping: false,
            ending: None,
            patience: LOOK,
            glanced: Duration::ZERO,
            looked: None,
        }
    }
}

impl Attempt {
    /// Takes an event, and returns what latido does next.
    pub fn on(&mut self, event: Event, now: Duration) -> Move {
        match (self.stage, event) {
            (Stage::New, Event::Begun) => self.step(Stage::Tuning, Ask::Tune),
            (Stage::Tuning, Event::Done) => self.step(Stage::Loading, Ask::Load),
            (Stage::Loading, Event::Loaded(settle)) => {
                self.step(Stage::Settling { until: now + settle, left: settle }, Ask::Loads)
            }
            (Stage::Settling { until, .. }, Event::Turn) => {
                self.step(Stage::Settling { until, left: until.saturating_sub(now) }, Ask::Loads)
            }
            (Stage::Settling { .. }, Event::Loads { stops: true }) => self.undo(Close::TooEarly),
            (Stage::Settling { left, .. }, Event::Loads { .. }) if left.is_zero() => {
                self.step(Stage::Starting, Ask::Start)
            }
            (Stage::Settling { left, .. }, Event::Loads { .. }) => ask(Ask::Pause(left.min(LOOK))),
            (Stage::Starting, Event::Done) => {
                (self.glanced, self.looked) = (now, Some(now));
                self.step(Stage::Listening, Ask::Host)
            }
            (Stage::Listening, event) => self.listen(event, now),
            (Stage::Collecting, Event::Done) => self.undo(Close::Send),
            (Stage::Undoing(close), Event::Done) => self.close(close),
            _ => self.fail(),
        }
    }

    /// Decides while the measuring process is there: latido asks the host first, then takes the process's messages, then does what is due
    /// by the clock.
    fn listen(&mut self, event: Event, now: Duration) -> Move {
        match event {
            Event::Host { wish: Wish::GoOn, .. } => ask(Ask::Hear(self.patience)),
            Event::Host { wish: Wish::End, gone } if !self.overdue(gone, now) => {
                self.stop().and(Ask::Hear(self.patience))
            }
            // The loads end first: under an overload even the end of a process takes long.
            Event::Host { .. } => self.undo(Close::AtOnce).after([Deed::Kill, Deed::StopLoads, Deed::LetGo]),
            Event::Told(told) => deeds(self.hear(told)).and(Ask::Pause(Duration::ZERO)),
            Event::Silence => ask(Ask::Pause(Duration::ZERO)),
            Event::Ended => self.step(Stage::Collecting, Ask::Collect),
            Event::Turn if now.saturating_sub(self.glanced) >= self.patience => {
                self.glanced = now;
                match self.counting {
                    Counting::Now => ask(Ask::Glance),
                    Counting::NotYet | Counting::NoMore => self.glanced(false, now),
                }
            }
            Event::Turn => self.look(now),
            Event::Glanced { stands } => self.glanced(stands, now),
            Event::Felt { hot: true } => {
                self.hot = true;
                // The loads end first: they cause the heat. latido keeps and marks what was measured until now.
                self.stop().after([Deed::Cool])
            }
            Event::Felt { hot: false } => ask(Ask::Host),
            Event::Begun | Event::Done | Event::Failed | Event::Loaded(_) | Event::Loads { .. } => self.fail(),
        }
    }

    /// Returns the deeds for a message of the measuring process.
    fn hear(&mut self, told: Told) -> Vec<Deed> {
        match told {
            Told::Progress(progress) => self.progress(progress),
            Told::Record { record, files, place } => {
                let checkpoint = record.outcome == Outcome::Checkpoint;
                let measured = Measured { record, files, place };
                vec![if checkpoint { Deed::Checkpoint(measured) } else { Deed::Keep(measured) }]
            }
            Told::Ranks { priority } => vec![Deed::Rank(priority)],
            Told::Watched => vec![Deed::HandOver],
            Told::IrqPriority { line, prio } => vec![Deed::Raise { line, prio }],
            Told::Error { message } => vec![Deed::Blame(message)],
            Told::End => Vec::new(),
        }
    }

    fn progress(&mut self, progress: Progress) -> Vec<Deed> {
        let mut deeds = Vec::new();
        if progress.armed_at_ns > 0 && !self.armed {
            self.armed = true;
            // From here on the supervisor only watches: the code that it ran so far is idle.
            deeds.push(Deed::LetGoOfCode);
        }
        if progress.phase == Phase::Measuring && self.counting == Counting::NotYet {
            (self.counting, self.looked) = (Counting::Now, None);
            deeds.extend([Deed::LoadsBegin, Deed::WatchBegins]);
        }
        if progress.phase == Phase::Finishing && self.counting != Counting::NoMore {
            self.counting = Counting::NoMore;
            deeds.extend([Deed::LoadsEnd, Deed::WatchEnds]);
        }
        deeds.push(Deed::Tell(progress));
        deeds
    }

    /// Handles a glance. While a thread is stalled, the next glance comes soon: another task may only now run in its place.
    fn glanced(&mut self, stands: bool, now: Duration) -> Move {
        self.patience = if stands { CLOSE_LOOK } else { LOOK };
        self.look(now)
    }

    /// Looks around once per second. Looks at the machine only while samples count. Reads the temperature until the loops are over or it
    /// was too hot.
    fn look(&mut self, now: Duration) -> Move {
        let last = *self.looked.get_or_insert(now);
        if now.saturating_sub(last) < ROUND {
            return ask(Ask::Host);
        }
        self.looked = Some(now);
        let watched = self.counting == Counting::Now;
        let around = [Deed::Reap].into_iter().chain(watched.then_some(Deed::LookAround)).collect();
        let feels = !self.hot && self.counting != Counting::NoMore;
        deeds(around).and(if feels { Ask::Heat } else { Ask::Host })
    }

    /// Tells whether latido must force a requested end: the host is gone, and the measuring process does not end.
    fn overdue(&mut self, gone: bool, now: Duration) -> bool {
        now.saturating_sub(*self.ending.get_or_insert(now)) > OVERDUE && gone
    }

    /// Requests an orderly end of the measuring process, once.
    fn stop(&mut self) -> Move {
        let first = !std::mem::replace(&mut self.stopping, true);
        deeds(first.then_some(Deed::Stop).into_iter().collect())
    }

    /// Drops what was started, then restores everything.
    fn fail(&mut self) -> Move {
        match self.stage {
            Stage::Undoing(_) | Stage::Over => self.close(Close::Report),
            Stage::Listening | Stage::Collecting => self.undo(Close::Report).after([Deed::LetGo]),
            Stage::New | Stage::Tuning | Stage::Loading | Stage::Settling { .. } | Stage::Starting => {
                self.undo(Close::Report)
            }
        }
    }

    fn undo(&mut self, close: Close) -> Move {
        self.step(Stage::Undoing(close), Ask::Undo)
    }

    fn close(&mut self, close: Close) -> Move {
        self.stage = Stage::Over;
        Move { deeds: Vec::new(), next: Next::Close(close) }
    }

    fn step(&mut self, stage: Stage, step: Ask) -> Move {
        self.stage = stage;
        ask(step)
    }
}
