//! Runs whose threads a real-time core beside the kernel schedules. A stand-in plays the core: the runs prove what latido asks of it, in
//! which order, and what latido makes of its answers. They prove nothing about times.

use crate::common::{
    World, alone, ended, meanwhile, processes, realtime,
    stand_in::{StandIn, calls},
    stderr,
};
use latido_sys::dual::{Core, Installed, Mutex, Semaphore};
use serde_json::Value;
use std::{
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
};

/// A run out of band, without a warm-up: each sleep of its loop is a sample.
const RUN: [&str; 7] = ["run", "wakeup", "--policy=cobalt", "--prio=90", "-c0", "--warmup=0ns", "--no-report"];
/// How long it measures.
const SHORT: &str = "-d200ms";

/// What the test needs to measure; `None` notes it as skipped.
fn measurable(what: &str) -> Option<StandIn> {
    StandIn::found(what).filter(|_| realtime(what))
}

/// Runs it to its end with a core that has these faults.
fn run(world: &World, core: &StandIn, faults: &[&str], words: &[&str]) -> Output {
    let latido = world.latido(RUN.into_iter().chain(words.iter().copied()));
    core.around(world, faults, &latido).output().unwrap()
}

/// The document of a run, whatever its verdict: a virtual machine may lose time to others at any moment.
fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

