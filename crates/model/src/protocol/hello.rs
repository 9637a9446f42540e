//! The first line of a session. Its form never changes, so that any two versions can recognise each other.

use super::VERSION;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// How many bytes may come before the hello, for the greeting of a login shell.
pub const HELLO_WITHIN: usize = 64 << 10;

/// The mark that identifies the line.
const MARK: &str = "latido-agent";

/// The agent's introduction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Always `latido-agent`.
    hello: String,
    /// The version of the protocol.
    pub v: u32,
    /// The version of latido.
    pub latido: String,
    /// The architecture that it was built for.
    pub arch: String,
    /// The machine's name.
    pub machine: String,
    /// The CPUs that the agent may use, as a list.
    pub cpus: String,
    /// The kernel's ID of its present boot; empty if the agent does not know it.
    #[serde(default)]
    pub boot_id: String,
    /// The agent's process ID on its machine.
    pub pid: u32,
}

impl Hello {
    /// Creates the hello of this version.
    pub fn new(machine: String, cpus: String, boot_id: String) -> Self {
        Self {
            hello: MARK.into(),
            v: VERSION,
            latido: env!("CARGO_PKG_VERSION").into(),
            arch: std::env::consts::ARCH.into(),
            machine,
            cpus,
            boot_id,
            pid: std::process::id(),
        }
    }

    /// Reads a line; `None` if it is not a hello but something that a login printed.
    pub fn read(line: &str) -> Option<Self> {
        let line = line.trim();
        let found = line.starts_with('{').then(|| serde_json::from_str::<Self>(line).ok())?;
        found.filter(|hello| hello.hello == MARK)
    }

    /// Refuses an agent that speaks another version.
    ///
    /// # Errors
    /// The error names both versions and the remedy.
    pub fn accept(self) -> Result<Self> {
        ensure!(
            self.v == VERSION,
            "the agent on {} speaks version {} of the protocol (latido {}), this latido version {VERSION} ({}): use the \
             same latido on both sides",
            self.machine,
            self.v,
            self.latido,
            env!("CARGO_PKG_VERSION")
        );
        Ok(self)
    }

    /// Writes the line.
    ///
    /// # Errors
    /// None in practice.
    pub fn line(&self) -> Result<String> {
        serde_json::to_string(self).context("the hello")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_no_hello_and_another_version_is_named() {
        assert_eq!(Hello::read("Welcome to board-3\n"), None);
        assert_eq!(Hello::read("{\"motd\":1}"), None);
        let own = Hello::new("board".into(), "0-3".into(), String::new());
        let read = Hello::read(&own.line().unwrap()).unwrap();
        assert_eq!(read.clone().accept().unwrap(), own);
        let later = own.line().unwrap().replace("\"v\":2", "\"v\":7,\"news\":[1]");
        let refused = Hello::read(&later).unwrap().accept().unwrap_err().to_string();
        assert!(refused.contains("version 7") && refused.contains("version 2"), "{refused}");
    }
}
