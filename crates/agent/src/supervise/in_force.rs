//! The changes that a cell makes to the machine: tunings and loads, which latido restores in reverse order.

use crate::machine;
use crate::{
    journal::{
        Custody, Journal,
        pulse::{Pulse, Stopped},
    },
    loading::{orphans, running::Running},
    setting::{Applied, apply::apply},
    tuning::{TUNINGS, irq_priority},
};
use anyhow::Result;
use latido_model::{cell::Level, record::Skip, registry};

/// The changes to the machine for one cell, in the order in which they were made.
#[derive(Default)]
pub struct InForce {
    /// The tunings in force.
    pub tunings: Vec<Applied>,
    /// The running loads.
    pub loads: Vec<Running>,
    /// What was not possible here and not requested by name.
    pub skipped: Vec<Skip>,
}

impl InForce {
    /// Applies the tunings of a level; `named` are those that a person requested.
    ///
    /// # Errors
    /// A requested tuning is refused, or [`Stopped`].
    pub fn tune(&mut self, level: &Level, named: &Level, journal: &mut Journal) -> Result<()> {
        for item in &level.items {
            let tuning = registry::build("tuning", TUNINGS, item)?;
            match apply(tuning.as_ref(), &item.name, &machine::Root::default(), Custody::Run, journal) {
                Ok(applied) => self.tunings.push(applied),
                Err(error) if error.is::<Stopped>() => return Err(error),
                // A tuning that was not requested by name causes no error: the record states that it was not in force.
                Err(error) if !named.items.iter().any(|asked| asked.name == item.name) => {
                    self.skipped.push(Skip { what: format!("tuning {}", item.name), why: format!("{error:#}") });
                }
                Err(error) => return Err(error.context(format!("tuning `{}`", item.name))),
            }
            crate::fault::point("agent");
        }
        Ok(())
    }

    /// Gives the threads of an interrupt a priority, as the tuning `irq-priority` does.
    ///
    /// # Errors
    /// The interrupt has no thread, or the kernel refuses the priority.
    pub fn raise(&mut self, line: &str, prio: u8, journal: &mut Journal) -> Result<()> {
        let (tuning, name) = irq_priority::of(line, prio);
        let root = machine::Root::default();
        self.tunings.push(apply(tuning.as_ref(), name, &root, Custody::Run, journal)?);
        Ok(())
    }

    /// Restores everything, in reverse order.
    pub fn give_back(&mut self, pulse: &mut Pulse) {
        for load in self.loads.iter_mut().rev() {
            pulse.beat(latido_model::protocol::Phase::Undoing);
            load.finish();
        }
        pulse.beat(latido_model::protocol::Phase::Undoing);
        // This process has adopted whatever a load left behind in a separate session with a separate environment.
        orphans::end();
        while let Some(applied) = self.tunings.pop() {
            drop(applied);
        }
    }
}
