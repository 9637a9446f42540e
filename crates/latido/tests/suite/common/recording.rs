//! What the tests of recorded traces share: whether this machine allows them, one at a time, and what a file contains.

use crate::common::{Alone, Need, root, skip, stderr};
use latido_trace::{file::Trace, merge::Merge, page::Event};
use std::{cell::RefCell, collections::BTreeMap, fs, path::Path, process::Output};

pub const INSTANCES: &str = "/sys/kernel/tracing/instances";

thread_local! {
    /// The lock, held until the thread of the test ends.
    static TURN: RefCell<Option<Alone>> = const { RefCell::new(None) };
}

/// Whether root can record traces on this machine; if not, the test is noted as skipped.
pub fn tracefs(what: &str) -> bool {
    if !root(what) {
        return false;
    }
    // One after the other: these tests count what latido does to a CPU, and the work of another test's latido there would count too.
    TURN.with(|turn| *turn.borrow_mut() = Some(Alone::of("recording")));
    let probe = Path::new(INSTANCES).join(format!("latido-test-{}", std::process::id()));
    let made = fs::create_dir(&probe).and_then(|()| {
        let enabled = fs::write(probe.join("events/sched/sched_switch/enable"), "1");
        fs::remove_dir(&probe).and(enabled)
    });
    if let Err(error) = &made {
        skip(what, Need::Tracefs, &format!("no trace can be made in {INSTANCES}: {error}"));
    }
    made.is_ok()
}

/// The number of events of each CPU in a file, read with latido's own decoder.
pub fn events(file: &Path) -> BTreeMap<u32, u64> {
    let bytes = fs::read(file).unwrap();
    let trace = Trace::open(&bytes).unwrap();
    assert!(trace.lost.is_empty(), "{:?}", trace.lost);
    assert_eq!(trace.options.clock.as_deref(), Some("mono"));
    let [buffer] = &trace.buffers[..] else { panic!("{:?}", trace.buffers) };
    let mut merge = Merge::of(&trace, buffer);
    let mut counts = BTreeMap::new();
    merge.each(&mut |cpu: u32, _: Event<'_>| *counts.entry(cpu).or_default() += 1);
    assert_eq!((merge.backwards(), merge.unread().count()), (0, 0));
    counts
}

pub fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{}", stderr(output)))
}