/// The level and the sentence of a trust check of the only cell.
fn finding(document: &Value, check: &str) -> (String, String) {
    let findings = document["judgement"]["cells"][0]["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["check"] == check);
    let found = found.unwrap_or_else(|| panic!("no finding `{check}`: {findings:#?}"));
    // A count keeps its unit on its line.
    let text = found["text"].as_str().unwrap().replace('\u{a0}', " ");
    (found["level"].as_str().unwrap().into(), text)
}

/// The calls of each thread that entered the core, from there on. The first thread also binds its process.
fn members(world: &World) -> Vec<Vec<String>> {
    let entered = |calls: Vec<String>| calls.into_iter().skip_while(|call| call != "enter").collect::<Vec<_>>();
    calls(world).into_iter().map(entered).filter(|calls| !calls.is_empty()).collect()
}

/// The calls of the loop: those between the last two readings of the counts, without the calls around them.
fn of_the_loop(thread: &[String]) -> &[String] {
    let counts: Vec<usize> = (0..thread.len()).filter(|&at| thread[at] == "counts").collect();
    let [_rehearsed, before, after] = counts[..] else { panic!("the counts are read three times: {thread:?}") };
    &thread[before + 1..after]
}

fn times(calls: &[String], name: &str) -> u64 {
    calls.iter().filter(|call| *call == name).count() as u64
}

/// The order of the calls: enter, warn, harden and count before the first sample; count before any other call after the last one, and
/// leave. A thread that switched its warnings on later, or asked for anything in between, could switch unseen. It has made each kind of
/// call before: a page fault at the first one would be a switch.
fn in_order(thread: &[String], sleep: &[&str], timer: bool) {
    let own = of_the_loop(thread);
    assert!(own.iter().all(|call| sleep.contains(&call.as_str())), "{own:?}");
    let after = thread.iter().rposition(|call| call == "counts").unwrap();
    let (before, after) = (&thread[..after - own.len() - 1], &thread[after..]);
    let mut expected = vec!["enter", "harden", "counts", "quiet"];
    expected.extend(timer.then_some("timer"));
    let rehearsed = before.strip_suffix(&["warn", "harden"].map(String::from)).unwrap();
    let (begin, rehearsal) = rehearsed.split_at(expected.len());
    assert_eq!(begin, expected);
    assert!(rehearsal.iter().all(|call| sleep.contains(&call.as_str())), "{rehearsal:?}");
    let mut expected = vec!["counts", "quiet", "quiet", "relax"];
    expected.extend(timer.then_some("close"));
    assert_eq!(after, expected);
}

/// A thread that stays out of band is in order, by both ways to wait and with both ABIs. The core's counts are those of its sleeps, each
/// sample is a sleep, and the calls come in the right order.
#[test]
fn a_thread_that_stays_out_of_band_is_in_order() {
    let _turn = alone();
    let Some(core) = measurable("a run out of band") else { return };
    for (abi, by) in [(19, "nanosleep"), (19, "timerfd"), (18, "timerfd")] {
        let world = World::new();
        let (fault, by) = (format!("abi={abi}"), format!("by={by}"));
        let document = document(&run(&world, &core, &[&fault], &[SHORT, &by, "--json"]));
        let record = &document["records"][0];
        let quality = &record["quality"];
        let threads = members(&world);
        let [thread] = threads.as_slice() else { panic!("{threads:?}") };
        let timer = by == "by=timerfd";
        // A core refuses to set a timer to a time that has passed. The thread then does not wait.
        let (due, slept, sleeps): (_, _, &[&str]) =
            if timer { ("set", "read", &["set", "read"]) } else { ("sleep", "sleep", &["sleep"]) };
        in_order(thread, sleeps, timer);
        let own = of_the_loop(thread);
        assert!(!own.is_empty(), "{by}: {thread:?}");
        let counts = &quality["threads"][0]["core"];
        assert_eq!(counts["context_switches"], times(own, slept), "{by}: {counts}");
        // The second reading counts itself.
        assert_eq!(counts["system_calls"], own.len() as u64 + 1, "{by}: {counts}");
        assert_eq!((&counts["switches"], &counts["faults"]), (&0.into(), &0.into()), "{by}");
        assert_eq!([&counts["out_of_band_before"], &counts["out_of_band_after"]], [true, true], "{by}");
        assert_eq!(record["series"][0]["count"], times(own, due), "{by}: each sample is a sleep");
        assert_eq!((&quality["core"]["abi"], quality["core"].get("debug")), (&abi.into(), None), "{by}");
        assert_eq!(quality["threads"][0]["policy"], "fifo 90", "in-band the thread is one of Linux");
        let told = format!(
            "Cobalt (ABI {abi}): out of band throughout, {}, gravity unknown",
            match times(own, slept) {
                1 => "1 context switch".into(),
                many => format!("{many} context switches"),
            }
        );
        assert_eq!(finding(&document, "core"), ("ok".into(), told));
        assert_eq!(finding(&document, "policy"), ("ok".into(), "cobalt 90 granted".into()));
        world.nothing_left("of a run out of band");
    }
}

/// Two threads of one CPU sleep at once, and each has its own counts.
#[test]
fn each_thread_has_its_counts() {
    let _turn = alone();
    let Some(core) = measurable("two threads out of band") else { return };
    let world = World::new();
    let document = document(&run(&world, &core, &[], &[SHORT, "tasks=2", "--json"]));
    let threads = members(&world);
    assert_eq!(threads.len(), 2);
    let mut expected: Vec<u64> = threads.iter().map(|calls| times(of_the_loop(calls), "sleep")).collect();
    let counted = document["records"][0]["quality"]["threads"].as_array().unwrap();
    let mut counted: Vec<u64> =
        counted.iter().map(|thread| thread["core"]["context_switches"].as_u64().unwrap()).collect();
    expected.sort_unstable();
    counted.sort_unstable();
    assert_eq!(counted, expected);
    threads.iter().for_each(|calls| in_order(calls, &["sleep"], false));
    assert_eq!(finding(&document, "core").0, "ok");
}

/// One switch to in-band in a whole run contaminates it, although the latencies are as without it. So does everything else that says that
/// Linux scheduled the thread, or that nobody knows.
#[test]
fn whatever_takes_a_thread_in_band_contaminates() {
    let _turn = alone();
    let Some(core) = measurable("switches to in-band") else { return };
    for (fault, told) in [
        ("switch=1", "Cobalt (ABI 19): the thread of CPU 0 switched to in-band 1 time"),
        ("fault=1", "Cobalt (ABI 19): the thread of CPU 0 had 1 fault"),
        ("debug=2@1", "Cobalt (ABI 19): SIGDEBUG: 1 (a system call of Linux)"),
        ("debug=6@1", "Cobalt (ABI 19): SIGDEBUG: 1 (the watchdog)"),
        ("debug=77@1", "Cobalt (ABI 19): SIGDEBUG: 1 (cause 15 or above)"),
        ("in-band-end", "Cobalt (ABI 19): the thread of CPU 0 was in-band after the last sample"),
        ("no-statistics", "the core's counts are missing, so latido does not know whether it scheduled the threads"),
    ] {
        let world = World::new();
        let output = run(&world, &core, &[fault], &[SHORT, "--json"]);
        let document = document(&output);
        assert_eq!(finding(&document, "core"), ("invalid".into(), told.into()), "{fault}");
        let cell = &document["judgement"]["cells"][0];
        assert_eq!((&cell["verdict"], output.status.code()), (&"contaminated".into(), Some(3)), "{fault}");
        let shown = String::from_utf8(world.run(["show", "last"]).stdout).unwrap();
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains("CONTAMINATED") && shown.contains(told), "{fault}: {shown}");
    }
}

