//! The kernel of a machine that is a tree of files, for tests: it writes into the files what a real kernel would print or move.

mod printing;
mod threads;

use super::{Kernel, MADE_HERE, ethtool, write};
use crate::machine::form::Form;
use anyhow::{Context, Result};
use latido_model::cpus::CpuSet;
use latido_sys::{Errno, sched::Policy};
use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The file of a control group that lists the controllers of its children, and takes `+NAME` and `-NAME`.
const CONTROLLERS: &str = "cgroup.subtree_control";

/// The kernel of the machine in a directory.
#[derive(Debug)]
pub struct Simulated(PathBuf);

impl Simulated {
    /// Returns the kernel of the machine in this directory.
    pub fn of(directory: &Path) -> Self {
        Self(directory.to_path_buf())
    }

    /// Returns the file with the output of `ethtool -c DEVICE`.
    fn ethtool(&self, device: &str) -> PathBuf {
        self.0.join("ethtool").join(device)
    }
}

impl Kernel for Simulated {
    fn set(&self, file: &Path, value: &str, form: Form) -> io::Result<()> {
        let printed = printing::printed(form, &said(file), value);
        let requested = beside(file, "_requested");
        if form == Form::Requested && requested.exists() {
            fs::write(requested, &printed)?;
        }
        opening(file).open(file)?.write_all(printed.as_bytes())
    }

    fn put(&self, file: &Path, value: &str) -> Result<()> {
        let value = match file.ends_with(CONTROLLERS) {
            true => controllers(&fs::read_to_string(file).unwrap_or_default(), value),
            false => value.into(),
        };
        write(&opening(file), file, &value)
    }

    fn remove_group(&self, group: &Path) -> io::Result<()> {
        for entry in fs::read_dir(group)? {
            fs::remove_file(entry?.path())?;
        }
        fs::remove_dir(group)
    }

    fn enter(&self, tid: i32, from: Option<&Path>, to: &Path) -> Result<()> {
        let others = |list: &Path| -> Vec<String> {
            let text = fs::read_to_string(list).unwrap_or_default();
            text.trim().lines().filter(|line| line.trim() != tid.to_string()).map(str::to_owned).collect()
        };
        if let Some(from) = from {
            fs::write(from, others(from).join("\n"))?;
        }
        let mut there = others(to);
        there.push(tid.to_string());
        Ok(fs::write(to, there.join("\n"))?)
    }

    fn policy(&self, tid: i32) -> Result<Policy, Errno> {
        threads::policy(&self.0, tid)
    }

    fn set_policy(&self, tid: i32, new: Policy) -> Result<(), Errno> {
        threads::set_policy(&self.0, tid, new)
    }

    fn set_affinity(&self, tid: i32, cpus: &CpuSet) -> Result<(), Errno> {
        threads::set_affinity(&self.0, tid, cpus)
    }

    fn coalescing(&self, device: &str, key: &str) -> Result<Option<String>> {
        let text = fs::read_to_string(self.ethtool(device));
        let text = text.with_context(|| format!("ethtool -c {device} failed"))?;
        Ok(ethtool::parameter(&text, key))
    }

    fn set_coalescing(&self, device: &str, key: &str, value: &str) -> Result<()> {
        let path = self.ethtool(device);
        let text = fs::read_to_string(&path)?;
        Ok(fs::write(&path, printing::coalescing(&text, key, value))?)
    }
}

/// Reads the beginning of a file. Some files have no end (tests write to /dev/full).
fn said(file: &Path) -> String {
    let mut text = String::new();
    let read = fs::File::open(file).and_then(|file| file.take(4096).read_to_string(&mut text));
    if read.is_ok() { text } else { String::new() }
}

/// Returns the options for rewriting a file. In a control group that latido made, a missing file is created, as the kernel does with the
/// group.
fn opening(file: &Path) -> OpenOptions {
    let group = file.parent().and_then(|parent| fs::metadata(parent).ok());
    let comes = group.is_some_and(|group| group.mode() & MADE_HERE != 0);
    let mut how = OpenOptions::new();
    how.write(true).truncate(true).create(comes);
    how
}

/// Appends an ending to a file's name.
fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(ending);
    name.into()
}

/// Adds a controller to a list, or removes one.
fn controllers(list: &str, change: &str) -> String {
    let (sign, name) = change.split_at_checked(1).unwrap_or_default();
    let rest = list.split_whitespace().filter(|other| *other != name);
    rest.chain((sign == "+").then_some(name)).collect::<Vec<_>>().join(" ")
}
