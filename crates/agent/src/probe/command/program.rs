//! The program: latido starts it on the cell's CPUs, talks to it through its standard input, and ends it with its process group.

use super::{Channel, CommandProbe};
use crate::{
    machine::{
        self,
        isolated::{Entry, door},
    },
    measure::{Stage, permission},
    person::Person,
    probe::{ending, overheard::Overheard},
    program,
};
use anyhow::{Context, Result, anyhow, bail};
use latido_model::{cell::Scheduling, record::ProgramRecord, written};
use latido_sys::{identity, process, sched};
use rustix::{
    io::{FdFlags, fcntl_setfd},
    process::{Pid, Signal, WaitId, WaitIdOptions, waitid},
};
use std::{
    io::{self, PipeReader, PipeWriter, Write},
    os::{fd::AsRawFd, unix::process::ExitStatusExt},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Sender, channel},
    thread,
    time::{Duration, Instant},
};

/// The interval at which latido checks for its end.
const LOOK: Duration = Duration::from_millis(5);

/// A program that latido started.
pub(super) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    /// What it prints in addition to its samples.
    said: Overheard,
    /// Whether latido sent signals: then its exit status means nothing.
    urged: bool,
    over: bool,
    /// The program that was started, if latido itself found it.
    pub found: Option<ProgramRecord>,
    /// What the kernel refused at its start.
    pub refused: Option<String>,
    /// Keeps the thread alive that started the program: when that thread ends, the kernel ends the program.
    _keeper: Sender<()>,
}

impl Program {
    /// Starts the program as the person behind sudo. Returns it with the pipe for its samples.
    ///
    /// # Errors
    /// There is no such program, or other users may replace it.
    pub fn start(probe: &CommandProbe, stage: &Stage<'_>) -> Result<(Self, PipeReader)> {
        let (name, arguments) = probe.argv.split_first().context("`argv` names no program")?;
        let person = Person::behind_sudo();
        let (mut command, found) = program::of_person(name, person.as_ref())?.with_context(|| {
            format!("there is no program `{name}` on the measured machine: install it there, or give its path")
        })?;
        let no_pipe = "cannot create the pipe for the program's samples";
        let (samples, writer) = io::pipe().context(no_pipe)?;
        let (rest, said) = io::pipe().context(no_pipe)?;
        let heard = Overheard::from(rest)?;
        let conditions = &stage.cell.conditions;
        let cpus = conditions.cpus.clone().unwrap_or_default();
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stderr(said.try_clone().context(no_pipe)?)
            .env("LATIDO_CPUS", cpus.to_string())
            .env("LATIDO_DURATION_NS", conditions.duration.0.to_string())
            .env("LATIDO_WARMUP_NS", conditions.warmup.0.to_string())
            .env("LATIDO_SEED", stage.cell.seed.to_string());
        let own = take_samples(&mut command, probe.channel, writer, said).context(no_pipe)?;
        if let Some(person) = person {
            identity::start_as(&mut command, person.identity());
        }
        let asked = probe.asked(&stage.cell);
        let manners = process::Child {
            own_group: true,
            death_signal: Some(signal_hook::consts::SIGKILL),
            // The program inherits the scheduling of the thread that starts it.
            reset_scheduling: false,
            nice: None,
        };
        process::prepare(&mut command, manners);
        if let Some(marked) = &stage.program {
            marked.put_on(&mut command);
        }
        let entry = cpus.iter().next().and_then(|cpu| door(&stage.entries, Some(cpu), false)).cloned();
        let inherited = Inherited { entry, on: cpus.iter().collect(), scheduling: asked };
        let (keeper, kept) = channel();
        let (tell, told) = channel();
        let starting = move || {
            let refused = inherited.take();
            let _ = tell.send((command.spawn(), refused));
            // The command still holds the other ends of the pipes.
            drop((command, own));
            let _ = kept.recv();
        };
        thread::Builder::new().spawn(starting).context("cannot create the thread that starts the program")?;
        let (child, refused) = told.recv().context("the thread that starts the program ended")?;
        let mut child = child.with_context(|| format!("cannot start `{name}`"))?;
        let input = child.stdin.take();
        let (urged, over) = (false, false);
        let program = Self { child, input, said: heard, urged, over, found, refused, _keeper: keeper };
        Ok((program, samples))
    }

