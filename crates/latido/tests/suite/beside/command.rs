//! Programs that measure and report their samples: latido records each line of the protocol, reports what is wrong with a program, and
//! leaves nothing of it behind.

use crate::common;

use common::{World, agent_of, installed, json, realtime, stderr};
use serde_json::Value;
use std::{fs, process::Output};

/// A program that declares itself ready, waits for `go`, and then does this.
fn telling(declared: &str, then: &str) -> String {
    format!("printf 'latido-samples 1\\n{declared}\\nready\\n'; read go; {then}")
}

const SERIES: &str = "series 0 quantity=latency unit=ns";

/// Runs a shell script as the source of a cell.
fn run(world: &World, options: &[&str], script: &str) -> Output {
    let mut line = vec!["run", "command", "--json", "--warmup=0ns", "--no-report"];
    if !options.iter().any(|option| option.starts_with("-d")) {
        line.push("-d2s");
    }
    line.extend(options);
    let script = world.file("source.sh", script);
    line.extend(["--", "sh", script.to_str().unwrap()]);
    world.run(line)
}

/// The record of a run that ends with this status.
fn record(output: &Output, status: i32) -> Value {
    json(output, status)["records"][0].clone()
}

fn verdict(output: &Output) -> String {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["judgement"]["cells"][0]["verdict"].as_str().unwrap().to_owned()
}

/// Each line of the protocol, with times of the machine's clock: samples, slots, and samples outside the measurement.
#[test]
fn what_is_told_is_what_is_recorded() {
    let world = World::new();
    // Times by the clock of the samples: the uptime in ns, with a resolution of 10 ms.
    let script = telling(
        "series 0 quantity=latency unit=us clock=boottime period=1000000 label.node=camera\\n0 7 1",
        "read up rest </proc/uptime; t=$(echo $up | tr -d .)0000000; sleep 0.3
         e=$((t + 100000000))
         printf '0 5 %d\\n0 1.5 %d\\n0 1000.001 %d\\n' $e $((e + 1000000)) $((e + 2000000))
         printf 'miss 0 2 %d\\n0 9 1\\n0 9 %d\\n' $((e + 3000000)) $((e + 99000000000))
         printf 'drop 0 0\\nend 0 6\\n'; read stop",
    );
    let output = run(&world, &[], &script);
    let record = record(&output, 0);
    let series = &record["series"][0];
    assert_eq!(series["labels"]["node"], "camera");
    assert_eq!((&series["count"], &series["min"], &series["max"]), (&3.into(), &1500.into(), &1_000_001.into()));
    assert_eq!(series["slots"], serde_json::json!({"met": 2, "late": 1, "missed": 2}));
    // A missed slot waited at least until the next slot that was not missed.
    assert_eq!((&series["corrected"]["count"], &series["corrected"]["max"]), (&5.into(), &2_000_000.into()));
    let facts = &series["facts"];
    assert_eq!((&facts["received"], &facts["produced"], &facts["lost"]), (&6.into(), &6.into(), &0.into()));
    assert_eq!((&facts["early"], &facts["beyond"], &facts["backwards"]), (&2.into(), &1.into(), &1.into()));
    let told = &record["quality"]["reported"];
    assert_eq!((&told["by"], &told["lines"], &told["ended"]), (&"source.sh".into(), &12.into(), &true.into()));
    assert_eq!(record["outcome"]["kind"], "complete");
    let shown = common::text(&world.run(["show", "--full", "last"]));
    assert!(shown.contains("reported by source.sh, idle"), "{shown}");
}

/// A program that counts no slots has none, whatever its period. What its period and times imply is a fact in the record.
#[test]
fn slots_are_not_guessed() {
    let world = World::new();
    let declared = "series 0 quantity=latency unit=ns clock=device period=1000";
    let output = run(&world, &[], &telling(declared, "printf '0 1 1001\\n0 1 2001\\n0 1 9001\\nend 0 3\\n'"));
    let series = &record(&output, 0)["series"][0];
    assert_eq!((&series["slots"], &series["corrected"]), (&Value::Null, &Value::Null));
    assert_eq!((&series["facts"]["implied_missed"], &series["facts"]["placed"]), (&6.into(), &0.into()));
}

