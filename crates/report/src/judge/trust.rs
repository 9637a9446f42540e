//! The trust checks: one table of source, threshold and grade, applied to a record's evidence.

use super::{
    by_hand::by_hand,
    checks::*,
    deciding::Deciding,
    finding::{
        Finding,
        Grade::{self, Contaminated, Invalid, Note},
    },
    run_delay::run_delay,
};
use super::{
    load_course::load_course,
    tracing::{frozen_trace, tracing},
};
use latido_model::{record::Record, verdict::Verdict};

/// One check: where its evidence comes from, when it weighs, and how.
pub struct Check {
    /// Short name, as banners and reports print it.
    pub name: &'static str,
    /// Where the evidence comes from.
    pub source: &'static str,
    /// From when on it weighs.
    pub threshold: &'static str,
    /// The heaviest grade it can give.
    pub grade: Grade,
    /// The verdict of a cell that it makes invalid.
    pub invalid: Verdict,
    /// Whether it has anything to say of a record: what a version did not look at yet is no finding.
    applies: fn(&Record) -> bool,
    judge: fn(&Record, &Deciding) -> Graded,
}

impl Check {
    /// Judges a record whose deciding samples are known.
    pub fn apply(&self, record: &Record, deciding: &Deciding) -> Finding {
        let (grade, state) = (self.judge)(record, deciding);
        Finding { check: self.name.into(), grade, state }
    }
}

/// Every check on a record, heaviest findings first, otherwise in the order of the table.
pub fn findings(record: &Record, deciding: &Deciding) -> Vec<Finding> {
    let checks = CHECKS.iter().filter(|check| (check.applies)(record));
    let mut all: Vec<Finding> = checks.map(|check| check.apply(record, deciding)).collect();
    all.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
    all
}

const fn check(
    name: &'static str,
    source: &'static str,
    threshold: &'static str,
    grade: Grade,
    judge: fn(&Record, &Deciding) -> Graded,
) -> Check {
    Check { name, source, threshold, grade, invalid: Verdict::Inconclusive, applies: |_| true, judge }
}

