//! A machine with a kernel of its own, over ssh: measured, inspected and tuned; and what becomes of it when the link is cut.

use crate::common::far;
use crate::common::{self, Need};

use common::{skip, stderr};
use far::Far;
use std::{
    fs,
    process::Stdio,
    thread::sleep,
    time::{Duration, Instant},
};

/// A setting that every kernel for several CPUs has, and that disturbs nobody.
const KNOB: &str = "/proc/sys/vm/stat_interval";

/// Writes twice a second what the agent's end looks like from within: uptime, the knob, how many processes of latido are
/// there. It goes on while no packet gets through.
const WATCH: &str = "while :; do read up rest </proc/uptime; read knob </proc/sys/vm/stat_interval; \
                     echo $up $knob $(ls -l /proc/[0-9]*/exe 2>/dev/null | grep -c /latido); sleep 0.5; \
                     done >/tmp/watch 2>/dev/null </dev/null &";

/// How long no packet gets through: twice as long as the agent waits for its host, so that it puts everything back by
/// itself. What it has to say then, it may still be trying to say.
const CUT: Duration = Duration::from_secs(30);

/// What must be over within this time after the link was lost, in seconds.
const ENDS_WITHIN: f64 = 60.0;

fn knob(far: &Far) -> String {
    far.there(&format!("cat {KNOB}"))
}

/// How many processes of latido are there.
fn agents_alive(far: &Far) -> String {
    far.there("ls -l /proc/[0-9]*/exe 2>/dev/null | grep -c /latido || true")
}

