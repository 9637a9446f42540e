//! The probe `interrupt` with three stamps: a timer of this machine for real, and devices of guests.

use crate::common::lab;
use crate::common::{self, Need};

use common::{World, meanwhile, root, settled, skip, stderr};
use lab::{kernel, measured};
use latido_agent::machine::{Root, tracefs::Tracefs};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

/// Tracefs as root, or the test is noted as skipped.
fn tracefs(what: &str) -> Option<PathBuf> {
    if !root(what) {
        return None;
    }
    match Tracefs::find(&Root::default()) {
        Ok(found) => Some(found.dir().to_owned()),
        Err(error) => {
            skip(what, Need::Tracefs, &format!("{error:#}"));
            None
        }
    }
}

fn record(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("cells/001/record.json")).unwrap()).unwrap()
}

fn series<'a>(record: &'a Value, quantity: &str) -> &'a Value {
    let all = record["series"].as_array().unwrap();
    all.iter().find(|one| one["quantity"] == quantity).unwrap_or_else(|| panic!("no {quantity}: {}", record["series"]))
}

/// The rows of stages.csv: event, at, entry, thread, handler, task.
fn stages(run: &Path) -> Vec<[Option<i64>; 6]> {
    let text = fs::read_to_string(run.join("cells/001/stages.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("event,at_ns,entry_ns,thread_ns,handler_ns,task_ns"));
    let row = |line: &str| line.split(',').map(|cell| cell.parse().ok()).collect::<Vec<_>>().try_into().unwrap();
    lines.map(row).collect()
}

/// What is left of latido's traces and events of the whole machine.
fn left(tracefs: &Path) -> Vec<String> {
    let instances = fs::read_dir(tracefs.join("instances")).unwrap().flatten();
    let mut all: Vec<String> = instances.map(|one| one.file_name().to_string_lossy().into_owned()).collect();
    for file in ["kprobe_events", "dynamic_events"] {
        let text = fs::read_to_string(tracefs.join(file)).unwrap_or_default();
        all.extend(text.lines().map(str::to_owned));
    }
    all
}

/// Every stamp of an event adds up: interrupt and activation are the response, sample by sample, and the entry comes first.
fn adds_up(run: &Path, count: u64) {
    let record = record(run);
    for quantity in ["interrupt", "activation", "response"] {
        assert_eq!(series(&record, quantity)["count"], count, "{quantity}: {}", record["quality"]["stamps"]);
    }
    let mean = |quantity: &str| series(&record, quantity)["mean"].as_f64().unwrap();
    let sum = mean("interrupt") + mean("activation");
    assert!((sum - mean("response")).abs() < 1.0, "{sum} is not {}", mean("response"));
    let rows = stages(run);
    assert_eq!(rows.len() as u64, count);
    for row in &rows {
        let [_, _, entry, thread, handler, task] = *row;
        assert!(handler.unwrap() <= task.unwrap(), "{row:?}");
        assert!(entry.is_none_or(|entry| entry <= handler.unwrap()), "{row:?}");
        assert!(thread.is_none_or(|thread| thread <= handler.unwrap()), "{row:?}");
    }
    assert!(rows.windows(2).all(|pair| pair[0][0] < pair[1][0] && pair[0][1] < pair[1][1]), "in the order of events");
    let stamps = &record["quality"]["stamps"];
    assert_eq!((&stamps["lost"], &stamps["doubled"], &stamps["events"]), (&0.into(), &0.into(), &count.into()));
}

/// A timer of this machine: each event has its t2 from the kernel's own event, and nothing is left of the trace.
#[test]
fn a_timers_events_have_three_stamps() {
    let Some(tracefs) = tracefs("three stamps of a timer") else { return };
    let world = World::new();
    let words = ["run", "interrupt", "source=timer", "events=300", "rate=499", "--policy", "other", "--warmup", "20ms"];
    let output = world.run(words.into_iter().chain(["--no-report", "--wait"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let run = &world.runs()[0];
    adds_up(run, 300);
    let stamps = &record(run)["quality"]["stamps"];
    assert_eq!(stamps["handler"]["name"], "timer:hrtimer_expire_entry");
    assert_eq!((&stamps["asynchronous"], &stamps["error_ns"]), (&true.into(), &0.into()));
    let own = format!("latido-{}", std::process::id());
    assert!(left(&tracefs).iter().all(|name| !name.starts_with(&own)), "{:?}", left(&tracefs));
}

/// The worst responses are explained by the trace that the stamps come from, of which nothing is given up for that.
#[test]
fn the_worst_responses_are_explained() {
    if tracefs("explaining responses to interrupts").is_none() {
        return;
    }
    let world = World::new();
    let output = world.run(["run", "interrupt", "source=timer", "events=200", "-q", "--explain=4", "--no-report"]);
    assert!(matches!(output.status.code(), Some(0 | 2)), "{}", stderr(&output));
    adds_up(&world.runs()[0], 200);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("4 late samples explained"), "{said}");
    let json = world.run(["trace", "explain", "last", "--json"]);
    let told: Value = serde_json::from_slice(&json.stdout).unwrap();
    let spikes = told["cells"][0]["spikes"].as_array().unwrap_or_else(|| panic!("{told}"));
    assert_eq!(spikes.len(), 4);
    let stages = stages(&world.runs()[0]);
    let mut responses: Vec<i64> = stages.iter().filter_map(|row| row[5]).collect();
    responses.sort_unstable();
    for (spike, response) in spikes.iter().zip(responses.iter().rev()) {
        assert_eq!(spike["ns"], *response, "the largest responses, the largest first");
        let sum: u64 = spike["slices"].as_array().unwrap().iter().map(|slice| slice["ns"].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), spike["ns"].as_u64(), "its causes add up to it");
        assert_eq!(spike["covered"], true);
    }
}

/// The same without the kernel's events: the response alone, with the reason in the record and no quantity that is 0.
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
    assert!(stages(run).iter().all(|row| row[2..5].iter().all(Option::is_none) && row[5].is_some()));
}

/// What this machine lacks is skipped by name, with what to do.
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

/// Each source that is not here is named, with what to load, wire or name.
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
    // The laboratory's way to a station would take a card away from this machine.
    let output =
        world.run(["run", "interrupt", "source=network", "station=guest", "events=5", "--no-report", "--wait"]);
    assert!(stderr(&output).contains("laboratory"), "{}", stderr(&output));
}

/// Packets of a station of this machine, over the loopback and between namespaces: each has the kernel's stamp, and the record
/// says that no device raised an interrupt. No namespace of it can be seen, and no process is left.
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

/// The processes whose command line says so, by their id.
fn bearing(mark: &str) -> Vec<i32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let line = |entry: &fs::DirEntry| fs::read(entry.path().join("cmdline")).unwrap_or_default();
    let own = |entry: &fs::DirEntry| line(entry).split(|byte| *byte == 0).any(|word| word == mark.as_bytes());
    all.filter(own).filter_map(|entry| entry.file_name().to_string_lossy().parse().ok()).collect()
}

