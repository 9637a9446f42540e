//! How a thread came back, step by step, and what its waker did until then.

use super::*;

/// The chain must list each step of the return: the interrupt, its timer, the waking, the switch.
#[test]
fn the_chain_of_a_wake_up_is_told() {
    let events = [
        (100, 0, switch(ME, State::Sleeping, 0)),
        (1_100, 0, Happened::Enter(Above::Vector(0))),
        (1_120, 0, Happened::Expired { timer: 1, now: 1_000 }),
        (1_150, 0, Happened::Waking(woken(ME))),
        (1_160, 0, Happened::Wakeup(woken(ME))),
        (1_200, 0, Happened::Exit(Above::Vector(0))),
        (1_700, 0, switch(0, State::Runnable, ME)),
        (2_500, 0, switch(ME, State::Sleeping, 0)),
    ];
    let chain = Chain {
        interrupt: Some((1_100, "local_timer".into())),
        timer: Some(1_120),
        by: None,
        waking: Some(1_150),
        merely_slept: true,
        was_on: None,
        on_cpu: Some(1_700),
    };
    assert_eq!(explained(SLEPT, &events).chain, chain);
    assert_eq!(
        explained(Window { begins: Begins::Reading, ..SLEPT }, &events).chain,
        Chain::default(),
        "it did not sleep"
    );
    // A task on another CPU wakes it, outside of any interrupt.
    let by_task = [(100, 0, switch(ME, State::Sleeping, 0)), (1_050, 1, Happened::Waking(woken(ME)))];
    assert_eq!(explained(SLEPT, &by_task).chain, Chain { waking: Some(1_050), merely_slept: true, ..Chain::default() });
}

/// The thread of an interrupt, less urgent than `FIFO_HIGH`.
const HANDLER: i32 = 400;

/// Returns a trace whose records contain their context and their task.
pub(super) fn with_context() -> Trace<'static> {
    let text = "name: sched_waking\nID: 0\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\t\
        field:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\t\
        field:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
    Trace { formats: vec![Described { system: "sched".into(), format: Format::parse(text).unwrap() }], ..empty() }
}

/// Returns a record of that trace.
pub(super) fn record(flags: u8, pid: i32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[2] = flags;
    bytes[4..].copy_from_slice(&pid.to_le_bytes());
    bytes
}

/// Returns the events of a device whose handler is a thread. The interrupt wakes that thread after the event of its end. A more urgent task
/// keeps it from the CPU, and at last it wakes the waiting thread.
fn handled_by_a_thread() -> Vec<(u64, u32, Happened, [u8; 8])> {
    let hard = |pid| record(0x09, pid);
    let task = |pid| record(0, pid);
    vec![
        (100, 0, switch(ME, State::Sleeping, FIFO_HIGH), task(ME)),
        (1_050, 0, Happened::Enter(Above::Line(8)), hard(FIFO_HIGH)),
        (1_100, 0, Happened::Exit(Above::Line(8)), hard(FIFO_HIGH)),
        (1_110, 0, Happened::Waking(woken(HANDLER)), hard(FIFO_HIGH)),
        (1_120, 0, Happened::Wakeup(woken(HANDLER)), hard(FIFO_HIGH)),
        (1_500, 0, switch(FIFO_HIGH, State::Sleeping, HANDLER), task(FIFO_HIGH)),
        (1_700, 0, Happened::Waking(woken(ME)), task(HANDLER)),
        (1_710, 0, Happened::Wakeup(woken(ME)), record(0x04, HANDLER)),
        (1_800, 0, switch(HANDLER, State::Sleeping, ME), task(HANDLER)),
        (2_100, 0, switch(ME, State::Sleeping, 0), task(ME)),
    ]
}

/// Explains made-up events as [`explain`] does.
fn followed(events: &[(u64, u32, Happened, [u8; 8])]) -> Explained {
    let trace = with_context();
    let mut found = explained_records(&trace, SLEPT, events);
    if let Some(before) = wakers::before(&found) {
        let of_waker = explained_records(&trace, before, events);
        wakers::follow(&mut found, &BTreeMap::from([(of_waker.window, of_waker)]));
    }
    found
}

