//! `run delay`: how long a real-time thread waited for its CPU, and which known tasks explain that.

use super::checks::{Graded, note_if, ok, throttle_settings, unknown};
use crate::{
    deciding::Deciding,
    finding::Grade::{Note, Ok},
    span::{Span, spans},
};
use latido_model::record::{Record, Second, ThreadEvidence, WAKE_NS, Wait};

/// The shortest continuous wait that `run delay` mentions, in ns.
const LONG_NS: u64 = 1_000_000;

/// Notes the thread with the most unexplained waiting.
pub(super) fn run_delay(record: &Record, deciding: &Deciding) -> Graded {
    if is_shared(record) {
        return ok("shared: any task may run before it");
    }
    let Some((open, delay, thread)) = most(record) else { return unknown() };
    let whose = thread.cpu.map_or_else(Vec::new, |cpu| spans![" on ", Span::Where(format!("CPU {cpu}"))]);
    let waited = [spans!["waited for ", Span::time(delay)], whose].concat();
    if !is_much(open, record) {
        return match longest(record) {
            Some((open, wait)) => {
                let within = spans![
                    " of waiting within ",
                    Span::time(wait.length_ns),
                    " is not explained by the tasks that latido saw"
                ];
                note_if(true, [spans![Span::time(open)], within].concat())
            }
            // A figure in each of many cells would add nothing.
            None => ok("explained by the tasks that latido saw and 10 µs per wake-up"),
        };
    }
    let nobody = match open < delay {
        true => spans![", of which ", Span::time(open), " is not explained by the tasks that latido saw"],
        false => spans![", none of it explained by the tasks that latido saw"],
    };
    let limited = throttle_settings(record, deciding).0 == Note;
    let perhaps =
        if limited { spans!["; the kernel's limits may explain some of it (throttle settings)"] } else { Vec::new() };
    note_if(true, [waited, nobody, perhaps].concat())
}

/// Whether tasks that the check does not count as disturbances may run before the measuring threads. This uses the granted policy, not the
/// requested one.
fn is_shared(record: &Record) -> bool {
    let is_shared = |thread: &ThreadEvidence| ["other", "batch", "idle"].iter().any(|by| thread.policy.starts_with(by));
    // A helper has a lower priority than the measured thread: its waiting is part of the measurement.
    let measuring = || record.quality.threads.iter().filter(|thread| !thread.helper);
    record.cell.scheduling.shares_time() || (measuring().next().is_some() && measuring().all(is_shared))
}

/// Returns the thread with the most unexplained waiting, with that time and all of its waiting, ns.
fn most(record: &Record) -> Option<(u64, u64, &ThreadEvidence)> {
    // latido knows the other tasks only since the end of the warm-up. What the thread waited for after the last sample does not belong to
    // the measurement.
    let counted = |thread: &ThreadEvidence| {
        let since_warmup = thread.run_delay_ns?.saturating_sub(thread.warmup_delay_ns.unwrap_or(0));
        Some(since_warmup.min(record.elapsed_ns))
    };
    let measuring = record.quality.threads.iter().filter(|thread| !thread.helper);
    let told = measuring.filter_map(|thread| Some((thread, counted(thread)?)));
    let weighed = told.map(|(thread, delay)| (delay.saturating_sub(explained(record, thread)), delay, thread));
    weighed.max_by_key(|(open, delay, _)| (*open, *delay))
}

/// Returns, of the threads' longest waits between two checks, the one with the most unexplained time, and that time, ns. A competing task
/// that runs once in several seconds disappears in the sum over all wake-ups, but not in one stretch. A wait counts if it is at least half
/// as long as the worst sample of the thread, and at least a hundredth of its stretch.
fn longest(record: &Record) -> Option<(u64, Wait)> {
    let threads = &record.quality.threads;
    // Threads that share a CPU wait for each other.
    let is_alone = |thread: &&ThreadEvidence| {
        let here = threads.iter().filter(|other| other.cpu.is_none() || other.cpu == thread.cpu).count();
        thread.cpu.is_some() && !thread.helper && here == 1
    };
    let open = threads.iter().filter(is_alone).filter_map(|thread| {
        let wait = thread.longest_wait?;
        let meets = |second: &&Second| {
            second.cpu == thread.cpu
                && second.start_ns < wait.start_ns.saturating_add(wait.length_ns)
                && wait.start_ns < second.start_ns.saturating_add(second.length_ns)
        };
        let seconds = record.quality.timeline.iter().filter(meets);
        let seen = seconds.map(|second| {
            let most = second.most();
            [most.steal_ns, most.foreign_ns, most.kernel_ns, second.load_ns].into_iter().fold(0, u64::saturating_add)
        });
        let explained = seen.fold(0, u64::saturating_add);
        let own = || record.series.iter().filter(|series| series.thread == thread.thread);
        // Where the kernel throttled the thread, the longest wait may come from that.
        let is_limited = own().any(|series| series.facts.get("throttled_ns").is_some_and(|ns| *ns > 0));
        let worst_ns = own().filter_map(|series| u64::try_from(series.max?).ok()).max().unwrap_or(0);
        let open = wait.beyond_waking_ns().saturating_sub(explained);
        let is_long = open >= LONG_NS && open.saturating_mul(100) >= wait.length_ns;
        let is_worst = worst_ns >= LONG_NS && open.saturating_mul(2) >= worst_ns;
        (is_long && is_worst && !is_limited).then_some((open, wait))
    });
    open.max_by_key(|(open, _)| *open)
}

