//! This machine as a target: the agent is a child process, the stream a pipe. The same path as for any other machine.

use anyhow::{Context, Result};
use latido_agent::journal;
use latido_model::{
    cell::Cell,
    protocol::{Message, Reader},
};
use std::{
    io::{BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// A live agent with one cell.
#[derive(Debug)]
pub struct Session {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Result<Option<Message>>>,
}

impl Session {
    /// Starts an agent and sends it the cell.
    ///
    /// # Errors
    /// The agent does not start or ends before it has read the cell.
    pub fn start(cell: &Cell) -> Result<Self> {
        let own = std::env::current_exe().context("cannot find latido's own file to start the agent")?;
        let mut child = Command::new(own)
            .arg("agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the agent")?;
        let mut input = child.stdin.take().context("the agent has no input")?;
        let output = child.stdout.take().context("the agent has no output")?;
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut reader = Reader::new(BufReader::new(output));
            loop {
                let message = reader.receive();
                let over = !matches!(message, Ok(Some(_)));
                if sender.send(message).is_err() || over {
                    return;
                }
            }
        });
        let mut line = serde_json::to_vec(cell)?;
        line.push(b'\n');
        input.write_all(&line).context("the agent ended before it had read its cell")?;
        Ok(Self { child, input: Some(input), messages })
    }

    /// The next message within this time; `Ok(None)` when nothing came, an error when the stream is over.
    ///
    /// # Errors
    /// The stream broke or ended.
    pub fn receive(&self, within: Duration) -> Result<Option<Message>> {
        match self.messages.recv_timeout(within) {
            Ok(Ok(Some(message))) => Ok(Some(message)),
            Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => {
                anyhow::bail!("the agent ended without saying so (killed, crashed or out of memory)")
            }
            Ok(Err(error)) => Err(error),
            Err(RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    /// Asks for an orderly end: what was measured so far comes as a record.
    pub fn stop(&mut self) {
        if let Some(mut input) = self.input.take() {
            let _ = input.write_all(b"stop\n");
        }
    }

    /// Asks for an end now: no record, everything put back.
    pub fn terminate(&mut self) {
        self.stop();
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }

    /// Collects the agent; where it did not end in order, puts back what it left. Returns what was put back.
    pub fn close(mut self, orderly: bool) -> Vec<String> {
        self.input = None;
        if !orderly {
            // It may hang; its supervisor's children die with it.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        if orderly {
            return Vec::new();
        }
        // The lock is free once the kernel has torn the agent down, which wait() has just told us.
        let told = journal::recover_now();
        latido_agent::scratch::sweep();
        told.unwrap_or_else(|error| vec![format!("could not look for what was left: {error:#}")])
    }
}
