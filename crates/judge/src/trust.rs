//! The trust checks: one table of source, threshold and severity, applied to a record's evidence.

mod by_hand;
mod checks;
pub mod load_course;
mod out_of_band;
pub(crate) mod period;
mod reported;
mod run_delay;
// The tests compile this file: it is the worked example of CONTRIBUTING.md.
#[cfg(test)]
mod sample_size;
mod stamps;
mod start;
mod took;
mod tracing;
mod watched;

use self::{
    by_hand::by_hand,
    checks::*,
    load_course::load_course,
    run_delay::run_delay,
    stamps::stamps,
    tracing::{events, from_events, frozen_trace, tracing},
};
use crate::{
    deciding::Deciding,
    finding::{
        Finding,
        Grade::{self, Contaminated, Invalid, Note},
    },
    span::spans,
};
use latido_model::{
    record::{Record, Source},
    verdict::Verdict,
};

/// One check: where its evidence comes from, when it matters, and how.
pub struct Check {
    /// Its short name, as banners and reports print it.
    pub name: &'static str,
    /// Where the evidence comes from.
    pub source: &'static str,
    /// The threshold from which it matters.
    pub threshold: &'static str,
    /// The highest severity that it can give.
    pub grade: Grade,
    /// The verdict of a cell that it makes invalid.
    pub invalid: Verdict,
    /// Whether it concerns the measuring threads: if a program reported the samples, it must have named its threads.
    of_threads: bool,
    /// Whether it depends on latido's watching of the machine during the measurement.
    by_watching: bool,
    /// Whether it applies to a record: if the latido version that made the record did not collect the evidence yet, there is no finding.
    applies: fn(&Record) -> bool,
    judge: fn(&Record, &Deciding) -> Graded,
}

impl Check {
    /// Restricts the check to records with measuring threads, for checks of these threads and of what disturbed them. A probe that only
    /// watches passively has none, and the tasks that ran are what it watches.
    const fn of_threads(self) -> Self {
        Self { applies: |record| !record.only_looked_on(), of_threads: true, ..self }
    }

    /// Restricts the check to latido's own measuring threads.
    const fn of_own_threads(self) -> Self {
        Self { applies: |record| !record.only_looked_on() && reported::was_not(record), ..self.of_threads() }
    }

    /// Marks the check as based on what the supervisor sees during the measurement: if the supervisor did not watch, the check has no
    /// result.
    const fn by_watching(self) -> Self {
        Self { by_watching: true, ..self }
    }

    /// Applies the check to a record whose deciding samples are known.
    pub fn apply(&self, record: &Record, deciding: &Deciding) -> Finding {
        let (grade, state) = if self.of_threads && reported::is_unseen(record) {
            (Grade::Unknown, spans!["the program named no thread (tid)"])
        } else if self.by_watching && record.quality.unwatched {
            (Grade::Unknown, spans!["not measured: the measurement ended before latido could check"])
        } else {
            (self.judge)(record, deciding)
        };
        Finding { check: self.name.into(), grade, state }
    }
}

/// Applies every check to a record; the most severe findings come first, otherwise the order is that of the table.
pub fn findings(record: &Record, deciding: &Deciding) -> Vec<Finding> {
    let checks = CHECKS.iter().filter(|check| (check.applies)(record));
    let mut all: Vec<Finding> = match &record.source {
        Some(source) => imported(source, checks),
        None => checks.map(|check| check.apply(record, deciding)).collect(),
    };
    all.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
    all
}

/// Returns the findings for an import: latido checked nothing, but the file may say something about its own reliability.
fn imported<'a>(source: &Source, checks: impl Iterator<Item = &'a Check>) -> Vec<Finding> {
    let told = source.findings.iter().map(|told| Finding {
        check: told.name.clone(),
        grade: if told.contaminated { Contaminated } else { Note },
        state: spans![told.text.as_str()],
    });
    let unknown = checks.map(|check| {
        let (grade, state) = unknown();
        Finding { check: check.name.into(), grade, state }
    });
    told.chain(unknown).collect()
}

const fn check(
    name: &'static str,
    source: &'static str,
    threshold: &'static str,
    grade: Grade,
    judge: fn(&Record, &Deciding) -> Graded,
) -> Check {
    Check {
        name,
        source,
        threshold,
        grade,
        invalid: Verdict::Inconclusive,
        of_threads: false,
        by_watching: false,
        applies: |_| true,
        judge,
    }
}

