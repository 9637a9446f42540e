//! Damaged runs: latido names what is wrong and reads the rest.

use super::*;
use std::path::Path;

/// Edits a stored JSON file.
fn edit(path: &Path, change: impl Fn(&mut serde_json::Value)) {
    let mut value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

/// Damages a stored run of two measured cells and returns the run as it is then read.
fn damaged(damage: impl Fn(&Path)) -> Run {
    let store = Store::new();
    let draft = store.draft();
    measure(&draft, 1, cell());
    measure(&draft, 2, under("busy"));
    let dir = draft.dir.clone();
    draft.finish(Verdict::Pass, false, "").unwrap();
    damage(&dir);
    let run = store.read();
    // Read the files while the store still exists.
    for stored in &run.cells {
        for series in stored.record().iter().flat_map(|record| &record.series) {
            let _ = series_data(stored, series);
        }
    }
    run
}

#[test]
fn damage_is_reported_and_the_rest_is_read() {
    type Damage = fn(&Path);
    let damages: &[(&str, Damage)] = &[
        ("run.json", |d| fs::write(d.join("run.json"), "{").unwrap()),
        ("run.json", |d| fs::remove_file(d.join("run.json")).unwrap()),
        ("an older latido", |d| edit(&d.join("run.json"), |run| run["schema"] = 1.into())),
        ("record.json", |d| fs::write(d.join("cells/002/record.json"), &b"{\"schema\": 1, \"lat"[..]).unwrap()),
        ("empty", |d| fs::write(d.join("cells/002/record.json"), "").unwrap()),
        ("bytes, more", |d| fs::File::create(d.join("cells/002/record.json")).unwrap().set_len(100 << 20).unwrap()),
        ("not a file", |d| {
            fs::remove_file(d.join("cells/002/record.json")).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, d.join("cells/002/record.json"), 0o600.into()).unwrap();
        }),
        ("schema 99", |d| {
            edit(&d.join("cells/002/record.json"), |record| record["schema"] = 99.into());
        }),
        ("the record is of another cell", |d| {
            edit(&d.join("run.json"), |run| run["cells"][1]["cell"]["seed"] = 43.into());
        }),
        ("it does not list what cell", |d| edit(&d.join("run.json"), |run| run["cells"][1]["measurand"] = 7.into())),
        ("does not know: cells.cell.colour", |d| {
            edit(&d.join("run.json"), |run| run["cells"][1]["cell"]["colour"] = "red".into());
        }),
        ("does not belong to this run", |d| fs::write(d.join("cells/notes.txt"), "").unwrap()),
        ("no such cell", |d| fs::create_dir(d.join("cells/077")).unwrap()),
        ("host.json", |d| fs::write(d.join("cells/001/host.json"), "[]").unwrap()),
        ("does not know: novelty", |d| {
            edit(&d.join("cells/001/record.json"), |record| record["novelty"] = 1.into());
        }),
        ("cells/002", |d| {
            fs::remove_dir_all(d.join("cells/002")).unwrap();
            std::os::unix::fs::symlink("002", d.join("cells/002")).unwrap();
        }),
    ];
    for (word, damage) in damages {
        let run = damaged(damage);
        assert!(run.problems.iter().any(|p| p.contains(word)), "{word}: {:?}", run.problems);
        assert!(run.cells[0].record().is_some(), "{word}");
        assert_eq!(run.damaged, matches!(*word, "run.json" | "an older latido"), "{word}");
    }
}

/// latido can read the measurements without the plan: each record contains its cell and its quantities.
#[test]
fn without_its_plan_a_run_shows_its_records() {
    let run = damaged(|dir| fs::write(dir.join("run.json"), "{").unwrap());
    let cells: Vec<&Cell> = run.cells.iter().map(|stored| &stored.cell).collect();
    assert_eq!(cells, [&cell(), &under("busy")]);
    assert!(run.cells.iter().all(|stored| stored.measurand.yields("latency")));
    let error = reopen(&run).unwrap_err().to_string();
    assert!(error.contains("cannot be resumed") && error.contains("run.json"), "{error}");
}

#[test]
fn broken_data_beside_a_record_names_its_file() {
    let store = Store::new();
    let draft = store.draft();
    measure(&draft, 1, cell());
    for name in ["histogram-0.hdr", "blocks-0.csv", "largest-0.csv"] {
        let path = cell_dir(&draft.dir, 1).join(name);
        let sound = fs::read(&path).unwrap();
        fs::write(&path, "junk").unwrap();
        let run = store.read();
        let error = format!("{:#}", series_data(&run.cells[0], &record(cell()).series[0]).unwrap_err());
        assert!(error.contains(name), "{error}");
        fs::write(&path, sound).unwrap();
    }
    // This file is sound, so only its place is wrong.
    fs::copy(cell_dir(&draft.dir, 1).join("largest-0.csv"), draft.dir.join("largest-0.csv")).unwrap();
    let mut series = record(cell()).series[0].clone();
    series.files.largest = Some("../../largest-0.csv".into());
    let error = format!("{:#}", series_data(&store.read().cells[0], &series).unwrap_err());
    assert!(error.contains("a file named \"../../largest-0.csv\""), "{error}");
}
