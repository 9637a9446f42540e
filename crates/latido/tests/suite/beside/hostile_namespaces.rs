//! Rootless use next to root: `root` of a user namespace is a user, and latido skips a /run/latido that belongs to somebody else.

#[allow(dead_code, reason = "each test file uses its own part")]
use crate::common::attacker;
use crate::common::{self, Need};

use common::{World, skip, stderr};
use std::{fs, os::unix::fs::PermissionsExt, process::Command};

/// As a user with a runtime directory, as a user without one, and as root itself; /run/latido belongs to another user.
#[test]
fn root_of_a_namespace_works_beside_the_machines_root() {
    let what = "latido in a user namespace";
    if let Some(why) = attacker::missing() {
        return skip(what, Need::AnotherUser, &why);
    }
    let allowed = Command::new("unshare").args(["-Ur", "true"]).output().is_ok_and(|output| output.status.success());
    if !allowed {
        return skip(what, Need::Namespaces, "this machine allows no user namespaces (or unshare is missing)");
    }
    let world = World::new();
    fs::set_permissions(world.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // A place from which the user can run it.
    let binary = world.path("latido");
    fs::copy(env!("CARGO_BIN_EXE_latido"), &binary).unwrap();
    let id = attacker::UID;
    let inside = "id -u; for words in \"run null samples=10 --no-report --quiet\" \"tune status\" \
                  \"check --json\"; do $LATIDO $words > out; status=$?; \
                  case \"$words\" in check*) [ -s out ] ;; *) [ $status = 0 ] ;; esac || { echo \"$words: $status\"; exit 3; }; \
                  done; ls -d \"$PLACE\"/latido*/run";
    let user = format!("setpriv --reuid {id} --regid {id} --clear-groups ");
    for (who, place, variable) in
        [(user.as_str(), "runtime", "XDG_RUNTIME_DIR"), (&user, "temp", "TMPDIR"), ("", "roots", "XDG_RUNTIME_DIR")]
    {
        let home = world.path(place);
        fs::create_dir(&home).unwrap();
        if !who.is_empty() {
            std::os::unix::fs::chown(&home, Some(id), Some(id)).unwrap();
        }
        let script = format!(
            "mount -t tmpfs none /run && mkdir -m 755 /run/latido && touch /run/latido/machine /run/latido/gate && \
             chown -R 4711:4711 /run/latido || exit 77\n\
             cd {0} && unset LATIDO_STATE XDG_RUNTIME_DIR && export {variable}={0} PLACE={0} HOME={0} LATIDO_STORE={0}/store \
             LATIDO={1}\n{who}unshare -Ur sh -c '{inside}'",
            home.display(),
            binary.display()
        );
        let output = Command::new("unshare").args(["--mount", "sh", "-c", &script]).output().unwrap();
        let (out, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output));
        if output.status.code() == Some(77) {
            return skip(what, Need::Namespaces, &said);
        }
        assert_eq!(output.status.code(), Some(0), "{place}: {out}{said}");
        assert!(out.starts_with("0\n"), "it is no root of a namespace: {out}");
        assert!(out.contains(&format!("{}/latido", home.display())), "the state lies elsewhere: {out}");
    }
}
