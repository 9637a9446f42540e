//! Repeats a computation of fixed length: each instance copies and inverts the same matrix. The instructions are therefore the same each
//! time, and the system causes all differences in time.
//!
//! The timed part is the inversion, with or without the copy before it. The comparison with the first inverse and the check that the matrix
//! times its inverse is the identity are outside the timed part.

mod inversion;
mod report;

pub use inversion::{Singular, Workspace};
pub use report::Reports;
use report::{Report, Silent};

use crate::{
    end::End,
    recorder::{Recorder, RecorderPhase},
};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use latido_sys::{
    clock::{
        self,
        Clock::{Monotonic, Realtime},
    },
    memory::touch_code,
};

/// The tally in which the recorder of elapsed times counts instances whose inverse differs from the first one. The first such instance ends
/// the loop.
pub const DIFFERING: usize = 1;

/// The tally in which the recorder of elapsed times stores the largest deviation of the matrix times its inverse from the identity, among
/// the first and the last instance, in [`RESIDUAL_UNIT`].
pub const RESIDUAL: usize = 0;

/// 10^-18.
pub const RESIDUAL_UNIT: f64 = 1e-18;

/// The largest deviation of a correct result: the matrices are well-conditioned, and n is at most a few thousand.
pub const TOLERANCE: f64 = 1e-9;

/// The clocks; tests provide other ones.
pub trait TwoClocks {
    /// Reads CLOCK_MONOTONIC, in ns.
    fn now(&self) -> u64;

    /// Reads the clock that times an instance, in ns.
    #[inline(always)]
    fn reading(&self) -> u64 {
        self.now()
    }

    /// Returns CLOCK_MONOTONIC at the second reading of an instance, in ns.
    #[inline(always)]
    fn at(&self, reading: u64) -> u64 {
        reading
    }

    /// Reads the processor time of the thread, in ns.
    fn cpu(&self) -> u64;
}

struct KernelClocks;

impl TwoClocks for KernelClocks {
    #[inline(always)]
    fn now(&self) -> u64 {
        Monotonic.now()
    }

    #[inline(always)]
    fn cpu(&self) -> u64 {
        clock::thread_cpu_ns()
    }
}

/// The clock of the execution-times study: CLOCK_REALTIME, which changes when somebody sets the time.
struct RealtimeClocks;

impl TwoClocks for RealtimeClocks {
    #[inline(always)]
    fn now(&self) -> u64 {
        Monotonic.now()
    }

    #[inline(always)]
    fn reading(&self) -> u64 {
        Realtime.now()
    }

    #[inline(always)]
    fn at(&self, _: u64) -> u64 {
        Monotonic.now()
    }

    #[inline(always)]
    fn cpu(&self) -> u64 {
        clock::thread_cpu_ns()
    }
}

/// One size: its matrix, and where its samples go.
#[derive(Debug)]
pub struct Size {
    /// The matrix.
    pub workspace: Workspace,
    /// Takes the elapsed times, and the counts [`RESIDUAL`] and [`DIFFERING`].
    pub elapsed: Recorder,
    /// Takes the processor times.
    pub cpu: Recorder,
}

/// Whether the timed part includes the copy of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// The loop copies before the first reading.
    Untimed,
    /// The loop copies after the first reading.
    Timed,
}

/// The parameters of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Repetition {
    /// Instances of each size.
    pub instances: u64,
    /// How long the loop inverts the first matrix before it counts instances, in ns.
    pub warmup_ns: u64,
    /// Instances of each size that the loop runs without counting them, before those that count.
    pub warmup_instances: u64,
    /// Whether a sample includes the copy.
    pub copying: Copying,
    /// Which clock times an instance.
    pub timing: Timing,
    /// Where the loop writes each value before the next instance; nowhere by default.
    pub reports: Option<Reports>,
}

/// Which clock times an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// CLOCK_MONOTONIC.
    #[default]
    Monotonic,
    /// CLOCK_REALTIME, which changes when somebody sets the time.
    Realtime,
}

