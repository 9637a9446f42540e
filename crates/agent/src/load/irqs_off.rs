//! `irqs-off`: turns interrupts or preemption off for a while, again and again, by a kernel module for that purpose.

use crate::{
    loading::{
        Launch, Load, Surroundings,
        work::{self, Work},
    },
    machine::Root,
};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    registry::{self, Def},
    units::Ns,
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "irqs-off",
    about: "interrupts or preemption off for a while, again and again: a planted cause of known length",
    help: "\
The kernel's module preemptirq_delay_test (CONFIG_PREEMPTIRQ_DELAY_TEST, as Linux 6.12 has it) makes a kernel task,
irq_test or preempt_test, spin for a given time with interrupts or with preemption off. The load triggers this again and
again: a disturbance of known length and cause, to see whether a probe finds it.

Options:
  length   of each disturbance, in whole microseconds, 1us to 100ms; default 500us
  every    from the start of one to the start of the next, at least twice the length, 1ms to 60s; default 50ms
  mode     irq (default): interrupts are off; preempt: preemption alone

The module accepts length and mode only when it is loaded, so they must be those with which it was loaded:
  modprobe preemptirq_delay_test delay=500 test_mode=irq
latido refuses another length or mode, and prints the command. Debian's kernels do not have the module; in the
laboratory the kernel built-full-trace-delay has, with one of the boards irqs-off and preempt-off (docs/lab.md), for
500us each. The kernel chooses the CPU on which it spins, or the module's cpu_affinity=N does.

The record's `achieved` holds disabled (how many times), disabled_ns (this number times the length: the module spins
until its clock has passed the length, so the real time is not less) and elapsed_ns. Needs root.",
    main_option: Some("length"),
    new: |table| Ok(Box::new(checked(table)?)),
};

/// Where the module's parameters are, for reading alone.
const PARAMETERS: &str = "/sys/module/preemptirq_delay_test/parameters";

/// The file that latido writes to for each disturbance.
const TRIGGER: &str = "/sys/kernel/preemptirq_delay_test/trigger";

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct IrqsOff {
    length: Ns,
    every: Ns,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    Irq,
    Preempt,
}

impl Mode {
    /// Returns the module's name for the mode.
    fn word(self) -> &'static str {
        match self {
            Self::Irq => "irq",
            Self::Preempt => "preempt",
        }
    }
}

impl Default for IrqsOff {
    fn default() -> Self {
        Self { length: Ns::from_micros(500), every: Ns::from_millis(50), mode: Mode::Irq }
    }
}

fn checked(table: toml::Table) -> Result<IrqsOff> {
    let load: IrqsOff = registry::options(table)?;
    ensure!(
        (Ns::from_micros(1)..=Ns::from_millis(100)).contains(&load.length) && load.length.0.is_multiple_of(1_000),
        "`length` is 1us to 100ms, in whole microseconds"
    );
    ensure!((Ns::from_millis(1)..=Ns::from_secs(60)).contains(&load.every), "`every` is 1ms to 60s");
    ensure!(load.every.0 >= 2 * load.length.0, "`every` is at least twice the `length`: other tasks need the CPU too");
    Ok(load)
}

impl Load for IrqsOff {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    /// Does not check for the module: for a guest, latido calls this outside of the guest. The process that runs the load checks it.
    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        Ok(Some(work::own(DEF.name, self)?))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

impl IrqsOff {
    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        let root = Root::default();
        self.loaded(&root)?;
        let work = Work::of(&["disabled", "disabled_ns"]);
        let load = self.clone();
        let thread = work.thread(move |work| load.disable(&root.path(TRIGGER), work))?;
        work.go_on(vec![thread])
    }

    /// Refuses a module that would do something other than requested.
    fn loaded(&self, root: &Root) -> Result<()> {
        let (delay, mode) = ((self.length.0 / 1_000).to_string(), self.mode.word());
        let modprobe = format!("modprobe preemptirq_delay_test delay={delay} test_mode={mode}");
        if !root.exists(TRIGGER) {
            bail!(
                "irqs-off: the kernel's module preemptirq_delay_test is not loaded: {modprobe}. A kernel without it \
                 (CONFIG_PREEMPTIRQ_DELAY_TEST=m) cannot run this load; in the laboratory \
                 built-full-trace-delay+irqs-off can, or +preempt-off for mode=preempt"
            );
        }
        for (name, wanted) in [("delay", delay.as_str()), ("test_mode", mode), ("burst_size", "1")] {
            let path = format!("{PARAMETERS}/{name}");
            let found = root.try_read(&path).with_context(|| format!("irqs-off: {path}"))?;
            ensure!(
                found == wanted,
                "irqs-off: the module preemptirq_delay_test was loaded with {name}={found}, not {wanted}, and cannot \
                 change it while it is loaded: modprobe -r preemptirq_delay_test; {modprobe}"
            );
        }
        Ok(())
    }

