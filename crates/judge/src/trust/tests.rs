mod counts;
mod tracing;

use super::*;
use crate::{
    deciding::Stored,
    finding::Grade::{Ok, Unknown},
};
use latido_model::{
    cell::{Item, Scheduling},
    machine::{FairBudget, FairServer},
    record::{
        ByHand, Class, Freeze, HeldBack, LoadLife, LoadRecord, Outcome, Sample, Second, Source, Stopped, Told, Tracer,
        Tracing, WallSteps,
    },
    sample,
};

fn tracer(instance: &str, tracer: &str, events: bool) -> Tracer {
    Tracer { instance: instance.into(), tracer: tracer.into(), events }
}

pub(super) fn finding(check: &str, change: impl Fn(&mut Record)) -> Finding {
    let mut record = sample::record();
    change(&mut record);
    let largest = [
        Sample { value: 200_000, at_ns: 3_500_000_000, class: Class::Preempted },
        Sample { value: 2_000, at_ns: 0, class: Class::Unknown },
    ];
    let deciding =
        Deciding::new(&record, Some(100_000.0), &[Stored { thread: 0, count: 10_000, cpu: None, largest: &largest }]);
    findings(&record, &deciding).into_iter().find(|f| f.check == check).unwrap()
}

/// latido checked nothing that another tool measured: no check passes, and what the file reports about itself comes first.
#[test]
fn of_an_import_no_check_passes() {
    let mut record = sample::record();
    let says = Told { name: "lost samples".into(), text: "7 samples".into(), contaminated: true };
    record.source = Some(Source { format: "csv".into(), findings: vec![says], ..Source::default() });
    let all = findings(&record, &Deciding::new(&record, None, &[]));
    assert_eq!((all[0].check.as_ref(), all[0].grade), ("lost samples", Contaminated));
    assert!(all.len() > 10 && all[1..].iter().all(|one| one.grade == Unknown), "{all:?}");
    record.source = None;
    assert!(findings(&record, &Deciding::new(&record, None, &[])).iter().any(|one| one.grade == Ok));
}

