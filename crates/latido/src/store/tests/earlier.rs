//! How long earlier cells took.

use super::super::earlier as before;
use super::*;
use latido_model::{
    plan::around::{Around, Like},
    plan::extent::Extent,
    units::Ns,
};

/// Makes a run whose two cells started and were stored at these milliseconds.
fn run(store: &Store, cells: [(u64, u64); 2]) -> Draft {
    let draft = store.draft();
    for ((number, cell), (started, stored)) in [(1, cell()), (2, under("busy"))].into_iter().zip(cells) {
        let at = |ms: u64| format!("2026-11-21T20:{:02}:{:02}.{:03}Z", ms / 60_000, ms / 1000 % 60, ms % 1000);
        let host = HostFacts { started: at(started), stored: at(stored), ..HostFacts::default() };
        draft.start_cell(number).unwrap();
        draft.finish_cell(number, &record(cell), &host).unwrap();
    }
    draft
}

/// The time goes from a cell's start to the next cell's start, minus the planned time; before a break in a resumed run, to the cell's end.
/// A run that is not finished gives no time, nor does a missing store.
#[test]
fn finished_runs_tell_what_lies_between_measurements() {
    let store = Store::new();
    let planned = Extent::of_cell(&cell().conditions, &sample::measurand(&cell())).time;
    let ms = planned.0 / 1_000_000;
    let around = || before::around(store.0.path());
    let open = run(&store, [(0, ms), (ms, 2 * ms)]);
    assert_eq!(around(), Around::default());
    drop(open);
    let of = |around: &Around, cell: Cell| Ns(around.whole(&Like::of(&cell), planned).0 - planned.0);
    run(&store, [(0, ms + 2_000), (ms + 3_000, 2 * ms + 8_000)]).finish(Verdict::Pass, false, "it holds").unwrap();
    assert_eq!((of(&around(), cell()), of(&around(), under("busy"))), (Ns::from_secs(3), Ns::from_secs(5)));
    run(&store, [(0, ms + 2_000), (900_000, 900_000 + ms + 5_000)]).finish(Verdict::Pass, false, "it holds").unwrap();
    run(&store, [(0, ms + 2_000), (900_000, 901_000)]).finish(Verdict::Pass, false, "it was interrupted").unwrap();
    assert_eq!((of(&around(), cell()), of(&around(), under("busy"))), (Ns::from_secs(2), Ns::from_secs(5)));
    assert_eq!(before::around(&store.0.path().join("none")), Around::default());
}
