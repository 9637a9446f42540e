//! The kernel's tracing file system (Documentation/trace/ftrace.rst), mounted in its usual place or privately.
//!
//! If it is not mounted, latido makes a mount that appears in no directory (fsmount(2)). It ends with the process that holds it, however
//! that ends, and nothing must be restored.

use super::{Root, tracing::PLACES};
use anyhow::{Result, anyhow};
use rustix::{
    fd::{AsRawFd, OwnedFd},
    io::Errno,
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The tracing file system.
#[derive(Debug)]
pub struct Tracefs {
    dir: PathBuf,
    /// The private mount, if latido made one.
    _mount: Option<OwnedFd>,
}

impl Tracefs {
    /// Finds tracefs, or mounts it for this process only.
    ///
    /// # Errors
    /// Tracefs is not available. The error says what is missing and how to get it.
    pub fn find(root: &Root) -> Result<Self> {
        let mut refused = None;
        for place in PLACES {
            match root.try_read(&format!("{place}/tracing_on")) {
                Ok(_) => return Ok(Self { dir: root.path(place), _mount: None }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => refused = refused.or(Some((format!("{place}/tracing_on"), error))),
            }
        }
        if let Some((path, error)) = refused {
            return Err(anyhow!("{path}: {error}; {}", remedy(root, &error)));
        }
        detached().map_err(|error| match error {
            Errno::NODEV => {
                anyhow!(
                    "this kernel has no tracefs because it was built without CONFIG_EVENT_TRACING: use a kernel that \
                     has it"
                )
            }
            Errno::NOSYS => anyhow!("tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing"),
            error => {
                anyhow!("tracefs is not mounted, and latido cannot mount it: {error}; {}", remedy(root, &error.into()))
            }
        })
    }

    /// Returns the directory of its files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn detached() -> Result<Tracefs, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let dir = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), mount.as_raw_fd()));
    Ok(Tracefs { dir, _mount: Some(mount) })
}

/// Returns what to do about a refusal.
fn remedy(root: &Root, error: &io::Error) -> String {
    if root.lockdown().as_deref() == Some("confidentiality") {
        return "the kernel is locked down (confidentiality) and forbids tracing: boot it without \
                lockdown=confidentiality, or without secure boot"
            .into();
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied if rustix::process::geteuid().is_root() => {
            "root has no permission here: a container needs --privileged, or tracefs and CAP_SYS_ADMIN of the \
             machine".into()
        }
        io::ErrorKind::PermissionDenied => {
            "run as root (sudo latido ...), or let a group trace: mount -o remount,gid=GROUP,mode=0770 /sys/kernel/tracing"
                .into()
        }
        _ => "see `mount -t tracefs`".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn it_is_found_where_older_kernels_have_it_too() {
        for place in PLACES {
            let dir = tempfile::tempdir().unwrap();
            let root = Root::new(dir.path());
            fs::create_dir_all(root.path(place)).unwrap();
            fs::write(root.path(&format!("{place}/tracing_on")), "1\n").unwrap();
            assert_eq!(Tracefs::find(&root).unwrap().dir(), root.path(place));
        }
    }

    #[test]
    fn what_to_do_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(!remedy(&root, &denied).contains("lockdown"));
        fs::create_dir_all(root.path("/sys/kernel/security")).unwrap();
        fs::write(root.path("/sys/kernel/security/lockdown"), "none integrity [confidentiality]\n").unwrap();
        assert!(remedy(&root, &denied).contains("lockdown=confidentiality"));
    }
}
