//! A machine with another kernel, over ssh: latido measures, inspects and tunes it; and what happens when the link is cut.

use crate::common::{ended, far::Far, meanwhile, settled, stderr};
use std::{fs, process::Stdio};

/// A setting that every kernel for several CPUs has, and that disturbs no other program.
const KNOB: &str = "/proc/sys/vm/stat_interval";

/// Writes to the console how the end of the agent looks from inside: the knob, and the number of latido's processes. It goes on while no
/// packet gets through.
const WATCH: &str = "while :; do \
                     echo watch $(cat /proc/sys/vm/stat_interval) $(ls -l /proc/[0-9]*/exe 2>/dev/null | grep -c /latido) >/dev/console; sleep 0.5; \
                     done 2>/dev/null </dev/null >/dev/null &";

/// Counts the threads that measure there.
const MEASURING: &str = "cat /proc/[0-9]*/task/*/comm 2>/dev/null | grep -c ^latido/ || true";

fn knob(far: &Far) -> String {
    far.there(&format!("cat {KNOB}"))
}

/// The number of latido's processes there.
fn agents_alive(far: &Far) -> String {
    far.there("ls -l /proc/[0-9]*/exe 2>/dev/null | grep -c /latido || true")
}

fn status(far: &Far) -> String {
    let output = far.ran(&["tune", "status"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// latido measures, inspects and tunes it, and its host is cut off from it.
pub fn is_measured_tuned_and_left_as_it_was(far: &Far) {
    let kernel = far.there("uname -r");
    let own = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_ne!(kernel, own.trim(), "the guest has another kernel than the machine");
    measured(far, &kernel);
    inspected(far, &kernel);
    tuned_by_hand(far);
    lost(far);
}

/// A record names the guest's kernel, host name and target.
fn measured(far: &Far, kernel: &str) {
    let (record, _) = far.measured(&["wakeup", "-d", "1s"]);
    assert_eq!(record["machine"]["kernel"], kernel);
    assert_eq!(record["machine"]["hostname"], "guest");
    assert_eq!(record["cell"]["target"], "ssh:guest");
    assert!(record["series"][0]["count"].as_u64().is_some_and(|count| count > 0), "{record}");
}

fn inspected(far: &Far, kernel: &str) {
    let output = far.ran(&["check", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["machine"]["kernel"], kernel);
    assert!(document["points"].as_array().is_some_and(|points| points.len() > 5), "{document}");
}

/// A tuning applied by hand stays after the session, latido lists it, and undo restores the value. This machine stays unchanged.
fn tuned_by_hand(far: &Far) {
    let here = || fs::read_to_string(KNOB).unwrap();
    let (before, own) = (knob(far), here());
    let apply = far.ran(&["tune", "apply", "vm-stat:77s"]);
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    assert_eq!(knob(far), "77");
    assert_eq!(here(), own, "the knob of this machine");
    let said = status(far);
    assert!(said.contains(KNOB) && said.contains("77") && said.contains("in force"), "{said}");
    let undo = far.ran(&["tune", "undo"]);
    assert_eq!(undo.status.code(), Some(0), "{}", stderr(&undo));
    assert_eq!(knob(far), before);
    assert_eq!(status(far), "nothing is applied by hand\n");
}

/// The link is cut in the middle of a cell: without its host the agent restores everything and ends, while nothing reaches it. The host
/// reports what it lost.
fn lost(far: &Far) {
    let before = knob(far);
    let words = ["run", "wakeup", "-d", "1h", "--tune", "vm-stat:88s", "--load", "spin:cpu=1,memory=0", "--no-report"];
    let mut command = far.latido(&words);
    // With latido's usual patience: a guest that is slowed down by the machine's other work is silent for seconds.
    command.arg("--quiet").stderr(Stdio::piped()).stdout(Stdio::null());
    let mut run = command.spawn().unwrap();
    far.there(WATCH);
    meanwhile(&mut run, "a tuning in force", || (knob(far) == "88").then_some(()));
    meanwhile(&mut run, "a measurement", || (far.there(MEASURING) != "0").then_some(()));
    far.guest.link(false);
    // The console does not use the link. The reports from before the cut come first.
    let looks = |console: &str| console.lines().filter(|line| line.starts_with("watch ")).count();
    let cut_at = looks(&far.guest.console());
    let seen = settled("the agent's end while nothing gets through to it", || {
        let console = far.guest.console();
        let seen: Vec<String> = console.lines().filter(|line| line.starts_with("watch ")).map(str::to_owned).collect();
        let last = seen.last().cloned().unwrap_or_default();
        if last == format!("watch {before} 0") { Ok(seen) } else { Err(format!("it sees: {last}")) }
    });
    let while_cut = seen.get(cut_at..).unwrap();
    assert!(while_cut.iter().any(|line| line.starts_with("watch 88 ")), "it was over before: {while_cut:?}");
    // The host gives up by itself too, before the link could deliver the agent's last messages.
    let output = ended(run, "the host of a lost link");
    // Only now can a new agent arrive that restores leftovers.
    far.guest.link(true);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("the link was lost"), "{}", stderr(&output));
    assert_eq!((agents_alive(far).as_str(), knob(far)), ("0", before));
    assert_eq!(status(far), "nothing is applied by hand\n");
}
