//! Carries out what is decided, in a world.

use super::{Ask, Attempt, Close, Deed, Event, Move, Next};
use anyhow::{Error, Result};
use std::time::Duration;

/// Where an attempt takes place.
pub trait World {
    /// The time since some moment before the attempt.
    fn now(&self) -> Duration;

    /// Does something.
    ///
    /// # Errors
    /// What ends the attempt.
    fn perform(&mut self, deed: Deed) -> Result<()>;

    /// Answers.
    ///
    /// # Errors
    /// What ends the attempt.
    fn answer(&mut self, ask: Ask) -> Result<Event>;

    /// Takes what ended the attempt, to be reported.
    fn failed(&mut self, error: Error);

    /// Closes: everything is put back.
    ///
    /// # Errors
    /// What ended the attempt, or what would not go back.
    fn close(&mut self, close: Close) -> Result<()>;
}

/// Carries an attempt out, from its first step to its close.
///
/// # Errors
/// As [`World::close`].
pub fn carry_out(world: &mut impl World) -> Result<()> {
    let mut attempt = Attempt::default();
    let mut event = Event::Begun;
    loop {
        let Move { deeds, next } = attempt.on(event, world.now());
        let done = deeds.into_iter().try_for_each(|deed| world.perform(deed));
        let answer = match next {
            Next::Close(close) => return world.close(close),
            Next::Ask(ask) => done.and_then(|()| world.answer(ask)),
        };
        event = answer.unwrap_or_else(|error| {
            world.failed(error);
            Event::Failed
        });
    }
}
