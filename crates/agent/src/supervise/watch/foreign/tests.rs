//! Which tasks belong to other programs, what a task sampling costs, and what counts of a task that is found late or demoted.

use super::*;
use latido_model::needs::{Need, skip};
use latido_sys::sched::{self, Policy};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::channel,
    },
    thread,
    time::Duration,
};

fn watched() -> Watched {
    Watched::nobody(Own {
        priority: Some(80),
        measuring: 70,
        program: Some("LATIDO_LOAD=7-2".into()),
        marks: vec!["LATIDO_LOAD=7-1".into()],
    })
}

/// A load of another latido is a program like any other. What measures has no owner.
#[test]
fn each_task_has_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let stat = |kernel: bool, parent: u32| {
        let flags = if kernel { 0x0020_8040 } else { 0x0040_0000 };
        let tail: Vec<String> = (10..=41).map(|n| n.to_string()).collect();
        let text = format!("9 (x) S {parent} 5 6 7 8 {flags} {}", tail.join(" "));
        fs::write(dir.path().join("stat"), text).unwrap();
        Stat::read(dir.path()).unwrap()
    };
    let owner = |pid, tid, stat: &Stat, environ: &str| {
        fs::write(dir.path().join("environ"), environ).unwrap();
        watched().owner(pid, tid, stat, dir.path())
    };
    let (program, kernel, helper) = (stat(false, 1), stat(true, 2), stat(false, 70));
    assert_eq!(owner(9, 9, &kernel, ""), Some(TaskOwner::Kernel));
    assert_eq!(owner(70, 71, &program, ""), None, "a measuring thread");
    assert_eq!(owner(72, 72, &helper, ""), None, "the other end of a switch between processes");
    assert_eq!(owner(70, 70, &program, ""), Some(TaskOwner::Latido), "the main thread looks on");
    assert_eq!(owner(std::process::id(), 3, &program, ""), Some(TaskOwner::Latido));
    assert_eq!(owner(9, 9, &program, "A=1\0LATIDO_LOAD=7-1\0"), Some(TaskOwner::Load));
    assert_eq!(owner(9, 9, &program, "A=1\0LATIDO_LOAD=8-1\0"), Some(TaskOwner::Program));
    assert_eq!(owner(9, 9, &program, "A=1\0LATIDO_LOAD=7-2\0"), None, "the program that measures");
    let orphan = stat(false, std::process::id());
    assert_eq!(owner(9, 9, &orphan, ""), Some(TaskOwner::Load), "a load's orphan that has ended");
    assert_eq!(owner(9, 9, &program, ""), Some(TaskOwner::Program));
}

/// Of a program above the probe, a stretch goes on while a more urgent task preempts it. Of an equal one, and of a kernel thread, latido
/// does not ask. After a change of its priority it counts anew, so that old preemptions are no new stretches.
#[test]
fn a_program_that_is_preempted_does_not_start_again() {
    let dir = tempfile::tempdir().unwrap();
    let state = std::cell::Cell::new("R");
    let stat = |priority: u32| {
        let numbers: Vec<String> = (4..=39).map(|n| n.to_string()).collect();
        let text = format!("9 (x) {} {} {priority} 1", state.get(), numbers.join(" "));
        fs::write(dir.path().join("stat"), text).unwrap();
        Stat::read(dir.path()).unwrap()
    };
    let preempted = |count: u64| {
        fs::write(dir.path().join("status"), format!("nonvoluntary_ctxt_switches:\t{count}\n")).unwrap();
    };
    let foreign = Foreign { owner: Some(TaskOwner::Program), ..Foreign::default() };
    let (place, told) = (dir.path().to_owned(), Told::at(0));
    let mut task = Task {
        dir: place,
        foreign,
        start_tick: 0,
        cpu_last: 0,
        ran_last: 0,
        times_last: 10,
        preempted_last: Some(4),
        slept_last: false,
        told,
    };
    let mut starts = |times, count, priority, owner| {
        preempted(count);
        task.foreign.owner = Some(owner);
        task.starts(&stat(priority), times, Some(80))
    };
    assert_eq!(starts(15, 7, 81, TaskOwner::Program), 2, "five times on a CPU, after three preemptions");
    assert_eq!(starts(20, 9, 80, TaskOwner::Program), 5, "of equal priority");
    assert_eq!(starts(25, 11, 81, TaskOwner::Program), 5, "above the probe again");
    assert_eq!(starts(30, 14, 81, TaskOwner::Program), 2);
    assert_eq!(starts(35, 19, 81, TaskOwner::Kernel), 5);
    assert_eq!(starts(36, 40, 81, TaskOwner::Program), 1, "the old preemptions are none of its new stretch");
    assert_eq!(starts(37, 42, 81, TaskOwner::Program), 0, "it only went on");
    state.set("S");
    assert_eq!(starts(38, 43, 81, TaskOwner::Program), 0, "it went on, and sleeps now");
    state.set("R");
    assert_eq!(starts(39, 44, 81, TaskOwner::Program), 1, "it began, although another task preempts it at this look");
    assert_eq!(starts(40, 45, 81, TaskOwner::Program), 0);
}