/// If latido did not watch, it must not say "none seen" about other programs.
#[test]
fn what_nobody_watched_is_not_measured() {
    for check in ["foreign tasks", "kernel threads", "steal", "run delay", "wall clock"] {
        let unwatched = finding(check, |record| record.quality.unwatched = true);
        assert_eq!(unwatched.grade, Unknown, "{check}");
        assert!(crate::span::plain(&unwatched.state).contains("ended before latido could check"), "{check}");
        assert_ne!(finding(check, |record| record.quality.steal_ns = Some(0)).grade, Unknown, "{check}");
    }
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
        programs: vec![],
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

/// For a probe that only watches passively, there are no checks of measuring threads, nor of tasks that disturb them: these tasks are what
/// it watches.
#[test]
fn who_only_looked_on_had_no_threads() {
    let mut record = sample::record();
    record.quality.threads.clear();
    let names = |record: &Record| -> Vec<String> {
        findings(record, &Deciding::default()).into_iter().map(|finding| finding.check).collect()
    };
    let of_threads = ["policy", "pinning", "page faults", "run delay", "memory", "foreign tasks", "housekeeping"];
    assert!(of_threads.iter().all(|check| names(&record).iter().any(|name| name == check)));
    record.quality.trace = Some(sample::trace());
    let left = names(&record);
    assert!(!of_threads.iter().any(|check| left.iter().any(|name| name == check)), "{left:?}");
    assert!(
        ["steal", "outcome", "load", "clock"].iter().all(|check| left.iter().any(|name| name == check)),
        "{left:?}"
    );
}

type Spoil = fn(&mut Record);

/// Checks, each with a change to the record that makes it reach its severity.
fn spoils() -> Vec<(&'static str, Spoil)> {
    vec![
        ("policy", |r| r.quality.policy_refused = Some("fifo 80 was refused: EPERM".into())),
        ("load", dead),
        ("tunings", |r| {
            let item = Item::default();
            r.tunings.push(latido_model::record::TuningRecord {
                item,
                changes: vec![],
                in_force: false,
                note: None,
                programs: vec![],
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
        ("wall clock", |r| {
            r.quality.clock.name = "realtime".into();
            r.quality.wall_steps = Some(WallSteps { times: 1, largest_ns: -2_000_000 });
        }),
        ("stopped", |r| r.quality.stopped = Some(Stopped { times: 1, how: "a signal".into(), ..Stopped::default() })),
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
        ("start", |r| {
            for (series, late_ns) in r.series.iter_mut().zip([0, 5_000_000]) {
                series.facts.insert("first_slot_ns".into(), late_ns);
            }
        }),
    ]
}

/// Each check of the table reaches the severity that the table states when its evidence is present.
#[test]
fn every_check_reaches_the_grade_that_the_table_states() {
    let second = |r: &mut Record, steal_ns, foreign_ns, kernel_ns| {
        let (start_ns, length_ns) = (3_000_000_000, 1_000_000_000);
        let second = Second { start_ns, length_ns, steal_ns, foreign_ns, kernel_ns, ..Second::default() };
        r.quality.timeline.push(second);
    };
    for (name, change) in spoils() {
        let table = CHECKS.iter().find(|check| check.name == name).unwrap();
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

/// This test fails for a new check whose severity no test covers.
#[test]
fn each_check_has_a_test_of_its_grade() {
    let below = ["foreign tasks", "steal", "kernel threads", "smi", "throttle", "run delay"];
    // These need evidence that few records have: their own tests cover the severity.
    let elsewhere = ["reported", "stamps", "period", "hypervisor", "events", "core"];
    let rows = spoils().into_iter().map(|(name, _)| name).chain(below).chain(elsewhere);
    let mut tested: Vec<&str> = rows.collect();
    tested.sort_unstable();
    tested.dedup();
    let mut all: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
    all.sort_unstable();
    assert_eq!(tested, all, "each check has a test of its grade");
}

/// A CPU quota of latido's own group limits a thread with a time-sharing policy, and only such a thread.
#[test]
fn a_quota_of_latido_s_own_group_is_said() {
    let told = |scheduling: Scheduling, times: u64| {
        let found = finding("policy", |r| {
            r.cell.scheduling = scheduling;
            r.quality.held_back = Some(HeldBack { times, ns: 4_200_000_000 });
        });
        found.text().replace('\u{a0}', " ")
    };
    let held = "; the kernel held back latido's control group 83 times for its CPU quota, 4.20 s on all CPUs together";
    assert!(told(Scheduling::OTHER, 83).ends_with(held), "{}", told(Scheduling::OTHER, 83));
    assert!(!told(Scheduling::OTHER, 0).contains("quota"));
    assert!(!told(Scheduling::Fifo { prio: 80 }, 83).contains("quota"));
}

/// A step of the samples' own clock makes the cell invalid, even a step there and back. A step of another clock is a remark, and so is
/// slewing.
#[test]
fn steps_of_the_samples_clock_make_a_cell_invalid() {
    let told = |clock: &str, steps: Option<(u64, i64)>, shift: i64| {
        let found = finding("wall clock", |r| {
            r.quality.clock.name = clock.into();
            r.quality.clock.realtime_shift_ns = shift;
            r.quality.wall_steps = steps.map(|(times, largest_ns)| WallSteps { times, largest_ns });
        });
        (found.grade, found.text())
    };
    let second = 1_000_000_000;
    let back = told("realtime", Some((1, -second)), -second);
    assert_eq!(back.0, Invalid);
    assert!(back.1.ends_with("and the samples use this clock"), "{}", back.1);
    assert_eq!(told("tai", Some((2, second)), 0).0, Invalid, "there and back");
    assert_eq!(told("monotonic", Some((2, second)), 0).0, Note);
    assert_eq!(told("realtime", Some((0, 0)), 3_000_000).0, Note, "slewed");
    assert_eq!(told("realtime", Some((0, 0)), 0).0, Ok);
    // Older records only have the difference from start to end.
    assert_eq!((told("realtime", None, -second).0, told("realtime", None, 2_000_000).0), (Invalid, Note));
}

/// A program that latido only watches keeps its own policy: latido judges no policy that it did not set.
#[test]
fn what_keeps_its_own_policy_is_judged_by_none() {
    for check in ["policy", "timer slack", "autogroup", "throttle settings", "run delay"] {
        let own = |record: &mut Record| {
            record.cell.scheduling = Scheduling::Own;
            (record.quality.autogroup, record.quality.timer_slack_ns) = (Some(true), Some(50_000));
        };
        let found = finding(check, own);
        assert!(found.grade == Grade::Ok && !found.text().contains("any task may"), "{check}: {}", found.text());
    }
}

/// A stopped process measured nothing of the machine, and the sentence must say for how long.
#[test]
fn a_stop_of_what_measures_is_told_with_its_length() {
    let stopped = |times, total_ns, longest_ns| {
        let how = "a freezer".to_owned();
        finding("stopped", |r| r.quality.stopped = Some(Stopped { times, total_ns, longest_ns, how: how.clone() }))
            .text()
    };
    let once = stopped(1, 1_200_000_000, 1_200_000_000);
    assert_eq!(once, "the measuring process was stopped at least 1 time by a freezer for at most 1.20 s");
    assert!(
        stopped(3, 900_000_000, 500_000_000)
            .ends_with("3 times by a freezer for at most 500 ms each and 900 ms together")
    );
}

/// A page fault may come from the kernel's move of a locked page: then no program is at fault.
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
        "2 minor, 0 major while measuring; the kernel moved or tried to move 92312 pages of any program meanwhile and may move locked ones \
         (--tune compaction stops that)"
    );
    assert_eq!(
        moved(2, Some(92_312), Some(false)),
        "2 minor, 0 major while measuring; the kernel moved or tried to move 92312 pages of any program meanwhile"
    );
}

/// The check uses the fair server's numbers: what it may take on the measured CPUs, whatever its text looks like.
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

/// Only the banner gives the remedy; a finding reports what happened.
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

#[test]
fn the_names_are_distinct() {
    let names: std::collections::BTreeSet<_> = CHECKS.iter().map(|check| check.name).collect();
    assert_eq!(names.len(), CHECKS.len());
}

#[test]
fn the_worked_example_is_a_trust_check() {
    let mut record = sample::record();
    for (count, grade) in [(999, Grade::Note), (1000, Grade::Ok)] {
        record.series[0].count = count;
        assert_eq!(sample_size::sample_size(&record, &Deciding::default()).0, grade);
    }
}
