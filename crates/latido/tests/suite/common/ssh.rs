//! This machine as a board over ssh: a real sshd on the loopback, with keys, accounts and homes of one test.
//!
//! ```ignore
//! let Ok(board) = Board::start(&[("LATIDO_STATE", &world.state())]).map_err(|why| skip("over ssh", Need::Ssh, &why)) else { return };
//! let output = board.ssh("board", "uname -n").output().unwrap();
//! ```

use crate::common::until;
use std::{
    env, fs,
    io::Read,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;

/// An account that exists only for this sshd and its sessions.
const USER: &str = "latido-board";

/// An sshd that listens on 127.0.0.1, until it is dropped or the test's thread ends.
///
/// In the ssh configuration [`Board::config`] it is `board`: the account that runs the tests. If that is root, there is also `board-user`,
/// without privileges. Both accounts come from a passwd and a shadow of this sshd, mounted over the machine's in a mount namespace, and
/// have homes in a temporary directory: the board writes nothing to /etc or to a real home. Without root, or where mounting is not allowed
/// (some containers), `board` is the account as it is, with its real home.
///
/// Two things stay: the empty directory /run/sshd, which an sshd of root demands, and which other boards may need at any time; and programs
/// of the test on the board that do not end with their input: as over any ssh, they get no signal. A variable like `LATIDO_STATE` in every
/// session lets `World::nothing_left` find them.
pub struct Board {
    // Before the directory: fields are dropped in order, and sshd must end before its files are removed.
    sshd: Sshd,
    port: u16,
    own_accounts: bool,
    user: Result<(), String>,
    dir: TempDir,
}

impl Board {
    /// Starts sshd and logs in once. Every session has these variables. The error says why this machine allows no board.
    pub fn start(environment: &[(&str, &Path)]) -> Result<Self, String> {
        let program = program("sshd").ok_or("sshd is not installed")?;
        for needed in ["ssh", "ssh-keygen"] {
            self::program(needed).ok_or(format!("{needed} is not installed"))?;
        }
        let root = rustix::process::geteuid().is_root();
        if root {
            fs::create_dir_all("/run/sshd").map_err(|e| format!("no /run/sshd, which sshd demands: {e}"))?;
        }
        // The port is free now but may be taken before sshd binds it.
        for _ in 0..5 {
            let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
            let port = free_port()?;
            let own = if root { accounts(dir.path(), port) } else { Err("needs root".into()) };
            let user = own.and_then(|()| allowed_to_mount());
            write_files(dir.path(), port, environment)?;
            let own_accounts = user.is_ok();
            let sshd = Sshd::spawn(&program, dir.path(), own_accounts)?;
            let mut board = Self { sshd, port, own_accounts, user, dir };
            match board.wait() {
                Ok(()) => {}
                Err(why) if why.contains("Address already in use") => continue,
                Err(why) => return Err(why),
            }
            board.log_in("board")?;
            if board.user.is_ok() {
                board.user = board.log_in("board-user");
            }
            return Ok(board);
        }
        Err("sshd found every port taken".into())
    }

    /// The configuration for `ssh -F`; it defines `board` and, if available, `board-user`.
    pub fn config(&self) -> PathBuf {
        self.dir.path().join("ssh_config")
    }

    /// The home of `board` or `board-user`, if it is a temporary one of this board.
    pub fn home(&self, host: &str) -> Option<PathBuf> {
        self.own_accounts.then(|| self.dir.path().join(host))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A command on the board, not yet started.
    pub fn ssh(&self, host: &str, command: &str) -> Command {
        let mut ssh = Command::new("ssh");
        ssh.arg("-F").arg(self.config()).args(["-T", host, command]);
        ssh
    }

    /// What sshd has logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Waits until it answers as an ssh server.
    fn wait(&mut self) -> Result<(), String> {
        until("an sshd that answers", || {
            match self.sshd.0.try_wait() {
                Ok(Some(status)) => return Some(Err(format!("sshd ended with {status}: {}", self.log().trim()))),
                Err(error) => return Some(Err(error.to_string())),
                Ok(None) => {}
            }
            let mut banner = [0; 4];
            let answered = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).and_then(|mut stream| {
                stream.set_read_timeout(Some(Duration::from_secs(2)))?;
                stream.read_exact(&mut banner)
            });
            (answered.is_ok() && banner == *b"SSH-").then_some(Ok(()))
        })
    }

    /// Checks that an account can log in, which a lock or a rule of the machine may prevent.
    fn log_in(&self, host: &str) -> Result<(), String> {
        let output = self.ssh(host, "exit 0").stdin(Stdio::null()).output().map_err(|e| format!("ssh: {e}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        output.status.success().then_some(()).ok_or(format!("{host}: {}: {}", said.trim(), self.log().trim()))
    }
}

/// The listening process; it and its sessions end on drop.
struct Sshd(Child);

impl Sshd {
    fn spawn(program: &Path, dir: &Path, accounts: bool) -> Result<Self, String> {
        // It ends with the thread that starts it, so that a killed test leaves nothing behind.
        let mut words = vec!["setpriv", "--pdeathsig", "TERM"];
        if accounts {
            let mount =
                "mount --bind \"$0/passwd\" /etc/passwd && mount --bind \"$0/shadow\" /etc/shadow && exec \"$@\"";
            words.splice(0..0, ["unshare", "--mount", "--propagation", "slave", "sh", "-c", mount]);
            words.insert(7, dir.to_str().ok_or("a path that is not UTF-8")?);
        }
        let log = fs::File::create(dir.join("log")).map_err(|e| e.to_string())?;
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(program).args(["-D", "-e", "-f"]).arg(dir.join("sshd_config"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.spawn().map(Self).map_err(|e| format!("{}: {e}", words[0]))
    }

    /// The session processes: each connection has one, a child of the listener.
    fn sessions(&self) -> Vec<u32> {
        let listener = self.0.id();
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
            fields.split_whitespace().nth(1).and_then(|parent| parent.parse().ok()) == Some(listener)
        })
        .collect()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // First no new connections, then the existing ones: as orphans of a dead listener they could not be found.
        let sessions = self.sessions();
        terminate(self.0.id());
        let _ = self.0.wait();
        sessions.into_iter().for_each(terminate);
    }
}

fn terminate(pid: u32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid.cast_signed()) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

/// A program's whole path, which sshd requires; it is often in a directory outside a user's PATH.
fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into(), "/sbin".into()]);
    places.map(|place: PathBuf| place.join(name)).find(|file| file.is_file())
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| e.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|e| e.to_string())
}

