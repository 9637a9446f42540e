//! The end of a cell: everything back, and only then its record, or why there is none.

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

/// What came of putting everything back.
pub(super) struct Settled {
    /// What a person should know of the journal.
    news: Vec<String>,
    /// What was left as it is, each with its reason; or that something would not go back.
    left: Result<Vec<String>>,
}

impl Default for Settled {
    fn default() -> Self {
        Self { news: Vec::new(), left: Ok(Vec::new()) }
    }
}

impl Work<'_> {
    /// Undone before the record is sent: who has the record may rely on the machine being as it was.
    pub(super) fn undo(&mut self) -> Event {
        self.borrowed.give_back(&mut self.journal.pulse);
        let left = self.journal.settle();
        self.settled = Settled { news: self.journal.news(), left };
        // Not before: an isolation that is undone gives CPUs back.
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
                self.failure.take().unwrap_or_else(|| anyhow!("the measuring process gave no record"))
            }
        };
        let (told, error) = reported(error, settled);
        told.into_iter().for_each(|message| self.voice.note(message));
        Err(error)
    }

    fn send(&self, mut parcel: Parcel, settled: Settled) -> Result<()> {
        // Some tell what they did at their end.
        let origin = parcel.record.anchors.monotonic_ns;
        parcel.record.load = self.borrowed.loads.iter().map(|load| load.record(origin)).collect();
        self.voice.phase(Phase::Sending);
        self.voice.send(parcel);
        // The spool goes with the cell: what is in it must be gone out, or be nobody's any more.
        while !self.voice.drained(LOOK) {
            if self.client.is_gone() || self.client.wish() == Wish::EndNow {
                break;
            }
        }
        crate::fault::point("agent");
        // latido reports what would not go back behind the record, not instead of it.
        settled.news.into_iter().for_each(|message| self.voice.note(message));
        settled.left?.into_iter().for_each(|message| self.voice.note(message));
        Ok(())
    }
}

/// What latido reports of an attempt without a record, and its error: there is no record to tell it behind, and what does not go
/// back leaves the journal with this.
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

    /// News of the journal come first; what was left follows as a note, what would not go back follows the error.
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
