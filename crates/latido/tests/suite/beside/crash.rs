//! SIGKILL of host, supervisor and measuring process at every step of a cell: nothing stays behind, finished cells stay
//! as they are, and the run goes on where it was.

use crate::common;

use common::{World, stderr};
use std::{fs, os::unix::process::ExitStatusExt};

/// Two cells, each with a load of latido and one of a program's several processes, quick to run: the probe needs no permission,
/// and the loads take next to no processor time.
const PLAN: &str = r#"
schema = 1
name = "crash"
order = "as-written"
seed = 7
[[group]]
probe = [{ name = "null", samples = 100, hold = "150ms" }, { name = "null", samples = 200, hold = "150ms" }]
load = [{ id = "still", use = [
    { name = "interrupts", rate = 10, timers = 1 },
    { name = "command", argv = ["sh", "-c", "sleep 100 & sleep 100 & wait"] },
] }]
scheduling = [{ policy = "other" }]
duration = "150ms"
warmup = "0ns"
"#;

/// Kills `role` at its points 1, 2, 3, ... until a run passes through all of them unharmed.
fn kill_at_every_point(role: &str) {
    let mut point = 0;
    loop {
        point += 1;
        assert!(point < 300, "{role} has no end of points");
        let world = World::new();
        let plan = world.file("crash.toml", PLAN);
        let plan = plan.to_str().unwrap();
        let fault = format!("{role}:{point}");
        let output = world.latido(["run", plan, "--json"]).env("LATIDO_FAULT", &fault).output().unwrap();
        let unharmed = output.status.code() == Some(0);
        world.nothing_left(&format!("after SIGKILL at {fault}"));
        if unharmed {
            assert!(point > 3, "{role} passed only {point} points: the test proves nothing");
            return;
        }
        if role == "host" {
            assert_eq!(output.status.signal(), Some(9), "{fault}: {}", common::stderr(&output));
        } else {
            assert_eq!(output.status.code(), Some(1), "{fault}: {}", common::stderr(&output));
        }
        // A journal may stay behind only if the host itself was killed; the next run settles it.
        let runs = common::runs_of(&world);
        if runs.is_empty() {
            // Before the first cell nothing is begun, and nothing is stored.
            assert_eq!(role, "agent", "{fault}");
            assert!(!world.state().join("journal.jsonl").exists(), "{fault}");
            continue;
        }
        assert_eq!(runs.len(), 1, "{fault}");
        let finished = common::records(&runs[0]);
        let resumed = world.run(["run", "--resume", "last", "--json"]);
        let document = common::json(&resumed, 0);
        assert_eq!(document["records"].as_array().unwrap().len(), 2, "{fault}");
        for (path, bytes) in finished {
            assert_eq!(fs::read(&path).unwrap(), bytes, "{fault} changed {}", path.display());
        }
        world.nothing_left(&format!("after the run that followed {fault}"));
        assert!(!world.state().join("journal.jsonl").exists(), "{fault}: journal not settled");
    }
}

#[test]
fn host_killed_at_every_step() {
    kill_at_every_point("host");
}

#[test]
fn supervisor_killed_at_every_step() {
    kill_at_every_point("agent");
}

#[test]
fn measuring_process_killed_at_every_step() {
    kill_at_every_point("measure");
}

/// A finished run asked to resume stays as it is.
#[test]
fn a_finished_run_keeps_its_verdict() {
    let world = World::new();
    let output = world.run(["run", "null", "--policy", "other", "--duration", "10ms", "--json"]);
    common::json(&output, 0);
    let meta = world.runs()[0].join("run.json");
    let before = fs::read(&meta).unwrap();
    let again = world.run(["run", "--resume", "last", "--json"]);
    assert!(stderr(&again).contains("is finished"), "{}", stderr(&again));
    let document = common::json(&again, 0);
    assert_eq!(document["records"][0]["outcome"]["kind"], "complete", "it is shown as it is");
    assert_eq!(fs::read(&meta).unwrap(), before, "run.json was rewritten");
}
