use super::*;
use crate::{
    Reader, Snapshot,
    recorder::{self, Config},
};
use proptest::prelude::*;
use std::{cell::Cell, vec, vec::Vec};

/// A kind whose rounds are scripted, on a clock that all kinds share.
struct Fake<'a> {
    now: &'a Cell<u64>,
    stop: &'a AtomicBool,
    script: &'a [Scripted],
    made: usize,
    samples: Vec<[i64; 2]>,
    left_out: u64,
}

#[derive(Clone, Copy, Debug)]
enum Scripted {
    Takes(u64, u64),
    Interrupted,
    Stops,
    Fails,
}

struct Shared<'a>(&'a Cell<u64>);

impl Time for Shared<'_> {
    fn now(&self) -> u64 {
        self.0.get()
    }
}

const REFUSAL: Refusal = Refusal { call: "call", error: Errno::EBUSY };

impl Round<2> for Fake<'_> {
    fn round(&mut self) -> Result<Option<Taken<2>>, Refusal> {
        let scripted = self.script[self.made % self.script.len()];
        self.made += 1;
        match scripted {
            Scripted::Takes(first, second) => {
                self.now.set(self.now.get() + first + second);
                self.samples.push([first as i64, second as i64]);
                Ok(Some(Taken { values: [first as i64, second as i64], at: self.now.get() }))
            }
            Scripted::Interrupted | Scripted::Stops => {
                self.left_out += 1;
                self.stop.store(self.stop.load(Relaxed) || matches!(scripted, Scripted::Stops), Relaxed);
                Ok(None)
            }
            Scripted::Fails => Err(REFUSAL),
        }
    }
}

struct World {
    outcome: Rounds,
    kinds: Vec<(Vec<[i64; 2]>, u64, usize)>,
    read: Vec<[Snapshot; 2]>,
    blocks: Vec<u64>,
    stop: bool,
}

fn run(course: &Course, scripts: &[Vec<Scripted>], capacity: usize, config: &Config) -> World {
    let (now, stop) = (Cell::new(1_000), AtomicBool::new(false));
    let mut readers: Vec<[Reader; 2]> = Vec::new();
    let mut channels: Vec<Channel<2>> = Vec::new();
    for _ in scripts {
        let ((a, first), (b, second)) = (recorder::new(config).unwrap(), recorder::new(config).unwrap());
        channels.push(Channel::new([a, b], capacity));
        readers.push([first, second]);
    }
    let mut warm_ups = 0;
    let mut kinds: Vec<Fake> = Vec::new();
    let outcome = drive(course, &mut channels, &Shared(&now), |pass, channels| {
        warm_ups += 1;
        // The second stretch is the one that counts.
        kinds = scripts
            .iter()
            .map(|script| Fake { now: &now, stop: &stop, script, made: 0, samples: Vec::new(), left_out: 0 })
            .collect();
        sweep(&mut kinds, channels, pass, &stop)
    });
    assert!(warm_ups <= 2);
    let mut read = Vec::new();
    let mut blocks = Vec::new();
    for (channel, [first, second]) in channels.into_iter().zip(readers) {
        let [a, b] = channel.recorders;
        let ((one, of_one), (two, _)) = (first.finish(a), second.finish(b));
        blocks.push(of_one.iter().map(|block| block.count).sum());
        read.push([one, two]);
    }
    let kinds = kinds.into_iter().map(|kind| (kind.samples, kind.left_out, kind.made)).collect();
    World { outcome, kinds, read, blocks, stop: stop.load(Relaxed) }
}

fn config() -> Config {
    Config { edges: vec![100, 1_000], block_ns: 10_000, ..Config::default() }
}

fn script() -> impl Strategy<Value = Vec<Scripted>> {
    let one = prop_oneof![
        40 => (0u64..2_000, 0u64..300).prop_map(|(a, b)| Scripted::Takes(a, b)),
        3 => (0u64..2_000_000, 0u64..300).prop_map(|(a, b)| Scripted::Takes(a, b)),
        3 => Just(Scripted::Interrupted),
        1 => Just(Scripted::Stops),
        1 => Just(Scripted::Fails),
    ];
    // At least one round must take time, or a measurement by time never ends.
    (prop::collection::vec(one, 0..60), 1u64..500).prop_map(|(mut all, last)| {
        all.push(Scripted::Takes(last, 1));
        all
    })
}

