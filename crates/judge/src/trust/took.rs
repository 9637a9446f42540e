//! The checks of what took time from a measurement: other tasks, the hypervisor, the firmware, the kernel's own budgets.

use super::checks::{Graded, count, note_if, ok, unknown};
use crate::{
    cause::Cause,
    deciding::Deciding,
    finding::Grade::{Contaminated, Note, Ok},
    span::{Span, spans},
};
use latido_model::record::{Foreign, Record, Second, TaskOwner};
use std::collections::BTreeMap;

/// Grades a total: contaminated if it excuses a failure, alone or with other causes; a note otherwise.
fn weighed(total: u64, state: Vec<Span>, cause: Cause, deciding: &Deciding) -> Graded {
    if total == 0 {
        return (Ok, state);
    }
    if !deciding.blames(cause) {
        return (Note, state);
    }
    let others: Vec<&str> = deciding.blamed().filter(|other| *other != cause).map(Cause::name).collect();
    // Stolen time is only known to a tick and may have been less, and tasks that ran in a sample's second may not have delayed it: only a
    // trace shows what had the CPU.
    let traced = cause == Cause::Foreign && deciding.is_shown_foreign();
    let verb = if traced { "explains" } else { "may explain" };
    let with = if others.is_empty() { String::new() } else { format!("together with {} ", others.join(" and ")) };
    (Contaminated, [state, spans![format!(", which {with}{verb} the samples that fail")]].concat())
}

/// Grades a total of the system under test itself: a note if `noted`, or if it made samples fail. It excuses nothing.
fn own(noted: bool, state: Vec<Span>, cause: Cause, deciding: &Deciding) -> Graded {
    match deciding.caused_by(cause) {
        0 => note_if(noted, state),
        caused => {
            let samples = count(caused, "sample");
            (Note, [state, spans![", the cause of "], samples, spans![" above the limit"]].concat())
        }
    }
}

/// Returns `2 tasks at or above the thread's priority, mostly hog (fifo 90, CPU 1) for 1.50 s`. Short-lived tasks with the same name and
/// policy count as one: `17 tasks at or above the thread's priority, mostly short (16 of them, fifo 80, CPU 1) for 136 ms`.
fn most_of(tasks: &[&Foreign], noun: &str) -> Option<Vec<Span>> {
    let mut alike: BTreeMap<(&str, &str), Vec<&Foreign>> = BTreeMap::new();
    for task in tasks {
        alike.entry((&task.comm, &task.policy)).or_default().push(task);
    }
    let ran = |group: &[&Foreign]| group.iter().map(|task| task.ran_ns).fold(0, u64::saturating_add);
    let ((comm, policy), group) = alike.into_iter().max_by_key(|(_, group)| ran(group))?;
    let worst = group.iter().max_by_key(|task| task.ran_ns)?;
    let many = if group.len() > 1 { format!("{} of them, ", group.len()) } else { String::new() };
    let most = format!(" at or above the thread's priority, mostly {comm} ({many}{policy}, ");
    let cpu = Span::Where(format!("CPU {}", worst.cpu));
    let own = spans![most, cpu, ") for ", Span::time(ran(&group))];
    Some([count(tasks.len() as u64, noun), own].concat())
}

/// Returns the tasks of some owners, and how long they ran; a task without a recorded owner counts as a program.
fn listed(record: &Record, of: impl Fn(TaskOwner) -> bool) -> (Vec<&Foreign>, u64) {
    let tasks: Vec<&Foreign> =
        record.quality.foreign.iter().filter(|task| of(task.owner.unwrap_or(TaskOwner::Program))).collect();
    let total = tasks.iter().map(|task| task.ran_ns).fold(0, u64::saturating_add);
    (tasks, total)
}

/// Checks the tasks that latido saw; `run_delay` covers the rest of the waiting.
pub(super) fn foreign(record: &Record, deciding: &Deciding) -> Graded {
    let (tasks, total) = listed(record, TaskOwner::excuses);
    let seconds: u64 = record.quality.timeline.iter().map(Second::programs_ns).fold(0, u64::saturating_add);
    let shown = deciding.program().map_or(0, |(_, samples)| samples);
    let text = match most_of(&tasks, "task") {
        Some(text) => text,
        None if seconds > 0 => spans!["for ", Span::time(seconds)],
        None if shown > 0 => spans!["none seen in /proc"],
        None if deciding.is_shown_foreign() => spans!["none seen in /proc, but in the trace"],
        None => spans!["none seen"],
    };
    let named = deciding.program().map(|(program, samples)| {
        let had = format!("; the trace shows that {program} had the CPU for most of ");
        [spans![had], count(samples, "late sample")].concat()
    });
    let text = [text, named.unwrap_or_default()].concat();
    weighed(
        total.max(seconds).max(tasks.len() as u64).max(shown).max(u64::from(deciding.is_shown_foreign())),
        text,
        Cause::Foreign,
        deciding,
    )
}

