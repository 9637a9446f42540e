use super::*;
use crate::{
    block::{Block, Class},
    recorder::{self, Config, Snapshot, TABLE},
};
use latido_sys::tsc::Scale;
use proptest::prelude::*;
use std::{
    cell::{Cell, RefCell},
    vec,
    vec::Vec,
};

/// A counter that advances by a scripted step at each reading.
struct Fake {
    now: Cell<u64>,
    steps: Vec<i64>,
    reads: Cell<usize>,
    slept: Cell<u64>,
    /// Start and end of each sleep.
    rests: RefCell<Vec<(u64, u64)>>,
    delay: Cell<Option<u64>>,
    /// Steps of at least this many ticks count as run delay.
    preempts_from: i64,
    /// The reading of the run delay (from 0) during which the thread waits, and the wait in ticks.
    waits_in: (usize, u64),
    asked: Cell<usize>,
}

impl Fake {
    fn new(steps: &[i64]) -> Self {
        Self {
            now: Cell::new(1 << 40),
            steps: steps.to_vec(),
            reads: Cell::new(0),
            slept: Cell::new(0),
            rests: RefCell::default(),
            delay: Cell::new(Some(0)),
            preempts_from: i64::MAX,
            waits_in: (usize::MAX, 0),
            asked: Cell::new(0),
        }
    }

    fn run(&self, task: &BusyLoop, config: &Config) -> (Readings, Snapshot, Vec<Block>) {
        let (mut recorder, reader) = recorder::new(config).unwrap();
        let limits = Limits { classified_ns: CLASSIFIED_NS, heed_sample: true, end_blocks: false };
        let mut course = Course::new(WorkCosts::unknown(recorder.scale()), &task.budgets);
        let outcome = sweep(self, task, limits, &mut course, &AtomicBool::new(false), &mut recorder);
        let (snapshot, blocks) = reader.finish(recorder);
        (outcome, snapshot, blocks)
    }
}

impl Counter for Fake {
    fn read(&self) -> u64 {
        let step = self.steps[self.reads.get() % self.steps.len()];
        self.reads.set(self.reads.get() + 1);
        self.now.set(self.now.get().wrapping_add_signed(step));
        if step >= self.preempts_from {
            self.delay.set(self.delay.get().map(|delay| delay + step as u64));
        }
        self.now.get()
    }

    fn sleep(&self, ns: u64) {
        self.slept.set(self.slept.get() + ns);
        self.rests.borrow_mut().push((self.now.get(), self.now.get() + ns));
        self.now.set(self.now.get() + ns);
    }

    fn run_delay(&self) -> Option<u64> {
        let (question, wait) = self.waits_in;
        if self.asked.replace(self.asked.get() + 1) == question {
            self.now.set(self.now.get() + wait);
            self.delay.set(self.delay.get().map(|delay| delay + wait));
        }
        self.delay.get()
    }
}

fn config(scale: Scale) -> Config {
    Config { edges: vec![20, 30, 1_000, 100_000], block_ns: 1_000_000, table: Some(scale), ..Config::default() }
}

fn iterations(iterations: u64) -> BusyLoop {
    BusyLoop { iterations, duration_ns: u64::MAX, warmup_ns: 0, duty: None, budgets: [None; 2] }
}

