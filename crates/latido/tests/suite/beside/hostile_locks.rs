//! An unprivileged user locks, for ever, every file of latido's that they can open: root goes on, and latido names the user.

#[allow(dead_code, reason = "each test file uses its own part")]
use crate::common::attacker;
use crate::common::{self, Need};

use common::{World, skip, stderr};
use std::{fs, process::Command};

/// In a mount namespace with its own /run, so that the test touches no live locks. The attacker locks what exists after root's first run,
/// and lives until the last command. The commands wait for other latidos of this machine.
#[test]
fn a_user_who_holds_every_lock_keeps_root_from_nothing() {
    let what = "locks that an attacker holds";
    if let Some(why) = attacker::missing() {
        return skip(what, Need::AnotherUser, &why);
    }
    if !common::installed("unshare", what) || !common::installed("flock", what) {
        return;
    }
    let world = World::new();
    fs::create_dir_all(world.path("root/proc/sys/vm")).unwrap();
    let knob = world.path("root/proc/sys/vm/stat_interval");
    fs::write(&knob, "1\n").unwrap();
    let id = attacker::UID;
    let hold = "for file in $(find /run/latido -type f); do \
                flock -x \"$file\" sh -c 'echo held $0 >> /run/open/held; exec sleep 30' \"$file\" & done; wait";
    let script = format!(
        "mount -t tmpfs none /run && mount -t tmpfs none /var/lib || exit 77\n\
         latido() {{ \"$0\" \"$@\"; }}\n\
         latido run null samples=10 --no-report --quiet --wait=2m || exit 1\n\
         latido tune --sysroot root apply vm-stat:50s --wait=2m || exit 2\n\
         mkdir -m 1777 /run/open; touch /run/open/held; chmod 666 /run/open/held\n\
         setpriv --reuid {id} --regid {id} --clear-groups --no-new-privs sh -c '{}' &\n\
         for i in $(seq 100); do [ $(wc -l < /run/open/held) -ge 3 ] && break; sleep 0.05; done\n\
         cat /run/open/held\n\
         status=0\n\
         latido run null samples=10 --no-report --quiet --wait=2m || status=3\n\
         latido tune --sysroot root apply vm-stat:60s --wait=2m || status=4\n\
         latido tune --sysroot root undo --wait=2m || status=5\n\
         exit $status",
        hold.replace('\'', "'\\''")
    );
    // The attacker ends with the first process of the namespace.
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", &script]);
    command.arg(env!("CARGO_BIN_EXE_latido")).current_dir(world.dir.path());
    command.env("LATIDO_STORE", world.store()).env_remove("LATIDO_STATE").env("NO_COLOR", "1");
    let output = command.output().unwrap();
    let (out, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output));
    if output.status.code() == Some(77) {
        return skip(what, Need::Namespaces, &said);
    }
    assert_eq!(output.status.code(), Some(0), "{out}{said}");
    let held: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("held /run/latido/")).collect();
    for everybodys in ["machine", "gate", "turn"] {
        assert!(held.contains(&everybodys), "the attacker holds nothing: {out}{said}");
    }
    assert_eq!(held.len(), 3, "he could open more than what is everybody's: {held:?}");
    assert!(said.contains(&format!("of user {id}, `")) && said.contains("latido ignored this"), "{said}");
    assert_eq!(fs::read_to_string(&knob).unwrap(), "1\n");
}
