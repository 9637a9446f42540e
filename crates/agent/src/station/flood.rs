//! A flood: packets of one size as fast as they go, or at a rate.

use super::{Bound, Counts, mark::Mark};
use latido_sys::clock::Clock::Monotonic;
use std::{net::UdpSocket, sync::atomic::Ordering::Relaxed, thread, time::Duration};

/// How often a limited sender looks how much it may send.
const TICK: Duration = Duration::from_millis(1);

/// Sends packets of `size` bytes through a connected socket at `rate` bits a second of payload, or as fast as they go, until it
/// is over. Nobody listening (ECONNREFUSED) and no room (ENOBUFS) are part of it, and counted.
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
