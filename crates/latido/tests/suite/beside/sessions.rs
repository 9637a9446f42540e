//! Sessions with a faulty agent: scripted streams made from those of a real one. Whatever arrives, the host reports what was wrong, keeps
//! what was measured before, and ends.

use crate::common;
use crate::common::scripted;

use common::{World, stderr};
use latido_model::{
    cell::Cell,
    plan,
    protocol::{EndStatus, Hello, Reply, Writer},
};
use scripted::{Recorded, recorded};
use std::{
    fs,
    io::Write,
    process::{Command, Output, Stdio},
};

const PLAN: &str = "schema = 1\nname = \"scripted\"\nseed = 7\norder = \"as-written\"\n[[group]]\nprobe = [{ name = \
                    \"null\", samples = 200 }]\nduration = \"100ms\"\nrepeat = 2\n";

/// The cells of the plan on a target, as the host will request them.
fn cells(target: &str) -> Vec<Cell> {
    let text = PLAN.replace("[[group]]", &format!("[[group]]\ntarget = [\"{target}\"]"));
    let plan = plan::parse::parse("scripted.toml", &text, &latido_agent::catalogue::Installed).unwrap();
    plan::expand(&plan)
}

/// The line of a script after which the agent sends nothing.
const HANG: &[u8] = b"#hang\n";

/// A world with the plan and the answers of a real agent.
struct Stage {
    world: World,
    target: String,
    said: Recorded,
}

impl Stage {
    fn new() -> Self {
        let world = World::new();
        // The name of a target is short: the script is in the directory where the run starts.
        let target = "fake:agent.script".to_string();
        let said = recorded(&world, &cells(&target));
        world.file("scripted.toml", PLAN);
        Self { world, target, said }
    }

    fn script(&self) -> Vec<u8> {
        self.said.script()
    }

    /// Runs the plan with such an agent.
    fn run(&self, script: &[u8]) -> Output {
        fs::write(self.world.path("agent.script"), script).unwrap();
        let _ = fs::remove_dir_all(self.world.store());
        let mut command = self.world.latido(["run", "./scripted.toml", "--no-report", "--json", "--on", &self.target]);
        // Only an agent that hangs is silent: no other script may count as silent, however slow the machine is.
        if script.ends_with(HANG) {
            command.env("LATIDO_SILENCE_MS", "700");
        }
        command.current_dir(self.world.dir.path()).output().unwrap()
    }

    /// Runs the plan, which must end with status 1 and these words.
    fn fails(&self, script: &[u8], words: &str) -> Output {
        let output = self.run(script);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(words), "`{words}` is not in: {said}");
        output
    }
}

/// Replaces the first occurrence of some bytes.
fn with(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    let at = bytes.windows(old.len()).position(|found| found == old.as_bytes()).unwrap_or_else(|| panic!("no {old}"));
    [&bytes[..at], new.as_bytes(), &bytes[at + old.len()..]].concat()
}

/// The start of each line of the protocol.
fn lines(bytes: &[u8]) -> Vec<usize> {
    let starts = |at: &usize| bytes[*at..].starts_with(b"{\"seq\":") && (*at == 0 || bytes[at - 1] == b'\n');
    (0..bytes.len()).filter(starts).collect()
}

/// The counterpart of the other tests: the unchanged script works as an agent.
#[test]
fn a_sound_script_is_measured() {
    let stage = Stage::new();
    let output = stage.run(&stage.script());
    let document = common::json(&output, 0);
    assert_eq!(document["records"].as_array().unwrap().len(), 2);
    assert_eq!(document["records"][0]["cell"]["target"], stage.target);
}

/// The stream is cut before each message: the run never passes, never hangs, and keeps the record that was complete.
#[test]
fn an_agent_that_dies_at_any_message_is_infra() {
    let stage = Stage::new();
    let script = stage.script();
    let starts = lines(&script);
    // The first record is complete at the start of the line after it.
    let is_record = |at: usize| {
        script[at..].starts_with(b"{\"seq\":") && script[at..at + 60].windows(8).any(|w| w == b"\"record\"")
    };
    let record = starts.iter().position(|at| is_record(*at)).unwrap();
    let whole = starts[record + 1];
    let last = *starts.last().unwrap();
    for at in starts.into_iter().chain([0]) {
        let output = stage.run(&script[..at]);
        let said = stderr(&output);
        if at == last {
            // Both records are complete, and the agent restored everything before it sent them.
            assert_eq!(output.status.code(), Some(0), "{said}");
            assert!(said.contains("after latido stored the record"), "{said}");
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "cut at {at}: {said}");
        let kept = common::records_of(&stage.world);
        assert_eq!(kept, usize::from(at >= whole), "cut at {at}");
    }
}

/// The machine dies in its first cell and boots again: latido measures the second cell and records that it is of another boot.
#[test]
fn a_machine_that_was_booted_meanwhile_is_told_apart() {
    let stage = Stage::new();
    let own = Hello::read(std::str::from_utf8(&stage.said.hello).unwrap()).unwrap().boot_id;
    let second = recorded(&stage.world, &cells(&stage.target)[1..]).script();
    let again = with(&second, &own, &"b".repeat(own.len()));
    fs::write(stage.world.path("agent.again"), again).unwrap();
    let script = stage.script();
    let at = lines(&script)[2];
    let output = stage.run(&script[..at]);
    assert!(stderr(&output).contains("was rebooted since the run started there"), "{}", stderr(&output));
    let run = common::runs_of(&stage.world).pop().unwrap();
    let host: serde_json::Value = serde_json::from_slice(&fs::read(run.join("cells/002/host.json")).unwrap()).unwrap();
    assert_eq!(host["boot_id"], "b".repeat(own.len()));
}