fn steps() -> impl Strategy<Value = Vec<i64>> {
    let one = prop_oneof![30 => 20i64..30, 3 => 0i64..TABLE as i64 + 5, 1 => 0i64..400_000, 1 => Just(TABLE as i64)];
    prop::collection::vec(one, 1..700)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The loop loses no time: gaps, own work and sleep add up to the elapsed time. Each iteration is one sample in each of the histogram,
    /// the bands, the sums and the blocks.
    #[test]
    fn time_and_samples_add_up(steps in steps(), n in 1u64..60_000, duty in any::<bool>()) {
        let timer = Fake::new(&steps);
        let duty = duty.then_some(Duty { busy_ns: 90_000, period_ns: 100_000 });
        let (outcome, snapshot, blocks) = timer.run(&BusyLoop { duty, ..iterations(n) }, &config(Scale::NS));
        prop_assert_eq!(outcome.end, End::Complete);
        prop_assert_eq!(outcome.iterations, n);
        let plain = &snapshot.plain;
        prop_assert_eq!(plain.count, n);
        prop_assert_eq!(plain.counts.iter().sum::<u64>(), n);
        prop_assert_eq!(plain.bands.iter().sum::<u64>(), n);
        let aside = i128::from(outcome.spin.own_ns) + i128::from(outcome.spin.slept_ns);
        prop_assert_eq!(plain.sum + aside, i128::from(outcome.elapsed_ns));
        prop_assert!(outcome.spin.slept_ns >= timer.slept.get());
        let mut whole = Block::default();
        for block in &blocks {
            whole.merge(block);
        }
        prop_assert_eq!((whole.count, whole.sum, whole.sum_squares), (n, plain.sum, plain.sum_squares));
        prop_assert_eq!(whole.largest().first().map(|s| s.value), plain.max);
        prop_assert_eq!(snapshot.largest.len() as u64, n.min(recorder::LARGEST as u64));
        prop_assert_eq!(snapshot.largest.first().map(|s| s.value), plain.max);
    }

    /// In no window of one period is the thread busy for longer than the duty cycle allows (plus one chunk), whether the window is in the
    /// warm-up, in the counted part or in both.
    #[test]
    fn the_duty_cycle_goes_on_from_the_warm_up(
        warmup_ns in 0u64..3_000_000,
        duration_ns in 1u64..3_000_000,
        busy_ns in 200_000u64..900_000,
        pause in 0u64..50_000,
    ) {
        let timer = Fake::new(&[25]);
        let start = timer.now.get();
        let period_ns = 1_000_000;
        let task = BusyLoop { duration_ns, warmup_ns, duty: Some(Duty { busy_ns, period_ns }), ..iterations(u64::MAX) };
        let (mut recorder, reader) = recorder::new(&config(Scale::NS)).unwrap();
        let stop = AtomicBool::new(false);
        let mut before = None;
        let course = Course::new(WorkCosts::unknown(Scale::NS), &task.budgets);
        let outcome = warm_up_and_count(&task, course, &mut recorder, |task, limits, course, recorder| {
            before = Some((timer.now.get(), timer.slept.get()));
            let outcome = sweep(&timer, task, limits, course, &stop, recorder);
            // The time between the two sweeps is busy time, too.
            timer.now.set(timer.now.get() + pause);
            outcome
        });
        let (snapshot, _) = reader.finish(recorder);
        let (counted_from, slept_before) = before.unwrap();
        let allowed = busy_ns + 25 * CHUNK + pause + 1_000;

        let rests = timer.rests.borrow();
        let rested = |from: u64, to: u64| -> u64 {
            rests.iter().map(|&(a, b)| b.min(to).saturating_sub(a.max(from))).sum()
        };
        let end = timer.now.get();
        // The busiest windows are those that begin at the start of a busy stretch.
        for from in [start, counted_from].into_iter().chain(rests.iter().map(|rest| rest.1)) {
            let to = (from + period_ns).min(end);
            let busy = to.saturating_sub(from) - rested(from, to);
            prop_assert!(busy <= allowed, "{} ns busy of {} from {}", busy, to - from, from - start);
        }
        // Rests are not gaps, and the rests of the warm-up do not count for the measurement.
        prop_assert_eq!(snapshot.plain.max, Some(25));
        let slept = timer.slept.get() - slept_before;
        prop_assert!(outcome.spin.slept_ns >= slept && outcome.spin.slept_ns <= slept + 25 * 10);
        prop_assert!(duration_ns < 2_000_000 || slept > 0);
    }

    /// A preemption during a spin or during the loop's own work is always one gap, with its length and its class.
    #[test]
    fn no_preemption_hides_in_the_loop_s_own_work(
        lengths in prop::collection::vec(150_000i64..400_000, 1..9),
        places in prop::collection::btree_set(2usize..15_000, 9),
        preempted in any::<bool>(),
    ) {
        let mut steps = vec![25; 40_000];
        let places: Vec<usize> = places.into_iter().zip(&lengths).map(|(place, _)| place).collect();
        for (place, length) in places.iter().zip(&lengths) {
            steps[*place] = *length;
        }
        // Two preemptions without a reading between them are one gap.
        prop_assume!(places.windows(2).all(|pair| pair[0] + 3 < pair[1]));
        let timer = Fake { preempts_from: if preempted { 100_000 } else { i64::MAX }, ..Fake::new(&steps) };
        let task = BusyLoop { duration_ns: 25 * 15_500 + lengths.iter().sum::<i64>() as u64, ..iterations(u64::MAX) };
        let (outcome, snapshot, _) = timer.run(&task, &config(Scale::NS));
        let mut wanted = lengths;
        wanted.sort_unstable();
        let class = if preempted { Class::Preempted } else { Class::InPlace };
        let mut found: Vec<i64> = Vec::new();
        for sample in snapshot.largest.iter().filter(|sample| sample.value >= 100_000) {
            prop_assert_eq!(sample.class, class);
            found.push(sample.value);
        }
        found.sort_unstable();
        prop_assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            prop_assert!((found - wanted).abs() <= 20_000, "{} for {}", found, wanted);
        }
        prop_assert_eq!(outcome.iterations, snapshot.plain.count);
    }

    /// Converting a table of ticks to ns once gives exactly the same result as converting each sample. The readings of this counter take
    /// less time than the loop's own work.
    #[test]
    fn the_table_is_expanded_exactly(step in 1i64..TABLE as i64 + 50, hz in 1_000_000_000u64..4_000_000_000, n in 1u64..9_000) {
        let scale = Scale::new(hz, 1_000_000_000).unwrap();
        let (_, snapshot, _) = Fake::new(&[step]).run(&iterations(n), &config(scale));
        let value = scale.ns(step as u64) as i64;
        let mut expected = recorder::Distribution { edges: config(scale).edges, ..Default::default() };
        expected.add(value, n);
        expected.bands.resize(expected.edges.len() + 1, 0);
        prop_assert_eq!(&snapshot.plain, &expected);
        let (value_wide, times) = (i128::from(value), i128::from(n));
        prop_assert_eq!(snapshot.plain.sum, value_wide * times);
        prop_assert_eq!(snapshot.plain.sum_squares, (value_wide * value_wide * times) as u128);
        prop_assert!(snapshot.largest.iter().all(|s| s.value == value));
    }
}

