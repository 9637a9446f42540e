//! Runs that are written, interrupted at every step, and read again.

mod damage;
mod earlier;
mod listing;
mod parts;

use super::*;
use latido_model::{
    cell::Cell,
    needs::{Need, skip},
    plan::{Order, Plan},
    record::{HostFacts, Outcome, Record},
    run::{CellState, Planned, Run, StoredCell, cell_dir, codec},
    sample::{self, cell, measured, quiet, under},
    verdict::Verdict,
};
use std::fs;

const TOML: &str = "name = \"quick\"\n";

/// A plan of two cells.
fn contents() -> Contents {
    let plan = Plan { name: "quick".into(), seed: 42, order: Order::AsWritten, ..Plan::default() };
    let planned = |(written, cell)| Planned { cell, measurand: 0, written, skipped: None };
    let cells = (0..).zip([cell(), under("busy")]).map(planned).collect();
    Contents { plan, measurands: vec![sample::measurand(&cell())], cells }
}

fn new() -> New<'static> {
    New {
        plan: "quick",
        toml: TOML,
        contents: contents(),
        command: vec!["latido".into()],
        machine: "here".into(),
        label: None,
    }
}

/// Reopens a run with its own cells.
fn reopen(run: &Run) -> anyhow::Result<(Draft, Vec<usize>)> {
    let (draft, todo) = Draft::reopen(run, contents(), false)?;
    Ok((draft, todo.into_iter().map(|one| one.number).collect()))
}

struct Store(tempfile::TempDir);

impl Store {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn draft(&self) -> Draft {
        Draft::create(self.0.path(), new()).unwrap()
    }

    fn read(&self) -> Run {
        read(&find(self.0.path(), "last").unwrap()).unwrap()
    }
}

fn record(cell: Cell) -> Box<Record> {
    Box::new(measured(cell, &[quiet(0)]))
}

/// Measures a cell as the host does: files first, the record last.
fn measure(draft: &Draft, number: usize, cell: Cell) {
    draft.start_cell(number).unwrap();
    let data = sample::data(&quiet(0));
    let files = [
        ("histogram-0.hdr", codec::encode_histogram(&data.histogram).unwrap()),
        ("blocks-0.csv", codec::encode_blocks(&data.blocks).unwrap()),
        ("largest-0.csv", codec::encode_largest(&data.largest).unwrap()),
    ];
    for (name, bytes) in files {
        put(draft, number, name, &bytes).unwrap();
    }
    draft
        .finish_cell(number, &record(cell), &HostFacts { run: draft.meta.id.clone(), ..HostFacts::default() })
        .unwrap();
}

/// Stores a complete file.
fn put(draft: &Draft, number: usize, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let mut incoming = draft.receive(number, name)?;
    incoming.write(bytes)?;
    incoming.keep()
}

/// Stores a checkpoint with files.
fn checkpoint(draft: &Draft, number: usize, record: &Record, files: &[(String, Vec<u8>)]) -> anyhow::Result<()> {
    files.iter().try_for_each(|(name, bytes)| put(draft, number, name, bytes))?;
    draft.checkpoint(number, record)
}

#[test]
fn a_run_comes_back_as_it_was_written() {
    let store = Store::new();
    let draft = store.draft();
    measure(&draft, 1, cell());
    measure(&draft, 2, under("busy"));
    let meta = draft.finish(Verdict::Pass, false, "it holds").unwrap();
    let run = store.read();
    assert_eq!(run.problems, Vec::<String>::new());
    assert_eq!((&run.meta, run.meta.verdict), (&meta, Some(Verdict::Pass)));
    let records: Vec<&Record> = run.cells.iter().filter_map(StoredCell::record).collect();
    assert_eq!(records, [&*record(cell()), &*record(under("busy"))]);
    assert_eq!(run.cells[0].host.as_ref().unwrap().run, meta.id);
    let data = series_data(&run.cells[1], &records[1].series[0]).unwrap();
    let expected = sample::data(&quiet(0));
    assert_eq!((data.histogram, data.blocks, data.largest), (expected.histogram, expected.blocks, expected.largest));
    let listing = list_runs(store.0.path()).unwrap();
    assert_eq!((listing.runs.len(), listing.problems.len()), (1, 0));
    assert_eq!(listing.runs[0].1, meta);
}

/// The host may vanish at any step of a cell. Finished cells stay whole; the others are open and measured again.
#[test]
fn a_run_cut_off_anywhere_resumes_with_its_finished_cells() {
    type Step = fn(&Draft);
    let steps: &[(&str, Step)] = &[
        ("nothing", |_| {}),
        ("started", |d| d.start_cell(2).unwrap()),
        ("files", |d| {
            d.start_cell(2).unwrap();
            put(d, 2, "histogram-0.hdr", b"x").unwrap();
        }),
        ("infra", |d| {
            d.start_cell(2).unwrap();
            d.fail_cell(2, "the agent vanished").unwrap();
        }),
        ("checkpoint", |d| {
            d.start_cell(2).unwrap();
            checkpoint(d, 2, &record(under("busy")), &[("blocks-0.csv".into(), b"x".to_vec())]).unwrap();
        }),
        ("interrupted", |d| {
            d.start_cell(2).unwrap();
            let mut record = record(under("busy"));
            record.outcome = Outcome::Interrupted;
            d.finish_cell(2, &record, &HostFacts::default()).unwrap();
        }),
    ];
    for (step, until) in steps {
        let store = Store::new();
        let draft = store.draft();
        measure(&draft, 1, cell());
        until(&draft);
        drop(draft);
        let run = store.read();
        match (*step, &run.cells[1].state) {
            ("nothing", CellState::Pending) | ("started" | "files", CellState::Open) => {}
            ("infra", CellState::Infra(reason)) => assert_eq!(reason, "the agent vanished"),
            ("checkpoint", CellState::Measured(record)) => assert_eq!(record.outcome, Outcome::Checkpoint),
            ("interrupted", CellState::Measured(record)) => assert_eq!(record.outcome, Outcome::Interrupted),
            (step, state) => panic!("{step}: {state:?}"),
        }
        let (draft, todo) = reopen(&run).unwrap();
        assert_eq!(todo, [2], "{step}");
        measure(&draft, 2, under("busy"));
        draft.finish(Verdict::Pass, false, "").unwrap();
        let run = store.read();
        assert_eq!(run.problems, Vec::<String>::new(), "{step}");
        assert_eq!(run.cells.iter().filter(|cell| is_done(cell)).count(), 2, "{step}");
        let kept = run.dir.join("abandoned").exists();
        assert_eq!(kept, matches!(*step, "checkpoint" | "interrupted"), "{step}");
    }
}

