use super::*;
use crate::{
    block::{Block, BlockSeries},
    buckets::{self, HIGHEST},
};
use hdrhistogram::Histogram;
use proptest::prelude::*;
use std::{sync::atomic::AtomicBool, vec, vec::Vec};

impl Recorder {
    fn take(&mut self, value: i64, at: u64) {
        let open = self.begin();
        self.record(value, at);
        self.commit(open);
    }
}

/// Samples of every size: ordinary, equal, negative and overflowing ones.
fn sample() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => 1_900i64..2_200,
        8 => 0i64..200_000,
        2 => 0i64..70_000_000_000,
        1 => -3_000i64..0,
        1 => (HIGHEST as i64 - 2)..(HIGHEST as i64 + 3),
        1 => Just(i64::from(u32::MAX)),
    ]
}

/// A history of samples with the time before each.
fn history(most: usize) -> impl Strategy<Value = Vec<(i64, u64)>> {
    prop::collection::vec((sample(), prop_oneof![20 => 0u64..3_000, 1 => 0u64..30_000_000]), 1..most)
}

fn edges() -> impl Strategy<Value = Vec<u64>> {
    let edge = prop_oneof![0u64..4_000, 1_990u64..2_100, 50_000u64..50_100, 1u64..HIGHEST + 1];
    prop::collection::btree_set(edge, 0..12).prop_map(|set| set.into_iter().collect())
}

/// Calculates the same figures in the slow and obvious way.
fn reference(samples: &[(i64, u64)], edges: &[u64]) -> Distribution {
    let mut plain = Distribution { edges: edges.to_vec(), bands: vec![0; edges.len() + 1], ..Distribution::default() };
    let mut crate_histogram = Histogram::<u64>::new_with_bounds(1, HIGHEST, 3).unwrap();
    for &(value, _) in samples {
        plain.count += 1;
        plain.sum += i128::from(value);
        plain.sum_squares += u128::from(value.unsigned_abs()).pow(2);
        plain.negative += u64::from(value < 0);
        plain.overflow += u64::from(value > HIGHEST as i64);
        if value <= HIGHEST as i64 {
            crate_histogram.record(value.max(0) as u64).unwrap();
        }
        plain.bands[edges.iter().position(|&edge| value <= edge as i64).unwrap_or(edges.len())] += 1;
    }
    plain.min = samples.iter().map(|s| s.0).min();
    plain.max = samples.iter().map(|s| s.0).max();
    let used = plain.max.map_or(0, |max| buckets::index(max.clamp(0, HIGHEST as i64) as u64) + 1);
    let count_at = |index| crate_histogram.count_at(buckets::lowest(index));
    plain.counts = (0..used).map(count_at).collect();
    plain.counts.truncate(plain.counts.iter().rposition(|n| *n > 0).map_or(0, |last| last + 1));
    plain
}

fn largest_of(samples: &[(i64, u64)]) -> Vec<(i64, u64)> {
    let mut sorted = samples.to_vec();
    sorted.sort_by_key(|&(value, at)| (core::cmp::Reverse(value), at));
    sorted.truncate(LARGEST);
    sorted
}

fn merged(blocks: &[Block]) -> Block {
    let mut whole = Block::default();
    for block in blocks {
        whole.merge(block);
    }
    whole
}

const BLOCK: u64 = 1_000_000;

fn config(edges: &[u64]) -> Config {
    Config { edges: edges.to_vec(), block_ns: BLOCK, ..Config::default() }
}

