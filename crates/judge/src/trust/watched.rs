//! What a watched program's threads have of the kernel. It is the program's own, whatever the cell asks of measuring threads.

use crate::{
    finding::Grade::{self, Note, Ok},
    span::{Span, spans},
    words,
};
use latido_model::record::{Standing, WatchedThread};

/// So many threads are named.
const NAMED: usize = 6;

/// The policies of the threads: a note where one is not real-time, may lose its memory, or changed meanwhile.
pub(super) fn policies(watched: &[WatchedThread]) -> (Grade, Vec<Span>) {
    let named = watched.iter().take(NAMED).map(thread);
    let more = watched.len().saturating_sub(NAMED);
    let rest = (more > 0).then(|| format!("{more} more"));
    let text = format!("the program's own: {}", named.chain(rest).collect::<Vec<_>>().join("; "));
    let steady = |one: &WatchedThread| {
        one.before.is_empty() && one.standing.locked_kib != Some(0) && one.held_back.is_none_or(|held| held.times == 0)
    };
    (if watched.iter().all(steady) { Ok } else { Note }, spans![text])
}

/// `worker: fifo 70, CPUs 0-1, nothing locked; before fifo 50`.
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
    let held = one.held_back.filter(|held| held.times > 0).map_or_else(String::new, |held| {
        let ns = words::value(held.ns as f64, "ns");
        format!(", its control group held back {} for its CPU quota, {ns} together", words::many(held.times, "time"))
    });
    format!("{} {policy}{cpus}{locked}{before}{held}", one.task)
}

/// What differs from the last standing.
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
    use latido_model::record::HeldBack;

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
        let held = WatchedThread { held_back: Some(HeldBack { times: 83, ns: 4_200_000_000 }), ..steady.clone() };
        let (grade, text) = policies(&[held]);
        let held = ", its control group held back 83 times for its CPU quota, 4.20 s together";
        assert!(grade == Note && plain(&text).replace('\u{a0}', " ").ends_with(held), "{text:?}");
        let changed =
            one("late", standing("other", "1", 0), vec![standing("fifo 50", "1", 0), standing("other", "0", 0)]);
        let (grade, text) = policies(&[steady, changed]);
        assert_eq!(grade, Note);
        assert!(plain(&text).ends_with("; late other, CPUs 1, no memory locked, before fifo 50, CPUs 0"), "{text:?}");
    }
}
