//! Windows over made-up events, with known causes.

mod chain;
mod kept;

use super::{collect::*, *};
use crate::{
    bytes::Endian,
    events::{Happened, Off, State, Switched, Woken},
    file::{Described, Options, Packing},
    format::Format,
    merge::Lost,
    page::{Layout, Missed},
    pairing::Sink,
};
use proptest::prelude::*;

const ME: i32 = 100;
const FIFO_HIGH: i32 = 200;
const FAIR: i32 = 300;

fn empty() -> Trace<'static> {
    Trace {
        version: 7,
        endian: Endian::Little,
        packing: Packing::None,
        layout: Layout::of(Endian::Little, 8),
        formats: Vec::new(),
        comms: Vec::new(),
        options: Options::default(),
        buffers: Vec::new(),
        text: None,
        lost: Default::default(),
    }
}

fn priority(pid: i32) -> Priority {
    Priority(match pid {
        ME => 19,
        FIFO_HIGH => 9,
        _ => 120,
    })
}

fn comm(pid: i32) -> Comm {
    Comm::of(match pid {
        ME => "probe",
        FIFO_HIGH => "urgent",
        FAIR => "busy",
        0 => "swapper",
        _ => "other",
    })
}

fn switch(from: i32, state: State, to: i32) -> Happened {
    let side = |pid| Switched { pid, priority: priority(pid), comm: comm(pid) };
    Happened::Switch { from: side(from), state, to: side(to) }
}

fn woken(pid: i32) -> Woken {
    Woken { pid, priority: priority(pid), comm: comm(pid) }
}

/// Explains one window over events `(time, cpu, what)`.
fn explained(window: Window, events: &[(u64, u32, Happened)]) -> Explained {
    explained_of(&empty(), window, events)
}

fn explained_of(trace: &Trace<'_>, window: Window, events: &[(u64, u32, Happened)]) -> Explained {
    let recorded: Vec<_> = events.iter().map(|(time, cpu, happened)| (*time, *cpu, *happened, [0; 8])).collect();
    explained_records(trace, window, &recorded)
}

/// Explains one window, with the bytes of each event's record.
fn explained_records(trace: &Trace<'_>, window: Window, events: &[(u64, u32, Happened, [u8; 8])]) -> Explained {
    let mut collect = Collect::of(trace, &[window]);
    let mut pairing = Pairing::of(Definition::Waking);
    for (time, cpu, happened, record) in events {
        collect.event(*cpu, *time, record, Some(happened));
        pairing.take(*cpu, *time, happened, &mut collect);
    }
    pairing.end(events.last().map_or(0, |(time, ..)| *time), &mut collect);
    let devices = BTreeMap::new();
    let names =
        Names { devices: &devices, vectors: vec!["local_timer".into(), "reschedule".into()], pairing: &mut pairing };
    let explained = collect.explained(names).remove(0);
    let sum: u64 = explained.slices.iter().map(Slice::ns).sum();
    assert_eq!(sum, window.end.saturating_sub(window.begin), "slices add up: {explained:?}");
    explained
}

fn told(explained: &Explained) -> Vec<(u64, Cause)> {
    explained.slices.iter().map(|slice| (slice.ns(), slice.cause.clone())).collect()
}

const SLEPT: Window = Window { begin: 1_000, end: 2_000, pid: ME, cpu: 0, begins: Begins::Asleep };
const READING: Window = Window { begins: Begins::Reading, ..SLEPT };

/// A complete wake-up must give these slices: idle, the timer's interrupt, the exit from idle, the return to user code.
#[test]
fn a_wake_up_from_idle() {
    let events = [
        (100, 0, switch(ME, State::Sleeping, 0)),
        (1_100, 0, Happened::Enter(Above::Vector(0))),
        (1_150, 0, Happened::Waking(woken(ME))),
        (1_160, 0, Happened::Wakeup(woken(ME))),
        (1_200, 0, Happened::Exit(Above::Vector(0))),
        (1_700, 0, switch(0, State::Runnable, ME)),
        (2_500, 0, switch(ME, State::Sleeping, 0)),
    ];
    let found = explained(SLEPT, &events);
    let interrupt = Cause::Interrupt("local_timer".into());
    assert_eq!(told(&found), [(100, Cause::IdleExit), (100, interrupt), (500, Cause::IdleExit), (300, Cause::Itself)]);
    assert_eq!(found.causes()[0], (&Cause::IdleExit, 600));
    assert_eq!(found.name, Some(format!("probe-{ME}")), "as its events name it");
}

