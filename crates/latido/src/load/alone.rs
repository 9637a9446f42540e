//! `latido load`: one load by itself, until Ctrl-C or for a while.

use super::{LOADS, Surroundings, running::Running};
use crate::{agent::journal::MARK, cell::Item, host::Interrupts, machine, registry, units::Ns};
use anyhow::{Result, bail};
use std::{
    io::{Write, stderr},
    thread,
    time::{Duration, Instant},
};

/// Runs the load. In a process that an agent started as a load, bears it until ended from outside.
///
/// # Errors
/// The load cannot be started, or it ended by itself.
pub fn run(item: &Item, duration: Option<Ns>, seed: u64) -> Result<u8> {
    let load = registry::build("load", LOADS, item)?;
    if item.name == super::none::DEF.name {
        bail!("the load `none` is nothing, so there is nothing to run; `latido list loads` shows the others");
    }
    if std::env::var_os(MARK).is_some()
        && let Some(borne) = load.bear()
    {
        borne?;
        return Ok(0);
    }
    let interrupts = Interrupts::watch()?;
    let around = Surroundings { allowed: machine::allowed_cpus(), seed };
    let parts = super::parts(std::slice::from_ref(item), &around)?;
    // Nobody to tell it to is no reason to end the load.
    let tell = |text: &str| _ = writeln!(stderr(), "{text}");
    parts.skipped.iter().for_each(|skip| tell(&format!("{}: {}", skip.what, skip.why)));
    let mut all = Vec::new();
    for item in &parts.items {
        let load = registry::build("load", LOADS, item)?;
        let running = Running::start(load.as_ref(), &item.name, &around, None)?;
        running.launch().note.iter().for_each(|note| tell(note));
        tell(&format!("running {}", running.launch().argv.join(" ")));
        running.launch().commands.iter().for_each(|command| tell(&format!("  which runs {command}")));
        all.push(running);
    }
    all.iter_mut().for_each(Running::measuring_starts);
    let until = duration.map(|span| Instant::now() + span.as_duration());
    while interrupts.count() == 0 && until.is_none_or(|until| Instant::now() < until) {
        for running in &mut all {
            if !running.alive() {
                bail!("the load ended by itself: {}", running.died().unwrap_or("no reason known"));
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
    for running in all.iter_mut().rev() {
        running.measuring_ends();
        let record = running.record();
        let counts = record.achieved.iter().map(|(name, count)| format!(", {name} {count}")).collect::<String>();
        let used = record.cpu_ns.map_or_else(String::new, |ns| format!("used {} of processor time", Ns(ns)));
        tell(&format!("{}: {used}{counts}", record.item.name));
        running.stop();
    }
    Ok(if interrupts.count() > 0 && duration.is_some() { crate::host::INTERRUPTED } else { 0 })
}
