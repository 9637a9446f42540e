//! A machine with its own kernel, and a local latido that measures it over ssh.

use crate::common::guest as emulation;

use crate::common::{World, ended, meanwhile, settled, small, stderr};
use emulation::Guest;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

/// A guest, and the latido that reaches it.
pub struct Far {
    pub world: World,
    pub guest: Guest,
    agents: PathBuf,
}

/// What a run changes temporarily on the guest.
pub struct Borrowed<'a> {
    /// The command that prints its state.
    pub shown_by: &'a str,
    /// The run, which lasts longer than any test waits.
    pub run: &'a [&'a str],
    /// Whether the printed state shows the change.
    pub is_borrowed: fn(&str) -> bool,
}

impl Far {
    pub fn start(options: &[&str]) -> Result<Self, String> {
        let world = World::new();
        let agents = world.path("agents");
        let of_arch = agents.join(std::env::consts::ARCH);
        fs::create_dir_all(&of_arch).unwrap();
        fs::copy(small::latido(), of_arch.join("latido")).unwrap();
        let guest = Guest::start(options)?;
        Ok(Self { world, guest, agents })
    }

    /// A local latido command that measures the guest.
    pub fn latido(&self, words: &[&str]) -> Command {
        let mut command = self.world.latido(words.iter().copied().chain(["--on", "ssh:guest"]));
        command.env("LATIDO_SSH_CONFIG", self.guest.config()).env("LATIDO_AGENTS", &self.agents);
        command
    }

    pub fn ran(&self, words: &[&str]) -> Output {
        self.latido(words).output().unwrap()
    }

    /// The output of a command in the guest.
    pub fn there(&self, command: &str) -> String {
        let output = self.guest.ssh(command).stdin(Stdio::null()).output().unwrap();
        assert!(
            output.status.success(),
            "{command}: {}\nthe end of its console:\n{}",
            stderr(&output),
            self.last_said()
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The last lines that its kernel and its sshd wrote.
    fn last_said(&self) -> String {
        let console = self.guest.console();
        let lines: Vec<&str> = console.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// The first record of a run there.
    pub fn measured(&self, words: &[&str]) -> (serde_json::Value, String) {
        let output = self.ran(&[&["run"], words, &["--no-report", "--json"]].concat());
        // Whether the times of an emulated machine pass does not matter here, only that there are some.
        let said = || format!("{}\nthe end of its console:\n{}", stderr(&output), self.last_said());
        assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{words:?}: {}", said());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let record = document["records"][0].clone();
        assert_eq!(record["outcome"]["kind"], "complete", "{words:?}: {record}");
        (record, stderr(&output))
    }

    /// After Ctrl-C, SIGKILL of the host and SIGKILL of all processes in the guest the state is as `before`, in the last case after `latido
    /// tune undo`.
    pub fn gives_back_however_it_ends(&self, borrowed: &Borrowed<'_>, before: &str) {
        for signal in [Signal::INT, Signal::KILL] {
            let child = self.borrowing(borrowed, before);
            kill_process(Pid::from_child(&child), signal).unwrap();
            ended(child, &format!("a host after {signal:?}"));
            self.given_back(borrowed, before, &format!("{signal:?} of the host"));
        }
        let child = self.borrowing(borrowed, before);
        self.there(
            "for one in /proc/[0-9]*; do case $(cat $one/comm 2>/dev/null) in latido*) kill -9 ${one#/proc/};; esac; done",
        );
        ended(child, "a host whose agent was killed");
        let output = self.ran(&["tune", "undo"]);
        assert!(output.status.success(), "{}", stderr(&output));
        self.given_back(borrowed, before, "SIGKILL of everybody there");
    }

    /// Starts the run, and waits until it has made its changes.
    fn borrowing(&self, borrowed: &Borrowed<'_>, before: &str) -> Child {
        let mut command = self.latido(borrowed.run);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        meanwhile(&mut child, "what it borrows", || {
            let now = self.there(borrowed.shown_by);
            (now != before && (borrowed.is_borrowed)(&now)).then_some(())
        });
        child
    }

    /// Waits until the state is as before, at once or once the processes that restore it have ended.
    fn given_back(&self, borrowed: &Borrowed<'_>, before: &str, after: &str) {
        settled(&format!("all as before after {after}"), || match self.there(borrowed.shown_by) {
            same if same == before => Ok(()),
            other => Err(format!("{other}\ninstead of\n{before}")),
        });
    }
}