/// While a fair task runs and no interrupt comes, interrupts were off. A more urgent task is named with its class. A less urgent task that
/// was there before kept the CPU (no event shows whether it had to give way). A less urgent task that was chosen after the thread shows
/// throttling.
#[test]
fn other_tasks_are_told_apart() {
    let begin = [
        (100, 0, switch(ME, State::Sleeping, FAIR)),
        (1_100, 0, Happened::Enter(Above::Vector(0))),
        (1_150, 0, Happened::Waking(woken(ME))),
        (1_160, 0, Happened::Wakeup(woken(ME))),
        (1_200, 0, Happened::Exit(Above::Vector(0))),
    ];
    let off = Cause::NoInterrupt("busy-300".into());
    let interrupt = Cause::Interrupt("local_timer".into());
    let before = |then: &[(u64, u32, Happened)]| told(&explained(SLEPT, &[&begin[..], then].concat()));
    let kept = before(&[(1_900, 0, switch(FAIR, State::Runnable, ME)), (2_100, 0, switch(ME, State::Sleeping, FAIR))]);
    let held = Cause::Kept("busy-300".into());
    assert_eq!(kept, [(100, off.clone()), (100, interrupt.clone()), (700, held.clone()), (100, Cause::Itself)]);
    let urgent = before(&[
        (1_300, 0, switch(FAIR, State::Runnable, FIFO_HIGH)),
        (1_900, 0, switch(FIFO_HIGH, State::Sleeping, ME)),
        (2_100, 0, switch(ME, State::Sleeping, FAIR)),
    ]);
    let above = Cause::Task("urgent-200".into(), Class::RealTime);
    assert_eq!(
        urgent,
        [(100, off.clone()), (100, interrupt.clone()), (100, held.clone()), (600, above), (100, Cause::Itself)]
    );
    let throttled = before(&[
        (1_300, 0, switch(FAIR, State::Runnable, ME)),
        (1_400, 0, switch(ME, State::Runnable, FAIR)),
        (1_900, 0, switch(FAIR, State::Runnable, ME)),
        (2_100, 0, switch(ME, State::Sleeping, FAIR)),
    ]);
    assert_eq!(
        throttled,
        [
            (100, off),
            (100, interrupt),
            (100, held),
            (100, Cause::Itself),
            (500, Cause::Throttled),
            (100, Cause::Itself)
        ]
    );
}

/// A waking by another CPU's message and a move to another CPU must be named.
#[test]
fn what_another_cpu_does_is_named() {
    let message = [
        (100, 0, switch(ME, State::Sleeping, 0)),
        (1_050, 1, Happened::Waking(woken(ME))),
        (1_400, 0, Happened::Enter(Above::Vector(1))),
        (1_450, 0, Happened::Wakeup(woken(ME))),
        (1_500, 0, Happened::Exit(Above::Vector(1))),
        (1_600, 0, switch(0, State::Runnable, ME)),
        (2_500, 0, switch(ME, State::Sleeping, 0)),
    ];
    assert_eq!(explained(SLEPT, &message).causes()[0], (&Cause::InterProcessor, 450));
    let moved = [
        (100, 0, switch(ME, State::Sleeping, FAIR)),
        (200, 1, switch(0, State::Runnable, FIFO_HIGH)),
        (1_010, 0, Happened::Waking(woken(ME))),
        (1_020, 0, Happened::Migrated { pid: ME, from: 0, to: 1 }),
        (1_030, 1, Happened::Wakeup(woken(ME))),
        (1_900, 1, switch(FIFO_HIGH, State::Sleeping, ME)),
        (2_100, 1, switch(ME, State::Sleeping, 0)),
        (2_100, 0, switch(FAIR, State::Sleeping, 0)),
    ];
    let urgent = Cause::Task("urgent-200".into(), Class::RealTime);
    assert_eq!(explained(SLEPT, &moved).causes()[0], (&urgent, 880));
}

/// A stop and a lock must be named.
#[test]
fn a_stop_and_a_lock_are_named() {
    let stopped = [
        (100, 0, switch(0, State::Runnable, ME)),
        (1_100, 0, switch(ME, State::Stopped, 0)),
        (1_800, 0, Happened::Waking(woken(ME))),
        (1_810, 0, Happened::Wakeup(woken(ME))),
        (1_850, 0, switch(0, State::Runnable, ME)),
        (2_100, 0, switch(ME, State::Sleeping, 0)),
    ];
    assert_eq!(explained(READING, &stopped).causes()[0], (&Cause::Stopped, 700));
    let locked = [
        (100, 0, switch(ME, State::Sleeping, 0)),
        (1_020, 0, Happened::Waking(woken(ME))),
        (1_030, 0, switch(0, State::Runnable, ME)),
        (1_100, 0, switch(ME, State::Sleeping, FAIR)),
        (1_900, 0, Happened::Waking(woken(ME))),
        (1_910, 0, switch(FAIR, State::Runnable, ME)),
        (2_100, 0, switch(ME, State::Sleeping, 0)),
    ];
    assert_eq!(explained(SLEPT, &locked).causes()[0], (&Cause::Blocked, 800));
}

