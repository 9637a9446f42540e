//! A board in emulation, made by scripts/guest: with a kernel of its own, and with a network that can be cut.
//!
//! ```ignore
//! let Ok(guest) = Guest::start(&["--append", "isolcpus=1"]).map_err(|why| skip("a guest", Need::Qemu, &why)) else { return };
//! let output = guest.ssh("cat /sys/devices/system/cpu/isolated").output().unwrap();
//! ```

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};
use tempfile::TempDir;

/// A guest, until it is dropped or the process of the tests ends.
pub struct Guest {
    dir: TempDir,
    /// The connection that all commands share: in emulation a handshake takes longer than most commands.
    connection: Option<Child>,
}

impl Guest {
    /// Boots it, with further options of `scripts/guest start`. The error says what is missing here for that; a guest that
    /// does not boot is a failure.
    pub fn start(options: &[&str]) -> Result<Self, String> {
        let mut guest = Self { connection: None, dir: tempfile::tempdir().map_err(|e| e.to_string())? };
        // Even where this process is killed, no guest stays.
        let owner = std::process::id().to_string();
        let output = guest.script("start", &[&["--owner", owner.as_str()], options].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {
                guest.connect();
                Ok(guest)
            }
            Some(3) => Err(said.lines().last().unwrap_or_default().to_owned()),
            _ => panic!("scripts/guest start {options:?}: {}\n{said}", output.status),
        }
    }

    /// What `ssh -F` takes; it knows `guest` (root) and `guest-user`.
    pub fn config(&self) -> PathBuf {
        self.path().join("ssh_config")
    }

    /// A command there by its root, not yet started.
    pub fn ssh(&self, command: &str) -> Command {
        let mut ssh = self.client();
        ssh.args(["-T", "guest", command]);
        ssh
    }

    fn client(&self) -> Command {
        let mut ssh = Command::new("ssh");
        ssh.arg("-F").arg(self.config()).args(["-o", "BatchMode=yes", "-S"]).arg(self.dir.path().join("connection"));
        ssh
    }

    fn connect(&mut self) {
        let mut command = self.client();
        command.args(["-M", "-N", "guest"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let connection = self.connection.insert(command.spawn().unwrap());
        let made = self.dir.path().join("connection");
        super::meanwhile(connection, "a connection to the guest", || made.exists().then_some(()));
    }

    /// Loses every packet in silence (off), or no longer.
    pub fn link(&self, on: bool) {
        self.must("link", &[if on { "on" } else { "off" }]);
    }

    /// What its kernel and its programs wrote to the console so far.
    pub fn console(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path().join("console.log")).unwrap_or_default()).into_owned()
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("guest")
    }

    fn script(&self, what: &str, arguments: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/guest");
        let mut command = Command::new(script);
        command.arg(what).arg(self.path()).args(arguments).stdin(Stdio::null());
        command.output().unwrap()
    }

    fn must(&self, what: &str, arguments: &[&str]) {
        let output = self.script(what, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "scripts/guest {what} {arguments:?}: {said}");
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if let Some(connection) = &mut self.connection {
            let _ = connection.kill();
            let _ = connection.wait();
        }
        // It is not there if it did not boot.
        if self.path().exists() {
            let _ = self.script("stop", &[]);
        }
    }
}
