//! `timerlat`: how late a timer's interrupt, the thread that it wakes, and user space are; by the kernel's own tracer.

use super::entries::{check, each, gather, us};
use crate::measure::{Def, Measurand, On, Place, Probe, Quantity, Stage, Tracer, Wanted, with_defaults};
use anyhow::Result;
use latido_model::{cell::Cell, units::Ns};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "timerlat",
    about: "how late a timer's interrupt and the thread that it wakes run, by the kernel's tracer",
    help: "\
The kernel's tracer runs a thread on each measured CPU (SCHED_FIFO 95), which a periodic timer wakes, and reports how long
after the timer's expiry its interrupt handler ran and the thread ran. Both times count from the expiry.

Options:
  period   between two expiries; default 1ms, the kernel's own

Quantities (ns), per CPU: interrupt (IRQ latency), thread (thread latency), and user (back in user space) where your program
reads osnoise/per_cpu/cpuN/timerlat_fd. Facts: lost (entries lost).

Needs tracefs (root) and CONFIG_TIMERLAT_TRACER, which Debian's linux-image-rt-amd64 has. latido sets
osnoise/timerlat_period_us, osnoise/cpus (-c) and the limits osnoise/stop_tracing_us, osnoise/stop_tracing_total_us, and
restores them. --trace keeps the trace. Kernel document: Documentation/trace/timerlat-tracer.rst. Paper: none.",
    main_option: Some("period"),
    new: |table| {
        let probe = with_defaults(table, Timerlat { period: Ns::from_millis(1) })?;
        us("period", probe.period)?;
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Timerlat {
    period: Ns,
}

/// In the order of the context numbers (kernel/trace/trace_osnoise.c).
const QUANTITIES: [(&str, &str); 3] = [
    ("interrupt", "Timer latency: interrupt"),
    ("thread", "Timer latency: thread"),
    ("user", "Timer latency: user space"),
];

impl Probe for Timerlat {
    fn measurand(&self) -> Measurand {
        let quantities = QUANTITIES.map(|(name, title)| Quantity::time(name, title).each("expiry"));
        Measurand::new("Timer latency", quantities)
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        check("timerlat", cell)
    }

    fn wants(&self) -> Option<Wanted> {
        let settings = vec![
            ("osnoise/stop_tracing_us", "0".into()),
            ("osnoise/stop_tracing_total_us", "0".into()),
            ("osnoise/timerlat_period_us", us("period", self.period).ok()?),
        ];
        Some(Wanted::tracer(Tracer {
            name: "timerlat",
            maxima: false,
            functions: false,
            on: On::Named("osnoise/cpus"),
            settings,
        }))
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        gather(stage, |stage, trace, gathered| {
            let fields = ["timer_latency", "context"];
            let mut user = false;
            each(trace, "timerlat", fields, |entry| user |= entry.field(1) == 2)?;
            let mut places = BTreeMap::<(u32, u64), Place>::new();
            for (context, (quantity, _)) in (0u64..).zip(QUANTITIES).filter(|(context, _)| user || *context < 2) {
                for cpu in stage.cpus() {
                    places.insert((cpu, context), gathered.open_on(stage.series(quantity)?, Some(cpu), &[])?);
                }
            }
            each(trace, "timerlat", fields, |entry| {
                if let Some(place) = places.get(&(entry.cpu, entry.field(1))) {
                    gathered.lasted(*place, entry.time.saturating_sub(entry.field(0)), entry.time);
                }
            })
        })
    }
}
