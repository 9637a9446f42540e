//! An emulated board that scripts/guest makes: with its own kernel, and with a network that can be cut.
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

/// A guest, until it is dropped or the test process ends.
pub struct Guest {
    dir: TempDir,
    /// The ssh connection that all commands share: in emulation a handshake takes longer than most commands.
    connection: Option<Child>,
}

impl Guest {
    /// Boots a guest, with further options of `scripts/guest start`. The error names what is missing here for that; a guest that does not
    /// boot fails the test.
    pub fn start(options: &[&str]) -> Result<Self, String> {
        let mut guest = Self { connection: None, dir: tempfile::tempdir().map_err(|e| e.to_string())? };
        // No guest stays, even if this process is killed.
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

    /// The configuration for `ssh -F`; it defines `guest` (root) and `guest-user`.
    pub fn config(&self) -> PathBuf {
        self.path().join("ssh_config")
    }

    /// A command in the guest as root, not yet started.
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

    /// Switches the link: while it is off, it loses every packet in silence.
    pub fn link(&self, on: bool) {
        self.must("link", &[if on { "on" } else { "off" }]);
    }

    /// What its kernel and its programs have written to the console so far.
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
        // It does not exist if the guest did not boot.
        if self.path().exists() {
            let _ = self.script("stop", &[]);
        }
    }
}
