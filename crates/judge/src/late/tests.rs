//! Tests what took the time of late samples, separately and together.

use super::*;
use latido_trace::{
    explain::{Begins, Slice, Window},
    pairing::Segment,
};

/// An explained window that consists of these slices.
fn explained(slices: Vec<Slice>) -> Explained {
    let end = slices.last().map_or(100, |last| last.end);
    super::explained(Window { begin: 0, end, pid: 1, cpu: 0, begins: Begins::Asleep }, slices)
}

/// Shares refer to all lost time; each sample counts once in the column of its largest cause.
#[test]
fn causes_add_up_over_samples() {
    let slice = |begin, end, cause| Slice { begin, end, cause };
    let all = [
        explained(vec![slice(0, 70, Cause::IdleExit), slice(70, 100, Cause::Itself)]),
        explained(vec![slice(0, 40, Cause::Itself), slice(40, 100, Cause::Throttled)]),
    ];
    let Causes(rows) = Causes::of(all.iter());
    let told: Vec<_> =
        rows.iter().map(|row| (row.cause.as_str(), row.ns, row.samples, row.first, row.longest_ns)).collect();
    let expected =
        [("its own return to user space", 70, 2, 0, 40), ("leaving idle", 70, 1, 1, 70), ("throttled", 60, 1, 1, 60)];
    assert_eq!(told, expected);
    assert_eq!(rows.iter().map(|row| row.share).collect::<Vec<_>>(), [0.35, 0.35, 0.3]);
}

/// If the CPU quota of a control group may have held the thread back, latido does not blame a bystander, unless the kernel throttled the
/// group for a shorter time.
#[test]
fn an_ordinary_thread_may_have_been_held_back() {
    let slice = |begin, end, cause| Slice { begin, end, cause };
    let told = |most_ns: u64| -> Vec<String> {
        let mut one = explained(vec![
            slice(0, 60, Cause::Task("bystander-7".into(), Class::Fair)),
            slice(60, 80, Cause::Throttled),
            slice(80, 90, Cause::Task("rival-8".into(), Class::RealTime)),
            slice(90, 100, Cause::Own),
        ]);
        one.held_back(most_ns);
        one.slices.iter().map(|slice| said(&slice.cause)).collect()
    };
    let held = "held back by the program's CPU quota";
    let or = "bystander-7, or the program's CPU quota";
    assert_eq!(told(60), [or, held, "rival-8 (real-time)", "its own execution"]);
    assert_eq!(told(30)[..2], ["bystander-7 (fair)", held]);
}

/// The CPU was idle for 11.9 ms while slow idle states were disabled: leaving idle never takes that long. If as much time was stolen in
/// that second, and no CPU wrote an event meanwhile, the hypervisor had stopped the machine.
#[test]
fn a_guest_that_was_stopped_is_not_leaving_idle() {
    use latido_model::record::{Evidence, Second};
    use latido_trace::explain::Line;
    let of = |cause: Cause, held: bool, steal_ns: u64, event: Option<u64>| {
        let mut one = explained(vec![
            Slice { begin: 0, end: 11_900_000, cause },
            Slice { begin: 11_900_000, end: 11_910_000, cause: Cause::Itself },
        ]);
        one.chain.waking = Some(11_900_000);
        one.excerpt.extend(event.map(|time| Line { time, cpu: 1, text: "tick".into() }));
        let second = Second { start_ns: 5_000_000_000, length_ns: 1_000_000_000, steal_ns, ..Second::default() };
        let evidence = Evidence { dma_latency_held: held, timeline: vec![second], ..Evidence::default() };
        spikes::told_by_record(&mut one, Some(5_500_000_000), &evidence);
        one.slices[0].cause.clone()
    };
    let told = |held, steal_ns, event| of(Cause::IdleExit, held, steal_ns, event);
    assert_eq!(told(true, 0, None), Cause::NoInterruptIdle);
    assert_eq!(told(true, 10_000_000, None), Cause::Standstill);
    assert_eq!(told(true, 10_000_000, Some(4_000_000)), Cause::NoInterruptIdle, "the other CPU went on");
    assert_eq!(told(false, 0, None), Cause::IdleExit, "the trace's own bound is another");
    // The hypervisor may have stopped it in a handler: then latido cannot tell which of the two took so long.
    let timer = || Cause::Interrupt("local_timer".into());
    let both = of(timer(), true, 10_000_000, None);
    assert_eq!(both, Cause::HandlerOrStandstill(Box::new(timer())));
    let words = told::said(&both);
    assert!(
        words.starts_with("interrupt local_timer, or the hypervisor during it") && told::kind(&both) == "hard",
        "{words}"
    );
    assert_eq!(of(timer(), true, 0, None), timer());
    assert_eq!(of(timer(), true, 10_000_000, Some(4_000_000)), timer(), "the other CPU went on");
}

