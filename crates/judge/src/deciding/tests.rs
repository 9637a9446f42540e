//! Tests what excuses a sample, what names its cause, and what does neither.

use super::*;
use latido_model::{
    cell::Scheduling,
    machine::FairBudget,
    record::{Second, Slots},
    sample,
};

fn at(second: u64, value: i64, class: Class) -> Sample {
    Sample { value, at_ns: second * 1_000_000_000 + 500_000_000, class }
}

fn second(start: u64, steal_ns: u64, foreign_ns: u64) -> Second {
    let (start_ns, length_ns) = (start * 1_000_000_000, 1_000_000_000);
    Second { start_ns, length_ns, steal_ns, foreign_ns, ..Second::default() }
}

/// One task of 30 ms delayed four threads of a CPU: it excuses one sample of each thread, but not two samples of one thread.
#[test]
fn what_takes_a_cpu_excuses_each_of_its_threads() {
    let mut record = sample::record();
    record.quality.timeline = vec![second(3, 0, 30_000_000)];
    let (once, twice) =
        ([at(3, 25_000_000, Class::Unknown)], [at(3, 25_000_000, Class::Unknown), at(3, 25_000_000, Class::Unknown)]);
    let stored = |thread, largest| Stored { thread, count: 1, cpu: None, largest };
    let four: Vec<Stored<'_>> = (0..4).map(|thread| stored(thread, &once[..])).collect();
    assert!(Deciding::new(&record, Some(100_000.0), &four).is_foreign());
    let spent = [Stored { count: 2, ..stored(0, &twice[..]) }];
    assert!(!Deciding::new(&record, Some(100_000.0), &spent).is_foreign());
}

fn weigh(timeline: Vec<Second>, largest: &[Sample], count: u64) -> Deciding {
    let mut record = sample::record();
    record.quality.timeline = timeline;
    Deciding::new(&record, Some(100_000.0), &[Stored { count, thread: 0, cpu: None, largest }])
}

#[test]
fn a_failure_is_foreign_only_if_every_sample_is() {
    let small = at(5, 2_000, Class::Unknown);
    let spikes = [at(3, 5_000_000, Class::Unknown), at(7, 200_000, Class::Unknown), small.clone()];
    let both = weigh(vec![second(3, 10_000_000, 0), second(7, 0, 150_000)], &spikes, 100);
    assert!(both.is_foreign() && both.blames(Cause::Steal) && both.blames(Cause::Foreign));
    let one = weigh(vec![second(3, 10_000_000, 0)], &spikes, 100);
    assert!(!one.is_foreign() && !one.blames(Cause::Steal));
    assert_eq!(one.count, 2);
}

/// Stolen time excuses exactly as much as was counted: 10 ms of steal in a second do not excuse 29 ms.
#[test]
fn foreign_time_excuses_at_most_its_own_length() {
    let spikes = [at(3, 29_000_000, Class::Unknown), at(5, 2_000, Class::Unknown)];
    assert!(!weigh(vec![second(3, 10_000_000, 0)], &spikes, 9).is_foreign());
    assert!(!weigh(vec![second(3, 20_000_000, 0)], &spikes, 9).is_foreign());
    assert!(weigh(vec![second(3, 30_000_000, 0)], &spikes, 9).is_foreign());
    let limit_20_ms = |steal_ns| {
        let mut record = sample::record();
        record.quality.timeline = vec![second(3, steal_ns, 0)];
        let stored = [Stored {
            count: 9,
            thread: 0,
            cpu: None,
            largest: &[at(3, 32_000_000, Class::Unknown), at(5, 2_000, Class::Unknown)],
        }];
        Deciding::new(&record, Some(20e6), &stored).is_foreign()
    };
    assert!(!limit_20_ms(10_000_000) && limit_20_ms(20_000_000));
    // Two spikes share one second: together they are longer than the stolen time.
    let two = [at(3, 14_000_000, Class::Unknown), at(3, 13_000_000, Class::Unknown), at(5, 2_000, Class::Unknown)];
    assert!(!weigh(vec![second(3, 20_000_000, 0)], &two, 9).is_foreign());
}

