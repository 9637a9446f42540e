//! Every tuning on every recorded machine: what can be had is undone to the last file, what cannot is refused, and then
//! nothing has changed.

use super::{TUNINGS, trees, trial::applied};
use crate::agent::journal::Journal;

/// A tuning, its options, and whether it can be had of cgroup_v1, cgroup_v2, arm and server.
const EVERYWHERE: &[(&str, &str, [bool; 4])] = &[
    ("cstates", "mode = 'disable'", [false, true, true, true]),
    ("irqs", "away = '1'", [true; 4]),
    ("frequency", "", [false, true, true, true]),
    ("smt", "off = 'all'", [true, true, false, true]),
    ("throttle", "", [true; 4]),
    ("preempt", "model = 'full'", [true, true, false, true]),
    ("irq-priority", "irq = 'all'\nprio = 80", [false, true, false, true]),
    ("rcu", "cpus = '0'", [false, true, false, false]),
    ("rcu", "grace = 'expedited'", [true; 4]),
    ("timers", "", [true; 4]),
    ("workqueues", "away = '1'", [true; 4]),
    ("watchdog", "", [true; 4]),
    ("numa-balancing", "", [true, false, true, true]),
    ("thp", "", [true, false, true, true]),
    ("ksm", "run = 'unmerge'", [true; 4]),
    ("vm-stat", "", [true; 4]),
    ("cache", "cpus = '1'\nways = 2", [false; 4]),
    ("nic", "device = 'eth0'\nthreaded = 'on'", [false, true, false, true]),
    ("printk", "", [true; 4]),
    ("resume-latency", "", [true; 4]),
    ("boot", "parameters = 'threadirqs'", [false, false, false, true]),
];

#[test]
fn each_machine_has_it_or_refuses_it() {
    for (place, machine) in [trees::cgroup_v1, trees::cgroup_v2, trees::arm, trees::server].into_iter().enumerate() {
        let tree = machine();
        let before = tree.contents();
        for (name, options, there) in EVERYWHERE {
            let (_dir, mut journal) = Journal::scratch();
            match applied(name, options, &tree.root, &mut journal) {
                Ok(record) => assert!(there[place] && record.in_force, "{name} on machine {place}: {record:?}"),
                Err(error) => assert!(!there[place], "{name} on machine {place}: {error:#}"),
            }
            assert_eq!(journal.settle().unwrap(), Vec::<String>::new(), "{name} on machine {place}");
            let after = tree.contents();
            let differ: Vec<&String> = after.keys().filter(|path| after.get(*path) != before.get(*path)).collect();
            assert!(differ.is_empty() && after.len() == before.len(), "{name} on machine {place}: {differ:?}");
        }
    }
}

/// `isolate` has tests of its own on all four, without a journal: it moves a hundred threads.
#[test]
fn no_tuning_is_forgotten() {
    for tuning in TUNINGS {
        let tried = tuning.name == "isolate" || EVERYWHERE.iter().any(|(name, ..)| *name == tuning.name);
        assert!(tried, "{} is tried on no recorded machine", tuning.name);
    }
}
