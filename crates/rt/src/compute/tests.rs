//! Checks the inversion against the definition of an inverse, and the bookkeeping of the loop with clocks that a test sets.

use super::*;
use crate::{Config, Reader, recorder};
use core::cell::{Cell, RefCell};
use proptest::prelude::*;
use std::{vec, vec::Vec};

/// Each row has one dominant entry, no two of them in the same column. The matrix is well-conditioned, and without pivoting an inversion
/// often fails.
fn matrix() -> impl Strategy<Value = (usize, Vec<f64>)> {
    (1usize..25).prop_flat_map(|n| {
        let places = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
        (Just(n), prop::collection::vec(-1.0f64..1.0, n * n), places).prop_map(|(n, mut matrix, places)| {
            for (row, place) in places.iter().enumerate() {
                matrix[row * n + place] += 1.5 * n as f64;
            }
            (n, matrix)
        })
    })
}

fn inverted(n: usize, matrix: &[f64]) -> Result<Workspace, Singular> {
    let mut workspace = Workspace::new(n, matrix.to_vec()).unwrap();
    workspace.copy();
    workspace.invert().map(|()| workspace)
}

proptest! {
    /// The matrix times its inverse and the inverse times the matrix are the identity.
    #[test]
    fn the_inverse_is_one((n, matrix) in matrix()) {
        let workspace = inverted(n, &matrix).unwrap();
        prop_assert!(workspace.residual() < 1e-12, "{}", workspace.residual());
        let inverse = workspace.inverse();
        for row in 0..n {
            for column in 0..n {
                let product: f64 = (0..n).map(|k| inverse[row * n + k] * matrix[k * n + column]).sum();
                let wanted = if row == column { 1.0 } else { 0.0 };
                prop_assert!((product - wanted).abs() < 1e-12, "{product} at {row}, {column}");
            }
        }
    }

    /// The inverse of a second copy has the same bits: nothing of the first one is left over.
    #[test]
    fn each_instance_gives_the_same_bits((n, matrix) in matrix()) {
        let mut workspace = inverted(n, &matrix).unwrap();
        workspace.keep();
        workspace.copy();
        workspace.invert().unwrap();
        prop_assert!(workspace.equals_first());
        let kept = workspace.inverse();
        prop_assert!(kept.iter().zip(inverted(n, &matrix).unwrap().inverse()).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    /// A matrix with two equal rows or a row of zeros has no inverse.
    #[test]
    fn a_singular_matrix_is_refused((n, mut matrix) in matrix(), zero in any::<bool>()) {
        for column in 0..n {
            matrix[(n - 1) * n + column] = if zero || n == 1 { 0.0 } else { matrix[column] };
        }
        // With equal rows, rounding may leave a pivot that is not quite zero. The inverse must then fail the check.
        match inverted(n, &matrix) {
            Err(_) => {}
            Ok(workspace) => {
                let residual = workspace.residual();
                prop_assert!(residual > TOLERANCE, "{residual}");
            }
        }
    }
}

#[test]
fn a_permutation_s_inverse_is_its_transpose() {
    let matrix = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let inverse = inverted(3, &matrix).unwrap().inverse();
    assert_eq!(inverse, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn the_largest_pivot_is_taken() {
    // Without pivoting the elimination would divide by 10^-20, and the result would be far off.
    let workspace = inverted(2, &[1e-20, 1.0, 1.0, 1.0]).unwrap();
    assert!(workspace.residual() < 1e-15, "{}", workspace.residual());
}

#[test]
fn a_small_one_by_hand() {
    let inverse = inverted(2, &[1.0, 2.0, 3.0, 4.0]).unwrap().inverse();
    for (found, wanted) in inverse.iter().zip([-2.0, 1.0, 1.5, -0.5]) {
        assert!((found - wanted).abs() < 1e-15, "{inverse:?}");
    }
    assert_eq!(inverted(1, &[4.0]).unwrap().inverse(), [0.25]);
    assert_eq!(inverted(2, &[1.0, 2.0, 2.0, 4.0]).unwrap_err(), Singular(1));
}

#[test]
fn what_is_no_square_is_refused() {
    for (n, numbers) in [(0, 0), (2, 3), (3, 0), (usize::MAX, 4)] {
        assert!(Workspace::new(n, vec![1.0; numbers]).is_none(), "{n}");
    }
}

/// Clocks with which each inversion takes the times of the script; reading a clock takes no time.
struct Fake<'a> {
    now: Cell<u64>,
    cpu: Cell<u64>,
    /// Elapsed and processor time of each inversion, the next one at the end.
    script: RefCell<Vec<(u64, u64)>>,
    /// After which reading of the processor time the stop flag is set.
    stop_after: Option<u64>,
    stop: &'a AtomicBool,
    /// Which clocks were read, in order: `c` processor time, `m` monotonic.
    order: RefCell<Vec<char>>,
}

impl<'a> Fake<'a> {
    fn new(stop: &'a AtomicBool, script: &[(u64, u64)]) -> Self {
        Self {
            now: Cell::new(5_000),
            cpu: Cell::new(0),
            script: RefCell::new(script.iter().rev().copied().collect()),
            stop_after: None,
            stop,
            order: RefCell::default(),
        }
    }

    fn run(&self, sizes: &mut [Size], plan: &Repetition) -> Instances {
        drive(self, sizes, plan, self.stop, |size| {
            sweep(self, &Silent, size, (plan.instances, plan.copying), true, self.stop)
        })
    }
}

impl TwoClocks for Fake<'_> {
    fn now(&self) -> u64 {
        self.order.borrow_mut().push('m');
        // This is the second monotonic reading between the two readings of the processor time: the inversion has run before it.
        let inside = self.order.borrow().iter().filter(|read| **read == 'c').count() % 2 == 1;
        if inside && self.order.borrow().ends_with(&['c', 'm', 'm']) {
            let (elapsed, cpu) = self.script.borrow_mut().pop().unwrap_or((1, 1));
            self.now.set(self.now.get() + elapsed);
            self.cpu.set(self.cpu.get() + cpu);
        }
        self.now.get()
    }

    fn cpu(&self) -> u64 {
        self.order.borrow_mut().push('c');
        if self
            .stop_after
            .is_some_and(|count| self.order.borrow().iter().filter(|c| **c == 'c').count() as u64 >= count)
        {
            self.stop.store(true, Relaxed);
        }
        self.cpu.get()
    }
}

fn size(n: usize, matrix: &[f64], stop_on_ns: Option<u64>) -> (Size, [Reader; 2]) {
    let config = Config { ordered: 100, ..Config::default() };
    let (elapsed, first) = recorder::new(&Config { stop_on_ns, ..config.clone() }).unwrap();
    let (cpu, second) = recorder::new(&config).unwrap();
    (Size { workspace: Workspace::new(n, matrix.to_vec()).unwrap(), elapsed, cpu }, [first, second])
}

fn values(reader: &Reader) -> Vec<(i64, u64)> {
    reader.ordered().unwrap().iter().map(|sample| (sample.value, sample.at_ns)).collect()
}

const PLAN: Repetition = Repetition {
    instances: 3,
    warmup_ns: 0,
    warmup_instances: 2,
    copying: Copying::Untimed,
    timing: Timing::Monotonic,
    reports: None,
};

/// Clocks that only work advances: a copy takes 7 ns, an inversion 100 ns; two thirds of each are processor time.
#[derive(Default)]
struct Moved(Cell<u64>);

impl TwoClocks for Moved {
    fn now(&self) -> u64 {
        self.0.get() * 3
    }

    fn cpu(&self) -> u64 {
        self.0.get() * 2
    }
}

struct Work<'a>(&'a Moved);

impl Task for Work<'_> {
    fn copy(&mut self) {
        self.0.0.set(self.0.0.get() + 7);
    }

    fn invert(&mut self) -> Result<(), Singular> {
        self.0.0.set(self.0.0.get() + 100);
        Ok(())
    }
}

