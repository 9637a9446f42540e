//! What a cell borrows of the machine: tunings and loads, given back in reverse order.

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

/// What was borrowed of the machine for one cell, in the order in which it was taken.
#[derive(Default)]
pub struct InForce {
    /// In force.
    pub tunings: Vec<Applied>,
    /// At work.
    pub loads: Vec<Running>,
    /// What could not be had and was not asked for by name.
    pub skipped: Vec<Skip>,
}

impl InForce {
    /// Applies the tunings of a level; `named` are those that a person asked for.
    ///
    /// # Errors
    /// One that was asked for is refused, or [`Stopped`].
    pub fn tune(&mut self, level: &Level, named: &Level, journal: &mut Journal) -> Result<()> {
        for item in &level.items {
            let tuning = registry::build("tuning", TUNINGS, item)?;
            match apply(tuning.as_ref(), &item.name, &machine::Root::default(), Custody::Run, journal) {
                Ok(applied) => self.tunings.push(applied),
                Err(error) if error.is::<Stopped>() => return Err(error),
                // What nobody asked for by name is not worth an error: the record says that it was not had.
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
    /// It has none, or the kernel refuses it.
    pub fn raise(&mut self, line: &str, prio: u8, journal: &mut Journal) -> Result<()> {
        let (tuning, name) = irq_priority::of(line, prio);
        let root = machine::Root::default();
        self.tunings.push(apply(tuning.as_ref(), name, &root, Custody::Run, journal)?);
        Ok(())
    }

    /// Everything back, in reverse order.
    pub fn give_back(&mut self, pulse: &mut Pulse) {
        for load in self.loads.iter_mut().rev() {
            pulse.beat(latido_model::protocol::Phase::Undoing);
            load.finish();
        }
        pulse.beat(latido_model::protocol::Phase::Undoing);
        // Whatever a load left in a session and an environment of its own was adopted by this process.
        orphans::end();
        while let Some(applied) = self.tunings.pop() {
            drop(applied);
        }
    }
}
