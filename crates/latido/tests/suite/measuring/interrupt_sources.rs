//! The probe `interrupt` on this machine: a timer and packets with three stamps, and unavailable sources.

use crate::common::{self, Need};

use common::{
    World, meanwhile,
    processes::{self, descendants},
    root, settled, skip,
    stamps::{adds_up, record, series, stages, worst_are_explained},
    stderr,
};
use latido_agent::machine::{Root, tracefs::Tracefs};
use rustix::process::{Pid, Signal, kill_process};
use std::{fs, path::Path, process::Stdio};

/// The directory of tracefs as root; `None` if there is none, which the test notes as skipped.
fn tracefs(what: &str) -> Option<Tracefs> {
    if !root(what) {
        return None;
    }
    match Tracefs::find(&Root::default()) {
        Ok(found) => Some(found),
        Err(error) => {
            skip(what, Need::Tracefs, &format!("{error:#}"));
            None
        }
    }
}

/// The trace instances and function events on the whole machine.
fn left(tracefs: &Path) -> Vec<String> {
    let instances = fs::read_dir(tracefs.join("instances")).unwrap().flatten();
    let mut all: Vec<String> = instances.map(|one| one.file_name().to_string_lossy().into_owned()).collect();
    for file in ["kprobe_events", "dynamic_events"] {
        let text = fs::read_to_string(tracefs.join(file)).unwrap_or_default();
        all.extend(text.lines().map(str::to_owned));
    }
    all
}

