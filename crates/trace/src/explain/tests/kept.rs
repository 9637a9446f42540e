//! A task that came with lower priority and kept the CPU: which events show why, and what latido reports if none does.

use super::{
    chain::{record, with_context},
    *,
};

/// Returns why the probe waited. It is woken at 1,160 while a fair task runs, which leaves at 1,900 with priority `left_with`. The event of
/// the waking has the first of these flags. The events of a timer interrupt that passes meanwhile have the second.
fn kept_by([woke, passes]: [u8; 2], left_with: Priority) -> Cause {
    let [woke, hard] = [woke, passes].map(|flags| record(flags | 0x08, FAIR));
    let mut leaves = switch(FAIR, State::Runnable, ME);
    if let Happened::Switch { from, .. } = &mut leaves {
        from.priority = left_with;
    }
    let events = [
        (100, 0, switch(ME, State::Sleeping, FAIR), record(0, ME)),
        (1_100, 0, Happened::Enter(Above::Vector(0)), record(0x08, FAIR)),
        (1_150, 0, Happened::Waking(woken(ME)), record(0x08, FAIR)),
        (1_160, 0, Happened::Wakeup(woken(ME)), woke),
        (1_200, 0, Happened::Exit(Above::Vector(0)), woke),
        (1_500, 0, Happened::Enter(Above::Vector(0)), hard),
        (1_510, 0, Happened::Exit(Above::Vector(0)), hard),
        (1_900, 0, leaves, record(0, FAIR)),
        (2_100, 0, switch(ME, State::Sleeping, FAIR), record(0, ME)),
    ];
    let found = explained_records(&with_context(), SLEPT, &events);
    let longest = found.slices.iter().filter(|slice| slice.begin >= 1_200).max_by_key(|slice| slice.ns()).unwrap();
    longest.cause.clone()
}

#[test]
fn a_rival_that_raised_its_own_priority_was_not_kept_from_being_preempted() {
    let (fair, real_time) = (Priority(120), Priority(9));
    let busy = || "busy-300".to_owned();
    assert_eq!(
        kept_by([0, 0], real_time),
        Cause::Task(busy(), Class::RealTime),
        "it left with the priority that it had"
    );
    // It went back to its own priority before it left: the kernel never wanted it to give way.
    assert_eq!(kept_by([0, 0], fair), Cause::Kept(busy()));
    assert_eq!(kept_by([0x04, 0x04], fair), Cause::NotPreemptible(busy()), "it was to give way from the waking on");
    // It raised its priority while it had to give way: the mark went away, because the kernel had chosen it again.
    assert_eq!(kept_by([0x04, 0], fair), Cause::Kept(busy()));
}

/// Without the flags of events nothing shows why.
#[test]
fn without_flags_nothing_tells_why_it_was_kept() {
    let events = [
        (100, 0, switch(ME, State::Sleeping, FAIR)),
        (1_150, 0, Happened::Waking(woken(ME))),
        (1_160, 0, Happened::Wakeup(woken(ME))),
        (1_900, 0, switch(FAIR, State::Runnable, ME)),
        (2_100, 0, switch(ME, State::Sleeping, FAIR)),
    ];
    assert_eq!(explained(SLEPT, &events).causes()[0], (&Cause::Kept("busy-300".into()), 750));
}

/// A freezer let the thread continue: an ordinary task on another CPU woke it, not its timer, whatever interrupts came.
#[test]
fn who_was_thawed_was_not_late_by_an_interrupt() {
    let window = Window { end: 2_000, ..SLEPT };
    let events = [
        (100, 0, switch(ME, State::Sleeping, 0), record(0, ME)),
        (1_200, 0, Happened::Enter(Above::Vector(0)), record(0x08, 0)),
        (1_210, 0, Happened::Exit(Above::Vector(0)), record(0x08, 0)),
        (1_600, 1, switch(0, State::Runnable, FAIR), record(0, 0)),
        (1_700, 1, Happened::Waking(woken(ME)), record(0, FAIR)),
        (1_800, 0, switch(0, State::Runnable, ME), record(0, 0)),
    ];
    let mut found = explained_records(&with_context(), window, &events);
    found.woken_by_timer();
    assert_eq!(found.causes()[0], (&Cause::NotByTimer("busy-300".into()), 700));
}

