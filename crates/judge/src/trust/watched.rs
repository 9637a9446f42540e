//! The kernel's data on a watched program's threads. They are the program's own, whatever policy the cell requests for measuring threads.

use crate::{
    finding::Grade::{self, Note, Ok},
    span::{Span, spans},
    words,
};
use latido_model::record::{HeldBack, Standing, WatchedThread};

/// The most threads that the check names.
const NAMED: usize = 6;

/// Checks the policies of the threads: a note if the memory of one is not locked, if one changed its policy or CPUs meanwhile, or if its
/// CPU quota throttled one.
pub(super) fn policies(watched: &[WatchedThread]) -> (Grade, Vec<Span>) {
    let named = watched.iter().take(NAMED).map(thread);
    let more = watched.len().saturating_sub(NAMED);
    let rest = (more > 0).then(|| format!("{more} more")).into_iter().chain(watched.iter().find_map(held_back));
    let text = format!("the program's own: {}", named.chain(rest).collect::<Vec<_>>().join("; "));
    let steady =
        |one: &WatchedThread| one.before.is_empty() && one.standing.locked_kib != Some(0) && held_back(one).is_none();
    (if watched.iter().all(steady) { Ok } else { Note }, spans![text])
}

/// Returns `worker: fifo 70, CPUs 0-1, nothing locked; before fifo 50`.
fn thread(one: &WatchedThread) -> String {
    let Standing { policy, cpus, locked_kib } = &one.standing;
    let cpus = cpus.as_ref().map(|cpus| format!(", CPUs {cpus}")).unwrap_or_default();
    let locked = match locked_kib {
        Some(0) => ", no memory locked".into(),
        Some(kib) => format!(", {:.1} MiB locked", *kib as f64 / 1024.0),
        None => String::new(),
    };
    let before: Vec<String> = one.before.iter().map(before(&one.standing)).collect();
    let before = if before.is_empty() { String::new() } else { format!(", before {}", before.join(", ")) };
    format!("{} {policy}{cpus}{locked}{before}", one.task)
}

/// Says that the kernel throttled an ordinary thread's control group; a CPU quota does not affect real-time threads.
fn held_back(one: &WatchedThread) -> Option<String> {
    let is_ordinary = ["other", "batch", "idle"].iter().any(|by| one.standing.policy.starts_with(by));
    let held = one.held_back.filter(|held| held.times > 0 && is_ordinary)?;
    Some(quota(held, &format!("the control group of {}", one.task)))
}

/// Says how often the kernel throttled a control group for its CPU quota.
pub(super) fn quota(held: HeldBack, group: &str) -> String {
    let (times, ns) = (words::many(held.times, "time"), words::value(held.ns as f64, "ns"));
    format!("the kernel held back {group} {times} for its CPU quota, {ns} on all CPUs together")
}

/// Returns what differs from the last standing.
fn before(last: &Standing) -> impl Fn(&Standing) -> String {
    move |one| match &one.cpus {
        Some(cpus) if one.policy == last.policy => format!("CPUs {cpus}"),
        _ => one.policy.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::plain;

    fn standing(policy: &str, cpus: &str, locked_kib: u64) -> Standing {
        Standing { policy: policy.into(), cpus: cpus.parse().ok(), locked_kib: Some(locked_kib) }
    }

    #[test]
    fn a_program_is_told_as_the_kernel_has_it() {
        let one = |task: &str, standing, before| WatchedThread {
            task: task.into(),
            tid: 1,
            standing,
            before,
            held_back: None,
        };
        let steady = one("worker", standing("fifo 70", "0-1", 2048), Vec::new());
        let (grade, text) = policies(std::slice::from_ref(&steady));
        assert_eq!((grade, plain(&text).as_str()), (Ok, "the program's own: worker fifo 70, CPUs 0,1, 2.0 MiB locked"));
        let held = |standing| {
            let held_back = Some(HeldBack { times: 83, ns: 4_200_000_000 });
            let (grade, text) = policies(&[WatchedThread { held_back, ..one("logger", standing, Vec::new()) }]);
            (grade, plain(&text).replace('\u{a0}', " "))
        };
        let (grade, text) = held(standing("other", "1", 64));
        let told =
            "the kernel held back the control group of logger 83 times for its CPU quota, 4.20 s on all CPUs together";
        assert!(grade == Note && text.ends_with(told), "{text}");
        assert_eq!(held(standing("fifo 70", "1", 64)).0, Ok, "a quota holds back no real-time thread");
        let changed =
            one("late", standing("other", "1", 0), vec![standing("fifo 50", "1", 0), standing("other", "0", 0)]);
        let (grade, text) = policies(&[steady, changed]);
        assert_eq!(grade, Note);
        assert!(plain(&text).ends_with("; late other, CPUs 1, no memory locked, before fifo 50, CPUs 0"), "{text:?}");
    }
}
