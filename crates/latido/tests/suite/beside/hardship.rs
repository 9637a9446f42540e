//! Bad surroundings: no permission, no real-time budget, a full disk, junk plans, a symlinked store. latido uses clear words and the right
//! exit status, and loses nothing.

use crate::common::{self, Need};

use common::{World, installed, root, stderr};
use std::{fs, os::unix::fs::PermissionsExt, process::Command};

/// A short FIFO measurement as arguments.
const FIFO: [&str; 7] = ["run", "wakeup", "period=2ms", "--duration=300ms", "--warmup=50ms", "--no-report", "--json"];

#[test]
fn without_permission_it_measures_and_says_what_is_missing() {
    if !root("a run without permission") || !installed("setpriv", "a run without permission") {
        return;
    }
    let world = World::new();
    // Other users may not be able to read the binary where it is: copy it.
    let binary = world.path("latido");
    fs::copy(env!("CARGO_BIN_EXE_latido"), &binary).unwrap();
    for path in [world.dir.path(), &binary] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&binary).args(FIFO);
    command.env("LATIDO_STORE", world.store()).env("LATIDO_STATE", world.state()).current_dir(world.dir.path());
    let output = command.output().unwrap();
    let document = common::json(&output, 3);
    let said = stderr(&output);
    assert!(said.contains("rtprio") || said.contains("CAP_SYS_NICE") || said.contains("limits.conf"), "{said}");
    let record = &document["records"][0];
    assert!(record["quality"]["policy_refused"].is_string(), "the record must say that the policy was refused");
    assert!(record["series"][0]["count"].as_u64().unwrap() > 50, "it goes on as far as it can");
}

#[test]
fn a_group_without_realtime_budget_is_named() {
    // cgroup v1 with RT group scheduling: a new group has no real-time budget at all.
    let group = std::path::Path::new("/sys/fs/cgroup/cpu").join(format!("latido-test-{}", std::process::id()));
    if !root("a group without real-time budget") {
        return;
    }
    if fs::create_dir(&group).is_err() || !group.join("cpu.rt_runtime_us").exists() {
        let _ = fs::remove_dir(&group);
        common::skip(
            "a group without real-time budget",
            Need::ControlGroups,
            "no cgroup v1 cpu controller with RT group scheduling here",
        );
        return;
    }
    let world = World::new();
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$0\" \"$@\"", group.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_latido")]).args(FIFO);
    command.env("LATIDO_STORE", world.store()).env("LATIDO_STATE", world.state()).current_dir(world.dir.path());
    let output = command.output().unwrap();
    world.nothing_left("in the group");
    fs::remove_dir(&group).unwrap();
    let document = common::json(&output, 3);
    let refused = document["records"][0]["quality"]["policy_refused"].as_str().unwrap().to_string();
    assert!(refused.contains("rt_runtime"), "the group's budget must be named as the cause: {refused}");
}

#[test]
fn a_full_disk_prints_what_was_measured_and_breaks_nothing() {
    if !root("a full disk") {
        return;
    }
    let world = World::new();
    fs::create_dir(world.store()).unwrap();
    let store = world.store();
    let store = store.to_str().unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=800k", "tmpfs", store]).status();
    if !mounted.is_ok_and(|status| status.success()) {
        common::skip("a full disk", Need::Namespaces, "no tmpfs may be mounted here");
        return;
    }
    let plan = world.file(
        "full.toml",
        "schema = 1\nname = \"full\"\nseed = 1\norder = \"as-written\"\n[[group]]\nprobe = [{ name = \"null\", samples = 1000 }]\n\
         load = [\"none\"]\nscheduling = [{ policy = \"other\" }]\nduration = \"10ms\"\nwarmup = \"0ns\"\nrepeat = 400\n",
    );
    let output = world.run(["run", plan.to_str().unwrap(), "--no-report"]);
    let said = stderr(&output);
    let runs = world.runs();
    let whole = common::records(&runs[0]);
    let listed = world.run(["show", "--full", "last"]);
    let unmounted = Command::new("umount").arg(store).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("latency"), "the measured figures are printed: {said}");
    assert!(!whole.is_empty(), "some cells were stored before");
    for (path, bytes) in whole {
        serde_json::from_slice::<serde_json::Value>(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    assert_eq!(listed.status.code(), Some(3), "an unfinished run is inconclusive: {}", stderr(&listed));
}

/// latido treats a limit on the size of files like a full disk: the error names the file, and nothing is left that disturbs later listings.
#[test]
fn a_limit_on_the_size_of_files_is_named_and_leaves_nothing() {
    let world = World::new();
    let limited = |blocks: &str, words: &[&str]| {
        let latido = world.latido(words.iter().copied());
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")])
            .arg(env!("CARGO_BIN_EXE_latido"))
            .args(words);
        shell.envs(latido.get_envs().filter_map(|(key, value)| Some((key, value?)))).current_dir(world.dir.path());
        let output = shell.output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("raise the limit (ulimit -f)") && said.contains(world.store().to_str().unwrap()),
            "{said}"
        );
        said
    };
    limited("1", &["run", "null", "samples=100", "--no-report"]);
    let listed = world.run(["list", "runs"]);
    assert!(listed.status.success() && !stderr(&listed).contains("warning"), "{}", stderr(&listed));
    // If a file cannot be stored, an import leaves no run behind, wherever it fails.
    let runs = world.runs().len();
    let rows: String = (0..9_000).map(|at| format!("{at}.5\n")).collect();
    let samples = world.file("samples.csv", &format!("value_us\n{rows}"));
    limited("1", &["import", samples.to_str().unwrap()]);
    assert_eq!(world.runs().len(), runs);
    let said = limited("64", &["import", samples.to_str().unwrap()]);
    assert!(said.contains("nothing was imported") && !said.contains("the others"), "{said}");
    assert_eq!(world.runs().len(), runs);
}

#[test]
fn a_junk_plan_of_100_megabytes_is_refused_unread() {
    let world = World::new();
    let path = world.path("junk.toml");
    let file = fs::File::create(&path).unwrap();
    file.set_len(100 << 20).unwrap();
    // A process that reads the whole file needs more than 64 MiB (RLIMIT_DATA), so the limit ends it.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -d 65536 && exec \"$0\" run \"$1\"", env!("CARGO_BIN_EXE_latido")]).arg(&path);
    command.env("LATIDO_STORE", world.store()).env("LATIDO_STATE", world.state()).current_dir(world.dir.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("junk.toml") && said.contains("larger than 1 MiB, so it is not a plan"), "{said}");
    assert!(world.runs().is_empty(), "nothing was started");
}

#[test]
fn a_symlinked_store_is_used_as_it_is() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, world.store()).unwrap();
    let output = world.run(["run", "null", "--policy", "other", "--duration", "10ms", "--no-report", "--json"]);
    common::json(&output, 0);
    let runs = fs::read_dir(elsewhere.join("runs")).unwrap().flatten();
    assert_eq!(runs.filter(|e| e.path().join("run.json").exists()).count(), 1);
    let shown = world.run(["show", "--full", "last"]);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
}