/// A wrong result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The matrix of this many rows has no inverse.
    Singular {
        /// Its rows.
        n: usize,
    },
    /// The inverse of an instance is not that of the first one, or the matrix times its inverse is not the identity.
    Inverse {
        /// The rows of the matrix.
        n: usize,
        /// Which instance, from 1.
        instance: u64,
    },
}

/// The outcome of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Instances {
    /// Why it ended. After a wrong result or a sample above `stop_on` the stop flag is set for the other threads.
    pub end: End<Wrong>,
    /// When the first instance that counts began, in ns on CLOCK_MONOTONIC: the origin of all recorded times.
    pub first_ns: u64,
    /// When the loop ended, in ns on CLOCK_MONOTONIC.
    pub ended_ns: u64,
}

/// Inverts each matrix in turn until the end. The loop checks the stop flag between two instances.
pub fn run(sizes: &mut [Size], repetition: &Repetition, stop: &AtomicBool) -> Instances {
    drive(&KernelClocks, sizes, repetition, stop, |size| as_asked(size, repetition, true, stop))
}

/// Runs the instances of one size, with the clock and the reports that `repetition` selects.
fn as_asked(size: &mut Size, repetition: &Repetition, heed_sample: bool, stop: &AtomicBool) -> End<Wrong> {
    let Repetition { instances: count, copying, timing, reports, .. } = *repetition;
    match (timing, reports) {
        (Timing::Monotonic, None) => instances(size, count, copying, heed_sample, stop),
        (Timing::Monotonic, Some(to)) => sweep(&KernelClocks, &to, size, (count, copying), heed_sample, stop),
        (Timing::Realtime, None) => sweep(&RealtimeClocks, &Silent, size, (count, copying), heed_sample, stop),
        (Timing::Realtime, Some(to)) => sweep(&RealtimeClocks, &to, size, (count, copying), heed_sample, stop),
    }
}

/// Runs every path of the loop and the recorders once, then clears the recorders.
pub fn rehearse(sizes: &mut [Size], repetition: &Repetition) {
    let stop = AtomicBool::new(false);
    for size in sizes {
        for recorder in [&mut size.elapsed, &mut size.cpu] {
            recorder.reset();
            recorder.rehearse();
            recorder.reset();
        }
        for copying in [Copying::Untimed, Copying::Timed] {
            as_asked(size, &Repetition { instances: 2, copying, ..*repetition }, false, &stop);
        }
        for recorder in [&mut size.elapsed, &mut size.cpu] {
            recorder.finish(Monotonic.now());
            recorder.reset();
        }
    }
    touch_code(&[run as *const () as usize]);
}

/// Runs the warm-up, then all sizes.
fn drive(
    clocks: &impl TwoClocks,
    sizes: &mut [Size],
    repetition: &Repetition,
    stop: &AtomicBool,
    mut instances: impl FnMut(&mut Size) -> End<Wrong>,
) -> Instances {
    for size in sizes.iter_mut() {
        size.elapsed.enter(RecorderPhase::WarmUp);
        size.cpu.enter(RecorderPhase::WarmUp);
    }
    if let Some(size) = sizes.first_mut() {
        let until = clocks.now().saturating_add(repetition.warmup_ns);
        while clocks.now() < until && !stop.load(Relaxed) {
            warm_up(size);
        }
    }
    let (mut first_ns, mut end) = (None, End::Complete);
    for size in sizes.iter_mut() {
        if end == End::Complete {
            (0..repetition.warmup_instances).take_while(|_| !stop.load(Relaxed)).for_each(|_| warm_up(size));
        }
        let start = clocks.now();
        let origin = *first_ns.get_or_insert(start);
        for recorder in [&mut size.elapsed, &mut size.cpu] {
            recorder.start_late(origin, start);
            recorder.enter(RecorderPhase::Counting);
        }
        if end == End::Complete {
            end = instances(size);
        }
        let now = clocks.now();
        for recorder in [&mut size.elapsed, &mut size.cpu] {
            recorder.finish(now);
            recorder.enter(RecorderPhase::Ended);
        }
    }
    if matches!(end, End::Sample | End::Failed(_)) {
        stop.store(true, Relaxed);
    }
    let ended_ns = clocks.now();
    Instances { end, first_ns: first_ns.unwrap_or(ended_ns), ended_ns }
}

