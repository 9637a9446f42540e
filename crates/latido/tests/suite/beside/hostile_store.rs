//! The person behind sudo tries to turn root's writes against root: links in the store, while root works there.

use crate::common::attacker;
use crate::common::behind;
use crate::common::ssh;
use crate::common::{self, Need};

use behind::{Behind, owner, tree};
use common::{World, skip, stderr};
use std::{fs, os::unix::fs::symlink, process::Stdio};

/// Two cells that take a moment each.
const RUN: [&str; 8] = ["run", "null", "hold=400ms", "--repeat", "2", "--policy", "other", "--no-report"];

/// Any directory of a run may become a link while root writes there: latido makes and removes nothing in root's directories, and the run
/// names the path that it was refused.
#[test]
fn links_in_the_store_lead_root_nowhere() {
    let Some(behind) = Behind::new("links in the store behind sudo") else { return };
    for bits in [0o700, 0o755] {
        let roots = behind.roots(bits);
        let before = tree(&roots);
        for swapped in ["cells/001", "cells"] {
            let mut run = behind.latido(RUN).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            behind.script(&format!(
                "until set -- $STORE/runs/*/cells/001 && [ -e \"$1\" ]; do sleep 0.01; done; \
                 cd $STORE/runs/*/ && mv {swapped} aside && ln -s {} {swapped}",
                roots.display()
            ));
            let status = run.wait().unwrap();
            let mut said = String::new();
            std::io::Read::read_to_string(&mut run.stderr.take().unwrap(), &mut said).unwrap();
            assert_eq!(tree(&roots), before, "{swapped} -> {bits:o}: {said}");
            assert_eq!(status.code(), Some(1), "{swapped} -> {bits:o}: {said}");
            assert!(said.contains("Permission denied") && said.contains("cells/00"), "{said}");
            behind.script("rm -r $STORE");
        }
        behind.script(&format!("mkdir $STORE && ln -s {} $STORE/runs", roots.display()));
        let run = behind.run(RUN);
        assert_eq!(tree(&roots), before, "runs -> {bits:o}: {}", stderr(&run));
        assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
        assert!(stderr(&run).contains("Permission denied"), "{}", stderr(&run));
        behind.script("rm -r $STORE");
    }
    behind.world.nothing_left("refused runs");
}

/// A resumed run removes what was not measured, but never through a link, neither behind sudo nor as root itself.
#[test]
fn resume_deletes_nothing_through_links() {
    let Some(behind) = Behind::new("a resumed run behind sudo") else { return };
    let roots = behind.roots(0o755);
    let before = tree(&roots);
    assert_eq!(behind.run(RUN).status.code(), Some(0));
    for swapped in ["cells", "cells/001"] {
        let to = if swapped == "cells" { roots.clone() } else { roots.join("001") };
        let link = format!("cd $STORE/runs/*/ && mv {swapped} aside && ln -s {} {swapped}", to.display());
        behind.script(&link);
        let resume = ["run", "--resume", "last", "--no-report"];
        let alone = behind.world.latido(resume).env("LATIDO_STORE", behind.store()).output().unwrap();
        for told in [behind.run(resume), alone, behind.run(["run", "--resume", "last", "--keep-checkpoints"])] {
            assert_eq!(tree(&roots), before, "{swapped}: {}", stderr(&told));
            assert_eq!(told.status.code(), Some(1), "{swapped}: {}", stderr(&told));
            let said = stderr(&told);
            assert!(said.contains(&format!("{swapped}: a link")), "{said}");
        }
        behind.script(&format!("cd $STORE/runs/*/ && rm {swapped} && mv aside {swapped}"));
    }
}

/// A person's link to a file that only root may read: latido does not show the file to the person.
#[test]
fn what_only_root_may_read_is_not_shown() {
    let Some(behind) = Behind::new("links to root's files behind sudo") else { return };
    let secret = behind.world.file("secret", "name = \"SECRETWORD\"\nSECRETWORD\n");
    behind::mode(&secret, 0o600);
    assert_eq!(behind.run(["run", "null", "--policy", "other", "--no-report"]).status.code(), Some(0));
    behind.script(&format!("cd $STORE/runs/*/ && rm plan.toml && ln -s {} plan.toml", secret.display()));
    behind.script(&format!("ln -s {} $HOME/plan.toml", secret.display()));
    for words in [
        &["show", "--full", "last"][..],
        &["show", "last", "--json"],
        &["report", "last", "-o", "page.html"],
        &["report", "last", "--format", "json"],
        &["run", "plan.toml", "--no-report"],
    ] {
        let told = behind.run(words.iter().copied());
        let page = fs::read_to_string(behind.home().join("page.html")).unwrap_or_default();
        let all = format!("{}{}{page}", String::from_utf8_lossy(&told.stdout), stderr(&told));
        assert!(!all.contains("SECRETWORD") && !all.trim().is_empty(), "{words:?}: {all}");
    }
}

