//! The connection to a machine over ssh: one for all commands, which end with it.

use super::Stopped;
use crate::{
    loading::listening::Tail,
    scratch::{self, Scratch},
};
use anyhow::{Context, Result, bail, ensure};
use latido_sys::{identity, process::Child};
use signal_hook::consts::SIGTERM;
use std::{
    ffi::OsStr,
    io::{self, Read},
    path::PathBuf,
    process::{self, Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// The time limit for a connection. It includes delays by a person (a key on a card).
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a machine may take to answer a question.
const ANSWER: Duration = Duration::from_secs(60);

/// How much a command may print on each of its outputs, bytes: every answer is a few lines.
const SAID: usize = 64 << 10;

/// A connection. Dropping it ends it, and every command that uses it.
#[derive(Debug)]
pub struct Way {
    host: String,
    /// The directory that contains the connection's socket.
    dir: PathBuf,
    /// Owns `dir`. latido removes it with the connection, or the next latido does so at its start.
    scratch: Option<Scratch>,
    master: process::Child,
    /// The messages of `master`. latido reads them all the time: a full pipe would stop ssh.
    complaints: Tail,
}

/// The time limit for the local ssh to answer about the connection.
const WORD: Duration = Duration::from_secs(5);

/// Waits for a program until `within`, then kills it. Returns its status if it ended by itself.
pub(super) fn status_within(mut command: Command, within: Duration) -> Option<process::ExitStatus> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let until = Instant::now() + within;
    while Instant::now() < until {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

impl Way {
    /// Connects to a host.
    ///
    /// # Errors
    /// The message of ssh.
    pub fn open(host: &str, stopped: Stopped<'_>) -> Result<Self> {
        let scratch = place()?;
        let dir = scratch.path().to_path_buf();
        let mut command = ssh(&dir);
        command.args(["-M", "-N", "--"]).arg(host).stdin(Stdio::null()).stdout(Stdio::null());
        let started = command.stderr(Stdio::piped()).spawn();
        let mut master = started.context("cannot start ssh: install it (apt-get install openssh-client)")?;
        let complaints = master.stderr.take().map(|output| Tail::of(output, SAID)).transpose();
        let complaints = complaints.context("cannot read the output of ssh")?.unwrap_or_default();
        let mut way = Self { host: host.into(), dir, scratch: Some(scratch), master, complaints };
        way.wait(stopped)?;
        Ok(way)
    }

    /// Waits for the connection's socket.
    fn wait(&mut self, stopped: Stopped<'_>) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            if self.master.try_wait()?.is_some() {
                bail!("ssh {}: {}", self.host, self.complaints.text().replace(['\n', '\r'], " "));
            }
            // The local ssh makes the socket when the machine has accepted us, and answers on it a moment later.
            let there = identity::own().is_ok_and(|_own| self.dir.join("way").exists());
            if there && self.stands() {
                return Ok(());
            }
            ensure!(!stopped(), "ssh {}: stopped while it was connecting", self.host);
            ensure!(Instant::now() < until, "ssh {}: no connection within {} s", self.host, PATIENCE.as_secs());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks the local ssh whether the connection is up.
    fn stands(&self) -> bool {
        let mut command = ssh(&self.dir);
        command.args(["-O", "check", "--"]).arg(&self.host);
        status_within(command, WORD).is_some_and(|status| status.success())
    }

    /// Returns a command for the machine. It has only plain words, so that no shell there interprets anything.
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

    /// Runs a command with this input, and returns what it prints.
    ///
    /// # Errors
    /// The command cannot be started here, prints more than an answer may have, or has not ended in time (a machine may answer pings and
    /// still hang at a command); or `stopped` returns true.
    pub fn run(&self, words: &[&str], input: Stdio, within: Duration, stopped: Stopped<'_>) -> Result<Output> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut command = self.command(&words);
        let started = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = started.context("cannot start ssh")?;
        let ssh = rustix::process::Pid::from_child(&child);
        let (ended, end) = mpsc::sync_channel(1);
        thread::Builder::new().spawn(move || waited(child, &ended)).context("cannot wait for ssh")?;
        let until = Instant::now() + within;
        loop {
            let (host, what) = (&self.host, words.join(" "));
            match end.recv_timeout(Duration::from_millis(100)) {
                Ok(Said::Whole(output)) => return Ok(output?),
                Err(_) if Instant::now() < until && !stopped() => {}
                too_much_or_late => {
                    // The child has not been reaped yet, so the number is still its own.
                    let _ = rustix::process::kill_process(ssh, rustix::process::Signal::TERM);
                    ensure!(too_much_or_late.is_err(), "{host} answers `{what}` with more than {} KiB", SAID >> 10);
                    ensure!(!stopped(), "{host}: stopped during `{what}`");
                    bail!("{host} did not finish `{what}` within {} s", within.as_secs())
                }
            }
        }
    }

    /// Returns the machine as it was given to ssh.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        let mut leave = ssh(&self.dir);
        leave.args(["-O", "exit", "--"]).arg(&self.host);
        let _ = status_within(leave, WORD);
        let _ = self.master.kill();
        let _ = self.master.wait();
        let _ = identity::own().map(|_own| self.scratch = None);
    }
}

/// How a command ended.
enum Said {
    /// It has ended.
    Whole(io::Result<Output>),
    /// The command prints more than an answer may have.
    TooMuch,
}

/// Waits for a command's end, and reports at once if it prints too much.
fn waited(mut child: process::Child, ended: &mpsc::SyncSender<Said>) {
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let heard = thread::Builder::new().spawn(move || errors.map(answer));
    let output = output.map(answer).transpose();
    if matches!(output, Ok(Some(None))) {
        // The other pipe may stay open until latido kills the command for this.
        let _ = ended.send(Said::TooMuch);
        let _ = child.wait();
        return;
    }
    let errors = heard.and_then(|heard| heard.join().unwrap_or(None).transpose());
    let said = match (output, errors) {
        (_, Ok(Some(None))) => {
            let _ = ended.send(Said::TooMuch);
            let _ = child.wait();
            return;
        }
        (Ok(stdout), Ok(stderr)) => child.wait().map(|status| Output {
            status,
            stdout: stdout.flatten().unwrap_or_default(),
            stderr: stderr.flatten().unwrap_or_default(),
        }),
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    let _ = ended.send(Said::Whole(said));
}

/// Reads a whole output; `None` if it is too long. Then it closes the pipe.
fn answer(from: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut said = Vec::new();
    from.take(SAID as u64 + 1).read_to_end(&mut said)?;
    Ok(Some(said).filter(|said| said.len() <= SAID))
}

/// Whether a word has the same meaning in every shell (sh, fish, csh).
fn is_plain(word: &str) -> bool {
    matches!(word, "&&" | ">" | ";")
        || (!word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_./=,:+-".contains(c)))
}

/// Returns an ssh command that uses the connection with its socket in this directory. ssh notices a silent loss of the link within 10 s.
fn ssh(dir: &std::path::Path) -> Command {
    // ssh runs as latido does: root connects with root's keys, and root's socket is in a directory of root's.
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
    // Ctrl-C at the terminal is for latido only: it would end ssh, and with it the link that must still carry the record. ssh ends whenever
    // latido ends, for whatever reason.
    let manners = Child { own_group: true, death_signal: Some(SIGTERM), reset_scheduling: false, nice: None };
    latido_sys::process::prepare(&mut command, manners);
    let mut path = std::ffi::OsString::from("ControlPath=");
    path.push(dir.join("way"));
    command.arg("-o").arg(AsRef::<OsStr>::as_ref(&path));
    command
}

/// Makes a directory for the socket. The next latido removes it if this one is killed.
fn place() -> Result<Scratch> {
    let _own = identity::own()?;
    Scratch::at(&scratch::sockets()).context("cannot make a directory for the connection's socket")
}
