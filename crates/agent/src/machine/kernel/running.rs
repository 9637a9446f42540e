//! The running kernel.

use super::{Kernel, ethtool, write};
use crate::{
    machine::form::Form,
    program::{self, Program},
};
use anyhow::Result;
use latido_model::cpus::CpuSet;
use latido_sys::{
    Errno,
    clock::Clock,
    sched::{self, Policy},
};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
    thread,
    time::Duration,
};

/// The running kernel.
#[derive(Debug)]
pub struct Running;

impl Kernel for Running {
    fn set(&self, file: &Path, value: &str, _form: Form) -> io::Result<()> {
        OpenOptions::new().write(true).open(file)?.write_all(format!("{value}\n").as_bytes())
    }

    fn put(&self, file: &Path, value: &str) -> Result<()> {
        write(OpenOptions::new().write(true), file, value)
    }

    fn remove_group(&self, group: &Path) -> io::Result<()> {
        fs::remove_dir(group)
    }

    fn enter(&self, tid: i32, _from: Option<&Path>, to: &Path) -> Result<()> {
        self.put(to, &tid.to_string())
    }

    fn policy(&self, tid: i32) -> Result<Policy, Errno> {
        sched::policy(tid)
    }

    fn set_policy(&self, tid: i32, new: Policy) -> Result<(), Errno> {
        sched::set_policy(tid, new, false)
    }

    fn set_affinity(&self, tid: i32, cpus: &CpuSet) -> Result<(), Errno> {
        sched::set_affinity(tid, cpus.iter())
    }

    fn coalescing(&self, device: &str, key: &str) -> Result<Option<String>> {
        Ok(ethtool::parameter(&ethtool::run(&["-c", device])?, key))
    }

    fn set_coalescing(&self, device: &str, key: &str, value: &str) -> Result<()> {
        ethtool::run(&["-C", device, key, value]).map(drop)
    }

    fn coalescing_program(&self) -> Result<Option<Program>> {
        program::find(ethtool::PROGRAM)
    }

    fn own_process(&self) -> Option<u32> {
        Some(std::process::id())
    }

    fn architecture(&self) -> Option<String> {
        Some(rustix::system::uname().machine().to_string_lossy().into_owned())
    }

    fn clock(&self) -> Option<Clock> {
        Some(Clock::Monotonic)
    }

    fn pass(&self, time: Duration) -> bool {
        thread::sleep(time);
        true
    }
}