/// A busy loop reads the clock: time that no event interrupts is not the loop's own work.
#[test]
fn a_gap_without_an_event_is_unexplained() {
    let gap = [
        (100, 0, switch(0, State::Runnable, ME)),
        (1_200, 0, Happened::Enter(Above::Vector(0))),
        (1_300, 0, Happened::Exit(Above::Vector(0))),
        (2_100, 0, switch(ME, State::Sleeping, 0)),
    ];
    assert_eq!(explained(READING, &gap).causes()[0], (&Cause::Unexplained, 900));
}

/// The interrupt started before the timer was due, and all of the time until its end is its own.
#[test]
fn an_interrupt_that_was_already_running_is_named() {
    let busy = [
        (100, 0, switch(ME, State::Sleeping, 0)),
        (900, 0, Happened::Enter(Above::Soft(3))),
        (1_800, 0, Happened::Exit(Above::Soft(3))),
        (1_850, 0, Happened::Waking(woken(ME))),
        (1_860, 0, switch(0, State::Runnable, ME)),
        (2_100, 0, switch(ME, State::Sleeping, 0)),
    ];
    assert_eq!(explained(SLEPT, &busy).causes()[0], (&Cause::Soft("net_rx".into()), 800));
}

/// If a wait has more changes of its CPU than latido follows, the rest must be called so, and not unexplained: the events exist.
#[test]
fn what_is_too_much_is_called_so() {
    let window = Window { begin: 1_000, end: 80_000, ..SLEPT };
    let mut events = vec![(1_001, 0, Happened::Waking(woken(ME)))];
    for at in 0..70_000 {
        let (from, to) = if at % 2 == 0 { (FAIR, FIFO_HIGH) } else { (FIFO_HIGH, FAIR) };
        events.push((1_002 + at, 0, switch(from, State::Runnable, to)));
    }
    events.push((80_000, 0, switch(FAIR, State::Runnable, ME)));
    let found = explained(window, &events);
    assert_eq!(found.slices.iter().map(Slice::ns).sum::<u64>(), 79_000);
    let of = |cause: &Cause| found.slices.iter().filter(|slice| slice.cause == *cause).map(Slice::ns).sum::<u64>();
    assert!((10_000..20_000).contains(&of(&Cause::TooMany)), "{}", of(&Cause::TooMany));
    assert_eq!(of(&Cause::Unexplained), 0);
}

/// Where time went backwards, a wait may end before it starts: it has no slices.
#[test]
fn a_window_that_ends_before_it_begins_is_empty() {
    let window = Window { begin: 5_000, end: 1_000, ..SLEPT };
    let found =
        explained(window, &[(1_001, 0, Happened::Waking(woken(ME))), (6_000, 0, switch(FAIR, State::Runnable, ME))]);
    assert!(found.slices.is_empty(), "{:?}", found.slices);
}

/// Untraced time must not be explained, and lost events must be reported.
#[test]
fn nothing_is_guessed() {
    assert_eq!(told(&explained(SLEPT, &[])), [(1_000, Cause::Untraced)]);
    let trace = empty();
    let mut collect = Collect::of(&trace, &[SLEPT]);
    let mut pairing = Pairing::of(Definition::Waking);
    let begin = switch(ME, State::Sleeping, 0);
    collect.event(0, 100, &[0; 8], Some(&begin));
    pairing.take(0, 100, &begin, &mut collect);
    let lost = Lost { cpu: 0, since: 1_200, until: Some(1_900), missed: Missed::Some };
    pairing.lost(&lost, &mut collect);
    pairing.end(2_500, &mut collect);
    let devices = BTreeMap::new();
    let explained =
        collect.explained(Names { devices: &devices, vectors: Vec::new(), pairing: &mut pairing }).remove(0);
    assert_eq!(told(&explained), [(200, Cause::IdleExit), (700, Cause::Lost), (100, Cause::Unexplained)]);
}

/// If the kernel reports when interrupts are off, a timer that was late for that reason must be distinguished from one that was late
/// although they were on. Without these events latido cannot distinguish them.
#[test]
fn interrupts_that_were_off_are_told_from_a_machine_that_was_elsewhere() {
    let events = [
        (100, 0, switch(ME, State::Sleeping, FAIR)),
        (900, 0, Happened::Off(Off::Interrupts)),
        (1_400, 0, Happened::On(Off::Interrupts)),
        (1_600, 0, Happened::Enter(Above::Vector(0))),
        (1_650, 0, Happened::Waking(woken(ME))),
        (1_700, 0, Happened::Exit(Above::Vector(0))),
        (1_710, 0, switch(FAIR, State::Runnable, ME)),
        (2_100, 0, switch(ME, State::Sleeping, FAIR)),
    ];
    let busy = || "busy-300".to_owned();
    assert_eq!(told(&explained(SLEPT, &events))[0], (600, Cause::NoInterrupt(busy())));
    let mut trace = empty();
    let format = Format::parse(
        "name: irq_disable\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n",
    )
    .unwrap();
    trace.formats.push(Described { system: "preemptirq".into(), format });
    let found = told(&explained_of(&trace, SLEPT, &events));
    assert_eq!(found[..2], [(400, Cause::InterruptsOff(busy())), (200, Cause::Elsewhere)]);
}

