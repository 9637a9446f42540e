//! Real changes of the tuning `nic`, in a network namespace of the test: reception in threads on a veth pair, and interrupt coalescing on a
//! tap device (its driver accepts `ethtool -C`; that of a veth pair does not).

use crate::common::{self, Need};

use common::{World, installed, root, skip, stderr, text};
use std::process::{Command, Output};

/// Runs a shell script in a namespace with its own sysfs, with the devices lat0 and lat1 (veth) and lat2 (tap). `$latido` is the binary.
/// Returns `None` if the test was noted as skipped.
fn inside(world: &World, what: &str, script: &str) -> Option<Output> {
    if !root(what) || !["unshare", "ip", "ethtool", "ps"].iter().all(|program| installed(program, what)) {
        return None;
    }
    let own = Command::new("unshare").args(["--net", "--mount", "true"]).output().unwrap();
    if !own.status.success() {
        skip(what, Need::Namespaces, &format!("no network namespace can be made here: {}", stderr(&own).trim()));
        return None;
    }
    let devices = "mount -t sysfs sysfs /sys && ip link add lat0 type veth peer name lat1 && ip link set lat0 up && \
                   ip link set lat1 up && ethtool -K lat0 gro on && ip tuntap add dev lat2 mode tap || exit 77\n";
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", &format!("{devices}{script}")]);
    command.env("latido", env!("CARGO_BIN_EXE_latido")).env("LATIDO_STATE", world.state());
    let output = command.env("LATIDO_STORE", world.store()).current_dir(world.path("")).output().unwrap();
    if output.status.code() == Some(77) {
        skip(what, Need::Namespaces, &stderr(&output).replace('\n', " "));
        return None;
    }
    Some(output)
}

const THREADED: &str = "$latido tune apply nic:lat0,coalesce=as-is,threaded=on >&2 || exit 1
cat /sys/class/net/lat0/threaded; ps -e -o comm= | grep -c napi/lat0
$latido tune status >&2; $latido tune undo >&2 || exit 1
cat /sys/class/net/lat0/threaded; ps -e -o comm= | grep -c napi/lat0; exit 0";

/// The kernel itself shows the change: a thread receives for the device, and later does not.
#[test]
fn a_device_receives_in_threads_and_no_longer() {
    let _machine = common::machine();
    let world = World::new();
    let Some(output) = inside(&world, "nic: threads", THREADED) else { return };
    assert_eq!(text(&output).split_whitespace().collect::<Vec<_>>(), ["1", "1", "0", "0"], "{}", stderr(&output));
    assert!(stderr(&output).contains("/sys/class/net/lat0/threaded: 0 -> 1, in force"), "{}", stderr(&output));
    assert!(!world.state().join("journal.jsonl").exists());
}

#[test]
fn packets_are_gathered_no_longer_and_again() {
    let _machine = common::machine();
    let world = World::new();
    let script = "frames() { ethtool -c lat2 | sed -n 's/^rx-frames:[[:space:]]*//p'; }
        ethtool -C lat2 rx-frames 16 || exit 77
        $latido tune apply nic:lat2 >&2 || exit 1
        frames; $latido tune status >&2; $latido tune undo >&2 || exit 1; frames
        $latido run null samples=10 --tune nic:lat2 --json --no-report || exit 1; frames";
    let Some(output) = inside(&world, "nic: coalescing", script) else { return };
    let (said, out) = (stderr(&output), text(&output));
    let mut lines = out.lines();
    assert_eq!((lines.next(), lines.next(), lines.next_back()), (Some("1"), Some("16"), Some("16")), "{said}");
    assert!(said.contains("lat2 rx-frames: 16 -> 1, in force"), "{said}");
    // The record of the run also states the changes.
    let json: String = lines.collect();
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let tunings = document["records"][0]["tunings"].as_array().unwrap();
    let nic = tunings.iter().find(|tuning| tuning["item"]["name"] == "nic").unwrap();
    assert_eq!((&nic["in_force"], &nic["changes"][0]["new"]), (&true.into(), &"1".into()), "{nic}");
}

/// After a kill at any step of `apply` or `undo`, the next undo restores the device.
#[test]
fn killed_on_the_way_the_device_is_as_before() {
    let _machine = common::machine();
    let world = World::new();
    let script = "frames() { ethtool -c lat2 | sed -n 's/^rx-frames:[[:space:]]*//p'; }
        ethtool -C lat2 rx-frames 16 || exit 77
        for action in 'apply nic:lat2 nic:lat0,coalesce=as-is,threaded=on' undo; do
            killed=0
            for point in 1 2 3 4 5 6 7 8 9 10 11 12; do
                [ \"$action\" = undo ] && $latido tune apply nic:lat2 nic:lat0,coalesce=as-is,threaded=on >/dev/null
                LATIDO_FAULT=agent:$point $latido tune $action >/dev/null || killed=$((killed + 1))
                $latido tune undo >/dev/null || exit 1
                echo \"$(frames) $(cat /sys/class/net/lat0/threaded)\"
            done
            echo \"killed $killed\"
        done 2>/dev/null";
    let Some(output) = inside(&world, "nic: kills", script) else { return };
    let out = text(&output);
    let killed: Vec<u32> = out.lines().filter_map(|line| line.strip_prefix("killed ")?.parse().ok()).collect();
    assert!(killed.len() == 2 && killed.iter().all(|killed| (3..12).contains(killed)), "{killed:?}");
    let states: Vec<&str> = out.lines().filter(|line| !line.starts_with("killed")).collect();
    assert!(states.len() == 24 && states.iter().all(|state| *state == "16 0"), "{states:?}");
}

/// A driver that cannot and a user who may not: latido names the reason and the remedy, and changes nothing.
#[test]
fn refusals_of_a_device_are_told() {
    let _machine = common::machine();
    let world = World::new();
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_latido"), open.path().join("latido")).unwrap();
    let script = format!(
        "ethtool -C lat2 rx-frames 16 || exit 77
        cd {0}; $latido tune apply nic:lat0; echo $?
        LATIDO_STATE={0}/state setpriv --reuid 65534 --clear-groups --inh-caps=-all {0}/latido tune apply nic:lat2; echo $?
        ethtool -c lat2 | grep rx-frames: ; exit 0",
        open.path().display()
    );
    let Some(output) = inside(&world, "nic: refusals", &script) else { return };
    assert_eq!(text(&output).split_whitespace().collect::<Vec<_>>(), ["1", "1", "rx-frames:", "16"]);
    let said = stderr(&output);
    let lines: Vec<&str> = said.lines().collect();
    for (line, words) in [
        (0, "lat0 does not report how it coalesces interrupts: use coalesce=as-is"),
        (1, "only root may set rx-frames"),
    ] {
        assert!(lines[line].contains(words) && lines[line].ends_with("(nothing was changed)"), "{said}");
    }
    assert!(!open.path().join("state/journal.jsonl").exists());
}
