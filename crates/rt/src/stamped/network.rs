//! Events of the network: a station's numbered packets. Each contains the time of sending, and the kernel adds the time of arrival.

use super::{Device, Log, Pass, Stamped, sweep};
use crate::{end::End, recorder::Recorder, rounds::Refusal};
use core::sync::atomic::AtomicBool;
use latido_sys::{
    Errno,
    clock::Clock::{Monotonic, Realtime},
    net::Arrivals,
};

/// The beginning of a trigger's payload.
const MAGIC: [u8; 8] = *b"latido\0\x01";

/// The content of a station's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The number, from 0, increasing by one per packet.
    pub number: u64,
    /// The sender's CLOCK_REALTIME just before sending, in ns.
    pub sent_ns: u64,
}

impl Trigger {
    /// The smallest payload in bytes: magic, number and the sender's clock.
    pub const LEAST: usize = 24;

    /// Returns the trigger that a packet contains, if it is one.
    pub fn read(packet: &[u8]) -> Option<Self> {
        let word = |at: usize| packet.get(at..)?.first_chunk().copied().map(u64::from_be_bytes);
        packet.starts_with(&MAGIC).then_some(())?;
        Some(Self { number: word(8)?, sent_ns: word(16)? })
    }

    /// Writes the trigger to the beginning of a packet.
    pub fn write(self, packet: &mut [u8]) {
        let bytes = MAGIC.into_iter().chain(self.number.to_be_bytes()).chain(self.sent_ns.to_be_bytes());
        packet.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    }
}

/// Packets from a station on this machine, which has the same clock.
#[derive(Debug)]
pub struct NetworkEvents {
    arrivals: Arrivals,
    packet: [u8; 64],
    /// The last bytes of each packet from the station.
    mark: [u8; 8],
    /// Packets from other senders, which are not events.
    pub strangers: u64,
}

impl NetworkEvents {
    /// Creates it for a station that ends each packet with `mark`. `strangers` is the number of packets from other senders so far.
    pub fn of(arrivals: Arrivals, mark: [u8; 8], strangers: u64) -> Self {
        Self { arrivals, packet: [0; 64], mark, strangers }
    }
}

impl Device for NetworkEvents {
    #[inline(always)]
    fn next(&mut self) -> Result<Stamped, Refusal> {
        let refused = |error| Refusal { call: "recvmsg of the station's next packet", error };
        let arrival = self.arrivals.next(&mut self.packet).map_err(refused)?;
        let t3 = Monotonic.now();
        let packet = self.packet.get(..arrival.bytes).unwrap_or(&[]);
        // Packets from other senders to this port are not events: the loop continues to wait, as after a signal.
        let own = packet.last_chunk() == Some(&self.mark);
        let Some(trigger) = Trigger::read(packet).filter(|_| own) else {
            self.strangers = self.strangers.wrapping_add(1);
            return Err(refused(Errno::EINTR));
        };
        // Read both clocks together after each event: then setting CLOCK_REALTIME spoils at most one event.
        let before = Monotonic.now();
        let real = Realtime.now();
        let width = Monotonic.now().wrapping_sub(before);
        let ahead = real.wrapping_sub(before.wrapping_add(width >> 1));
        let t2 = (arrival.software_ns != 0).then(|| arrival.software_ns.wrapping_sub(ahead));
        let t1 = trigger.sent_ns.wrapping_sub(ahead);
        Ok(Stamped { number: trigger.number, t1, t2, t3, error: width >> 1 })
    }
}

#[inline(never)]
pub(super) fn answer(
    device: &mut NetworkEvents,
    pass: &Pass,
    stop: &AtomicBool,
    response: &mut Recorder,
    log: &mut Log,
) -> End<Refusal> {
    sweep(device, pass, stop, response, log)
}
