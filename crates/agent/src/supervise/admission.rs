//! Finds out whether the kernel would grant a policy, before anything starts, on threads that end at once.

use crate::machine::Reach;
use crate::measure::{permission, threads};
use crate::probe;
use latido_model::{
    cell::{Cell, NiceBy, Scheduling},
    cpus::CpuSet,
    plan::scheduling::DEFAULT,
};
use latido_sys::{Errno, sched};
use std::{collections::BTreeSet, sync::mpsc::channel, thread};

/// Tries the schedulings that these cells name. Returns one sentence for each that the kernel refuses, with the limit and the remedy. It
/// does not try the default: a run that names no scheduling goes on without it, under a banner.
pub fn refusals(cells: &[&Cell]) -> Vec<String> {
    let usable = Reach::ask().usable;
    let mut asked = Vec::new();
    let mut refused = Vec::new();
    for cell in cells.iter().filter(|cell| cell.scheduling != DEFAULT && probe::asks(&cell.probe)) {
        let threads = cell.conditions.cpus.as_ref().map_or(usable.len(), CpuSet::len).max(1);
        if asked.contains(&(cell.scheduling, threads)) {
            continue;
        }
        asked.push((cell.scheduling, threads));
        refused.extend(
            try_out(cell.scheduling, threads, &usable).err().map(|error| permission::explain(cell.scheduling, error)),
        );
    }
    // The same sentence may come from several numbers of threads.
    let mut seen = BTreeSet::new();
    refused.retain(|one| seen.insert(one.clone()));
    refused
}

/// Tries it on as many threads as would measure: the budgets of deadline threads add up.
fn try_out(scheduling: Scheduling, threads: usize, usable: &CpuSet) -> Result<(), Errno> {
    let count = if matches!(scheduling, Scheduling::Deadline { .. }) { threads } else { 1 };
    let ask = move |usable: CpuSet| {
        // The kernel refuses a deadline thread if an inherited mask excludes a CPU. The measuring threads have no such mask.
        let _ = sched::set_affinity(0, usable.iter());
        match scheduling {
            // A process gets this at its start, from outside, which takes the same permission.
            Scheduling::Other { nice, by: NiceBy::Nice } => sched::set_nice(nice),
            other => threads::ask(other),
        }
    };
    let (tell, told) = channel();
    // Each thread keeps what it was granted until all have tried.
    let mut kept = Vec::new();
    for _ in 0..count {
        let ((keep, until), tell, usable) = (channel::<()>(), tell.clone(), usable.clone());
        let asked = thread::Builder::new().spawn(move || {
            let _ = tell.send(ask(usable));
            drop(tell);
            let _ = until.recv();
        });
        // If a thread cannot even start, the measurement reports that.
        kept.extend(asked.map(|thread| (keep, thread)));
    }
    drop(tell);
    let answer = told.iter().collect::<Result<Vec<()>, Errno>>().map(drop);
    for (keep, thread) in kept {
        drop(keep);
        let _ = thread.join();
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        needs::{Need, skip},
        sample,
        units::Ns,
    };
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

    fn cell(scheduling: Scheduling) -> Cell {
        Cell { scheduling, ..sample::cell() }
    }

    /// No kernel grants a deadline period under 100 µs (EINVAL).
    #[test]
    fn impossible_deadlines_are_refused_with_their_reason() {
        let deadline = |runtime, period| Scheduling::Deadline { runtime, deadline: period, period };
        let short = refusals(&[&cell(deadline(Ns(10_000), Ns(20_000)))]);
        assert!(short.len() == 1 && short[0].contains("a period of 100us to 4s"), "{short:?}");
    }

    /// A thread without the right is refused what a cell names, but the default goes on under a banner.
    #[test]
    fn the_default_is_not_tried() {
        let asked = thread::spawn(|| {
            let own = capabilities(None).unwrap();
            let effective = own.effective - CapabilitySet::SYS_NICE;
            set_capabilities(None, CapabilitySets { effective, ..own }).unwrap();
            [Scheduling::Rr { prio: 80 }, DEFAULT].map(|scheduling| refusals(&[&cell(scheduling)]))
        });
        let [named, default] = asked.join().unwrap();
        if named.is_empty() {
            return skip("a default that is refused", Need::AnotherUser, "a limit grants real-time priorities here");
        }
        assert_eq!(default, Vec::<String>::new());
    }

    /// The kernel refuses round robin for one thread and for two, and FIFO in between: that is one sentence for each policy.
    #[test]
    fn a_policy_is_refused_in_one_sentence() {
        let asked = thread::spawn(|| {
            let own = capabilities(None).unwrap();
            let effective = own.effective - CapabilitySet::SYS_NICE;
            set_capabilities(None, CapabilitySets { effective, ..own }).unwrap();
            let on = |scheduling, cpus: &str| {
                let mut cell = cell(scheduling);
                cell.conditions.cpus = Some(cpus.parse().unwrap());
                cell
            };
            let (rr, fifo) = (Scheduling::Rr { prio: 80 }, Scheduling::Fifo { prio: 70 });
            refusals(&[on(rr, "0"), on(fifo, "0"), on(rr, "0-1")].iter().collect::<Vec<_>>())
        });
        let refused = asked.join().unwrap();
        if refused.is_empty() {
            return skip("a policy that is refused", Need::AnotherUser, "a limit grants real-time priorities here");
        }
        assert!(refused.len() == 2 && refused[0] != refused[1], "{refused:?}");
    }

    /// Every user may use time-sharing policies.
    #[test]
    fn ordinary_policies_are_granted() {
        let ordinary = [Scheduling::OTHER, Scheduling::Batch { nice: 0 }, Scheduling::Idle];
        assert_eq!(refusals(&ordinary.map(cell).iter().collect::<Vec<_>>()), Vec::<String>::new());
    }
}