/// What the thread waited for must be what its interrupt's thread waited for, not "no interrupt came", which a sleeping thread alone shows.
#[test]
fn a_handler_that_is_a_thread_is_followed() {
    let found = followed(&handled_by_a_thread());
    let urgent = || "urgent-200".to_owned();
    let expected = [
        (50, Cause::NoInterrupt(urgent())),
        (60, Cause::Interrupt("8".into())),
        (390, Cause::Task(urgent(), Class::RealTime)),
        (200, Cause::Task("other-400".into(), Class::Fair)),
        (100, Cause::NotPreemptible("other-400".into())),
        (200, Cause::Itself),
    ];
    assert_eq!(told(&found), expected);
    let by = Waker { pid: HANDLER, name: "other-400".into(), class: Class::Fair, on_cpu: Some(1_500) };
    let chain = Chain {
        interrupt: Some((1_050, "8".into())),
        timer: None,
        by: Some(by),
        waking: Some(1_700),
        merely_slept: true,
        was_on: None,
        on_cpu: Some(1_800),
    };
    assert_eq!(found.chain, chain);
}

/// An ordinary task let the thread continue, after that task had waited for a lock itself. That lock is not the thread's, and neither is
/// the timer that woke the task.
#[test]
fn what_kept_who_thawed_it_is_told_of_no_timer() {
    let mut found = followed(&handled_by_a_thread());
    found.slices.insert(0, Slice { begin: 1_000, end: 1_010, cause: Cause::Lock });
    found.chain.timer = Some(1_055);
    found.woken_by_timer();
    assert_eq!(told(&found)[0], (700, Cause::NotByTimer("other-400".into())));
    assert_eq!((found.chain.interrupt, found.chain.timer), (None, None));
}

/// latido must not follow the task that lets a stopped thread continue: the thread was stopped, whatever that task did meanwhile.
#[test]
fn a_stopped_thread_was_stopped() {
    let mut events = handled_by_a_thread();
    events[0].2 = switch(ME, State::Stopped, FIFO_HIGH);
    let found = told(&followed(&events));
    assert_eq!(found[0].1, Cause::Stopped);
    assert!(!found.iter().any(|(_, cause)| *cause == Cause::Task("urgent-200".into(), Class::RealTime)), "{found:?}");
}

/// A stopped thread was stopped, even if the kernel leaves out a switch between other tasks.
#[test]
fn who_ran_while_it_was_stopped_does_not_matter() {
    let events = [
        (500, 0, switch(0, State::Runnable, ME)),
        (1_100, 0, switch(ME, State::Stopped, FAIR)),
        (1_300, 0, Happened::Enter(Above::Vector(0))),
        (1_310, 0, Happened::Exit(Above::Vector(0))),
        // A different task leaves than the one that came.
        (1_700, 0, switch(FIFO_HIGH, State::Sleeping, 0)),
        (1_800, 0, Happened::Waking(woken(ME))),
        (1_810, 0, switch(0, State::Runnable, ME)),
        (2_100, 0, switch(ME, State::Sleeping, 0)),
    ];
    for begins in [Begins::Asleep, Begins::Job] {
        let found = explained(Window { begins, ..SLEPT }, &events);
        let stopped: u64 = found.slices.iter().filter(|one| one.cause == Cause::Stopped).map(Slice::ns).sum();
        assert_eq!(stopped, 690, "700 less the interrupt: {:?}", found.slices);
    }
}