/// Another program has a burst of 5.6 ms, and a load of the cell can occupy the CPU for as long by itself. One burst does not excuse two
/// samples of 5.35 ms above 5 ms, and excuses no sample if the load ran as long in that second.
#[test]
fn a_burst_excuses_no_more_than_its_length_and_nothing_that_the_load_may_have_done() {
    let at_5_ms = |timeline: Vec<Second>, largest: &[Sample]| {
        let mut record = sample::record();
        record.quality.timeline = timeline;
        Deciding::new(&record, Some(5e6), &[Stored { count: 100, thread: 0, cpu: None, largest }])
    };
    let late = || at(3, 5_350_000, Class::Preempted);
    let (one, two) = ([late(), at(5, 2_000, Class::Unknown)], [late(), late(), at(5, 2_000, Class::Unknown)]);
    let foreign = |load_ns| vec![Second { load_ns, ..second(3, 0, 5_600_000) }];
    assert!(at_5_ms(foreign(0), &one).is_foreign());
    assert!(
        !at_5_ms(foreign(0), &two).is_foreign(),
        "the first uses up 5.35 ms, and what is left is less than the 0.35 ms of the second that are above"
    );
    assert!(!at_5_ms(foreign(5_900_000), &one).is_foreign(), "the load ran as long");
    assert!(at_5_ms(foreign(5_000_000), &one).is_foreign(), "too short for what is above");
    // The load may be in another entry, with another length.
    let apart =
        vec![second(3, 0, 6_000_000), Second { load_ns: 9_000_000, length_ns: 2_000_000_000, ..second(3, 0, 0) }];
    assert!(!at_5_ms(apart, &one).is_foreign());
    // The load cannot have caused stolen time.
    assert!(at_5_ms(vec![Second { load_ns: 9_000_000, ..second(3, 10_000_000, 0) }], &one).is_foreign());
}

/// A program caused one of two late samples: the machine's worst sample is the other one.
#[test]
fn what_is_excused_is_told_beside_a_failure() {
    let spikes = [at(3, 5_000_000, Class::Unknown), at(7, 200_000, Class::Unknown), at(5, 2_000, Class::Unknown)];
    let beside = |timeline| weigh(timeline, &spikes, 100).foreign_beside();
    assert_eq!(
        beside(vec![second(3, 0, 10_000_000)]),
        Some(ForeignBeside { foreign: 1, of: 2, own_ns: 200_000, traced: false })
    );
    assert_eq!(beside(vec![]), None);
    assert_eq!(beside(vec![second(3, 0, 10_000_000), second(7, 0, 10_000_000)]), None, "the whole failure is foreign");
}

/// A thread that moves tasks and ran for 18.7 us is not the reason for a sample of 5.35 ms, even if only that much is unexcused.
#[test]
fn a_kernel_thread_is_named_for_a_part_that_matters() {
    let named = |kernel_ns: u64| -> Vec<(Cause, u64)> {
        let mut record = sample::record();
        record.quality.timeline = vec![Second { kernel_ns, ..second(3, 0, 340_000 + kernel_ns) }];
        let largest = [at(3, 5_350_000, Class::Preempted), at(5, 2_000, Class::Unknown)];
        let stored = [Stored { count: 100, thread: 0, cpu: None, largest: &largest }];
        Deciding::new(&record, Some(5e6), &stored).named().collect()
    };
    assert_eq!(named(18_700), []);
    assert_eq!(named(2_000_000), [(Cause::Kernel, 1)]);
}

/// latido does not blame a cause for what another cause of the same second explains alone.
#[test]
fn each_cause_is_blamed_for_its_own_share() {
    let spike = [at(3, 344_000, Class::Unknown), at(5, 2_000, Class::Unknown)];
    let causes =
        |foreign_ns| -> Vec<Cause> { weigh(vec![second(3, 10_000_000, foreign_ns)], &spike, 9).blamed().collect() };
    assert_eq!(causes(0), [Cause::Steal]);
    assert_eq!(causes(200_000), [Cause::Steal, Cause::Foreign]);
    assert_eq!(causes(244_000), [Cause::Foreign]);
}