/// A task sampling that took 10 ms must not repeat within 50 s, nor within 1 s while the probe waits.
#[test]
fn the_census_keeps_within_its_budget() {
    let cpus = "0".parse().unwrap();
    for (part, age_s, due) in [(ORDINARY, 49, false), (ORDINARY, 51, true), (ALARMED, 0, false), (ALARMED, 2, true)] {
        let mut watched = watched();
        watched.census_cost = 10_000_000;
        watched.census_at -= age_s * 1_000_000_000;
        watched.census_within(&cpus, part);
        assert_eq!(!watched.others.is_empty(), due, "one part in {part} after {age_s} s");
    }
}

/// A thread of this process that runs at FIFO 1 until it is dropped.
struct Busy {
    tid: u32,
    goes_on: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Busy {
    /// Starts it. Returns `None` without the permission.
    fn start() -> Option<Self> {
        let (sender, started) = channel();
        let goes_on = Arc::new(AtomicBool::new(true));
        let on = Arc::clone(&goes_on);
        let thread = thread::spawn(move || {
            let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
            let granted = sched::set_policy(0, Policy::Fifo { prio: 1 }, false).is_ok();
            sender.send(granted.then_some(tid)).unwrap();
            while granted && on.load(Relaxed) {
                (0..10_000).for_each(|n| _ = std::hint::black_box(n));
                // Although it is real-time, it leaves most of the CPU to other tasks.
                thread::sleep(Duration::from_micros(100));
            }
        });
        let tid = started.recv().unwrap();
        Some(Self { tid: tid?, goes_on, thread: Some(thread) })
    }

    fn ran(&self) -> u64 {
        stat::on_cpu(Path::new(&format!("/proc/self/task/{}", self.tid))).unwrap().0
    }

    fn runs_on(&self) {
        let before = self.ran();
        while self.ran() < before + 1_000_000 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.goes_on.store(false, Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn all_cpus() -> CpuSet {
    crate::machine::own_cpus()
}

/// If a task started during the watch, all that it ran counts. If it was known before, only what it ran since the last task sampling
/// counts.
#[test]
fn the_life_before_the_census_that_finds_a_task_counts() {
    let Some(busy) = Busy::start() else {
        return skip("a task that is found late", Need::Realtime, "no right to real-time scheduling");
    };
    busy.runs_on();
    let ran = busy.ran();
    let found = |since_tick: u64, known: Option<u64>| {
        let mut watched = Watched { since_tick, census_at: 0, ..watched() };
        watched.own.priority = None;
        watched.others.extend(known.map(|ran| (busy.tid, ran)));
        watched.census(&all_cpus());
        watched.tasks[&busy.tid].ran_last
    };
    assert_eq!(found(0, None), 0, "it began after the start: all of it");
    assert!(found(u64::MAX, None) >= ran, "it was there before: nothing of what it ran until it was found");
    assert_eq!(found(u64::MAX, Some(7)), 7, "known from the census before: what it ran since");
}

#[test]
fn a_task_that_is_demoted_is_listed_with_what_it_ran_until_then() {
    let Some(busy) = Busy::start() else {
        return skip("a task that is demoted", Need::Realtime, "no right to real-time scheduling");
    };
    let mut watched = Watched { census_at: 0, ..watched() };
    watched.own.priority = None;
    watched.census(&all_cpus());
    watched.tasks.get_mut(&busy.tid).unwrap().foreign.ran_ns = 5;
    busy.runs_on();
    // This has the same effect as a demotion: it no longer outranks the probe.
    watched.own.priority = Some(2);
    watched.look(&all_cpus());
    for _ in 0..3 {
        busy.runs_on();
        watched.census(&all_cpus());
        watched.look(&all_cpus());
        let own: Vec<u64> = watched.seen().iter().filter(|one| one.tid == busy.tid).map(|one| one.ran_ns).collect();
        assert_eq!(own, [5], "once, and not for what it runs from there on");
        assert!(!watched.tasks.contains_key(&busy.tid));
    }
}
