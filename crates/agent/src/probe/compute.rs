//! `compute`: measures how long the same computation takes, again and again.

mod sizes;

use crate::measure::{Def, Fact, Interval, Measurand, Probe, Quantity, Stage, with_defaults};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
    record::ORDERED_MAX,
    units::Ns,
};
use latido_rt::{
    Config, Snapshot,
    compute::{self, Copying, DIFFERING, RESIDUAL, Repetition, Reports, Size, Timing, Workspace, Wrong},
};
use latido_sys::clock::Clock;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use sizes::Sizes;
use std::{fs::File, os::fd::AsRawFd};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "compute",
    about: "execution time of a fixed computation: the same matrix inverted again and again, elapsed and CPU time",
    help: "\
One thread inverts a square matrix by Gauss-Jordan elimination with partial pivoting, in 64-bit floating point. Each
instance copies and inverts the same matrix, so that it executes the same instructions, and the system causes all
differences between instances. A sample of `elapsed` is the time between two readings of CLOCK_MONOTONIC right
before and after the inversion; a sample of `cpu` is the thread's processor time (CLOCK_THREAD_CPUTIME_ID) between
two readings just outside those, so that it includes the two readings of the other clock and is larger for small matrices.
The samples do not include the check, nor the copy without copy=timed. latido keeps all samples in order, up to a million
per series.

latido makes the matrix of a size from a seed: random, well-conditioned, its rows exchanged so that every pivot needs a row
exchange. It compares each inverse bit for bit with the first one, and the matrix times its inverse with the identity
for the first and the last instance. A wrong result ends the cell with an error.

Options:
  size        rows of the matrix, 2 to 1024, or a list of them, one after another; default 2,4,8,16,32,64,128
  copy        untimed (default): latido copies the matrix before the first reading; timed: after it, as in a program
              whose inversion keeps its input
  clock       monotonic (default) or realtime: the clock of `elapsed`. A clock step changes CLOCK_REALTIME and so a sample
  report      none (default): the loop keeps its values; each: before the next instance the thread writes the value as a line to
              /dev/null and to a file in memory, outside of what is timed
  instances   number of inversions per size; default 1000. The cell ends after all of them, regardless of its duration
  seed        seed of the matrices; default 1, the same in every cell, so that cells differ by the machine alone

The warm-up of the cell goes to the first size; then each size begins with 10 instances that are not in the samples.

By default the last allowed CPU is measured. Any policy but deadline. With fifo or rr the thread never sleeps: the
real-time throttle and the fair server may take their share, which shows as elapsed time without processor time.
Quantities: elapsed, cpu (ns), labelled by `size`. Facts with elapsed: residual_e18 (largest deviation of the matrix
times its inverse from the identity, in 10^-18), differing (inverses that differ from the first one).
The measurement of the execution-times study (2017) had clock=realtime and report=each, printing to a terminal; its inversion kept its
input: probably with copy=timed.",
    main_option: Some("size"),
    new: |table| {
        let probe = read(table)?;
        ensure!((1..=100_000_000).contains(&probe.instances), "`instances` is 1 to 100000000; got {}", probe.instances);
        Ok(Box::new(probe))
    },
};

