//! `wakeup-tracer`: the longest scheduling latency of each second, by the kernel's wakeup tracers.

use super::maxima::{self, Functions};
use crate::measure::{Def, Measurand, Probe, Quantity, Stage, Wanted, with_defaults};
use anyhow::Result;
use latido_model::cell::Cell;
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "wakeup-tracer",
    about: "the longest scheduling latency of each second, by the kernel's wakeup tracers",
    help: "\
Looks on while the machine does what it does. The tracer follows one wake-up at a time, that of the task with the highest
priority, to the switch to it, and keeps the longest alone: latido reads and resets it once a second, one sample each, and
keeps its CPU and its task in maxima.csv beside the record. A second without a wake-up of that kind has no sample (fact
`empty_seconds`). The value has the tracer's own cost in it. `scheduling` takes all waits of all tasks from events.

Options:
  of   rt (default): real-time and deadline tasks alone (the tracer wakeup_rt); all: any task (wakeup); deadline: deadline tasks
       alone (wakeup_dl)
  function   off (default): the tracer traces no functions, which would cost more than most of what it measures; on: it does, as it
       does by itself (CONFIG_FUNCTION_TRACER)

Quantity: longest (ns, in whole microseconds).

Needs tracefs (root) and CONFIG_SCHED_TRACER, which Debian's linux-image-rt-amd64 has.
tracing_thresh is set to 0 meanwhile and put back. Paper: ftrace-latencies.",
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
