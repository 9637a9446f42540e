//! What a timeline keeps, and what many samples were lost to together.

use super::{causes::Causes, timeline::MOST, *};
use latido_trace::{
    explain::{Cause, Slice},
    pairing::Segment,
};

fn segment(begin: u64, end: u64, owner: Owner) -> Segment {
    Segment { cpu: 0, begin, end, owner, task: None, came: 0 }
}

/// However many slices there are, at most so many are drawn, without a gap and in order, and none longer than the grain is
/// taken for another's.
#[test]
fn a_timeline_is_thinned_by_what_can_be_seen() {
    let mut timeline = Timeline::default();
    let many = 3 * MOST as u64;
    for at in 0..many {
        let owner = if at % 2 == 0 { Owner::Idle } else { Owner::Task(7) };
        timeline.segment(&segment(at * 1_000, at * 1_000 + 1_000, owner));
    }
    // A long one at the end keeps its owner and its length.
    timeline.segment(&segment(many * 1_000, many * 1_000 + 500_000_000, Owner::Nmi));
    timeline.name(|owner| format!("{owner:?}"));
    let lane = &timeline.lanes()[&0];
    assert!(lane.len() <= MOST && timeline.grain > 0, "{} slices, grain {}", lane.len(), timeline.grain);
    assert!(lane.windows(2).all(|pair| pair[0].end == pair[1].begin));
    assert_eq!((lane[0].begin, lane[lane.len() - 1].end), (0, many * 1_000 + 500_000_000));
    let last = lane[lane.len() - 1];
    assert_eq!((timeline.names[last.owner].as_str(), last.end - last.begin >= 499_000_000), ("Nmi", true));
}

/// Shares are of all time that was lost; the first cause of each sample is counted once.
#[test]
fn causes_add_up_over_samples() {
    let slice = |begin, end, cause| Slice { begin, end, cause };
    let explained = |slices: Vec<Slice>| Explained {
        window: Window { begin: 0, end: 100, pid: 1, cpu: 0, slept: true },
        slices,
        segments: Vec::new(),
        excerpt: Vec::new(),
        omitted: 0,
    };
    let all = [
        explained(vec![slice(0, 70, Cause::IdleExit), slice(70, 100, Cause::Itself)]),
        explained(vec![slice(0, 40, Cause::Itself), slice(40, 100, Cause::Throttled)]),
    ];
    let Causes(rows) = Causes::of(all.iter());
    let told: Vec<_> =
        rows.iter().map(|row| (row.cause.as_str(), row.ns, row.samples, row.first, row.longest_ns)).collect();
    let expected = [("its own way back", 70, 2, 0, 40), ("leaving idle", 70, 1, 1, 70), ("throttled", 60, 1, 1, 60)];
    assert_eq!(told, expected);
    assert!((rows.iter().map(|row| row.share).sum::<f64>() - 1.0).abs() < 1e-12);
}
