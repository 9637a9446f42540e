//! Cells that are cut and measured further, with an interruption at every step.

use super::*;
use latido_model::{run::parts, units::Ns};
use std::path::Path;

/// Makes a run whose first cell was cut by `how` after six of its ten seconds.
fn cut(store: &Store, how: fn(&Draft)) -> Run {
    let draft = store.draft();
    draft.start_cell(1).unwrap();
    how(&draft);
    drop(draft);
    store.read()
}

fn six_seconds(outcome: Outcome) -> Record {
    Record { outcome, elapsed_ns: 6_000_000_000, ..*record(cell()) }
}

fn files() -> Vec<(String, Vec<u8>)> {
    let data = sample::data(&quiet(0));
    [
        ("histogram-0.hdr", codec::encode_histogram(&data.histogram).unwrap()),
        ("blocks-0.csv", codec::encode_blocks(&data.blocks).unwrap()),
        ("largest-0.csv", codec::encode_largest(&data.largest).unwrap()),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .into()
}

fn checkpointed(draft: &Draft) {
    checkpoint(draft, 1, &six_seconds(Outcome::Checkpoint), &files()).unwrap();
}

fn interrupted(draft: &Draft) {
    files().iter().try_for_each(|(name, bytes)| put(draft, 1, name, bytes)).unwrap();
    draft.finish_cell(1, &six_seconds(Outcome::Interrupted), &HostFacts::default()).unwrap();
}

/// Measures the rest as the host does, in a cell that already exists.
fn go_on(draft: &Draft, rest: &Cell) {
    measure(draft, 1, rest.clone());
}

fn rest(todo: &[Todo]) -> &Cell {
    todo[0].rest.as_ref().expect("a rest")
}

#[test]
fn what_was_measured_becomes_a_part_and_the_rest_another() {
    for (how, ending) in [
        (checkpointed as fn(&Draft), "cut, known from its last checkpoint (the agent vanished)"),
        (interrupted, "interrupted"),
    ] {
        let store = Store::new();
        let run = cut(&store, |_| {});
        assert!(run.cells[0].parts.is_empty());
        let store = Store::new();
        let draft = store.draft();
        draft.start_cell(1).unwrap();
        how(&draft);
        if ending.contains("vanished") {
            draft.fail_cell(1, "the agent vanished").unwrap();
        }
        drop(draft);
        let (draft, todo) = Draft::reopen(&store.read(), contents(), true).unwrap();
        assert_eq!(rest(&todo).conditions.duration, Ns::from_secs(4), "{ending}");
        assert_eq!((todo[1].number, &todo[1].rest, todo[1].anew), (2, &None, false));
        go_on(&draft, rest(&todo));
        measure(&draft, 2, under("busy"));
        draft.finish(Verdict::Pass, false, "").unwrap();
        let run = store.read();
        assert_eq!(run.problems, Vec::<String>::new(), "{ending}");
        let stored = &run.cells[0];
        assert_eq!(stored.parts.iter().map(parts::ending).collect::<Vec<_>>(), [ending, "complete"]);
        // Each stored part is unchanged, and the cell is the sum of its parts.
        assert_eq!(stored.parts[0].cell.record().unwrap().elapsed_ns, 6_000_000_000);
        let pooled = stored.record().unwrap();
        assert_eq!((pooled.series[0].count, pooled.elapsed_ns), (20_000, 10_000_000_000));
        assert_eq!(pooled.cell.conditions.duration, Ns::from_secs(10));
        let data = series_data(stored, &pooled.series[0]).unwrap();
        assert_eq!((data.histogram.len(), data.largest.len(), data.blocks.len()), (20_000, 4_096, 20));
        assert_eq!(data.blocks[10].start_ns, 6_000_000_000, "the second part follows the first");
        assert!(is_done(stored) && !run.dir.join("abandoned").exists());
        // Nothing is left to measure: another reopening changes nothing.
        let (_, todo) = Draft::reopen(&run, contents(), true).unwrap();
        assert_eq!(todo, []);
    }
}

/// The host may vanish between any two renames. A reader always finds what was measured, and the next attempt continues.
#[test]
fn a_part_in_the_making_is_never_lost() {
    type Step = fn(&Path);
    let steps: &[Step] = &[
        |_| {},
        |cell| fs::create_dir(cell.join("part.new")).unwrap(),
        |cell| {
            fs::create_dir(cell.join("part.new")).unwrap();
            fs::rename(cell.join("blocks-0.csv"), cell.join("part.new/blocks-0.csv")).unwrap();
        },
        |cell| {
            fs::create_dir(cell.join("part.new")).unwrap();
            for name in ["blocks-0.csv", "histogram-0.hdr", "largest-0.csv", "host.json", "record.json"] {
                fs::rename(cell.join(name), cell.join("part.new").join(name)).unwrap();
            }
        },
        |cell| {
            fs::create_dir(cell.join("part-1")).unwrap();
            for name in ["blocks-0.csv", "histogram-0.hdr", "largest-0.csv", "host.json", "record.json"] {
                fs::rename(cell.join(name), cell.join("part-1").join(name)).unwrap();
            }
            fs::create_dir(cell.join(".incoming")).unwrap();
        },
    ];
    for (number, step) in steps.iter().enumerate() {
        let store = Store::new();
        let run = cut(&store, interrupted);
        step(&cell_dir(&run.dir, 1));
        let run = store.read();
        assert_eq!(run.cells[0].record().unwrap().outcome, Outcome::Interrupted, "step {number}");
        let (draft, todo) = Draft::reopen(&run, contents(), true).unwrap();
        assert_eq!(rest(&todo).conditions.duration, Ns::from_secs(4), "step {number}");
        let left: Vec<_> = fs::read_dir(cell_dir(&run.dir, 1)).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["part-1"], "step {number}");
        go_on(&draft, rest(&todo));
        drop(draft);
        let run = store.read();
        assert_eq!((run.problems.len(), run.cells[0].record().unwrap().series[0].count), (0, 20_000), "step {number}");
    }
}