    /// Triggers the module until the end.
    fn disable(&self, trigger: &Path, work: &Work) -> Result<()> {
        let mut next = Instant::now();
        while !work.is_over() {
            // Returns when it was done.
            fs::write(trigger, "1").with_context(|| format!("irqs-off: {}", trigger.display()))?;
            work.add("disabled", 1);
            work.add("disabled_ns", self.length.0);
            // A delay is not made up for: that would leave less than `every` between two disturbances.
            next = (next + self.every.as_duration()).max(Instant::now());
            pause_until(next, work);
        }
        Ok(())
    }
}

/// Sleeps until `next`, and checks ten times per second whether the load must end.
fn pause_until(next: Instant, work: &Work) {
    while !work.is_over() {
        let left = next.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(Duration::from_millis(100)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<IrqsOff> {
        checked(text.parse().unwrap())
    }

    /// latido refuses, before anything starts, what would stop the machine and what the module cannot do. Everything else goes on to the
    /// process that runs the load.
    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in [
            "length = \"0us\"",
            "length = \"1500ns\"",
            "length = \"101ms\"\nevery = \"1s\"",
            "every = \"999us\"",
            "length = \"30ms\"",
            "mode = \"alternate\"",
            "burst = 2",
        ] {
            assert!(load(bad).is_err(), "{bad}");
        }
        let around = Surroundings { allowed: "0".parse().unwrap(), counted: "0".parse().unwrap(), seed: 7 };
        let launch = load("length = \"200us\"\nmode = \"preempt\"").unwrap().launch(&around).unwrap().unwrap();
        assert_eq!(launch.argv[2], "irqs-off:every=50ms,length=200us,mode=preempt");
    }

    /// Returns a machine whose module was loaded with these parameters.
    fn machine(delay: &str, mode: &str, burst: &str) -> tempfile::TempDir {
        let machine = tempfile::tempdir().unwrap();
        let root = Root::new(machine.path());
        fs::create_dir_all(root.path(PARAMETERS)).unwrap();
        fs::create_dir_all(root.path(TRIGGER).parent().unwrap()).unwrap();
        fs::write(root.path(TRIGGER), "").unwrap();
        for (name, value) in [("delay", delay), ("test_mode", mode), ("burst_size", burst)] {
            fs::write(root.path(&format!("{PARAMETERS}/{name}")), format!("{value}\n")).unwrap();
        }
        machine
    }

    /// The parameters of the loaded module decide. Without the module, or with another length, mode or number, the refusal contains the
    /// command.
    #[test]
    fn a_module_that_would_do_something_else_is_refused_with_the_command() {
        let load = load("length = \"500us\"").unwrap();
        let told = |delay: &str, mode: &str, burst: &str| {
            load.loaded(&Root::new(machine(delay, mode, burst).path())).map_err(|error| error.to_string())
        };
        assert_eq!(told("500", "irq", "1"), Ok(()));
        let command = "modprobe -r preemptirq_delay_test; modprobe preemptirq_delay_test delay=500 test_mode=irq";
        for (refused, why) in [
            (told("100", "irq", "1"), "delay=100, not 500"),
            (told("500", "alternate", "1"), "test_mode=alternate, not irq"),
            (told("500", "irq", "3"), "burst_size=3, not 1"),
        ] {
            let refused = refused.unwrap_err();
            assert!(refused.contains(why) && refused.ends_with(command), "{refused}");
        }
        let none = tempfile::tempdir().unwrap();
        let refused = load.loaded(&Root::new(none.path())).unwrap_err().to_string();
        assert!(refused.contains("not loaded: modprobe preemptirq_delay_test delay=500 test_mode=irq."), "{refused}");
    }

    /// Each disturbance is requested at the trigger, and counted with its length.
    #[test]
    fn what_was_asked_for_is_counted() {
        let machine = machine("500", "irq", "1");
        let load = load("every = \"1ms\"").unwrap();
        let work = Work::of(&["disabled", "disabled_ns"]);
        let trigger = Root::new(machine.path()).path(TRIGGER);
        let path = trigger.clone();
        let thread = work.thread(move |work| load.disable(&path, work)).unwrap();
        while work.done("disabled") < 3 {
            thread::yield_now();
        }
        work.end();
        thread.join().unwrap();
        assert_eq!(work.done("disabled_ns"), work.done("disabled") * 500_000);
        assert_eq!(fs::read_to_string(trigger).unwrap(), "1");
    }
}
