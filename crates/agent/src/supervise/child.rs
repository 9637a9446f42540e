//! The supervisor's side of the measuring process: how it starts it, requests its end, and ends it.

use crate::{
    loading::orphans,
    measure::{assignment::Assignment, reporter::Told},
    probe,
};
use anyhow::{Context, Result};
use latido_model::{
    cell::{Item, NiceBy, Scheduling},
    protocol::Reader,
};
use latido_sys::process;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::SIGKILL;
use std::{
    io::{BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    thread,
};

/// The measuring process.
pub struct Measuring {
    /// The process.
    pub child: Child,
    input: Option<ChildStdin>,
}

impl Measuring {
    /// Starts the measuring process with its cell. `events` receives its messages, and finally the end of its stream, until `events`
    /// returns false.
    ///
    /// # Errors
    /// It cannot be started, or does not accept its cell.
    pub fn spawn(
        assignment: &Assignment,
        events: impl Fn(Result<Option<Told>>) -> bool + Send + 'static,
    ) -> Result<Self> {
        let own = std::env::current_exe().context("cannot find latido's own file")?;
        // Runs as latido does: it measures, and it is latido's own file.
        let mut command = Command::new(own);
        command.args(["agent", "--measure"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let nice = nice(assignment.cell.scheduling, &assignment.cell.probe);
        let manners =
            process::Child { own_group: false, death_signal: Some(SIGKILL), reset_scheduling: nice.is_some(), nice };
        process::prepare(&mut command, manners);
        let mut child = command.spawn().context("cannot start the measuring process")?;
        orphans::expect(child.id());
        let mut input = child.stdin.take().context("the measuring process has no input")?;
        serde_json::to_writer(&mut input, assignment)?;
        input.write_all(b"\n")?;
        let output = child.stdout.take().context("the measuring process has no output")?;
        let heard = thread::Builder::new().spawn(move || {
            let mut reader = Reader::<_, Told>::new(BufReader::new(output));
            loop {
                let message = reader.line();
                let over = !matches!(message, Ok(Some(_)));
                if !events(message) || over {
                    return;
                }
            }
        });
        heard.context("cannot start a thread that listens to the measuring process")?;
        Ok(Self { child, input: Some(input) })
    }

    /// Requests an orderly end. A program that the process watches may have stopped it: a signal continues it, so that it can end.
    pub fn stop(&mut self) {
        if self.input.take().is_some() {
            let _ = kill_process(Pid::from_child(&self.child), Signal::CONT);
        }
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Requests its end, waits for it, and returns how it ended, in words.
    pub fn wait(&mut self) -> String {
        self.stop();
        match self.child.wait() {
            Ok(status) if status.success() => "ended without an error".into(),
            Ok(status) => format!("ended with {status}"),
            Err(error) => format!("cannot be waited for: {error}"),
        }
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
        orphans::forget(self.child.id());
    }
}

/// Returns the nice value with which the process of a cell starts; `None` if it keeps that of its supervisor. A probe that only watches
/// passively keeps it: there may be thousands of watched tasks, and at a nice value of 0 it would wait behind them for minutes.
fn nice(scheduling: Scheduling, probe: &Item) -> Option<i8> {
    match scheduling {
        Scheduling::Other { nice, by: NiceBy::Nice } if !probe::looks_on(probe) => Some(nice),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_looks_on_stays_as_urgent_as_its_supervisor() {
        let of = |probe: &str, scheduling| {
            let probe = Item { name: probe.into(), options: toml::Table::new() };
            nice(scheduling, &probe)
        };
        assert_eq!([of("wakeup", Scheduling::OTHER), of("scheduling", Scheduling::OTHER)], [Some(0), None]);
        assert_eq!(of("wakeup", Scheduling::Fifo { prio: 80 }), None);
    }
}