/// Everything that a run behind sudo makes belongs to the person, user and group; the agent is still root.
#[test]
fn what_is_made_behind_sudo_belongs_to_the_person() {
    let Some(behind) = Behind::new("what belongs to the person behind sudo") else { return };
    let run = behind.run(["run", "wakeup", "-c", "0", "-d", "200ms"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let report = behind.run(["report", "last", "--figures", "made/figures", "-o", "second.html"]);
    assert_eq!(report.status.code(), Some(0), "{}", stderr(&report));
    let made = tree(&behind.home());
    for name in ["report.html", "second.html", "made/figures/summary.csv", "store/runs"] {
        assert!(made.iter().any(|path| path.ends_with(name)), "{name} of {made:?}");
    }
    for path in made {
        assert_eq!(owner(&behind.home().join(&path)), (attacker::UID, attacker::UID), "{}", path.display());
    }
    let record = common::records(&fs::read_dir(behind.store().join("runs")).unwrap().next().unwrap().unwrap().path());
    let record: serde_json::Value = serde_json::from_slice(&record[0].1).unwrap();
    assert_eq!(record["cell"]["conditions"]["cpus"], "0", "it was measured: {record}");
    assert_eq!(owner(&behind.world.state()).0, 0, "the state directory is root's");
}

/// Without sudo: latido does not resume a run whose cells are a link, and moves and removes nothing.
#[test]
fn a_linked_cell_is_not_taken_up() {
    let world = World::new();
    assert_eq!(world.run(["run", "null", "--policy", "other", "--no-report"]).status.code(), Some(0));
    let cells = world.runs()[0].join("cells");
    let aside = world.path("aside");
    fs::rename(&cells, &aside).unwrap();
    fs::remove_file(aside.join("001/record.json")).unwrap();
    symlink(&aside, &cells).unwrap();
    let before = tree(&aside);
    let told = world.run(["run", "--resume", "last", "--no-report"]);
    assert_eq!(told.status.code(), Some(1), "{}", stderr(&told));
    assert!(stderr(&told).contains("cells: a link"), "{}", stderr(&told));
    assert_eq!(tree(&aside), before);
}

/// The clock was set back: the newest run is still the last one, for `last` and in the list.
#[test]
fn the_last_run_is_the_one_begun_last() {
    let world = World::new();
    let run = || assert_eq!(world.run(["run", "null", "--policy", "other", "--no-report"]).status.code(), Some(0));
    run();
    let first = world.runs()[0].clone();
    let name = first.file_name().unwrap().to_str().unwrap().to_owned();
    let future = format!("20990101{}", &name[8..]);
    // A store as an older latido wrote it, under a clock that was ahead.
    let _ = fs::remove_file(world.store().join("order"));
    fs::rename(&first, first.with_file_name(&future)).unwrap();
    let last = || {
        let shown = common::json(&world.run(["show", "last", "--json"]), 0);
        shown["run"]["id"].as_str().unwrap().to_owned()
    };
    let manifest = first.with_file_name(&future).join("run.json");
    fs::write(&manifest, fs::read_to_string(&manifest).unwrap().replace(&name, &future)).unwrap();
    assert_eq!(last(), future, "a store without an order goes by the names");
    run();
    let new = world.runs()[1].file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(last(), new);
    run();
    let newer = world.runs()[2].file_name().unwrap().to_str().unwrap().to_owned();
    let listed = common::json(&world.run(["list", "runs", "--json"]), 0);
    let ids: Vec<&str> = listed["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(last(), ids[0]);
    assert_eq!(ids[2], future);
    assert!(ids.contains(&new.as_str()) && ids.contains(&newer.as_str()), "{ids:?}");
    // A run from another machine with a wrong clock is copied in: it changes nothing.
    let copied = future.replace("2099", "2098");
    let copy = std::process::Command::new("cp")
        .arg("-r")
        .arg(manifest.parent().unwrap())
        .arg(first.with_file_name(copied))
        .status();
    assert!(copy.unwrap().success());
    assert_eq!(last(), ids[0]);
    fs::remove_dir_all(first.with_file_name(ids[0])).unwrap();
    assert_eq!(last(), ids[1], "what is gone is not the last");
}

/// Over ssh root connects, behind sudo or not: with root's keys, over a socket of root's.
#[test]
fn behind_sudo_root_connects() {
    let what = "ssh behind sudo";
    let Some(behind) = Behind::new(what) else { return };
    let state = behind.world.state();
    let board = match ssh::Board::start(&[("LATIDO_STATE", &state)]) {
        Ok(board) => board,
        Err(why) => return skip(what, Need::Ssh, &why),
    };
    let agents = behind.world.path("agents").join(std::env::consts::ARCH);
    fs::create_dir_all(&agents).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_latido"), agents.join("latido")).unwrap();
    let _ = std::process::Command::new("strip").arg(agents.join("latido")).status();
    let mut run = behind.latido(["run", "null", "--policy", "other", "--no-report", "--on", "ssh:board"]);
    run.env("LATIDO_SSH_CONFIG", board.config()).env("LATIDO_AGENTS", behind.world.path("agents"));
    // A directory of the person is no place for root's socket.
    let told = run.env("XDG_RUNTIME_DIR", behind.home()).output().unwrap();
    assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
    for path in tree(&behind.home()) {
        assert_eq!(owner(&behind.home().join(&path)), (attacker::UID, attacker::UID), "{}", path.display());
    }
}
