//! The agent's view of the host: its requests in order, and at any time whether it wants the end or is gone.

use anyhow::{Context, Result};
use latido_model::protocol::{Reader, Request};
use latido_sys::{
    clock::Clock,
    sched::{self, Policy},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{BufReader, Stdin, stdin},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

/// What a host may want of a request that the agent is answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// The agent is to go on.
    GoOn,
    /// The agent is to end it in order.
    End,
    /// The agent is to end it at once.
    EndNow,
}

/// The state of the host.
#[derive(Debug)]
pub struct Client {
    wish: AtomicU8,
    /// Whether its input ended, or contained something that is no request.
    ended: AtomicBool,
    /// When its last message arrived, on CLOCK_MONOTONIC in ns.
    heard_ns: AtomicU64,
    /// Whether a signal requested the end at once.
    terminated: Arc<AtomicBool>,
}

/// The host's requests, in order.
pub type Requests = Receiver<Result<Request>>;

impl Client {
    /// Starts to listen.
    ///
    /// # Errors
    /// The kernel refuses a handler for signals.
    pub fn listen() -> Result<(Arc<Self>, Requests)> {
        let terminated = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP, signal_hook::consts::SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&terminated))?;
        }
        let client = Arc::new(Self {
            wish: AtomicU8::new(0),
            ended: AtomicBool::new(false),
            heard_ns: AtomicU64::new(Clock::Monotonic.now()),
            terminated,
        });
        let (sender, requests) = channel();
        let heard = Arc::clone(&client);
        let hearing = thread::Builder::new().spawn(move || {
            urgently();
            heard.hear(stdin(), &sender);
        });
        hearing.context("cannot start the agent's first thread")?;
        Ok((client, requests))
    }

    fn hear(&self, input: Stdin, requests: &Sender<Result<Request>>) {
        let mut lines = Reader::<_, Request>::new(BufReader::new(input));
        loop {
            let line = lines.line();
            self.heard_ns.store(Clock::Monotonic.now(), Ordering::Relaxed);
            let request = match line {
                Ok(Some(Request::Ping)) => continue,
                Ok(Some(Request::Stop { now })) => {
                    self.wish.fetch_max(if now { 2 } else { 1 }, Ordering::Relaxed);
                    continue;
                }
                Ok(Some(request)) => Ok(request),
                Ok(None) => break,
                // An unreadable message does not come from a proper host: the agent reports the error and does nothing more.
                Err(error) => Err(error),
            };
            let over = request.is_err();
            // The wishes about the last request no longer count. Later wishes are about this one.
            self.wish.store(0, Ordering::Relaxed);
            if requests.send(request).is_err() || over {
                break;
            }
        }
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Tells whether the host is gone: its input ended, or it has not pinged for so long that the connection must be half open.
    pub fn is_gone(&self) -> bool {
        let silent = Clock::Monotonic.now().saturating_sub(self.heard_ns.load(Ordering::Relaxed));
        gone(self.ended.load(Ordering::Relaxed), silent, words_wait)
    }

    /// Returns what the host wants of the request that the agent is answering.
    pub fn wish(&self) -> Wish {
        wish(self.wish.load(Ordering::Relaxed), self.is_terminated(), || self.is_gone())
    }

    /// Tells whether a signal ended this process's work for good.
    pub fn is_terminated(&self) -> bool {
        self.terminated.load(Ordering::Relaxed)
    }
}

/// Tells whether a host is gone: its input ended, or it was silent for that long, in ns. Unread messages are no silence: then other tasks
/// keep this process from its CPU.
fn gone(ended: bool, silent_ns: u64, words_wait: impl FnOnce() -> bool) -> bool {
    ended || (u128::from(silent_ns) > crate::fault::patience().as_nanos() && !words_wait())
}

/// Returns what is wanted: because of a signal, by the urgency of the request for the end, or because the host is gone.
fn wish(asked: u8, terminated: bool, gone: impl FnOnce() -> bool) -> Wish {
    match asked {
        _ if terminated => Wish::EndNow,
        0 if !gone() => Wish::GoOn,
        0 | 1 => Wish::End,
        _ => Wish::EndNow,
    }
}

/// Tells whether there is unread input.
fn words_wait() -> bool {
    let input = stdin();
    let mut watched = [PollFd::new(&input, PollFlags::IN)];
    matches!(poll(&mut watched, Some(&Timespec::default())), Ok(1..))
}

/// The nice value of the threads that must not wait behind the loads.
pub const URGENT: i8 = -15;

/// Puts the calling thread before time-sharing ones. Without the permission the kernel refuses, and the thread stays as it is.
pub fn urgently() {
    let _ = sched::set_policy(0, Policy::Other { nice: URGENT }, false);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host is gone when its input ended, or after more than 15 s of silence, unless messages are waiting.
    #[test]
    fn silence_counts_by_the_clock_and_only_where_nothing_waits() {
        let limit = 15_000_000_000;
        let of = |ended, silent_ns, waits| gone(ended, silent_ns, || waits);
        assert!(!of(false, 0, false) && !of(false, limit, false), "not at 15 s");
        assert!(of(false, limit + 1, false), "behind them");
        assert!(!of(false, u64::MAX, true), "a process that is kept from its CPU has not heard it yet");
        assert!(of(true, 0, true));
    }

    /// latido must obey a signal at once. If the host is gone, latido must end its measurement in order, unless the host wanted more.
    #[test]
    fn the_most_urgent_wish_counts() {
        let of = |asked, terminated, gone| wish(asked, terminated, || gone);
        assert_eq!([of(0, false, false), of(0, false, true)], [Wish::GoOn, Wish::End]);
        for gone in [false, true] {
            assert_eq!([of(1, false, gone), of(2, false, gone)], [Wish::End, Wish::EndNow]);
            assert_eq!([0, 1, 2].map(|asked| of(asked, true, gone)), [Wish::EndNow; 3]);
        }
    }
}