/// Whether this process may mount in a mount namespace.
fn allowed_to_mount() -> Result<(), String> {
    let trial = ["--mount", "--propagation", "slave", "mount", "--bind", "/etc/passwd", "/etc/passwd"];
    let output = Command::new("unshare").args(trial).output().map_err(|e| format!("unshare: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(()).ok_or(format!("no mount namespace here: {}", said.trim()))
}

/// Writes the passwd and shadow of this sshd, and makes the homes.
fn accounts(dir: &Path, port: u16) -> Result<(), String> {
    let failed = |e: std::io::Error| e.to_string();
    // The user must be able to enter the directory to reach its home.
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    // The port is also the number of the user: no other board has it, so that tests do not share files that are named by it.
    let machine = fs::read_to_string("/etc/passwd").map_err(failed)?;
    if machine.lines().any(|line| line.split(':').nth(2) == Some(&port.to_string())) {
        return Err(format!("{port} is the number of an account"));
    }
    let place = dir.display();
    let mut passwd = String::new();
    for line in machine.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        match fields.as_slice() {
            ["root", rest @ .., _home, shell] => passwd += &format!("root:{}:{place}/board:{shell}\n", rest.join(":")),
            _ => passwd += &format!("{line}\n"),
        }
    }
    passwd += &format!("{USER}:x:{port}:{port}::{place}/board-user:/bin/sh\n");
    // A password that starts with ! locks the account, which sshd refuses; with * no password fits, but keys work.
    let mut shadow = String::from("root:*:1::::::\n");
    let machine = fs::read_to_string("/etc/shadow").map_err(failed)?;
    shadow.extend(machine.lines().filter(|line| !line.starts_with("root:")).map(|line| format!("{line}\n")));
    shadow += &format!("{USER}:*:1::::::\n");
    fs::write(dir.join("passwd"), passwd).map_err(failed)?;
    fs::write(dir.join("shadow"), shadow).map_err(failed)?;
    fs::set_permissions(dir.join("shadow"), fs::Permissions::from_mode(0o600)).map_err(failed)?;
    fs::create_dir(dir.join("board")).map_err(failed)?;
    fs::create_dir(dir.join("board-user")).map_err(failed)?;
    chown(dir.join("board-user"), Some(port.into()), Some(port.into())).map_err(failed)
}

/// Writes the keys and configuration of both sides.
fn write_files(dir: &Path, port: u16, environment: &[(&str, &Path)]) -> Result<(), String> {
    let write = |name: &str, text: String| fs::write(dir.join(name), text).map_err(|e| format!("{name}: {e}"));
    for key in ["host_key", "key"] {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "latido-test", "-f"]).arg(dir.join(key));
        let status = keygen.stdin(Stdio::null()).status().map_err(|e| format!("ssh-keygen: {e}"))?;
        status.success().then_some(()).ok_or(format!("ssh-keygen: {status}"))?;
    }
    let read = |name: &str| fs::read_to_string(dir.join(name)).map_err(|e| format!("{name}: {e}"));
    write("known_hosts", format!("board {}", read("host_key.pub")?))?;
    let place = dir.display();
    let mut variables = String::new();
    for (name, value) in environment {
        variables += &format!(" \"{name}={}\"", value.display());
    }
    // Only the first line with SetEnv counts. The directory is below one that every user may write to, hence no StrictModes.
    let variables = if variables.is_empty() { String::new() } else { format!("SetEnv{variables}\n") };
    write(
        "sshd_config",
        format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey \"{place}/host_key\"\nPidFile none\nUsePAM no\n\
             PermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             AuthorizedKeysFile \"{place}/key.pub\"\nStrictModes no\nUseDNS no\nPrintMotd no\nPrintLastLog no\n\
             AllowTcpForwarding no\nX11Forwarding no\n{variables}"
        ),
    )?;
    write(
        "ssh_config",
        format!(
            "Host board-user\n  User {USER}\nHost board board-user\n  HostName 127.0.0.1\n  Port {port}\n  HostKeyAlias board\n  \
             IdentityFile \"{place}/key\"\n  IdentitiesOnly yes\n  UserKnownHostsFile \"{place}/known_hosts\"\n  \
             GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  BatchMode yes\n"
        ),
    )
}
