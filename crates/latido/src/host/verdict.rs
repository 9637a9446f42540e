//! The result of a cell, decided from the messages about it.

use anyhow::Result;
use latido_model::protocol::EndStatus;

/// The result of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A record is stored.
    Measured,
    /// No record, for a reason outside the machine under test.
    Infra(String),
    /// The user stopped it. A record of what was measured until then may be stored.
    Interrupted,
}

/// What the host received about a cell until its stream ended.
#[derive(Debug)]
pub struct Heard {
    /// How the agent ended the cell, or what broke.
    pub status: Result<EndStatus>,
    /// Whether its record is stored.
    pub stored: bool,
    /// The error that the agent reported.
    pub said: Option<String>,
    /// Whether the user requested the end.
    pub interrupted: bool,
}

impl Heard {
    /// Returns what the user should know, and the result of the cell.
    pub fn verdict(self) -> (Vec<String>, Ended) {
        let Self { status, stored, said, interrupted } = self;
        if interrupted {
            // The cell stays open: without a record it counts as not measured, and --resume measures it again. latido still reports what
            // went wrong on the way: it may be a setting that could not be restored.
            let broke = status.err().map(|error| format!("{error:#}"));
            return (said.into_iter().chain(broke).collect(), Ended::Interrupted);
        }
        match status {
            Ok(EndStatus::Failed) if stored => {
                let said = said.unwrap_or_else(|| "the agent does not say what it was".into());
                (vec![format!("after the agent sent its record something went wrong: {said}")], Ended::Measured)
            }
            Ok(EndStatus::Done) if stored => (Vec::new(), Ended::Measured),
            Ok(_) => {
                let reason = said.unwrap_or_else(|| "the agent gave no record and no reason".into());
                (Vec::new(), Ended::Infra(reason))
            }
            // The record is complete and arrived after the machine was restored. What broke afterwards cost nothing.
            Err(error) if stored => (vec![format!("after latido stored the record: {error:#}")], Ended::Measured),
            Err(error) => {
                let reason: Vec<String> = said.into_iter().chain([format!("{error:#}")]).collect();
                (Vec::new(), Ended::Infra(reason.join("; ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    fn heard(status: Result<EndStatus>, stored: bool, said: Option<&str>) -> (Vec<String>, Ended) {
        Heard { status, stored, said: said.map(str::to_owned), interrupted: false }.verdict()
    }

    fn broke() -> Result<EndStatus> {
        Err(anyhow!("end of input").context("the link broke"))
    }

    fn infra(reason: &str) -> (Vec<String>, Ended) {
        (Vec::new(), Ended::Infra(reason.into()))
    }

    /// A stored record counts whatever happens after it, and latido reports what happened.
    #[test]
    fn a_stored_record_counts() {
        let measured =
            |told: &[&str]| (told.iter().map(|told| (*told).to_owned()).collect::<Vec<_>>(), Ended::Measured);
        assert_eq!(heard(Ok(EndStatus::Done), true, None), measured(&[]));
        let said = "after the agent sent its record something went wrong: a knob says 3";
        assert_eq!(heard(Ok(EndStatus::Failed), true, Some("a knob says 3")), measured(&[said]));
        let silent = "after the agent sent its record something went wrong: the agent does not say what it was";
        assert_eq!(heard(Ok(EndStatus::Failed), true, None), measured(&[silent]));
        assert_eq!(
            heard(broke(), true, None),
            measured(&["after latido stored the record: the link broke: end of input"])
        );
    }

    /// A cell without a record has a reason: first the agent's, then the link's.
    #[test]
    fn no_record_has_a_reason() {
        assert_eq!(heard(Ok(EndStatus::Failed), false, Some("too hot")), infra("too hot"));
        for status in [EndStatus::Done, EndStatus::Failed] {
            assert_eq!(heard(Ok(status), false, None), infra("the agent gave no record and no reason"));
        }
        assert_eq!(heard(broke(), false, None), infra("the link broke: end of input"));
        assert_eq!(heard(broke(), false, Some("no space")), infra("no space; the link broke: end of input"));
    }

    /// A stop by the user is no failure, with or without a record. latido still reports what went wrong on the way.
    #[test]
    fn a_stop_is_no_failure() {
        for stored in [false, true] {
            let of = |status, said: Option<&str>| {
                Heard { status, stored, said: said.map(str::to_owned), interrupted: true }.verdict()
            };
            assert_eq!(of(Ok(EndStatus::Failed), None), (vec![], Ended::Interrupted));
            let told = vec!["a knob says 3".to_owned(), "the link broke: end of input".to_owned()];
            assert_eq!(of(broke(), Some("a knob says 3")), (told, Ended::Interrupted));
        }
    }
}