pub(super) fn steal(record: &Record, deciding: &Deciding) -> Graded {
    let Some(steal) = record.quality.steal_ns else { return unknown() };
    let (grade, state) =
        weighed(steal, spans![Span::time(steal), " of the measured CPUs' time stolen"], Cause::Steal, deciding);
    let ticks = if grade == Contaminated { spans![" (the kernel counts it in ticks of 10 ms)"] } else { Vec::new() };
    (grade, [state, ticks].concat())
}

/// Kernel threads are part of the measured system: below this share of the time, in percent, they give no remark.
const MUCH: u64 = 1;

pub(super) fn kernel_threads(record: &Record, deciding: &Deciding) -> Graded {
    let (tasks, total) = listed(record, |owner| owner == TaskOwner::Kernel);
    let much = total.saturating_mul(100) > record.elapsed_ns.saturating_mul(MUCH);
    own(much, most_of(&tasks, "thread").unwrap_or_else(|| spans!["none seen"]), Cause::Kernel, deciding)
}

pub(super) fn smi(record: &Record, deciding: &Deciding) -> Graded {
    let Some(smi) = record.quality.smi else { return unknown() };
    match deciding.caused_by(Cause::Smi) {
        0 => note_if(smi > 0, count(smi, "management interrupt")),
        // latido cannot measure how long one takes: it only knows that one came near the sample.
        near => {
            let samples = count(near, "sample");
            let told = spans![", in the seconds of "];
            (Note, [count(smi, "management interrupt"), told, samples, spans![" above the limit"]].concat())
        }
    }
}

pub(super) fn throttle(record: &Record, deciding: &Deciding) -> Graded {
    let throttle = &record.quality.throttle;
    let Some(waits) = throttle.throttled else {
        // Other probes sleep and leave the budget unused, unless competing tasks use it up: then the check of the delay judges it.
        let classified = record.series.iter().any(|series| series.facts.contains_key("preempted"));
        return if classified { unknown() } else { ok("the probe does not look for it") };
    };
    let long = throttle.throttled_ns.filter(|_| waits > 0);
    let long = long.map(|ns| spans![" that match the throttle settings, together ", Span::time(ns)]);
    let (grade, state) =
        own(waits > 0, [count(waits, "wait"), long.unwrap_or_default()].concat(), Cause::Throttle, deciding);
    match deciding.perhaps_server() {
        0 => (grade, state),
        perhaps => {
            let told =
                [spans!["; "], count(perhaps, "sample"), spans![" above the limit could come from the fair server"]];
            (Note, [state, told.concat()].concat())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::finding;
    use crate::finding::Grade::{Note, Ok};
    use latido_model::record::{Foreign, Record, Second, TaskOwner};

    /// If two causes explain a failure only together, neither check may claim it alone.
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
            "for 40.0 µs, which together with steal may explain the samples that fail"
        );
        assert_eq!(
            finding("steal", both).text(),
            "10.0 ms of the measured CPUs' time stolen, which together with foreign tasks may explain the samples that fail (the kernel counts it in ticks of 10 ms)"
        );
    }

    /// Sixteen short-lived processes of one program count as one competing task, ahead of another task that ran longer than each of them.
    #[test]
    fn tasks_of_one_name_count_together() {
        let task = |comm: &str, tid, ran_ns| Foreign {
            comm: comm.into(),
            tid,
            policy: "fifo 90".into(),
            cpu: 1,
            ran_ns,
            owner: Some(TaskOwner::Program),
        };
        let found = finding("foreign tasks", |r| {
            r.quality.foreign.push(task("hog", 7, 20_000_000));
            r.quality.foreign.extend((30..46).map(|tid| task("short", tid, 8_500_000)));
        });
        let told = "17 tasks at or above the thread's priority, mostly short (16 of them, fifo 90, CPU 1) for 136 ms";
        assert_eq!(found.text(), told);
    }

    /// The normal work of kernel threads gives no remark; a program at the thread's own priority does.
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
            "1 thread at or above the thread's priority, mostly migration/1 (fifo 99, CPU 1) for 12.0 µs"
        );
        assert_eq!(with("foreign tasks", TaskOwner::Kernel, 12_000).grade, Ok);
        assert_eq!(with("foreign tasks", TaskOwner::Load, 5_000_000_000).grade, Ok);
        assert_eq!(with("kernel threads", TaskOwner::Kernel, 200_000_000).grade, Note);
        assert_eq!(with("foreign tasks", TaskOwner::Program, 12_000).grade, Note);
        assert_eq!(with("foreign tasks", TaskOwner::Latido, 12_000).grade, Note);
    }
}
