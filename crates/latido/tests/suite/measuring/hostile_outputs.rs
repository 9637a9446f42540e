//! Something else is in the place of a report or a figure: latido leaves it as it is, stops at once and says so.

use crate::common::attacker;
use crate::common::behind;
use crate::common::{self, Need};

use behind::{Behind, owner, tree};
use common::{World, installed, root, skip, stderr};
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output, Stdio},
};

const RUN: [&str; 4] = ["run", "null", "--policy", "other"];

/// Runs a command that must end by itself.
fn ended(mut command: Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    common::ended(child, &format!("{command:?}"))
}

/// A world with a run, and nothing in the working directory except its store.
fn measured() -> World {
    let world = World::new();
    assert_eq!(world.run(RUN.into_iter().chain(["--no-report"])).status.code(), Some(0));
    world
}

/// The report's name belongs to a link, a FIFO or a directory: every command refuses it before it writes anything.
#[test]
fn only_a_file_is_replaced() {
    let world = measured();
    let precious = world.file("precious", "root's");
    symlink(&precious, world.path("link.html")).unwrap();
    symlink(world.path("nothing"), world.path("dangling.html")).unwrap();
    assert!(Command::new("mkfifo").arg(world.path("pipe.html")).status().unwrap().success());
    fs::create_dir(world.path("dir.html")).unwrap();
    let before = tree(world.dir.path());
    for (name, what) in
        [("link.html", "a link"), ("dangling.html", "a link"), ("pipe.html", "a pipe"), ("dir.html", "a directory")]
    {
        for format in ["html", "csv"] {
            let told = ended(world.latido(["report", "last", "-o", name, "--format", format]));
            assert_eq!(told.status.code(), Some(1), "{name}: {}", stderr(&told));
            assert!(stderr(&told).contains(name) && stderr(&told).contains(what), "{name}: {}", stderr(&told));
        }
        // If the user named it, latido refuses it before it measures.
        let told = ended(world.latido(RUN.into_iter().chain(["-o", name])));
        assert_eq!(told.status.code(), Some(1), "{name}: {}", stderr(&told));
        assert_eq!(world.runs().len(), 1, "{name}: {}", stderr(&told));
        // If the user did not name it, the run still counts.
        fs::rename(world.path(name), world.path("report.html")).unwrap();
        let told = ended(world.latido(RUN));
        assert_eq!(told.status.code(), Some(0), "{name}: {}", stderr(&told));
        assert!(stderr(&told).contains("no report") && stderr(&told).contains(what), "{name}: {}", stderr(&told));
        fs::rename(world.path("report.html"), world.path(name)).unwrap();
        fs::remove_dir_all(&world.runs()[1]).unwrap();
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "root's");
    let runs = |path: &std::path::PathBuf| path.starts_with("store") || path.starts_with("state");
    let left = |tree: Vec<std::path::PathBuf>| tree.into_iter().filter(|path| !runs(path)).collect::<Vec<_>>();
    assert_eq!(left(tree(world.dir.path())), left(before));
}

/// latido refuses to write a figure through a link, and leaves the target of the link alone.
#[test]
fn figures_follow_no_link() {
    let world = measured();
    let precious = world.file("precious", "root's");
    fs::create_dir(world.path("figures")).unwrap();
    symlink(&precious, world.path("figures/summary.csv")).unwrap();
    let told = ended(world.latido(["report", "last", "--figures", "figures"]));
    assert_eq!(told.status.code(), Some(1), "{}", stderr(&told));
    assert!(stderr(&told).contains("summary.csv") && stderr(&told).contains("a link"), "{}", stderr(&told));
    assert_eq!(fs::read_to_string(&precious).unwrap(), "root's");
}

