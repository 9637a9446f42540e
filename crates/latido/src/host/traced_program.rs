//! The program during `latido trace record`: how a recording ends, and how the program ends.

use crate::stop::StopRequests;
use std::{
    os::unix::process::ExitStatusExt,
    process::{Child, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// How often latido checks whether the program has ended.
const LOOK: Duration = Duration::from_millis(20);

/// How long latido waits after Ctrl-C before it sends the program a signal, and then again before it kills it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The reason for the end of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The program ended.
    Program,
    /// The time was up, or the recording was cut.
    Time,
    /// Ctrl-C.
    Interrupt,
}

/// Returns what ended a recording, if anything did. The end of the program takes precedence over the clock, and the clock over Ctrl-C.
pub fn over(program_ended: bool, time_is_up: bool, interrupted: bool) -> Option<Over> {
    match (program_ended, time_is_up, interrupted) {
        (true, _, _) => Some(Over::Program),
        (false, true, _) => Some(Over::Time),
        (false, false, true) => Some(Over::Interrupt),
        (false, false, false) => None,
    }
}

/// How latido makes a program end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urge {
    /// By a signal that the program can handle.
    Tell,
    Kill,
}

/// Returns what is due this long after the request to end; `told` means that the program already got the signal.
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
    /// Wraps a program that has just started.
    pub fn of(child: Child) -> Self {
        Self { child, ended: None }
    }

    /// Returns the exit status, if the program has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Waits for the end of the program. Returns its exit status as a shell does. The terminal has sent Ctrl-C to the program, too.
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

    /// A program has two seconds to end by itself, and two more after the signal, which it gets once.
    #[test]
    fn a_program_that_does_not_end_is_told_and_then_killed() {
        let ms = Duration::from_millis;
        assert_eq!([urge(ms(2_000), false), urge(ms(2_001), false)], [None, Some(Urge::Tell)]);
        assert_eq!([urge(ms(2_020), true), urge(ms(4_000), true)], [None, None]);
        assert_eq!([urge(ms(4_001), true), urge(ms(4_001), false)], [Some(Urge::Kill); 2]);
    }
}