#[test]
fn bad_lines_are_counted_kept_and_judged() {
    let world = World::new();
    let script = telling(SERIES, "printf '0 1\\n0 12x4\\n\\377 9\\n7 1\\nend 0 1\\n'");
    let output = run(&world, &[], &script);
    let told = record(&output, 3)["quality"]["reported"].clone();
    assert_eq!(told["bad"], serde_json::json!({"number": 1, "not ASCII": 1, "undeclared series": 1}));
    assert_eq!(told["examples"], serde_json::json!(["0 12x4", "\\xff 9", "7 1"]));
    assert_eq!(verdict(&output), "contaminated");
    // One bad line in ten thousand does not contaminate.
    let script = telling(SERIES, "yes '0 5' | head -n 20000; echo '0 x'; echo end 0 20000");
    let output = run(&world, &[], &script);
    let told = record(&output, 0)["quality"]["reported"].clone();
    assert_eq!((&told["bad"]["number"], &told["lines"]), (&1.into(), &20_005.into()));
}

#[test]
fn what_keeps_a_program_from_measuring_is_told() {
    let world = World::new();
    let why = |options: &[&str], script: &str, expected: &str| {
        let output = run(&world, options, script);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let told = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(expected), "{expected}: {told}");
    };
    why(&[], "echo hello", "is not `latido-samples 1` but `hello`");
    why(&[], "echo latido-samples 2", "but `latido-samples 2`");
    why(&[], "echo no such board >&2; exit 3", "`source.sh` ended with status 3; it printed: no such board");
    why(&[], "exit 0", "ended before it was ready");
    why(&["ready=300ms"], "echo latido-samples 1; sleep 9", "was not ready within 300ms (1 line without `ready`");
    why(
        &[],
        "echo latido-samples 1; echo series 0; echo ready; read go",
        "has declared no series; its first bad line is `series 0`",
    );
    why(&[], &telling(SERIES, "echo 0 1; echo end 0 1; exit 1"), "ended with status 1");
    why(&[], &telling(SERIES, "kill -9 $$"), "was ended by signal 9");
    let output = world.run(["run", "command", "--", "./no-such-program"]);
    assert!(stderr(&output).contains("there is no program `./no-such-program`"), "{}", stderr(&output));
    let output = world.run(["run", "command"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(stderr(&output).contains("latido run command -- CMD"), "{}", stderr(&output));
    for (option, expected) in
        [("format=xml", "latido, cyclictest-v"), ("unit=us", "for other formats"), ("ready=0s", "above 0")]
    {
        let output = world.run(["run", "command", option, "--", "true"]);
        assert_eq!(output.status.code(), Some(64), "{option}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    let output = world.run(["run", "command", "--stop-on", "1ms", "--", "true"]);
    assert!(stderr(&output).contains("--stop-on cannot stop it"), "{}", stderr(&output));
    world.nothing_left("after programs that failed");
}

#[test]
fn without_an_end_it_is_interrupted() {
    let world = World::new();
    let output = run(&world, &[], &telling(SERIES, "echo 0 1; echo 0 2"));
    let record = record(&output, 3);
    assert_eq!((&record["outcome"]["kind"], &record["series"][0]["count"]), (&"interrupted".into(), &2.into()));
}

#[test]
fn what_was_lost_is_a_doubt() {
    let world = World::new();
    for (script, fact, count) in [
        ("echo 0 1; echo drop 0 17; echo end 0 1", "dropped", 17),
        ("echo 0 1; echo end 0 4", "lost", 3),
        ("echo 0 1; echo 0 1; echo 0 1; echo end 0 1", "surplus", 2),
    ] {
        let output = run(&world, &[], &telling(SERIES, script));
        assert_eq!(record(&output, 3)["quality"]["reported"][fact], count);
        assert_eq!(verdict(&output), "contaminated");
    }
}

/// A pipe that was full while the program measured contaminates; a pipe that was full at the end, after all was measured, does not.
#[test]
fn a_full_pipe_is_a_doubt_while_it_measures() {
    let world = World::new();
    let blocked = |declared: &str, then: &str| {
        let output = run(&world, &[], &telling(declared, then));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
        document["records"][0]["quality"]["reported"]["pipe"].clone()
    };
    let flood = |line: &str| {
        // A single write of more than a pipe holds blocks at the full pipe.
        format!("yes '{line}' | head -c 4000000 >all; dd if=all bs=4M iflag=fullblock 2>/dev/null; echo; echo end 0 0")
    };
    let pipe = blocked(SERIES, &flood("0 5"));
    assert_eq!((&pipe["blocked"], pipe["fullest"].as_u64() > Some(60_000)), (&true.into(), true), "{pipe}");
    // The times of the samples show that all were measured before.
    let pipe = blocked(&format!("{SERIES} clock=monotonic"), &flood("0 5 1"));
    assert_eq!((&pipe["blocked"], pipe["fullest"].as_u64() > Some(60_000)), (&false.into(), true), "{pipe}");
    let pipe = blocked(SERIES, "echo 0 5; echo end 0 1");
    assert_eq!((&pipe["blocked"], pipe["fullest"].as_u64().unwrap() < 100), (&false.into(), true), "{pipe}");
}

/// The checksum of NMEA 0183: once a series has used it, a line without it is bad.
#[test]
fn checksums_are_checked() {
    let world = World::new();
    let sum = |text: &str| format!("{text}*{:02X}", text.bytes().fold(0, |sum, byte| sum ^ byte));
    let lines = ["0 1", "0 2", "0 3"].map(sum).join("\\n");
    let script = telling(&sum(SERIES), &format!("printf '{lines}\\n0 4\\n0 5*00\\n{}\\n'", sum("end 0 3")));
    let output = run(&world, &[], &script);
    let record = record(&output, 3);
    assert_eq!(record["series"][0]["count"], 3);
    assert_eq!(record["quality"]["reported"]["bad"]["checksum"], 2);
}

/// The program reports on a separate pipe and finds the facts that it needs in its environment; latido stores its other output next to the
/// record.
#[test]
fn a_channel_of_its_own_and_the_environment() {
    let world = World::new();
    let script = "exec 1>&2; exec 9>&$LATIDO_SAMPLES_FD; echo chatter
        d=\"label.cpus=$LATIDO_CPUS label.duration=$LATIDO_DURATION_NS label.warmup=$LATIDO_WARMUP_NS label.seed=$LATIDO_SEED\"
        printf 'latido-samples 1\\nseries 0 quantity=latency unit=ns %s\\nready\\n' \"$d\" >&9
        read go; echo 0 1 >&9; read stop; echo \"$go $stop\" >&2; echo end 0 1 >&9";
    // A POSIX shell cannot write to a descriptor above 9, but bash can.
    if !installed("bash", "a separate channel") {
        return;
    }
    let file = world.file("source.sh", script);
    let line =
        ["run", "command", "channel=fd", "-c0", "-d300ms", "--warmup=0ns", "--json", "--no-report", "--", "bash"];
    let output = world.run(line.into_iter().chain([file.to_str().unwrap()]));
    // The sample of a shell that answers late comes after the measurement, which then decides nothing.
    let status = output.status.code().filter(|status| *status == 3).unwrap_or(0);
    let record = record(&output, status);
    let labels = &record["series"][0]["labels"];
    assert_eq!(
        (&labels["cpus"], &labels["duration"], &labels["warmup"]),
        (&"0".into(), &"300000000".into(), &"0".into())
    );
    assert_eq!(labels["seed"], record["cell"]["seed"].to_string());
    assert_eq!(record["quality"]["reported"]["channel"], "fd");
    let said = fs::read_to_string(world.runs()[0].join("cells/001/program.txt")).unwrap();
    assert_eq!(said, "chatter\ngo stop\n");
}

/// If the program names its thread, the usual checks look at that thread; otherwise they are unknown.
#[test]
fn trust_is_of_the_thread_that_is_named() {
    let world = World::new();
    let checks = |output: &Output| -> Vec<(String, String, String)> {
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)));
        let all = document["judgement"]["cells"][0]["findings"].as_array().unwrap().clone();
        let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
        all.iter().map(|one| (text(one, "check"), text(one, "level"), text(one, "text"))).collect()
    };
    let of = |all: &[(String, String, String)], check: &str| -> Option<(String, String)> {
        all.iter().find(|one| one.0 == check).map(|one| (one.1.clone(), one.2.clone()))
    };
    let unseen = checks(&run(&world, &[], &telling(SERIES, "echo 0 1; read stop; echo end 0 1")));
    for check in ["policy", "pinning", "page faults", "preemptions", "foreign tasks"] {
        let expected = ("unknown".to_owned(), "the program named no thread (tid)".to_owned());
        assert_eq!(of(&unseen, check), Some(expected), "{check}");
    }
    assert_eq!(of(&unseen, "memory"), None, "latido's own memory says nothing of a program's");
    let named = format!(
        "printf 'latido-samples 1\\n{SERIES} tid=%d\\nready\\n' $$; read go; echo 0 1; read stop; echo end 0 1"
    );
    let seen = checks(&run(&world, &[], &named));
    assert_eq!(of(&seen, "policy"), Some(("ok".into(), "other: the program's own choice".into())));
    assert_eq!(of(&seen, "pinning").unwrap().0, "ok");
    let pinned = run(&world, &["-c0"], &named);
    let thread = json(&pinned, 0)["records"][0]["quality"]["threads"][0].clone();
    assert_eq!((&thread["cpu"], thread["voluntary_switches"].as_u64().is_some()), (&0.into(), true), "{thread}");
    let nobody = run(&world, &[], &named.replace("$$", "4194303"));
    let skipped = json(&nobody, 0)["records"][0]["skipped"][0]["why"].as_str().unwrap().to_owned();
    assert!(skipped.starts_with("there is no thread 4194303"), "{skipped}");
    if realtime("a program under the cell's policy") {
        let asked = run(&world, &["--prio=30"], &named);
        assert_eq!(json(&asked, 0)["records"][0]["quality"]["threads"][0]["policy"], "fifo 30");
        assert_eq!(of(&checks(&asked), "policy"), Some(("ok".into(), "fifo 30 granted".into())));
        // A thread that gives up the policy is not what the cell requested.
        let given_back = run(&world, &["--prio=30"], &named.replace("read go;", "read go; chrt -o -p 0 $$;"));
        assert_eq!(of(&checks(&given_back), "policy").unwrap().0, "invalid");
    }
}

