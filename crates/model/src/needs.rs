//! What a test needs from its machine. A test that lacks something notes it; `scripts/test` lists the notes.

use std::io::Write;

/// A requirement that not every machine meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The test runs as root.
    Root,
    /// The kernel grants SCHED_FIFO or SCHED_DEADLINE.
    Realtime,
    /// The test can make an instance of tracefs and read events from it.
    Tracefs,
    /// The machine has two CPUs.
    TwoCpus,
    /// QEMU is installed, and the kernel package that the test boots is available.
    Qemu,
    /// A program of the distribution is installed.
    Program,
    /// `scripts/readers` has installed the programs that read latido's exports.
    Readers,
    /// The running kernel has a feature, or this machine a device.
    Kernel,
    /// The test can make a namespace, or mount something in one.
    Namespaces,
    /// The test can make a control group.
    ControlGroups,
    /// The test can act as another user.
    AnotherUser,
    /// An ssh server runs on the loopback.
    Ssh,
    /// strace can trace a process.
    Ptrace,
    /// There is room on the disk.
    Disk,
    /// latido was built with a feature, or as a debug build.
    Build,
}

impl Need {
    /// Returns the word for it in lists of skipped tests.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Realtime => "real-time scheduling",
            Self::Tracefs => "tracefs",
            Self::TwoCpus => "two CPUs",
            Self::Qemu => "qemu",
            Self::Program => "a program",
            Self::Readers => "scripts/readers",
            Self::Kernel => "a kernel feature or device",
            Self::Namespaces => "namespaces",
            Self::ControlGroups => "control groups",
            Self::AnotherUser => "another user",
            Self::Ssh => "an ssh server",
            Self::Ptrace => "ptrace",
            Self::Disk => "disk space",
            Self::Build => "a build feature",
        }
    }
}

/// Notes that a test, or a part of one, cannot run here: what it would have tested, what it needs, and what was found instead.
/// The note goes to standard output and, as a line of three columns, to the file that `LATIDO_SKIPS` names.
#[expect(clippy::print_stdout, reason = "the test harness shows it")]
pub fn skip(what: &str, need: Need, why: &str) {
    let [what, why] = [what, why].map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    println!("skipped: {what}: needs {}: {why}", need.word());
    let list = std::env::var_os("LATIDO_SKIPS");
    let list = list.map(|list| std::fs::OpenOptions::new().create(true).append(true).open(list));
    if let Some(Ok(mut list)) = list {
        // A failed write is ignored here: the suite created the list and notices that it is not written.
        let _ = list.write_all(format!("{}\t{what}\t{why}\n", need.word()).as_bytes());
    }
}
