//! Machines that latido can measure: one file each and one line in [`TARGETS`].

#[cfg(any(test, debug_assertions))]
mod fake;
mod lab;
mod local;
mod patience;
pub mod session;
mod ssh;

use crate::stop::Stopped;
use anyhow::{Result, bail};
use latido_model::{
    cell::{LOCAL, lacks_kernel},
    protocol::{Reply, Request},
    suggest::nearest,
};
use session::Session;
use std::{
    thread,
    time::{Duration, Instant},
};

/// A machine, and the way to reach it. Opening it gives a session with the agent on it.
pub trait Target {
    /// Opens a session on this kernel, in this boot of it. `stopped` returns whether the session is no longer wanted.
    ///
    /// # Errors
    /// [`Unavailable`].
    fn open(&self, kernel: &str, boot: u32, stopped: Stopped<'_>) -> Result<Session, Unavailable>;
}

/// Why there is no session.
#[derive(Debug)]
pub enum Unavailable {
    /// The target can never have this kernel or boot: its cells are skipped, for this reason.
    NotHad(String),
    /// Something failed, and may work another time.
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for Unavailable {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

/// One kind of target.
pub struct Def {
    /// The name before the colon.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Whether the target is only for latido's own tests. The user is not shown it.
    pub for_tests: bool,
    /// What follows the colon, for the user; empty for a target without a place.
    pub place: &'static str,
    /// Reads the text after the colon. It connects to nothing.
    pub new: fn(&str) -> Result<Box<dyn Target>>,
}

/// Every kind of target. Builds for tests have one more.
pub const TARGETS: &[Def] = &[
    local::DEF,
    ssh::DEF,
    lab::DEF,
    #[cfg(any(test, debug_assertions))]
    fake::DEF,
];

/// Returns the target with this name: `local`, `ssh:board`.
///
/// # Errors
/// There is no such kind, or the place is invalid.
pub fn named(name: &str) -> Result<Box<dyn Target>> {
    let (kind, place) = name.split_once(':').unwrap_or((name, ""));
    let Some(def) = TARGETS.iter().find(|def| def.name == kind) else {
        let hint = nearest(kind, TARGETS.iter().map(|def| def.name));
        let all: Vec<String> = TARGETS.iter().filter(|def| !def.for_tests).map(Def::written).collect();
        bail!("there is no target `{kind}`{hint}; a target is {}", all.join(", "));
    };
    (def.new)(place)
}

impl Def {
    /// Returns the target as the user writes it: `ssh:[USER@]HOST`.
    pub fn written(&self) -> String {
        if self.place.is_empty() { self.name.into() } else { format!("{}:{}", self.name, self.place) }
    }
}

/// Checks the kernel and the boot for a target that only has its running kernel and is not booted.
fn only_running(target: &str, kernel: &str, boot: u32) -> Result<(), Unavailable> {
    if let Some(reason) = lacks_kernel(target, kernel) {
        return Err(Unavailable::NotHad(reason));
    }
    if boot > 1 {
        return Err(Unavailable::NotHad(format!(
            "boot {boot}: latido measures the target `{target}` as it runs, and does not boot it"
        )));
    }
    Ok(())
}

/// How long an agent that has lost its host may take to restore everything by itself.
const MENDING: Duration = Duration::from_secs(30);

/// Has a new agent restore what a dead or lost agent may have left. Waits for an old agent that is still restoring. Returns what was done,
/// for the user.
pub fn recovered(target: &dyn Target, kernel: &str, boot: u32, stopped: Stopped<'_>) -> Vec<String> {
    let until = Instant::now() + MENDING;
    loop {
        let mut told = Vec::new();
        let asked = target.open(kernel, boot, stopped).and_then(|mut session| {
            let answered = session.answer(&Request::Recover, &|| false, |reply| {
                if let Reply::Note { message } = reply {
                    told.push(message);
                }
            });
            session.close();
            Ok(answered?)
        });
        let why = match asked {
            Ok(()) => return told,
            Err(Unavailable::NotHad(why)) => why,
            Err(Unavailable::Failed(error)) => format!("{error:#}"),
        };
        if Instant::now() >= until || stopped() {
            told.push(format!("latido could not look for what an earlier run left behind: {why}"));
            return told;
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Returns whether a target is the machine on which this process runs.
pub fn is_local(name: &str) -> bool {
    name == LOCAL
}
