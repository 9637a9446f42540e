use super::*;
use crate::{
    Reader,
    recorder::{self, Config},
};
use latido_model::needs::{Need, skip};
use latido_sys::{
    mutex::Protocol,
    sched::{self, Policy},
};
use proptest::prelude::*;
use std::{sync::Arc, thread, vec, vec::Vec};

fn recorder() -> (Recorder, Reader) {
    recorder::new(&Config { edges: vec![1_000], ..Config::default() }).unwrap()
}

/// A round in the right order, starting at `start`. Middle runs before high has the mutex if `inverted`, otherwise not at all.
fn ordered(start: u64, steps: [u64; 5], inverted: bool) -> Stamps {
    let [to_request, to_posted, run, to_release, to_acquired] = steps;
    let request = start + to_request;
    let posted = request + to_posted + 1;
    let ended = posted + run;
    let release = ended + to_release;
    let middle = inverted.then_some((posted, ended));
    Stamps { locked: start, request, seen: true, posted, release, acquired: release + to_acquired, middle }
}

proptest! {
    /// Every round is either a sample or counted as unconfirmed. A sample is acquisition minus request. Inverted rounds are also samples.
    #[test]
    fn every_round_is_a_sample_or_unconfirmed(
        rounds in prop::collection::vec(
            (0u64..1 << 40, prop::array::uniform5(0u64..1_000_000), any::<bool>(), prop::option::weighted(0.3, 0usize..6)),
            0..80,
        ),
    ) {
        let (mut recorder, mut reader) = recorder();
        let (mut confirmed, mut inverted, mut sum) = (0, 0, 0);
        for (start, steps, invert, spoiled) in &rounds {
            let mut stamps = ordered(*start, *steps, *invert);
            match spoiled {
                Some(0) => stamps.seen = false,
                Some(1) => stamps.locked = stamps.request + 1,
                Some(2) => stamps.request = stamps.posted,
                Some(3) => stamps.posted = stamps.release + 1,
                Some(4) => stamps.release = stamps.acquired + 1,
                // High requested the mutex in an earlier round, or never.
                Some(_) => (stamps.seen, stamps.posted) = (false, 0),
                None => {
                    confirmed += 1;
                    inverted += u64::from(*invert);
                    sum += i128::from(stamps.acquired - stamps.request);
                }
            }
            take(&mut recorder, &stamps);
        }
        let snapshot = reader.snapshot().unwrap();
        prop_assert_eq!((snapshot.plain.count, snapshot.plain.sum), (confirmed, sum));
        prop_assert_eq!(snapshot.plain.count + snapshot.tallies[UNCONFIRMED], rounds.len() as u64);
        prop_assert_eq!(snapshot.tallies[INVERTED], inverted);
    }

    /// Middle must have begun after the request and ended before the acquisition.
    #[test]
    fn middle_counts_only_while_high_waits(steps in prop::array::uniform5(0u64..1_000), at in 0u64..10_000, ran in 0u64..5_000) {
        let mut stamps = ordered(3_000, steps, true);
        stamps.middle = Some((at, at + ran));
        prop_assert_eq!(stamps.inverted(), at >= stamps.request && at + ran <= stamps.acquired);
        stamps.middle = None;
        prop_assert!(!stamps.inverted());
    }
}

/// The result of a scene: the outcomes of high and low, and what each recorder contains.
struct Played {
    high: Rounds,
    low: Rounds,
    read: Vec<crate::Snapshot>,
}

fn times(rounds: u64) -> InversionTimes {
    let course = Course { rounds, duration_ns: u64::MAX, warmup_ns: 3_000_000 };
    InversionTimes { course, interval_ns: 1_000_000, hold_ns: 50_000, busy_ns: 200_000 }
}