/// A timer of this machine: each event has its t2 from the kernel's own event, and nothing is left of the trace.
#[test]
fn a_timers_events_have_three_stamps() {
    let Some(tracefs) = tracefs("three stamps of a timer") else { return };
    let world = World::new();
    let before = left(tracefs.dir());
    let words = ["run", "interrupt", "source=timer", "events=300", "rate=499", "--policy", "other", "--warmup", "20ms"];
    let output = world.run(words.into_iter().chain(["--no-report", "--wait"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let run = &world.runs()[0];
    adds_up(run, 300);
    let stamps = &record(run)["quality"]["stamps"];
    assert_eq!(stamps["handler"]["name"], "timer:hrtimer_expire_entry");
    assert_eq!((&stamps["asynchronous"], &stamps["error_ns"]), (&true.into(), &0.into()));
    let seen = &record(run)["quality"]["tracing"]["active"];
    let own: Vec<&str> = seen.as_array().unwrap().iter().filter_map(|one| one["instance"].as_str()).collect();
    assert!(own.iter().any(|name| name.starts_with("latido-")), "the run's trace is among them: {seen}");
    // Other runs record meanwhile too, and may go on. The process that made this run's trace has ended.
    let ended = |name: &str| name.split('-').nth(1).is_some_and(|pid| !Path::new("/proc").join(pid).exists());
    let of_run = |name: &String| {
        name.starts_with("latido-") && own.contains(&name.as_str()) && !before.contains(name) && ended(name)
    };
    settled("the end of its trace", || match left(tracefs.dir()).iter().find(|name| of_run(name)) {
        Some(name) => Err(format!("{name} is there")),
        None => Ok(()),
    });
}

/// If another program switches off the trace that latido records, the trace ends early, and latido says so.
#[test]
fn latido_says_that_another_program_ended_its_trace() {
    let Some(tracefs) = tracefs("a trace that is switched off") else { return };
    let world = World::new();
    let words = ["run", "interrupt", "source=timer", "rate=499", "--policy", "other", "-d", "60s", "--no-report"];
    let mut command = world.latido(words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let run = child.id();
    let switch = meanwhile(&mut child, "the trace", || {
        let own: Vec<String> = descendants(run).iter().map(|(pid, _)| format!("latido-{pid}-")).collect();
        let mine = left(tracefs.dir()).into_iter().find(|name| own.iter().any(|own| name.starts_with(own)))?;
        let switch = tracefs.dir().join("instances").join(mine).join("tracing_on");
        (fs::read_to_string(&switch).ok()?.trim() == "1").then_some(switch)
    });
    let measuring = common::measuring_process(&world);
    meanwhile(&mut child, "10 interrupts", || (processes::wakeups(measuring) > 10).then_some(()));
    fs::write(switch, "0").unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait().unwrap();
    let cut = &record(&world.runs()[0])["quality"]["trace"]["cut"];
    assert!(cut.as_str().is_some_and(|why| why.contains("another program switched the trace off")), "{cut}");
}

/// latido explains the worst responses with the trace from which the stamps come. On a crowded machine the trace may lack events: latido
/// counts the interrupts that have no stamp for this reason. In a guest none is missing (`guests/interrupt_stamps.rs`).
#[test]
fn the_worst_responses_are_explained() {
    if tracefs("explaining responses to interrupts").is_none() {
        return;
    }
    let world = World::new();
    let output = world.run(["run", "interrupt", "source=timer", "events=200", "-q", "--explain=4", "--no-report"]);
    assert!(matches!(output.status.code(), Some(0 | 2)), "{}", stderr(&output));
    let run = &world.runs()[0];
    let record = record(run);
    let lost = record["quality"]["stamps"]["lost"].as_u64().unwrap();
    for quantity in ["interrupt", "activation"] {
        assert_eq!(series(&record, quantity)["count"].as_u64().unwrap() + lost, 200, "{}", record["quality"]);
    }
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("4 late samples explained"), "{said}");
    worst_are_explained(&world, run, lost == 0);
}

/// The same without the kernel's events: the record has the response alone, with the reason, and no quantity that is 0.
#[test]
fn without_events_the_response_stands_alone_and_says_why() {
    let world = World::new();
    let words = ["run", "interrupt", "source=timer", "events=50", "rate=499", "trace=off", "--policy", "other"];
    let output = world.run(words.into_iter().chain(["--warmup", "20ms", "--no-report", "--wait"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let run = &world.runs()[0];
    let record = record(run);
    assert_eq!(record["series"].as_array().unwrap().len(), 1);
    assert_eq!(series(&record, "response")["count"], 50);
    assert!(record["skipped"].to_string().contains("trace=off"), "{}", record["skipped"]);
    let handler = &record["quality"]["stamps"]["handler"];
    assert_eq!(handler["kind"], "none");
    let rows = stages(run);
    assert_eq!(rows.len(), 50);
    assert!(rows.iter().all(|row| row[2..5].iter().all(Option::is_none) && row[5].is_some()), "{rows:?}");
}

/// latido skips a source that this machine lacks, and names it with the remedy.
#[test]
fn a_source_that_is_not_here_is_named_with_the_remedy() {
    if Path::new("/dev/hpet").exists() {
        return skip("a machine without an HPET", Need::Kernel, "this one has /dev/hpet");
    }
    let world = World::new();
    let output = world.run(["run", "interrupt", "source=hpet", "events=10", "--no-report", "--wait"]);
    let said = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_ne!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("there is no /dev/hpet") && said.contains("CONFIG_HPET"), "{said}");
}

/// latido names each unavailable source, with what to load, wire or name.
#[test]
fn sources_that_are_not_here_are_named_with_the_remedy() {
    let asked: [(&str, &[&str], &[&str]); 5] = [
        ("serial", &["device=/dev/ttyS77"], &["no serial port /dev/ttyS77", "modprobe"]),
        ("parport", &["device=/dev/parport77"], &["no /dev/parport77", "modprobe ppdev"]),
        ("gpio", &["device=/dev/gpiochip77", "out=1", "in=2"], &["no /dev/gpiochip77", "CONFIG_GPIO_CDEV"]),
        ("uio", &["device=/dev/uio77"], &["no /dev/uio77", "modprobe uio_pci_generic"]),
        ("network", &["station=ssh:nowhere"], &["clock", "station=netns"]),
    ];
    let world = World::new();
    for (source, options, told) in asked {
        let source = format!("source={source}");
        let words = ["run", "interrupt", &source, "events=5"].into_iter().chain(options.iter().copied());
        let output = world.run(words.chain(["--no-report", "--wait"]));
        let said = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_ne!(output.status.code(), Some(0), "{said}");
        assert!(told.iter().all(|told| said.contains(told)), "{source}: {said}");
    }
    // The laboratory's way to a station would take a network card away from this machine.
    let output =
        world.run(["run", "interrupt", "source=network", "station=guest", "events=5", "--no-report", "--wait"]);
    assert!(stderr(&output).contains("laboratory"), "{}", stderr(&output));
}

/// Packets of a station on this machine, over the loopback and between namespaces: each has the kernel's stamp, and the record says that no
/// device raised an interrupt.
#[test]
fn a_stations_packets_have_three_stamps() {
    let Some(_) = tracefs("three stamps of a packet") else { return };
    let world = World::new();
    for (place, worth) in [("local", "loopback"), ("netns", "veth raises no interrupts")] {
        let station = format!("station={place}");
        let words = ["run", "interrupt", "source=network", &station, "events=200", "rate=400", "--policy", "other"];
        let output = world.run(words.into_iter().chain(["--warmup", "20ms", "--no-report", "--wait"]));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let runs = world.runs();
        let run = runs.last().unwrap();
        adds_up(run, 200);
        let stamps = &record(run)["quality"]["stamps"];
        assert!(stamps["beware"].as_str().unwrap().contains(worth), "{stamps}");
        assert_eq!((&stamps["asynchronous"], &stamps["handler"]["kind"]), (&false.into(), &"carried".into()));
        assert!(stamps["trigger"].as_str().unwrap().contains(place), "{stamps}");
    }
}

/// The pids of the processes that have this word on their command line.
fn bearing(mark: &str) -> Vec<i32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let line = |entry: &fs::DirEntry| fs::read(entry.path().join("cmdline")).unwrap_or_default();
    let own = |entry: &fs::DirEntry| line(entry).split(|byte| *byte == 0).any(|word| word == mark.as_bytes());
    all.filter(own).filter_map(|entry| entry.file_name().to_string_lossy().parse().ok()).collect()
}

/// Whichever process of a run is killed, its station ends with it, and none of its devices ever appears on the machine.
#[test]
fn a_killed_run_leaves_no_station() {
    let Some(_) = tracefs("a station that is left") else { return };
    let devices = || fs::read_dir("/sys/class/net").unwrap().count();
    let before = devices();
    // No other test has these rates, so a rate identifies the station.
    for (victim, rate) in [("host", 173), ("measuring process", 179)] {
        let (world, own) = (World::new(), format!("--rate={rate}"));
        let rate = format!("rate={rate}");
        let words = ["run", "interrupt", "source=network", "station=netns", &rate, "-d", "10m", "--policy", "other"];
        let mut run = world.latido(words.into_iter().chain(["--no-report", "--wait"]));
        let mut run = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let station = meanwhile(&mut run, "its station", || bearing(&own).first().copied());
        assert_eq!(devices(), before, "the cable is nobody else's business");
        match victim {
            "host" => run.kill().unwrap(),
            _ => {
                let stat = fs::read_to_string(format!("/proc/{station}/stat")).unwrap();
                let parent = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
                kill_process(Pid::from_raw(parent).unwrap(), Signal::KILL).unwrap();
            }
        }
        run.wait().unwrap();
        settled(&format!("the station's end after SIGKILL of the {victim}"), || match bearing(&own) {
            none if none.is_empty() => Ok(()),
            left => Err(format!("left behind: {left:?}")),
        });
        assert_eq!(devices(), before);
    }
}
