//! The end of a cell: latido restores everything, and only then sends the record or the reason why there is none.

use super::Work;
use crate::{
    measure::assignment::stay_on,
    supervise::{
        attempt::{Close, Event, LOOK},
        client::Wish,
        outgoing::Parcel,
    },
};
use anyhow::{Error, Result, anyhow};
use latido_model::protocol::Phase;

/// The result of restoring everything.
pub(super) struct Settled {
    /// Messages about the journal for the user.
    news: Vec<String>,
    /// What was left as it is, each with its reason; or an error about what could not be restored.
    left: Result<Vec<String>>,
}

impl Default for Settled {
    fn default() -> Self {
        Self { news: Vec::new(), left: Ok(Vec::new()) }
    }
}

impl Work<'_> {
    /// Undoes everything before the record is sent: the receiver of a record may rely on the restored machine.
    pub(super) fn undo(&mut self) -> Event {
        self.borrowed.give_back(&mut self.journal.pulse);
        let left = self.journal.settle();
        self.settled = Settled { news: self.journal.news(), left };
        // Not earlier: the undoing of an isolation returns CPUs.
        stay_on(Some(self.allowed));
        crate::fault::point("agent");
        Event::Done
    }

    /// Sends the record, or reports why there is none.
    pub(super) fn end(&mut self, close: Close) -> Result<()> {
        let settled = std::mem::take(&mut self.settled);
        let error = match (close, self.parcel.take()) {
            (Close::Send, Some(parcel)) => return self.send(parcel, settled),
            (Close::TooEarly, _) => anyhow!("stopped before the measurement began"),
            (Close::AtOnce, _) => anyhow!("stopped at once; nothing of this cell was kept"),
            (Close::Send | Close::Report, _) => {
                self.failure.take().unwrap_or_else(|| anyhow!("the measuring process produced no record"))
            }
        };
        let (told, error) = reported(error, settled);
        told.into_iter().for_each(|message| self.voice.note(message));
        Err(error)
    }

    fn send(&self, mut parcel: Parcel, settled: Settled) -> Result<()> {
        // Some loads report what they did only when they end.
        let origin = parcel.record.anchors.monotonic_ns;
        parcel.record.load = self.borrowed.loads.iter().map(|load| load.record(origin)).collect();
        self.voice.phase(Phase::Sending);
        self.voice.send(parcel);
        // The spool goes with the cell: its content must be sent first, unless the host is gone or wants the end at once.
        while !self.voice.drained(LOOK) {
            if self.client.is_gone() || self.client.wish() == Wish::EndNow {
                break;
            }
        }
        crate::fault::point("agent");
        // latido reports what could not be restored after the record, not instead of it.
        settled.news.into_iter().for_each(|message| self.voice.note(message));
        settled.left?.into_iter().for_each(|message| self.voice.note(message));
        Ok(())
    }
}

/// Returns the messages and the error of an attempt without a record. What could not be restored has no record to follow, so it goes into
/// the error.
fn reported(error: Error, settled: Settled) -> (Vec<String>, Error) {
    let Settled { mut news, left } = settled;
    match left {
        Ok(left) => {
            news.extend(left);
            (news, error)
        }
        Err(left) => (news, anyhow!("{error:#}; {left:#}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages about the journal come first. What was left follows as a note, and what could not be restored follows the error.
    #[test]
    fn an_attempt_without_a_record_says_what_was_left() {
        let news = || vec!["the journal was lost".to_owned()];
        let settled = Settled { news: news(), left: Ok(vec!["a was set by somebody else".into()]) };
        let (told, error) = reported(anyhow!("inner").context("outer"), settled);
        assert_eq!(told, ["the journal was lost", "a was set by somebody else"]);
        assert_eq!(format!("{error:#}"), "outer: inner", "the error keeps its causes");
        let settled = Settled { news: news(), left: Err(anyhow!("b says 3")) };
        let (told, error) = reported(anyhow!("inner").context("outer"), settled);
        assert_eq!((told, error.to_string()), (news(), "outer: inner; b says 3".to_owned()));
    }
}
