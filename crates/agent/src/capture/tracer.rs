//! A tracer in latido's instance, and the settings outside of the instance, which the kernel has once for all tracers of a kind
//! (Documentation/trace/{ftrace,osnoise-tracer,timerlat-tracer,hwlat_detector}.rst).

use super::put;
use crate::{
    journal::{Borrowed, Journal},
    machine::{Root, tracefs::Tracefs, tracing::PLACES},
    measure::Tracer,
    step::{Form, Step, refusal},
};
use anyhow::{Context, Result, bail, ensure};
use std::{fs, path::Path};

/// What a kernel needs for a tracer (kernel/trace/Kconfig), and which Debian kernel has it.
const NEEDS: [(&str, &str, Option<&str>); 9] = [
    ("irqsoff", "CONFIG_IRQSOFF_TRACER", None),
    ("preemptoff", "CONFIG_PREEMPT_TRACER", None),
    ("preemptirqsoff", "CONFIG_IRQSOFF_TRACER and CONFIG_PREEMPT_TRACER", None),
    ("wakeup", "CONFIG_SCHED_TRACER", RT),
    ("wakeup_rt", "CONFIG_SCHED_TRACER", RT),
    ("wakeup_dl", "CONFIG_SCHED_TRACER", RT),
    ("timerlat", "CONFIG_TIMERLAT_TRACER", RT),
    ("osnoise", "CONFIG_OSNOISE_TRACER", RT),
    ("hwlat", "CONFIG_HWLAT_TRACER", RT),
];

const RT: Option<&str> = Some("linux-image-rt-amd64");

/// Returns why a kernel with these tracers does not have that one, and how to get it; `None` if it does.
fn lacks(name: &str, available: &str) -> Option<String> {
    if available.split_whitespace().any(|one| one == name) {
        return None;
    }
    let needs = NEEDS.iter().find(|(of, ..)| *of == name);
    let (option, package) = needs.map_or(("it", None), |(_, option, package)| (*option, *package));
    let remedy = match package {
        Some(package) => format!("Debian's {package} has it (apt install {package}, then boot it)"),
        None => "no Debian kernel has it: build a kernel with it".into(),
    };
    Some(format!("not available on this kernel: the tracer `{name}` needs {option}; {remedy}"))
}

/// Refuses a tracer that is not available, or whose settings cannot be changed.
///
/// # Errors
/// What is missing and how to get it.
pub fn possible(tracer: &Tracer, tracefs: &Tracefs) -> Result<()> {
    let path = tracefs.dir().join("available_tracers");
    let available = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    if let Some(why) = lacks(tracer.name, &available) {
        bail!(why);
    }
    if tracer.functions {
        let has = available.split_whitespace().any(|one| one == "function");
        ensure!(has, "function=on: this kernel traces no functions (CONFIG_FUNCTION_TRACER)");
        let on = Root::default().read("proc/sys/kernel/ftrace_enabled").is_none_or(|text| text.trim() != "0");
        ensure!(on, "function=on: function tracing is switched off on this machine: sysctl kernel.ftrace_enabled=1");
    }
    match steps(tracer, tracefs)?
        .iter()
        .filter_map(Step::file)
        .find_map(|path| refusal::beforehand(&Root::default(), path))
    {
        Some(refused) => Err(refused),
        None => Ok(()),
    }
}

/// Returns the necessary changes outside of the instance. A setting that is already right is left out.
///
/// # Errors
/// A setting cannot be read, or belongs to a mount that only this process sees.
pub fn steps(tracer: &Tracer, tracefs: &Tracefs) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for (file, value) in &tracer.settings {
        let path = tracefs.dir().join(file);
        let path = path.to_str().context("the path of tracefs is not valid UTF-8")?;
        let form = match *file {
            "osnoise/cpus" => Form::Cpus,
            "hwlat_detector/mode" => Form::Choice,
            _ => Form::Plain,
        };
        steps.extend(Step::value(&Root::default(), path, value, form)?);
    }
    // The latido that restores the settings after a crash must find the same path.
    let seen = PLACES.iter().any(|place| Root::default().path(place) == tracefs.dir());
    ensure!(
        seen || steps.is_empty(),
        "to change and restore the settings of the tracer `{}`, latido needs a mounted tracefs: mount -t tracefs \
         tracefs /sys/kernel/tracing",
        tracer.name
    );
    Ok(in_order(steps))
}