/// Records a history from time 0 on. Returns it with absolute times.
fn play(recorder: &mut Recorder, history: &[(i64, u64)], mut between: impl FnMut(usize)) -> Vec<(i64, u64)> {
    let mut at = 0;
    let mut samples = Vec::new();
    for (index, &(value, pause)) in history.iter().enumerate() {
        at += pause;
        recorder.take(value, at);
        samples.push((value, at));
        between(index);
    }
    recorder.finish(at);
    samples
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Histogram, bands, sums, extremes, the largest samples and the blocks agree with the reference, however rarely the reader drains.
    #[test]
    fn agrees_with_the_obvious_way(edges in edges(), history in history(9_000), every in 1usize..5_000) {
        let (mut recorder, mut reader) = new(&config(&edges)).unwrap();
        recorder.rehearse();
        recorder.reset();
        let samples = play(&mut recorder, &history, |index| if index % every == 0 { reader.drain() });
        let (snapshot, blocks) = reader.finish(recorder);
        prop_assert_eq!(&snapshot.plain, &reference(&samples, &edges));
        let got: Vec<_> = snapshot.largest.iter().map(|s| (s.value, s.at_ns)).collect();
        let expected = largest_of(&samples);
        prop_assert_eq!(got.iter().map(|s| s.0).collect::<Vec<_>>(), expected.iter().map(|s| s.0).collect::<Vec<_>>());
        prop_assert!(got.iter().all(|kept| samples.contains(kept)));
        prop_assert_eq!(snapshot.last, samples.last().unwrap().0);

        let whole = merged(&blocks);
        prop_assert_eq!((whole.count, whole.sum, whole.sum_squares), (
            snapshot.plain.count, snapshot.plain.sum, snapshot.plain.sum_squares));
        prop_assert_eq!(whole.largest()[0].value, snapshot.plain.max.unwrap());
        for block in &blocks {
            let end = block.start_ns + block.length_ns;
            prop_assert_eq!(block.start_ns % BLOCK, 0);
            let inside: Vec<_> = samples.iter().filter(|s| s.1 >= block.start_ns && (s.1 < end || end == whole.start_ns + whole.length_ns)).copied().collect();
            prop_assert_eq!(block.count, inside.len() as u64);
            prop_assert_eq!(block.sum, inside.iter().map(|s| i128::from(s.0)).sum::<i128>());
            let top: Vec<_> = largest_of(&inside).iter().take(4).copied().collect();
            prop_assert_eq!(block.largest().iter().map(|s| (s.value, s.at_ns)).collect::<Vec<_>>(), top);
        }
    }

    /// A corrected distribution is the same as if samples and missed delays had been recorded together.
    #[test]
    fn missed_delays_join_the_samples(history in history(300), delays in prop::collection::vec(0u64..70_000_000_000, 0..300)) {
        let edges = [1_000, 50_000, 200_000];
        let (mut recorder, reader) = new(&Config { periodic: true, ..config(&edges) }).unwrap();
        let mut all = play(&mut recorder, &history, |_| ());
        for &delay in &delays {
            let open = recorder.begin();
            recorder.miss(delay);
            recorder.commit(open);
            all.push((delay as i64, 0));
        }
        let (snapshot, _) = reader.finish(recorder);
        prop_assert_eq!(snapshot.corrected().unwrap(), reference(&all, &edges));
        prop_assert_eq!(snapshot.slots, SlotCounts { met: history.len() as u64, late: 0, missed: delays.len() as u64 });
    }

    /// Slots recorded with `missed_in_turn` count as if they had been recorded one by one, in no more iterations than there are buckets and
    /// edges.
    #[test]
    fn slots_missed_in_turn_are_slots_missed(count in 0u64..2_000, beyond in 0u64..70_000_000_000, step in 0u64..60_000_000) {
        let edges = [1_000, 50_000, 200_000];
        let of = |play: &dyn Fn(&mut Recorder)| {
            let (mut recorder, reader) = new(&Config { periodic: true, ..config(&edges) }).unwrap();
            recorder.reset();
            play(&mut recorder);
            reader.finish(recorder).0
        };
        let delay = beyond + count * step;
        let turns = std::cell::Cell::new(0);
        let together = of(&|recorder| turns.set(recorder.missed_in_turn(delay, step, count)));
        let single = of(&|recorder| (0..count).for_each(|k| recorder.missed(delay - k * step)));
        prop_assert_eq!(together.corrected().unwrap(), single.corrected().unwrap());
        prop_assert_eq!(together.slots, single.slots);
        prop_assert!(turns.get() as u64 <= count);
    }

    #[test]
    fn ranks_are_within_three_digits(mut values in prop::collection::vec(0i64..10_000_000_000, 1..200)) {
        let (mut recorder, reader) = new(&Config::default()).unwrap();
        for &value in &values {
            recorder.take(value, 0);
        }
        let (snapshot, _) = reader.finish(recorder);
        values.sort_unstable();
        for (rank, &exact) in (1..).zip(&values) {
            let got = snapshot.plain.at_rank(rank).unwrap();
            prop_assert!(got >= exact && got <= exact + exact / 1000 + 1, "{got} for {exact}");
        }
        prop_assert_eq!(snapshot.plain.at_rank(0), None);
        prop_assert_eq!(snapshot.plain.at_rank(values.len() as u64 + 1), None);
    }
}

