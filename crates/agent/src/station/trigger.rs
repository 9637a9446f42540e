//! A trigger: numbered packets at a steady rate. Their phase relative to any clock tick walks.

use super::{Bound, Counts, mark::Mark};
use anyhow::Result;
use latido_model::units::Ns;
pub use latido_rt::stamped::Trigger;
use latido_sys::clock::Clock::{Monotonic, Realtime};
use std::{net::UdpSocket, sync::atomic::Ordering::Relaxed};

/// The default range of the phase's walk: a tick of CONFIG_HZ=250, and whole ticks of faster ones.
pub const WALK: Ns = Ns::from_millis(4);

/// The send times of the triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time from one to the next, on average over any long time.
    pub period: Ns,
    /// The phase walks over this part of the period.
    pub walk: Ns,
}

impl Pace {
    /// Returns the time from the start to the send of this number, ns. Steps of the golden ratio spread the phases evenly over the walk
    /// (Weyl's sequence), so that the phase never stays at that of a tick for long, whatever the tick's rate.
    pub fn at(self, number: u64) -> u64 {
        let fraction = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let walked = (u128::from(fraction) * u128::from(self.walk.0)) >> 64;
        number.saturating_mul(self.period.0).saturating_add(walked as u64)
    }
}

/// Sends triggers of `size` bytes through a connected socket until it is over. A refused send is a lost number.
///
/// # Errors
/// The clock cannot be waited for.
pub fn send(
    socket: &UdpSocket,
    size: usize,
    pace: Pace,
    bound: Bound,
    counts: &Counts,
    mark: Option<Mark>,
) -> Result<()> {
    let mut packet = vec![0; size.max(Trigger::LEAST + mark.map_or(0, |_| Mark::BYTES))];
    mark.inspect(|mark| mark.put(&mut packet));
    let started = Monotonic.now();
    let mut number = 0;
    loop {
        let due = started.saturating_add(pace.at(number));
        // Waits in pieces, so that a requested end takes effect.
        while Monotonic.now() < due && !counts.is_over(number, started, bound) {
            Monotonic.sleep_until(due.min(Monotonic.now() + 100_000_000))?;
        }
        if counts.is_over(number, started, bound) {
            return Ok(());
        }
        Trigger { number, sent_ns: Realtime.now() }.write(&mut packet);
        match socket.send(&packet) {
            Ok(_) => counts.sent.fetch_add(1, Relaxed),
            Err(_) => counts.refused.fetch_add(1, Relaxed),
        };
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 20 Hz, every tenth of a tick of 4 ms, and of one of 1 ms, must get its share of 1000 triggers.
    #[test]
    fn the_phase_walks_over_a_tick() {
        let pace = Pace { period: Ns::from_millis(50), walk: WALK };
        for tick in [4_000_000, 1_000_000] {
            let mut shares = [0; 10];
            (0..1000).for_each(|number| shares[(pace.at(number) % tick * 10 / tick) as usize] += 1);
            assert!(shares.iter().all(|share| (90..=110).contains(share)), "{shares:?}");
        }
        assert_eq!(Pace { walk: Ns(0), ..pace }.at(20), 1_000_000_000);
    }
}
