//! The tables of a trace.

use super::{Analysis, Kind, Row, TaskRow};
use crate::tree::{Datum, Head, Sheet};

/// The most system calls, tasks and owners of a CPU that people see; programs receive all.
const SHOWN: usize = 12;

impl Analysis {
    /// Returns its tables in the order of display: with `all` in full, else some of them with at most 12 rows.
    pub fn sheets(&self, all: bool) -> Vec<Sheet> {
        let most = if all { usize::MAX } else { SHOWN };
        let kinds = [
            (Kind::Scheduling, "Scheduling latency: from the wake-up to the CPU", "class"),
            (Kind::Preempted, "Waiting after preemption", "class"),
            (Kind::Off, "Interrupts and preemption off", "what"),
            (Kind::Interrupt, "Hard interrupts: how long each handler ran", "interrupt"),
            (Kind::SoftInterrupt, "Soft interrupts: how long each ran", "soft interrupt"),
            (Kind::SoftDelay, "Soft interrupts: from being raised to their start", "soft interrupt"),
            (Kind::SystemCall, "System calls: from enter to exit", "call"),
        ];
        let latencies = kinds.into_iter().filter_map(|(kind, title, first)| self.latencies(kind, title, first, most));
        let told = self.told.iter().flat_map(|told| told.sheets(most));
        told.chain(latencies).chain(self.tasks_sheet(most)).chain(self.cpus_sheet(most)).collect()
    }

    fn latencies(&self, kind: Kind, title: &str, first: &str, most: usize) -> Option<Sheet> {
        let of: Vec<&Row> = self.rows.iter().filter(|row| row.kind == kind).collect();
        if of.is_empty() {
            return None;
        }
        let mut head: Vec<Head> = vec![first.into(), "count".into()];
        head.extend([
            Head::from("min").spare(3),
            Head::from("median"),
            Head::from("mean"),
            Head::from("sd").spare(2),
            Head::from("p99"),
            Head::from("p99.9").spare(1),
            Head::from("max"),
        ]);
        let blocked = kind == Kind::SystemCall;
        if blocked {
            head.push(Head::from("asleep, mean").spare(1));
            head.push(Head::from("waiting, mean").spare(2));
            head.push(Head::from("left its CPU").spare(3));
        }
        // Interrupts belong to no task.
        let whose = of.iter().any(|row| row.max_of.is_some());
        if whose {
            head.push(Head::from("whose").spare(4));
        }
        let quantile = |value: Option<u64>| value.map_or(Datum::TooFew, |ns| Datum::Value(ns as f64));
        let row = |row: &&Row| {
            let mut cells = vec![Datum::Text(row.name.clone()), Datum::Count(row.count)];
            cells.extend([Datum::Value(row.min_ns as f64), Datum::Value(row.p50_ns as f64), Datum::Value(row.mean_ns)]);
            cells.extend([Datum::value(row.sd_ns), quantile(row.p99_ns), quantile(row.p999_ns)]);
            cells.push(Datum::Value(row.max_ns as f64));
            if blocked {
                let mean = |ns: Option<u64>| Datum::value(ns.map(|ns| ns as f64 / row.count as f64));
                cells.extend([mean(row.blocked_ns), mean(row.waited_ns)]);
                cells.push(row.interrupted.map_or(Datum::Absent, Datum::Count));
            }
            if whose {
                cells.push(Datum::Text(row.max_of.clone().unwrap_or_default()));
            }
            cells
        };
        // People read a table by rows: a rare huge value does not change the unit.
        let typical: Vec<f64> = of.iter().map(|row| row.mean_ns).collect();
        let rows = of.iter().take(most).map(row).collect();
        Some(Sheet::new(title.into(), head, rows, "ns", &typical).remark(left_out(of.len(), most, "calls")))
    }

    fn tasks_sheet(&self, most: usize) -> Option<Sheet> {
        (!self.tasks.is_empty()).then(|| {
            let head: Vec<Head> = vec![
                "task".into(),
                "wake-ups".into(),
                "mean wait".into(),
                "longest wait".into(),
                Head::from("preempted").spare(1),
                Head::from("held up").spare(1),
                "ran".into(),
            ];
            let row = |task: &TaskRow| {
                vec![
                    Datum::Text(task.name.clone()),
                    Datum::Count(task.woken),
                    Datum::value(task.mean_wait_ns),
                    Datum::Value(task.longest_wait_ns as f64),
                    Datum::Count(task.preempted),
                    Datum::Value(task.held_up_ns as f64),
                    Datum::Value(task.ran_ns as f64),
                ]
            };
            let typical: Vec<f64> = self.tasks.iter().map(|task| task.longest_wait_ns as f64).collect();
            let rows = self.tasks.iter().take(most).map(row).collect();
            let title = "Tasks by their longest wait after a wake-up";
            Sheet::new(title.into(), head, rows, "ns", &typical).remark(left_out(self.tasks.len(), most, "tasks"))
        })
    }

    fn cpus_sheet(&self, most: usize) -> Option<Sheet> {
        (!self.cpus.is_empty()).then(|| {
            let head: Vec<Head> = vec![
                "what ran".into(),
                "CPU".into(),
                "share".into(),
                "time".into(),
                "pieces".into(),
                "longest piece".into(),
            ];
            let rows: Vec<Vec<Datum>> = self
                .cpus
                .iter()
                .flat_map(|cpu| {
                    cpu.owners.iter().take(most).map(|(name, had)| {
                        vec![
                            Datum::Text(name.clone()),
                            Datum::Count(u64::from(cpu.cpu)),
                            Datum::Share(had.share),
                            Datum::Value(had.ns as f64),
                            Datum::Count(had.pieces),
                            Datum::Value(had.longest_ns as f64),
                        ]
                    })
                })
                .collect();
            let typical: Vec<f64> =
                self.cpus.iter().flat_map(|cpu| cpu.owners.first()).map(|(_, had)| had.ns as f64).collect();
            Sheet::new("What ran on each CPU, the innermost counts".into(), head, rows, "ns", &typical)
        })
    }
}

pub(super) fn left_out(all: usize, most: usize, what: &str) -> String {
    match all.checked_sub(most) {
        Some(more) if more > 0 => format!("; {more} more {what} in --json and --csv"),
        _ => String::new(),
    }
}
