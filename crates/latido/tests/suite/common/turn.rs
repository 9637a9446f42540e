//! Whose turn it is on this machine: among the tests of one suite, of two side by side, and a `latido run` beside them.
//!
//! Each test has a state directory of its own, and the machine's lock (`latido_agent::journal::lock`) among others. What
//! changes the machine's settings has it alone, lends it to what it starts, and says for whom it waits.

use latido_agent::journal::lock::{Claim, Holder, Patience, Use};
use std::{cell::Cell, fs::File, io::Write, time::Duration};

thread_local! {
    /// How many turns this thread has, and whether one of them is alone.
    static HAS: Cell<(usize, bool)> = const { Cell::new((0, false)) };
}

/// A turn that ends when it is dropped.
pub struct Turn {
    /// A second turn of a thread is part of its first.
    _claim: Option<Claim>,
    alone: bool,
}

impl Turn {
    /// Among others: everybody may measure, and nobody changes a setting.
    pub fn among_others() -> Self {
        let (turns, _) = HAS.get();
        Self::take(if turns > 0 { None } else { Some(Use::Measure) })
    }

    /// Alone on the machine.
    pub fn alone() -> Self {
        let (turns, alone) = HAS.get();
        let name = std::thread::current().name().unwrap_or("main").to_string();
        // Elsewhere it waits for all other tests, and they for it.
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

/// Past the test harness, which keeps what a test prints until it has failed.
fn tell(name: &str, wanted: Use, holder: &str) {
    let what = if wanted == Use::Change { "needs the whole machine and waits" } else { "waits" };
    let own = format!("pid {}", std::process::id());
    // Another test of this file is soon over.
    if !holder.strip_prefix(&own).is_some_and(|rest| rest.starts_with([',', ' '])) {
        #[expect(clippy::disallowed_methods, reason = "the name of a test is the suite's own")]
        let _ = writeln!(std::io::stderr(), "{name} {what} for {holder}");
    }
}

/// One at a time among all tests of a user, each a process of its own: held until it is dropped; the kernel lets go of it when the process ends.
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