/// Orders the changes. The kernel refuses a part that is longer than its whole, even for a moment: where the whole would become too short,
/// the part is changed first. Settings are restored in the opposite order.
fn in_order(mut steps: Vec<Step>) -> Vec<Step> {
    for (whole, part) in
        [("osnoise/period_us", "osnoise/runtime_us"), ("hwlat_detector/window", "hwlat_detector/width")]
    {
        let at = |name: &str| steps.iter().position(|step| step.file().is_some_and(|path| path.ends_with(name)));
        let (Some(whole), Some(part)) = (at(whole), at(part)) else { continue };
        let number = |text: &str| text.parse::<u64>().unwrap_or(0);
        let values = (steps.get(whole), steps.get(part));
        let (Some(Step::Value { new, .. }), Some(Step::Value { original, .. })) = values else { continue };
        if (number(new) < number(original)) == (whole < part) {
            steps.swap(whole, part);
        }
    }
    steps
}

/// Changes the settings outside of the instance. latido writes each change to the journal first.
///
/// # Errors
/// The kernel refuses a change. The changes before it are in the journal.
pub fn prepare(tracer: &Tracer, tracefs: &Tracefs, journal: &mut Journal) -> Result<()> {
    for step in steps(tracer, tracefs)? {
        let tuning = format!("tracer {}", tracer.name);
        journal.write(Borrowed::Setting { tuning, root: None, change: step.clone() })?;
        step.apply(&Root::default()).and_then(|()| step.verify(&Root::default()))?;
        crate::fault::point("agent");
    }
    Ok(())
}

/// Starts the tracer in an instance whose ring is off.
///
/// # Errors
/// The kernel refuses it.
pub fn begin(tracer: &Tracer, dir: &Path) -> Result<()> {
    let functions = dir.join("options/function-trace");
    // By default a latency tracer also traces every function, which costs more than most of what it measures.
    if tracer.maxima && functions.exists() {
        put(&functions, if tracer.functions { "1" } else { "0" })?;
    }
    put(&dir.join("current_tracer"), tracer.name).with_context(|| {
        format!(
            "cannot start the tracer `{}`, which runs in only one trace at a time (cat \
             /sys/kernel/tracing/instances/*/current_tracer)",
            tracer.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_option_and_the_remedy() {
        let available = "timerlat osnoise hwlat blk function_graph wakeup_dl wakeup_rt wakeup function nop\n";
        assert_eq!(lacks("wakeup_rt", available), None);
        let irqsoff = lacks("irqsoff", available).unwrap();
        assert!(irqsoff.contains("CONFIG_IRQSOFF_TRACER") && irqsoff.contains("no Debian kernel"), "{irqsoff}");
        let timerlat = lacks("timerlat", "function nop").unwrap();
        assert!(timerlat.contains("CONFIG_TIMERLAT_TRACER") && timerlat.contains("linux-image-rt-amd64"), "{timerlat}");
    }

    /// At each moment, forwards and backwards, the part fits into the whole, as the kernel requires.
    #[test]
    fn a_part_is_never_longer_than_its_whole() {
        let value = |name: &str, from: u64, to: u64| Step::Value {
            path: name.into(),
            original: from.to_string(),
            new: to.to_string(),
            form: Form::Plain,
        };
        for (whole, part) in [((1000, 500), (1000, 400)), ((1000, 5000), (1000, 4000)), ((1000, 600), (500, 550))] {
            let steps = vec![value("osnoise/period_us", whole.0, whole.1), value("osnoise/runtime_us", part.0, part.1)];
            for steps in [steps.clone(), steps.into_iter().rev().collect()] {
                let (mut now, mut seen) = ((whole.0, part.0), Vec::new());
                for step in in_order(steps) {
                    let Step::Value { path, new, .. } = step else { panic!() };
                    let new: u64 = new.parse().unwrap();
                    if path.contains("period") {
                        now.0 = new
                    } else {
                        now.1 = new
                    }
                    seen.push(now);
                }
                assert!(seen.iter().all(|(whole, part)| part <= whole), "{seen:?}");
                assert_eq!(now, (whole.1, part.1), "a change was lost");
            }
        }
    }
}
