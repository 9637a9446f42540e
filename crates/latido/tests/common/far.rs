//! A machine with a kernel of its own, and latido here that measures it over ssh.
#![allow(dead_code, reason = "each test file uses its own part")]

#[path = "guest.rs"]
mod emulation;

use crate::common::{World, stderr};
use emulation::Guest;
use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

/// A guest, and latido that reaches it.
pub struct Far {
    pub world: World,
    pub guest: Guest,
    agents: PathBuf,
}

impl Far {
    pub fn start(options: &[&str]) -> Result<Self, String> {
        let world = World::new();
        let agents = world.path("agents");
        let of_arch = agents.join(std::env::consts::ARCH);
        fs::create_dir_all(&of_arch).unwrap();
        let copy = of_arch.join("latido");
        fs::copy(env!("CARGO_BIN_EXE_latido"), &copy).unwrap();
        // A debug build is mostly what only a debugger reads; it would take a while through the emulated network card.
        let _ = Command::new("strip").arg(&copy).status();
        let guest = Guest::start(options)?;
        Ok(Self { world, guest, agents })
    }

    /// latido here, for the guest.
    pub fn latido(&self, words: &[&str]) -> Command {
        let mut command = self.world.latido(words.iter().copied().chain(["--on", "ssh:guest"]));
        command.env("LATIDO_SSH_CONFIG", self.guest.config()).env("LATIDO_AGENTS", &self.agents);
        command
    }

    pub fn ran(&self, words: &[&str]) -> Output {
        self.latido(words).output().unwrap()
    }

    /// What a command in the guest prints.
    pub fn there(&self, command: &str) -> String {
        let output = self.guest.ssh("guest", command).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The first record of a run there.
    pub fn measured(&self, words: &[&str]) -> (serde_json::Value, String) {
        let output = self.ran(&[&["run"], words, &["--no-report", "--json"]].concat());
        // Times of an emulated machine pass or not; that there are some is what counts.
        assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{words:?}: {}", stderr(&output));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let record = document["records"][0].clone();
        assert_eq!(record["outcome"]["kind"], "complete", "{words:?}: {record}");
        (record, stderr(&output))
    }
}
