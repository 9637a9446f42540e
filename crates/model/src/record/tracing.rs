//! The kernel's own tracing as evidence: whether it was at work while a cell was measured, and whether `stop_on` froze it.

use serde::{Deserialize, Serialize};

/// What tracefs showed before the first sample and after the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Tracing {
    /// It could not be read.
    Unseen {
        /// Why.
        why: String,
    },
    /// It could.
    Seen {
        /// What traced; none where nothing did.
        active: Vec<Tracer>,
    },
}

/// A trace that was being written: the kernel's own, or an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracer {
    /// The instance's name; empty for the kernel's own trace.
    pub instance: String,
    /// `current_tracer`; `nop` traces nothing by itself.
    pub tracer: String,
    /// Whether events are enabled.
    pub events: bool,
}

/// What became of the order to stop the kernel's trace together with the cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Freeze {
    /// It cannot be done here.
    Impossible {
        /// Why.
        why: String,
    },
    /// No trace was on when the loops began.
    Off,
    /// Ready, and never needed: no sample was above `stop_on`.
    Armed,
    /// Done by the measuring thread that met the sample.
    Frozen {
        /// The switches that were turned off; they stay so.
        switches: Vec<String>,
        /// The sample.
        value_ns: i64,
        /// Its CPU; of a thread that was free to move the one where it then was.
        cpu: Option<u32>,
        /// CLOCK_MONOTONIC right before the marker was written.
        monotonic_ns: u64,
        /// What of it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
}

impl Tracing {
    /// Both looks together: what traced at either of them.
    pub fn and(self, later: Self) -> Self {
        match (self, later) {
            (Self::Seen { mut active }, Self::Seen { active: more }) => {
                let new = |tracer: &Tracer| active.iter().all(|known| known.instance != tracer.instance);
                let more: Vec<Tracer> = more.into_iter().filter(new).collect();
                active.extend(more);
                Self::Seen { active }
            }
            (seen @ Self::Seen { .. }, Self::Unseen { .. }) | (Self::Unseen { .. }, seen) => seen,
        }
    }
}
