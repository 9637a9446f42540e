//! What a timeline keeps, and which tasks are listed one by one.

use super::{timeline::MOST, *};
use latido_trace::pairing::Segment;

fn segment(begin: u64, end: u64, owner: Owner) -> Segment {
    Segment { cpu: 0, begin, end, owner, task: None, came: 0 }
}

/// Whatever the number of slices, at most [`MOST`] are drawn, in order and without gaps. No slice longer than the grain gets another owner.
#[test]
fn a_timeline_is_thinned_by_what_can_be_seen() {
    let mut timeline = Timeline::default();
    let many = 3 * MOST as u64;
    for at in 0..many {
        let owner = if at % 2 == 0 { Owner::Idle } else { Owner::Task(7) };
        timeline.segment(&segment(at * 1_000, at * 1_000 + 1_000, owner));
    }
    // A long slice at the end keeps its owner and its length.
    timeline.segment(&segment(many * 1_000, many * 1_000 + 500_000_000, Owner::Nmi));
    timeline.name(|owner| format!("{owner:?}"));
    let lane = &timeline.lanes()[&0];
    assert!(lane.len() <= MOST && timeline.grain > 0, "{} slices, grain {}", lane.len(), timeline.grain);
    assert!(lane.windows(2).all(|pair| pair[0].end == pair[1].begin));
    assert_eq!((lane[0].begin, lane[lane.len() - 1].end), (0, many * 1_000 + 500_000_000));
    let last = lane[lane.len() - 1];
    assert_eq!((timeline.names[last.owner].as_str(), last.end - last.begin >= 499_000_000), ("Nmi", true));
}

/// Of half a million tasks, those with a slice keep their names, and each slice keeps its owner.
#[test]
fn a_timeline_names_whom_it_draws() {
    let mut timeline = Timeline::default();
    let tasks = 5 * MOST as u64;
    for at in 0..tasks {
        // Every hundredth task runs much longer than the others.
        let length = if at % 100 == 0 { 99_000 } else { 10 };
        let pid = i32::try_from(at).unwrap();
        timeline.segment(&segment(at * 100_000, at * 100_000 + length, Owner::Task(pid)));
        timeline.segment(&segment(at * 100_000 + length, at * 100_000 + 100_000, Owner::Idle));
    }
    timeline.name(|owner| format!("{owner:?}"));
    let lane = &timeline.lanes()[&0];
    let drawn: std::collections::BTreeSet<usize> = lane.iter().map(|piece| piece.owner).collect();
    assert_eq!(drawn, (0..timeline.names.len()).collect(), "no name without a slice, no slice without a name");
    assert_eq!(timeline.kinds().len(), timeline.names.len());
    let of_tasks: Vec<_> = lane.iter().filter(|piece| timeline.names[piece.owner].starts_with("Task")).collect();
    for piece in &of_tasks {
        let at = (piece.begin / 100_000).to_string();
        assert!(timeline.names[piece.owner] == format!("Task({at})"), "{piece:?} is {}", timeline.names[piece.owner]);
    }
    let long = of_tasks.iter().filter(|piece| piece.end - piece.begin >= 99_000).count();
    assert!(long > 0, "no long task of {} is drawn", of_tasks.len());
}

/// Of thousands of owners, the largest are listed one by one and the others together: the shares add up to 1.
#[test]
fn the_shares_of_a_cpu_are_all_of_it() {
    let had = |ns: u64| Had { ns, pieces: 1, longest: ns };
    let owners = (1..=3_000).map(|pid| (Owner::Task(pid), had(10 * u64::try_from(pid).unwrap()))).collect();
    let pairing = Pairing::of(Definition::Waking);
    let names = Names {
        machine: Machine::Unknown,
        calls: Vec::new(),
        vectors: Vec::new(),
        devices: BTreeMap::new(),
        tasks: &pairing,
    };
    let cpu = OfCpu::of(3, owners, &names);
    assert_eq!((cpu.cpu, cpu.owners.len(), cpu.owners[0].0.as_str()), (3, NAMED + 1, "3000"));
    let (name, others) = &cpu.owners[NAMED];
    assert_eq!((name.as_str(), others.pieces, others.longest_ns), ("2000 others", 2_000, 20_000));
    assert!((cpu.owners.iter().map(|(_, share)| share.share).sum::<f64>() - 1.0).abs() < 1e-9);
}
