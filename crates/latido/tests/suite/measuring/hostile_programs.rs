//! Programs of a probe that do not want to end, and another user who sends forged events.

use crate::common::{self, Need, attacker, recording};

use common::{World, installed, meanwhile, skip, stderr};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    path::PathBuf,
    process::{Child, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long the programs stay if nothing ends them, in s. Below: how long the test waits for a run that cannot end them. Neither says how
/// fast something must be.
const STAYS: u64 = 900;
const GIVEN_UP: Duration = Duration::from_secs(240);

/// Returns the output of a run; `None` if it does not end. Then it is killed with all processes of its world.
fn ended(world: &World, mut run: Child) -> Option<Output> {
    let until = Instant::now() + GIVEN_UP;
    while run.try_wait().unwrap().is_none() {
        if Instant::now() >= until {
            for (pid, _) in world.alive() {
                let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
            let _ = run.kill();
            let _ = run.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(20));
    }
    Some(run.wait_with_output().unwrap())
}

/// A program that moves to the process group of its parent, starts another one that hides in a session, ignores SIGTERM, and speaks the
/// protocol of `command` up to `ready`.
fn leaving(world: &World) -> PathBuf {
    let text = format!(
        "import os, signal, sys, time\n\
         signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         os.setpgid(0, os.getpgid(os.getppid()))\n\
         if os.fork() == 0:\n    os.setsid()\n    time.sleep({STAYS})\n    os._exit(0)\n\
         print('latido-samples 1\\nseries 0 quantity=latency unit=ns\\nready', flush=True)\n\
         open('started', 'w').close()\n\
         end = time.time() + {STAYS}\n\
         while time.time() < end: time.sleep(0.001)\n"
    );
    world.file("leaving.py", &text)
}

/// Runs such a program and, if `interrupted`, presses Ctrl-C once it has started.
fn left(probe: &[&str], duration: &str, interrupted: bool) -> Option<Output> {
    let world = World::new();
    let script = leaving(&world);
    let words =
        [&["run"][..], probe, &["-d", duration, "--no-report", "--wait", "--", "python3", script.to_str().unwrap()]]
            .concat();
    let mut command = world.latido(words);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    if interrupted {
        meanwhile(&mut run, "a program that left its group", || world.path("started").exists().then_some(()));
        thread::sleep(Duration::from_millis(300));
        kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    }
    let output = ended(&world, run)?;
    assert_ne!(output.status.code(), Some(64), "nothing ran: {}", stderr(&output));
    world.nothing_left("of a program that left its group");
    Some(output)
}

#[test]
fn a_program_that_left_its_group_ends_with_the_cell() {
    let what = "programs that leave their process group";
    if !installed("python3", what) {
        return;
    }
    let output = left(&["command"], "100ms", false).expect("the cell of `command` never ends");
    assert!(matches!(output.status.code(), Some(0..=3)), "{}", stderr(&output));
    left(&["command"], "10m", true).expect("`command` is deaf to the first Ctrl-C");
    if recording::tracefs(what) {
        left(&["task"], "1s", false).expect("the cell of `task` never ends");
        left(&["task"], "10m", true).expect("`task` is deaf to the first Ctrl-C");
    }
}

/// A program stops the process that measures it. The first Ctrl-C still ends the run, with that process's own message.
#[test]
fn a_program_that_stops_its_parent_does_not_outlive_ctrl_c() {
    let what = "a program that stops its parent";
    if !installed("python3", what) {
        return;
    }
    let world = World::new();
    let text = format!(
        "import os, signal, time\n\
         print('latido-samples 1\\nseries 0 quantity=latency unit=ns\\nready', flush=True)\n\
         os.kill(os.getppid(), signal.SIGSTOP)\n\
         open('stopped', 'w').close()\n\
         time.sleep({STAYS})\n"
    );
    let script = world.file("stops.py", &text);
    let words = ["run", "command", "-d", "10m", "--no-report", "--", "python3", script.to_str().unwrap()];
    let mut run = world.latido(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    meanwhile(&mut run, "a parent that is stopped", || world.path("stopped").exists().then_some(()));
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let output = ended(&world, run).expect("the run does not end");
    let said = stderr(&output);
    assert!(output.status.code() == Some(130) && !said.contains("sent nothing"), "{:?}: {said}", output.status);
    world.nothing_left("of a program that stopped its parent");
}

#[test]
fn another_users_packets_are_no_events() {
    let what = "packets that another user forges";
    if let Some(why) = attacker::missing() {
        return skip(what, Need::AnotherUser, &why);
    }
    if !installed("python3", what) {
        return;
    }
    let world = World::new();
    // Another user looks up the ports in use, and sends packets there that claim to be sent in an hour. Ports that existed before do not
    // belong to this run.
    let text = "import socket, struct, time\n\
        def ports():\n    lines = open('/proc/net/udp').read().splitlines()[1:]\n    \
        return {int(line.split()[1].split(':')[1], 16) for line in lines if line.split()[1].startswith('0100007F')}\n\
        before, sender, number = ports(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0\n\
        while True:\n    for port in ports() - before:\n        number += 1\n        \
        sent = time.time_ns() + 3600 * 10**9\n        \
        packet = b'latido\\0\\x01' + struct.pack('>QQ', number, sent)\n        \
        sender.sendto(packet + bytes(8), ('127.0.0.1', port))\n    time.sleep(0.001)\n";
    let mut forge = attacker::script(&format!("exec python3 -c \"{}\"", text.replace('\\', "\\\\")));
    let mut forger = forge.stdout(Stdio::null()).spawn().unwrap();
    let words = ["run", "interrupt", "source=network", "station=local", "trace=off", "events=100", "rate=100"];
    let output = world.run(words.into_iter().chain(["--policy", "other", "--no-report", "--json", "--wait"]));
    let alive = forger.try_wait().unwrap().is_none();
    forger.kill().unwrap();
    forger.wait().unwrap();
    assert!(alive, "the attack did not take place");
    let document: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let record = &document["records"][0];
    assert_eq!(record["quality"]["stamps"]["events"], 100, "{record}");
    let response = &record["series"][0];
    assert_eq!(response["negative"], 0, "a forged event counts: {response}");
}

/// A stranger who knows the port of `udp-sink` sends packets that it must not count.
#[test]
fn a_sink_counts_one_sender() {
    let world = World::new();
    let port = {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    // The sink reports once a second.
    let load = format!("udp-sink:port={port},address=0.0.0.0,from=127.0.0.2");
    let mut command = world.latido(["run", "null", "samples=50", "hold=3s", "--policy", "other", "--load", &load]);
    let run = command.args(["--no-report", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (own, stranger) =
        (std::net::UdpSocket::bind("127.0.0.2:0").unwrap(), std::net::UdpSocket::bind("127.0.0.3:0").unwrap());
    let mut run = run;
    while run.try_wait().unwrap().is_none() {
        let _ = own.send_to(b"own", ("127.0.0.1", port));
        (0..3).for_each(|_| _ = stranger.send_to(b"another's", ("127.0.0.1", port)));
        thread::sleep(Duration::from_millis(5));
    }
    let output = run.wait_with_output().unwrap();
    let record = common::json(&output, 0)["records"][0].take();
    let achieved = &record["load"][0]["achieved"];
    let count = |name: &str| achieved[name].as_i64().unwrap_or(0);
    assert!(count("received_packets") > 0 && count("stranger_packets") > 0, "{achieved}");
    assert_eq!(count("received_bytes"), 3 * count("received_packets"), "a stranger's are longer: {achieved}");
    let shown = fs::read_dir(world.store()).is_ok().then(|| world.run(["show", "--full", "last"])).unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("packets from unknown senders"), "{shown}");
}
