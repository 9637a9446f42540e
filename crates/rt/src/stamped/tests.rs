use super::*;
use crate::{Config, recorder};
use proptest::prelude::*;
use std::{vec, vec::Vec};

/// A device that returns the given events and errors, then fails.
struct Told(Vec<Result<Stamped, Errno>>);

impl Device for Told {
    fn next(&mut self) -> Result<Stamped, Refusal> {
        if self.0.is_empty() {
            return Err(Refusal { call: "told", error: Errno::EINVAL });
        }
        self.0.remove(0).map_err(|error| Refusal { call: "told", error })
    }
}

fn event(number: u64, t1: u64, t3: u64) -> Stamped {
    Stamped { number, t1, t3, ..Stamped::default() }
}

fn swept(told: Vec<Result<Stamped, Errno>>, pass: Pass, room: usize) -> (End<Refusal>, Log, u64) {
    let (mut recorder, mut reader) = recorder::new(&Config::default()).unwrap();
    let (mut log, stop) = (Log::new(room), AtomicBool::new(false));
    let end = sweep(&mut Told(told), &pass, &stop, &mut recorder, &mut log);
    recorder.close(1_000);
    (end, log, reader.snapshot().unwrap().plain.count)
}

const ALL: Pass = Pass { events: u64::MAX, until_ns: u64::MAX, from_ns: 0 };

/// The log and the samples contain the answered events in order. A signal is not an event, and an event from before the start of counting
/// does not count.
#[test]
fn events_are_kept_in_order_and_nothing_else() {
    let told = [Ok(event(0, 5, 9)), Err(Errno::EINTR), Ok(event(1, 15, 19)), Ok(event(3, 35, 40))];
    let (end, log, count) = swept(told.to_vec(), Pass { from_ns: 10, ..ALL }, 8);
    assert_eq!(end, End::Failed(Refusal { call: "told", error: Errno::EINVAL }));
    assert_eq!(log.events(), [event(1, 15, 19), event(3, 35, 40)]);
    assert_eq!((count, log.dropped), (2, 0));
}

/// The loop ends by the number of events and by the time, and counts events for which the log has no room.
#[test]
fn it_ends_by_count_and_by_time_and_counts_what_finds_no_room() {
    let told: Vec<_> = (0..9).map(|k| Ok(event(k, k * 10, k * 10 + 3))).collect();
    let (end, log, _) = swept(told.clone(), Pass { events: 4, ..ALL }, 8);
    assert_eq!((end, log.events().len()), (End::Complete, 4));
    let (end, log, _) = swept(told.clone(), Pass { until_ns: 33, ..ALL }, 8);
    assert_eq!((end, log.events().len()), (End::Complete, 4));
    let (_, log, count) = swept(told, ALL, 2);
    assert_eq!((log.events().len(), log.dropped, count), (2, 7, 9));
}

/// Expiries that pass while the thread is not waiting keep their numbers on the grid.
#[test]
fn a_timer_that_was_missed_keeps_its_number() {
    let mut timer = TimerEvents::every(1_000_000, 1_000);
    // The start is long past: the next instant is the first one on the grid that is still in the future.
    let event = timer.next().unwrap();
    assert_eq!(event.t1 % 1_000_000, 1_000);
    assert_eq!(event.number, event.t1 / 1_000_000 - 1);
    assert!(event.t3 >= event.t1);
    let second = timer.next().unwrap();
    assert!(second.number > event.number && (second.t1 - event.t1) / 1_000_000 == second.number - event.number);
}

proptest! {
    #[test]
    fn a_trigger_says_what_it_is(number: u64, sent_ns: u64, size in Trigger::LEAST..100) {
        let mut packet = vec![0; size];
        Trigger { number, sent_ns }.write(&mut packet);
        prop_assert_eq!(Trigger::read(&packet), Some(Trigger { number, sent_ns }));
    }

    #[test]
    fn whatever_arrives_is_read(ours: bool, rest in proptest::collection::vec(any::<u8>(), 0..64)) {
        // A random beginning is hardly ever the magic.
        let mut bytes = if ours { b"latido\0\x01".to_vec() } else { Vec::new() };
        bytes.extend(rest);
        let magic = bytes.starts_with(b"latido\0\x01");
        prop_assert_eq!(Trigger::read(&bytes).is_some(), magic && bytes.len() >= Trigger::LEAST);
    }
}
