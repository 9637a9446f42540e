//! One at a time among all tests of a user: each test is one process, so that a file's lock keeps them apart.

use std::fs::File;

/// Held until it is dropped; the kernel lets go of it when the process ends.
pub struct Alone {
    _file: File,
}

impl Alone {
    /// Waits until no other test has this lock.
    pub fn of(name: &str) -> Self {
        let user = rustix::process::geteuid().as_raw();
        let path = std::env::temp_dir().join(format!("latido-tests-{user}-{name}.lock"));
        // A lock is of an open file: two tests of one process keep each other away, too.
        let file = File::options().create(true).append(true).open(&path);
        let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
        Self { _file: file }
    }
}