/// Idle time that is longer than any idle state needs to exit means that no interrupt came.
#[test]
fn too_long_idle_is_not_the_way_out_of_it() {
    let window = Window { end: 12_000_000, ..SLEPT };
    let events = [
        (100, 0, switch(ME, State::Sleeping, 0)),
        (11_900_000, 0, Happened::Waking(woken(ME))),
        (11_950_000, 0, switch(0, State::Runnable, ME)),
        (12_100_000, 0, switch(ME, State::Sleeping, 0)),
    ];
    let mut found = explained(window, &events);
    found.idle_exits_within(1_000_000);
    assert_eq!(found.causes()[0], (&Cause::NoInterruptIdle, 11_899_000));
    let mut soon =
        explained(SLEPT, &[(100, 0, switch(ME, State::Sleeping, 0)), (1_900, 0, switch(0, State::Runnable, ME))]);
    soon.idle_exits_within(1_000_000);
    assert_eq!(soon.causes()[0].0, &Cause::IdleExit);
    // It was woken at once and chosen much later: no exit from idle takes this long, and no event shows why.
    let chosen_late = [
        (100, 0, switch(ME, State::Sleeping, 0)),
        (1_050, 0, Happened::Waking(woken(ME))),
        (1_060, 0, Happened::Wakeup(woken(ME))),
        (11_950_000, 0, switch(0, State::Runnable, ME)),
    ];
    let mut late = explained(Window { end: 12_000_000, ..SLEPT }, &chosen_late);
    late.idle_exits_within(1_000_000);
    assert_eq!(late.causes()[0], (&Cause::Unexplained, 11_948_950));
}

/// Where the kernel leaves out a switch, the task that came is not the task that left. Neither gets the time between two other events. The
/// time after the last of these belongs to the task that left.
#[test]
fn a_bystander_is_not_blamed_where_a_switch_is_missing() {
    let events = [
        (100, 0, switch(ME, State::Sleeping, FAIR)),
        (1_150, 0, Happened::Waking(woken(ME))),
        (1_160, 0, Happened::Wakeup(woken(ME))),
        (1_500, 0, Happened::Enter(Above::Vector(0))),
        (1_510, 0, Happened::Exit(Above::Vector(0))),
        // A different task leaves than the busy one.
        (1_900, 0, switch(FIFO_HIGH, State::Sleeping, ME)),
        (2_100, 0, switch(ME, State::Sleeping, FAIR)),
    ];
    let found = explained(SLEPT, &events);
    let at = |time: u64| found.slices.iter().find(|one| (one.begin..one.end).contains(&time)).unwrap().cause.clone();
    assert_eq!((at(1_300), at(1_600)), (Cause::Unexplained, Cause::Task("urgent-200".into(), Class::RealTime)));
    assert!(found.slices.iter().all(|one| !format!("{:?}", one.cause).contains("busy")), "{:?}", found.slices);
}

const JOB: Window = Window { begins: Begins::Job, ..SLEPT };

fn off_cpu(time: u64) -> (u64, u32, Happened) {
    (time, 0, switch(ME, State::Sleeping, 0))
}

/// A thread that its timer wakes at the start, and that a competing task preempts, does its job. The rest of the time is its own execution.
#[test]
fn a_job_is_its_own_execution_and_what_preempts_it() {
    let events = [
        off_cpu(100),
        (1_000, 0, Happened::Waking(woken(ME))),
        (1_010, 0, switch(0, State::Runnable, ME)),
        (1_210, 0, switch(ME, State::Runnable, FIFO_HIGH)),
        (1_510, 0, switch(FIFO_HIGH, State::Sleeping, ME)),
        off_cpu(2_000),
    ];
    let found = told(&explained(JOB, &events));
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!((found[1].clone(), found[3].clone()), ((200, Cause::Own), (490, Cause::Own)));
    assert_eq!(found[2], (300, Cause::Task("urgent-200".into(), Class::RealTime)));
}

/// Page faults are named if they may account for a quarter of the time beyond the usual, at 0.1 ms each.
#[test]
fn few_page_faults_made_no_long_job() {
    let events = [
        off_cpu(100),
        (1_000_000, 0, Happened::Waking(woken(ME))),
        (1_000_000, 0, switch(0, State::Runnable, ME)),
        off_cpu(8_000_000),
    ];
    let named = |count: u64| {
        let mut found = explained(Window { begin: 1_000_000, end: 8_000_000, ..JOB }, &events);
        found.faults = Some(count);
        found.own_beyond(1_000_000, false);
        found.slices.iter().any(|one| matches!(one.cause, Cause::Beyond { faults: true, .. }))
    };
    assert_eq!([0, 14, 15].map(named), [false, false, true]);
}

/// The previous job lasts into this one, and then nothing wakes the thread: it is asleep, and no interrupt is the cause.
#[test]
fn an_overrun_is_its_own_execution_and_then_it_sleeps() {
    let events = [(100, 0, switch(0, State::Runnable, ME)), off_cpu(1_700), (2_500, 0, switch(0, State::Runnable, ME))];
    assert_eq!(told(&explained(JOB, &events)), [(700, Cause::Own), (300, Cause::Asleep)]);
}