/// Instances of each size that do not count.
const WARM_UP: u64 = 10;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ComputeProbe {
    size: Sizes,
    copy: CopyIs,
    clock: ClockIs,
    report: ReportIs,
    instances: u64,
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CopyIs {
    Untimed,
    Timed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ClockIs {
    Monotonic,
    Realtime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ReportIs {
    None,
    Each,
}

/// Opens the files to which a thread writes each value. The caller must keep them open during the measurement.
fn reports() -> Result<(Reports, [File; 2])> {
    let screen = File::options().write(true).open("/dev/null").context("/dev/null")?;
    let file = rustix::fs::memfd_create("latido-values", rustix::fs::MemfdFlags::CLOEXEC);
    let file = File::from(file.context("cannot create the file for the values")?);
    Ok((Reports { screen: screen.as_raw_fd(), file: file.as_raw_fd() }, [screen, file]))
}

fn read(table: toml::Table) -> Result<ComputeProbe> {
    let sizes = Sizes((1..=7).map(|power| 1 << power).collect());
    let (copy, clock, report) = (CopyIs::Untimed, ClockIs::Monotonic, ReportIs::None);
    with_defaults(table, ComputeProbe { size: sizes, copy, clock, report, instances: 1000, seed: 1 })
}

/// Estimates the time of an instance of this size on a PC in ns, to predict the duration of many.
fn instance_ns(n: usize) -> u64 {
    1_500 + (n as u64).pow(3)
}

impl Probe for ComputeProbe {
    fn measurand(&self) -> Measurand {
        let elapsed = Quantity::time("elapsed", "Compute: elapsed").each("instance");
        let cpu = Quantity::time("cpu", "Compute: cpu").each("instance").beside();
        Measurand::new("Matrix inversion", [elapsed, cpu])
            .labelled("size", &self.size.0)
            .counted_by("instances", self.instances)
            .expected(Ns(self.instances.saturating_mul(self.size.0.iter().map(|n| instance_ns(*n)).sum())))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        ensure!(
            !matches!(cell.scheduling, Scheduling::Deadline { .. }),
            "the deadline policy needs a task that sleeps: use fifo, rr or other for the probe `compute`"
        );
        Ok(())
    }

    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        // The last CPU usually has the fewest interrupts.
        allowed.iter().last().into_iter().collect()
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let (clock, timing) = match self.clock {
            ClockIs::Monotonic => (Clock::Monotonic, Timing::Monotonic),
            ClockIs::Realtime => (Clock::Realtime, Timing::Realtime),
        };
        stage.evidence.clock.name = clock.name().into();
        let repetition = Repetition {
            instances: self.instances,
            warmup_ns: stage.cell.conditions.warmup.0,
            warmup_instances: WARM_UP,
            copying: match self.copy {
                CopyIs::Untimed => Copying::Untimed,
                CopyIs::Timed => Copying::Timed,
            },
            timing,
            reports: None,
        };
        let ordered = usize::try_from(self.instances).unwrap_or(ORDERED_MAX).min(ORDERED_MAX);
        for cpu in stage.cpus() {
            let (mut sizes, mut series) = (Vec::new(), Vec::new());
            for &n in &self.size.0 {
                let workspace = Workspace::new(n, matrix(n, self.seed)).context("a matrix is not square")?;
                let (elapsed, of_elapsed) = stage.series_with("elapsed", |config| Config { ordered, ..config })?;
                let (cpu, of_cpu) = stage.series_with("cpu", |config| Config { ordered, ..config })?;
                sizes.push(Size { workspace, elapsed, cpu });
                series.extend([of_elapsed.facts(facts), of_cpu].map(|series| series.label("size", n)));
            }
            let stop = stage.stop();
            let written = (self.report == ReportIs::Each).then(reports).transpose()?;
            let repetition = Repetition { reports: written.as_ref().map(|(to, _)| *to), ..repetition };
            stage.thread(cpu, series, move || {
                compute::rehearse(&mut sizes, &repetition);
                move || {
                    let _open = &written;
                    let outcome = compute::run(&mut sizes, &repetition, &stop);
                    if let Some(wrong) = outcome.end.failure() {
                        bail!(sentence(wrong));
                    }
                    Ok(Interval { first_slot_ns: outcome.first_ns, ended_ns: outcome.ended_ns })
                }
            });
        }
        stage.run()
    }
}

/// Makes a random matrix in which one number of each row outweighs the others together, so that it is well-conditioned. The rows are
/// permuted in one cycle (S. Sattolo, 1986), so that no such number is on the diagonal.
fn matrix(n: usize, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ (n as u64) << 48);
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|index| {
            let mut row: Vec<f64> = (0..n).map(|_| random.random_range(-1.0..1.0)).collect();
            let others: f64 = row.iter().map(|value| value.abs()).sum();
            if let Some(value) = row.get_mut(index) {
                *value = others + random.random_range(1.0..2.0);
            }
            row
        })
        .collect();
    for last in (1..n).rev() {
        rows.swap(last, random.random_range(0..last));
    }
    rows.concat()
}

fn facts(snapshot: &Snapshot) -> Vec<Fact> {
    if snapshot.plain.count == 0 {
        return Vec::new();
    }
    let tally = |which: usize| snapshot.tallies.get(which).copied().unwrap_or(0);
    vec![("residual_e18", tally(RESIDUAL)), ("differing", tally(DIFFERING))]
}

fn sentence(wrong: Wrong) -> String {
    let memory = "do not trust the processor or the memory of this machine";
    match wrong {
        Wrong::Singular { n } => format!("the computation found no inverse of the matrix of {n} rows: {memory}"),
        Wrong::Inverse { n, instance } => {
            format!("instance {instance} of {n} rows gave a wrong inverse: {memory}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::registry::Options;

    fn sizes(text: &str) -> Result<ComputeProbe> {
        read(text.parse().unwrap())
    }

    #[test]
    fn a_size_is_a_number_or_a_list() {
        assert_eq!(sizes("size = 64").unwrap().size.0, [64]);
        assert_eq!(sizes("size = \"64\"").unwrap().size.0, [64]);
        let list = sizes("size = \"8, 2,1024\"").unwrap();
        assert_eq!(list.size.0, [8, 2, 1024], "in the order given");
        assert_eq!(list.options().get("size").and_then(toml::Value::as_str), Some("8,2,1024"));
        assert_eq!(read(list.options()).unwrap().size, list.size, "as the target reads it");
        assert_eq!(sizes("").unwrap().size.to_string(), "2,4,8,16,32,64,128");
        for (text, why) in [
            ("size = 1", "a size is 2 to 1024 rows, not 1"),
            ("size = \"2,2\"", "the size 2 is given twice"),
            ("size = \"2,x\"", "`x` is not a size"),
            ("size = \"\"", "`` is not a size"),
            ("size = 2.5", "`size`"),
        ] {
            let error = sizes(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn the_matrix_is_dominated_off_its_diagonal_and_a_matter_of_the_seed() {
        for n in [2, 3, 8, 33] {
            let matrix = matrix(n, 7);
            assert_eq!(matrix, super::matrix(n, 7));
            assert_ne!(matrix, super::matrix(n, 8));
            let mut places: Vec<usize> = Vec::new();
            for (index, row) in matrix.chunks(n).enumerate() {
                let place = (0..n).max_by(|a, b| row[*a].abs().total_cmp(&row[*b].abs())).unwrap();
                let others: f64 = row.iter().map(|value| value.abs()).sum::<f64>() - row[place].abs();
                assert!(row[place].abs() > others, "row {index} of {n}");
                assert_ne!(place, index, "the pivot of column {place} must be fetched");
                places.push(place);
            }
            places.sort_unstable();
            assert_eq!(places, (0..n).collect::<Vec<_>>(), "each column has one");
        }
    }
}
