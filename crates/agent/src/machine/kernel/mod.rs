//! What a kernel does beyond files that are read: it prints what was written in its own way, moves threads, answers calls.

mod ethtool;
mod running;
#[cfg(any(test, debug_assertions))]
mod simulated;

pub use running::Running;
#[cfg(any(test, debug_assertions))]
pub use simulated::Simulated;

use super::form::Form;
use crate::program::Program;
use anyhow::{Context, Result};
use latido_model::cpus::CpuSet;
use latido_sys::{Errno, clock::Clock, sched::Policy};
use std::{fmt::Debug, fs::OpenOptions, io, io::Write, path::Path, time::Duration};

/// The sticky bit of a directory. On one of a control group or of resctrl it means nothing, and mkdir(2) sets it at once:
/// no crash leaves a group that was made here without it, and nobody else's has it.
pub const MADE_HERE: u32 = 0o1000;

/// A kernel, for code that changes the machine's settings or needs what no file tells. Files are named by their whole paths.
///
/// The questions have an answer where this process runs on the machine itself.
pub trait Kernel: Debug + Send + Sync {
    /// Writes a value into a file of this form, as `echo` does, line end included (some files insist).
    ///
    /// # Errors
    /// What the kernel answered.
    fn set(&self, file: &Path, value: &str, form: Form) -> io::Result<()>;

    /// Writes a value as `echo -n` does.
    ///
    /// # Errors
    /// What the kernel answered.
    fn put(&self, file: &Path, value: &str) -> Result<()>;

    /// Removes a control group: its own files do not keep it.
    ///
    /// # Errors
    /// As rmdir(2).
    fn remove_group(&self, group: &Path) -> io::Result<()>;

    /// Moves a thread from the list of one group to that of another.
    ///
    /// # Errors
    /// What the kernel answered.
    fn enter(&self, tid: i32, from: Option<&Path>, to: &Path) -> Result<()>;

    /// The policy of a thread.
    ///
    /// # Errors
    /// As sched_getattr(2).
    fn policy(&self, tid: i32) -> Result<Policy, Errno>;

    /// Gives a thread a policy.
    ///
    /// # Errors
    /// As sched_setattr(2).
    fn set_policy(&self, tid: i32, new: Policy) -> Result<(), Errno>;

    /// Allows a thread these CPUs.
    ///
    /// # Errors
    /// As sched_setaffinity(2).
    fn set_affinity(&self, tid: i32, cpus: &CpuSet) -> Result<(), Errno>;

    /// A parameter of how a network device gathers interrupts, named as `ethtool -C` takes it; `None` where it has no such.
    ///
    /// # Errors
    /// The program is not there or refuses.
    fn coalescing(&self, device: &str, key: &str) -> Result<Option<String>>;

    /// Sets such a parameter.
    ///
    /// # Errors
    /// The program is not there or refuses.
    fn set_coalescing(&self, device: &str, key: &str, value: &str) -> Result<()>;

    /// The program that does both.
    ///
    /// # Errors
    /// It is there and may not be started.
    fn coalescing_program(&self) -> Result<Option<Program>> {
        Ok(None)
    }

    /// The number of this process, where it is one of the machine's own.
    fn own_process(&self) -> Option<u32> {
        None
    }

    /// The architecture that the kernel runs on.
    fn architecture(&self) -> Option<String> {
        None
    }

    /// The clock that samples are taken with.
    fn clock(&self) -> Option<Clock> {
        None
    }

    /// Lets time pass in which the machine may change by itself; false where nothing changes by itself.
    fn pass(&self, _time: Duration) -> bool {
        false
    }
}

/// Writes a text into a file that is opened so.
fn write(how: &OpenOptions, file: &Path, text: &str) -> Result<()> {
    let mut open = how.open(file).with_context(|| format!("cannot open {} for writing", file.display()))?;
    open.write_all(text.as_bytes()).with_context(|| format!("{} does not take `{text}`", file.display()))
}
