//! The measuring process as its supervisor holds it: started, asked to end, ended.

use crate::{
    loading::orphans,
    measure::{assignment::Assignment, reporter::Told},
    probe,
};
use anyhow::{Context, Result};
use latido_model::{
    cell::{NiceBy, Scheduling},
    protocol::Reader,
};
use latido_sys::process;
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
    /// Starts it with its cell; `events` gets what it says, and at last the end of its stream, until it returns false.
    ///
    /// # Errors
    /// It cannot be started, or does not take its cell.
    pub fn spawn(
        assignment: &Assignment,
        events: impl Fn(Result<Option<Told>>) -> bool + Send + 'static,
    ) -> Result<Self> {
        let own = std::env::current_exe().context("cannot find latido's own file")?;
        // Runs as latido does: it measures, and is of latido's own file.
        let mut command = Command::new(own);
        command.args(["agent", "--measure"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Where a probe only looks on, the process stays before all time-sharing ones, as this one is: what it looks at may be a crowd.
        let nice = match assignment.cell.scheduling {
            Scheduling::Other { nice, by: NiceBy::Nice } if !probe::looks_on(&assignment.cell.probe) => Some(nice),
            _ => None,
        };
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
        heard.context("cannot start a thread that hears the measuring process")?;
        Ok(Self { child, input: Some(input) })
    }

    /// Asks for an orderly end.
    pub fn stop(&mut self) {
        self.input = None;
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// How it ended, in words.
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
