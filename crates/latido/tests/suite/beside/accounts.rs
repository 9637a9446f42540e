//! What the record states of a load's work, loads in difficult surroundings, and the command line of loads.

use crate::common::{self, Need};

use common::{World, installed, loads::works_by, root, skip, stderr};
use latido::cli::known::CATALOGUE;
use latido_model::catalogue::Kind;
use serde_json::Value;
use std::{fs, net::UdpSocket, path::Path, process::Command, time::Duration};

/// A world whose loads put their data into a directory of this test.
fn world() -> World {
    let world = World::new();
    fs::create_dir(world.path("tmp")).unwrap();
    world
}

/// The entry of the record for the only load of a short run.
fn under(world: &World, hold: &str, load: &str) -> Value {
    let (hold, load) = (format!("hold={hold}"), format!("--load={load}"));
    let mut command = world.latido(["run", "null", &hold, &load, "--no-report", "--json"]);
    let output = command.env("TMPDIR", world.path("tmp")).output().unwrap();
    // Stolen time may contaminate the run; the test is about the load.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{load}: {}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["records"][0]["load"][0].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The rates agree with the counts, and the mean is between the slowest and the fastest second.
#[test]
fn a_load_has_its_rates_by_the_second() {
    let load = under(&world(), "4s", "messaging:1,pairs=2");
    let rate = &load["rates"]["messages"];
    let (mean, slowest, fastest) = (number(&rate["mean"]), number(&rate["slowest"]), number(&rate["fastest"]));
    assert!(0.0 <= slowest && slowest <= mean && mean <= fastest, "{load}");
    let counted: f64 = load["steps"].as_array().unwrap().iter().map(|step| number(&step["counts"]["messages"])).sum();
    let over_seconds = number(&rate["over_ns"]) * 1e-9;
    assert!(counted > 0.0 && (mean * over_seconds - counted).abs() < 0.5, "{mean} a second: {load}");
    assert!(load["rates"]["elapsed_ns"].is_null() && load["unaccounted"].is_null(), "{load}");
}

/// stress-ng ends by a signal and still reports what it did.
#[test]
fn stress_ng_tells_its_own_rates() {
    if !installed("stress-ng", "the account of stress-ng") {
        return;
    }
    let load = under(&world(), "2s", "stress-ng:cpu=1,vm=1,vm-bytes=16M");
    let rate = &load["rates"]["cpu_bogo_ops"];
    assert!(number(&rate["mean"]) > 0.0, "{load}");
    assert_eq!((&rate["whole_life"], &rate["slowest"]), (&true.into(), &Value::Null), "{load}");
    assert!(number(&rate["over_ns"]) > 1e9 && load["rates"]["vm_bogo_ops"].is_object(), "{load}");
    assert!(load["alive"] == true && load["achieved"].is_null(), "{load}");
    // A load whose options redirect its report has no rates, and the record says so.
    let world = world();
    let file = world.path("own.yaml");
    let silent = under(&world, "500ms", &format!("stress-ng:cpu=1,yaml={}", file.display()));
    assert!(silent["rates"].is_null() && silent["unaccounted"].is_string(), "{silent}");
}

/// Your program may report its work in lines, with or without its own clock. latido does not measure a program that reports nothing.
#[test]
fn a_program_of_ones_own_may_keep_account() {
    let world = world();
    let told =
        "n=0\nwhile sleep 0.1; do n=$((n+50)); echo \"noise $n\"; echo \"latido-load requests=$n errors=0\"; done\n";
    let script = world.file("told.sh", told);
    let load = under(&world, "3s", &format!("command:sh {}", script.display()));
    let requests = load["achieved"]["requests"].as_u64().unwrap();
    assert!(requests > 0 && requests.is_multiple_of(50) && number(&load["rates"]["requests"]["mean"]) > 0.0, "{load}");
    assert_eq!(load["rates"]["errors"]["mean"], 0.0, "told, and none");
    let script = world.file("silent.sh", "echo latido-load broken\nwhile sleep 0.1; do echo 5; done\n");
    let load = under(&world, "1s", &format!("command:sh {}", script.display()));
    assert!(load["rates"].is_null() && load["achieved"].is_null(), "{load}");
    assert!(load["unaccounted"].as_str().unwrap().contains("did not report"), "{load}");
}

/// `latido show` prints the rate of a stored load, or that it has none.
#[test]
fn show_prints_the_rates() {
    let world = world();
    under(&world, "4s", "messaging:1,pairs=2");
    // `show` breaks long lines.
    let show = || {
        let text = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let shown = show();
    assert!(shown.contains("its rate messages") && shown.contains("/s (slowest second"), "{shown}");
    under(&world, "200ms", "command:sleep 600");
    let shown = show();
    assert!(shown.contains("not measured: the program did not report"), "{shown}");
}

/// The options work as flags, and the load sends packets of that size to that address alone. Floods of other tests go to 127.0.0.1, perhaps
/// to a port whose socket has just been closed: this sink has an address that no other test uses.
#[test]
fn a_flood_goes_where_it_is_told() {
    let world = world();
    let sink = UdpSocket::bind("127.0.0.4:0").unwrap();
    sink.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let port = sink.local_addr().unwrap().port().to_string();
    let mut child = world
        .latido(["load", "udp-flood", "--to", "127.0.0.4", "--port", &port, "--size", "64", "--rate", "max", "-d1s"])
        .spawn()
        .unwrap();
    let mut packet = [0; 2048];
    let (length, from) = sink.recv_from(&mut packet).unwrap();
    assert_eq!((length, from.ip().is_loopback()), (64, true));
    assert!(child.wait().unwrap().success());
    world.nothing_left("by a flood");
    let output = world.run(["load", "udp-flood", "--too", "127.0.0.1"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(stderr(&output).contains("`too`") && stderr(&output).contains("did you mean `to`"), "{}", stderr(&output));
}

/// A ramp on the command line: one level per step, each with the requested repeats.
#[test]
fn a_ramp_is_written_on_the_command_line() {
    let world = world();
    let output = world.run(["run", "null", "--load=stress-ng:sleep=4,8,12..44,cpu=1", "--repeat=3", "--print-plan"]);
    let plan = String::from_utf8(output.stdout).unwrap();
    assert!(plan.starts_with("# 33 cells"), "{plan}");
    for sleep in (4..=44).step_by(4) {
        let level = format!(
            "{{ id = \"stress-ng cpu=1 sleep={sleep}\", use = [{{ name = \"stress-ng\", cpu = 1, sleep = {sleep} }}] }}"
        );
        assert!(plan.contains(&level), "{level}\n{plan}");
    }
    let output = world.run(["run", "null", "--load=stress-ng:sleep=4,8..45", "--print-plan"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(stderr(&output).contains("do not lead from 8 to 45"), "{}", stderr(&output));
}

/// Without enough room latido starts no load, and leaves nothing behind.
#[test]
fn a_small_file_system_is_a_refusal() {
    if !root("loads on a small file system") {
        return;
    }
    let world = world();
    let script = "mount -t tmpfs -o size=2m none \"$1\" || exit 99; shift; \"$@\"; s=$?; ls -A \"$TMPDIR\"; exit $s";
    for load in ["compile", "archive", "tree"] {
        let output = Command::new("unshare")
            .args(["-m", "sh", "-c", script, "sh"])
            .arg(world.path("tmp"))
            .arg(env!("CARGO_BIN_EXE_latido"))
            .args(["load", load, "-d5s"])
            .env("TMPDIR", world.path("tmp"))
            .env("LATIDO_STATE", world.state())
            .output()
            .unwrap();
        if matches!(output.status.code(), Some(99)) || stderr(&output).contains("unshare") {
            skip("loads on a small file system", Need::Namespaces, &stderr(&output));
            return;
        }
        let said = stderr(&output);
        if said.contains("is not installed") {
            skip(&format!("the load {load} on a small file system"), Need::Program, &said);
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{load}: {said}");
        assert!(said.contains("2 MiB free") && said.contains("TMPDIR"), "{load}: {said}");
        assert!(output.stdout.is_empty(), "{load} left {}", String::from_utf8_lossy(&output.stdout));
    }
}

/// A load without any right, in a directory of its user: it works, reports what it does and leaves nothing behind.
#[test]
fn loads_need_no_rights() {
    if !(root("loads without rights") && installed("setpriv", "loads without rights")) {
        return;
    }
    // A place that every user may enter: the test's own directories belong to root.
    let base = tempfile::Builder::new().prefix("latido-nobody-").tempdir_in("/var/tmp").unwrap();
    let program = base.path().join("latido");
    fs::copy(env!("CARGO_BIN_EXE_latido"), &program).unwrap();
    for path in [base.path().to_path_buf(), base.path().join("tmp")] {
        fs::create_dir_all(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).unwrap();
    }
    let bearer = |load: &str| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"])
            .arg(&program)
            .args(["load", load])
            .env("TMPDIR", base.path().join("tmp"))
            .env("LATIDO_STATE", base.path().join("state"))
            .env("HOME", base.path());
        command
    };
    let left = |dir: &Path| fs::read_dir(dir).unwrap().count();
    for (load, count) in [
        ("disk:size=4,block=64", "written_bytes"),
        ("messaging:1,pairs=2,with=latido", "messages"),
        ("interrupts:100,timers=1", "expiries"),
        ("udp-flood:8Mbit", "sent_packets"),
        ("tree:50", "passes"),
    ] {
        let output = bearer(load).arg("-d2s").output().unwrap();
        let said = stderr(&output);
        if said.contains("is not installed") {
            skip(&format!("the load {load} without rights"), Need::Program, &said);
            continue;
        }
        // Within two seconds of a crowded machine a load may report nothing. `works_by` then shows that it works, however long it takes.
        let unheard = said.contains("did not report its work during the measurement");
        assert!(output.status.success() && (said.contains("/s") || unheard), "{load}: {said}");
        works_by(bearer(load), load, &[count]);
        assert_eq!(left(&base.path().join("tmp")), 0, "{load}");
    }
    let refused = bearer("rt-interference").arg("-d2s").output().unwrap();
    let said = stderr(&refused);
    // A machine may grant the right to every user.
    assert!(refused.status.success() || said.contains("was refused"), "{said}");
}

/// The page of loads names every load, its options, and the counts that its help promises.
#[test]
fn the_page_of_loads_is_complete() {
    let path = format!("{}/../../docs/loads.md", env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(path).unwrap();
    let loads = CATALOGUE.list(Kind::Load);
    let mut counts = 0;
    for entry in loads.entries() {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", entry.name)));
        let row = row.unwrap_or_else(|| panic!("docs/loads.md has no row for `{}`", entry.name));
        for option in loads.options(entry.name) {
            assert_ne!(option, "name", "the key of the item itself");
            assert!(row.contains(&format!("`{option}`")), "`{option}` of `{}` is not in its row", entry.name);
        }
        let promised = entry.help.split_once("`achieved` holds ").map(|(_, rest)| rest).unwrap_or_default();
        let promised = promised.split_once("elapsed_ns").map_or("", |(counts, _)| counts);
        for word in promised.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| word.contains('_'))
        {
            assert!(row.contains(&format!("`{word}`")), "`{word}` of `{}` is not in its row", entry.name);
            counts += 1;
        }
    }
    assert!(counts > 10, "the helps promise only {counts} counts that were found");
    let rows = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, loads.entries().len(), "a row of a load that is none");
}
