//! The agent of a session. It answers its host's requests one after the other, and restores everything whatever happens.

pub mod admission;
pub mod assign;
mod attempt;
pub mod by_hand;
mod cell;
mod child;
mod client;
mod in_force;
mod outgoing;
mod prepare;
mod settings;
mod traced;
mod watch;

use crate::{check, journal, machine, machine::Root};
use anyhow::{Context, Result, ensure};
use client::{Client, Requests, Wish};
use latido_model::{
    cpus::CpuSet,
    protocol::{EndStatus, Hello, Inspect, Inspected, Reply, Request},
};
use outgoing::Voice;
use prepare::Turn;
use std::{
    sync::{Arc, mpsc::RecvTimeoutError},
    time::Duration,
};

/// How often an idle agent checks whether its host is still there.
const LOOK: Duration = Duration::from_millis(100);

/// How long results may still be in transit after the host has ended its input.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Serves one session on stdin and stdout.
///
/// # Errors
/// The host is gone before it received anything.
pub fn run() -> Result<u8> {
    // A new session: Ctrl-C on the terminal then reaches only the host, which decides. This call fails if the process leads a session
    // already, which is just as good.
    let _ = rustix::process::setsid();
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let name = machine::Root::default().read("proc/sys/kernel/hostname").unwrap_or_default();
    let (client, requests) = Client::listen()?;
    let cpus = machine::Reach::ask().usable.to_string();
    let voice = Voice::start(&Hello::new(name, cpus, journal::boot_id()))?;
    crate::fault::point("agent");
    Serving { client, voice, run: None }.serve(&requests);
    Ok(0)
}

/// The agent's side of a session.
struct Serving {
    client: Arc<Client>,
    voice: Voice,
    /// Locked from the first `Prepare` on: no other latido may start between two cells of a run.
    run: Option<Turn>,
}

impl Serving {
    fn serve(&mut self, requests: &Requests) {
        while !self.client.is_terminated() {
            match requests.recv_timeout(LOOK) {
                Ok(Ok(request)) => self.answer(request),
                Ok(Err(error)) => {
                    let message = format!("this is not a request of latido: {error:#}");
                    self.voice.say(Reply::Error { message });
                    self.voice.say(Reply::End { status: EndStatus::Failed });
                }
                Err(RecvTimeoutError::Timeout) if !self.client.is_gone() => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        // The lock goes first: the next run need not wait for the last bytes of this one.
        self.run = None;
        self.voice.drained(LAST_WORDS);
    }

    fn answer(&mut self, request: Request) {
        let answered = match request {
            Request::Prepare { cells, wait } => self.prepare(&cells, wait),
            Request::Measure { cell } => self.measure(*cell),
            Request::Inspect(what) => inspect(&what).map(|found| self.voice.say(Reply::Inspected(Box::new(found)))),
            Request::Tune(tune) => self.tune(tune),
            Request::Recover => {
                let patience = &mut journal::lock::Patience::none();
                let told = journal::recover_now(&mut self.pulse(), patience);
                told.map(|told| told.into_iter().chain(patience.passed()).for_each(|one| self.voice.note(one)))
            }
            // The reading thread handles these when they arrive.
            Request::Ping | Request::Stop { .. } => Ok(()),
        };
        let status = match answered {
            Ok(()) => EndStatus::Done,
            Err(error) => {
                self.voice.say(Reply::Error { message: format!("{error:#}") });
                EndStatus::Failed
            }
        };
        crate::fault::point("agent");
        self.voice.say(Reply::End { status });
        crate::fault::point("agent");
    }

    /// Tells whether the host wants the request that the agent is answering to end.
    fn is_unwanted(&self) -> bool {
        self.client.wish() > Wish::GoOn
    }
}

/// Refuses CPUs that are not online: for CPUs that do not exist, every check would pass.
fn there(root: &Root, cpus: Option<&CpuSet>) -> Result<()> {
    let online: Option<CpuSet> = root.value("sys/devices/system/cpu/online");
    if let Some((cpus, online)) = cpus.zip(online) {
        let missing = cpus.without(&online);
        ensure!(missing.is_empty(), "CPU {missing} is not online; the online CPUs are {online}");
    }
    Ok(())
}

/// Looks at the machine; changes nothing.
fn inspect(what: &Inspect) -> Result<Inspected> {
    let root = match &what.sysroot {
        Some(dir) => Root::new(dir.canonicalize().with_context(|| format!("--sysroot {}", dir.display()))?),
        None => Root::default(),
    };
    let machine = machine::read(&root);
    Ok(match &what.process {
        Some(word) => {
            let (process, points) = check::process(&root, word)?;
            Inspected { machine, process: Some(process), points }
        }
        None => {
            there(&root, what.cpus.as_ref())?;
            let points = check::points(&root, &machine, what.cpus.as_ref());
            Inspected { machine, process: None, points }
        }
    })
}