/// Throttling, kernel threads and management interrupts belong to the machine: latido names them, and the failure stands.
#[test]
fn what_is_part_of_the_system_is_named_and_excuses_nothing() {
    let gap = |class| [at(3, 54_000_000, class), at(5, 2_000, Class::Unknown)];
    let own = |kernel_ns, smi| Second { kernel_ns, smi, ..second(3, 0, kernel_ns) };
    let named = |timeline, class| -> Vec<(Cause, u64)> {
        let deciding = weigh(timeline, &gap(class), 9);
        assert!(!deciding.is_foreign());
        deciding.named().collect()
    };
    assert_eq!(named(vec![], Class::Preempted), []);
    assert_eq!(named(vec![], Class::Throttled), [(Cause::Throttle, 1)]);
    assert_eq!(named(vec![own(60_000_000, 0)], Class::Preempted), [(Cause::Kernel, 1)]);
    assert_eq!(named(vec![own(50_000_000, 0)], Class::Preempted), [], "not as long");
    assert_eq!(named(vec![own(0, 1)], Class::InPlace), [(Cause::Smi, 1)]);
    assert_eq!(named(vec![own(0, 1)], Class::Preempted), [], "another task ran meanwhile");
    assert_eq!(named(vec![Second { start_ns: 9_000_000_000, ..own(0, 1) }], Class::InPlace), []);
    // A program and a kernel thread ran together: nothing excuses the kernel's part.
    let both = Second { kernel_ns: 30_000_000, ..second(3, 0, 60_000_000) };
    assert_eq!(named(vec![both], Class::Preempted), [(Cause::Kernel, 1)]);
    // latido does not blame other tasks or stolen time of the same second for a wait that the machine's settings impose.
    let beside = vec![second(3, 60_000_000, 60_000_000)];
    assert_eq!(named(beside.clone(), Class::Throttled), [(Cause::Throttle, 1)]);
    assert!(weigh(beside, &gap(Class::Preempted), 9).is_foreign());
    // Where the thread stayed on its CPU, no other task ran there.
    assert!(!weigh(vec![second(3, 0, 60_000_000)], &gap(Class::InPlace), 9).is_foreign());
}

/// A busy loop waits no longer than the fair server's budget, and latido saw no other task: the fair server is a possibility, never a
/// cause.
#[test]
fn the_fair_server_is_a_possibility_and_no_cause() {
    let perhaps = |at_s: u64, value: i64, class: Class, change: fn(&mut Record)| {
        let mut record = sample::record();
        (record.warmup_ns, record.cell.scheduling) = (0, Scheduling::Fifo { prio: 80 });
        let budget = FairBudget { cpus: "0".parse().unwrap(), runtime_ns: 50_000_000, period_ns: 1_000_000_000 };
        record.machine.realtime.fair_server = FairServer::Known { budgets: vec![budget] };
        change(&mut record);
        let largest = [at(at_s, value, class), at(5, 2_000, Class::Unknown)];
        let stored = [Stored { count: 9, thread: 0, cpu: Some(0), largest: &largest }];
        let deciding = Deciding::new(&record, Some(100_000.0), &stored);
        assert!(deciding.named().next().is_none() && !deciding.is_foreign());
        deciding.perhaps_server()
    };
    let as_it_is: fn(&mut Record) = |_| {};
    assert_eq!(perhaps(3, 2_000_000, Class::Preempted, as_it_is), 1);
    assert_eq!(perhaps(3, 51_000_000, Class::Preempted, as_it_is), 0, "longer than its budget");
    assert_eq!(perhaps(0, 2_000_000, Class::Preempted, as_it_is), 0, "nobody starved for long enough");
    assert_eq!(perhaps(3, 2_000_000, Class::InPlace, as_it_is), 0);
    assert_eq!(perhaps(3, 2_000_000, Class::Preempted, |r| r.cell.scheduling = Scheduling::OTHER), 0);
    assert_eq!(perhaps(3, 2_000_000, Class::Preempted, |r| r.machine.realtime.fair_server = FairServer::Absent), 0);
    assert_eq!(perhaps(3, 2_000_000, Class::Preempted, |r| r.quality.timeline = vec![second(3, 0, 500_000)]), 0);
}