#[test]
fn a_long_gap_is_classified_and_keeps_its_class() {
    let mut steps = vec![25; 9_999];
    steps.push(150_000);
    for (preempts_from, class) in [(100_000, Class::Preempted), (i64::MAX, Class::InPlace)] {
        let timer = Fake { preempts_from, ..Fake::new(&steps) };
        let (outcome, snapshot, _) = timer.run(&iterations(30_000), &config(Scale::NS));
        let long: Vec<_> = snapshot.largest.iter().filter(|s| s.value == 150_000).collect();
        assert!(!long.is_empty() && long.iter().all(|s| s.class == class), "{long:?}");
        let counted = (outcome.spin.preempted, outcome.spin.in_place);
        let all = long.len() as u64;
        assert_eq!(counted, if class == Class::Preempted { (all, 0) } else { (0, all) });
    }
    let timer = Fake { delay: Cell::new(None), ..Fake::new(&steps) };
    let (outcome, _, _) = timer.run(&iterations(30_000), &config(Scale::NS));
    assert_eq!(outcome.spin.preempted + outcome.spin.in_place, 0, "what the kernel does not tell is not guessed");
}

/// The kernel may make the thread wait while the loop asks about the previous gap. The wait is then a separate gap, and does not affect the
/// class of the previous one.
#[test]
fn a_wait_while_it_asks_is_the_next_gap_s() {
    let mut steps = vec![25; 20_000];
    steps[12_000] = 7_000_000;
    steps[15_000] = 900_000;
    for question in 0..4 {
        let timer = Fake { waits_in: (question, 49_000_000), ..Fake::new(&steps) };
        let (_, snapshot, _) = timer.run(&iterations(18_000), &config(Scale::NS));
        let class = |from: i64| snapshot.largest.iter().find(|sample| sample.value >= from && sample.value < from * 2);
        let found = [7_000_000, 48_000_000, 900_000].map(|from| class(from).map(|sample| sample.class));
        let [in_place, preempted, unknown] = [Class::InPlace, Class::Preempted, Class::Unknown].map(Some);
        // The loop reads the run delay first at its start, then for the gap of 7 ms, and then for the gap of 0.9 ms.
        let wanted = match question {
            1 => [unknown, preempted, in_place],
            2 => [in_place, preempted, unknown],
            _ => [in_place, None, in_place],
        };
        assert_eq!(found, wanted, "tick, wait and other, question {question}");
    }
}

