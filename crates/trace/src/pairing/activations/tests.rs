//! Made-up sequences of events, and the activations that latido must find in them.

use super::*;
use crate::{
    events::Switched,
    page::Missed,
    pairing::{Definition, Pairing},
};

fn side(pid: i32) -> Switched {
    Switched { pid, priority: Priority(19), comm: Comm::of("loop") }
}

/// Passes what happens on a CPU to the sink in order, as a walk through a trace does. Returns the activations, and how many were broken.
fn found(all: &[(u64, Happened)], lost: Option<(u64, u64)>) -> (Vec<(Activation, Ended)>, u64) {
    let (mut found, mut pairing) = (Vec::new(), Pairing::of(Definition::Waking));
    let mut sink = Activations::to(|one: &Activation, how| found.push((*one, how)));
    for (time, happened) in all {
        if let Some((since, until)) = lost.filter(|(_, until)| until == time) {
            pairing.lost(&Lost { cpu: 0, since, until: Some(until), missed: Missed::Some }, &mut sink);
        }
        sink.event(0, *time, &[], Some(happened));
        pairing.take(0, *time, happened, &mut sink);
    }
    let voided = sink.finish(1_000);
    (found, voided)
}

fn switch(from: i32, state: State, to: i32) -> Happened {
    Happened::Switch { from: side(from), state, to: side(to) }
}

fn waking(pid: i32) -> Happened {
    Happened::Waking(Woken { pid, priority: Priority(19), comm: Comm::of("loop") })
}

/// Returns events of a task that is woken at 10, runs at 15, is preempted from 20 to 50 and sleeps at 60. Then it is woken once more, and
/// still runs at the end.
fn story() -> Vec<(u64, Happened)> {
    vec![
        (1, switch(3, State::Sleeping, 0)),
        (10, waking(7)),
        (15, switch(0, State::Runnable, 7)),
        (20, switch(7, State::Runnable, 8)),
        (50, switch(8, State::Sleeping, 7)),
        (60, switch(7, State::Sleeping, 0)),
        (70, waking(7)),
        (71, switch(0, State::Runnable, 7)),
    ]
}

/// The parts of an activation must add up to the response, and an activation that is open at the end must be passed on as open.
#[test]
fn an_activation_is_taken_apart() {
    let (found, voided) = found(&story(), None);
    let [(first, Ended::Blocked), (second, Ended::Open)] = &found[..] else { panic!("{found:?}") };
    let parts = (first.wakeup(), first.preempted, first.running(), first.response());
    assert_eq!((first.pid, parts), (7, (Some(5), 30, Some(15), 50)));
    assert_eq!((second.woken, second.end, voided), (70, 1_000, 0));
}

const SLEEP: Call = Call::Named(0);
const YIELD: Call = Call::Named(1);

/// Returns the activations of a trace with events of the calls.
fn heard(all: &[(u64, Happened)]) -> Vec<(Activation, Ended)> {
    let (mut found, mut pairing) = (Vec::new(), Pairing::of(Definition::Waking));
    let calls = WaitCalls::among(&["clock_nanosleep", "sched_yield"].map(String::from));
    assert_eq!((calls.sleep, calls.give_up), (Some(SLEEP), Some(YIELD)));
    let mut sink = Activations::to(|one: &Activation, how| found.push((*one, how))).heeding(calls);
    for (time, happened) in all {
        sink.event(0, *time, &[], Some(happened));
        pairing.take(0, *time, happened, &mut sink);
    }
    sink.finish(1_000);
    found
}

fn call(pid: i32, call: Call) -> Happened {
    Happened::Call { pid, call }
}

fn back(pid: i32, call: Call) -> Happened {
    Happened::Return { pid, call: Some(call) }
}