#[test]
fn a_rest_that_is_cut_too_is_a_further_part() {
    let store = Store::new();
    let run = cut(&store, checkpointed);
    let (draft, todo) = Draft::reopen(&run, contents(), true).unwrap();
    draft.start_cell(1).unwrap();
    let second = Record { cell: rest(&todo).clone(), elapsed_ns: 3_000_000_000, ..six_seconds(Outcome::Checkpoint) };
    checkpoint(&draft, 1, &second, &files()).unwrap();
    drop(draft);
    // The pooled record of two cut parts is as unfinished as they are.
    let run = store.read();
    assert_eq!((run.problems.clone(), run.cells[0].parts.len()), (vec![], 2));
    assert!(!is_done(&run.cells[0]));
    let (draft, todo) = Draft::reopen(&run, contents(), true).unwrap();
    assert_eq!(rest(&todo).conditions.duration, Ns::from_secs(1));
    go_on(&draft, rest(&todo));
    drop(draft);
    let run = store.read();
    assert_eq!(run.problems, Vec::<String>::new());
    assert_eq!((run.cells[0].parts.len(), run.cells[0].record().unwrap().series[0].count), (3, 30_000));
    // A request to measure from zero leaves a cell that is done in its place.
    let (draft, _) = Draft::reopen(&run, contents(), false).unwrap();
    drop(draft);
    assert_eq!(store.read().cells[0].parts.len(), 3, "a cell that is done stays");
}

#[test]
fn without_the_wish_the_parts_go_aside_whole() {
    let store = Store::new();
    let run = cut(&store, checkpointed);
    let (draft, _) = Draft::reopen(&run, contents(), true).unwrap();
    drop(draft);
    let run = store.read();
    let one = run.cells[0].record().unwrap();
    assert_eq!((run.cells[0].parts.len(), &one.outcome), (0, &Outcome::Checkpoint), "a part alone is a checkpoint");
    let (draft, todo) = Draft::reopen(&run, contents(), false).unwrap();
    assert_eq!((todo[0].rest.as_ref(), todo[0].anew), (None, true));
    assert!(draft.dir.join("abandoned/001-1/part-1/record.json").exists());
    measure(&draft, 1, cell());
    drop(draft);
    assert_eq!(store.read().cells[0].record().unwrap().series[0].count, 10_000);
}

#[test]
fn parts_of_two_kernels_are_no_result() {
    let store = Store::new();
    let run = cut(&store, checkpointed);
    let (draft, todo) = Draft::reopen(&run, contents(), true).unwrap();
    go_on(&draft, rest(&todo));
    let path = cell_dir(&draft.dir, 1).join("record.json");
    drop(draft);
    let mut record: Record = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record.machine.kernel = "7.0".into();
    fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
    let run = store.read();
    let CellState::Infra(why) = &run.cells[0].state else { panic!("{:?}", run.cells[0].state) };
    assert!(why.contains("part 2 was measured on another system"), "{why}");
}

/// A link inside a cell's directory never leads to where latido makes a part.
#[test]
fn a_part_is_not_made_through_a_link() {
    for (how, name) in
        [(interrupted as fn(&Draft), "part.new"), (interrupted, "checkpoint"), (checkpointed, "part.new")]
    {
        let store = Store::new();
        let draft = store.draft();
        draft.start_cell(1).unwrap();
        how(&draft);
        let elsewhere = store.0.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, cell_dir(&draft.dir, 1).join(name)).unwrap();
        drop(draft);
        let (_draft, todo) = Draft::reopen(&store.read(), contents(), true).unwrap();
        assert!(todo[0].rest.is_some(), "{name}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "{name}");
    }
}