/// A gap once per period, of the length that the settings imply, with the budget used up, is throttling. Gaps that a competing task causes
/// are not, however regular they are, even if they are a second apart.
#[test]
fn the_throttle_is_known_by_its_settings() {
    const STEP: i64 = 4_000;
    let ms = 1_000_000;
    let budget = Budget { runtime_ns: 950 * ms, period_ns: 1000 * ms };
    for (every_ms, lasting_ms, throttled) in [(1000, 50, true), (52, 2, false), (1000, 5, false), (500, 50, false)] {
        let between = ((every_ms - lasting_ms) * ms) as i64 / STEP;
        let mut steps = vec![STEP; between as usize];
        steps.push((lasting_ms * ms) as i64);
        let timer = Fake { preempts_from: 100_000, ..Fake::new(&steps) };
        let task = BusyLoop { duration_ns: 6_200 * ms, budgets: [Some(budget), None], ..iterations(u64::MAX) };
        let (outcome, snapshot, _) = timer.run(&task, &config(Scale::NS));
        let all = 6_200 / every_ms;
        let counted = (outcome.spin.throttled, outcome.spin.preempted);
        if throttled {
            assert_eq!(counted, (all, 0));
            assert!(outcome.spin.throttled_ns.abs_diff(all * lasting_ms * ms) < ms / 10, "{:?}", outcome.spin);
            assert_eq!(snapshot.largest[0].class, Class::Throttled);
        } else if every_ms == 500 {
            // A competing task that runs as long as the wait. Every second time the budget would also be used up.
            assert!(counted.0 <= all.div_ceil(2) && counted.0 + counted.1 == all, "{counted:?}");
        } else {
            assert_eq!(counted, (0, all), "{lasting_ms} ms each {every_ms} ms");
        }
        // Without a limit the loop classifies no gap as throttled.
        let task = BusyLoop { budgets: [None; 2], ..task };
        let timer = Fake { preempts_from: 100_000, ..Fake::new(&steps) };
        assert_eq!(timer.run(&task, &config(Scale::NS)).0.spin.throttled, 0);
    }
}

#[test]
fn a_counter_that_runs_backwards_is_counted_and_makes_no_sample() {
    let mut steps = vec![25; 5_000];
    steps[4_700] = -40;
    let (outcome, snapshot, _) = Fake::new(&steps).run(&iterations(6_000), &config(Scale::NS));
    assert_eq!((outcome.spin.backwards, snapshot.plain.count, snapshot.plain.max), (1, 6_000, Some(25)));
}