/// If only one cause would remain, latido names all of them; several remaining causes are combined.
#[test]
fn one_cause_is_not_others() {
    let many = |n: u64| {
        let slices = (0..n).map(|at| Slice { begin: at, end: at + 1, cause: Cause::Soft(at.to_string()) }).collect();
        Worst::of(Class::Fair, "a-1".into(), 0, &explained(slices))
    };
    let last = |n| many(n).causes.last().map(|piece| piece.cause.clone());
    assert_eq!((many(13).causes.len(), last(13)), (13, Some("soft interrupt 9".into())));
    assert_eq!((many(14).causes.len(), last(14)), (13, Some("2 others".into())));
}

/// A stretch that is too short to see is drawn with its neighbour. The CPU of the sample comes first, and nothing overlaps.
#[test]
fn lanes_are_drawn_as_finely_as_can_be_seen() {
    let mut found = explained(vec![Slice { begin: 0, end: 1_000_000, cause: Cause::IdleExit }]);
    let owner = |at: u64| if at.is_multiple_of(2) { Owner::Idle } else { Owner::Task(7) };
    let segment =
        |cpu, at: u64| Segment { cpu, begin: at * 100, end: at * 100 + 100, owner: owner(at), task: None, came: 0 };
    found.cpu = 1;
    found.segments = (0..10_000).flat_map(|at| [segment(0, at), segment(1, at)]).collect();
    let lanes = Worst::of(Class::Fair, "a-1".into(), 0, &found).lanes;
    assert_eq!(lanes.iter().map(|lane| lane.cpu).collect::<Vec<_>>(), [1, 0]);
    for lane in &lanes {
        assert!((100..=2 * DRAWN).contains(&lane.stretches.len()), "{}", lane.stretches.len());
        assert!(lane.stretches.windows(2).all(|pair| pair[0].to == pair[1].from));
    }
}

/// The sentence names what made most of the samples late, and what made the worst one late. Repeats are one configuration; if there are
/// several configurations, it names each.
#[test]
fn the_short_answer_names_the_configuration_and_the_worst_sample() {
    let of = |name: &str, causes: &[(&str, u64)]| {
        let worst = |(cause, length): &(&str, u64)| {
            let slices = vec![Slice { begin: 0, end: *length, cause: Cause::Soft((*cause).into()) }];
            Worst::of(Class::Fair, "a-1".into(), 0, &explained(slices))
        };
        let found = Spikes {
            cell: "cell 1, wakeup".into(),
            evidence: "events only",
            asked: Asked { worst: 3, limit_ns: Some(50), above_limit: None, most: 9 },
            jobs: Vec::new(),
            spikes: causes.iter().map(worst).collect(),
            causes: Causes(Vec::new()),
            lost_events: 0,
            cut: None,
        };
        OfCell { number: 1, name: name.into(), found: Ok(found) }
    };
    let (idle, again) = (of("wakeup, idle", &[("9", 900), ("1", 80)]), of("wakeup, idle", &[("1", 70)]));
    let busy = of("wakeup, busy", &[("1", 80), ("1", 70)]);
    let of_idle =
        "2 of the 3 late samples that latido explained: soft interrupt 1; the worst, 900\u{a0}ns: soft interrupt 9";
    let of_busy = "all 2 late samples that latido explained, the worst (80\u{a0}ns) among them: soft interrupt 1";
    assert_eq!(in_short([&idle, &again].into_iter()), [of_idle]);
    let refused = OfCell { number: 3, name: "wakeup, other".into(), found: Err("no trace".into()) };
    let said = in_short([&idle, &busy, &refused, &again].into_iter());
    assert_eq!(said, [format!("wakeup, idle: {of_idle}"), format!("wakeup, busy: {of_busy}")]);
}
