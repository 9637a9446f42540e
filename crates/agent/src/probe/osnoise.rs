//! `osnoise`: how much of a CPU others take from a thread that only reads the clock; by the kernel's own tracer.

use super::entries::{check, each, gather, us};
use crate::measure::{Def, Measurand, On, Place, Probe, Quantity, Stage, Tracer, Wanted, with_defaults};
use anyhow::{Result, ensure};
use latido_model::{cell::Cell, units::Ns};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "osnoise",
    about: "how much CPU time other work takes from a thread that only reads the clock, by the kernel's tracer",
    help: "\
The kernel's tracer runs a thread on each measured CPU, which reads the clock for `runtime` of each `period`; everything
may interrupt it. The gaps are noise, and the kernel reports their sources. The CPUs are busy during the run.

Options:
  period    default 1s, the kernel's own
  runtime   how long the thread reads the clock per period; default the whole period

Quantities (ns, whole microseconds), per CPU, one sample per period: noise (the sum), single (the longest single noise).
Facts: interference by nmi, irq, softirq, thread, and hardware (SMI, hypervisor: the kernel sees no software), added up
over all sampled periods; lost.

Needs tracefs (root) and CONFIG_OSNOISE_TRACER, which Debian's linux-image-rt-amd64 has. latido sets osnoise/period_us,
osnoise/runtime_us, osnoise/cpus (-c) and the limits osnoise/stop_tracing_us, osnoise/stop_tracing_total_us, and
restores them. --trace keeps the trace. Kernel document: Documentation/trace/osnoise-tracer.rst. Paper: none.",
    main_option: Some("period"),
    new: |table| {
        let mut probe = with_defaults(table, Osnoise { period: Ns::from_secs(1), runtime: None })?;
        let runtime = *probe.runtime.get_or_insert(probe.period);
        us("period", probe.period)?;
        us("runtime", runtime)?;
        ensure!(runtime <= probe.period, "`runtime` must not be longer than `period`");
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Osnoise {
    period: Ns,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<Ns>,
}

const QUANTITIES: [(&str, &str); 2] = [("noise", "Noise: of a period"), ("single", "Noise: longest of a period")];

/// The fields of an entry. After the first three, each is a count by the source of the noise.
const FIELDS: [&str; 8] =
    ["noise", "runtime", "max_sample", "nmi_count", "irq_count", "softirq_count", "thread_count", "hw_count"];

/// The names of the facts that those counts become.
const FACTS: [&str; 5] = ["nmi", "irq", "softirq", "thread", "hardware"];

impl Probe for Osnoise {
    fn measurand(&self) -> Measurand {
        Measurand::new("Noise", QUANTITIES.map(|(name, title)| Quantity::time(name, title).each("period")))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        check("osnoise", cell)
    }

    fn wants(&self) -> Option<Wanted> {
        let settings = vec![
            ("osnoise/stop_tracing_us", "0".into()),
            ("osnoise/stop_tracing_total_us", "0".into()),
            ("osnoise/period_us", us("period", self.period).ok()?),
            ("osnoise/runtime_us", us("runtime", self.runtime.unwrap_or(self.period)).ok()?),
        ];
        Some(Wanted::tracer(Tracer {
            name: "osnoise",
            maxima: false,
            functions: false,
            on: On::Named("osnoise/cpus"),
            settings,
        }))
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        gather(stage, |stage, trace, gathered| {
            let mut places = BTreeMap::<u32, [Place; 2]>::new();
            for cpu in stage.cpus() {
                let [noise, single] =
                    QUANTITIES.map(|(quantity, _)| gathered.open_on(stage.series(quantity)?, Some(cpu), &[]));
                places.insert(cpu, [noise?, single?]);
            }
            let mut counts = BTreeMap::<u32, [u64; FACTS.len()]>::new();
            let met = each(trace, "osnoise", FIELDS, |entry| {
                let Some([noise, single]) = places.get(&entry.cpu) else { return };
                let begin = entry.time.saturating_sub(entry.us(1));
                for (place, field) in [(noise, 0), (single, 2)] {
                    gathered.sample(*place, i64::try_from(entry.us(field)).unwrap_or(i64::MAX), begin, entry.time);
                }
                // Only counts from the same time as the samples above.
                if gathered.covers(begin, entry.time) {
                    for (count, field) in counts.entry(entry.cpu).or_default().iter_mut().zip(3..) {
                        *count = count.saturating_add(entry.field(field));
                    }
                }
            })?;
            for (cpu, [noise, _]) in &places {
                for (name, count) in FACTS.into_iter().zip(counts.get(cpu).copied().unwrap_or_default()) {
                    gathered.fact(*noise, name, count);
                }
            }
            Ok(met)
        })
    }
}