#[test]
fn ends_by_time_and_by_a_sample() {
    let timer = Fake::new(&[25]);
    let (outcome, ..) = timer.run(&BusyLoop { duration_ns: 3_000_000, ..iterations(u64::MAX) }, &config(Scale::NS));
    assert_eq!(outcome.end, End::Complete);
    assert!(outcome.elapsed_ns >= 3_000_000 && outcome.elapsed_ns < 3_000_000 + 2 * 25 * CHUNK);

    let mut steps = vec![25; 20_000];
    steps[12_345] = 700_000;
    let config = Config { stop_on_ns: Some(600_000), ..config(Scale::NS) };
    let (outcome, snapshot, _) = Fake::new(&steps).run(&iterations(u64::MAX), &config);
    assert_eq!((outcome.end, snapshot.stopped.map(|s| s.value)), (End::Sample, Some(700_000)));
}

/// Each snapshot that a concurrent reader takes during the busy loop includes the same samples in all figures, also those of the unfinished
/// block.
#[test]
fn a_snapshot_beside_the_busy_loop_adds_up() {
    let config = Config { block_ns: 3_000_000, ..config(Scale::NS) };
    let (mut recorder, mut reader) = recorder::new(&config).unwrap();
    let stop = AtomicBool::new(false);
    /// Makes a failed assertion end the loop, too.
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    std::thread::scope(|scope| {
        let ends = Ends(&stop);
        let task = BusyLoop { duration_ns: u64::MAX, ..iterations(u64::MAX) };
        let (recorder, stop) = (&mut recorder, &stop);
        let costs = WorkCosts::unknown(Scale::NS);
        let loops = scope.spawn(move || run(TickSource::Monotonic, &task, stop, recorder, None, costs));
        let (mut whole_ones, mut before) = (0, 0);
        while whole_ones < 40 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            let Some(snapshot) = reader.snapshot() else { continue };
            if snapshot.phase != RecorderPhase::Counting || snapshot.plain.count == before {
                continue;
            }
            before = snapshot.plain.count;
            assert_eq!(snapshot.plain.counts.iter().sum::<u64>() + snapshot.plain.overflow, before);
            assert_eq!(snapshot.plain.bands.iter().sum::<u64>(), before);
            let mut whole = Block::default();
            for block in reader.blocks_with(&snapshot) {
                whole.merge(&block);
            }
            let plain = (before, snapshot.plain.sum, snapshot.plain.sum_squares);
            assert_eq!((whole.count, whole.sum, whole.sum_squares), plain);
            whole_ones += 1;
        }
        drop(ends);
        assert!(loops.join().unwrap().iterations >= before);
    });
}

#[test]
fn both_sources_run_for_real() {
    let (source, scale) = match (tsc::unfit(), tsc::calibrate()) {
        (None, Some(scale)) => (TickSource::Tsc, scale),
        _ => (TickSource::Monotonic, Scale::NS),
    };
    for (source, scale) in [(source, scale), (TickSource::Monotonic, Scale::NS)] {
        let (mut recorder, reader) = recorder::new(&config(scale)).unwrap();
        let schedstat = SchedStatFile::open().ok();
        let costs = rehearse(source, &mut recorder, schedstat.as_ref());
        let task = BusyLoop { warmup_ns: 100_000, ..iterations(50_000) };
        let outcome = run(source, &task, &AtomicBool::new(false), &mut recorder, schedstat.as_ref(), costs);
        let (snapshot, _) = reader.finish(recorder);
        assert_eq!((outcome.end, outcome.iterations, snapshot.plain.count), (End::Complete, 50_000, 50_000));
        // The recorder rounded each value to a whole ns.
        let total = snapshot.plain.sum as f64 + (outcome.spin.own_ns + outcome.spin.slept_ns) as f64;
        assert!((total - outcome.elapsed_ns as f64).abs() <= 25_000.0 + 2.0, "{total} {outcome:?}");
    }
}
