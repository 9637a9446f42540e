//! The measuring process, as the supervisor holds it: started, listened to, ended.

use super::{assignment::Assignment, orphans, supervise::Event};
use crate::{
    cell::{NiceBy, Scheduling},
    protocol::Reader,
};
use anyhow::{Context, Result};
use latido_sys::process;
use signal_hook::consts::SIGKILL;
use std::{
    io::{BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::Sender,
    thread,
};

/// The measuring process.
pub(super) struct Measuring {
    child: Child,
    input: Option<ChildStdin>,
}

impl Measuring {
    /// Starts it; what it says goes to `events`.
    ///
    /// # Errors
    /// It cannot be started or told what to measure.
    pub fn spawn(assignment: &Assignment, events: Sender<Event>) -> Result<Self> {
        let own = std::env::current_exe().context("cannot find latido's own file")?;
        let mut command = Command::new(own);
        command.args(["agent", "--measure"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let nice = match assignment.cell.scheduling {
            Scheduling::Other { nice, by: NiceBy::Nice } => Some(nice),
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
        thread::spawn(move || {
            let mut reader = Reader::new(BufReader::new(output));
            loop {
                let message = reader.receive();
                let over = !matches!(message, Ok(Some(_)));
                if events.send(Event::Measure(message)).is_err() || over {
                    return;
                }
            }
        });
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

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
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
