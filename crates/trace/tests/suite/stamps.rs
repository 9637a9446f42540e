//! Joining three stamps: latido counts what is lost, doubled or out of order, and it affects no other event.

use latido_trace::stamps::{Answered, Chain, Handler, Stamp, Stamps, join};
use proptest::prelude::*;

/// An event and its chain: the distances between t1, entry, thread, handler and t3, and the pause before the next event.
type Gaps = [u64; 5];

fn stamp(at: u64) -> Stamp {
    Stamp { at, cpu: 0, due: None }
}

/// A trace in which every event is answered before the next one occurs.
fn trace(all: &[Gaps]) -> (Vec<Answered>, Stamps) {
    let (mut events, mut stamps, mut now) = (Vec::new(), Stamps::default(), 1_000);
    for (number, [entry, thread, handler, task, pause]) in (0..).zip(all) {
        let t1 = now;
        stamps.entry.push(stamp(t1 + entry));
        stamps.thread.push(stamp(t1 + entry + thread));
        stamps.handler.push(stamp(t1 + entry + thread + handler));
        let t3 = t1 + entry + thread + handler + task;
        events.push(Answered { number, t1, t3, ..Answered::default() });
        now = t3 + 1 + pause;
    }
    (events, stamps)
}

/// The chains that the joiner must find.
fn wanted(events: &[Answered], stamps: &Stamps) -> Vec<Chain> {
    let chain = |(k, event): (usize, &Answered)| Chain {
        event: *event,
        entry: Some(stamps.entry[k].at),
        thread: Some(stamps.thread[k].at),
        handler: Handler::At(stamps.handler[k].at),
    };
    events.iter().enumerate().map(chain).collect()
}

fn gaps() -> impl Strategy<Value = Vec<Gaps>> {
    prop::collection::vec(prop::array::uniform5(0u64..2_000), 1..60)
}

/// A line's threads are known by their names, including a second thread and a name that the kernel cut.
#[test]
fn threads_belong_to_their_line() {
    use latido_trace::stamps::of_line;
    for (comm, line, own) in [
        ("irq/16-hpet2", "hpet", true),
        ("irq/10-s-uio_pci_generic", "uio_pci_generic", true),
        ("irq/10-s-uio_pc", "uio_pci_generic", true),
        ("irq/10-uio_pci", "uio_pci_generic", false),
        ("irq/4-ttyS0", "ttyS2", false),
        ("hpet", "hpet", false),
        ("irq/16-", "hpet", false),
    ] {
        assert_eq!(of_line(comm, line), own, "{comm}");
    }
}

/// A stamp that an event carries is its handler's if it is between its t1 and t3; the kernel's stamps are not needed.
#[test]
fn an_event_may_bring_its_stamp_along() {
    let event = |t2| Answered { number: 0, t1: 1_000, t2: Some(t2), t3: 2_000, error: 20 };
    for (t2, joined) in [(1_500, true), (985, true), (2_001, false), (900, false)] {
        let all = join(&[event(t2)], Stamps::default());
        assert_eq!((all.chains[0].t2(), all.lost), (joined.then_some(t2), u64::from(!joined)), "{t2}");
    }
}

