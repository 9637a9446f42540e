//! Carries out the decisions, in a world.

use super::{Ask, Attempt, Close, Deed, Event, Move, Next};
use anyhow::{Error, Result};
use std::time::Duration;

/// The environment of an attempt: the real one, or one of plain values.
pub trait World {
    /// The time since some moment before the attempt.
    fn now(&self) -> Duration;

    /// Performs a deed.
    ///
    /// # Errors
    /// The error ends the attempt.
    fn perform(&mut self, deed: Deed) -> Result<()>;

    /// Answers a question.
    ///
    /// # Errors
    /// The error ends the attempt.
    fn answer(&mut self, ask: Ask) -> Result<Event>;

    /// Takes the error that ended the attempt, to report it.
    fn failed(&mut self, error: Error);

    /// Closes the attempt, after everything is restored.
    ///
    /// # Errors
    /// The error that ended the attempt, or what could not be restored.
    fn close(&mut self, close: Close) -> Result<()>;
}

/// Carries out an attempt, from its first step to its close.
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