/// Whoever of a run is killed, its station goes with it, and no device of it was ever the machine's.
#[test]
fn a_killed_run_leaves_no_station() {
    let Some(_) = tracefs("a station that is left") else { return };
    let devices = || fs::read_dir("/sys/class/net").unwrap().count();
    let before = devices();
    // A rate of its own: its station is known by it.
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

/// A source of interrupts in a guest: its name, the guest's board, an option, and the handler and thread that serve it.
type Device = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// A device of a guest, of which a byte comes back.
#[test]
fn a_device_of_a_guest_is_raised_and_stamped() {
    stamped(&[("serial", "serial", "device=/dev/ttyS2", "serial8250_interrupt", "irq/5-ttyS2")]);
}

/// Devices whose events a thread raises.
#[test]
#[ignore = "two guests: scripts/slow/lab-guests"]
fn devices_that_a_thread_raises_are_stamped() {
    stamped(&[
        ("parport", "parport", "irq_prio=92", "parport_irq_handler", "irq/7-parport0"),
        ("uio", "edu", "trigger_prio=97", "uio_interrupt_handler", "irq/10-uio_pci"),
    ]);
}

/// Every event is joined with the real handler's entry, and the record says who raised it.
fn stamped(sources: &[Device]) {
    if kernel("6.12-rt", "devices of a guest").is_none() {
        return;
    }
    let world = World::new();
    for &(source, board, option, handler, thread) in sources {
        let (kernel, source) = (format!("6.12-rt+{board}"), format!("source={source}"));
        let words =
            ["run", "interrupt", &source, option, "events=40", "--policy", "fifo:80", "--on", "lab", "--kernel"];
        let output = world.run(words.into_iter().chain([kernel.as_str(), "--seed", "3", "--no-report"]));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let runs = world.runs();
        let run = runs.last().unwrap();
        adds_up(run, 40);
        let record = record(run);
        let stamps = &record["quality"]["stamps"];
        assert_eq!((&stamps["handler"]["symbol"], &stamps["handler"]["by"]), (&handler.into(), &"kprobe".into()));
        let threads = stamps["irq_threads"].as_array().unwrap();
        assert!(threads[0]["comm"].as_str().unwrap().starts_with(thread), "{stamps}");
        for quantity in ["entry", "thread"] {
            assert_eq!(series(&record, quantity)["count"], 40, "{quantity}");
        }
        let (trigger, policy) = match option.split_once('=').unwrap() {
            ("device", _) => (Value::Null, "fifo 50"),
            ("irq_prio", _) => ("fifo 95 on CPU 0".into(), "fifo 92"),
            _ => ("fifo 97 on CPU 0".into(), "fifo 50"),
        };
        assert_eq!(stamps["trigger"], trigger, "{stamps}");
        assert_eq!(stamps["asynchronous"], trigger.is_null());
        assert!(threads.iter().all(|one| one["policy"] == policy), "{stamps}");
    }
}

/// In a guest with PREEMPT_RT the HPET's handler is a thread: t2 is its real entry, by a kprobe that was read back, after the hard
/// entry and after the switch to the thread, whose priority is set and told. Twice the same bytes.
#[test]
#[ignore = "two guests: scripts/slow/lab-guests"]
fn the_hpets_handler_is_stamped_in_a_guest_twice_alike() {
    if kernel("6.12-rt", "the HPET of a guest").is_none() {
        return;
    }
    let world = World::new();
    for _ in 0..2 {
        let words = ["run", "interrupt", "source=hpet", "events=60", "irq_prio=91", "--on", "lab"];
        let output = world.run(words.into_iter().chain(["--kernel", "6.12-rt+hpet", "--seed", "3", "--no-report"]));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let runs = world.runs();
    adds_up(&runs[0], 60);
    let record = record(&runs[0]);
    let stamps = &record["quality"]["stamps"];
    assert_eq!((&stamps["handler"]["symbol"], &stamps["handler"]["by"]), (&"hpet_interrupt".into(), &"kprobe".into()));
    let threads = stamps["irq_threads"].as_array().unwrap();
    assert!(threads.len() == 1 && threads[0]["comm"].as_str().unwrap().starts_with("irq/"), "{stamps}");
    assert_eq!(threads[0]["policy"], "fifo 91", "set after its first event, and read back");
    for quantity in ["entry", "thread"] {
        assert_eq!(series(&record, quantity)["count"], 60);
    }
    let max = |quantity: &str| series(&record, quantity)["max"].as_i64().unwrap();
    assert!(max("entry") < max("thread") && max("thread") < max("interrupt"), "{}", record["series"]);
    assert_eq!(measured(&runs[0]), measured(&runs[1]));
}
