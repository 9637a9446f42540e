//! The posting task as a separate process: `latido agent --partner`, and what the measuring process does with it.
//!
//! The partner inherits the shared memory and the descriptors by their numbers. It reports whether it got its policy, waits for the start,
//! posts until the waiting task has ended, reports what the kernel counted, and ends. It dies with its parent.

use super::options::HandoffBy;
use crate::{
    machine::isolated::Entry,
    measure::{Interval, stage::StandIns, threads},
};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{cell::Scheduling, record::ThreadEvidence};
use latido_rt::{
    end::End,
    switch::{self, Pace},
};
use latido_sys::{
    Errno,
    handoff::{Handoff, Numbers, Way},
    memory,
    process::{self, Child as Manners},
    signal,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{BufRead, BufReader, Write, stdin, stdout},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The orders for the partner: the first line of its input. Any second line is the start.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// What the handoff uses.
    pub by: HandoffBy,
    /// The inherited descriptors.
    pub numbers: Numbers,
    /// Its index among the threads of the cell.
    pub thread: u32,
    /// The CPU to stay on.
    pub cpu: u32,
    /// The cgroups that give access to isolated CPUs.
    pub entries: Vec<Entry>,
    /// Its policy.
    pub scheduling: Scheduling,
    /// See [`Pace`].
    pub pause_ns: u64,
    /// See [`Pace`].
    pub interval_ns: u64,
}

/// The first line of its output.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PartnerReady {
    /// Why it did not get what its orders grant it, if so.
    refused: Option<String>,
}

/// The last line of its output.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Over {
    failed: Option<String>,
    evidence: ThreadEvidence,
}

/// Runs the partner. Returns the exit status.
///
/// # Errors
/// The orders cannot be carried out, or the measuring process is gone.
pub fn run() -> Result<u8> {
    let mut input = BufReader::new(stdin());
    let orders: Orders = hear(&mut input).context("the orders of the measuring process")?;
    let way = Way::from(orders.by);
    let handoff = Handoff::adopt(way, orders.numbers).context("the memory shared with the measuring process")?;
    let scratch = Handoff::create(way, true)?;
    signal::interrupt_only(signal::SIGUSR1)?;
    // The loop runs even if the kernel refuses this: it refused the measuring process too, and that one reports it.
    let _ = memory::lock_on_fault();
    let mut prepared = threads::prepare(orders.thread, Some(orders.cpu), &[], true, &orders.entries);
    switch::rehearse_post(&scratch);
    let mut refused = None;
    prepared.go(Some(orders.scheduling), &mut |why| refused = Some(format!("the posting process: {why}")));
    say(&PartnerReady { refused })?;
    ensure!(input.read_line(&mut String::new())? > 0, "the measuring process is gone");
    prepared.count();
    let pace = Pace { pause_ns: orders.pause_ns, interval_ns: orders.interval_ns };
    let end = switch::post(&handoff, pace, &AtomicBool::new(false));
    say(&Over { failed: failure(end), evidence: prepared.finish() })?;
    Ok(0)
}

/// Returns why the posting loop could not go on, if so.
pub fn failure(end: End<Errno>) -> Option<String> {
    end.failure().map(|error| format!("the kernel refused the posting task: {error}"))
}

fn say(what: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_string(what)?;
    line.push('\n');
    let mut out = stdout();
    out.write_all(line.as_bytes())?;
    Ok(out.flush()?)
}

fn hear<T: DeserializeOwned>(from: &mut impl BufRead) -> Result<T> {
    let mut line = String::new();
    ensure!(from.read_line(&mut line)? > 0, "it ended without an answer");
    Ok(serde_json::from_str(&line)?)
}

/// The measuring process's side of the partner.
pub struct Partner {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Partner {
    /// Starts the partner and waits until it is ready. Returns what the kernel refused to it. The partner lives no longer than the calling
    /// thread.
    ///
    /// # Errors
    /// It cannot be started, or it ended at once.
    pub fn start(orders: &Orders) -> Result<(Self, Option<String>)> {
        let own = std::env::current_exe().context("cannot find latido's own file")?;
        // The partner runs as latido does: it is a part of the measuring process, from latido's own file.
        let mut command = Command::new(own);
        command.args(["agent", "--partner"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let manners =
            Manners { own_group: false, death_signal: Some(signal::SIGKILL), reset_scheduling: false, nice: None };
        process::prepare(&mut command, manners);
        let mut child = command.spawn().context("cannot start the posting process")?;
        let input = child.stdin.take().context("the posting process has no input")?;
        let output = BufReader::new(child.stdout.take().context("the posting process has no output")?);
        let mut partner = Self { child, input, output };
        serde_json::to_writer(&mut partner.input, orders)?;
        partner.input.write_all(b"\n")?;
        let ready: PartnerReady = hear(&mut partner.output).context("the posting process did not become ready")?;
        Ok((partner, ready.refused))
    }

    /// Represents the partner, on a separate thread: starts it, and reads its report when it ends. If it ends before the waiting task does,
    /// the measurement has failed and `stop` ends it.
    pub fn attend(&mut self, thread: u32, stop: &AtomicBool, stand_ins: &StandIns) -> Result<Interval> {
        // If the partner is gone, the read below finds that out.
        let _ = self.input.write_all(b"go\n");
        let failed = match hear::<Over>(&mut self.output) {
            Ok(Over { failed, evidence }) => {
                stand_ins.lock().unwrap_or_else(PoisonError::into_inner).insert(thread, evidence);
                failed
            }
            Err(_) => {
                let _ = self.child.kill();
                let how = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                Some(format!("the posting process ended too early ({how})"))
            }
        };
        if failed.is_some() {
            stop.store(true, Ordering::Relaxed);
        }
        let _ = self.child.wait();
        match failed {
            Some(why) => bail!(why),
            None => Ok(Interval::default()),
        }
    }
}
