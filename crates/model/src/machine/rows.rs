//! The machine as rows of name and value for reports, and the rows in which machines differ.

use super::{ClockSource, Cpu, Frequency, Idle, Isolation, KernelConfig, Limits, Machine, Memory, RealTime};
use crate::{cpus::CpuSet, units::Ns};
use std::collections::BTreeMap;

/// Name and value.
type Row = (&'static str, String);

fn or_unknown(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).filter(|v| !v.is_empty()).unwrap_or_else(|| "unknown".into())
}

fn yes_no(value: Option<bool>) -> String {
    or_unknown(value.map(|yes| if yes { "on" } else { "off" }))
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".into() } else { text }
}

fn kib(value: Option<u64>) -> String {
    or_unknown(value.map(|kib| match kib {
        0 => "none".to_owned(),
        _ if kib >= 1 << 20 => format!("{:.1} GiB", kib as f64 / f64::from(1 << 20)),
        _ if kib >= 1 << 10 => format!("{:.0} MiB", kib as f64 / f64::from(1 << 10)),
        _ => format!("{kib} KiB"),
    }))
}

fn cache(value: Option<u64>) -> String {
    or_unknown(value.map(|kib| format!("{kib} KiB")))
}

impl Machine {
    /// Returns name and value of everything of interest, in the order of the reports. Every machine has the same rows; a value that latido
    /// could not read is `unknown`.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let parts = [
            self.system(),
            processors(&self.cpu),
            kept_free(&self.isolation),
            power(&self.frequency, &self.idle),
            memory(&self.memory),
            clock(&self.clock),
            granted(&self.realtime),
            self.around(),
        ];
        parts.into_iter().flatten().collect()
    }

    /// Returns the rows of the computer as a whole and of its kernel.
    fn system(&self) -> Vec<Row> {
        let option = |name: &str| self.config.as_ref().and_then(|config| config.options.get(name).cloned());
        let on = |name: &str| self.config.as_ref().and_then(|config| config.is_on(name));
        let debugging = self
            .config
            .as_ref()
            .map(|config| or_none(config.debugging().map(|(name, _)| name).collect::<Vec<_>>().join(" ")));
        let core = self.core.as_ref().map(|core| format!(", with the core {core}")).unwrap_or_default();
        vec![
            ("host", or_unknown(Some(&self.hostname))),
            ("board", or_unknown(self.board.as_ref())),
            ("distribution", or_unknown(self.distribution.as_ref())),
            ("kernel", or_unknown(Some(&self.kernel))),
            ("kernel version", or_unknown(self.kernel_version.as_ref())),
            ("architecture", or_unknown(self.architecture.as_ref())),
            ("preemption", or_unknown(self.preemption.as_ref().map(|p| format!("{} ({}){core}", p.model, p.source)))),
            ("kernel command line", or_unknown(self.command_line.as_ref())),
            ("kernel configuration", or_unknown(self.config.as_ref().map(configuration))),
            ("tick", or_unknown(option("HZ").map(|hz| format!("{hz} Hz")))),
            ("high-resolution timers", yes_no(on("HIGH_RES_TIMERS"))),
            ("full tickless", yes_no(on("NO_HZ_FULL"))),
            ("RCU boost", yes_no(on("RCU_BOOST"))),
            ("kernel debugging", or_unknown(debugging)),
        ]
    }

    /// Returns the rows of what latido runs in: the systems below, its limits and its C library.
    fn around(&self) -> Vec<Row> {
        let limits = Limits::rows(self.limits.as_ref()).map(|(name, value)| (name, or_unknown(value)));
        let mut rows = vec![
            ("hypervisor", or_unknown(self.hypervisor.as_ref())),
            ("container", or_unknown(self.container.as_ref())),
        ];
        rows.extend(limits);
        rows.push(("C library of latido", or_unknown(Some(&self.libc))));
        rows
    }

    /// Governor, range and driver of the frequency scaling, in one line.
    pub fn frequency_summary(&self) -> String {
        frequency(&self.frequency)
    }

    /// The rows in which these machines differ, with one value for each machine.
    pub fn differences(machines: &[&Machine]) -> Vec<(&'static str, Vec<String>)> {
        let mut columns: Vec<_> = machines.iter().map(|machine| machine.rows().into_iter()).collect();
        let mut different = Vec::new();
        // Every machine has the same rows, so the columns advance together.
        while let Some(row) = columns.iter_mut().map(Iterator::next).collect::<Option<Vec<_>>>()
            && let Some(&(name, _)) = row.first()
        {
            let values: Vec<String> = row.into_iter().map(|(_, value)| value).collect();
            if values.windows(2).any(|pair| pair.first() != pair.last()) {
                different.push((name, values));
            }
        }
        different
    }
}

