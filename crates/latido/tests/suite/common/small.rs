//! The binary under test: the file that `LATIDO_UNDER_TEST` names, or a copy of the one that cargo built, without debug information. Guests
//! load it into memory, and tests send it to boards.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::UNIX_EPOCH,
};

/// Returns the binary that `LATIDO_UNDER_TEST` names, else the small copy of the one that cargo built, else the built one if `strip` is not
/// installed. The two machines over ssh took 380 s of processor time with the build for tests, and 194 s with the static file that people
/// download.
pub fn latido() -> &'static PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let named = || std::env::var_os("LATIDO_UNDER_TEST").map(PathBuf::from);
    MADE.get_or_init(|| named().unwrap_or_else(built))
}

/// Returns the small copy of the binary that cargo built. Only this build contains the faults that tests plant (`LATIDO_FAULT`).
pub fn built() -> PathBuf {
    made().unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_latido")))
}

/// Makes the copy. All tests of one build share it: its name contains the time of the build.
fn made() -> Option<PathBuf> {
    let built = fs::metadata(env!("CARGO_BIN_EXE_latido")).unwrap();
    let nanos = built.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let place = folder.join(format!("small-{nanos}")).join("latido");
    if place.is_file() {
        return Some(place);
    }
    // Two tests may make it at the same time: each makes one, and the first gets the name.
    let new = tempfile::tempdir_in(&folder).unwrap();
    let copy = new.path().join("latido");
    let stripped = Command::new("strip").arg("-o").arg(&copy).arg(env!("CARGO_BIN_EXE_latido")).status();
    if !stripped.is_ok_and(|status| status.success()) {
        return None;
    }
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    // A second copy never replaces the first, which may be running.
    fs::hard_link(&copy, &place).or_else(|error| if place.is_file() { Ok(()) } else { Err(error) }).unwrap();
    remove_older(&folder, &place);
    Some(place)
}

/// Removes the copies of older builds.
fn remove_older(folder: &Path, place: &Path) {
    let copies = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("small-"));
    for old in copies.filter(|path| named(path) && Some(path.as_path()) != place.parent()) {
        let _ = fs::remove_dir_all(old);
    }
}
