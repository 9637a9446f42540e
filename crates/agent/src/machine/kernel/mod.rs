//! What a kernel does in addition to showing files: it prints written values in its own way, moves threads, and answers calls.

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

/// The sticky bit of a directory, which marks groups that latido made. On a control group or a directory of resctrl it has no effect.
/// mkdir(2) sets it at once, so no crash leaves a group without it, and groups of other programs do not have it.
pub const MADE_HERE: u32 = 0o1000;

/// A kernel, for code that changes the machine's settings or needs what no file contains. Files have absolute paths.
///
/// The questions have an answer only where this process runs on the machine itself.
pub trait Kernel: Debug + Send + Sync {
    /// Writes a value into a file of this form, as `echo` does, including the line end (some files insist on it).
    ///
    /// # Errors
    /// The kernel refuses it.
    fn set(&self, file: &Path, value: &str, form: Form) -> io::Result<()>;

    /// Writes a value as `echo -n` does.
    ///
    /// # Errors
    /// The kernel refuses it.
    fn put(&self, file: &Path, value: &str) -> Result<()>;

    /// Removes a control group. The files that the kernel puts into it do not prevent that.
    ///
    /// # Errors
    /// As rmdir(2).
    fn remove_group(&self, group: &Path) -> io::Result<()>;

    /// Moves a thread from the list of one group to that of another.
    ///
    /// # Errors
    /// The kernel refuses it.
    fn enter(&self, tid: i32, from: Option<&Path>, to: &Path) -> Result<()>;

    /// Returns the policy of a thread.
    ///
    /// # Errors
    /// As sched_getattr(2).
    fn policy(&self, tid: i32) -> Result<Policy, Errno>;

    /// Gives a thread a policy.
    ///
    /// # Errors
    /// As sched_setattr(2).
    fn set_policy(&self, tid: i32, new: Policy) -> Result<(), Errno>;

    /// Sets the CPUs on which a thread may run.
    ///
    /// # Errors
    /// As sched_setaffinity(2).
    fn set_affinity(&self, tid: i32, cpus: &CpuSet) -> Result<(), Errno>;

    /// Returns a parameter of a network device's interrupt coalescing, named as in `ethtool -C`; `None` where the device does not have it.
    ///
    /// # Errors
    /// The program is not installed, or it fails.
    fn coalescing(&self, device: &str, key: &str) -> Result<Option<String>>;

    /// Sets a parameter of a network device's interrupt coalescing.
    ///
    /// # Errors
    /// The program is not installed, or it fails.
    fn set_coalescing(&self, device: &str, key: &str, value: &str) -> Result<()>;

    /// Returns the program that reads and sets these parameters.
    ///
    /// # Errors
    /// The program is installed, but latido may not start it.
    fn coalescing_program(&self) -> Result<Option<Program>> {
        Ok(None)
    }

    /// Returns the number of this process, if it runs on the machine itself.
    fn own_process(&self) -> Option<u32> {
        None
    }

    /// Returns the architecture of the kernel.
    fn architecture(&self) -> Option<String> {
        None
    }

    /// Returns the clock of the samples.
    fn clock(&self) -> Option<Clock> {
        None
    }

    /// Waits, so that the machine may change by itself. Returns false where nothing changes by itself.
    fn pass(&self, _time: Duration) -> bool {
        false
    }
}

/// Writes a text into a file, opened with these options.
fn write(how: &OpenOptions, file: &Path, text: &str) -> Result<()> {
    let mut open = how.open(file).with_context(|| format!("cannot open {} for writing", file.display()))?;
    open.write_all(text.as_bytes()).with_context(|| format!("{} does not accept `{text}`", file.display()))
}