/// The cause names what a job waits for, an interrupt or a task, before the job and in the middle of it.
#[test]
fn what_a_job_waits_for_is_named() {
    let by_interrupt = [
        off_cpu(100),
        (1_290, 0, Happened::Enter(Above::Vector(0))),
        (1_300, 0, Happened::Waking(woken(ME))),
        (1_310, 0, Happened::Exit(Above::Vector(0))),
        (1_320, 0, switch(0, State::Runnable, ME)),
        off_cpu(2_000),
    ];
    let found = told(&explained(JOB, &by_interrupt));
    assert_eq!(found[0], (300, Cause::Awaits("interrupt local_timer".into())), "{found:?}");
    assert_eq!(found.last(), Some(&(680, Cause::Own)));
    let me = |time: u64, from, state, to| (time, 0, switch(from, state, to), record(0, from));
    let in_a_job = [
        me(100, ME, State::Sleeping, 0),
        (1_000, 0, Happened::Waking(woken(ME)), record(0x08, 0)),
        me(1_010, 0, State::Runnable, ME),
        me(1_200, ME, State::Sleeping, 0),
        (1_500, 1, switch(0, State::Runnable, FAIR), record(0, 0)),
        (1_600, 1, Happened::Waking(woken(ME)), record(0, FAIR)),
        me(1_610, 0, State::Runnable, ME),
        me(2_000, ME, State::Sleeping, 0),
    ];
    let found = told(&explained_records(&with_context(), JOB, &in_a_job));
    assert_eq!(found[1..3], [(190, Cause::Own), (400, Cause::Awaits("busy-300".into()))], "{found:?}");
}

/// A thread that could run is moved: until then it waited on the CPU that it left.
#[test]
fn a_wait_before_a_move_is_of_the_other_cpu() {
    let events = [
        (100, 1, switch(ME, State::Sleeping, FIFO_HIGH)),
        (200, 0, switch(0, State::Runnable, FIFO_HIGH + 1)),
        (1_010, 0, Happened::Waking(woken(ME))),
        (1_610, 1, Happened::Migrated { pid: ME, from: 0, to: 1 }),
        (2_000, 1, switch(FIFO_HIGH, State::Sleeping, ME)),
        (2_100, 1, switch(ME, State::Sleeping, 0)),
        (2_100, 0, switch(FIFO_HIGH + 1, State::Sleeping, 0)),
    ];
    let found = explained(Window { cpu: 1, ..SLEPT }, &events);
    let of = |pid: i32| {
        let its = |slice: &&Slice| format!("{:?}", slice.cause).contains(&format!("-{pid}\""));
        found.slices.iter().filter(its).map(Slice::ns).sum::<u64>()
    };
    assert_eq!((of(FIFO_HIGH + 1), of(FIFO_HIGH)), (610, 390), "{:?}", found.slices);
}

/// The scheduler chose no task although the thread was woken on that CPU before: the thread was throttled, the CPU was not leaving idle.
#[test]
fn idle_chosen_behind_the_waking_is_the_throttle() {
    let window = Window { end: 9_000_000, ..SLEPT };
    let events = [
        (100, 0, switch(ME, State::Sleeping, FIFO_HIGH)),
        (1_010, 0, Happened::Waking(woken(ME))),
        (2_000, 0, switch(FIFO_HIGH, State::Sleeping, 0)),
        (8_900_000, 0, switch(0, State::Runnable, ME)),
        (9_100_000, 0, switch(ME, State::Sleeping, 0)),
    ];
    let mut found = explained(window, &events);
    found.idle_exits_within(1_000_000);
    assert_eq!(found.causes()[0], (&Cause::Throttled, 8_898_000));
}

/// No message between CPUs takes 8 ms. The idle CPU wrote nothing, so no interrupt came.
#[test]
fn a_message_takes_no_longer_than_leaving_idle() {
    let window = Window { end: 9_000_000, ..SLEPT };
    let events = [
        (100, 0, switch(ME, State::Sleeping, 0)),
        (200, 1, switch(0, State::Runnable, FAIR)),
        (1_010, 1, Happened::Waking(woken(ME))),
        (8_900_000, 0, switch(0, State::Runnable, ME)),
        (9_100_000, 0, switch(ME, State::Sleeping, 0)),
    ];
    let mut found = explained(window, &events);
    found.idle_exits_within(1_000_000);
    assert_eq!(found.causes()[0], (&Cause::NoInterruptIdle, 8_898_990));
}