#[test]
fn nothing_is_lost_when_nobody_drains() {
    let (mut recorder, reader) = new(&config(&[])).unwrap();
    for second in 0..100 {
        recorder.take(second, second as u64 * BLOCK);
    }
    recorder.finish(100 * BLOCK);
    let (snapshot, blocks) = reader.finish(recorder);
    assert!(snapshot.late_drains > 0);
    let whole = merged(&blocks);
    assert_eq!((whole.count, whole.sum, whole.start_ns, whole.length_ns), (100, 4950, 0, 100 * BLOCK));
}

#[test]
fn a_rehearsal_leaves_nothing_behind() {
    let edges = [1_000, 2_500, 200_000];
    let config = Config { periodic: true, stop_on_ns: Some(10), ..config(&edges) };
    let (mut recorder, mut reader) = new(&config).unwrap();
    recorder.rehearse();
    reader.drain();
    assert!(recorder.stopped() && !reader.blocks().is_empty());
    recorder.reset();
    assert!(!recorder.stopped());
    let (_, fresh) = new(&config).unwrap();
    let mut fresh = fresh.copy();
    let mut snapshot = reader.snapshot().unwrap();
    assert!(reader.blocks().is_empty());
    for one in [&mut snapshot, &mut fresh] {
        (one.generation, one.head) = (0, 0);
    }
    assert_eq!(snapshot, fresh);
}

#[test]
fn the_first_sample_above_stop_on_is_kept() {
    let (mut recorder, reader) = new(&Config { stop_on_ns: Some(100), ..config(&[]) }).unwrap();
    for (at, value) in [(1, 100), (2, 101), (3, 900)] {
        recorder.take(value, at);
    }
    let (snapshot, _) = reader.finish(recorder);
    assert_eq!(snapshot.stopped.map(|s| (s.value, s.at_ns)), Some((101, 2)));
}

#[test]
fn impossible_configurations_are_refused() {
    assert_eq!(new(&config(&[5, 5])).unwrap_err(), ConfigError::Edge(5));
    assert_eq!(new(&config(&[HIGHEST + 1])).unwrap_err(), ConfigError::Edge(HIGHEST + 1));
    assert_eq!(new(&Config { block_ns: 0, ..Config::default() }).unwrap_err(), ConfigError::Block);
}

