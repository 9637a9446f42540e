//! Events of the network: a station's numbered packet, with the time of its sending in it and the kernel's stamp beside it.

use super::{Device, Log, Pass, Stamped, sweep};
use crate::{end::End, recorder::Recorder, rounds::Refusal};
use core::sync::atomic::AtomicBool;
use latido_sys::{
    Errno,
    clock::Clock::{Monotonic, Realtime},
    net::Arrivals,
};

/// How a trigger's payload begins.
const MAGIC: [u8; 8] = *b"latido\0\x01";

/// What a station's packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// From 0, one more each.
    pub number: u64,
    /// CLOCK_REALTIME of its sender just before the send, in ns.
    pub sent_ns: u64,
}

impl Trigger {
    /// The least bytes of payload: what it begins with, the number, the sender's clock.
    pub const LEAST: usize = 24;

    /// What a packet holds, if it is a trigger.
    pub fn read(packet: &[u8]) -> Option<Self> {
        let word = |at: usize| packet.get(at..)?.first_chunk().copied().map(u64::from_be_bytes);
        packet.starts_with(&MAGIC).then_some(())?;
        Some(Self { number: word(8)?, sent_ns: word(16)? })
    }

    /// Writes it to the beginning of a packet.
    pub fn write(self, packet: &mut [u8]) {
        let bytes = MAGIC.into_iter().chain(self.number.to_be_bytes()).chain(self.sent_ns.to_be_bytes());
        packet.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    }
}

/// Packets of a station of this machine, whose clock is this machine's.
#[derive(Debug)]
pub struct NetworkEvents {
    arrivals: Arrivals,
    packet: [u8; 64],
    /// The end of each packet of the station's.
    mark: [u8; 8],
    /// Packets that others sent, which are no events.
    pub strangers: u64,
}

impl NetworkEvents {
    /// What arrives from a station that ends each packet with a mark; `strangers` are known already.
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
        // Whoever else sends to this port is no event; as after a signal one waits on.
        let own = packet.last_chunk() == Some(&self.mark);
        let Some(trigger) = Trigger::read(packet).filter(|_| own) else {
            self.strangers = self.strangers.wrapping_add(1);
            return Err(refused(Errno::EINTR));
        };
        // Both clocks together, after each event: so one may be set without harm to more than one event.
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