#[test]
fn an_agent_that_hangs_is_given_up() {
    let stage = Stage::new();
    let script = stage.script();
    for words in ["#wait 1\n", "#wait 2\n", "#wait 3\n"] {
        let at = script.windows(8).position(|found| found == words.as_bytes()).unwrap();
        stage.fails(&[&script[..at], HANG].concat(), "sent nothing");
    }
}

/// The host refuses an answer to another request: a record before anything was prepared, settings instead of a cell.
#[test]
fn answers_out_of_order_are_refused() {
    let stage = Stage::new();
    let [prepared, ..] = &stage.said.answers[..] else { panic!() };
    let mut odd = Vec::new();
    let mut writer = Writer::new(&mut odd);
    writer.send(&Reply::Tuned(Box::new(latido_model::protocol::Tuned::Stopped { left: vec![] }))).unwrap();
    writer.send(&Reply::End { status: EndStatus::Done }).unwrap();
    stage.fails(&[&stage.said.hello[..], b"#wait 1\n", &odd].concat(), "did not report what it can measure");
    // After a sound preparation the line numbers continue.
    let count = lines(prepared).len();
    let odd = with(&odd, "{\"seq\":0,", &format!("{{\"seq\":{count},"));
    let odd = with(&odd, "{\"seq\":1,", &format!("{{\"seq\":{},", count + 1));
    let script = [&stage.said.hello[..], b"#wait 1\n", prepared, b"#wait 2\n", &odd].concat();
    stage.fails(&script, "does not match the request");
}

#[test]
fn a_lost_line_is_noticed() {
    let stage = Stage::new();
    let [prepared, first, ..] = &stage.said.answers[..] else { panic!() };
    let starts = lines(first);
    let without = [&first[..starts[0]], &first[starts[1]..]].concat();
    let script = [&stage.said.hello[..], b"#wait 1\n", prepared, b"#wait 2\n", &without].concat();
    stage.fails(&script, "lost a line");
}

#[test]
fn garbage_is_named_and_shown() {
    let stage = Stage::new();
    stage.fails(b"Segmentation fault\n", "Segmentation fault");
    let [prepared, ..] = &stage.said.answers[..] else { panic!() };
    let script = [&stage.said.hello[..], b"#wait 1\n", prepared, b"#wait 2\n", b"\x00\xff{]what\n"].concat();
    stage.fails(&script, "{]what");
    let motd = [b"Welcome!\nLast login: never\n", &stage.script()[..]].concat();
    common::json(&stage.run(&motd), 0);
}

#[test]
fn a_wrong_checksum_stores_nothing() {
    let stage = Stage::new();
    let script = stage.script();
    let at = script.windows(9).position(|found| found == b"\"sha256\":").unwrap() + 10;
    let digit = if script[at] == b'0' { b'1' } else { b'0' };
    let broken = [&script[..at], &[digit], &script[at + 1..]].concat();
    stage.fails(&broken, "wrong checksum");
    assert_eq!(common::records_of(&stage.world), 0);
}

#[test]
fn an_endless_line_ends_the_session_not_the_memory() {
    let stage = Stage::new();
    let [prepared, ..] = &stage.said.answers[..] else { panic!() };
    let endless = vec![b'a'; 33 << 20];
    stage.fails(&[&stage.said.hello[..], b"#wait 1\n", prepared, b"#wait 2\n", &endless].concat(), "no end");
    stage.fails(&endless, "no hello");
}

/// The host refuses an agent of another version and names both versions, whatever else the agent sends.
#[test]
fn another_version_is_refused_with_both_named() {
    let stage = Stage::new();
    let hello = Hello::read(std::str::from_utf8(&stage.said.hello).unwrap()).unwrap();
    let later = with(&stage.script(), &format!("\"v\":{}", hello.v), "\"v\":99");
    let output = stage.fails(&later, "version 99");
    assert!(stderr(&output).contains(&format!("this latido version {} (", hello.v)), "{}", stderr(&output));
    assert!(common::runs_of(&stage.world).is_empty(), "nothing was begun");
}

/// The host stores only what it requested: a record of another seed, repeat or kernel is a failure of the agent.
#[test]
fn a_record_of_another_cell_is_refused() {
    let stage = Stage::new();
    let seed = format!("\"seed\":{}", cells(&stage.target)[0].seed);
    let script = stage.script();
    for (old, new) in [
        (seed.as_str(), "\"seed\":4"),
        ("\"repeat\":1", "\"repeat\":9"),
        ("\"kernel\":\"running\"", "\"kernel\":\"other\""),
    ] {
        // In the answer to the first cell, not in the preparation.
        let at = script.windows(8).position(|found| found == b"#wait 2\n").unwrap();
        let changed = [&script[..at], &with(&script[at..], old, new)[..]].concat();
        stage.fails(&changed, "another cell");
        assert_eq!(common::records_of(&stage.world), 0, "{old}");
    }
}

/// The agent's side of the same: it answers an invalid request with an error, and ends.
#[test]
fn an_agent_refuses_what_is_no_request() {
    let world = World::new();
    for junk in
        ["{\"seq\":0,\"body\":{\"type\":\"dance\"}}\n", "\u{0}\u{0}\n", "{\"seq\":5,\"body\":{\"type\":\"recover\"}}\n"]
    {
        let mut agent = Command::new(env!("CARGO_BIN_EXE_latido"));
        agent.arg("agent").env("LATIDO_STATE", world.state()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut agent = agent.spawn().unwrap();
        agent.stdin.take().unwrap().write_all(junk.as_bytes()).unwrap();
        let output = agent.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("not a request of latido") && said.contains("\"failed\""), "{said}");
    }
    world.nothing_left("after refused requests");
}
