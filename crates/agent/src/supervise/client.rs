//! The host as the agent hears it: its requests in order, and at any time whether it wants the end or is gone.

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

/// What a host may want of a request that is being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// That it goes on.
    GoOn,
    /// That it ends in order.
    End,
    /// That it ends at once.
    EndNow,
}

/// What is known of the host.
#[derive(Debug)]
pub struct Client {
    wish: AtomicU8,
    /// The end of its input was read, or something that is no request.
    ended: AtomicBool,
    /// When it was heard last, on CLOCK_MONOTONIC in ns.
    heard_ns: AtomicU64,
    /// A signal asks for the end at once.
    terminated: Arc<AtomicBool>,
}

/// What comes in order.
pub type Requests = Receiver<Result<Request>>;

impl Client {
    /// Begins to listen.
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
                // Who sends what cannot be read is no host of ours: it hears why, and nothing more is done for it.
                Err(error) => Err(error),
            };
            let over = request.is_err();
            // What was wanted of the last request is past; what comes behind this one is about it.
            self.wish.store(0, Ordering::Relaxed);
            if requests.send(request).is_err() || over {
                break;
            }
        }
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether nobody will hear an answer: the input ended, or the host did not ping for so long that the connection
    /// must be half open.
    pub fn is_gone(&self) -> bool {
        let silent = Clock::Monotonic.now().saturating_sub(self.heard_ns.load(Ordering::Relaxed));
        gone(self.ended.load(Ordering::Relaxed), silent, words_wait)
    }

    /// What it wants of the request that is being answered.
    pub fn wish(&self) -> Wish {
        wish(self.wish.load(Ordering::Relaxed), self.is_terminated(), || self.is_gone())
    }

    /// Whether a signal ended this process's work for good.
    pub fn is_terminated(&self) -> bool {
        self.terminated.load(Ordering::Relaxed)
    }
}

/// Whether a host is gone whose input ended or which was silent for so long, in ns. Words that wait to be heard are no
/// silence: then it is this process that a crowd keeps from its CPU.
fn gone(ended: bool, silent_ns: u64, words_wait: impl FnOnce() -> bool) -> bool {
    ended || (u128::from(silent_ns) > crate::fault::patience().as_nanos() && !words_wait())
}

/// What is wanted: by a signal, by how urgently the end was asked for, or since nobody is there any more.
fn wish(asked: u8, terminated: bool, gone: impl FnOnce() -> bool) -> Wish {
    match asked {
        _ if terminated => Wish::EndNow,
        0 if !gone() => Wish::GoOn,
        0 | 1 => Wish::End,
        _ => Wish::EndNow,
    }
}

/// Whether something on the input was not read yet.
fn words_wait() -> bool {
    let input = stdin();
    let mut watched = [PollFd::new(&input, PollFlags::IN)];
    matches!(poll(&mut watched, Some(&Timespec::default())), Ok(1..))
}

/// The nice value of whatever must not wait behind the loads.
pub const URGENT: i8 = -15;

/// Puts the calling thread before time-sharing ones. Refused without the right; then it is as it is.
pub fn urgently() {
    let _ = sched::set_policy(0, Policy::Other { nice: URGENT }, false);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host is gone when its input ended, or behind 15 s without a word, unless words wait.
    #[test]
    fn silence_counts_by_the_clock_and_only_where_nothing_waits() {
        let limit = 15_000_000_000;
        let of = |ended, silent_ns, waits| gone(ended, silent_ns, || waits);
        assert!(!of(false, 0, false) && !of(false, limit, false), "not at 15 s");
        assert!(of(false, limit + 1, false), "behind them");
        assert!(!of(false, u64::MAX, true), "a process that is kept from its CPU has not heard it yet");
        assert!(of(true, 0, true));
    }

    /// A signal is obeyed at once; a host that is gone has its measurement ended in order, unless it asked for more.
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