    /// Sends a message to the program. A program need not read it.
    pub fn tell(&mut self, word: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(format!("{word}\n").as_bytes());
        }
    }

    /// Whether the program has ended. It stays a zombie, so that its number and its group remain its own.
    pub fn has_ended(&mut self) -> bool {
        if !self.over {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let ended = waitid(WaitId::Pid(Pid::from_child(&self.child)), options);
            self.over = !matches!(ended, Ok(None));
        }
        self.over
    }

    /// Waits until the program has ended, or until `at_most` has passed. A program that closes its pipe by ending is not yet a zombie at
    /// that moment.
    pub fn await_end(&mut self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        while !self.has_ended() && Instant::now() < until {
            thread::sleep(LOOK);
        }
        self.has_ended()
    }

    /// Sends a signal to the program and its whole group.
    pub fn urge(&mut self, signal: Signal) {
        self.urged |= !self.has_ended();
        ending::send(&self.child, signal);
    }

    /// Returns its exit status, or `None` if latido ended it.
    ///
    /// # Errors
    /// The status is not 0 (the error includes its last message), or the program does not end.
    pub fn finish(&mut self, by: &str) -> Result<Option<u8>> {
        self.urged |= !self.has_ended();
        let status = ending::kill(&mut self.child, by)?;
        if self.urged {
            return Ok(None);
        }
        match status.code() {
            Some(0) => Ok(Some(0)),
            code => {
                let how = match code {
                    Some(code) => format!("ended with status {code}"),
                    None => format!("was ended by signal {}", status.signal().unwrap_or(0)),
                };
                bail!("`{by}` {how}{}", self.last_words())
            }
        }
    }

    /// Returns `; it said: ...` with the last line of its standard error, if there is one.
    fn last_words(&self) -> String {
        let said = self.said();
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        last.map(|line| format!("; it printed: {}", line.trim().escape_debug())).unwrap_or_default()
    }

    /// Returns what it has printed so far in addition to its samples. Other processes may keep that pipe open.
    pub fn said(&self) -> Vec<u8> {
        self.said.all()
    }

    /// Returns an error about the program, with its last message.
    pub fn blame(&self, what: &str) -> anyhow::Error {
        anyhow!("{what}{}", self.last_words())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = ending::kill(&mut self.child, "the program");
    }
}

/// What a program inherits from the thread that starts it: a child has its parent's CPUs, control groups and policy.
struct Inherited {
    entry: Option<Entry>,
    on: Vec<u32>,
    scheduling: Option<Scheduling>,
}

impl Inherited {
    /// Applies all of it to the calling thread. Returns the first refusal.
    fn take(self) -> Option<String> {
        let locked = self.entry.and_then(|entry| entry.enter().err());
        let locked = locked.map(|e| format!("it cannot enter the isolated CPUs: {e:#}"));
        let affinity = sched::set_affinity(0, self.on).err().map(|e| format!("the kernel refused its CPUs: {e}"));
        let policy = under(self.scheduling);
        locked.or(affinity).or(policy)
    }
}

/// Applies the policy that a child must have. Returns the reason if the kernel refuses.
fn under(asked: Option<Scheduling>) -> Option<String> {
    // The measuring process may have the nice value of the cell.
    let scheduling = asked.unwrap_or(Scheduling::OTHER);
    let refused = sched::set_policy(0, machine::policy(scheduling), false).err()?;
    asked.map(|scheduling| permission::explain(scheduling, refused))
}

/// Returns a program's name from the words that start it. A script has its own name, not that of its interpreter.
pub(super) fn name_of(argv: &[String]) -> String {
    written::program(argv)
}

/// Gives the program the end of the pipe for its samples. Returns this process's copy, which must be closed once the program has its own:
/// no other fork may pass this descriptor on.
fn take_samples(
    command: &mut Command,
    channel: Channel,
    writer: PipeWriter,
    said: PipeWriter,
) -> Result<Option<PipeWriter>> {
    match channel {
        Channel::Stdout => {
            command.env("LATIDO_SAMPLES_FD", "1").stdout(writer);
            Ok(None)
        }
        Channel::Fd => {
            fcntl_setfd(&writer, FdFlags::empty())?;
            command.env("LATIDO_SAMPLES_FD", writer.as_raw_fd().to_string()).stdout(said);
            Ok(Some(writer))
        }
    }
}