/// Both times include a timed copy, and neither includes an untimed one.
#[test]
fn a_copy_that_is_timed_is_in_both_clocks_and_else_in_neither() {
    for (copying, steps) in [(Copying::Untimed, 100), (Copying::Timed, 107)] {
        let clocks = Moved::default();
        let found = timed(&clocks, &mut Work(&clocks), copying);
        assert_eq!((found.elapsed, found.cpu, found.now), (3 * steps, 2 * steps, 3 * 107), "{copying:?}");
        assert!(found.inverted.is_ok());
    }
}

#[test]
fn every_instance_of_every_size_is_one_sample_of_each_clock_in_order() {
    let stop = AtomicBool::new(false);
    let fake = Fake::new(&stop, &[(10, 9), (20, 8), (30, 7), (100, 70), (200, 60), (300, 50)]);
    let (two, twos) = size(2, &[0.0, 2.0, 4.0, 0.0], None);
    let (one, ones) = size(1, &[4.0], None);
    let mut sizes = [two, one];
    let outcome = fake.run(&mut sizes, &PLAN);
    assert_eq!((outcome.end, outcome.first_ns, outcome.ended_ns), (End::Complete, 5_000, 5_660));
    assert_eq!(values(&twos[0]), [(10, 10), (20, 30), (30, 60)]);
    assert_eq!(values(&twos[1]), [(9, 10), (8, 30), (7, 60)]);
    // Times count from the first instance of the first size; the first block of the second begins with its samples.
    assert_eq!(values(&ones[0]), [(100, 160), (200, 360), (300, 660)]);
    let [two, one] = sizes;
    for (size, readers, start) in [(two, twos, 0), (one, ones, 60)] {
        let [elapsed, cpu] = readers;
        let (snapshot, blocks) = elapsed.finish(size.elapsed);
        assert_eq!((snapshot.plain.count, snapshot.tallies[RESIDUAL], snapshot.tallies[DIFFERING]), (3, 0, 0));
        assert_eq!(blocks.iter().map(|block| (block.start_ns, block.count)).collect::<Vec<_>>(), [(start, 3)]);
        assert_eq!(cpu.finish(size.cpu).0.plain.count, 3);
    }
    let reads: std::string::String = fake.order.borrow().iter().collect();
    assert_eq!(reads.matches("cmmc").count(), 6, "the processor time is read outside the elapsed pair: {reads}");
}

