//! `wakeup-tracer`: the longest scheduling latency of each second, by the kernel's wakeup tracers.

use super::maxima::{self, Functions};
use crate::measure::{Def, Measurand, Probe, Quantity, Stage, Wanted, with_defaults};
use anyhow::Result;
use latido_model::cell::Cell;
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "wakeup-tracer",
    about: "the longest scheduling latency per second, by the kernel's wakeup tracers",
    help: "\
Observes the machine and adds no load. The tracer follows one wake-up at a time, that of the task with the highest priority,
to the switch to it, and keeps only the longest: latido reads and resets it once per second, one sample each, and
writes its CPU and its task to maxima.csv next to the record. A second without such a wake-up has no sample (fact
`empty_seconds`). The value includes the tracer's own cost. `scheduling` takes all waits of all tasks from events.

Options:
  of   rt (default): only real-time and deadline tasks (the tracer wakeup_rt); all: any task (wakeup); deadline: only deadline
       tasks (wakeup_dl)
  function   off (default): the tracer traces no functions, because that takes longer than most of what it measures; on: it traces
       functions, the tracer's own default (CONFIG_FUNCTION_TRACER)

Quantity: longest (ns, in whole microseconds).

Needs tracefs (root) and CONFIG_SCHED_TRACER, which Debian's linux-image-rt-amd64 has.
latido sets tracing_thresh to 0 and restores it. Paper: ftrace-latencies.",
    main_option: Some("of"),
    new: |table| Ok(Box::new(with_defaults(table, WakeupTracer { of: Of::Rt, function: None })?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WakeupTracer {
    of: Of,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<Functions>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Rt,
    All,
    Deadline,
}

impl Probe for WakeupTracer {
    fn measurand(&self) -> Measurand {
        let quantity = Quantity::time("longest", "Wakeup tracer: longest of a second").each("second");
        Functions::labelled(self.function, Measurand::new("Scheduling latency by tracer", [quantity]))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        maxima::check("wakeup-tracer", cell)
    }

    fn wants(&self) -> Option<Wanted> {
        let name = match self.of {
            Of::Rt => "wakeup_rt",
            Of::All => "wakeup",
            Of::Deadline => "wakeup_dl",
        };
        Some(maxima::wanted(name, self.function))
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        maxima::measure(stage, "longest", self.function)
    }
}