/// A core sets its timers early, so a sample may be below zero. That is no broken clock.
#[test]
fn a_sample_below_zero_is_no_broken_clock() {
    let _turn = alone();
    let Some(core) = measurable("samples below zero") else { return };
    let world = World::new();
    // A late answer hides that the timer was early, but not each time.
    let document = document(&run(&world, &core, &["early=40000000"], &["period=50ms", "-d500ms", "--json"]));
    let series = &document["records"][0]["series"][0];
    assert!(series["negative"].as_u64().unwrap() > 0 && series["min"].as_i64().unwrap() < 0, "{series}");
    assert_eq!(document["records"][0]["quality"]["clock"]["backwards"], 0);
    let ((_, clock), (core, _)) = (finding(&document, "clock"), finding(&document, "core"));
    assert!(core == "ok" && !clock.contains("backwards") && !clock.contains("below zero"), "{core}, {clock}");
}

/// Without a core that latido can use, nothing is measured, and the sentence says why.
#[test]
fn a_core_that_cannot_be_used_is_named_and_nothing_is_measured() {
    let Some(core) = StandIn::found("cores that latido cannot use") else { return };
    let clock = "latido speaks 18 and 19 on Dovetail: the clock of this core is not Linux's";
    for (faults, told) in [
        (&["abi=17"][..], &*format!("the Cobalt core of this kernel speaks ABI 17, but {clock}")),
        (&["abi=18", "another-clock"], &*format!("the Cobalt core of this kernel speaks ABI 18, but {clock}")),
        (
            &["abi=20"],
            "the Cobalt core of this kernel speaks ABI 20, but latido speaks 18 (Xenomai 3.2) and 19 (Xenomai 3.3)",
        ),
        (&["stopped"], "the Cobalt core is stopped: start it with `corectl --start`"),
        (
            &["denied"],
            "this process may not use the Cobalt core: Operation not permitted (errno 1); run latido as root",
        ),
    ] {
        let world = World::new();
        let output = run(&world, &core, faults, &[SHORT]);
        let told = format!("nothing was started: policy `cobalt 90`: {told}\n");
        assert!(output.status.code() == Some(1) && stderr(&output).ends_with(&told), "{faults:?}: {}", stderr(&output));
        assert!(world.runs().is_empty(), "{faults:?}");
        let calls = calls(&world).concat();
        assert!(calls.iter().all(|call| ["bind", "clock"].contains(&call.as_str())), "{faults:?}: {calls:?}");
    }
    let world = World::new();
    let output = world.run(RUN.into_iter().chain([SHORT]));
    let told = "nothing was started: policy `cobalt 90`: this kernel has no Cobalt core\n";
    assert!(output.status.code() == Some(1) && stderr(&output).ends_with(told), "{}", stderr(&output));
}

