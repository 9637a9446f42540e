//! The steps until the measuring process runs: tunings, loads, their settling, the recording, the start.

use super::{
    Work,
    completed::{Found, measured_cpus, priority},
    listening::Listening,
};
use crate::{
    journal::Marked,
    load::LOADS,
    loading::{Surroundings, running::Running},
    machine::{self, heat::Heat, isolated, tracing},
    measure::assignment::{Assignment, stay_on},
    probe::PROBES,
    supervise::{attempt::Event, by_hand, child::Measuring, traced::Recording, watch::Hardware},
};
use anyhow::{Result, bail};
use latido_model::{cpus::CpuSet, protocol::Phase, registry};
use std::{sync::mpsc::channel, time::Duration};

impl Work<'_> {
    /// Refuses a machine that is too hot, and applies the tunings.
    pub(super) fn tune(&mut self) -> Result<Event> {
        cool(&self.heat)?;
        self.voice.phase(Phase::Tuning);
        leave(&self.assignment.isolated);
        self.borrowed.tune(&self.assignment.cell.tuning, self.named, self.journal)?;
        // This is the machine as it is measured. The changes of the tunings contain what they found before.
        let machine = machine::read(&machine::Root::default());
        let by_hand = by_hand::applied(&machine::Root::default())?;
        let entries = isolated::entries(&machine::Root::default());
        self.found = Found { machine, by_hand, entries };
        Ok(Event::Done)
    }

    /// Starts the loads.
    pub(super) fn load(&mut self) -> Result<Event> {
        let cell = &self.assignment.cell;
        self.voice.phase(Phase::Loading);
        let counted = self.assignment.counted.clone();
        let around = Surroundings { allowed: machine::own_cpus(), counted, seed: cell.seed };
        let mut settle = Duration::ZERO;
        let parts = crate::load::parts(&cell.load.items, &around)?;
        self.borrowed.skipped.extend(parts.skipped);
        for item in &parts.items {
            let load = registry::build("load", LOADS, item)?;
            settle = settle.max(load.settle().as_duration());
            self.borrowed.loads.push(Running::start(load.as_ref(), &item.name, &around, Some(&mut *self.journal))?);
        }
        // From here on this process stays off the measured CPUs. The loads were started before, and may run on all.
        stay_on(self.assignment.housekeeping.as_ref());
        self.voice.phase(Phase::Settling);
        Ok(Event::Loaded(settle))
    }

    /// Checks that the loads live while they settle.
    pub(super) fn loads(&mut self) -> Result<Event> {
        for load in &mut self.borrowed.loads {
            if !load.alive() {
                bail!("the load died before the measurement: {}", load.died().unwrap_or("no reason known"));
            }
        }
        self.journal.pulse.beat(Phase::Settling);
        Ok(Event::Loads { stops: self.journal.pulse.stops() })
    }

    /// Begins the recording, and starts the measuring process.
    pub(super) fn start(&mut self) -> Result<Event> {
        cool(&self.heat)?;
        let assignment = self.assignment;
        let probe = registry::build("probe", PROBES, &assignment.cell.probe)?;
        let wanted = probe.wants();
        let program = probe.starts().map(|program| Marked::planned(program, self.journal)).transpose()?;
        let (recording, stamped) = Recording::begin_beside(assignment, wanted, self.journal)?;
        let tracing = tracing::seen(&crate::fault::tracing_root());
        let (events, inbox) = channel();
        let orders = Assignment {
            entries: self.found.entries.clone(),
            instance: recording.as_ref().map(|recording| recording.instance().clone()),
            stamped,
            program: program.clone(),
            spool: self.spool.path().into(),
            ..assignment.clone()
        };
        let hardware = hardware(assignment);
        let measuring = Measuring::spawn(&orders, move |told| events.send(told).is_ok())?;
        self.listening = Some(Listening {
            record: None,
            evidence: None,
            watch: None,
            measuring,
            hardware: Some(hardware),
            inbox,
            recording,
            program,
            tracing,
            failure: None,
            too_hot: None,
            watched_from: 0,
            rank: priority(assignment.cell.scheduling),
        });
        crate::fault::point("agent");
        Ok(Event::Done)
    }
}

/// Moves this process off CPUs before they are isolated. The kernel subtracts the weight of a moved thread from a CPU only when it next
/// updates that CPU's load. An idle isolated CPU would keep this process's weight for ever, and the process's session would get that much
/// less of the other CPUs (update_tg_load_avg, kernel/sched/fair.c).
fn leave(isolated: &CpuSet) {
    if !isolated.is_empty() {
        stay_on(Some(&machine::own_cpus().without(isolated)));
    }
}

/// Refuses to begin or to continue on a machine that is too hot.
fn cool(heat: &Heat) -> Result<()> {
    match heat.look() {
        Some(hot) => bail!("it is too hot to measure: {hot}; let the machine cool down, or see --max-temp"),
        None => Ok(()),
    }
}

/// Reads the state of the hardware before the loops.
fn hardware(assignment: &Assignment) -> Hardware {
    let (root, thermal) = (machine::Root::default(), crate::fault::thermal_root());
    Hardware::before(root, thermal, &measured_cpus(&assignment.cell), assignment.housekeeping.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine as fixture;

    /// At the limit a measurement must begin. Above it, the refusal must give the temperature and the remedy.
    #[test]
    fn a_hot_machine_is_refused() {
        let tree = fixture::empty();
        let heat = |degrees: u32| {
            tree.write("sys/class/thermal/thermal_zone0/temp", &format!("{degrees}000\n"));
            cool(&Heat::new(tree.root.clone(), Some(75), false)).map_err(|error| error.to_string())
        };
        assert_eq!(heat(75), Ok(()));
        let refused = heat(80).unwrap_err();
        assert!(refused.contains("too hot to measure: 80 degrees, above the limit of 75"), "{refused}");
        assert!(refused.contains("--max-temp"), "{refused}");
    }
}
