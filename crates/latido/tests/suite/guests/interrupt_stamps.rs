//! The probe `interrupt` with three stamps in guests: the handler and thread of each device.

use crate::common;
use crate::common::lab;

use common::{
    World,
    stamps::{adds_up, record, series, worst_are_explained},
    stderr,
};
use lab::{kernel, measured};
use serde_json::Value;

/// A source of interrupts in a guest: its name, the guest's board, an option, and the handler and thread that serve it.
type Device = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// A device of a guest that sends a byte back.
#[test]
fn a_device_of_a_guest_is_raised_and_stamped() {
    stamped(&[("serial", "serial", "device=/dev/ttyS2", "serial8250_interrupt", "irq/5-ttyS2")]);
}

/// Devices whose events a thread raises.
#[test]
#[ignore = "two guests: scripts/slow/lab-guests"]
fn devices_that_a_thread_raises_are_stamped() {
    stamped(&[
        ("parport", "parport", "irq_prio=92", "parport_irq_handler", "irq/7-parport0"),
        ("uio", "edu", "trigger_prio=97", "uio_interrupt_handler", "irq/10-uio_pci"),
    ]);
}

/// Checks that every event is joined with the entry of the real handler, and that the record says which thread raised it.
fn stamped(sources: &[Device]) {
    if kernel("6.12-rt", "devices of a guest").is_none() {
        return;
    }
    let world = World::new();
    for &(source, board, option, handler, thread) in sources {
        let (kernel, source) = (format!("6.12-rt+{board}"), format!("source={source}"));
        let words =
            ["run", "interrupt", &source, option, "events=40", "--policy", "fifo:80", "--on", "lab", "--kernel"];
        let output = world.run(words.into_iter().chain([kernel.as_str(), "--seed", "3", "--explain=4", "--no-report"]));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let runs = world.runs();
        let run = runs.last().unwrap();
        adds_up(run, 40);
        worst_are_explained(&world, run, true);
        let record = record(run);
        let stamps = &record["quality"]["stamps"];
        assert_eq!((&stamps["handler"]["symbol"], &stamps["handler"]["by"]), (&handler.into(), &"kprobe".into()));
        let threads = stamps["irq_threads"].as_array().unwrap();
        assert!(threads[0]["comm"].as_str().unwrap().starts_with(thread), "{stamps}");
        for quantity in ["entry", "thread"] {
            assert_eq!(series(&record, quantity)["count"], 40, "{quantity}");
        }
        let (trigger, policy) = match option.split_once('=').unwrap() {
            ("device", _) => (Value::Null, "fifo 50"),
            ("irq_prio", _) => ("fifo 95 on CPU 0".into(), "fifo 92"),
            _ => ("fifo 97 on CPU 0".into(), "fifo 50"),
        };
        assert_eq!(stamps["trigger"], trigger, "{stamps}");
        assert_eq!(stamps["asynchronous"], trigger.is_null());
        assert!(threads.iter().all(|one| one["policy"] == policy), "{stamps}");
    }
}

/// In a guest with PREEMPT_RT the HPET's handler is a thread. t2 is its real entry, from a kprobe that latido read back, and comes after
/// the hard entry and after the switch to the thread. latido sets and reports the thread's priority. Two runs give the same bytes.
#[test]
#[ignore = "two guests: scripts/slow/lab-guests"]
fn the_hpets_handler_is_stamped_in_a_guest_twice_alike() {
    if kernel("6.12-rt", "the HPET of a guest").is_none() {
        return;
    }
    let world = World::new();
    for _ in 0..2 {
        let words = ["run", "interrupt", "source=hpet", "events=60", "irq_prio=91", "--on", "lab"];
        let output = world.run(words.into_iter().chain(["--kernel", "6.12-rt+hpet", "--seed", "3", "--no-report"]));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let runs = world.runs();
    adds_up(&runs[0], 60);
    let record = record(&runs[0]);
    let stamps = &record["quality"]["stamps"];
    assert_eq!((&stamps["handler"]["symbol"], &stamps["handler"]["by"]), (&"hpet_interrupt".into(), &"kprobe".into()));
    let threads = stamps["irq_threads"].as_array().unwrap();
    assert!(threads.len() == 1 && threads[0]["comm"].as_str().unwrap().starts_with("irq/"), "{stamps}");
    assert_eq!(threads[0]["policy"], "fifo 91", "set after its first event, and read back");
    for quantity in ["entry", "thread"] {
        assert_eq!(series(&record, quantity)["count"], 60);
    }
    let max = |quantity: &str| series(&record, quantity)["max"].as_i64().unwrap();
    assert!(max("entry") < max("thread") && max("thread") < max("interrupt"), "{}", record["series"]);
    assert_eq!(measured(&runs[0]), measured(&runs[1]));
}
