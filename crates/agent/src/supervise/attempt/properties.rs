//! Properties of every attempt, whatever happens in whatever order. The tape of its world is drawn at random.

use super::{
    plain::{Beat, Machine, attempted, beats, ms},
    *,
};
use proptest::{prelude::*, test_runner::RngSeed};
use std::collections::BTreeMap;

fn times(machine: &Machine, what: &str) -> Vec<Duration> {
    machine.log.iter().filter(|(_, name)| name == what).map(|(at, _)| *at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, rng_seed: RngSeed::Fixed(28), failure_persistence: None, ..ProptestConfig::default() })]

    /// Everything that was started ends exactly once, and the undoing comes last, whatever failed or was stopped.
    #[test]
    fn every_attempt_ends_in_one_undoing(tape in beats(), loads in 0usize..4) {
        let machine = attempted(tape, loads, 0);
        prop_assert_eq!((machine.undone, machine.tuned, machine.measuring, machine.watched), (1, 0, false, false));
        for load in &machine.loads {
            prop_assert_eq!((load.begun, load.ended), (1, 1), "{:?}", machine.log);
            prop_assert!(load.counted <= 1);
        }
        prop_assert!(machine.started <= 1);
        let last: Vec<_> = machine.log.iter().rev().take(2).map(|(_, name)| name.as_str()).collect();
        prop_assert_eq!(last, ["Close", "Undo"]);
    }

    /// The record is sent if a whole one came and nothing failed or was stopped at once. Every reported record is taken once, in order, and
    /// none after the end.
    #[test]
    fn a_record_is_sent_once_or_its_absence_is_reported(tape in beats(), loads in 0usize..3) {
        let machine = attempted(tape, loads, 0);
        let taken = machine.checkpoints.len() + machine.kept.len();
        prop_assert_eq!(taken, machine.said.len());
        let number = |places: &[String]| places.iter().map(|place| place.parse().unwrap()).collect::<Vec<u32>>();
        prop_assert!(number(&machine.kept).is_sorted() && number(&machine.checkpoints).is_sorted());
        let close = machine.closed.unwrap();
        prop_assert_eq!(close == Close::Send, machine.collected);
        prop_assert_eq!(close == Close::Report, machine.error.is_some(), "{:?}: {:?}", close, machine.error);
        prop_assert!(close != Close::Send || !machine.kept.is_empty());
        prop_assert_eq!(close == Close::AtOnce, times(&machine, "Kill").len() == 1);
        prop_assert!(close != Close::TooEarly || machine.started == 0, "nothing is measured after a stop");
    }

    /// What may happen once happens at most once, and nothing ends before it begins.
    #[test]
    fn nothing_is_done_twice_or_out_of_order(tape in beats(), loads in 0usize..3) {
        let machine = attempted(tape, loads, 0);
        for once in ["LetGoOfCode", "LoadsBegin", "WatchBegins", "LoadsEnd", "WatchEnds", "Cool", "Stop", "Kill", "StopLoads",
            "LetGo", "Tune", "Load", "Start", "Collect", "Undo", "Close"]
        {
            prop_assert!(times(&machine, once).len() <= 1, "{}: {:?}", once, machine.log);
        }
        let place = |what: &str| machine.log.iter().position(|(_, name)| name == what);
        let order = ["Tune", "Load", "Start", "LoadsBegin", "LoadsEnd", "Collect", "Undo"].map(place);
        prop_assert!(order.iter().flatten().is_sorted(), "{:?}", machine.log);
        let seen = |what: &str| place(what).is_some();
        prop_assert_eq!(seen("LoadsBegin"), seen("WatchBegins"));
        prop_assert_eq!(seen("LoadsEnd"), seen("WatchEnds"));
        prop_assert!(!seen("Cool") || seen("Stop"), "heat ends the loops too");
        let felt = machine.log.iter().rposition(|(_, name)| name == "Heat");
        for end in ["LoadsEnd", "Cool"] {
            prop_assert!(place(end).zip(felt).is_none_or(|(end, felt)| felt < end), "{}: {:?}", end, machine.log);
        }
    }

    /// However fast or slow the world answers, looks are a second apart, glances are as far apart as they must be, and no wait for loads is
    /// longer than requested.
    #[test]
    fn the_clock_alone_decides_when(tape in beats(), loads in 0usize..3, shift in 0u64..1 << 40) {
        let machine = attempted(tape.clone(), loads, 0);
        // The second answer tells how long the loads need. The waits while the measuring process runs are empty.
        let settle = ms(tape.get(1).map_or(0, |beat| beat.ms));
        let waited: Duration =
            machine.log.windows(2).filter(|two| two[0].1 == "Pause").map(|two| two[1].0 - two[0].0).sum();
        prop_assert!(waited <= settle, "{:?} of {:?}: {:?}", waited, settle, machine.log);
        let apart = |what: &str, least: Duration| times(&machine, what).windows(2).all(|two| two[1] - two[0] >= least);
        prop_assert!(apart("Reap", ROUND), "{:?}", times(&machine, "Reap"));
        prop_assert!(apart("Glance", CLOSE_LOOK), "{:?}", times(&machine, "Glance"));
        let looks = times(&machine, "Reap");
        let length = machine.now;
        prop_assert!(looks.len() as u128 <= length.as_millis() / ROUND.as_millis());
        // The same events at shifted times must cause the same deeds.
        let later = attempted(tape, loads, shift);
        let shifted: Vec<_> = machine.log.iter().map(|(at, name)| (*at + ms(shift), name.clone())).collect();
        prop_assert_eq!(shifted, later.log);
    }

    /// After a failure of any answer, every step still gets its end: the attempt fails there, and closes with that failure.
    #[test]
    fn a_cut_anywhere_is_followed_by_the_undoing(tape in beats(), loads in 0usize..3, at in 0usize..60) {
        let mut tape: Vec<Beat> = tape.into_iter().map(|beat| Beat { fails: false, wish: Wish::GoOn, ..beat }).collect();
        if let Some(beat) = tape.get_mut(at) {
            beat.fails = true;
        }
        let machine = attempted(tape, loads, 0);
        let mut balance = BTreeMap::new();
        for (_, name) in &machine.log {
            *balance.entry(name.as_str()).or_insert(0u32) += 1;
        }
        let count = |what: &str| balance.get(what).copied().unwrap_or(0);
        prop_assert_eq!(count("Start") * u32::from(machine.started == 1), count("Collect").max(count("LetGo")));
        prop_assert_eq!((count("Undo"), count("Close")), (1, 1));
        prop_assert!(machine.loads.iter().all(|load| load.ended == 1));
        prop_assert_eq!(machine.closed == Some(Close::Report), machine.error.is_some());
    }
}
