//! `latido load`: one load by itself, until Ctrl-C or for a given time.

use crate::{output::tell, stop::StopRequests};
use anyhow::{Result, bail};
use latido_agent::{
    journal,
    load::LOADS,
    loading::{Surroundings, running::Running},
    machine::{self, heat::Heat},
};
use latido_model::{cell::Item, exit::Exit, registry, units::Ns};
use latido_report::words;
use std::{
    ffi::CString,
    thread,
    time::{Duration, Instant},
};

/// Runs the load; heat above `max_temp` degrees, or near the critical point, ends it. In a process that an agent started as a load, this
/// process may itself do the load's work until it is ended from outside.
///
/// # Errors
/// The load cannot be started, it ended by itself, or it became too hot.
pub fn run(item: &Item, duration: Option<Ns>, max_temp: Option<i32>, seed: u64) -> Result<u8> {
    let load = registry::build("load", LOADS, item)?;
    if item.name == latido_agent::load::none::DEF.name {
        bail!("the load `none` runs nothing; `latido list loads` shows the others");
    }
    if journal::started_as_load() {
        // A trace names the task that a sample waited for. The load's threads inherit this name, and the kernel truncates it.
        let _ = CString::new(item.name.as_str()).map(|name| rustix::thread::set_name(&name));
    }
    if journal::started_as_load()
        && let Some(borne) = load.bear()
    {
        borne?;
        return Ok(Exit::Done.code());
    }
    let interrupts = StopRequests::watch()?;
    let allowed = machine::own_cpus();
    let around = Surroundings { counted: allowed.clone(), allowed, seed };
    let parts = latido_agent::load::parts(std::slice::from_ref(item), &around)?;
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
    let heat = Heat::new(latido_agent::fault::thermal_root(), max_temp, true);
    let mut looked: Option<Instant> = None;
    let until = duration.map(|span| Instant::now() + span.as_duration());
    while interrupts.count() == 0 && until.is_none_or(|until| Instant::now() < until) {
        for running in &mut all {
            if !running.alive() {
                bail!("the load ended by itself: {}", running.died().unwrap_or("for an unknown reason"));
            }
        }
        if looked.is_none_or(|last| last.elapsed() >= Duration::from_secs(1)) {
            looked = Some(Instant::now());
            if let Some(hot) = heat.look() {
                bail!("the load was ended: {hot}; see --max-temp");
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
    all.iter_mut().for_each(Running::measuring_ends);
    // `finish` ends the loads before latido prints, so a slow reader of the output keeps no load running.
    all.iter_mut().rev().for_each(Running::finish);
    for running in all.iter().rev() {
        let record = running.record(0);
        let used = record.cpu_ns.map_or_else(String::new, |ns| format!(", used {} of processor time", Ns(ns)));
        tell(&format!("{}: {}{used}", record.item.name, words::of_load(&record)));
    }
    Ok(if interrupts.count() > 0 && duration.is_some() { Exit::Interrupted } else { Exit::Done }.code())
}
