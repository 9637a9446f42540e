//! `hwlat`: how long the hardware keeps a CPU from its work, with interrupts off, by the kernel's tracer.

use super::entries::{check, each, gather, us};
use crate::measure::{Def, Measurand, On, Place, Probe, Quantity, Stage, Tracer, Wanted, with_defaults};
use anyhow::{Result, ensure};
use latido_model::{cell::Cell, units::Ns};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "hwlat",
    about: "how long the hardware itself stops a CPU (SMI, hypervisor), by the kernel's tracer",
    help: "\
The kernel's tracer reads the clock with interrupts off, for `width` of each `window`: no software of this machine can cause
the gaps that it sees. It reports only windows with a gap above 10 us: no sample means no such window. Interrupts are off
for `width` at a time: do not run it on a machine that does important work.

Options:
  window   default 1s, the kernel's own
  width    how long interrupts are off in each window; default 500ms, the kernel's own
  mode     round-robin (default, the kernel's own): one CPU after another; per-cpu: all CPUs at once; none: one CPU, which
           the scheduler selects

Quantities (ns, whole microseconds), per CPU, one sample per window with a gap: inner (longest between two readings of one loop),
outer (longest between two loops). Facts: nmi and nmi_ns (number and time of non-maskable interrupts), gaps, lost.

Needs tracefs (root) and CONFIG_HWLAT_TRACER, which Debian's linux-image-rt-amd64 has. latido sets hwlat_detector/window, width
and mode, and restores them. --trace keeps the trace. Kernel document: Documentation/trace/hwlat_detector.rst.
Paper: none.",
    main_option: Some("window"),
    new: |table| {
        let [window, width] = [1000, 500].map(Ns::from_millis);
        let probe = with_defaults(table, Hwlat { window, width, mode: Mode::RoundRobin })?;
        us("window", probe.window)?;
        us("width", probe.width)?;
        ensure!(probe.width <= probe.window, "`width` must not be longer than `window`");
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hwlat {
    window: Ns,
    width: Ns,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    None,
    RoundRobin,
    PerCpu,
}

const QUANTITIES: [(&str, &str); 2] =
    [("inner", "Hardware latency: between two readings"), ("outer", "Hardware latency: between two loops")];

const FIELDS: [&str; 5] = ["duration", "outer_duration", "nmi_count", "nmi_total_ts", "count"];

const FACTS: [&str; 3] = ["nmi", "nmi_ns", "gaps"];

impl Probe for Hwlat {
    fn measurand(&self) -> Measurand {
        Measurand::new("Hardware latency", QUANTITIES.map(|(name, title)| Quantity::time(name, title).each("window")))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        check("hwlat", cell)
    }

    fn wants(&self) -> Option<Wanted> {
        let mode = match self.mode {
            Mode::None => "none",
            Mode::RoundRobin => "round-robin",
            Mode::PerCpu => "per-cpu",
        };
        let settings = vec![
            ("hwlat_detector/window", us("window", self.window).ok()?),
            ("hwlat_detector/width", us("width", self.width).ok()?),
            ("hwlat_detector/mode", mode.into()),
        ];
        Some(Wanted::tracer(Tracer { name: "hwlat", maxima: false, functions: false, on: On::Recorded, settings }))
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        gather(stage, |stage, trace, gathered| {
            let mut places = BTreeMap::<u32, [Place; 2]>::new();
            for cpu in stage.cpus() {
                let [inner, outer] =
                    QUANTITIES.map(|(quantity, _)| gathered.open_on(stage.series(quantity)?, Some(cpu), &[]));
                places.insert(cpu, [inner?, outer?]);
            }
            let mut counts = BTreeMap::<u32, [u64; FACTS.len()]>::new();
            let width = self.width.0;
            let met = each(trace, "hwlat", FIELDS, |entry| {
                let Some(both) = places.get(&entry.cpu) else { return };
                let begin = entry.time.saturating_sub(width);
                for (place, field) in both.iter().zip(0..) {
                    gathered.sample(*place, i64::try_from(entry.us(field)).unwrap_or(i64::MAX), begin, entry.time);
                }
                if gathered.covers(begin, entry.time) {
                    for (count, field) in counts.entry(entry.cpu).or_default().iter_mut().zip(2..) {
                        *count = count.saturating_add(entry.field(field));
                    }
                }
            })?;
            for (cpu, [inner, _]) in &places {
                for (name, count) in FACTS.into_iter().zip(counts.get(cpu).copied().unwrap_or_default()) {
                    gathered.fact(*inner, name, count);
                }
            }
            Ok(met)
        })
    }
}
