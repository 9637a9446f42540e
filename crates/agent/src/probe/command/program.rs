//! The program: started on the cell's CPUs, spoken to through its standard input, ended with its process group.

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

/// How often is looked.
const LOOK: Duration = Duration::from_millis(5);

/// A program of ours.
pub(super) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    /// What it says besides its samples.
    said: Overheard,
    /// Signals were sent: its exit status says nothing of it any more.
    urged: bool,
    over: bool,
    /// What was started, where latido itself found it.
    pub found: Option<ProgramRecord>,
    /// What the kernel refused at its start.
    pub refused: Option<String>,
    /// The thread that started it dies with this; the kernel ends the program with that thread.
    _keeper: Sender<()>,
}

impl Program {
    /// Starts it, as the person behind sudo; and the pipe with what it tells.
    ///
    /// # Errors
    /// There is no such program, or others may replace it.
    pub fn start(probe: &CommandProbe, stage: &Stage<'_>) -> Result<(Self, PipeReader)> {
        let (name, arguments) = probe.argv.split_first().context("`argv` names no program")?;
        let person = Person::behind_sudo();
        let (mut command, found) = program::of_person(name, person.as_ref())?.with_context(|| {
            format!("there is no program `{name}` on the machine that is measured: install it there, or name its path")
        })?;
        let no_pipe = "no pipe for what the program tells";
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
            // It has what the thread that starts it has.
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
            // The command holds the other ends of its pipes.
            drop((command, own));
            let _ = kept.recv();
        };
        thread::Builder::new().spawn(starting).context("no thread to start the program")?;
        let (child, refused) = told.recv().context("the thread that starts the program ended")?;
        let mut child = child.with_context(|| format!("cannot start `{name}`"))?;
        let input = child.stdin.take();
        let (urged, over) = (false, false);
        let program = Self { child, input, said: heard, urged, over, found, refused, _keeper: keeper };
        Ok((program, samples))
    }

    /// Says a word to it; who does not listen need not.
    pub fn tell(&mut self, word: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(format!("{word}\n").as_bytes());
        }
    }

    /// Whether it has ended. It stays a zombie, so that its number and its group remain its own.
    pub fn has_ended(&mut self) -> bool {
        if !self.over {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let ended = waitid(WaitId::Pid(Pid::from_child(&self.child)), options);
            self.over = !matches!(ended, Ok(None));
        }
        self.over
    }

    /// Waits until it has ended, for so long at most; who closes a pipe by ending is no zombie yet when that is seen.
    pub fn await_end(&mut self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        while !self.has_ended() && Instant::now() < until {
            thread::sleep(LOOK);
        }
        self.has_ended()
    }

    /// Sends a signal to it and all of its group.
    pub fn urge(&mut self, signal: Signal) {
        self.urged |= !self.has_ended();
        ending::send(&self.child, signal);
    }

    /// Its exit status, where it ended by itself.
    ///
    /// # Errors
    /// It was none of success: with what it said last. Or it does not end.
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

    /// `; it said: ...`, the last line of its standard error, where there is one.
    fn last_words(&self) -> String {
        let said = self.said();
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        last.map(|line| format!("; it said: {}", line.trim().escape_debug())).unwrap_or_default()
    }

    /// What it said besides its samples, as far as it has come; others may hold the pipe.
    pub fn said(&self) -> Vec<u8> {
        self.said.all()
    }

    /// An error about it, with what it said last.
    pub fn blame(&self, what: &str) -> anyhow::Error {
        anyhow!("{what}{}", self.last_words())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = ending::kill(&mut self.child, "the program");
    }
}

/// What a program has of the thread that starts it: a child has its parent's CPUs, control groups and policy.
struct Inherited {
    entry: Option<Entry>,
    on: Vec<u32>,
    scheduling: Option<Scheduling>,
}

impl Inherited {
    /// Takes all of it for the calling thread; the first that was refused, in words.
    fn take(self) -> Option<String> {
        let locked = self.entry.and_then(|entry| entry.enter().err());
        let locked = locked.map(|e| format!("entering the isolated CPUs was refused: {e:#}"));
        let affinity = sched::set_affinity(0, self.on).err().map(|e| format!("its CPUs were refused: {e}"));
        let policy = under(self.scheduling);
        locked.or(affinity).or(policy)
    }
}

/// Takes the policy that a child is to have; what the kernel said, if it refused.
fn under(asked: Option<Scheduling>) -> Option<String> {
    // The measuring process may have been started as nice as the cell asks.
    let scheduling = asked.unwrap_or(Scheduling::OTHER);
    let refused = sched::set_policy(0, machine::policy(scheduling), false).err()?;
    asked.map(|scheduling| permission::explain(scheduling, refused))
}

/// What a program is called, by the words that start it: a script by its own name, not by what reads it.
pub(super) fn name_of(argv: &[String]) -> String {
    written::program(argv)
}

/// Gives the program the end of the pipe that takes its samples. What is returned is this process's copy of it, to be closed once the
/// program has its own: a descriptor that a fork here would pass on to nobody else.
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
