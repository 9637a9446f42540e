//! The sessions of a run: one per boot of a kernel on a target. latido opens each when needed, and again if it broke.

use super::{
    kernels::{Had, Kernels},
    screen::Screen,
};
use crate::machines::{self, Target, Unavailable, recovered, session::Session};
use crate::stop::StopRequests;
use anyhow::{Context, Result};
use latido_model::{
    cell::{Cell, RUNNING},
    plan::Plan,
    protocol::{Phase, Progress, Ready, Reply, Request},
    units::Ns,
};
use std::collections::BTreeMap;

/// One boot of a kernel on a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootBlock {
    /// The target.
    pub target: String,
    /// The kernel.
    pub kernel: String,
    /// The number of the boot, from 1.
    pub boot: u32,
}

impl BootBlock {
    /// Returns the block of a cell.
    pub fn of(cell: &Cell) -> Self {
        Self { target: cell.target.clone(), kernel: cell.kernel.clone(), boot: cell.boot }
    }
}

/// The open sessions.
pub struct Sessions {
    targets: BTreeMap<String, Box<dyn Target>>,
    open: BTreeMap<BootBlock, Session>,
    machines: Vec<String>,
    /// The boot id with which each block started.
    boots: BTreeMap<BootBlock, String>,
    /// How long to wait for another latido on a target.
    wait: Option<Ns>,
    /// Which of the plan's kernels runs on each target.
    kernels: Kernels,
}

/// The result of preparing cells.
pub enum Readiness {
    /// What the target reports.
    Ready(Box<Ready>),
    /// The target does not offer this block, for this reason.
    NotHad(String),
}

impl Sessions {
    /// Returns an empty set of sessions.
    pub fn new(wait: Option<Ns>) -> Self {
        Self {
            targets: BTreeMap::new(),
            open: BTreeMap::new(),
            machines: Vec::new(),
            boots: BTreeMap::new(),
            wait,
            kernels: Kernels::default(),
        }
    }

    /// Finds which of the plan's kernels the targets of these cells run.
    ///
    /// # Errors
    /// A target cannot be reached.
    pub fn recognise(&mut self, plan: &Plan, cells: &[&Cell], stops: &StopRequests, screen: &mut Screen) -> Result<()> {
        self.kernels = Kernels::of(plan, cells, &|| stops.count() > 0, screen)?;
        Ok(())
    }

    /// Opens a session for a block and has the agent take the machine for its cells.
    ///
    /// # Errors
    /// No connection, another latido that runs there, or what the machine refuses.
    pub fn prepare(
        &mut self,
        block: &BootBlock,
        cells: &[Cell],
        stops: &StopRequests,
        screen: &mut Screen,
    ) -> Result<Readiness> {
        let kernel = match self.kernels.of_block(&block.target, &block.kernel) {
            Had::AsNamed => block.kernel.as_str(),
            Had::Running => RUNNING,
            Had::Other(reason) => return Ok(Readiness::NotHad(reason)),
        };
        let target = match self.targets.entry(block.target.clone()) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => new.insert(machines::named(&block.target)?),
        };
        let mut session = match target.open(kernel, block.boot, &|| stops.count() > 0) {
            Ok(session) => session,
            Err(Unavailable::NotHad(reason)) => return Ok(Readiness::NotHad(reason)),
            Err(Unavailable::Failed(error)) => return Err(error.context(format!("target `{}`", block.target))),
        };
        let (mut ready, mut boots) = (None, false);
        let request = Request::Prepare { cells: cells.to_vec(), wait: self.wait };
        let answered = session.answer(&request, &|| stops.count() > 0, |reply| match reply {
            Reply::Ready(said) => ready = Some(said),
            Reply::Note { message } => screen.warn(&message),
            Reply::Progress(Progress { phase: Phase::Emulating, .. }) if !boots => {
                boots = true;
                screen.say(&format!("kernel {}: latido boots a guest and asks what it can measure", block.kernel));
            }
            _ => {}
        });
        match answered.and_then(|()| ready.context("the agent did not report what it can measure")) {
            Ok(ready) => {
                if !self.machines.contains(&session.hello.machine) {
                    self.machines.push(session.hello.machine.clone());
                }
                let boot = &session.hello.boot_id;
                let begun = self.boots.entry(block.clone()).or_insert_with(|| boot.clone());
                if begun != boot {
                    // The measurement is still useful, and each cell records its boot.
                    screen.warn(&format!(
                        "{} was rebooted since the run started there: cells before and after belong to different \
                         boots (boot_id in their host.json)",
                        session.hello.machine
                    ));
                    begun.clone_from(boot);
                }
                self.open.insert(block.clone(), session);
                Ok(Readiness::Ready(ready))
            }
            Err(error) => {
                match session.is_whole() {
                    true => session.close(),
                    false => drop(session.abandon()),
                }
                Err(error)
            }
        }
    }

    /// Returns the session of a block. Opens it again if it broke, and then prepares the block's cells again.
    ///
    /// # Errors
    /// As [`Sessions::prepare`].
    pub fn of(
        &mut self,
        block: &BootBlock,
        cells: &[Cell],
        stops: &StopRequests,
        screen: &mut Screen,
    ) -> Result<&mut Session> {
        if !self.open.get(block).is_some_and(Session::is_whole) {
            self.open.remove(block);
            let own: Vec<Cell> = cells.iter().filter(|cell| BootBlock::of(cell) == *block).cloned().collect();
            if let Readiness::NotHad(reason) = self.prepare(block, &own, stops, screen)? {
                anyhow::bail!(reason);
            }
        }
        self.open.get_mut(block).context("the session is not open")
    }

    /// Restores a machine after its session broke: a new agent restores at once what the old one may have left, not only at the next run.
    pub fn mend(&mut self, block: &BootBlock, stops: &StopRequests, screen: &mut Screen) {
        if self.open.get(block).is_none_or(Session::is_whole) {
            return;
        }
        self.open.remove(block);
        let Some(target) = self.targets.get(&block.target) else { return };
        // A user who ended the measurement still wants the machine restored. Another Ctrl-C ends that too.
        let before = stops.count();
        let running = matches!(self.kernels.of_block(&block.target, &block.kernel), Had::Running);
        let kernel = if running { RUNNING } else { &block.kernel };
        for told in recovered(target.as_ref(), kernel, block.boot, &|| stops.count() > before) {
            screen.warn(&told);
        }
    }

    /// Ends the sessions of all other blocks.
    pub fn only(&mut self, block: &BootBlock) {
        let over: Vec<BootBlock> = self.open.keys().filter(|open| *open != block).cloned().collect();
        for block in over {
            self.close(&block);
        }
    }

    /// Ends the session of a block.
    pub fn close(&mut self, block: &BootBlock) {
        if let Some(mut session) = self.open.remove(block) {
            match session.is_whole() {
                true => session.close(),
                false => drop(session.abandon()),
            }
        }
    }

    /// Ends all sessions.
    pub fn close_all(&mut self) {
        let all: Vec<BootBlock> = self.open.keys().cloned().collect();
        all.iter().for_each(|block| self.close(block));
    }

    /// Returns the names of the machines that answered.
    pub fn machines(&self) -> &[String] {
        &self.machines
    }
}