#[test]
fn the_stop_flag_is_heeded_between_two_instances() {
    let stop = AtomicBool::new(false);
    // The loop reads the processor time twice per instance: the stop flag is set during the second instance, which still counts.
    let fake = Fake { stop_after: Some(4), ..Fake::new(&stop, &[]) };
    let ((two, twos), (one, ones)) = (size(2, &[0.0, 2.0, 4.0, 0.0], None), size(1, &[4.0], None));
    let outcome = fake.run(&mut [two, one], &PLAN);
    assert_eq!((outcome.end, values(&twos[0]).len(), values(&ones[0]).len()), (End::Stopped, 2, 0));
}

#[test]
fn an_instance_above_stop_on_ends_all() {
    let stop = AtomicBool::new(false);
    let fake = Fake::new(&stop, &[(10, 9), (600, 9), (10, 9)]);
    let (two, twos) = size(2, &[0.0, 2.0, 4.0, 0.0], Some(500));
    let outcome = fake.run(&mut [two], &PLAN);
    assert_eq!((outcome.end, values(&twos[0]).len()), (End::Sample, 2));
    assert!(stop.load(Relaxed));
}

#[test]
fn a_wrong_result_ends_all() {
    let stop = AtomicBool::new(false);
    let fake = Fake::new(&stop, &[]);
    let (none, _) = size(2, &[1.0, 2.0, 2.0, 4.0], None);
    assert_eq!(fake.run(&mut [none], &PLAN).end, End::Failed(Wrong::Singular { n: 2 }));
    // Hilbert's matrix of this size is so ill-conditioned that no digit of the inverse is right.
    let hilbert: Vec<f64> = (0..144).map(|at| 1.0 / (at / 12 + at % 12 + 1) as f64).collect();
    let (bad, _) = size(12, &hilbert, None);
    let outcome = Fake::new(&AtomicBool::new(false), &[]).run(&mut [bad], &PLAN);
    assert_eq!(outcome.end, End::Failed(Wrong::Inverse { n: 12, instance: 1 }));
    assert!(stop.load(Relaxed));
    // Infinity divided by infinity is NaN, which no comparison finds large.
    let (bad, _) = size(2, &[f64::INFINITY, 1.0, 1.0, 1.0], None);
    let outcome = Fake::new(&AtomicBool::new(false), &[]).run(&mut [bad], &PLAN);
    assert_eq!(outcome.end, End::Failed(Wrong::Inverse { n: 2, instance: 1 }));
}

#[test]
fn an_inverse_that_is_not_the_first_is_noticed_to_the_bit() {
    let mut workspace = inverted(2, &[0.0, 2.0, 4.0, 0.0]).unwrap();
    workspace.keep();
    assert!(workspace.equals_first());
    let last = workspace.rows.last_mut().unwrap();
    *last = -*last;
    assert_eq!(*workspace.rows.last().unwrap(), 0.0, "equal as a number");
    assert!(!workspace.equals_first());
}
