//! A flood: packets of one size, as fast as possible or at a rate.

use super::{Bound, Counts, mark::Mark};
use latido_sys::clock::Clock::Monotonic;
use std::{net::UdpSocket, sync::atomic::Ordering::Relaxed, thread, time::Duration};

/// How often a sender with a rate checks how much it may send.
const TICK: Duration = Duration::from_millis(1);

/// Sends packets of `size` bytes through a connected socket until it is over: at `rate` bits of payload per second, or as fast as possible.
/// It counts the sends that fail because the receiver does not listen (ECONNREFUSED) or there is no room (ENOBUFS), and goes on.
pub fn send(socket: &UdpSocket, size: usize, rate: Option<u64>, bound: Bound, counts: &Counts, mark: Option<Mark>) {
    let mut packet = vec![0x5a; size];
    mark.inspect(|mark| mark.put(&mut packet));
    let started = Monotonic.now();
    let mut tried = 0u64;
    while !counts.is_over(tried, started, bound) {
        let due = match rate {
            None => tried + 1,
            Some(bits) => {
                let passed = u128::from(Monotonic.now().saturating_sub(started));
                (passed * u128::from(bits) / 8 / 1_000_000_000 / size.max(1) as u128) as u64
            }
        };
        if tried >= due {
            thread::sleep(TICK);
            continue;
        }
        tried += 1;
        match socket.send(&packet) {
            Ok(_) => counts.sent.fetch_add(1, Relaxed),
            Err(_) => counts.refused.fetch_add(1, Relaxed),
        };
    }
}