/// `foreign tasks`: the tasks that latido saw. If it saw none although a real-time thread waited for something, "none" would be wrong:
/// programs that live for a few ms start and end between two checks.
pub(super) fn foreign(record: &Record, deciding: &Deciding) -> Graded {
    let (grade, state) = super::took::foreign(record, deciding);
    if is_shared(record) || grade != Ok {
        return (grade, state);
    }
    let all = most(record).map(|(open, ..)| open).filter(|open| is_much(*open, record));
    match all.or_else(|| longest(record).map(|(open, _)| open)) {
        Some(open) => (Note, spans!["none seen, but ", Span::time(open), " of waiting is unexplained (run delay)"]),
        None => (grade, state),
    }
}

/// Whether the waiting is long enough for a remark; a shorter wait would give a remark in each of many cells.
fn is_much(open: u64, record: &Record) -> bool {
    open > 0 && open.saturating_mul(100) >= record.elapsed_ns
}

/// Returns the time that others are known to have taken from a thread: listed tasks, other measuring threads of its CPU, the hypervisor,
/// the kernel's limits, and the time from waking to running.
fn explained(record: &Record, thread: &ThreadEvidence) -> u64 {
    let quality = &record.quality;
    let here = |cpu: Option<u32>| thread.cpu.is_none() || cpu.is_none() || cpu == thread.cpu;
    let listed = quality.foreign.iter().filter(|task| here(Some(task.cpu))).map(|task| task.ran_ns);
    let others = quality.threads.iter().filter(|other| other.thread != thread.thread && here(other.cpu));
    let wakes = thread.voluntary_switches.saturating_mul(WAKE_NS);
    // Only the thread's own losses count: what the hypervisor took from another CPU, or throttling took from another thread, explains
    // nothing here.
    let own = record.series.iter().filter(|series| series.thread == thread.thread);
    let limits = own.filter_map(|series| series.facts.get("throttled_ns")).map(|ns| ns.unsigned_abs());
    let limits = limits.fold(0, u64::saturating_add);
    let seconds = quality.timeline.iter().filter(|second| second.cpu.is_some() && here(second.cpu));
    let stolen = seconds.map(|second| second.steal_ns).fold(0, u64::saturating_add);
    listed.chain(others.map(|other| other.cpu_ns)).chain([stolen, limits, wakes]).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Grade;
    use latido_model::{
        record::{Foreign, Second, TaskOwner},
        sample,
    };

    /// Programs that live for 8 ms ran for 1.5 s in total: latido listed none, but "none seen" alone would be wrong.
    #[test]
    fn who_was_not_seen_is_not_none() {
        let told = |delay: u64| {
            let mut record = sample::record();
            record.quality.foreign.clear();
            record.quality.threads[1].run_delay_ns = Some(delay);
            let (grade, state) = foreign(&record, &Deciding::default());
            (grade, crate::span::plain(&state))
        };
        let (grade, said) = told(1_500_000_000);
        assert!(grade == Note && said.starts_with("none seen, but ") && said.contains("unexplained"), "{said}");
        assert_eq!(told(10_000), (Ok, "none seen".into()));
    }

    /// A wait of 45 ms once in five seconds is less than what all wake-ups together may wait, but it is long for one stretch.
    #[test]
    fn a_rival_that_comes_seldom_is_not_none() {
        let told = |change: &dyn Fn(&mut Record)| {
            let mut record = sample::record();
            record.quality.foreign.clear();
            record.quality.timeline.clear();
            let wait = Wait { start_ns: 500_000_000, length_ns: 101_000_000, waited_ns: 45_000_000, runs: 100 };
            record.quality.threads[1].longest_wait = Some(wait);
            record.series.iter_mut().for_each(|series| series.max = Some(45_000_000));
            change(&mut record);
            let said = |(grade, state): Graded| (grade, crate::span::plain(&state));
            (said(foreign(&record, &Deciding::default())), said(run_delay(&record, &Deciding::default())))
        };
        let (others, delay) = told(&|_| {});
        assert_eq!(others, (Note, "none seen, but 44.0 ms of waiting is unexplained (run delay)".into()));
        assert_eq!(
            delay,
            (Note, "44.0 ms of waiting within 101 ms is not explained by the tasks that latido saw".into())
        );
        let none = told(&|record| record.quality.threads[1].longest_wait.as_mut().unwrap().waited_ns = 1_900_000);
        assert_eq!((none.0.0, none.1.0), (Ok, Ok), "100 wake-ups explain a millisecond");
        let short = told(&|record| record.series.iter_mut().for_each(|series| series.max = Some(900_000)));
        assert_eq!((short.0.0, short.1.0), (Ok, Ok), "no sample waited so long: these are many short waits");
        let limited = told(&|record| {
            record.series.iter_mut().for_each(|series| {
                series.facts.insert("throttled_ns".into(), 50_000_000);
            });
        });
        assert_eq!((limited.0.0, limited.1.0), (Ok, Ok), "the kernel's limits made it");
        let long = told(&|record| record.series.iter_mut().for_each(|series| series.max = Some(89_000_000)));
        assert_eq!((long.0.0, long.1.0), (Ok, Ok), "the worst sample is another matter");
        let second =
            |cpu| Second { cpu: Some(cpu), length_ns: 1_000_000_000, steal_ns: 45_000_000, ..Second::default() };
        assert_eq!(told(&|record| record.quality.timeline = vec![second(1)]).1.0, Ok, "the hypervisor had it");
        assert_eq!(told(&|record| record.quality.timeline = vec![second(0)]).1.0, Note, "on another CPU");
        let pair = told(&|record| record.quality.threads[0].cpu = Some(1));
        assert_eq!((pair.0.0, pair.1.0), (Ok, Ok), "its partner had it");
    }

    fn judged(change: impl Fn(&mut Record)) -> (Grade, String) {
        let mut record = sample::record();
        record.quality.threads[1].run_delay_ns = Some(1_500_000_000);
        change(&mut record);
        let (grade, state) = run_delay(&record, &Deciding::default());
        (grade, crate::span::plain(&state))
    }

    fn task(owner: TaskOwner, cpu: u32, ran_ns: u64) -> Foreign {
        Foreign { comm: "hog".into(), tid: 1, policy: "fifo 90".into(), cpu, ran_ns, owner: Some(owner) }
    }

    /// A task that latido did not see had half of three seconds: the finding must give the figure.
    #[test]
    fn a_delay_that_no_listed_task_explains_is_a_finding() {
        let expected = "waited for 1.50 s on CPU 1, of which 1.40 s is not explained by the tasks that latido saw";
        assert_eq!(judged(|_| {}), (Note, expected.into()), "10 000 wake-ups explain 100 ms");
        let busy = |r: &mut Record| r.quality.threads[1].voluntary_switches = 0;
        assert_eq!(judged(busy).1, "waited for 1.50 s on CPU 1, none of it explained by the tasks that latido saw");
        let limited = judged(|r| r.quality.throttle.rt_runtime_us = Some(950_000));
        assert_eq!(limited.1, format!("{expected}; the kernel's limits may explain some of it (throttle settings)"));
        for owner in [TaskOwner::Program, TaskOwner::Latido, TaskOwner::Load, TaskOwner::Kernel] {
            let seen = judged(|r| r.quality.foreign.push(task(owner, 1, 1_400_000_000)));
            assert_eq!(seen, (Ok, "explained by the tasks that latido saw and 10 µs per wake-up".into()), "{owner:?}");
        }
        let elsewhere = judged(|r| r.quality.foreign.push(task(TaskOwner::Program, 0, 1_400_000_000)));
        assert_eq!(elsewhere.0, Note, "it ran on another CPU");
        // Thread 1 is on CPU 1: time taken from another thread or CPU explains nothing.
        let stolen = |cpu| {
            let second = Second { cpu: Some(cpu), steal_ns: 1_400_000_000, ..Second::default() };
            judged(|r| r.quality.timeline = vec![second]).0
        };
        assert_eq!((stolen(1), stolen(0)), (Ok, Note));
        let throttled = |thread: u32| {
            judged(|r| {
                let series = r.series.iter_mut().find(|series| series.thread == thread).unwrap();
                series.facts.insert("throttled_ns".into(), 1_400_000_000);
            })
        };
        assert_eq!((throttled(1).0, throttled(0).0), (Ok, Note));
    }

    /// Threads that share a CPU by the probe's design wait for each other.
    #[test]
    fn threads_of_one_cpu_wait_for_one_another() {
        let beside = |cpu| {
            judged(|r| {
                r.quality.threads[0].cpu = Some(cpu);
                r.quality.threads[0].cpu_ns = 1_400_000_000;
            })
        };
        assert_eq!(beside(1).0, Ok);
        assert_eq!(beside(0).0, Note);
    }

    #[test]
    fn what_is_not_told_is_unknown_and_time_sharing_waits_by_nature() {
        let silent = judged(|r| r.quality.threads.iter_mut().for_each(|thread| thread.run_delay_ns = None));
        assert_eq!(silent, (Grade::Unknown, "not measured".into()));
        assert_eq!(judged(|r| r.cell.scheduling = latido_model::cell::Scheduling::OTHER).0, Ok);
        assert_eq!(judged(|r| r.quality.threads[1].helper = true).0, Ok);
        let refused = judged(|r| r.quality.threads.iter_mut().for_each(|thread| thread.policy = "other".into()));
        assert_eq!(refused, (Ok, "shared: any task may run before it".into()));
        let before = judged(|r| r.quality.threads[1].warmup_delay_ns = Some(1_450_000_000));
        assert_eq!(before.0, Ok, "while nothing was counted");
    }
}
