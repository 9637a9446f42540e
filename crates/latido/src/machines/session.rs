//! A live session with an agent: requests go in and replies come out. A ping every few seconds shows that the host is still there.

use super::patience::Patience;
use crate::stop::{Awaited, Stopped};
use anyhow::{Context, Result, anyhow, bail, ensure};
use latido_agent::loading::listening;
use latido_model::protocol::{Chunks, EndStatus, HELLO_WITHIN, Hello, Message, Reply, Request, Writer};
use latido_model::{cell::Cell, quantity::Measurand};
use latido_sys::sched::{self, Policy};
use std::{
    any::Any,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How long a connection may take until the agent says hello.
const OPENING: Duration = Duration::from_secs(60);

/// How long an agent may take to restore everything after its input has ended.
const CLOSING: Duration = Duration::from_secs(30);

/// The most received messages in the queue. It is small, because a message may be a chunk of an attachment.
const WAITING: usize = 4;

/// How many bytes of a connection's error output the host keeps.
const COMPLAINT: usize = 4 << 10;

/// The most requests in the queue to an agent that may not read. No caller has more to send at once.
const UNREAD: usize = 16;

const NO_THREAD: &str = "cannot start a thread for the session";

/// The queue to the agent. Dropping it ends the agent's input after the requests already queued.
type Input = SyncSender<Request>;

/// A live agent.
pub struct Session {
    /// The agent's hello: who answers.
    pub hello: Hello,
    input: Option<Input>,
    messages: Receiver<Result<Option<Message>>>,
    child: Option<Child>,
    complaint: Arc<Mutex<Vec<u8>>>,
    /// Whether the stream broke. The host then sends no more requests.
    broken: bool,
    /// The registered wait for the agent, which the user may give up by Ctrl-C.
    awaited: Option<Awaited>,
    /// A resource that must live as long as the session.
    held: Option<Box<dyn Any + Send>>,
    /// How much more the host accepts in answer to the last request.
    patience: Patience,
    /// Whether the answers come from this host itself, not from a board.
    own: bool,
}

impl Session {
    /// Opens a session with an agent that a command starts or connects to. `what` names it: "the agent", "ssh board".
    ///
    /// # Errors
    /// The command cannot be started, or no agent of this version answers.
    pub fn over(mut command: Command, what: &str, stopped: Stopped<'_>) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {what}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("{what} has no streams");
        };
        let complaint = Arc::new(Mutex::new(Vec::new()));
        // If the session does not capture the errors, they go to this process's stderr.
        if let Some(complaints) = child.stderr.take() {
            let kept = Arc::clone(&complaint);
            listening::thread(move || listening::last(complaints, COMPLAINT, &kept))?;
        }
        Self::on(Box::new(input), Box::new(output), Some(child), complaint, what, stopped)
    }

    /// Opens a session on existing streams.
    ///
    /// # Errors
    /// No agent of this version answers.
    pub fn on(
        input: Box<dyn Write + Send>,
        output: Box<dyn Read + Send>,
        child: Option<Child>,
        complaint: Arc<Mutex<Vec<u8>>>,
        what: &str,
        stopped: Stopped<'_>,
    ) -> Result<Self> {
        let (greeted, greeting) = sync_channel(1);
        let (sender, messages) = sync_channel(WAITING);
        let thread = || thread::Builder::new();
        thread().spawn(move || listen(BufReader::new(output), &greeted, &sender)).context(NO_THREAD)?;
        let (asked, requests) = sync_channel(UNREAD);
        thread().spawn(move || speak(Writer::new(input), &requests)).context(NO_THREAD)?;
        let awaited = child.as_ref().map(|child| Awaited::new(child.id(), what));
        let (hello, input) = (Hello::default(), Some(asked));
        let mut session = Self {
            hello,
            input,
            messages,
            child,
            complaint,
            broken: false,
            awaited,
            held: None,
            patience: Patience::default(),
            own: false,
        };
        let until = Instant::now() + OPENING;
        let hello = loop {
            match greeting.recv_timeout(Duration::from_millis(100)) {
                Ok(Ok(hello)) => break hello.accept(),
                Ok(Err(error)) => break Err(error),
                Err(_) if stopped() => break Err(anyhow!("stopped while it was connecting")),
                Err(_) if Instant::now() < until => {}
                Err(_) => break Err(anyhow!("no answer for {} s", OPENING.as_secs())),
            }
        };
        match hello {
            Ok(hello) => {
                session.hello = hello;
                Ok(session)
            }
            Err(error) => {
                let said = session.abandon();
                let said = if said.is_empty() { String::new() } else { format!(": {said}") };
                Err(error.context(format!("{what} did not answer as a latido agent{said}")))
            }
        }
    }

    /// Returns the session with a resource that it needs and that is dropped with it.
    pub fn holding(mut self, held: Box<dyn Any + Send>) -> Self {
        self.held = Some(held);
        self
    }

    /// Returns the session without time limits for answers: this host itself limits them.
    pub fn of_our_own(mut self) -> Self {
        self.own = true;
        self
    }

    /// Requests a cell. The probe determines how long it may take.
    ///
    /// # Errors
    /// As [`Session::ask`].
    pub fn measure(&mut self, cell: &Cell, measurand: &Measurand) -> Result<()> {
        self.ask(&Request::Measure { cell: Box::new(cell.clone()) })?;
        self.wait_as(Patience::of_cell(cell, measurand));
        Ok(())
    }

    fn wait_as(&mut self, patience: Patience) {
        self.patience = if self.own { patience.timeless() } else { patience };
    }

    /// Sends a request, without waiting for an agent that does not read.
    ///
    /// # Errors
    /// The agent is gone, or has not read the earlier requests.
    pub fn ask(&mut self, request: &Request) -> Result<()> {
        let input = self.input.as_ref().context("the session is closed")?;
        if !matches!(request, Request::Ping | Request::Stop { .. }) {
            let patience = Patience::of(request);
            self.patience = if self.own { patience.timeless() } else { patience };
        }
        input.try_send(request.clone()).map_err(|_| anyhow!("the agent does not take requests any more"))
    }

    /// Requests the end of the running work. A missing agent is no error.
    pub fn stop(&mut self, now: bool) {
        let _ = self.ask(&Request::Stop { now });
    }

    /// Returns the next message within this time; `Ok(None)` if none arrives.
    ///
    /// # Errors
    /// The stream broke or ended, or exceeds the limits of an answer. The session is then unusable.
    pub fn receive(&mut self, within: Duration) -> Result<Option<Message>> {
        let got = match self.messages.recv_timeout(within) {
            Ok(Ok(Some(message))) => match self.patience.hear(&message) {
                Ok(()) => return Ok(Some(message)),
                Err(too_much) => Err(too_much),
            },
            Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => Err(anyhow!(
                "the agent ended without a final message (killed, crashed, out of memory, or the link was lost)"
            )),
            Ok(Err(error)) => Err(error),
            Err(RecvTimeoutError::Timeout) => match self.patience.look() {
                Ok(()) => return Ok(None),
                Err(too_long) => Err(too_long),
            },
        };
        self.broken = true;
        got
    }

    /// Sends a request that the agent answers at once, and passes on the replies until the agent reports the end. `stopped` returns whether
    /// the caller no longer wants an answer.
    ///
    /// # Errors
    /// The error that the agent reports; or the session broke.
    pub fn answer(&mut self, request: &Request, stopped: &dyn Fn() -> bool, mut hear: impl FnMut(Reply)) -> Result<()> {
        if let Err(error) = self.ask(request) {
            self.broken = true;
            return Err(error);
        }
        let mut asked = false;
        let mut complaint = None;
        let silence = latido_agent::fault::silence();
        let mut heard = Instant::now();
        loop {
            if stopped() && !asked {
                self.stop(false);
                asked = true;
            }
            let message = self.receive(Duration::from_millis(100))?;
            if message.is_some() {
                heard = Instant::now();
            }
            match message {
                None if heard.elapsed() > silence => {
                    self.broken = true;
                    bail!("the agent sent nothing for {} s", silence.as_secs_f64());
                }
                None => {}
                Some(Message::Reply(Reply::Error { message })) => complaint = Some(message),
                Some(Message::Reply(Reply::End { status: EndStatus::Done })) => return Ok(()),
                Some(Message::Reply(Reply::End { status: EndStatus::Failed })) => {
                    bail!(complaint.unwrap_or_else(|| "the agent failed and gave no reason".into()))
                }
                Some(Message::Reply(reply)) => hear(reply),
                Some(Message::Bytes(_)) => {
                    self.broken = true;
                    bail!("the agent sent a file that latido did not request");
                }
            }
        }
    }

    /// Returns whether the session can send more requests.
    pub fn is_whole(&self) -> bool {
        !self.broken
    }

    /// Ends the session in order.
    pub fn close(mut self) {
        self.input = None;
        if let Some(child) = &mut self.child {
            let until = Instant::now() + CLOSING;
            while child.try_wait().is_ok_and(|ended| ended.is_none()) {
                if Instant::now() >= until {
                    // The agent hangs. On this machine its children die with it. On another machine its input has ended.
                    let _ = child.kill();
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
        self.child = None;
    }

    /// Ends a session that broke or hangs. Returns the error output of the connection.
    pub fn abandon(&mut self) -> String {
        self.input = None;
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
            self.awaited = None;
            // Another thread reads its last output.
            thread::sleep(Duration::from_millis(20));
        }
        self.broken = true;
        String::from_utf8_lossy(&lock(&self.complaint)).trim().replace('\n', "; ")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.input = None;
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits for the hello, which may follow the output of a login, then passes on messages until the stream ends.
fn listen(
    mut output: BufReader<Box<dyn Read + Send>>,
    greeted: &SyncSender<Result<Hello>>,
    sender: &SyncSender<Result<Option<Message>>>,
) {
    let hello = greeting(&mut output);
    let over = hello.is_err();
    if greeted.send(hello).is_err() || over {
        return;
    }
    let mut stream = Chunks::new(output);
    loop {
        let message = stream.receive();
        let over = !matches!(message, Ok(Some(_)));
        if sender.send(message).is_err() || over {
            return;
        }
    }
}

fn greeting(output: &mut impl BufRead) -> Result<Hello> {
    let mut skipped = String::new();
    let mut left = HELLO_WITHIN as u64;
    loop {
        let mut line = Vec::new();
        let got = output.by_ref().take(left).read_until(b'\n', &mut line)? as u64;
        let text = String::from_utf8_lossy(&line);
        if let Some(hello) = Hello::read(&text) {
            return Ok(hello);
        }
        skipped.push_str(&text);
        left -= got;
        let said: String = skipped.trim().chars().take(300).collect();
        ensure!(
            got > 0,
            "it ended{}",
            if said.is_empty() { String::new() } else { format!(" after it said {said:?}") }
        );
        ensure!(left > 0, "there is no hello in its first {HELLO_WITHIN} bytes, which begin with {said:?}");
    }
}

/// Sends the requests, and a ping every few seconds, until the session is closed or the stream breaks. The thread that reads the answers
/// notices a broken stream.
fn speak(mut writer: Writer<Box<dyn Write + Send>>, requests: &Receiver<Request>) {
    // With many loads, a ping at normal priority would come too late, and the agent would take the host for gone. Without the right to do
    // so, the kernel refuses this.
    let _ = sched::set_policy(0, Policy::Other { nice: -15 }, false);
    let every = latido_agent::fault::ping_every();
    let mut next = Instant::now() + every;
    loop {
        let request = match requests.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(request) => request,
            Err(RecvTimeoutError::Timeout) => {
                next = Instant::now() + every;
                Request::Ping
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if writer.send(&request).is_err() {
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::sample;
    use std::sync::mpsc::channel;

    /// The link is full because the machine at its far end is busy or dead. Requests, pings and the end of the session do not wait for it.
    #[test]
    fn an_agent_that_does_not_read_holds_nobody_up() {
        let hello = Hello::new("board".into(), "0".into(), "boot".into()).line().unwrap() + "\n";
        let (_unread, input) = std::io::pipe().unwrap();
        let (output, mut said) = std::io::pipe().unwrap();
        said.write_all(hello.as_bytes()).unwrap();
        let (tell, told) = channel();
        thread::spawn(move || {
            let complaint = Arc::default();
            let mut session =
                Session::on(Box::new(input), Box::new(output), None, complaint, "a board", &|| false).unwrap();
            // Longer than any pipe can hold.
            let cell = Cell { plan: "x".repeat(2 << 20), ..sample::cell() };
            let request = Request::Prepare { cells: vec![cell], wait: None };
            let refused = (0..=UNREAD + 1).find_map(|_| session.ask(&request).err());
            session.stop(true);
            session.close();
            tell.send(refused.map(|error| error.to_string())).unwrap();
        });
        let refused = told.recv_timeout(Duration::from_secs(60)).expect("it waits for the agent");
        assert_eq!(refused.as_deref(), Some("the agent does not take requests any more"));
    }
}