/// The cells of other policies are measured where the cell of the core is skipped.
#[test]
fn a_kernel_without_the_core_skips_only_its_cells() {
    let _turn = alone();
    if !realtime("a plan with and without a core") {
        return;
    }
    let world = World::new();
    world.file(
        "plan.toml",
        "schema = 1\nname = \"both\"\n\n[[group]]\nprobe = [{ name = \"wakeup\" }]\ncpus = \"0\"\nduration = \"100ms\"\n\
         scheduling = [{ policy = \"fifo\", prio = 80 }, { policy = \"cobalt\", prio = 90 }]\n",
    );
    let document = document(&world.run(["run", "plan.toml", "--no-report", "--json"]));
    let skipped: Vec<&Value> =
        document["judgement"]["cells"].as_array().unwrap().iter().filter(|cell| cell["verdict"] == "skipped").collect();
    let [skipped] = skipped[..] else { panic!("{}", document["judgement"]) };
    assert_eq!(skipped["reasons"][0], "policy `cobalt 90`: this kernel has no Cobalt core");
    let records = document["records"].as_array().unwrap();
    assert_eq!((records.len(), &records[0]["cell"]["scheduling"]["policy"]), (1, &"fifo".into()));
}

/// A core that accepts the process may still refuse a thread. The failed cell has the core's error.
#[test]
fn a_refused_thread_has_the_error_of_the_core() {
    let _turn = alone();
    let Some(core) = measurable("a thread that the core refuses") else { return };
    let world = World::new();
    let output = run(&world, &core, &["refuses"], &[SHORT]);
    let told = "the measuring loop failed: Cobalt refused the thread: Resource temporarily unavailable (errno 11)";
    assert!(output.status.code() == Some(1) && stderr(&output).contains(told), "{}", stderr(&output));
    assert_eq!(calls(&world).concat().last().unwrap(), "enter", "without the core there is no loop");
}

/// What only the kernel has is refused before anything starts.
#[test]
fn probes_and_ways_that_need_the_kernel_are_refused() {
    let timer =
        "a core beside the kernel has no POSIX timer for latido and no deadline policy: use by=nanosleep or by=timerfd";
    for (probe, told) in [
        (&["gap"][..], "this probe makes calls that only the kernel has; the probe `wakeup` measures out of band"),
        (&["wakeup", "by=posix-timer"], timer),
        (&["wakeup", "clock=tai"], "latido sleeps out of band only on the clock `monotonic`"),
    ] {
        let world = World::new();
        let words = ["run"].into_iter().chain(probe.iter().copied());
        let output = world.run(words.chain(["--policy=cobalt", "--prio=90", "-d1s", "--no-report"]));
        let told = format!("error: {}: probe `{}` with scheduling cobalt 90: {told}\n", probe[0], probe[0]);
        assert!(output.status.code() == Some(64) && stderr(&output).starts_with(&told), "{}", stderr(&output));
    }
}

/// A stop must not take a thread in-band itself: an ordinary period ends without a signal. A thread that sleeps for an hour gets one, and
/// the cell says so.
#[test]
fn a_stop_takes_no_thread_in_band_within_its_period() {
    let _turn = alone();
    let Some(core) = measurable("an interrupted run out of band") else { return };
    for (period, level) in [("period=1ms", "ok"), ("period=1h", "invalid")] {
        let world = World::new();
        let words = ["-d100h", "--json", period];
        let latido = world.latido(RUN.into_iter().chain(words));
        let program = latido.get_program().to_str().unwrap().to_owned();
        let mut core = core.around(&world, &[], &latido);
        let mut child = core.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let sleeps =
            |calls: &Vec<String>| times(calls, "counts") == 2 && calls.last().is_some_and(|call| call == "sleep");
        meanwhile(&mut child, "a thread in its loop", || members(&world).iter().any(sleeps).then_some(()));
        let host = world.alive().into_iter().find(|(_, line)| line.starts_with(&format!("{program} run")));
        processes::ctrl_c(host.unwrap().0.cast_unsigned());
        let document = document(&ended(child, "an interrupted run out of band"));
        assert_eq!(document["records"][0]["outcome"]["kind"], "interrupted", "{period}");
        let (found, text) = finding(&document, "core");
        assert_eq!(found, level, "{period}: {text}");
        assert!(level == "ok" || text.ends_with("SIGDEBUG: 1 (a signal of Linux)"), "{period}: {text}");
    }
}

