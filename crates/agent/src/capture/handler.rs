//! Records the entry of a kernel function as an event of a trace: by a kprobe, an fprobe, or the function tracer.

use super::put;
use crate::{
    journal::{Borrowed, By, Hook, Instance, Journal},
    machine::{Root, tracefs::Tracefs},
    measure::{HandlerAt, Stamped},
};
use anyhow::{Context, Result, anyhow, bail};
use std::{fs, path::Path};

/// An event that latido defined. Dropping it removes the event.
#[derive(Debug)]
pub struct Hooked(Hook);

impl Drop for Hooked {
    fn drop(&mut self) {
        // The event is in the journal: whichever latido recovers the journal tries again, and reports it.
        let _ = self.0.remove();
    }
}

/// How latido stamps a handler: decided before it makes the instance.
#[derive(Debug)]
pub struct Prepared {
    /// What is recorded.
    pub stamped: Stamped,
    hooked: Option<Hooked>,
}

/// Looks the function up in this kernel and defines an event at its entry. latido writes the event to the journal first, and verifies it.
/// Where the kernel has no such events, latido uses the instance's own function tracer.
///
/// # Errors
/// The kernel has no such function, or refuses every way to stamp it. The error gives each refusal.
pub fn prepare(handler: &HandlerAt, tracefs: &Tracefs, instance: &Instance, journal: &mut Journal) -> Result<Prepared> {
    let symbols = match handler {
        HandlerAt::Event(system, event) => {
            let (system, event) = ((*system).to_owned(), (*event).to_owned());
            let stamped = Stamped { symbol: None, by: "event".into(), system, event };
            return Ok(Prepared { stamped, hooked: None });
        }
        HandlerAt::Function(symbols) => symbols,
    };
    let symbol = symbol(symbols, &Root::default())?;
    let mut refused = Vec::new();
    for by in [By::Kprobe, By::Fprobe] {
        let hook = Hook::planned(instance, by);
        let defined = Hook::possible(tracefs, by).and_then(|()| {
            journal.write(Borrowed::Hook { hook: hook.clone() })?;
            let hooked = Hooked(hook.clone());
            hook.define(tracefs, &symbol)?;
            crate::fault::point("agent");
            Ok(hooked)
        });
        match defined {
            Ok(hooked) => {
                let (system, event) = hook.event();
                let (system, event) = (system.to_owned(), event.to_owned());
                let stamped = Stamped { symbol: Some(symbol), by: by.name().into(), system, event };
                return Ok(Prepared { stamped, hooked: Some(hooked) });
            }
            Err(error) => refused.push(format!("{error:#}")),
        }
    }
    match by_tracer(tracefs, &symbol) {
        Ok(()) => {
            let (by, system, event) = ("function".into(), "ftrace".into(), "function".into());
            Ok(Prepared { stamped: Stamped { symbol: Some(symbol), by, system, event }, hooked: None })
        }
        Err(error) => {
            refused.push(format!("{error:#}"));
            bail!(
                "the kernel's function {symbol} cannot be stamped: {}{}",
                refused.join("; "),
                locked(&Root::default())
            )
        }
    }
}

impl Prepared {
    /// Starts to record the event in an instance. The caller must keep the result of [`Self::into_held`] while the instance exists.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn enable(&self, dir: &Path) -> Result<()> {
        match (&self.hooked, &self.stamped.symbol) {
            (Some(Hooked(hook)), _) => put(&hook.dir(dir).join("enable"), "1"),
            (None, Some(symbol)) => {
                put(&dir.join("set_ftrace_filter"), symbol)?;
                let says = fs::read_to_string(dir.join("set_ftrace_filter")).unwrap_or_default();
                let alone = says.lines().all(|line| line.split_whitespace().next() == Some(symbol));
                anyhow::ensure!(
                    alone && !says.is_empty(),
                    "set_ftrace_filter was set to {symbol} but contains `{}`",
                    says.trim()
                );
                put(&dir.join("current_tracer"), "function")
            }
            (None, None) => Ok(()),
        }
    }

    /// Returns what the caller must keep while the instance exists.
    pub fn into_held(self) -> Option<Hooked> {
        self.hooked
    }
}

/// Checks that the function tracer can stamp this function.
fn by_tracer(tracefs: &Tracefs, symbol: &str) -> Result<()> {
    let read = |file: &str| fs::read_to_string(tracefs.dir().join(file)).unwrap_or_default();
    let there = read("available_tracers").split_whitespace().any(|name| name == "function");
    anyhow::ensure!(there, "the function tracer needs CONFIG_FUNCTION_TRACER");
    let known = read("available_filter_functions").lines().any(|line| line.split_whitespace().next() == Some(symbol));
    anyhow::ensure!(known, "the function tracer cannot trace {symbol}");
    let on = Root::default().flag("/proc/sys/kernel/ftrace_enabled");
    anyhow::ensure!(on == Some(true), "the function tracer is off (kernel.ftrace_enabled)");
    Ok(())
}

/// Reads the kernel's symbols: some ten megabytes.
fn kallsyms(root: &Root) -> std::io::Result<String> {
    fs::read_to_string(root.path("/proc/kallsyms"))
}

/// Returns the first of a handler's names that this kernel has.
///
/// # Errors
/// The kernel has none of them, or shows no symbols.
fn symbol(symbols: &[String], root: &Root) -> Result<String> {
    let text = kallsyms(root).context("/proc/kallsyms (CONFIG_KALLSYMS)")?;
    let has = |wanted: &&String| text.lines().any(|line| line.split_whitespace().nth(2) == Some(wanted.as_str()));
    symbols.iter().find(has).cloned().ok_or_else(|| {
        anyhow!(
            "this kernel has no function {} (/proc/kallsyms): load the driver, or name its handler (handler=SYMBOL)",
            symbols.join(" and no ")
        )
    })
}

/// Returns the address of a symbol, for a filter; `None` where the kernel hides it.
pub fn address(root: &Root, symbol: &str) -> Option<u64> {
    let text = kallsyms(root).ok()?;
    let line = text.lines().find(|line| line.split_whitespace().nth(2) == Some(symbol))?;
    u64::from_str_radix(line.split_whitespace().next()?, 16).ok().filter(|address| *address != 0)
}

/// Returns a hint where the kernel is locked down, else an empty text.
fn locked(root: &Root) -> String {
    let text = root.read("/sys/kernel/security/lockdown").unwrap_or_default();
    match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some((level, _)) if level != "none" => {
            format!("; the kernel is locked down ({level}): boot it without lockdown, or without secure boot")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// latido takes the newest name that the kernel has. It never matches a part of a name, and it treats a hidden address as unknown.
    #[test]
    fn a_handler_is_looked_up_by_its_whole_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        fs::create_dir_all(root.path("/proc")).unwrap();
        let text = "ffffffff81000010 t uio_interrupt\nffffffff81000020 t uio_interrupt_handler\t[uio]\n0000000000000000 T hidden\n";
        fs::write(root.path("/proc/kallsyms"), text).unwrap();
        let named = |names: &[&str]| symbol(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), &root);
        assert_eq!(named(&["uio_interrupt_handler", "uio_interrupt"]).unwrap(), "uio_interrupt_handler");
        assert_eq!(named(&["gone", "uio_interrupt"]).unwrap(), "uio_interrupt");
        let error = named(&["uio", "none"]).unwrap_err().to_string();
        assert!(error.contains("no function uio and no none") && error.contains("handler=SYMBOL"), "{error}");
        assert_eq!((address(&root, "uio_interrupt"), address(&root, "hidden")), (Some(0xffff_ffff_8100_0010), None));
    }
}