/// The trust checks.
pub const CHECKS: &[Check] = &[
    Check {
        // latido also reads the policies of a watched program.
        applies: |record| !record.only_looked_on() || !record.quality.watched.is_empty(),
        ..check("policy", "sched_setattr(2), read back", "refused", Invalid, reported::policy).of_threads()
    },
    Check {
        invalid: Verdict::Contaminated,
        ..check("load", "the load's processes, checked while measuring", "ended before the last sample", Invalid, load)
    },
    Check {
        invalid: Verdict::Contaminated,
        applies: reported::was,
        ..check(
            "reported",
            "the lines of the program that measured, and its pipe",
            "more than 1 bad line in 10000, a lost sample, or a pipe that was full while the program measured",
            Invalid,
            reported::reported,
        )
    },
    Check {
        applies: |record| record.quality.stamps.is_some(),
        ..check(
            "stamps",
            "the probe's and the kernel's stamps of each event",
            "a missing stamp, packets from unknown senders",
            Note,
            stamps,
        )
    },
    Check {
        invalid: Verdict::Contaminated,
        applies: |record| record.cell.scheduling.core().is_some(),
        ..check(
            "core",
            "the core's counts of each thread, read by calls of the core, and SIGDEBUG",
            "a switch to in-band, a fault, a signal, in-band at either end, or no counts",
            Invalid,
            out_of_band::core,
        )
    },
    check("tunings", "each knob, read back", "not in force", Invalid, tunings),
    Check {
        applies: |record| !record.quality.by_hand.is_empty(),
        ..check("applied by hand", "the journal of latido tune", "any applied", Note, by_hand)
    },
    check("pinning", "/proc/thread-self/sched, nr_migrations", "a pinned thread that moved", Invalid, pinning)
        .of_threads(),
    check(
        "clock",
        "the samples' clock against itself and CLOCK_MONOTONIC",
        "a step back, a sample below zero, or drift above 100 ppm",
        Invalid,
        clock,
    ),
    check(
        "foreign tasks",
        "/proc/*/task/*/schedstat, of tasks of neither load nor kernel",
        "as much as the excess, in a second that decides a failure",
        Contaminated,
        run_delay::foreign,
    )
    .of_threads()
    .by_watching(),
    check(
        "steal",
        "/proc/stat",
        "as much as the excess, in a second that decides a failure",
        Contaminated,
        took::steal,
    )
    .by_watching(),
    check(
        "kernel threads",
        "/proc/*/task/*/schedstat",
        "as much as the excess, in a second that decides a failure; or 1 % of the time",
        Note,
        took::kernel_threads,
    )
    .of_threads()
    .by_watching(),
    check("smi", "MSR 0x34", "any", Note, took::smi),
    check("throttle", "gaps with run delay, against the kernel's limits", "any", Note, took::throttle).of_threads(),
    check(
        "run delay",
        "/proc/thread-self/schedstat",
        "waiting of a real-time thread that no seen task explains: 1 % of the time, or 1 ms at once",
        Note,
        run_delay,
    )
    .of_threads()
    .by_watching(),
    Check {
        applies: |record| start::latest(record).is_some(),
        ..check(
            "start",
            "the first slots of the threads",
            "a thread that began a slot or more after the first thread",
            Note,
            start::late,
        )
    },
    Check {
        applies: |record| period::other(record).is_some(),
        ..check(
            "period",
            "the wake-ups of a watched program",
            "regular, but more than 1 % off the given period",
            Note,
            period::period,
        )
    },
    check("outcome", "the agent", "not the whole duration", Note, outcome),
    check("memory", "mlockall(2)", "not locked", Note, memory).of_own_threads(),
    check("page faults", "getrusage(2) of the measuring threads", "any while measuring", Note, faults).of_threads(),
    check("preemptions", "getrusage(2) of the measuring threads", "any of a real-time thread", Note, preemptions)
        .of_threads(),
    check(
        "wall clock",
        "CLOCK_REALTIME against CLOCK_MONOTONIC, ten times per second",
        "the clock of the samples steps by 1 ms; a step of another clock is a note",
        Invalid,
        wall_clock,
    )
    .by_watching(),
    Check {
        applies: |record| record.quality.stopped.is_some(),
        ..check(
            "stopped",
            "the measuring process's state and its control groups, ten times per second; CLOCK_BOOTTIME against CLOCK_MONOTONIC",
            "stopped by a signal, a debugger, a freezer, or a suspend of the machine",
            Invalid,
            stopped,
        )
    },
    check(
        "throttle settings",
        "sched_rt_runtime_us, fair_server",
        "a limit, or a fair server for a measured real-time thread",
        Note,
        throttle_settings,
    )
    .of_threads(),
    check("idle states", "/dev/cpu_dma_latency", "not held at 0", Note, idle_states).of_threads(),
    check("frequency", "cpufreq", "more than 5 % apart", Note, frequency),
    check("temperature", "thermal zones", "within 10 degrees of the critical point", Note, temperature),
    check("timer slack", "/proc/thread-self/timerslack_ns", "above 1 ns without real-time policy", Note, timer_slack)
        .of_own_threads(),
    check("autogroup", "sched_autogroup_enabled", "on without real-time policy", Note, autogroup).of_threads(),
    check("hypervisor", "the processor's identification", "there is one", Note, hypervisor),
    check("housekeeping", "the CPUs measured", "no CPU left for the rest", Note, housekeeping).of_threads(),
    Check {
        applies: |record| record.load.iter().any(|load| load.life.is_some()),
        ..check("load in time", "the load's own reports", "it starts, ends or ramps while measured", Note, load_course)
    },
    Check {
        applies: |record| record.quality.tracing.is_some(),
        ..check(
            "tracing",
            "tracefs, before, once per second, and after",
            "a trace is active that the user did not request (stop_on, trace)",
            Note,
            tracing,
        )
    },
    Check {
        applies: |record| record.quality.freeze.is_some(),
        ..check("frozen trace", "what stop_on switched off", "frozen, or not possible", Note, frozen_trace)
    },
    Check {
        applies: from_events,
        ..check("events", "the trace that samples come from", "any lost, void or unseen", Note, events)
    },
];

#[cfg(test)]
mod tests;