/// A timeline entry may be longer than a second: it applies to every sample that it touches.
#[test]
fn a_long_stretch_reaches_over_shorter_ones() {
    let long = Second { length_ns: 5_000_000_000, ..second(1, 0, 1_000_000_000) };
    let spikes = [at(3, 5_000_000, Class::Unknown), at(9, 2_000, Class::Unknown)];
    assert!(weigh(vec![long, second(2, 10_000_000, 0)], &spikes, 9).blames(Cause::Foreign));
}

/// The entry covers 256 seconds with 10 ms of steal each: a sample within one second lost at most 10 ms, a sample over three seconds at
/// most 30 ms.
#[test]
fn of_merged_seconds_a_sample_has_what_it_can_have_met() {
    let merged = |steal_most_ns| Second {
        length_ns: 256_000_000_000,
        steal_most_ns,
        foreign_most_ns: Some(0),
        ..second(0, 2_560_000_000, 0)
    };
    let foreign = |value, most| {
        let spikes = [at(100, value, Class::Unknown), at(500, 2_000, Class::Unknown)];
        weigh(vec![merged(most)], &spikes, 9).is_foreign()
    };
    let most = Some(10_000_000);
    assert!(foreign(10_000_000, most) && !foreign(11_000_000, most) && !foreign(2_500_000_000, most));
    assert!(foreign(2_500_000_000, None), "older records do not tell");
    let over_three = |limit| {
        let mut record = sample::record();
        record.quality.timeline = vec![merged(most)];
        let largest = [at(100, 2_500_000_000, Class::Unknown), at(500, 2_000, Class::Unknown)];
        let stored = [Stored { count: 9, thread: 0, cpu: None, largest: &largest }];
        Deciding::new(&record, Some(limit), &stored).is_foreign()
    };
    assert!(over_three(2.47e9) && !over_three(2.46e9));
    // Each sample is in its own second, and all together are no longer than the stolen time.
    let many: Vec<Sample> =
        (0..255).map(|second| at(second, 10_000_000, Class::Unknown)).chain([at(500, 2_000, Class::Unknown)]).collect();
    assert!(weigh(vec![merged(most)], &many, 999).is_foreign());
    let kernel = |kernel_most_ns| {
        let own = Second { foreign_ns: 2_560_000_000, kernel_ns: 2_560_000_000, kernel_most_ns, ..merged(Some(0)) };
        let spikes = [at(100, 11_000_000, Class::Preempted), at(500, 2_000, Class::Unknown)];
        weigh(vec![own], &spikes, 9).caused_by(Cause::Kernel)
    };
    assert_eq!((kernel(Some(10_000_000)), kernel(Some(11_000_000))), (0, 1));
}

/// A program that ran in many short bursts delayed no task for long, whatever their total. A long sample lost all the bursts that came
/// during it.
#[test]
fn bursts_excuse_as_far_as_one_goes() {
    let ran = |burst_ns| Second { foreign_burst_ns: burst_ns, ..second(3, 0, 50_000_000) };
    let excused = |value, burst_ns| {
        let spikes = [at(3, value, Class::Unknown), at(5, 2_000, Class::Unknown)];
        weigh(vec![ran(burst_ns)], &spikes, 9).is_foreign()
    };
    assert!(!excused(2_350_000, Some(100_000)), "500 pieces of 0.1 ms");
    assert!(excused(250_000, Some(100_000)));
    assert!(excused(5_070_000, Some(5_000_000)), "10 of 5 ms");
    assert!(excused(2_350_000, None), "older records do not tell");
    // One second of computing, including 50 ms of another program.
    let long = Sample { value: 1_000_000_000, ..at(3, 0, Class::Unknown) };
    let mut record = sample::record();
    record.quality.timeline = vec![ran(Some(100_000))];
    let stored = [Stored { count: 9, thread: 0, cpu: None, largest: &[long, at(5, 2_000, Class::Unknown)] }];
    assert!(Deciding::new(&record, Some(960_000_000.0), &stored).is_foreign());
}

