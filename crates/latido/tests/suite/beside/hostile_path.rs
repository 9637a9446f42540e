//! latido does not start an attacker's program that is first in PATH as root. It starts a sound one, and the record names it.

use crate::common;
#[allow(dead_code, reason = "others use the rest of it")]
use crate::common::attacker;
use crate::common::behind;

use behind::Behind;
use common::stderr;
use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

/// The attacker's ids, for chown.
const THEIRS: Option<u32> = Some(attacker::UID);

/// Gives others a way to replace a program in a directory.
type Spoil = fn(&Path, &Path);

/// Makes a stress-ng that plants a file and puts no load on the machine.
fn fake(dir: &Path, planted: &Path) -> PathBuf {
    let path = dir.join("stress-ng");
    let text = format!(
        "#!/bin/sh\n: > {}\necho 'stress-ng, version 0.0'\n[ \"$1\" = --version ] || exec sleep 60\n",
        planted.display()
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn first_in_path(dir: &Path) -> String {
    format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", dir.display())
}

fn run(behind: &Behind, load: &str, dir: &Path) -> Command {
    let mut command = behind.latido(["run", "null", "samples=10", "--load", load, "--no-report", "--json"]);
    command.env("PATH", first_in_path(dir));
    command
}

/// A directory for root's programs: near the top of the file system, not below a directory that every user may write to.
fn roots_own() -> tempfile::TempDir {
    tempfile::tempdir_in("/run").unwrap()
}

/// Each way in which others may have put the program there: their own file, their own directory, a directory for every user, and a link
/// from there. The error names the place.
#[test]
fn a_program_of_others_is_refused_by_name() {
    let Some(behind) = Behind::new("programs of others") else { return };
    let world = &behind.world;
    let planted = world.path("planted");
    for (what, spoil) in [
        ("their file", (|_, file| chown(file, THEIRS, THEIRS).unwrap()) as Spoil),
        ("everybody's file", |_, file| fs::set_permissions(file, fs::Permissions::from_mode(0o777)).unwrap()),
        ("a file of their group", |_, file| {
            chown(file, Some(0), THEIRS).unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o775)).unwrap();
        }),
        ("their directory", |dir, _| chown(dir, THEIRS, THEIRS).unwrap()),
        ("everybody's directory", |dir, _| fs::set_permissions(dir, fs::Permissions::from_mode(0o1777)).unwrap()),
        ("a link", |dir, file| {
            let moved = dir.with_extension("moved");
            fs::create_dir(&moved).unwrap();
            fs::rename(file, moved.join("stress-ng")).unwrap();
            chown(&moved, THEIRS, THEIRS).unwrap();
            std::os::unix::fs::symlink(moved.join("stress-ng"), file).unwrap();
        }),
    ] {
        let top = roots_own();
        let dir = top.path().join("bin");
        fs::create_dir(&dir).unwrap();
        let file = fake(&dir, &planted);
        spoil(&dir, &file);
        for load in ["stress-ng:cpu=1", "stress-cpu", "command:stress-ng"] {
            let output = run(&behind, load, &dir).output().unwrap();
            let said = stderr(&output);
            assert!(!planted.exists(), "{what}: {load} started it: {said}");
            assert_eq!(output.status.code(), Some(1), "{what}: {load}: {said}");
            let named = said.contains(&file.display().to_string()) && said.contains("other users may replace");
            assert!(named && said.contains("chown"), "{what}: {said}");
        }
    }
}

/// latido starts a sound program, and the record contains its whole path and its hash.
#[test]
fn a_sound_program_is_started_and_recorded() {
    let Some(behind) = Behind::new("programs of root's") else { return };
    let world = &behind.world;
    let (planted, top) = (world.path("planted"), roots_own());
    fs::set_permissions(top.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = fake(top.path(), &planted);
    let document = common::json(&run(&behind, "stress-ng:cpu=1", top.path()).output().unwrap(), 0);
    assert!(planted.exists());
    let sum = Command::new("sha256sum").arg(&file).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    let expected = serde_json::json!([{
        "name": "stress-ng", "path": file.canonicalize().unwrap(), "sha256": sum.split_whitespace().next().unwrap()
    }]);
    assert_eq!(document["records"][0]["load"][0]["programs"], expected);
}

/// A program that a trusted program starts by name alone is not taken from a directory of others.
#[test]
fn a_program_does_not_find_those_of_others() {
    let Some(behind) = Behind::new("programs of others") else { return };
    let world = &behind.world;
    let (planted, top) = (world.path("planted"), roots_own());
    fake(top.path(), &planted);
    chown(top.path(), Some(attacker::UID), Some(attacker::UID)).unwrap();
    let script = world.file("load.sh", "stress-ng --version\nexec sleep 60\n");
    let output = run(&behind, &format!("command:sh {}", script.display()), top.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!planted.exists(), "it was started by a trusted shell");
}

/// A person may name their own program by its path; latido refuses one that others may change.
#[test]
fn a_program_named_by_its_path_is_the_persons() {
    let Some(behind) = Behind::new("a person's program") else { return };
    let world = &behind.world;
    let program = world.file("mine.sh", "#!/bin/sh\nexec sleep 60\n");
    let load = format!("command:{}", program.display());
    for (owner, mode, expected) in [(attacker::UID, 0o755, 0), (attacker::UID, 0o757, 1), (attacker::UID + 1, 0o755, 1)]
    {
        chown(&program, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        let output = run(&behind, &load, Path::new("/usr/bin")).output().unwrap();
        assert_eq!(output.status.code(), Some(expected), "{owner} {mode:o}: {}", stderr(&output));
    }
}
