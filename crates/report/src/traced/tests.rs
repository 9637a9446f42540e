//! What a timeline keeps.

use super::{timeline::MOST, *};
use latido_trace::pairing::Segment;

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