/// A reader next to a running writer sees only consistent states: each snapshot is exactly a prefix of what was written.
#[test]
fn a_snapshot_is_one_moment_of_a_working_writer() {
    let value = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) as i64;
    let (mut recorder, mut reader) = new(&config(&[1_000, 2_222, 500_000])).unwrap();
    let enough = AtomicBool::new(false);
    /// Makes a failed assertion end the writer, too.
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    std::thread::scope(|scope| {
        let ends = Ends(&enough);
        let writer = scope.spawn(|| {
            let mut i = 0u64;
            while !enough.load(Relaxed) {
                recorder.take(value(i), i * 100);
                i += 1;
                // The pauses of a periodic loop, in which the reader can copy.
                if i.is_multiple_of(16) {
                    std::thread::sleep(std::time::Duration::from_micros(50));
                }
            }
            i
        });
        let (mut seen, mut sum, mut squares, mut whole_ones) = (0u64, 0i128, 0u128, 0);
        while whole_ones < 50 {
            let Some(snapshot) = reader.snapshot() else {
                std::thread::yield_now();
                continue;
            };
            for i in seen..snapshot.plain.count {
                sum += i128::from(value(i));
                squares += (value(i) as u128).pow(2);
            }
            seen = snapshot.plain.count;
            assert_eq!((snapshot.plain.sum, snapshot.plain.sum_squares), (sum, squares));
            assert_eq!(snapshot.plain.counts.iter().sum::<u64>(), seen);
            assert_eq!(snapshot.plain.bands.iter().sum::<u64>(), seen);
            assert_eq!(snapshot.largest.len() as u64, seen.min(LARGEST as u64));
            let whole = merged(&reader.blocks_with(&snapshot));
            assert_eq!((whole.count, whole.sum), (seen, sum));
            whole_ones += u32::from(seen > 0);
        }
        drop(ends);
        assert!(writer.join().unwrap() >= seen);
    });
}

#[test]
fn a_series_of_three_days_stays_small() {
    let mut series = BlockSeries::default();
    for second in 0..72 * 3600u64 {
        let mut block = Block::default();
        (block.start_ns, block.length_ns, block.count) = (second * 1_000_000_000, 1_000_000_000, 1);
        series.push(block);
    }
    assert!(series.blocks().len() <= BlockSeries::MOST);
    assert_eq!(merged(series.blocks()).count, 72 * 3600);
}

/// The ordered samples are all samples in order, while there is room. Nothing else in the recorder changes.
#[test]
fn ordered_samples_are_the_first_in_time() {
    let run = |ordered| {
        let (mut recorder, mut reader) = new(&Config { ordered, ..Config::default() }).unwrap();
        recorder.sample(99, 1);
        recorder.reset();
        for (at, value) in [5, 3, 8, 8, 1, 900].into_iter().enumerate() {
            recorder.sample(value, 10 * at as u64);
        }
        let open = recorder.begin();
        recorder.record_as(7, -7, 60);
        recorder.commit(open);
        recorder.close(70);
        (reader.ordered(), reader.snapshot().unwrap().plain)
    };
    let values = |kept: Option<Vec<Sample>>| kept.unwrap().iter().map(|s| (s.value, s.at_ns)).collect::<Vec<_>>();
    let (none, plain) = run(0);
    assert_eq!(none, None);
    let (all, with_all) = run(10);
    assert_eq!(values(all), [(5, 0), (3, 10), (8, 20), (8, 30), (1, 40), (900, 50), (-7, 60)]);
    let (few, with_few) = run(2);
    assert_eq!(values(few), [(5, 0), (3, 10)]);
    assert_eq!((&plain, &plain), (&with_all, &with_few));
}

/// A thousand million missed slots of one nanosecond take as many iterations as there are buckets, not as many as there are slots.
#[test]
fn many_missed_slots_take_few_turns() {
    let (mut recorder, reader) = new(&Config { periodic: true, ..config(&[1_000, 50_000, 200_000]) }).unwrap();
    recorder.reset();
    let turns: Vec<usize> =
        [10, 1_000, 1_000_000_000].iter().map(|count| recorder.missed_in_turn(*count, 1, *count)).collect();
    assert!(turns[2] <= crate::buckets::LEN + 4, "{turns:?}");
    assert_eq!(reader.finish(recorder).0.slots.missed, 1_000_001_010);
}