/// Runs one instance that does not count. It ignores a singular matrix, because the instances that count report it.
fn warm_up(size: &mut Size) {
    size.workspace.copy();
    let _told_later = size.workspace.invert();
}

/// Runs the instances of one size. The compiler keeps this function separate, so that the disassembly check finds the loop by its name.
#[inline(never)]
fn instances(size: &mut Size, count: u64, copying: Copying, heed_sample: bool, stop: &AtomicBool) -> End<Wrong> {
    sweep(&KernelClocks, &Silent, size, (count, copying), heed_sample, stop)
}

/// The work of an instance; tests provide another one.
trait Task {
    fn copy(&mut self);

    fn invert(&mut self) -> Result<(), Singular>;
}

impl Task for Workspace {
    #[inline(always)]
    fn copy(&mut self) {
        Workspace::copy(self);
    }

    #[inline(always)]
    fn invert(&mut self) -> Result<(), Singular> {
        Workspace::invert(self)
    }
}

/// How long an instance took on each clock, and when it ended, in ns.
struct Timed {
    elapsed: u64,
    cpu: u64,
    now: u64,
    inverted: Result<(), Singular>,
}

/// Times one instance. It reads the processor time outside the elapsed pair.
#[inline(always)]
fn timed(clocks: &impl TwoClocks, task: &mut impl Task, copying: Copying) -> Timed {
    if copying == Copying::Untimed {
        task.copy();
    }
    let cpu_before = clocks.cpu();
    let before = clocks.reading();
    if copying == Copying::Timed {
        task.copy();
    }
    let inverted = task.invert();
    let after = clocks.reading();
    let cpu_now = clocks.cpu();
    let now = clocks.at(after);
    Timed { elapsed: after.wrapping_sub(before), cpu: cpu_now.wrapping_sub(cpu_before), now, inverted }
}

/// Loops over the instances of one size.
#[inline(always)]
fn sweep(
    clocks: &impl TwoClocks,
    report: &impl Report,
    size: &mut Size,
    (count, copying): (u64, Copying),
    heed_sample: bool,
    stop: &AtomicBool,
) -> End<Wrong> {
    let Size { workspace, elapsed, cpu } = size;
    let n = workspace.n();
    let (mut instance, mut residual) = (0u64, 0.0);
    while instance < count {
        if stop.load(Relaxed) {
            return End::Stopped;
        }
        let timed = timed(clocks, workspace, copying);
        if timed.inverted.is_err() {
            return End::Failed(Wrong::Singular { n });
        }
        let cold = record(elapsed, timed.elapsed, timed.now);
        record(cpu, timed.cpu, timed.now);
        report.value(timed.elapsed as i64);
        instance = instance.wrapping_add(1);
        if instance == 1 {
            workspace.keep();
        }
        if instance == 1 || instance == count {
            let found = workspace.residual();
            residual = if found > residual { found } else { residual };
            elapsed.set_tally(RESIDUAL, (residual / RESIDUAL_UNIT) as u64);
        }
        let differs = !workspace.equals_first();
        if differs {
            elapsed.tally(DIFFERING);
        }
        if differs || residual > TOLERANCE {
            return End::Failed(Wrong::Inverse { n, instance });
        }
        if cold && heed_sample && elapsed.stopped() {
            return End::Sample;
        }
    }
    End::Complete
}

fn record(recorder: &mut Recorder, value: u64, at: u64) -> bool {
    let open = recorder.begin();
    let cold = recorder.record(value as i64, at);
    recorder.commit(open);
    cold
}

#[cfg(test)]
mod tests;