/// On a kernel that leaves out the switch away from its idle task, a task that writes events meanwhile is not "leaving idle".
#[test]
fn who_writes_events_is_not_idle() {
    let task = |pid| record(0, pid);
    let events = [
        (100, 0, switch(ME, State::Sleeping, 0), task(ME)),
        (1_050, 0, Happened::Enter(Above::Vector(0)), record(0x08, 0)),
        (1_060, 0, Happened::Waking(woken(ME)), record(0x08, 0)),
        (1_080, 0, Happened::Exit(Above::Vector(0)), record(0x08, 0)),
        (1_300, 0, Happened::Waking(woken(FAIR)), task(FIFO_HIGH)),
        (1_400, 0, Happened::Enter(Above::Vector(0)), record(0x08, FIFO_HIGH)),
        (1_430, 0, Happened::Exit(Above::Vector(0)), record(0x08, FIFO_HIGH)),
        (1_800, 0, switch(FIFO_HIGH, State::Sleeping, ME), task(FIFO_HIGH)),
        (2_100, 0, switch(ME, State::Sleeping, 0), task(ME)),
    ];
    let found = told(&explained_records(&with_context(), SLEPT, &events));
    let urgent = || Cause::Task("urgent-200".into(), Class::RealTime);
    let timer = || Cause::Interrupt("local_timer".into());
    let expected = [
        (50, Cause::IdleExit),
        (30, timer()),
        // No event shows when this task came.
        (220, Cause::Unexplained),
        (100, urgent()),
        (30, timer()),
        (370, urgent()),
        (200, Cause::Itself),
    ];
    assert_eq!(found, expected);
}

/// On a kernel that leaves out the switch from another task to the thread, the thread has the CPU from its first event on, even if an
/// interrupt comes in between.
#[test]
fn a_job_has_the_cpu_from_its_first_event_on() {
    let task = |pid| record(0, pid);
    let events = [
        (100, 0, switch(ME, State::Sleeping, FAIR), task(ME)),
        (1_050, 0, Happened::Enter(Above::Vector(0)), record(0x08, FAIR)),
        (1_060, 0, Happened::Waking(woken(ME)), record(0x08, FAIR)),
        (1_065, 0, Happened::Wakeup(woken(ME)), record(0x08, FAIR)),
        (1_080, 0, Happened::Exit(Above::Vector(0)), record(0x08, FAIR)),
        (1_200, 0, Happened::Waking(woken(FIFO_HIGH)), task(ME)),
        (1_500, 0, Happened::Enter(Above::Vector(0)), record(0x08, ME)),
        (1_530, 0, Happened::Exit(Above::Vector(0)), record(0x08, ME)),
        (1_900, 0, switch(ME, State::Sleeping, 0), task(ME)),
    ];
    let job = Window { begins: Begins::Job, ..SLEPT };
    let found = explained_records(&with_context(), job, &events);
    let at = |time: u64| found.slices.iter().find(|one| (one.begin..one.end).contains(&time)).unwrap().cause.clone();
    assert_eq!([at(1_100), at(1_300), at(1_600)], [Cause::Unexplained, Cause::Own, Cause::Own], "{:?}", found.slices);
}

/// A thread that was woken in an interrupt, hard or soft, has no task as its waker: the interrupted task only lent its CPU.
#[test]
fn who_was_interrupted_is_no_waker() {
    for flags in [0x08, 0x09, 0x10, 0x19] {
        let mut events = handled_by_a_thread();
        events[6].3 = record(flags, HANDLER);
        let found = followed(&events);
        assert_eq!(found.chain.by, None, "flags {flags:#x}");
        assert_eq!(found.chain.waking, Some(1_700));
        let hard = flags & 0x08 != 0;
        assert_eq!(found.chain.interrupt.is_some(), hard, "behind the end of the hard interrupt it is still in it");
    }
}

proptest! {
    /// Whatever wakes whatever, followed or not, the slices must add up to the window, in order and without a gap.
    #[test]
    fn followed_slices_add_up(steps in proptest::collection::vec((0..200u64, any_event(), 0..3usize, any::<bool>()), 0..60)) {
        let mut time = 900;
        let task = [ME, FIFO_HIGH, FAIR];
        let events: Vec<_> = steps
            .into_iter()
            .map(|(step, happened, of, hard)| {
                time += step;
                (time, 0, happened, record(if hard { 0x08 } else { 0 }, task[of]))
            })
            .collect();
        let found = followed(&events);
        let mut at = SLEPT.begin;
        for slice in &found.slices {
            prop_assert_eq!(slice.begin, at);
            prop_assert!(slice.end > slice.begin);
            at = slice.end;
        }
        prop_assert_eq!(at, SLEPT.end);
    }
}