/// The time in which the thread waits for a lock of the kernel, spinning or asleep, must be a separate slice.
#[test]
fn waiting_for_a_lock_is_told() {
    let trace = empty();
    let mut collect = Collect::of(&trace, &[SLEPT]);
    let mut pairing = Pairing::of(Definition::Waking);
    let steps = [
        (100, switch(ME, State::Sleeping, 0), None),
        (1_050, Happened::Waking(woken(ME)), None),
        (1_060, switch(0, State::Runnable, ME), Some(true)),
        (1_400, switch(ME, State::Sleeping, 0), None),
        (1_600, Happened::Waking(woken(ME)), None),
        (1_610, switch(0, State::Runnable, ME), Some(false)),
        (2_100, switch(ME, State::Sleeping, 0), None),
    ];
    for (time, happened, contends) in steps {
        collect.event(0, time, &[0; 8], Some(&happened));
        pairing.take(0, time, &happened, &mut collect);
        if let Some(begins) = contends {
            collect.contention(time + 40, ME, begins);
        }
    }
    pairing.end(2_100, &mut collect);
    let devices = BTreeMap::new();
    let names = Names { devices: &devices, vectors: Vec::new(), pairing: &mut pairing };
    let found = told(&collect.explained(names).remove(0));
    let expected = [
        (60, Cause::IdleExit),
        (40, Cause::Itself),
        // It spun until 1,400 and slept until 1,600.
        (500, Cause::Lock),
        (10, Cause::IdleExit),
        (40, Cause::Lock),
        (350, Cause::Itself),
    ];
    assert_eq!(found, expected);
}

/// The excerpt of a window with many events must contain the first and the last events.
#[test]
fn excerpts_show_both_ends() {
    let mut excerpt = scene::Excerpt::default();
    (0..1_000).for_each(|time| excerpt.push(time, 0, &[]));
    let times: Vec<u64> = excerpt.iter().map(|record| record.time).collect();
    assert_eq!((times.len() as u64 + excerpt.omitted, times[99], times[100], times[199]), (1_000, 99, 900, 999));
}

fn any_event() -> impl Strategy<Value = Happened> {
    let pid = prop_oneof![Just(0), Just(ME), Just(FIFO_HIGH), Just(FAIR)];
    let state = prop_oneof![Just(State::Runnable), Just(State::Sleeping), Just(State::Stopped)];
    let above =
        prop_oneof![(0..11u8).prop_map(Above::Soft), (0..2u8).prop_map(Above::Vector), (0..3u32).prop_map(Above::Line)];
    prop_oneof![
        (pid.clone(), state, pid).prop_map(|(from, state, to)| switch(from, state, to)),
        above.clone().prop_map(Happened::Enter),
        above.prop_map(Happened::Exit),
        (0..300u64).prop_map(Happened::Nmi),
        Just(Happened::Waking(woken(ME))),
        Just(Happened::Wakeup(woken(ME))),
        Just(Happened::Off(Off::Interrupts)),
        Just(Happened::On(Off::Interrupts)),
        Just(Happened::Expired { timer: 1, now: 1 }),
        (0..2u32).prop_map(|to| Happened::Migrated { pid: ME, from: 0, to }),
    ]
}

proptest! {
    /// Whatever the events, possible or not, the slices must add up to the window (`explained` checks this), in order and without a gap.
    #[test]
    fn slices_add_up(steps in proptest::collection::vec((0..200u64, 0..2u32, any_event()), 0..60), begins in prop_oneof![Just(Begins::Asleep), Just(Begins::Reading), Just(Begins::Job)], length in 1..3_000u64) {
        let mut time = 0;
        let events: Vec<_> = steps.into_iter().map(|(step, cpu, happened)| { time += step; (time, cpu, happened) }).collect();
        let window = Window { begin: 1_000, end: 1_000 + length, pid: ME, cpu: 0, begins };
        let found = explained(window, &events);
        let mut at = window.begin;
        for slice in &found.slices {
            prop_assert_eq!(slice.begin, at);
            prop_assert!(slice.end > slice.begin);
            at = slice.end;
        }
        prop_assert_eq!(at, window.end);
    }
}