proptest! {
    /// In every quantity, for each kind and in the blocks: each round is either a sample or counted as left out.
    #[test]
    fn every_round_is_a_sample_or_counted(
        scripts in prop::collection::vec(script(), 1..4),
        capacity in 1usize..50,
        rounds in prop_oneof![0u64..300, Just(u64::MAX)],
        duration_ns in prop_oneof![1u64..300_000, Just(u64::MAX)],
        warmup in any::<bool>(),
    ) {
        prop_assume!(rounds != u64::MAX || duration_ns != u64::MAX);
        let warmup_ns = if warmup { 5_000 } else { 0 };
        let task = Course { rounds, duration_ns, warmup_ns };
        let world = run(&task, &scripts, capacity, &config());
        let outcome = world.outcome;
        for (((samples, left_out, made), read), blocks) in world.kinds.iter().zip(&world.read).zip(&world.blocks) {
            // After a failed call or a stop in the warm-up, nothing counts.
            let counted = read[0].origin == outcome.first_ns && read[0].phase == RecorderPhase::Ended;
            prop_assert!(counted);
            let in_warmup = warmup && outcome.rounds == 0 && read[0].plain.count == 0 && read[0].tallies[LEFT_OUT] == 0;
            if !in_warmup {
                for (quantity, snapshot) in read.iter().enumerate() {
                    prop_assert_eq!(snapshot.plain.count, samples.len() as u64);
                    prop_assert_eq!(snapshot.plain.sum, samples.iter().map(|s| i128::from(s[quantity])).sum::<i128>());
                }
                prop_assert_eq!(read[0].tallies[LEFT_OUT], *left_out);
                prop_assert_eq!(*blocks, samples.len() as u64);
                // The kinds take turns: no kind is more than the one current round ahead.
                let failed = u64::from(*made as u64 > samples.len() as u64 + left_out);
                let whole = samples.len() as u64 + left_out;
                prop_assert!(whole == outcome.rounds || whole == outcome.rounds + 1, "{whole} {outcome:?}");
                prop_assert!(failed == 0 || outcome.end == End::Failed(REFUSAL));
            }
        }
        match outcome.end {
            End::Complete => {
                prop_assert!(outcome.rounds == rounds || outcome.ended_ns - outcome.first_ns >= duration_ns);
                prop_assert!(outcome.rounds <= rounds);
            }
            End::Stopped => prop_assert!(world.stop),
            End::Failed(refusal) => prop_assert_eq!(refusal, REFUSAL),
            End::Sample => prop_assert!(false, "nothing was to stop it"),
        }
    }

    /// A mean is never below zero, and the mean of one call without a cost is the time of the call.
    #[test]
    fn a_mean_is_what_passed_by_the_count(elapsed in 0u64..1 << 50, cost in 0u64..1 << 40, count in 0u64..100_000) {
        let mean = mean_ps(elapsed, cost, count);
        let exact = (i128::from(elapsed) * 1_000 - i128::from(cost)).max(0);
        prop_assert_eq!(i128::from(mean), if count == 0 { 0 } else { exact / i128::from(count) });
    }
}

#[test]
fn a_sample_above_stop_on_ends_the_loop_and_tells_the_others() {
    let mut script = vec![Scripted::Takes(10, 20); 500];
    script[333] = Scripted::Takes(10, 70_000);
    let config = Config { stop_on_ns: Some(50_000), ..config() };
    let task = Course { rounds: 10_000, duration_ns: u64::MAX, warmup_ns: 0 };
    let world = run(&task, &[vec![Scripted::Takes(5, 5)], script], 100, &config);
    assert_eq!(world.outcome.end, End::Sample);
    assert_eq!(world.read[1][1].stopped.map(|sample| sample.value), Some(70_000));
    assert!(world.read[0][0].stopped.is_none() && world.stop);
    assert_eq!(world.outcome.rounds, 400, "to the end of the chunk that it was in");
}

#[test]
fn the_warm_up_is_forgotten_and_does_not_stop_the_loop() {
    // Each stretch begins with the long round. The warm-up consists of one such round; the measurement counts its own.
    let script = vec![Scripted::Takes(60_000, 1), Scripted::Takes(30, 1)];
    let config = Config { stop_on_ns: Some(100_000), ..config() };
    let task = Course { rounds: 2, duration_ns: u64::MAX, warmup_ns: 1_000 };
    let world = run(&task, &[script], 8, &config);
    assert_eq!((world.outcome.end, world.outcome.rounds), (End::Complete, 2));
    assert_eq!((world.read[0][0].plain.count, world.read[0][0].plain.sum), (2, 60_030));
    assert!(world.outcome.first_ns >= 61_000, "counting began after the warm-up");
}

#[test]
fn a_refusal_reads_like_a_sentence() {
    let refusal = Refusal { call: "pthread_mutex_lock", error: Errno::EINVAL };
    assert_eq!(std::format!("{refusal}"), "pthread_mutex_lock failed: Invalid argument (errno 22)");
}