#[test]
fn a_checkpoint_is_replaced_whole_and_goes_with_the_record() {
    let store = Store::new();
    let draft = store.draft();
    draft.start_cell(1).unwrap();
    let mut partial = record(cell());
    for minute in 1..=3u64 {
        partial.elapsed_ns = minute;
        checkpoint(&draft, 1, &partial, &[("blocks-0.csv".into(), vec![minute as u8])]).unwrap();
        let stored = &store.read().cells[0];
        assert_eq!(stored.record().unwrap().elapsed_ns, minute);
        assert_eq!(fs::read(stored.dir.join("blocks-0.csv")).unwrap(), [minute as u8]);
    }
    // Interrupted between the two renames: the old checkpoint is aside, the new one not yet in place.
    let dir = cell_dir(&draft.dir, 1);
    fs::rename(dir.join("checkpoint"), dir.join("checkpoint.old")).unwrap();
    assert_eq!(store.read().cells[0].record().unwrap().elapsed_ns, 3);
    // Interrupted while the next one was being written: it has no record yet and does not count.
    fs::create_dir(dir.join("checkpoint.new")).unwrap();
    assert_eq!(store.read().cells[0].record().unwrap().elapsed_ns, 3);
    partial.elapsed_ns = 4;
    checkpoint(&draft, 1, &partial, &[]).unwrap();
    assert_eq!(store.read().cells[0].record().unwrap().elapsed_ns, 4);
    draft.finish_cell(1, &record(cell()), &HostFacts::default()).unwrap();
    assert_eq!(store.read().cells[0].record().unwrap().outcome, Outcome::Complete);
    let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn one_process_writes_a_run() {
    let store = Store::new();
    let draft = store.draft();
    let error = reopen(&store.read()).unwrap_err().to_string();
    assert!(error.contains("being written"), "{error}");
    drop(draft);
    assert!(reopen(&store.read()).is_ok());
}

#[test]
fn a_targets_file_stays_in_its_cell() {
    let store = Store::new();
    let draft = store.draft();
    draft.start_cell(1).unwrap();
    for name in ["", "../x", "a/b", ".hidden", "record.json", "checkpoint", "checkpoint.new", "host.json"] {
        assert!(put(&draft, 1, name, b"x").is_err(), "{name}");
    }
    assert!(draft.start_cell(1).is_err());
}

/// A cell that is not available here has its reason in `run.json`, and no directory.
#[test]
fn a_skipped_cell_needs_no_directory() {
    let store = Store::new();
    let mut contents = contents();
    contents.cells[1].skipped = Some("no such kernel".into());
    let draft = Draft::create(store.0.path(), New { contents, ..new() }).unwrap();
    measure(&draft, 1, cell());
    draft.finish(Verdict::Pass, false, "").unwrap();
    let run = store.read();
    assert_eq!((run.problems.len(), run.cells[1].skipped()), (0, Some("no such kernel")));
    assert_eq!(run.skips(), [("no such kernel", 1)]);
    assert!(is_done(&run.cells[1]) && !run.cells[1].dir.exists());
}

/// A small file system that is unmounted when this is dropped.
struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    fn mount(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "latido-test"]).arg(dir.path());
        mount.stderr(std::process::Stdio::null()).status().is_ok_and(|status| status.success()).then(|| Self(dir))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_leaves_finished_cells_whole() {
    let Some(disk) = Tmpfs::mount("256k") else {
        return skip("a full disk under a store", Need::Namespaces, "no permission to mount a small file system");
    };
    let draft = Draft::create(disk.0.path(), new()).unwrap();
    measure(&draft, 1, cell());
    draft.start_cell(2).unwrap();
    checkpoint(&draft, 2, &record(under("busy")), &[("blocks-0.csv".into(), vec![7; 1000])]).unwrap();
    let error = put(&draft, 2, "histogram-0.hdr", &vec![7; 400 << 10]).unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("histogram-0.hdr") && text.contains("--store"), "{text}");
    assert!(checkpoint(&draft, 2, &record(under("busy")), &[("blocks-0.csv".into(), vec![7; 400 << 10])]).is_err());
    drop(draft);
    let run = read(&find(disk.0.path(), "last").unwrap()).unwrap();
    assert_eq!(run.problems, Vec::<String>::new());
    assert!(is_done(&run.cells[0]));
    assert_eq!(run.cells[1].record().unwrap().outcome, Outcome::Checkpoint);
}
