//! A sink: receives the packets at a socket and counts them. For triggers it also counts lost, doubled and late ones.

use super::{Bound, Counts, mark::Mark, trigger::Trigger};
use anyhow::Result;
use latido_sys::clock::Clock::Monotonic;
use serde::Serialize;
use std::{
    net::{IpAddr, UdpSocket},
    sync::{Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::Duration,
};

/// What the numbers of the received triggers show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Numbered {
    /// Triggers with a number above all earlier ones.
    pub triggers: u64,
    /// Numbers that were skipped and did not come later, up to the highest number so far.
    pub lost: u64,
    /// Numbers at or below the highest so far: doubled, or out of order.
    pub not_in_order: u64,
    highest: Option<u64>,
}

impl Numbered {
    /// Counts a trigger with this number. A number below the highest reduces the lost ones: usually a late trigger, which latido cannot
    /// distinguish from a doubled one.
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

/// Which packets to count. Packets from others count separately: any user of a machine may send to any of its ports.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    /// All packets.
    Everybodys,
    /// Packets from this address.
    Of(IpAddr),
    /// Packets from the address that the first one came from.
    Firsts,
    /// Packets with this mark.
    Marked(Mark),
}

impl Whose {
    /// Tells whether a packet is among them.
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

/// Counts packets until it is over.
///
/// # Errors
/// The socket accepts no timeout.
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
        // Nothing arrived, or the network reports an error about an earlier packet from here: go on.
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

    /// Packets from strangers, by mark or by address, must count separately and change no number.
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
        let (socket, sender) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let (counts, numbered) = (Counts::default(), Mutex::default());
        for (mark, number) in [(Mark::new(), 3), (own, 0)] {
            let mut packet = [0; 40];
            Trigger { number, sent_ns: 0 }.write(&mut packet);
            mark.put(&mut packet);
            sender.send_to(&packet, socket.local_addr().unwrap()).unwrap();
        }
        count(&socket, Whose::Marked(own), Bound { count: 1, ..Bound::OUTSIDE }, &counts, &numbered).unwrap();
        assert_eq!((counts.received.load(Relaxed), counts.strangers.load(Relaxed)), (1, 1));
        let Numbered { triggers, lost, not_in_order, .. } = numbered.into_inner().unwrap();
        assert_eq!((triggers, lost, not_in_order), (1, 0, 0));
    }

    proptest! {
        #[test]
        fn every_arrival_is_counted_once(numbers in proptest::collection::vec(0u64..100, 0..60)) {
            let (triggers, _, not_in_order) = all(&numbers);
            prop_assert_eq!(triggers + not_in_order, numbers.len() as u64);
            // Without doubled ones, the lost are those below the highest that never came.
            let mut seen = std::collections::BTreeSet::new();
            let once: Vec<u64> = numbers.into_iter().filter(|number| seen.insert(*number)).collect();
            let all_sent = once.iter().max().map_or(0, |highest| highest + 1);
            prop_assert_eq!(all(&once).1, all_sent - once.len() as u64);
        }
    }
}
