//! Machines with their own kernels, reached over ssh. One boot per kernel serves all tests that need it, since a boot takes as long as the
//! rest.

use super::{guest, guest_isolated, guest_tracers};
use crate::common::{
    Need,
    far::{Borrowed, Far},
    skip,
};

/// A machine with these options of `scripts/guest`; `None` if it is not available, which the test notes.
fn machine(what: &str, options: &[&str]) -> Option<Far> {
    Far::start(&[options, &["--mem", "512", "--timeout", "300"]].concat())
        .map_err(|why| skip(what, Need::Qemu, &why))
        .ok()
}

/// Debian's 6.12, with a CPU that was isolated at boot.
#[test]
fn a_machine_is_measured_tuned_and_left_as_it_was() {
    // On a busy host the emulated timer would fail the kernel's check.
    let options = ["--kernel", "6.12", "--append", "no_timer_check isolcpus=1"];
    let Some(far) = machine("a guest over ssh", &options) else { return };
    guest::is_measured_tuned_and_left_as_it_was(&far);
    guest_isolated::is_measured(&far);
    far.world.nothing_left("after a guest");
}

/// Debian's 6.12 with PREEMPT_RT, whose HPET is available to user space.
#[test]
fn a_preempt_rt_machine_is_measured_and_left_as_it_was() {
    let append = "no_timer_check clocksource=tsc tsc=reliable";
    let options = ["--kernel", "6.12", "--flavour", "rt-amd64", "--append", append];
    let Some(far) = machine("a PREEMPT_RT guest over ssh", &options) else { return };
    is_known_as_preempt_rt(&far);
    guest_tracers::give_samples_and_all_is_as_it_was(&far);
    stamps_are_removed_however_it_ends(&far);
    far.world.nothing_left("after a PREEMPT_RT guest");
}

/// Checks that the record and `latido check` identify the kernel as PREEMPT_RT.
fn is_known_as_preempt_rt(far: &Far) {
    assert_eq!(far.there("cat /sys/kernel/realtime"), "1");
    let (record, _) = far.measured(&["wakeup", "-d", "1s"]);
    assert_eq!(record["machine"]["preemption"]["model"], "rt", "{}", record["machine"]["preemption"]);
    assert_eq!(record["machine"]["memory"]["moves_locked"], false);
    let output = far.ran(&["check", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = document["points"].as_array().unwrap();
    let severity = |name: &str| points.iter().find(|point| point["check"] == name).unwrap()["severity"].clone();
    assert_eq!((severity("preemption model"), severity("memory compaction")), ("ok".into(), "ok".into()));
}

/// What a run changes for stamps: events at functions, traces, and the priority of interrupt threads. This command shows the first two.
const BORROWED: &str =
    "cat /sys/kernel/tracing/kprobe_events /sys/kernel/tracing/dynamic_events; ls /sys/kernel/tracing/instances";

/// The event at the handler exists for the whole machine. It is gone after success, Ctrl-C and SIGKILL of the host, and after SIGKILL of
/// all processes once the next latido ran. An event of another program stays.
fn stamps_are_removed_however_it_ends(far: &Far) {
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
