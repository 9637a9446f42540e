//! The way to a machine over ssh: one connection for all commands, ended with it.

use super::Stopped;
use anyhow::{Context, Result, bail, ensure};
use latido_sys::{clock::Clock, identity, process::Child};
use signal_hook::consts::SIGTERM;
use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
    process::{self, Command, Output, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// How long a connection may take, a person's own delays (a key on a card) included.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a machine may take to answer a question.
const ANSWER: Duration = Duration::from_secs(60);

/// A connection. Dropping it ends it, and with it whatever goes over it.
#[derive(Debug)]
pub struct Way {
    host: String,
    /// Holds the socket of the connection.
    dir: PathBuf,
    master: process::Child,
}

impl Way {
    /// Connects.
    ///
    /// # Errors
    /// What ssh says.
    pub fn open(host: &str, stopped: Stopped<'_>) -> Result<Self> {
        let dir = place()?;
        let mut command = ssh(&dir);
        command.args(["-M", "-N", "--"]).arg(host).stdin(Stdio::null()).stdout(Stdio::null());
        let started = command.stderr(Stdio::piped()).spawn();
        let master = started.context("cannot start ssh: install it (apt-get install openssh-client)")?;
        let mut way = Self { host: host.into(), dir, master };
        way.wait(stopped)?;
        Ok(way)
    }

    /// Waits for the connection's socket.
    fn wait(&mut self, stopped: Stopped<'_>) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            if self.master.try_wait()?.is_some() {
                let mut said = String::new();
                if let Some(mut complaints) = self.master.stderr.take() {
                    let _ = std::io::Read::read_to_string(&mut complaints, &mut said);
                }
                bail!("ssh {}: {}", self.host, said.trim().replace(['\n', '\r'], " "));
            }
            // The socket is made when the machine has let us in; ssh answers on it a moment later.
            let there = identity::own().is_ok_and(|_own| self.dir.join("way").exists());
            if there && self.asked().is_ok_and(|answer| answer.status.success()) {
                return Ok(());
            }
            ensure!(!stopped(), "ssh {}: stopped while it was connecting", self.host);
            ensure!(Instant::now() < until, "ssh {}: no connection within {} s", self.host, PATIENCE.as_secs());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks our own ssh whether the connection stands.
    fn asked(&self) -> Result<Output> {
        let mut command = ssh(&self.dir);
        Ok(command.args(["-O", "check", "--"]).arg(&self.host).stdin(Stdio::null()).output()?)
    }

    /// A command for the machine, of fixed words: no shell there has anything to take apart.
    pub fn command(&self, words: &[String]) -> Command {
        debug_assert!(words.iter().all(|word| is_plain(word)), "{words:?}");
        let mut command = ssh(&self.dir);
        command.args(["-T", "--"]).arg(&self.host).args(words);
        command
    }

    /// Runs a command that answers a question.
    ///
    /// # Errors
    /// As [`Way::run`].
    pub fn ask(&self, words: &[&str], stopped: Stopped<'_>) -> Result<Output> {
        self.run(words, Stdio::null(), ANSWER, stopped)
    }

    /// Runs such a command with this input; what it prints.
    ///
    /// # Errors
    /// It cannot be started here, or has not ended in time (a machine may answer pings and still hang at a command), or
    /// nobody wants the answer any more.
    pub fn run(&self, words: &[&str], input: Stdio, within: Duration, stopped: Stopped<'_>) -> Result<Output> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut command = self.command(&words);
        let started = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = started.context("cannot start ssh")?;
        let ssh = rustix::process::Pid::from_child(&child);
        let (ended, end) = mpsc::sync_channel(1);
        thread::Builder::new().spawn(move || ended.send(child.wait_with_output())).context("cannot wait for ssh")?;
        let until = Instant::now() + within;
        loop {
            match end.recv_timeout(Duration::from_millis(100)) {
                Ok(output) => return Ok(output?),
                Err(_) if Instant::now() < until && !stopped() => {}
                Err(_) => {
                    // Still waited for, and so still the process of this number.
                    let _ = rustix::process::kill_process(ssh, rustix::process::Signal::TERM);
                    let (host, what) = (&self.host, words.join(" "));
                    ensure!(!stopped(), "{host}: stopped during `{what}`");
                    bail!("{host} has not ended `{what}` within {} s", within.as_secs())
                }
            }
        }
    }

    /// The machine, as ssh was told it.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        let mut command = ssh(&self.dir);
        let leave = command.args(["-O", "exit", "--"]).arg(&self.host).stdin(Stdio::null());
        let _ = leave.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let _ = self.master.kill();
        let _ = self.master.wait();
        let _ = identity::own().map(|_own| fs::remove_dir_all(&self.dir));
    }
}

/// Whether a word means the same to every shell (sh, fish, csh).
fn is_plain(word: &str) -> bool {
    matches!(word, "&&" | ">" | ";")
        || (!word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_./=,:+-".contains(c)))
}

/// ssh over the connection whose socket lies in this directory. A link that is lost in silence is noticed within 10 s.
fn ssh(dir: &std::path::Path) -> Command {
    let mut command = Command::new("ssh");
    if let Some(config) = std::env::var_os("LATIDO_SSH_CONFIG") {
        command.arg("-F").arg(config);
    }
    let options = [
        "BatchMode=yes",
        "ConnectTimeout=10",
        "ControlPersist=no",
        "ServerAliveInterval=3",
        "ServerAliveCountMax=3",
        "ForwardX11=no",
        "ForwardAgent=no",
        "ClearAllForwardings=yes",
        "PermitLocalCommand=no",
        "RemoteCommand=none",
        "RequestTTY=no",
    ];
    for option in options {
        command.arg("-o").arg(option);
    }
    // Ctrl-C at the terminal is for us alone: ssh would end, and with it the link over which the record is to come. And it
    // goes when we go, however that is.
    let manners = Child { own_group: true, death_signal: Some(SIGTERM), reset_scheduling: false, nice: None };
    latido_sys::process::prepare(&mut command, manners);
    let mut path = std::ffi::OsString::from("ControlPath=");
    path.push(dir.join("way"));
    command.arg("-o").arg(AsRef::<OsStr>::as_ref(&path));
    command
}

/// A directory of our own for the socket, with a name short enough for one (unix(7): 108 bytes).
fn place() -> Result<PathBuf> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // Behind sudo it is root who connects: what the person may rename is no place for that.
    let runtime = runtime.filter(|dir| !identity::is_taken_on() && dir.is_dir());
    let base = runtime.unwrap_or_else(|| "/tmp".into());
    let dir = base.join(format!("latido-ssh-{}-{number}-{:x}", std::process::id(), Clock::Monotonic.now()));
    let _own = identity::own()?;
    // New: what somebody else prepared there is not taken.
    fs::DirBuilder::new().mode(0o700).create(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    Ok(dir)
}