/// A program that ignores `stop` and SIGTERM, and whose child is in its own session: latido ends all of it, after the cell and after
/// SIGKILL of agent or host.
#[test]
fn nothing_of_it_stays_behind() {
    let script = telling(SERIES, "trap '' TERM; setsid sleep 77 & while :; do echo 0 1; sleep 0.05; done");
    let world = World::new();
    let output = run(&world, &["-d300ms"], &script);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    world.nothing_left("after a stubborn program");
    for killed in ["agent", "host"] {
        let world = World::new();
        let file = world.file("source.sh", &script);
        let line = ["run", "command", "-d60s", "--no-report", "--", "sh", file.to_str().unwrap()];
        let mut host = world.latido(line).spawn().unwrap();
        let started = || world.alive().iter().any(|(_, line)| line.starts_with("sleep 77")).then_some(());
        common::meanwhile(&mut host, "the program", started);
        let pid = if killed == "agent" { agent_of(host.id()) } else { host.id() };
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid.cast_signed()).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        host.wait().unwrap();
        if killed == "agent" {
            // After SIGKILL of the agent the next latido ends what is left.
            world.run(["run", "null", "samples=1", "--no-report"]);
        }
        world.nothing_left(&format!("after SIGKILL of the {killed}"));
    }
}

/// latido reads the lines of other tools as they arrive, without a handshake.
#[test]
fn lines_of_other_tools_are_read() {
    let world = World::new();
    let of = |format: &str, lines: &str| {
        let output = run(&world, &[&format!("format={format}")], &format!("printf '{lines}'"));
        record(&output, 0)["series"].as_array().unwrap().clone()
    };
    let found =
        of("csv", "value_us,at_ns,cpu\\n89.204,6009543086957,0\\n32.437,6009544030190,1\\n1.5,6009545030190,0\\n");
    assert_eq!((found.len(), &found[0]["max"], &found[1]["max"]), (2, &89_204.into(), &32_437.into()));
    assert_eq!((&found[0]["cpu"], &found[0]["count"]), (&0.into(), &2.into()));
    let found = of(
        "ndjson",
        "{\"value\":89204,\"unit\":\"ns\",\"node\":\"a\"}\\n{\"value\":7,\"unit\":\"us\",\"node\":\"a\"}\\n",
    );
    assert_eq!((found.len(), &found[0]["labels"]["node"]), (2, &"a".into()), "units tell series apart");
    let found = of("cyclictest-v", "Max CPUs = 2\\n       0:       0:      23\\n       0:       1:      31\\n");
    assert_eq!((&found[0]["count"], &found[0]["max"]), (&2.into(), &31_000.into()));
    let output = run(&world, &["format=jitterdebugger"], "printf '0;5.507117074;32\\n'");
    assert_eq!(record(&output, 3)["series"][0]["facts"]["early"], 1, "its clock is the machine's: that was long ago");
    if installed("cyclictest", "a program without handshake") {
        let line = ["run", "command", "format=cyclictest-v", "-d20s", "--warmup=0ns", "--json", "--no-report", "--"];
        let output = world.run(line.into_iter().chain(["cyclictest", "-v", "-q", "-i1000", "-l200"]));
        let record = record(&output, 0);
        let count = record["series"][0]["count"].as_u64().unwrap();
        assert!((150..=200).contains(&count), "{count}");
    }
}
