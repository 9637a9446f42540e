use super::*;
use crate::{
    fixture::{
        trees,
        trial::{Proof, applied, refusal},
    },
    journal::Journal,
};

const KNOBS: [Def<dyn Tuning>; 6] = [TIMERS, NUMA_BALANCING, COMPACTION, KSM, VM_STAT, PRINTK];

/// Returns the objection to options of a knob.
fn objection(name: &str, options: &str) -> String {
    let def = KNOBS.into_iter().find(|def| def.name == name).unwrap();
    let error = (def.new)(options.parse().unwrap()).err().unwrap_or_else(|| panic!("{name} takes {options}"));
    assert!(error.is::<Objection>());
    error.to_string()
}

#[test]
fn timers_are_applied_and_undone() {
    for machine in [trees::cgroup_v1, trees::cgroup_v2, trees::arm, trees::server] {
        let proof = Proof {
            name: "timers",
            options: "",
            machine: &machine,
            after: &[("proc/sys/kernel/timer_migration", "0\n")],
            other: ("proc/sys/kernel/timer_migration", "2\n"),
            without: &[("proc/sys/kernel/timer_migration", "CONFIG_NO_HZ_COMMON")],
        };
        proof.holds();
    }
}

#[test]
fn numa_balancing_is_applied_and_undone() {
    let proof = Proof {
        name: "numa-balancing",
        options: "",
        machine: &trees::server,
        after: &[("proc/sys/kernel/numa_balancing", "0\n")],
        other: ("proc/sys/kernel/numa_balancing", "2\n"),
        without: &[],
    };
    proof.holds();
}

#[test]
fn locked_pages_are_left_where_they_are_and_may_be_moved_again() {
    let path = "proc/sys/vm/compact_unevictable_allowed";
    for machine in [trees::cgroup_v1, trees::server] {
        let after = &[(path, "0\n")];
        let without = &[(path, "CONFIG_COMPACTION")];
        Proof { name: "compaction", options: "", machine: &machine, after, other: (path, "7\n"), without }.holds();
    }
}

/// PREEMPT_RT excludes NUMA balancing.
#[test]
fn a_kernel_without_it_says_so() {
    assert!(refusal("numa-balancing", "", &trees::cgroup_v2()).contains("CONFIG_NUMA_BALANCING"));
}

/// If there is nothing to do, latido must report that and change nothing.
#[test]
fn a_machine_that_is_so_already_is_left_alone() {
    let (_dir, mut journal) = Journal::scratch();
    let record = applied("numa-balancing", "", &trees::arm().root, &mut journal).unwrap();
    assert!(record.in_force && record.changes.is_empty());
    assert!(record.note.unwrap().contains("already"));
}

#[test]
fn ksm_is_applied_and_undone() {
    let proof = Proof {
        name: "ksm",
        options: "run = 'unmerge'",
        machine: &trees::server,
        after: &[("sys/kernel/mm/ksm/run", "2\n")],
        other: ("sys/kernel/mm/ksm/run", "0\n"),
        without: &[("sys/kernel/mm/ksm/run", "CONFIG_KSM")],
    };
    proof.holds();
}

#[test]
fn vm_stat_is_applied_and_undone() {
    let proof = Proof {
        name: "vm-stat",
        options: "interval = '60s'",
        machine: &trees::server,
        after: &[("proc/sys/vm/stat_interval", "60\n")],
        other: ("proc/sys/vm/stat_interval", "10\n"),
        without: &[("proc/sys/vm/stat_interval", "CONFIG_SMP")],
    };
    proof.holds();
}

#[test]
fn printk_is_applied_and_undone() {
    let proof = Proof {
        name: "printk",
        options: "",
        machine: &trees::arm,
        after: &[("proc/sys/kernel/printk", "1\t4\t1\t7\n")],
        other: ("proc/sys/kernel/printk", "3\t4\t1\t7\n"),
        without: &[("proc/sys/kernel/printk", "CONFIG_PRINTK")],
    };
    proof.holds();
}

/// The message must be like that for options that are fields of a type.
#[test]
fn what_is_wrong_is_said_in_words_of_the_option() {
    for (name, options, sentence) in [
        ("timers", "migratoin = 'off'", "has no option `migratoin` (did you mean `migration`?); it has migration"),
        ("timers", "migration = 'of'", "`migration` has no value `of` (did you mean `off`?); its values are off, on"),
        (
            "ksm",
            "run = 'merge'",
            "`run` has no value `merge` (did you mean `unmerge`?); its values are stop, on, unmerge",
        ),
        ("ksm", "run = 2", "`run` must be one of its names, not 2"),
        ("vm-stat", "interval = '0s'", "`interval` is whole seconds from 1s, not 0ns"),
        ("vm-stat", "interval = '1500ms'", "`interval` is whole seconds from 1s, not 1500ms"),
        ("vm-stat", "interval = 5", "`interval`: 5 has no unit: write \"5us\", \"5ms\" or \"5s\""),
        ("printk", "level = 9", "`level` is 1 to 8, not 9"),
        ("printk", "level = 300", "`level` must be a whole number from 0 to 255, not 300"),
        ("printk", "level = 'high'", "`level` must be a whole number from 0, not \"high\""),
    ] {
        assert_eq!(objection(name, options), sentence, "{name} {options}");
    }
}

#[test]
fn the_record_has_the_option_after_defaults() {
    let options = KNOBS.map(|def| (def.new)(Table::new()).unwrap().options().to_string());
    let expected = [
        "migration = \"off\"",
        "balancing = \"off\"",
        "locked = \"off\"",
        "run = \"stop\"",
        "interval = \"2m\"",
        "level = 1",
    ];
    assert_eq!(options.map(|text| text.trim().to_string()), expected);
}
