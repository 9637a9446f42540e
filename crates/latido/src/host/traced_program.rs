//! The program that `latido trace record` records: how a recording ends, and how the program does.

use crate::stop::StopRequests;
use std::{
    os::unix::process::ExitStatusExt,
    process::{Child, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// How often is looked whether it is over.
const LOOK: Duration = Duration::from_millis(20);

/// How long a program may take to end after Ctrl-C before latido sends it a signal, and after that before latido kills it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What ended a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The program did.
    Program,
    /// The time was up, or the recording was cut.
    Time,
    /// Ctrl-C.
    Interrupt,
}

/// What ended a recording, if anything did: a program that ended counts before the clock, and this before Ctrl-C.
pub fn over(program_ended: bool, time_is_up: bool, interrupted: bool) -> Option<Over> {
    match (program_ended, time_is_up, interrupted) {
        (true, _, _) => Some(Over::Program),
        (false, true, _) => Some(Over::Time),
        (false, false, true) => Some(Over::Interrupt),
        (false, false, false) => None,
    }
}

/// How a program that does not end is made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urge {
    /// By a signal that it can heed.
    Tell,
    Kill,
}

/// What is due when a program was asked to end so long ago; `told` that it had the signal.
fn urge(passed: Duration, told: bool) -> Option<Urge> {
    match passed {
        passed if passed > 2 * PATIENCE => Some(Urge::Kill),
        passed if passed > PATIENCE && !told => Some(Urge::Tell),
        _ => None,
    }
}

/// The program that is recorded.
pub struct Program {
    child: Child,
    ended: Option<ExitStatus>,
}

impl Program {
    /// Started just now.
    pub fn of(child: Child) -> Self {
        Self { child, ended: None }
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Waits for its end; its exit status as a shell has it. The terminal has asked that program to end, too.
    pub fn wait(mut self, asked: bool, stops: &StopRequests) -> u8 {
        let mut asked = asked.then(Instant::now);
        let mut told = false;
        loop {
            if let Some(status) = self.ended() {
                let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
                return code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
            }
            if asked.is_none() && stops.count() > 0 {
                asked = Some(Instant::now());
            }
            match asked.and_then(|since| urge(since.elapsed(), told)) {
                Some(Urge::Kill) => _ = self.child.kill(),
                Some(Urge::Tell) => {
                    told = true;
                    let pid = rustix::process::Pid::from_child(&self.child);
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
                }
                None => {}
            }
            thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ended_counts_before_the_clock_and_this_before_ctrl_c() {
        assert_eq!([over(true, true, true), over(true, false, false)], [Some(Over::Program); 2]);
        assert_eq!([over(false, true, true), over(false, true, false)], [Some(Over::Time); 2]);
        assert_eq!([over(false, false, true), over(false, false, false)], [Some(Over::Interrupt), None]);
    }

    /// Two seconds by itself, two more behind the signal, which it gets once.
    #[test]
    fn a_program_that_does_not_end_is_told_and_then_killed() {
        let ms = Duration::from_millis;
        assert_eq!([urge(ms(2_000), false), urge(ms(2_001), false)], [None, Some(Urge::Tell)]);
        assert_eq!([urge(ms(2_020), true), urge(ms(4_000), true)], [None, None]);
        assert_eq!([urge(ms(4_001), true), urge(ms(4_001), false)], [Some(Urge::Kill); 2]);
    }
}