fn status(far: &Far) -> String {
    let output = far.ran(&["tune", "status"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// One machine for all of it: the boot takes as long as the rest.
#[test]
fn a_machine_of_its_own_is_measured_tuned_and_left_as_it_was() {
    let far = match Far::start(&[]) {
        Ok(far) => far,
        Err(why) => return skip("a guest over ssh", Need::Qemu, &why),
    };
    let kernel = far.there("uname -r");
    let own = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_ne!(kernel, own.trim(), "a kernel of its own tells the two machines apart");
    measured(&far, &kernel);
    inspected(&far, &kernel);
    tuned_by_hand(&far);
    lost(&far);
    far.world.nothing_left("after a guest");
}

/// The commonest real-time set-up: the kernel gives no task to CPU 1, and keeps it out of every inherited mask.
#[test]
fn a_cpu_isolated_at_boot_is_measured() {
    let far = match Far::start(&["--append", "isolcpus=1"]) {
        Ok(far) => far,
        Err(why) => return skip("a CPU isolated at boot", Need::Qemu, &why),
    };
    assert_eq!(far.there("cat /sys/devices/system/cpu/isolated"), "1");
    assert_eq!(far.there("grep Cpus_allowed_list /proc/self/status").split_whitespace().last(), Some("0"));
    let measured = |words: &[&str]| {
        let (record, said) = far.measured(&[words, &["-d", "1s"]].concat());
        assert!(record["quality"]["policy_refused"].is_null(), "{words:?}: {}", record["quality"]);
        (record, said)
    };
    let cpus = |record: &serde_json::Value| {
        let series = record["series"].as_array().unwrap();
        series.iter().map(|one| one["cpu"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let (record, _) = measured(&["wakeup", "-c", "1"]);
    assert_eq!((cpus(&record), &record["quality"]["housekeeping"]), (vec![1], &"0".into()), "{}", record["quality"]);
    let (record, _) = measured(&["wakeup"]);
    assert_eq!(cpus(&record), [0, 1]);
    let (record, said) = measured(&["gap", "duty=100ms/1s"]);
    assert_eq!(cpus(&record), [1]);
    let first = said.lines().find(|line| line.starts_with("run ")).unwrap_or_default();
    assert!(first.contains("without CPU 0 of ssh:guest (left for everything else by `gap`)"), "{said}");
    // What `check` advises is what a run takes.
    let output = far.ran(&["check", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = document["points"].as_array().unwrap();
    let point = points.iter().find(|point| point["check"] == "isolated CPUs").unwrap();
    assert_eq!(point["state"], "1; measure them with --cpus 1", "{point}");
    far.there("echo 0 >/sys/devices/system/cpu/cpu1/online");
    let (record, said) = measured(&["wakeup"]);
    assert_eq!(cpus(&record), [0]);
    assert!(said.contains("without CPU 1 of ssh:guest (offline)"), "{said}");
    let refused = far.ran(&["run", "wakeup", "-c", "1", "-d", "1s", "--no-report"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("CPU 1 is offline; to be measured are CPUs 0"), "{}", stderr(&refused));
    far.world.nothing_left("after an isolated CPU");
}

/// A record is of the guest's kernel, and so is what is said beside it.
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

/// What is applied by hand stays when the session is over, is told, and goes back; this machine is not touched.
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

/// The link is cut in the middle of a cell: without its host the agent puts everything back and ends, while nothing gets
/// through to it; and the host says what it lost.
fn lost(far: &Far) {
    let before = knob(far);
    let words = ["run", "wakeup", "-d", "60s", "--tune", "vm-stat:88s", "--load", "spin:cpu=1,memory=0", "--no-report"];
    let mut run = far.latido(&words).arg("--quiet").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    far.there(WATCH);
    let until = Instant::now() + Duration::from_secs(40);
    while knob(far) != "88" {
        assert!(Instant::now() < until && run.try_wait().unwrap().is_none(), "it does not measure");
    }
    sleep(Duration::from_secs(2));
    let cut_at: f64 = far.there("cut -d' ' -f1 /proc/uptime").parse().unwrap();
    assert_ne!(agents_alive(far), "0");
    far.guest.link(false);
    let cut = Instant::now();
    sleep(CUT);
    far.guest.link(true);
    let begun = Instant::now();
    let output = loop {
        if run.try_wait().unwrap().is_some() {
            break run.wait_with_output().unwrap();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the host hangs");
        sleep(Duration::from_millis(100));
    };
    println!("the host ended {:.1} s after the cut: {}", cut.elapsed().as_secs_f64(), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("the link was lost"), "{}", stderr(&output));
    let watched = far.there("cat /tmp/watch");
    println!("{}", changes(&watched, cut_at));
    let back = first_after(&watched, cut_at, |knob, _| knob == before);
    let over = first_after(&watched, cut_at, |knob, alive| knob == before && alive == "0");
    println!("the knob was back there {back:.1} s after the cut, the last process was gone after {over:.1} s");
    // Before the link was there again: by itself. A new agent that puts right what is left comes only then.
    assert!(back < CUT.as_secs_f64() && over < ENDS_WITHIN, "{back} s, {over} s");
    let until = Instant::now() + Duration::from_secs(20);
    while agents_alive(far) != "0" {
        assert!(Instant::now() < until, "latido is still there");
    }
    assert_eq!(knob(far), before);
    assert_eq!(status(far), "nothing is applied by hand\n");
}

/// What the watch saw change, with the time since an uptime.
fn changes(watched: &str, cut_at: f64) -> String {
    let mut last = "";
    let mut told = String::new();
    for (at, what) in watched.lines().filter_map(|line| line.split_once(' ')) {
        if what != last {
            let since = at.parse::<f64>().unwrap_or(f64::NAN) - cut_at;
            told += &format!("{since:+.1} s: knob and processes: {what}\n");
            last = what;
        }
    }
    told
}

/// How long after an uptime knob and number of processes were first so, in seconds.
fn first_after(watched: &str, cut_at: f64, so: impl Fn(&str, &str) -> bool) -> f64 {
    let mut rows = watched.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?.parse::<f64>().ok()?, words.next()?, words.next()?))
    });
    let found = rows.find(|(at, knob, alive)| *at > cut_at && so(knob, alive));
    found.unwrap_or_else(|| panic!("it is never over:\n{watched}")).0 - cut_at
}