/// Returns the rows of the processors.
fn processors(cpu: &Cpu) -> Vec<Row> {
    vec![
        ("CPU", or_unknown(cpu.model.as_ref())),
        ("CPUs online", cpus(cpu.online.as_ref())),
        ("CPUs usable", or_unknown(cpu.usable.as_ref())),
        ("CPUs possible", or_unknown(cpu.possible.as_ref().map(CpuSet::len))),
        ("SMT", yes_no(cpu.smt)),
        ("microcode", or_unknown(cpu.microcode.as_ref())),
        ("vulnerabilities", vulnerabilities(cpu.vulnerabilities.as_ref())),
        ("L2 cache", cache(cpu.l2_kib)),
        ("L3 cache", cache(cpu.l3_kib)),
        ("NUMA nodes", or_unknown(cpu.numa_nodes)),
    ]
}

/// Returns the rows of the CPUs that the kernel keeps free of some work.
fn kept_free(isolation: &Isolation) -> Vec<Row> {
    let or_all = |text: String| if text.is_empty() { "all".into() } else { text };
    vec![
        ("isolated CPUs", isolated(isolation)),
        ("nohz_full CPUs", or_unknown(isolation.nohz_full.as_ref().map(|set| or_none(set.to_string())))),
        ("rcu_nocbs CPUs", or_unknown(isolation.rcu_nocbs.clone().map(or_none))),
        ("irqaffinity", or_unknown(isolation.irqaffinity.clone().map(or_all))),
    ]
}

/// Returns the rows of the processors' frequency and idle states.
fn power(scaling: &Frequency, sleep: &Idle) -> Vec<Row> {
    vec![("frequency", frequency(scaling)), ("boost", yes_no(scaling.boost)), ("idle states", idle(sleep))]
}

/// Returns the rows of the memory.
fn memory(memory: &Memory) -> Vec<Row> {
    vec![
        ("memory", kib(memory.total_kib)),
        ("swap", kib(memory.swap_kib)),
        ("transparent huge pages", or_unknown(memory.transparent_hugepages.as_ref())),
        ("compaction of locked pages", yes_no(memory.moves_locked)),
    ]
}

/// Returns the rows of the kernel's clock.
fn clock(clock: &ClockSource) -> Vec<Row> {
    vec![
        ("clock source", or_unknown(clock.current.as_ref())),
        ("clock sources available", or_unknown(Some(clock.available.join(" ")))),
    ]
}

/// Returns the rows of what the kernel grants to tasks.
fn granted(limits: &RealTime) -> Vec<Row> {
    vec![
        ("real-time throttle", throttle(limits)),
        ("fair server", limits.fair_server.to_string()),
        ("real-time group scheduling", yes_no(limits.group_scheduling)),
        ("autogroup", yes_no(limits.autogroup)),
        ("timer slack", or_unknown(limits.timer_slack_ns.map(|ns| Ns(ns).to_string()))),
    ]
}