/// A sample at the border of two seconds met one burst, not one of each. What ran meanwhile counts once, since only bursts are uneven.
#[test]
fn a_sample_between_two_seconds_meets_one_burst() {
    let ran = |start, burst_ns| Second { foreign_burst_ns: Some(burst_ns), ..second(start, 0, 50_000_000) };
    let excused = |value| {
        let between = Sample { value, at_ns: 4_000_000_000, class: Class::Unknown };
        let spikes = [between, at(9, 2_000, Class::Unknown)];
        weigh(vec![ran(3, 100_000), ran(4, 80_000)], &spikes, 9).is_foreign()
    };
    // 0.1 ms above the limit of 0.1 ms, and 50 ms per second of the sample's length.
    assert!(excused(315_000) && !excused(317_000), "twice the longer of the two bursts");
    // A second in which no program ran says nothing of bursts, and excuses none.
    let beside = |other: Second| {
        let spikes = [at(3, 2_350_000, Class::Unknown), at(9, 2_000, Class::Unknown)];
        weigh(vec![ran(3, 100_000), other], &spikes, 9).is_foreign()
    };
    assert!(!beside(Second { smi: 1, ..second(3, 0, 0) }) && !beside(second(4, 10_000, 0)));
}

#[test]
fn samples_that_were_not_stored_stay_unexplained() {
    let spikes = [at(3, 200_000, Class::Unknown), at(3, 190_000, Class::Unknown)];
    let steal = vec![second(3, 10_000_000, 0)];
    assert!(!weigh(steal.clone(), &spikes, 5000).is_foreign());
    assert!(weigh(steal, &spikes, 2).is_foreign());
}

#[test]
fn without_a_limit_nothing_is_foreign() {
    let record = sample::record();
    let largest = [at(3, 200_000, Class::Unknown)];
    let deciding = Deciding::new(&record, None, &[Stored { count: 1, thread: 0, cpu: None, largest: &largest }]);
    assert!(!deciding.is_foreign());
    assert_eq!(deciding.worst, Some(largest[0].clone()));
}

/// A job that had the CPU for longer than the limit is late by itself, whatever was stolen in that second. A long run of a thread without
/// slots does not matter.
#[test]
fn nothing_excuses_a_program_s_own_work() {
    let is_foreign = |task: &str, run_ns: i64| {
        let mut record = sample::record();
        record.cell.probe.name = "task".into();
        record.quality.timeline = vec![second(3, 10_000_000, 0)];
        record.series.truncate(1);
        let mut running = record.series[0].clone();
        record.series[0].labels = [("task".to_owned(), "loop".to_owned())].into();
        record.series[0].slots = Some(Slots { met: 9, late: 1, missed: 0 });
        (running.quantity, running.slots, running.max) = ("running".into(), None, Some(run_ns));
        running.labels = [("task".to_owned(), task.to_owned())].into();
        record.series.push(running);
        let late = [at(3, 5_000_000, Class::Unknown), at(5, 2_000, Class::Unknown)];
        let stored = [Stored { count: 9, thread: 0, cpu: None, largest: &late }];
        Deciding::new(&record, Some(100_000.0), &stored).is_foreign()
    };
    let told = [("loop", 90_000), ("loop", 120_000), ("helper", 120_000)].map(|(task, ns)| is_foreign(task, ns));
    assert_eq!(told, [true, false, true]);
}
