//! Explains why a setting cannot be read or written, and what to do about it.

use crate::machine::{LOCKDOWN, Root};
use anyhow::{Error, anyhow};
use std::io::{self, ErrorKind};

const DEBUGFS: &str = "sys/kernel/debug";

/// Explains why a file could not be read. `absent` is the explanation and remedy for a file that does not exist.
pub fn of_read(root: &Root, path: &str, absent: &str, error: &io::Error) -> Error {
    let path = path.trim_start_matches('/');
    match error.kind() {
        ErrorKind::NotFound if path.starts_with(DEBUGFS) && !is_mounted(root) => {
            anyhow!("there is no /{path}: debugfs is not mounted: mount -t debugfs debugfs /sys/kernel/debug")
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => anyhow!("there is no /{path}: {absent}"),
        ErrorKind::PermissionDenied => anyhow!("/{path} may not be read: {}", denied(root, path)),
        _ => anyhow!("/{path} cannot be read: {error}"),
    }
}

/// Explains why a value could not be written.
pub fn of_write(root: &Root, path: &str, value: &str, error: &io::Error) -> Error {
    let path = path.trim_start_matches('/');
    match error.kind() {
        ErrorKind::PermissionDenied => anyhow!("/{path} may not be set to `{value}`: {}", denied(root, path)),
        ErrorKind::ReadOnlyFilesystem => anyhow!("/{path} cannot be set to `{value}`: {READ_ONLY}"),
        ErrorKind::InvalidInput => anyhow!("the kernel does not accept `{value}` in /{path} (invalid argument)"),
        _ => anyhow!("/{path} cannot be set to `{value}`: {error}"),
    }
}

/// Explains why an existing file may not be written, without trying; `None` if it may.
pub fn beforehand(root: &Root, path: &str) -> Option<Error> {
    if root.writable(path) != Some(false) {
        return None;
    }
    let error = rustix::fs::access(root.path(path), rustix::fs::Access::WRITE_OK).err()?;
    let path = path.trim_start_matches('/');
    Some(match error {
        rustix::io::Errno::ROFS => anyhow!("/{path} cannot be changed: {READ_ONLY}"),
        _ => anyhow!("/{path} may not be changed: {}", denied(root, path)),
    })
}

const READ_ONLY: &str = "it is mounted read-only, as in containers: run latido on the host, or start the container with \
                         --privileged";

/// Explains a refused permission: to a user, to a container's root, or to any user on a locked kernel.
fn denied(root: &Root, path: &str) -> String {
    if path.starts_with(DEBUGFS)
        && let Some(mode) = root.lockdown()
    {
        return format!(
            "kernel lockdown ({mode}) refuses debugfs even to root: boot without lockdown= and with Secure Boot off"
        );
    }
    if rustix::process::geteuid().is_root() && path.starts_with(DEBUGFS) && !root.exists(LOCKDOWN) {
        return "even root has no permission here: kernel lockdown, for example by Secure Boot, may refuse debugfs \
                (this machine does not show it), or a container does: start the container with --privileged"
            .into();
    }
    if rustix::process::geteuid().is_root() {
        return "even root has no permission here: in a container, start it with --privileged; else run latido on the \
                host"
            .into();
    }
    "only root may do this: run the same command with sudo".into()
}

fn is_mounted(root: &Root) -> bool {
    !root.list(DEBUGFS).is_empty()
}