/// The sample above the threshold ends one thread, and the flag ends the other, even before its first sleep: both stay out of band until
/// their counts are read.
#[test]
fn a_sample_that_ends_the_run_takes_no_thread_in_band() {
    let _turn = alone();
    let Some(core) = measurable("a run out of band that a sample ends") else { return };
    let world = World::new();
    let document = document(&run(&world, &core, &[], &["-d100h", "--stop-on=1us", "tasks=2", "--json"]));
    assert_eq!(document["records"][0]["outcome"]["kind"], "stopped");
    assert_eq!(finding(&document, "core").0, "ok", "{:?}", finding(&document, "core"));
    members(&world).iter().for_each(|calls| in_order(calls, &["sleep"], false));
}

/// The semaphores, the mutex and the priority of the core work between two threads, as its calls promise. This test is also the program
/// that makes the calls.
#[test]
fn two_members_hand_over_by_the_objects_of_the_core() {
    const INSIDE: &str = "LATIDO_INSIDE_THE_STAND_IN";
    if std::env::var_os(INSIDE).is_some() {
        return hand_over();
    }
    let Some(core) = StandIn::found("objects of a core") else { return };
    let world = World::new();
    let mut own = Command::new(std::env::current_exe().unwrap());
    let name = thread::current().name().unwrap().to_owned();
    own.args(["--exact", &name, "--nocapture"]).env(INSIDE, "1");
    let output = core.around(&world, &[], &own).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    const CALLS: [&str; 4] = ["sem_wait", "sem_post", "mutex_lock", "mutex_unlock"];
    let each = members(&world).iter().map(|calls| CALLS.map(|name| times(calls, name))).collect::<Vec<_>>();
    assert_eq!(each, [[ROUNDS; 4]; 2]);
}

/// How often each thread has its turn.
const ROUNDS: u64 = 100;

fn hand_over() {
    let installed = Installed::find().unwrap().unwrap();
    assert_eq!((installed.core(), installed.abi()), (Core::Cobalt, 19));
    let turns = [1, 0].map(|initial| Semaphore::new(&installed, initial).unwrap());
    let (mutex, held, passed) = (Mutex::new(&installed).unwrap(), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for own in 0..2u64 {
            let (installed, turns, mutex, held, passed) = (&installed, &turns, &mutex, &held, &passed);
            scope.spawn(move || {
                let member = installed.enter(50).unwrap();
                assert!(member.is_out_of_band().unwrap());
                for round in 0..ROUNDS {
                    turns[own as usize].wait().unwrap();
                    assert_eq!(passed.fetch_add(1, Relaxed), 2 * round + own, "one after the other");
                    turns[1 - own as usize].post().unwrap();
                    let lock = mutex.lock().unwrap();
                    assert_eq!(held.swap(1, Relaxed), 0, "nobody else has the mutex");
                    thread::yield_now();
                    held.store(0, Relaxed);
                    lock.unlock().unwrap();
                }
                member.set_priority(60).unwrap();
                assert!(member.set_priority(100).is_err(), "the core has 99 priorities");
                let counts = member.counts().unwrap();
                assert_eq!((counts.out_of_band, counts.switches), (true, 0));
                member.leave().unwrap();
            });
        }
    });
}
