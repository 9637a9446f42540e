//! The trust checks: one table of source, threshold and grade, applied to a record's evidence.

use super::{
    checks::*,
    deciding::Deciding,
    finding::{
        Finding,
        Grade::{self, Contaminated, Invalid, Note},
    },
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
    let mut all: Vec<Finding> = CHECKS.iter().map(|check| check.apply(record, deciding)).collect();
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
    Check { name, source, threshold, grade, invalid: Verdict::Inconclusive, judge }
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
        "/proc/*/task/*/stat",
        "in a second that decides a failure, as long as its excess",
        Contaminated,
        foreign,
    ),
    check(
        "steal",
        "/proc/stat",
        "in a second that decides a failure, as long as its excess (to 10 ms)",
        Contaminated,
        steal,
    ),
    check("smi", "MSR 0x34", "in a second that decides a failure", Contaminated, smi),
    check(
        "throttle",
        "gaps of the probe, once a second, with run delay",
        "the gaps that decide a failure",
        Contaminated,
        throttle,
    ),
    check("outcome", "the agent", "not the whole duration", Note, outcome),
    check("memory", "mlockall(2)", "not locked", Note, memory),
    check("page faults", "getrusage(2) of the measuring threads", "any while measuring", Note, faults),
    check("preemptions", "getrusage(2) of the measuring threads", "any of a real-time thread", Note, preemptions),
    check("wall clock", "CLOCK_REALTIME against CLOCK_MONOTONIC", "a change above 1 ms", Note, wall_clock),
    check("throttle settings", "sched_rt_runtime_us, fair_server", "a limit is set", Note, throttle_settings),
    check("idle states", "/dev/cpu_dma_latency", "not held at 0", Note, idle_states),
    check("frequency", "cpufreq", "more than 5 % apart", Note, frequency),
    check("temperature", "thermal zones", "within 10 degrees of the critical point", Note, temperature),
    check("timer slack", "/proc/thread-self/timerslack_ns", "above 1 ns without real-time policy", Note, timer_slack),
    check("autogroup", "sched_autogroup_enabled", "on without real-time policy", Note, autogroup),
    check("hypervisor", "the processor's identification", "there is one", Note, hypervisor),
    check("housekeeping", "the CPUs measured", "no CPU left for the rest", Note, housekeeping),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::deciding::Stored;
    use crate::judge::finding::Grade::Unknown;
    use latido_model::{
        cell::{Item, Scheduling},
        record::{LoadRecord, Outcome, Sample, Second},
        sample,
    };

    fn finding(check: &str, change: impl Fn(&mut Record)) -> Finding {
        let mut record = sample::record();
        change(&mut record);
        let largest = [
            Sample { value: 200_000, at_ns: 3_500_000_000, class: "preempted".into() },
            Sample { value: 2_000, at_ns: 0, class: String::new() },
        ];
        let deciding =
            Deciding::new(&record, Some(100_000.0), &[Stored { count: 10_000, cpu: None, largest: &largest }]);
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
        let second = |r: &mut Record, steal_ns, smi, foreign_ns| {
            r.quality.timeline.push(Second {
                start_ns: 3_000_000_000,
                length_ns: 1_000_000_000,
                cpu: None,
                steal_ns,
                smi,
                foreign_ns,
            });
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
            ("pinning", |r| r.quality.threads[0].migrations = Some(2)),
            ("clock", |r| r.quality.clock.drift_ppb = Some(-200_000.0)),
            ("outcome", |r| r.outcome = Outcome::Interrupted),
            ("memory", |r| r.quality.memory_unlocked = Some("EPERM".into())),
            ("page faults", |r| r.quality.threads[1].minor_faults = 1),
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
        assert_eq!(
            finding("smi", |r| {
                r.quality.smi = Some(1);
                second(r, 0, 1, 0)
            })
            .grade,
            Contaminated
        );
        assert_eq!(finding("foreign tasks", |r| second(r, 0, 0, 150_000)).grade, Contaminated);
        assert_eq!(finding("throttle", |r| r.quality.throttle.throttle_like = 5).grade, Contaminated);
    }

    /// Two causes that explain a failure only together must not claim it each for itself.
    #[test]
    fn causes_share_what_they_explain_together() {
        let both = |r: &mut Record| {
            r.quality.steal_ns = Some(10_000_000);
            let (steal_ns, foreign_ns) = (10_000_000, 40_000);
            let (start_ns, length_ns) = (3_000_000_000, 1_000_000_000);
            r.quality.timeline.push(Second { start_ns, length_ns, cpu: None, steal_ns, smi: 0, foreign_ns });
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

    #[test]
    fn the_names_are_distinct() {
        let names: std::collections::BTreeSet<_> = CHECKS.iter().map(|check| check.name).collect();
        assert_eq!(names.len(), CHECKS.len());
    }
}