/// The trust checks.
pub const CHECKS: &[Check] = &[
    check("policy", "sched_setattr(2), read back", "refused", Invalid, policy),
    Check {
        invalid: Verdict::Contaminated,
        ..check(
            "load",
            "the load's processes, looked at while measuring",
            "ended before the last sample",
            Invalid,
            load,
        )
    },
    check("tunings", "each knob, read back", "not in force", Invalid, tunings),
    Check {
        applies: |record| !record.quality.by_hand.is_empty(),
        ..check("applied by hand", "the journal of latido tune", "any applied", Note, by_hand)
    },
    check("pinning", "/proc/thread-self/sched, nr_migrations", "a pinned thread that moved", Invalid, pinning),
    check(
        "clock",
        "the samples' clock against itself and CLOCK_MONOTONIC",
        "a step back, a sample below zero, or drift above 100 ppm",
        Invalid,
        clock,
    ),
    check(
        "foreign tasks",
        "/proc/*/task/*/schedstat, of what is neither load nor kernel",
        "in a second that decides a failure, as long as its excess",
        Contaminated,
        foreign,
    ),
    check("steal", "/proc/stat", "in a second that decides a failure, as long as its excess", Contaminated, steal),
    check(
        "kernel threads",
        "/proc/*/task/*/schedstat",
        "in a second that decides a failure, as long as its excess; or 1 % of the time",
        Note,
        kernel_threads,
    ),
    check("smi", "MSR 0x34", "any", Note, smi),
    check("throttle", "gaps with run delay, against the kernel's limits", "any", Note, throttle),
    check(
        "run delay",
        "/proc/thread-self/schedstat",
        "of a real-time thread, 1 % of the time or more that nobody listed explains",
        Note,
        run_delay,
    ),
    check("outcome", "the agent", "not the whole duration", Note, outcome),
    check("memory", "mlockall(2)", "not locked", Note, memory),
    check("page faults", "getrusage(2) of the measuring threads", "any while measuring", Note, faults),
    check("preemptions", "getrusage(2) of the measuring threads", "any of a real-time thread", Note, preemptions),
    check("wall clock", "CLOCK_REALTIME against CLOCK_MONOTONIC", "a change above 1 ms", Note, wall_clock),
    check(
        "throttle settings",
        "sched_rt_runtime_us, fair_server",
        "a limit, or a fair server for a measured real-time thread",
        Note,
        throttle_settings,
    ),
    check("idle states", "/dev/cpu_dma_latency", "not held at 0", Note, idle_states),
    check("frequency", "cpufreq", "more than 5 % apart", Note, frequency),
    check("temperature", "thermal zones", "within 10 degrees of the critical point", Note, temperature),
    check("timer slack", "/proc/thread-self/timerslack_ns", "above 1 ns without real-time policy", Note, timer_slack),
    check("autogroup", "sched_autogroup_enabled", "on without real-time policy", Note, autogroup),
    check("hypervisor", "the processor's identification", "there is one", Note, hypervisor),
    check("housekeeping", "the CPUs measured", "no CPU left for the rest", Note, housekeeping),
    Check {
        applies: |record| record.load.iter().any(|load| load.life.is_some()),
        ..check("load in time", "the load's own reports", "it starts, ends or ramps while measured", Note, load_course)
    },
    Check {
        applies: |record| record.quality.tracing.is_some(),
        ..check(
            "tracing",
            "tracefs, before and after",
            "a trace is written that stop_on did not ask for",
            Note,
            tracing,
        )
    },
    Check {
        applies: |record| record.quality.freeze.is_some(),
        ..check("frozen trace", "what stop_on switched off", "frozen, or not possible", Note, frozen_trace)
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::deciding::Stored;
    use crate::judge::finding::Grade::{Ok, Unknown};
    use latido_model::{
        cell::{Item, Scheduling},
        machine::{FairBudget, FairServer},
        record::{ByHand, Foreign, Freeze, LoadLife, LoadRecord, Outcome, Sample, Second, TaskOwner, Tracer, Tracing},
        sample,
    };

    fn tracer(instance: &str, tracer: &str, events: bool) -> Tracer {
        Tracer { instance: instance.into(), tracer: tracer.into(), events }
    }

    fn finding(check: &str, change: impl Fn(&mut Record)) -> Finding {
        let mut record = sample::record();
        change(&mut record);
        let largest = [
            Sample { value: 200_000, at_ns: 3_500_000_000, class: "preempted".into() },
            Sample { value: 2_000, at_ns: 0, class: String::new() },
        ];
        let deciding = Deciding::new(
            &record,
            Some(100_000.0),
            &[Stored { thread: 0, count: 10_000, cpu: None, largest: &largest }],
        );
        findings(&record, &deciding).into_iter().find(|f| f.check == check).unwrap()
    }

    fn dead(record: &mut Record) {
        let item = Item { name: "stress-ng".into(), options: toml::Table::new() };
        let died = Some("exit status 1 after 3 s".into());
        let (argv, version, note) = (vec!["stress-ng".into()], None, None);
        record.load.push(LoadRecord {
            item,
            argv,
            version,
            note,
            alive: false,
            died,
            cpu_ns: None,
            achieved: Default::default(),
            rates: Default::default(),
            unaccounted: None,
            commands: vec![],
            ..LoadRecord::default()
        });
    }

    #[test]
    fn a_clean_record_raises_nothing() {
        let record = sample::record();
        for finding in findings(&record, &Deciding::default()) {
            assert!(finding.grade <= Unknown, "{finding:?}");
        }
    }

    /// Each check of the table weighs as much as the table says when its evidence is there.
    #[test]
    fn every_check_reaches_the_grade_that_the_table_states() {
        let second = |r: &mut Record, steal_ns, foreign_ns, kernel_ns| {
            let (start_ns, length_ns) = (3_000_000_000, 1_000_000_000);
            let second = Second { start_ns, length_ns, steal_ns, foreign_ns, kernel_ns, ..Second::default() };
            r.quality.timeline.push(second);
        };
        type Spoil = fn(&mut Record);
        let changes: &[(&str, Spoil)] = &[
            ("policy", |r| r.quality.policy_refused = Some("fifo 80 was refused: EPERM".into())),
            ("load", dead),
            ("tunings", |r| {
                let item = Item::default();
                r.tunings.push(latido_model::record::TuningRecord {
                    item,
                    changes: vec![],
                    in_force: false,
                    note: None,
                });
            }),
            ("applied by hand", |r| r.quality.by_hand = vec![ByHand::default()]),
            ("pinning", |r| r.quality.threads[0].migrations = Some(2)),
            ("clock", |r| r.quality.clock.drift_ppb = Some(-200_000.0)),
            ("outcome", |r| r.outcome = Outcome::Interrupted),
            ("memory", |r| r.quality.memory_unlocked = Some("EPERM".into())),
            ("page faults", |r| r.quality.threads[1].minor_faults = 1),
            ("page faults", |r| r.quality.threads[1].major_faults = 1),
            ("preemptions", |r| r.quality.threads[1].involuntary_switches = 4),
            ("wall clock", |r| r.quality.clock.realtime_shift_ns = -2_000_000),
            ("throttle settings", |r| r.quality.throttle.rt_runtime_us = Some(950_000)),
            ("idle states", |r| r.quality.dma_latency_held = false),
            ("frequency", |r| r.quality.frequency_khz = Some((1_000_000, 3_000_000))),
            ("temperature", |r| r.quality.temperature_mc = Some((95_000, Some(100_000)))),
            ("timer slack", |r| {
                r.cell.scheduling = Scheduling::OTHER;
                r.quality.timer_slack_ns = Some(50_000);
            }),
            ("autogroup", |r| {
                r.cell.scheduling = Scheduling::OTHER;
                r.quality.autogroup = Some(true);
            }),
            ("housekeeping", |r| r.quality.housekeeping = None),
            ("load in time", |r| {
                let life = LoadLife { started_ns: -1, worked_ns: Some(1_000_000), ended_ns: None };
                r.load.push(LoadRecord { alive: true, life: Some(life), ..LoadRecord::default() });
            }),
            ("tracing", |r| r.quality.tracing = Some(Tracing::Seen { active: vec![tracer("", "function", true)] })),
            ("frozen trace", |r| r.quality.freeze = Some(Freeze::Impossible { why: "not mounted".into() })),
        ];
        for (name, change) in changes {
            let table = CHECKS.iter().find(|check| check.name == *name).unwrap();
            assert_eq!(finding(name, change).grade, table.grade, "{name}");
        }
        assert_eq!(
            finding("steal", |r| {
                r.quality.steal_ns = Some(10_000_000);
                second(r, 10_000_000, 0, 0)
            })
            .grade,
            Contaminated
        );
        assert_eq!(finding("foreign tasks", |r| second(r, 0, 150_000, 0)).grade, Contaminated);
        assert_eq!(finding("kernel threads", |r| second(r, 0, 150_000, 150_000)).grade, Note);
        assert_eq!(finding("foreign tasks", |r| second(r, 0, 150_000, 150_000)).grade, Ok);
        assert_eq!(finding("smi", |r| r.quality.smi = Some(1)).grade, Note);
        assert_eq!(finding("throttle", |r| r.quality.throttle.throttled = Some(5)).grade, Note);
        assert_eq!(finding("run delay", |r| r.quality.threads[1].run_delay_ns = Some(1_500_000_000)).grade, Note);
    }

    /// What the kernel's threads do at their normal doings is no remark; a program at the own priority is one.
    #[test]
    fn a_migration_thread_at_its_work_is_no_note() {
        let task = |owner, ran_ns| Foreign {
            comm: "migration/1".into(),
            tid: 20,
            policy: "fifo 99".into(),
            cpu: 1,
            ran_ns,
            owner: Some(owner),
        };
        let with = |name, owner, ran_ns| finding(name, |r| r.quality.foreign.push(task(owner, ran_ns)));
        let quiet = with("kernel threads", TaskOwner::Kernel, 12_000);
        assert_eq!(quiet.grade, Ok);
        assert_eq!(
            quiet.text(),
            "1 thread at or above the own priority, most migration/1 (fifo 99, CPU 1) for 12.0 µs"
        );
        assert_eq!(with("foreign tasks", TaskOwner::Kernel, 12_000).grade, Ok);
        assert_eq!(with("foreign tasks", TaskOwner::Load, 5_000_000_000).grade, Ok);
        assert_eq!(with("kernel threads", TaskOwner::Kernel, 200_000_000).grade, Note);
        assert_eq!(with("foreign tasks", TaskOwner::Program, 12_000).grade, Note);
        assert_eq!(with("foreign tasks", TaskOwner::Latido, 12_000).grade, Note);
    }

    /// A locked page that the kernel moved is a page fault too: nobody's program is at fault.
    #[test]
    fn page_faults_beside_moved_pages_name_them() {
        let moved = |faults, pages, locked| {
            finding("page faults", |r| {
                r.quality.threads[0].minor_faults = faults;
                r.quality.moved_pages = pages;
                r.machine.memory.moves_locked = locked;
            })
            .text()
        };
        assert_eq!(moved(0, Some(92_312), Some(true)), "0 minor, 0 major while measuring");
        assert_eq!(moved(2, None, Some(true)), "2 minor, 0 major while measuring");
        assert_eq!(
            moved(2, Some(92_312), Some(true)),
            "2 minor, 0 major while measuring; the kernel moved 92312 of anybody's meanwhile and may move locked ones \
             (--tune compaction stops that)"
        );
        assert_eq!(
            moved(2, Some(92_312), Some(false)),
            "2 minor, 0 major while measuring; the kernel moved 92312 of anybody's meanwhile"
        );
    }

    /// Two causes that explain a failure only together must not claim it each for itself.
    #[test]
    fn causes_share_what_they_explain_together() {
        let both = |r: &mut Record| {
            r.quality.steal_ns = Some(10_000_000);
            let (steal_ns, foreign_ns) = (10_000_000, 40_000);
            let (start_ns, length_ns) = (3_000_000_000, 1_000_000_000);
            r.quality.timeline.push(Second { start_ns, length_ns, steal_ns, foreign_ns, ..Second::default() });
        };
        assert_eq!(
            finding("foreign tasks", both).text(),
            "for 40.0 µs, which together with steal explains the samples that fail"
        );
        assert_eq!(
            finding("steal", both).text(),
            "10.0 ms of the measured CPUs' time stolen, which together with foreign tasks explains the samples that fail"
        );
    }

    /// The fair server in numbers: what it may take where the cell was measured, and not what its words look like.
    #[test]
    fn the_fair_server_is_noted_where_it_can_bite() {
        let server = |cpus: &str, runtime_ns| {
            let budget = FairBudget { cpus: cpus.parse().unwrap(), runtime_ns, period_ns: 1_000_000_000 };
            FairServer::Known { budgets: vec![budget] }
        };
        let found = |server: &FairServer, scheduling: Scheduling| {
            let found = finding("throttle settings", |r| {
                r.machine.realtime.fair_server = server.clone();
                r.quality.throttle.fair_server = Some(server.to_string());
                r.cell.conditions.cpus = Some("0-1".parse().unwrap());
                r.cell.scheduling = scheduling;
            });
            (found.grade, found.text())
        };
        let fifo = Scheduling::Fifo { prio: 80 };
        let said = |text: &str| format!("real-time budget unlimited, fair server {text}");
        assert_eq!(found(&server("0-1", 50_000_000), fifo), (Note, said("50ms of 1s on CPUs 0,1")));
        assert_eq!(
            found(&server("2-3", 50_000_000), fifo),
            (Grade::Ok, said("50ms of 1s on CPUs 2,3, none of them measured"))
        );
        assert_eq!(found(&server("0-1", 0), fifo), (Grade::Ok, said("off")));
        assert_eq!(found(&FairServer::Absent, fifo), (Grade::Ok, said("none")));
        let unknown = FairServer::Unknown { reason: FairServer::NOT_MOUNTED.into() };
        assert_eq!(found(&unknown, fifo), (Unknown, said("unknown (debugfs is not mounted)")));
        let (grade, _) = found(&server("0-1", 50_000_000), Scheduling::OTHER);
        assert_eq!(grade, Grade::Ok, "it is for time-sharing tasks, and takes nothing from them");
    }

    #[test]
    fn a_dead_load_is_told_in_a_sentence() {
        assert_eq!(
            finding("load", dead).sentence(),
            "the load `stress-ng` ended before the measurement did (exit status 1 after 3 s)"
        );
    }

    /// The remedy is told once, by the banner; a finding says what happened.
    #[test]
    fn a_refusal_is_told_without_its_remedy() {
        let refused =
            |r: &mut Record| r.quality.policy_refused = Some("fifo 80 was refused: EPERM; do this; or that".into());
        assert_eq!(finding("policy", refused).sentence(), "policy: fifo 80 was refused: EPERM");
    }

    #[test]
    fn foreign_time_elsewhere_is_a_note() {
        let elsewhere = |r: &mut Record| {
            r.quality.steal_ns = Some(10_000_000);
            r.quality.timeline.push(Second {
                start_ns: 8_000_000_000,
                length_ns: 1_000_000_000,
                steal_ns: 10_000_000,
                ..Second::default()
            });
        };
        assert_eq!(finding("steal", elsewhere).grade, Note);
    }

    #[test]
    fn what_was_not_measured_is_not_a_zero() {
        for (name, change) in [
            ("steal", (|r: &mut Record| r.quality.steal_ns = None) as fn(&mut Record)),
            ("smi", |r| r.quality.smi = None),
            ("frequency", |r| r.quality.frequency_khz = None),
            ("temperature", |r| r.quality.temperature_mc = None),
            ("autogroup", |r| r.quality.autogroup = None),
        ] {
            let found = finding(name, change);
            assert_eq!((found.grade, found.text().as_str()), (Unknown, "not measured"), "{name}");
        }
    }

    /// Who stops on a sample wants the trace; anybody else pays for one unknowingly.
    #[test]
    fn a_trace_that_nobody_asked_for_is_a_note() {
        let on = |r: &mut Record| {
            let active = vec![tracer("", "function", true), tracer("mine", "nop", true)];
            r.quality.tracing = Some(Tracing::Seen { active });
        };
        let found = finding("tracing", on);
        insta::assert_snapshot!(found.sentence(), @"tracing: the kernel traces: function and events, in the instance mine events; each sample has its cost in it");
        assert_eq!(found.grade, Note);
        let asked = finding("tracing", |r| {
            on(r);
            r.cell.conditions.stop_on = Some(latido_model::units::Ns(1));
        });
        assert_eq!(asked.grade, Grade::Ok);
        assert!(asked.text().contains("its cost"), "{}", asked.text());
        let unseen = finding("tracing", |r| r.quality.tracing = Some(Tracing::Unseen { why: "no tracefs".into() }));
        assert_eq!((unseen.grade, unseen.text().as_str()), (Unknown, "not measured: no tracefs"));
        let none = finding("tracing", |r| r.quality.tracing = Some(Tracing::Seen { active: vec![] }));
        assert_eq!((none.grade, none.text().as_str()), (Grade::Ok, "nothing is traced"));
        let record = sample::record();
        let findings = findings(&record, &Deciding::default());
        assert!(findings.iter().all(|f| f.check != "tracing" && f.check != "frozen trace"), "nobody looked");
    }

    #[test]
    fn a_frozen_trace_says_how_to_go_on() {
        let frozen = |failed: Option<&str>| {
            finding("frozen trace", |r| {
                r.quality.freeze = Some(Freeze::Frozen {
                    switches: vec!["/sys/kernel/tracing/tracing_on".into()],
                    value_ns: 123_456,
                    cpu: Some(1),
                    monotonic_ns: 5,
                    failed: failed.map(String::from),
                });
            })
        };
        let found = frozen(None);
        insta::assert_snapshot!(found.sentence(), @"frozen trace: marked and switched off at a sample of 123 µs, CPU 1, as stop_on asks; it stays off until `echo 1 > /sys/kernel/tracing/tracing_on`");
        assert_eq!(found.grade, Note);
        assert!(frozen(Some("EBADF")).text().contains("EBADF"));
        let state = |freeze: Freeze| {
            let found = finding("frozen trace", |r| r.quality.freeze = Some(freeze.clone()));
            (found.grade, found.text())
        };
        assert_eq!(state(Freeze::Armed), (Grade::Ok, "ready, and not needed: no sample was above stop_on".into()));
        assert_eq!(state(Freeze::Off), (Grade::Ok, "tracing was off: nothing to freeze".into()));
        assert_eq!(state(Freeze::Impossible { why: "x".into() }), (Note, "the kernel's trace goes on: x".into()));
    }

    #[test]
    fn the_names_are_distinct() {
        let names: std::collections::BTreeSet<_> = CHECKS.iter().map(|check| check.name).collect();
        assert_eq!(names.len(), CHECKS.len());
    }
}
