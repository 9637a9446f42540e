//! The lock of this machine: for the tests of one suite, for two suites at the same time, and for a `latido run` next to them.
//!
//! Each test has its own state directory, but holds the machine's lock (`latido_agent::journal::lock`) together with others. A test that
//! changes the machine's settings holds the lock alone, lends it to its children, and says for whom it waits.

use latido_agent::journal::lock::{Claim, Holder, Patience, Use};
use std::{cell::Cell, fs::File, io::Write, time::Duration};

thread_local! {
    /// The number of locks that this thread holds, and whether one of them is exclusive.
    static HAS: Cell<(usize, bool)> = const { Cell::new((0, false)) };
}

/// A held lock, released on drop.
pub struct Turn {
    /// A second lock of the same thread shares the claim of its first.
    _claim: Option<Claim>,
    alone: bool,
}

impl Turn {
    /// Takes the lock together with others: all holders may measure, and none of them changes a setting.
    pub fn among_others() -> Self {
        let (turns, _) = HAS.get();
        Self::take(if turns > 0 { None } else { Some(Use::Measure) })
    }

    /// Takes the lock alone.
    pub fn alone() -> Self {
        let (turns, alone) = HAS.get();
        let name = std::thread::current().name().unwrap_or("main").to_string();
        // In another module it would wait for all other tests, and they would wait for it.
        assert!(
            name.split("::").any(|part| part == "alone"),
            "a test that takes the machine belongs below a module `alone`: {name}"
        );
        assert!(turns == 0 || alone, "a test that has a world cannot have the machine: take that first");
        Self::take(if alone { None } else { Some(Use::Change) })
    }

    fn take(wanted: Option<Use>) -> Self {
        let alone = wanted == Some(Use::Change);
        let (turns, before) = HAS.get();
        let claim = wanted.map(|wanted| {
            let name = std::thread::current().name().unwrap_or("main").to_string();
            let mut claim = Claim::open().unwrap();
            let mut tell = |holder: &Holder| tell(&name, wanted, &holder.words);
            let mut patience = Patience::of(Duration::MAX, &|| false, Some(&mut tell));
            claim.hold(wanted, &format!("the test `{name}`"), &mut patience).unwrap();
            claim
        });
        HAS.set((turns + 1, before || alone));
        Self { _claim: claim, alone }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (turns, alone) = HAS.get();
        HAS.set((turns.saturating_sub(1), alone && !self.alone));
    }
}

/// Writes past the test harness, which keeps the output of a test until it has failed.
fn tell(name: &str, wanted: Use, holder: &str) {
    let what = if wanted == Use::Change { "needs the whole machine and waits" } else { "waits" };
    let own = format!("pid {}", std::process::id());
    // Another test of this process ends soon.
    if !holder.strip_prefix(&own).is_some_and(|rest| rest.starts_with([',', ' '])) {
        #[expect(clippy::disallowed_methods, reason = "the name of a test is the suite's own")]
        let _ = writeln!(std::io::stderr(), "{name} {what} for {holder}");
    }
}

/// A lock that one test of a user holds at a time, each test in a separate process. It ends on drop, and the kernel releases it when the
/// process ends.
pub struct Alone {
    _file: File,
}

impl Alone {
    /// Waits until no other test has this lock.
    pub fn of(name: &str) -> Self {
        let user = rustix::process::geteuid().as_raw();
        let path = std::env::temp_dir().join(format!("latido-tests-{user}-{name}.lock"));
        // A lock belongs to an open file, so two tests of one process also exclude each other.
        let file = File::options().create(true).append(true).open(&path);
        let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
        Self { _file: file }
    }
}