/// Behind sudo latido refuses a link to a file of root's, and cannot write a report into a directory of root's.
#[test]
fn behind_sudo_a_report_is_the_persons() {
    let Some(behind) = Behind::new("reports behind sudo") else { return };
    let precious = behind.world.file("precious", "root's");
    behind::mode(&precious, 0o600);
    behind.script(&format!("ln -s {} $HOME/report.html", precious.display()));
    let run = ended(behind.latido(RUN));
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    assert!(stderr(&run).contains("no report"), "{}", stderr(&run));
    let roots = behind.roots(0o755);
    behind.script(&format!("ln -s {} $HOME/out", roots.display()));
    for words in
        [&["report", "last"][..], &["report", "last", "-o", "out/new.html"], &["report", "last", "--figures", "out"]]
    {
        let told = ended(behind.latido(words.iter().copied()));
        assert_eq!(told.status.code(), Some(1), "{words:?}: {}", stderr(&told));
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "root's");
    assert_eq!(tree(&roots), [Path::new("001"), Path::new("001/precious")]);
    behind.script("rm $HOME/report.html; echo '<!doctype html><title>latido · mine</title>' > $HOME/report.html");
    let told = ended(behind.latido(["report", "last"]));
    assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
    assert_eq!(owner(&behind.home().join("report.html")), (attacker::UID, attacker::UID));
}

/// If -o does not name the file, latido replaces only its own reports.
#[test]
fn a_run_replaces_reports_alone() {
    let world = World::new();
    let report = world.path("report.html");
    for (old, replaced) in [
        ("", true),
        ("<!doctype html>\nmy thesis", false),
        ("<!doctype html>\n<html lang=\"en\">\n<head>\n<title>latido · x</title>", true),
    ] {
        fs::write(&report, old).unwrap();
        let told = world.run(RUN);
        assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
        assert_eq!(fs::read_to_string(&report).unwrap() != old, replaced, "{old}: {}", stderr(&told));
        assert_eq!(stderr(&told).contains("no report"), !replaced, "{old}: {}", stderr(&told));
    }
    fs::write(&report, "my thesis").unwrap();
    let told = world.run(RUN.into_iter().chain(["-o", "report.html"]));
    assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
    assert_ne!(fs::read_to_string(&report).unwrap(), "my thesis");
}

/// Without room for the new report the old one stays complete, and latido leaves nothing next to it.
#[test]
fn a_full_disk_leaves_the_old_report() {
    let what = "a report on a full disk";
    if !root(what) || !installed("unshare", what) {
        return;
    }
    let world = measured();
    let disk = world.path("disk");
    fs::create_dir(&disk).unwrap();
    assert_eq!(world.run(["report", "last", "-o", "old.html"]).status.code(), Some(0));
    let script = "mount -t tmpfs -o size=2m none disk || exit 77
        cp old.html disk/report.html; cp old.html disk/summary.csv; dd if=/dev/zero of=disk/rest bs=4k 2>/dev/null
        $LATIDO report last -o disk/report.html; echo $? > first
        $LATIDO report last -o other.html --figures disk; echo $? > second
        cmp old.html disk/report.html && cmp old.html disk/summary.csv && ls -A disk | sort > left";
    let mut shell = Command::new("unshare");
    shell.args(["-m", "--propagation", "private", "sh", "-c", script]).current_dir(world.dir.path());
    shell
        .env_remove("SUDO_UID")
        .env("LATIDO_STORE", world.store())
        .env("LATIDO_STATE", world.state())
        .env("LATIDO", env!("CARGO_BIN_EXE_latido"));
    let told = ended(shell);
    if told.status.code() == Some(77) {
        return skip(what, Need::Namespaces, "no permission to mount a small file system");
    }
    assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
    for name in ["first", "second"] {
        assert_eq!(fs::read_to_string(world.path(name)).unwrap(), "1\n", "{}", stderr(&told));
    }
    assert!(stderr(&told).contains("No space left on device"), "{}", stderr(&told));
    assert_eq!(fs::read_to_string(world.path("left")).unwrap(), "report.html\nrest\nsummary.csv\n");
}

/// A stranger's record may have labels of any length: every figure has a valid file name, and a different one.
#[test]
fn long_labels_have_files() {
    let world = World::new();
    assert_eq!(world.run(RUN.into_iter().chain(["--repeat", "2", "--no-report"])).status.code(), Some(0));
    for (number, end) in [("001", "a"), ("002", "b")] {
        let path = world.runs()[0].join("cells").join(number).join("record.json");
        let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        record["series"][0]["labels"] = serde_json::json!({ "level": "x".repeat(300) + end });
        fs::write(&path, record.to_string()).unwrap();
    }
    let told = world.run(["report", "last", "--figures", "figures"]);
    assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
    let figures = tree(&world.path("figures"));
    let pictures = |path: &&std::path::PathBuf| path.to_str().unwrap().ends_with("-histogram.csv");
    assert_eq!(figures.iter().filter(pictures).count(), 2, "{figures:?}");
}