/// A job that overran requests times that have passed: each call that returns at once must start a job. A call that sleeps must end the
/// activation when the thread leaves its CPU, as always.
#[test]
fn a_time_that_has_passed_begins_a_job() {
    let found = heard(&[
        (10, waking(7)),
        (12, switch(0, State::Runnable, 7)),
        (13, back(7, SLEEP)),
        (45, call(7, SLEEP)),
        (46, back(7, SLEEP)),
        (50, switch(7, State::Runnable, 8)),
        (53, switch(8, State::Sleeping, 7)),
        (60, call(7, SLEEP)),
        (61, switch(7, State::Sleeping, 0)),
        (70, waking(7)),
        (71, switch(0, State::Runnable, 7)),
        (72, back(7, SLEEP)),
        (75, call(7, SLEEP)),
        (76, switch(7, State::Sleeping, 0)),
    ]);
    let parts: Vec<_> =
        found.iter().map(|(one, _)| (one.begun, one.woken, one.wakeup(), one.running(), one.end)).collect();
    assert_eq!(
        parts,
        [
            (Begun::Woken, 10, Some(2), Some(33), 45),
            (Begun::AtOnce, 46, None, Some(12), 61),
            (Begun::Woken, 70, Some(1), Some(5), 76),
        ]
    );
}

/// A deadline thread gives up its budget and stays runnable: the time until it comes back must not count for its next job. A thread that
/// used up its budget, and a thread of another class that yields, must continue with the same job.
#[test]
fn a_budget_given_up_ends_a_job() {
    let deadline = |pid| Switched { priority: Priority(-1), ..side(pid) };
    let off = |state| Happened::Switch { from: deadline(7), state, to: side(0) };
    let on = Happened::Switch { from: side(0), state: State::Runnable, to: deadline(7) };
    let found = heard(&[
        (10, waking(7)),
        (12, on),
        (20, call(7, YIELD)),
        (21, off(State::Runnable)),
        (110, on),
        (111, back(7, YIELD)),
        (130, off(State::Runnable)),
        (210, on),
        (215, call(7, YIELD)),
        (216, off(State::Runnable)),
    ]);
    let parts: Vec<_> =
        found.iter().map(|(one, _)| (one.begun, one.woken, one.running(), one.preempted, one.end)).collect();
    assert_eq!(parts, [(Begun::Woken, 10, Some(9), 0, 21), (Begun::Replenished, 110, Some(26), 80, 216)]);
    assert!(found.iter().all(|(one, _)| one.gave_up_its_budget()));
    let fair = heard(&[
        (10, waking(7)),
        (12, switch(0, State::Runnable, 7)),
        (20, call(7, YIELD)),
        (21, switch(7, State::Runnable, 8)),
    ]);
    assert_eq!(fair.iter().map(|(_, how)| *how).collect::<Vec<_>>(), [Ended::Open]);
}

/// A task that exits must have no response from then on, however often it waits meanwhile.
#[test]
fn what_a_task_does_while_it_ends_is_no_activation() {
    let mut all = story();
    all.extend([
        (80, Happened::Exits(7)),
        (85, switch(7, State::Sleeping, 0)),
        (90, waking(7)),
        (91, switch(0, State::Runnable, 7)),
        (95, switch(7, State::Sleeping, 0)),
        (96, waking(7)),
        (97, switch(0, State::Runnable, 7)),
        (99, switch(7, State::Dead, 0)),
    ]);
    let (found, _) = found(&all, None);
    let ends: Vec<_> = found.iter().map(|(one, how)| (one.woken, one.end, *how)).collect();
    assert_eq!(ends, [(10, 60, Ended::Blocked), (70, 80, Ended::Dead)]);
}

/// An activation that was open while events were lost is broken; one that starts later counts.
#[test]
fn lost_events_break_what_was_open() {
    let (found, voided) = found(&story(), Some((20, 60)));
    assert_eq!(found.iter().map(|(one, _)| one.woken).collect::<Vec<_>>(), [70]);
    assert_eq!(voided, 1);
}

/// If the switch to the task is not in the trace, its response must still count.
#[test]
fn a_switch_that_is_hidden_hides_no_activation() {
    let (found, _) = found(&[(10, waking(7)), (30, switch(7, State::Sleeping, 0)), (40, waking(7))], None);
    let [(first, Ended::Blocked), (_, Ended::Open)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((first.wakeup(), first.running(), first.response()), (None, None, 20));
}

/// A thread that dies must have no response.
#[test]
fn who_dies_does_not_respond() {
    let mut story = story();
    story.truncate(5);
    story.push((55, switch(7, State::Dead, 0)));
    let (found, _) = found(&story, None);
    assert_eq!(found.iter().map(|(_, how)| *how).collect::<Vec<_>>(), [Ended::Dead]);
}
