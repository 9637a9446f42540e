//! Pairs of which the kernel reports only a half.

use latido_trace::{
    events::{Above, Call, Comm, Happened, Priority, State, Switched, Woken},
    merge::Lost,
    page::Missed,
    pairing::{Called, Definition, OffCpu, Pairing, Sink, Wait},
};

#[derive(Default)]
struct Kept {
    calls: Vec<(Call, u64)>,
    waits: Vec<u64>,
}

impl Sink for Kept {
    fn called(&mut self, called: &Called) {
        self.calls.push((called.call, called.ns()));
    }

    fn waited(&mut self, wait: &Wait) {
        self.waits.push(wait.ns());
    }
}

fn switched(pid: i32) -> Switched {
    Switched { pid, priority: Priority(120), comm: Comm::of("task") }
}

/// `rt_sigreturn` returns with the number -1 in `raw_syscalls`: this ends the open call, and no call stays open.
#[test]
fn a_return_without_a_number_ends_the_open_call() {
    let (mut pairing, mut kept) = (Pairing::of(Definition::Waking), Kept::default());
    let call = Call::Number(15);
    pairing.take(0, 10, &Happened::Call { pid: 7, call }, &mut kept);
    pairing.take(0, 30, &Happened::Return { pid: 7, call: None }, &mut kept);
    pairing.take(0, 40, &Happened::Return { pid: 7, call: None }, &mut kept);
    let unpaired = pairing.end(50, &mut kept);
    assert_eq!(kept.calls, [(call, 20)]);
    assert_eq!((unpaired.unended, unpaired.unbegun), (0, 1), "the second one ends nothing");
}

/// A call keeps its length if its thread left the CPU and no switch back was recorded. How long the thread slept is unknown, so latido does
/// not report this time as time on a CPU. The next call is complete again.
#[test]
fn a_call_whose_switch_back_is_missing_has_no_parts() {
    #[derive(Default)]
    struct Parts(Vec<(u64, Option<OffCpu>)>);
    impl Sink for Parts {
        fn called(&mut self, called: &Called) {
            self.0.push((called.ns(), called.off));
        }
    }
    let (mut pairing, mut kept) = (Pairing::of(Definition::Waking), Parts::default());
    let call = Call::Number(0);
    let woken = Happened::Waking(Woken { pid: 7, priority: Priority(120), comm: Comm::of("task") });
    let switch = |from, to| Happened::Switch { from: switched(from), state: State::Sleeping, to: switched(to) };
    for (time, happened) in [
        (10, Happened::Call { pid: 7, call }),
        (20, switch(7, 0)),
        (80, woken),
        (99, Happened::Return { pid: 7, call: Some(call) }),
        (110, Happened::Call { pid: 7, call }),
        (120, switch(7, 0)),
        (160, woken),
        (170, switch(0, 7)),
        (180, Happened::Return { pid: 7, call: Some(call) }),
    ] {
        pairing.take(0, time, &happened, &mut kept);
    }
    assert_eq!(kept.0, [(89, None), (70, Some(OffCpu { blocked: 40, waited: 10 }))]);
}

/// A task leaves its CPU although no switch to it was recorded: the length of its wait is unknown, so the wait is no sample, but is
/// counted.
#[test]
fn a_wait_whose_switch_is_missing_is_counted() {
    let (mut pairing, mut kept) = (Pairing::of(Definition::Waking), Kept::default());
    let woken = Happened::Waking(Woken { pid: 7, priority: Priority(120), comm: Comm::of("task") });
    let switch = |from, to| Happened::Switch { from: switched(from), state: State::Sleeping, to: switched(to) };
    pairing.take(0, 10, &woken, &mut kept);
    pairing.take(0, 90, &switch(7, 0), &mut kept);
    pairing.take(0, 100, &woken, &mut kept);
    pairing.take(0, 105, &switch(0, 7), &mut kept);
    let unpaired = pairing.end(200, &mut kept);
    assert_eq!((kept.waits, unpaired.unseen, unpaired.unended), (vec![5], 1, 0));
}

/// latido counts each pair that a loss may have broken once, whether its end comes or not: a raised soft interrupt, and open handlers.
#[test]
fn every_pair_over_a_loss_is_counted() {
    let (mut pairing, mut kept) = (Pairing::of(Definition::Waking), Kept::default());
    let (line, soft) = (Above::Line(24), Above::Soft(1));
    pairing.take(0, 10, &Happened::Raise(1), &mut kept);
    pairing.take(0, 20, &Happened::Enter(Above::Soft(3)), &mut kept);
    pairing.take(0, 30, &Happened::Enter(line), &mut kept);
    pairing.lost(&Lost { cpu: 0, since: 30, until: Some(50), missed: Missed::Some }, &mut kept);
    // The ends of the first two arrive; the soft interrupt 3 may have ended during the loss.
    pairing.take(0, 60, &Happened::Exit(line), &mut kept);
    pairing.take(0, 70, &Happened::Enter(soft), &mut kept);
    pairing.take(0, 80, &Happened::Exit(soft), &mut kept);
    let unpaired = pairing.end(90, &mut kept);
    assert_eq!((unpaired.voided, unpaired.unbegun, unpaired.unended), (3, 0, 0));
}