proptest! {
    /// Every event finds its own stamps, in whatever order they arrive.
    #[test]
    fn each_event_has_its_own_stamps_in_any_order(all in gaps(), turn in 0usize..60, back in any::<bool>()) {
        let (events, stamps) = trace(&all);
        let mut mixed = stamps.clone();
        for list in [&mut mixed.handler, &mut mixed.entry, &mut mixed.thread] {
            let length = list.len();
            list.rotate_left(turn % length);
            if back {
                list.reverse();
            }
        }
        let joined = join(&events, mixed);
        prop_assert_eq!(joined.chains, wanted(&events, &stamps));
        prop_assert_eq!((joined.lost, joined.doubled, joined.passed), (0, 0, 0));
    }

    /// A handler's stamp that is lost or doubled is counted. Its event has no t2, and other events are unaffected.
    #[test]
    fn lost_and_doubled_stamps_are_counted_and_cost_no_other_event(
        all in gaps(),
        lost in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        doubled in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let (events, stamps) = trace(&all);
        let count = events.len();
        let lost: std::collections::BTreeSet<usize> = lost.iter().map(|one| one.index(count)).collect();
        let doubled: std::collections::BTreeSet<usize> =
            doubled.iter().map(|one| one.index(count)).filter(|one| !lost.contains(one)).collect();
        let mut broken = stamps.clone();
        broken.handler = (0..count)
            .filter(|k| !lost.contains(k))
            .flat_map(|k| std::iter::repeat_n(stamps.handler[k], if doubled.contains(&k) { 2 } else { 1 }))
            .collect();
        let joined = join(&events, broken);
        prop_assert_eq!((joined.lost, joined.doubled), (lost.len() as u64, doubled.len() as u64));
        prop_assert_eq!(joined.unjoined(), (lost.len() + doubled.len()) as u64);
        for (k, (chain, whole)) in joined.chains.iter().zip(wanted(&events, &stamps)).enumerate() {
            match (lost.contains(&k), doubled.contains(&k)) {
                (true, _) => prop_assert_eq!(chain.handler, Handler::Lost),
                (_, true) => prop_assert_eq!(chain.handler, Handler::Doubled),
                _ => prop_assert_eq!(*chain, whole),
            }
        }
    }

    /// An event without an answer has a number and no chain.
    #[test]
    fn events_that_passed_are_counted_by_their_numbers(all in gaps(), away in any::<prop::sample::Index>()) {
        let (mut events, stamps) = trace(&all);
        let gone = away.index(events.len());
        events.remove(gone);
        let inside = gone > 0 && gone < events.len();
        let joined = join(&events, stamps);
        prop_assert_eq!((joined.passed, joined.unjoined()), (u64::from(inside), 0));
    }

    /// Whatever the numbers are, nothing panics and every event is accounted for.
    #[test]
    fn nonsense_is_joined_too(
        events in prop::collection::vec(any::<(u64, u64, u64, u64)>(), 0..20),
        times in prop::collection::vec(any::<(u64, Option<u64>)>(), 0..40),
    ) {
        let events: Vec<Answered> =
            events.into_iter().map(|(number, t1, t3, error)| Answered { number, t1, t2: None, t3, error }).collect();
        let all: Vec<Stamp> = times.into_iter().map(|(at, due)| Stamp { at, cpu: 0, due }).collect();
        let joined = join(&events, Stamps { handler: all.clone(), entry: all.clone(), thread: all });
        prop_assert_eq!(joined.chains.len(), events.len());
        let with = joined.chains.iter().filter(|chain| chain.t2().is_some()).count() as u64;
        prop_assert_eq!(with + joined.unjoined(), events.len() as u64);
    }
}

/// A stamp that states when its event was due belongs to that event, however many others are in the same span.
#[test]
fn a_timers_stamp_is_of_the_event_that_was_due_then() {
    let event = |number, t1, t3| Answered { number, t1, t3, ..Answered::default() };
    // The second event occurred while the first was still on its way.
    let events = [event(0, 100, 400), event(1, 200, 450)];
    let due = |at, due| Stamp { at, cpu: 0, due: Some(due) };
    let stamps = Stamps { handler: vec![due(150, 100), due(250, 200), due(260, 777)], ..Stamps::default() };
    let joined = join(&events, stamps.clone());
    assert_eq!(joined.chains.iter().map(Chain::t2).collect::<Vec<_>>(), [Some(150), Some(250)]);
    // Without the due time the choice would be a guess.
    let bare = stamps.handler.iter().map(|one| stamp(one.at)).collect();
    assert_eq!(join(&events, Stamps { handler: bare, ..Stamps::default() }).doubled, 2);
}

/// t1 may be wrong by its error: a stamp that is this much earlier belongs to the event. Stamps after the handler's do not belong to its
/// chain.
#[test]
fn the_error_of_t1_is_granted_and_what_follows_the_handler_is_not_its_chain() {
    let event = Answered { t1: 1_000, t3: 2_000, error: 20, ..Answered::default() };
    let stamps = Stamps { handler: vec![stamp(985)], entry: vec![stamp(990)], thread: vec![stamp(979)] };
    let joined = join(&[event], stamps.clone());
    assert_eq!((joined.chains[0].t2(), joined.chains[0].entry, joined.chains[0].thread), (Some(985), None, None));
    assert_eq!(join(&[Answered { error: 14, ..event }], stamps).lost, 1);
}
