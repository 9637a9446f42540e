//! A sink: takes what arrives at a socket and counts it; of triggers it tells lost, doubled and late ones too.

use super::{Bound, Counts, mark::Mark, trigger::Trigger};
use anyhow::Result;
use latido_sys::clock::Clock::Monotonic;
use serde::Serialize;
use std::{
    net::{IpAddr, UdpSocket},
    sync::{Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::Duration,
};

/// What the triggers say that arrived, by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Numbered {
    /// Triggers with a number above all before.
    pub triggers: u64,
    /// Numbers that were passed over and did not come afterwards, up to the highest seen.
    pub lost: u64,
    /// Numbers below or at the highest seen: doubled, or out of order.
    pub not_in_order: u64,
    highest: Option<u64>,
}

impl Numbered {
    /// A trigger of this number arrived. A late one is taken out of the lost ones, as far as it can be told from a doubled one.
    pub fn arrived(&mut self, number: u64) {
        match self.highest {
            Some(highest) if number <= highest => {
                self.not_in_order += 1;
                self.lost = self.lost.saturating_sub(u64::from(number != highest));
            }
            before => {
                self.lost += number - before.map_or(0, |highest| highest + 1);
                self.triggers += 1;
                self.highest = Some(number);
            }
        }
    }
}

/// Whose packets are counted. Those of others are counted apart: any user of a machine may send to any of its ports.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    /// Everybody's.
    Everybodys,
    /// Those that come from this address.
    Of(IpAddr),
    /// Those that come from where the first came from.
    Firsts,
    /// Those with this mark.
    Marked(Mark),
}

impl Whose {
    /// Whether a packet is one of theirs.
    fn is_of(&mut self, packet: &[u8], from: IpAddr) -> bool {
        match *self {
            Self::Everybodys => true,
            Self::Of(address) => from == address,
            Self::Firsts => {
                *self = Self::Of(from);
                true
            }
            Self::Marked(mark) => mark.is_on(packet),
        }
    }
}

/// Counts what arrives until it is over.
///
/// # Errors
/// The socket takes no time to wait.
pub fn count(
    socket: &UdpSocket,
    mut whose: Whose,
    bound: Bound,
    counts: &Counts,
    numbered: &Mutex<Numbered>,
) -> Result<()> {
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    let started = Monotonic.now();
    let mut packet = vec![0; 65_536];
    while !counts.is_over(counts.received.load(Relaxed), started, bound) {
        // Nothing there, or a reply of the network about something sent from here: go on.
        let Ok((length, from)) = socket.recv_from(&mut packet) else { continue };
        let packet = packet.get(..length).unwrap_or_default();
        if !whose.is_of(packet, from.ip()) {
            counts.strangers.fetch_add(1, Relaxed);
            continue;
        }
        counts.arrived(length);
        if let Some(trigger) = Trigger::read(packet) {
            numbered.lock().unwrap_or_else(PoisonError::into_inner).arrived(trigger.number);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(numbers: &[u64]) -> (u64, u64, u64) {
        let mut numbered = Numbered::default();
        numbers.iter().for_each(|number| numbered.arrived(*number));
        (numbered.triggers, numbered.lost, numbered.not_in_order)
    }

    #[test]
    fn lost_doubled_and_late_ones_are_told() {
        assert_eq!(all(&[0, 1, 2]), (3, 0, 0));
        assert_eq!(all(&[0, 3]), (2, 2, 0));
        assert_eq!(all(&[0, 1, 1, 2]), (3, 0, 1));
        assert_eq!(all(&[0, 2, 1]), (2, 0, 1), "1 came late: none is lost");
        assert_eq!(all(&[]), (0, 0, 0));
    }

    /// What a stranger sends is counted apart, by its mark or by where it comes from, and changes no number.
    #[test]
    fn strangers_are_counted_apart() {
        let own = Mark::new();
        for (mut whose, strange) in [
            (Whose::Everybodys, false),
            (Whose::Of([127, 0, 0, 1].into()), true),
            (Whose::Firsts, true),
            (Whose::Marked(own), true),
        ] {
            let mut packet = [0; 40];
            own.put(&mut packet);
            assert!(whose.is_of(&packet, [127, 0, 0, 1].into()), "{whose:?}");
            Mark::new().put(&mut packet);
            assert_eq!(whose.is_of(&packet, [127, 0, 0, 2].into()), !strange, "{whose:?}");
        }
    }

    proptest! {
        #[test]
        fn every_arrival_is_counted_once(numbers in proptest::collection::vec(0u64..1 << 40, 0..60)) {
            let (triggers, _, not_in_order) = all(&numbers);
            prop_assert_eq!(triggers + not_in_order, numbers.len() as u64);
        }
    }
}
