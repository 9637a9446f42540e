//! What a store lists: its runs, found by name or as the last one, whatever else the store contains.

use super::*;

#[test]
fn a_store_behind_a_link_works() {
    let store = Store::new();
    let link = store.0.path().join("link");
    let real = store.0.path().join("real");
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let draft = Draft::create(&link, new()).unwrap();
    measure(&draft, 1, cell());
    assert!(read(&find(&real, "last").unwrap()).unwrap().cells[0].record().is_some());
}

#[test]
fn foreign_things_in_the_store_are_reported_beside_the_runs() {
    let store = Store::new();
    drop(store.draft());
    let runs = store.0.path().join("runs");
    fs::create_dir(runs.join("holiday")).unwrap();
    fs::write(runs.join("notes.txt"), "").unwrap();
    std::os::unix::fs::symlink("/nowhere", runs.join("dangling")).unwrap();
    let listing = list_runs(store.0.path()).unwrap();
    assert_eq!((listing.runs.len(), listing.problems.len()), (1, 3), "{:?}", listing.problems);
    assert!(read(&runs.join("holiday")).is_err());
    assert!(list_runs(&store.0.path().join("nothing")).unwrap().runs.is_empty());
}

/// Runs that start within one second have ids that do not show their order; the last one is still found.
#[test]
fn the_last_run_is_the_one_that_started_last() {
    let store = Store::new();
    for _ in 0..5 {
        let draft = store.draft();
        assert_eq!(find(store.0.path(), "last").unwrap(), draft.dir);
    }
}

/// `list runs` lists 2,000 runs. The test prints the time but does not judge it.
#[test]
fn two_thousand_runs_are_listed() {
    let store = Store::new();
    let draft = store.draft();
    let runs = store.0.path().join("runs");
    for k in 0..2_000 {
        let dir = runs.join(format!("20251121T{k:06}Z-quick-0000"));
        fs::create_dir(&dir).unwrap();
        fs::copy(draft.dir.join("run.json"), dir.join("run.json")).unwrap();
    }
    let start = std::time::Instant::now();
    let listing = list_runs(store.0.path()).unwrap();
    println!("2001 runs listed in {:?}", start.elapsed());
    assert_eq!(listing.runs.len(), 2_001);
    assert_eq!(listing.runs[0].0, draft.dir);
}