/// Runs three threads on one CPU, with these policies for high, middle and low.
fn play(times: InversionTimes, protocols: &[Protocol], policies: Option<[Policy; 3]>, stop: Arc<AtomicBool>) -> Played {
    let mutexes = protocols.iter().map(|protocol| Mutex::new(*protocol, false).unwrap()).collect();
    let scene = Arc::new(Scene::new(mutexes).unwrap());
    if policies.is_none() {
        scene.without_ranks();
    }
    let (recorders, mut readers): (Vec<_>, Vec<_>) = protocols.iter().map(|_| recorder()).unzip();
    let cpu = *sched::affinity(0).unwrap().last().unwrap();
    let ready = Arc::new(std::sync::Barrier::new(3));
    let spawn = |who: usize, part: std::boxed::Box<dyn FnOnce() -> Rounds + Send>| {
        let ready = Arc::clone(&ready);
        thread::spawn(move || {
            sched::set_affinity(0, [cpu]).unwrap();
            ready.wait();
            if let Some(policies) = policies {
                sched::set_policy(0, policies[who], false).unwrap();
            }
            part()
        })
    };
    let (of_high, mut recorders, stops) = (Arc::clone(&scene), recorders, Arc::clone(&stop));
    let high = spawn(0, std::boxed::Box::new(move || high(&of_high, &stops, &mut recorders)));
    let (of_middle, stops) = (Arc::clone(&scene), Arc::clone(&stop));
    let middle = spawn(1, std::boxed::Box::new(move || middle(&of_middle, &stops, &times)));
    let (of_low, stops) = (Arc::clone(&scene), Arc::clone(&stop));
    let low = spawn(2, std::boxed::Box::new(move || low(&of_low, &stops, &times)));
    let (low, middle, high) = (low.join().unwrap(), middle.join().unwrap(), high.join().unwrap());
    assert_eq!(middle.end, End::Complete);
    Played { high, low, read: readers.iter_mut().map(|reader| reader.snapshot().unwrap()).collect() }
}

/// Without real-time policies all threads still end, and every round counts as unconfirmed.
#[test]
fn time_sharing_threads_come_to_an_end() {
    let played = play(times(15), &[Protocol::Normal, Protocol::Inherit], None, Arc::default());
    assert_eq!((played.low.end, played.low.rounds, played.high.end), (End::Complete, 15, End::Complete));
    for snapshot in played.read {
        assert_eq!((snapshot.plain.count, snapshot.tallies[UNCONFIRMED], snapshot.tallies[INVERTED]), (0, 15, 0));
        assert_eq!(snapshot.origin, played.high.first_ns);
    }
}

#[test]
fn the_stop_flag_ends_all_three() {
    let stop = Arc::new(AtomicBool::new(false));
    let setter = Arc::clone(&stop);
    let setting = thread::spawn(move || {
        thread::sleep(std::time::Duration::from_millis(20));
        setter.store(true, Relaxed);
    });
    let played = play(times(u64::MAX), &[Protocol::Normal], None, stop);
    setting.join().unwrap();
    assert_eq!(played.low.end, End::Stopped);
}

/// As in the textbook, middle runs while high waits without inheritance, and never with it. The test checks the counts, and that a wait for
/// middle lasts at least as long as middle is busy, on any machine. How long the other waits last depends on the machine.
#[test]
fn inheritance_keeps_middle_away() {
    let fifo = |prio| Policy::Fifo { prio };
    let allowed = thread::spawn(move || sched::set_policy(0, fifo(30), false).is_ok()).join().unwrap();
    if !allowed {
        return skip("an inversion of real-time threads", Need::Realtime, "the kernel refuses FIFO 30");
    }
    let policies = Some([fifo(30), fifo(29), fifo(28)]);
    let times = times(60);
    let played = play(times, &[Protocol::Normal, Protocol::Inherit], policies, Arc::default());
    let [normal, inherit] = &played.read[..] else { panic!("two kinds") };
    for snapshot in [normal, inherit] {
        assert_eq!(snapshot.plain.count + snapshot.tallies[UNCONFIRMED], 60);
        assert!(snapshot.plain.count > 0, "no round went as it should: {:?}", snapshot.tallies);
    }
    let inverted = normal.tallies[INVERTED];
    assert!(inverted > 0, "{:?}", normal.tallies);
    assert_eq!(inherit.tallies[INVERTED], 0);
    let shortest = normal.plain.at_rank(normal.plain.count - inverted + 1).unwrap();
    assert!(shortest >= times.busy_ns.cast_signed(), "{inverted} waited for middle, some for {shortest} ns");
}
