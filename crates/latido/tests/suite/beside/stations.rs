//! Stations end to end: over the loopback, and in namespaces that leave nothing behind, however they end.

use crate::common::ssh;
use crate::common::{self, Need};

use common::{World, ended, processes::signal, skip, until};
use rustix::process::Signal;
use serde_json::Value;
use ssh::Board;
use std::{
    fs,
    io::{BufRead, BufReader},
    net::UdpSocket,
    os::unix::fs::symlink,
    process::{Child, Output, Stdio},
};

fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a sink on the loopback and waits until it listens.
fn sink(world: &World, port: u16, more: &[&str]) -> Child {
    let port_text = port.to_string();
    let mut words = vec!["station", "sink", "--address=127.0.0.1", "--port", &port_text, "--json"];
    words.extend(more);
    let mut child = world.latido(words).stdout(Stdio::piped()).spawn().unwrap();
    // A test that binds the port to check would keep the sink from it.
    common::meanwhile(&mut child, "a sink that listens", || is_bound(port).then_some(()));
    child
}

/// Whether a UDP socket has this port: the local address is in the second column of /proc/net/udp (proc_net(5)).
fn is_bound(port: u16) -> bool {
    let port = format!(":{port:04X}");
    let sockets = fs::read_to_string("/proc/net/udp").unwrap();
    sockets.lines().filter_map(|line| line.split_whitespace().nth(1)).any(|local| local.ends_with(&port))
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Every trigger arrives, once and in order, and both ends end by their count.
#[test]
fn a_trigger_is_counted_by_number() {
    let (world, port) = (World::new(), free_port());
    let sink = sink(&world, port, &["--count=30", "--for=60s"]);
    let text = port.to_string();
    let sent = ["station", "trigger", "127.0.0.1", "--port", &text, "--rate=200", "--count=30", "--json"];
    let sent = document(&world.latido(sent).output().unwrap());
    assert_eq!((&sent["sent"], &sent["refused"]), (&Value::from(30), &Value::from(0)));
    let took = document(&ended(sink, "a sink that counts to 30"));
    assert_eq!(took["received"], 30);
    assert_eq!(took["numbered"]["triggers"], 30);
    assert_eq!((&took["numbered"]["lost"], &took["numbered"]["not_in_order"]), (&Value::from(0), &Value::from(0)));
}

/// No program listens: latido reports the refused packets with the likely reason, and states no rate for a few packets.
#[test]
fn a_station_that_nobody_hears_says_so() {
    let (world, port) = (World::new(), free_port());
    let text = port.to_string();
    let output =
        world.latido(["station", "trigger", "127.0.0.1", "--port", &text, "--rate=200", "--count=3"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("1 refused: no program listens there") || said.contains("2 refused: no program listens there"),
        "{said}"
    );
    assert!(!said.contains("a second"), "{said}");
}

/// A flood ends by its time, and no more packets arrive than were sent.
#[test]
fn a_flood_is_told_at_both_ends() {
    let (world, port) = (World::new(), free_port());
    let sink = sink(&world, port, &["--for=9m"]);
    let text = port.to_string();
    let sent = ["station", "flood", "127.0.0.1", "--port", &text, "--for=1s", "--json"];
    let sent = document(&world.latido(sent).output().unwrap());
    signal(sink.id().cast_signed(), Signal::INT);
    let took = document(&ended(sink, "a sink that was interrupted"));
    let (sent, took) = (sent["sent"].as_u64().unwrap(), took["received"].as_u64().unwrap());
    assert!(took > 0 && took <= sent, "{took} of {sent}");
}

/// A station sends nothing without an address, and nothing to a broadcast or multicast address.
#[test]
fn a_station_sends_nowhere_untold() {
    let world = World::new();
    for (words, status) in [
        (&["station", "flood"][..], 64),
        (&["station", "trigger"], 64),
        (&["station", "flood", "255.255.255.255", "--for=1s"], 1),
        (&["station", "trigger", "239.1.1.1", "--for=1s"], 1),
        (&["station", "trigger", "127.0.0.1", "--rate=1000", "--walk=4ms"], 64),
        (&["station", "flood", "127.0.0.1", "--for=25h"], 64),
        (&["station", "flood", "127.0.0.1", "--rate=7"], 64),
    ] {
        let output = world.latido(words.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{words:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{words:?}: {output:?}");
    }
}

/// latido refuses each station that would end before it starts, and says what to write instead.
#[test]
fn a_station_needs_time() {
    let world = World::new();
    for words in [&["station", "sink"][..], &["station", "trigger", "127.0.0.1"], &["station", "flood", "127.0.0.1"]] {
        let output = world.latido(words.iter().copied().chain(["--for=0s"])).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{words:?}: {output:?}");
        assert!(said.contains("write a time above 0"), "{words:?}: {said}");
        assert!(output.stdout.is_empty(), "{words:?}: {output:?}");
    }
}

/// The network namespaces of the processes whose command lines contain this mark.
fn namespaces(mark: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let bears = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(mark)
    };
    let mut names: Vec<String> = all
        .filter(bears)
        .filter_map(|entry| fs::read_link(entry.path().join("ns/net")).ok()?.into_os_string().into_string().ok())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The command lines that contain this mark: the port belongs to the stations of this world's load.
fn bearing(mark: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let line = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).ok();
    let lines = all.filter_map(line).map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(mark)).collect()
}

/// Both ends count a flood from a namespace. When its load is killed, station and namespace are gone, and the machine's own devices never
/// changed.
#[test]
fn a_namespace_goes_with_its_load() {
    if !rustix::process::geteuid().is_root() {
        return skip("stations in namespaces", Need::Root, "network namespaces need root");
    }
    let (world, port) = (World::new(), free_port());
    let devices = || {
        let mut all: Vec<_> =
            fs::read_dir("/sys/class/net").unwrap().flatten().map(|entry| entry.file_name()).collect();
        all.sort();
        all
    };
    let (before, mark) = (devices(), format!("port={port}"));
    let word = format!("udp-flood:station=netns,size=64,rate=8Mbit,port={port}");
    // As an agent starts it: with the mark of a load, and with the counts on its output.
    let mut load = world
        .latido(["load", word.as_str()])
        .env("LATIDO_LOAD", format!("{}-test", std::process::id()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let told = both_ends(&mut load);
    assert!(told.is_some(), "no line with the counts of both ends: {:?}", load.wait());
    assert_eq!(devices(), before, "the cable is nobody else's business");
    assert_eq!(bearing(&mark).len(), 2, "{:?}", bearing(&mark));
    let own = fs::read_link(format!("/proc/{}/ns/net", load.id())).unwrap().into_os_string().into_string().unwrap();
    let apart: Vec<String> = namespaces(&mark).into_iter().filter(|one| *one != own).collect();
    let [station] = apart.as_slice() else { panic!("the station has no separate namespace: {apart:?}, {own}") };
    load.kill().unwrap();
    load.wait().unwrap();
    until("the end of the station", || bearing(&mark).is_empty().then_some(()));
    // Another process may get a new namespace with this number.
    until("the end of its namespace", || (!namespaces("").contains(station)).then_some(()));
    assert_eq!(devices(), before);
}

/// The counts of both ends, once a load reports packets at both.
fn both_ends(load: &mut Child) -> Option<(u64, u64)> {
    let mut lines = BufReader::new(load.stdout.take().unwrap()).lines();
    lines.find_map(|line| {
        let line = line.unwrap();
        let count = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.parse::<u64>().ok());
        Some((count("sent_packets=")?, count("received_packets=")?)).filter(|told| told.0 > 0 && told.1 > 0)
    })
}

/// latido starts a station on another machine over a real ssh. The station sends to the given address, and ends with its load.
#[test]
fn a_station_over_ssh_goes_with_its_load() {
    let (world, port) = (World::new(), free_port());
    let state = world.state();
    let board = match Board::start(&[("LATIDO_STATE", state.as_path())]) {
        Ok(board) => board,
        Err(why) => return skip("a station over ssh", Need::Ssh, &why),
    };
    let agents = world.path("agents");
    let of_arch = agents.join(std::env::consts::ARCH);
    fs::create_dir_all(&of_arch).unwrap();
    symlink(env!("CARGO_BIN_EXE_latido"), of_arch.join("latido")).unwrap();
    let word = format!("udp-flood:station=ssh:board,to=127.0.0.1,size=64,rate=8Mbit,port={port}");
    let mut load = world
        .latido(["load", word.as_str()])
        .env("LATIDO_SSH_CONFIG", board.config())
        .env("LATIDO_AGENTS", &agents)
        .env("LATIDO_LOAD", format!("{}-test", std::process::id()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let told = both_ends(&mut load);
    assert!(told.is_some(), "no line with the counts of both ends: {:?}\n{}", load.wait(), board.log());
    let there = || bearing("station").into_iter().filter(|line| line.contains(&port.to_string())).collect::<Vec<_>>();
    assert!(!there().is_empty(), "no station there: {:?}", bearing("station"));
    load.kill().unwrap();
    load.wait().unwrap();
    until("the end of the station there", || there().is_empty().then_some(()));
}