/// Returns the configuration's file and the hash of its whole text.
fn configuration(config: &KernelConfig) -> String {
    match &config.sha256 {
        Some(hash) => format!("{} (SHA-256 {hash})", config.source),
        None => config.source.clone(),
    }
}

/// Returns the vulnerabilities that the processor has, with the kernel's answer to each, and how many others do not affect it.
fn vulnerabilities(all: Option<&BTreeMap<String, String>>) -> String {
    let Some(all) = all else { return "unknown".into() };
    let (free, has): (Vec<_>, Vec<_>) = all.iter().partition(|(_, state)| *state == "Not affected");
    let told = has.into_iter().map(|(name, state)| format!("{name}: {state}"));
    let rest = (!free.is_empty()).then(|| format!("not affected by {} more", free.len()));
    told.chain(rest).collect::<Vec<_>>().join("; ")
}

fn cpus(set: Option<&CpuSet>) -> String {
    or_unknown(set.map(|set| format!("{} ({set})", set.len())))
}

fn isolated(isolation: &Isolation) -> String {
    match (&isolation.isolated, &isolation.partitions) {
        (None, None) => "unknown".into(),
        _ => or_none(isolation.cpus().to_string()),
    }
}

/// `performance, 800-4200 MHz (intel_pstate)`, by groups of CPUs where they differ.
fn frequency(frequency: &Frequency) -> String {
    let Some(policies) = &frequency.policies else { return "unknown".into() };
    let mhz = |khz: Option<u64>| or_unknown(khz.map(|khz| khz / 1000));
    let mut texts: Vec<String> = Vec::new();
    for policy in policies {
        let which = if policies.len() > 1 { format!("CPUs {}: ", policy.cpus) } else { String::new() };
        let governor = or_unknown(policy.governor.as_ref());
        let (min, max, driver) = (mhz(policy.min_khz), mhz(policy.max_khz), or_unknown(policy.driver.as_ref()));
        texts.push(format!("{which}{governor}, {min}-{max} MHz ({driver})"));
    }
    if texts.is_empty() { "not scaled by the kernel".into() } else { texts.join("; ") }
}

/// `intel_idle: POLL 0 µs, C1 2 µs, C6 133 µs`.
fn idle(idle: &Idle) -> String {
    let states: Vec<String> = idle
        .states
        .iter()
        .map(|state| {
            let off = if state.disabled == Some(true) { " (off)" } else { "" };
            match state.exit_latency_us {
                Some(us) => format!("{} {us} µs{off}", state.name),
                None => format!("{}{off}", state.name),
            }
        })
        .collect();
    match (&idle.driver, states.is_empty()) {
        (None, true) => "unknown".into(),
        (Some(_), true) => "none managed by the kernel".into(),
        (driver, false) => format!("{}: {}", or_unknown(driver.as_ref()), states.join(", ")),
    }
}

fn throttle(limits: &RealTime) -> String {
    match (limits.runtime_us, limits.period_us) {
        (Some(runtime), _) if runtime < 0 => "off".into(),
        (Some(runtime), Some(period)) => format!("{} of {} ms", runtime as f64 / 1e3, period as f64 / 1e3),
        _ => "unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_known_reads_unknown_and_never_zero() {
        for (name, value) in Machine::default().rows() {
            assert!(value.starts_with("unknown"), "{name}: {value}");
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = Machine::default().rows().into_iter().map(|(name, _)| name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn only_rows_that_differ_are_differences() {
        let one = Machine { kernel: "6.1".into(), hostname: "a".into(), ..Machine::default() };
        let two = Machine { kernel: "6.12".into(), ..one.clone() };
        assert_eq!(
            Machine::differences(&[&one, &two, &one]),
            [("kernel", vec!["6.1".into(), "6.12".into(), "6.1".into()])]
        );
        assert_eq!(Machine::differences(&[&one, &one]), []);
        assert_eq!(Machine::differences(&[]), []);
    }
}
