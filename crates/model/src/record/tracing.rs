//! The kernel's own tracing as evidence: whether it was on while a cell was measured, and whether `stop_on` froze it.

use serde::{Deserialize, Serialize};

/// What tracefs showed before the first sample and after the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Tracing {
    /// latido could not read it.
    Unseen {
        /// Why.
        why: String,
    },
    /// latido could read it.
    Seen {
        /// The active tracers; empty if there were none.
        active: Vec<Tracer>,
    },
}

/// A trace that the kernel was writing: its own, or an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracer {
    /// The instance's name; empty for the kernel's own trace.
    pub instance: String,
    /// `current_tracer`; `nop` traces nothing by itself.
    pub tracer: String,
    /// Whether events are enabled.
    pub events: bool,
}

/// What became of the request to stop the kernel's trace together with the cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Freeze {
    /// Freezing is impossible here.
    Impossible {
        /// Why.
        why: String,
    },
    /// No trace was on when the loops started.
    Off,
    /// Freezing was ready but never needed: no sample was above `stop_on`.
    Armed,
    /// The measuring thread that took the sample froze the trace.
    Frozen {
        /// The switches that it turned off; they stay off.
        switches: Vec<String>,
        /// The sample.
        value_ns: i64,
        /// Its CPU; for a thread that was free to move, the one on which it was then.
        cpu: Option<u32>,
        /// CLOCK_MONOTONIC right before the thread wrote the marker, in ns.
        monotonic_ns: u64,
        /// Which part of it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
}

impl Tracing {
    /// Merges two checks: what traced at either of them.
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
