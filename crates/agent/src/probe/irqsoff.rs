//! `irqsoff`: how long interrupts or preemption were off; by the kernel's tracer, or by events.

use super::{
    looking_on::{check, paired},
    maxima::{self, Functions},
};
use crate::measure::{Def, Gathered, Measurand, Place, Probe, Quantity, Stage, Wanted, with_defaults};
use anyhow::{Result, ensure};
use latido_model::cell::Cell;
use latido_trace::{
    events::Off,
    file::Trace,
    pairing::{Sink, Span},
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "irqsoff",
    about: "how long interrupts or preemption were off, by the kernel's tracer or by events",
    help: "\
Observes the machine and adds no load. The tracer keeps only its longest value: latido reads and resets it once per second,
one sample each, and writes its first and last function, its CPU and its task to maxima.csv next to the record.
A second in which nothing was off for a microsecond has no sample (fact `empty_seconds`). By events every time is a sample.
The probe observes all CPUs.

Options:
  of   interrupts (default), preemption, or both: the time in which either is off
  by   tracer (default): irqsoff, preemptoff or preemptirqsoff; the kernel needs CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER,
       or both. Debian's kernels do not have them
       events: irq_disable and irq_enable, or preempt_disable and preempt_enable
       (CONFIG_PREEMPTIRQ_TRACEPOINTS); not for both
  function   by tracer; off (default): it traces no functions, because that takes longer than most of what it measures; on: it
       traces functions, the tracer's own default (CONFIG_FUNCTION_TRACER)

Quantities (ns): longest (of a second, in whole microseconds), or off (each time, per CPU) by events. Facts: empty_seconds;
by events lost and voided (events lost, and what they may have broken).

Needs tracefs (root). latido sets tracing_thresh to 0 and restores it. Paper: ftrace-latencies.",
    main_option: Some("of"),
    new: |table| {
        let probe = with_defaults(table, IrqsOff { of: Of::Interrupts, by: By::Tracer, function: None })?;
        let told = "by=events cannot combine interrupts and preemption: use of=interrupts, of=preemption, or by=tracer";
        ensure!(probe.by == By::Tracer || probe.of != Of::Both, "{told}");
        ensure!(probe.by == By::Tracer || probe.function.is_none(), "`function` applies to by=tracer only: omit it with by=events");
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IrqsOff {
    of: Of,
    by: By,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<Functions>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Interrupts,
    Preemption,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum By {
    Tracer,
    Events,
}

impl Of {
    fn tracer(self) -> &'static str {
        match self {
            Self::Interrupts => "irqsoff",
            Self::Preemption => "preemptoff",
            Self::Both => "preemptirqsoff",
        }
    }

    /// Returns the headings: by tracer, and by events.
    fn titles(self) -> [&'static str; 2] {
        match self {
            Self::Interrupts => ["Interrupts off: longest of a second", "Interrupts off: each time"],
            Self::Preemption => ["Preemption off: longest of a second", "Preemption off: each time"],
            Self::Both => {
                ["Interrupts or preemption off: longest of a second", "Interrupts or preemption off: each time"]
            }
        }
    }
}

impl Probe for IrqsOff {
    fn measurand(&self) -> Measurand {
        let [longest, each] = self.of.titles();
        let quantity = match self.by {
            By::Tracer => Quantity::time("longest", longest).each("second"),
            By::Events => Quantity::time("off", each).each("time"),
        };
        Functions::labelled(self.function, Measurand::new("Interrupts and preemption off", [quantity]))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        match self.by {
            By::Tracer => maxima::check("irqsoff", cell),
            By::Events => check("irqsoff", cell),
        }
    }

    fn wants(&self) -> Option<Wanted> {
        Some(match (self.by, self.of) {
            (By::Tracer, of) => maxima::wanted(of.tracer(), self.function),
            (By::Events, Of::Preemption) => {
                Wanted::events(&["preemptirq:preempt_disable", "preemptirq:preempt_enable"])
            }
            (By::Events, _) => Wanted::events(&["preemptirq:irq_disable", "preemptirq:irq_enable"]),
        })
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        if self.by == By::Tracer {
            return maxima::measure(stage, "longest", self.function);
        }
        let interval = stage.watch(|| Ok(true))?;
        let mapped = stage.recorded()?;
        let trace = Trace::open(&mapped)?;
        let what = if self.of == Of::Preemption { Off::Preemption } else { Off::Interrupts };
        let mut times = Times { what, gathered: Gathered::over(interval), cpus: Vec::new() };
        for cpu in stage.cpus() {
            let place = times.gathered.open_on(stage.series("off")?, Some(cpu), &[])?;
            times.cpus.push((cpu, place));
        }
        let met = paired(&trace, &mut times);
        times.gathered.met(&met);
        stage.deliver(times.gathered)
    }
}

/// The series of the times, one per CPU.
struct Times {
    what: Off,
    gathered: Gathered,
    cpus: Vec<(u32, Place)>,
}

impl Sink for Times {
    fn off(&mut self, off: &Span<Off>) {
        let place = self.cpus.iter().find(|(cpu, _)| *cpu == off.cpu && off.what == self.what);
        if let Some((_, place)) = place {
            self.gathered.lasted(*place, off.begin, off.end);
        }
    }
}
