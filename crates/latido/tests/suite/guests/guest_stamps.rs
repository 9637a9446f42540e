//! The event at the handler of an interrupt, on a machine whose handlers are threads.

use crate::common::far::{Borrowed, Far};

/// What is borrowed of a machine for stamps: events at functions, traces, and the priority of threads of an interrupt.
const BORROWED: &str =
    "cat /sys/kernel/tracing/kprobe_events /sys/kernel/tracing/dynamic_events; ls /sys/kernel/tracing/instances";

/// The event at the handler is the whole machine's: it is gone after success, Ctrl-C, SIGKILL of the host, and after SIGKILL of
/// everybody there with the next latido. Somebody else's event stays.
pub fn are_removed_however_it_ends(far: &Far) {
    far.there("echo 'p:mine/other hpet_interrupt' >> /sys/kernel/tracing/kprobe_events");
    let before = far.there(BORROWED);
    assert!(before.contains("mine/other"), "{before}");
    let (record, said) = far.measured(&["interrupt", "source=hpet", "rate=20", "events=20"]);
    assert_eq!(far.there(BORROWED), before, "after a run: {said}");
    assert_eq!(record["quality"]["stamps"]["handler"]["symbol"], "hpet_interrupt", "{record}");
    let borrowed = Borrowed {
        shown_by: BORROWED,
        run: &["run", "interrupt", "source=hpet", "rate=20", "irq_prio=70", "-d", "10m", "--no-report"],
        is_borrowed: |now| now.contains("hpet_interrupt") && now.lines().any(|line| line.starts_with("latido-")),
    };
    far.gives_back_however_it_ends(&borrowed, &before);
}
