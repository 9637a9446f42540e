//! Which of a plan's kernels runs on each target: the target's machine reports its kernel, or the user names it (`--as`).

use super::screen::Screen;
use crate::{
    machines::{self, Unavailable},
    stop::Stopped,
};
use anyhow::{Context, Result};
use latido_model::{
    cell::{Cell, LAB, RUNNING},
    machine::Machine,
    plan::{
        Plan,
        kernels::{Named, recognised},
    },
    protocol::{Inspect, Reply, Request},
};
use std::collections::{BTreeMap, BTreeSet};

/// The kernels of the targets, by the plan's names; empty where the plan describes no kernels.
#[derive(Debug, Default)]
pub struct Kernels {
    /// By target: its kernel in the plan, and what the kernel reports about itself.
    running: BTreeMap<String, Running>,
    /// The levels that a running kernel can match.
    known: BTreeSet<String>,
}

/// The kernel that runs on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Running {
    /// The plan's name for it; `None` where the plan does not describe it.
    name: Option<String>,
    /// Its description, for the user.
    what: String,
}

/// Whether a target offers a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Had {
    /// The target knows the kernel by its name.
    AsNamed,
    /// The kernel runs there.
    Running,
    /// Another kernel runs there: the reason to skip.
    Other(String),
}

impl Kernels {
    /// Inspects each target of these cells, except the laboratory, which boots the named kernels.
    ///
    /// # Errors
    /// A target cannot be reached.
    pub fn of(plan: &Plan, cells: &[&Cell], stopped: Stopped<'_>, screen: &mut Screen) -> Result<Self> {
        let mut found = Self::default();
        if plan.kernels.is_empty() && plan.kernel_as.is_none() {
            return Ok(found);
        }
        found.known = plan.kernels.iter().map(|one| one.name.clone()).chain(plan.kernel_as.clone()).collect();
        let targets: BTreeSet<&str> =
            cells.iter().map(|cell| cell.target.as_str()).filter(|name| *name != LAB).collect();
        for target in targets {
            let running = match &plan.kernel_as {
                Some(name) => Running { name: Some(name.clone()), what: "according to --as".into() },
                None => asked(&plan.kernels, target, stopped)?,
            };
            let called = running.name.as_ref().map_or("not in the plan".into(), |name| format!("the plan's `{name}`"));
            screen.say(&format!("kernel of {target}: {called} ({})", running.what));
            found.running.insert(target.to_owned(), running);
        }
        Ok(found)
    }

    /// Returns whether a target offers this kernel of the plan.
    pub fn of_block(&self, target: &str, kernel: &str) -> Had {
        let Some(running) = self.running.get(target) else { return Had::AsNamed };
        let is = |name: &String| name == kernel;
        match &running.name {
            Some(name) if is(name) => Had::Running,
            // The plan compares this kernel by its name. latido does not measure it again as the running kernel.
            Some(name) if kernel == RUNNING => {
                Had::Other(format!("the running kernel of {target} is measured as `{name}`"))
            }
            _ if self.known.contains(kernel) => Had::Other(format!(
                "kernel `{kernel}`: {target} runs {} ({})",
                running.name.as_ref().map_or("another".to_owned(), |name| format!("`{name}`")),
                running.what
            )),
            _ => Had::AsNamed,
        }
    }
}

/// Returns what a target's machine reports about its kernel.
fn asked(all: &[Named], name: &str, stopped: Stopped<'_>) -> Result<Running> {
    let mut session = match machines::named(name)?.open(RUNNING, 1, stopped) {
        Ok(session) => session,
        Err(Unavailable::NotHad(reason)) => return Ok(Running { name: None, what: reason }),
        Err(Unavailable::Failed(error)) => return Err(error.context(format!("target `{name}`"))),
    };
    let mut machine: Option<Machine> = None;
    let answered = session.answer(&Request::Inspect(Inspect::default()), stopped, |reply| {
        if let Reply::Inspected(inspected) = reply {
            machine = Some(inspected.machine);
        }
    });
    match answered {
        Ok(()) => session.close(),
        Err(error) => {
            drop(session.abandon());
            return Err(error);
        }
    }
    let found = recognised(all, &machine.context("the agent did not report its machine")?);
    Ok(Running { name: found.name, what: found.what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels(name: Option<&str>) -> Kernels {
        let running = Running { name: name.map(str::to_owned), what: "preemption none".into() };
        Kernels {
            running: BTreeMap::from([("local".to_owned(), running)]),
            known: ["stock", "rt"].map(str::to_owned).into(),
        }
    }

    #[test]
    fn a_target_has_the_kernel_that_it_is() {
        let of = |running: Option<&str>, kernel: &str| kernels(running).of_block("local", kernel);
        assert_eq!(of(Some("stock"), "stock"), Had::Running);
        assert_eq!(of(Some("stock"), RUNNING), Had::Other("the running kernel of local is measured as `stock`".into()));
        assert_eq!(of(Some("stock"), "rt"), Had::Other("kernel `rt`: local runs `stock` (preemption none)".into()));
        // A kernel that the plan does not describe is measured as the running kernel.
        assert_eq!(of(None, RUNNING), Had::AsNamed);
        assert_eq!(of(None, "rt"), Had::Other("kernel `rt`: local runs another (preemption none)".into()));
        // latido leaves a kernel that the plan does not describe to the target.
        assert_eq!(of(Some("stock"), "xenomai"), Had::AsNamed);
        assert_eq!(kernels(Some("stock")).of_block("lab", "rt"), Had::AsNamed);
    }
}
