//! Stations: programs that run outside the machine under test, to trigger it, to flood it, or to take and count what it sends.
//!
//! A station sends to one given address, and always ends: after a time, after a count, or when its listener is gone.

pub mod flood;
pub mod mark;
pub mod place;
mod reach;
pub mod sink;
pub mod trigger;

pub use reach::{Met, Reached};

use anyhow::{Result, ensure};
use latido_model::units::Ns;
use latido_sys::clock::Clock::Monotonic;
use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

/// The default port on which stations listen, and to which packets go.
pub const PORT: u16 = 5201;

/// When a station ends without a request: after the count or the time, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The number of packets.
    pub count: u64,
    /// The time after the start.
    pub time: Ns,
}

impl Bound {
    /// No bound: for a load, which is a process that its supervisor ends.
    pub const OUTSIDE: Self = Self { count: u64::MAX, time: Ns(u64::MAX) };
}

/// What the station has done so far, and whether it must end.
#[derive(Debug, Default)]
pub struct Counts {
    /// Packets that the kernel accepted.
    pub sent: AtomicU64,
    /// Sends that the kernel refused: no room, or the receiver does not listen.
    pub refused: AtomicU64,
    /// Packets that arrived.
    pub received: AtomicU64,
    /// Bytes of payload in them.
    pub received_bytes: AtomicU64,
    /// Packets from other senders than the expected one. `received` does not include them.
    pub strangers: AtomicU64,
    /// When the first and the last packet arrived, CLOCK_MONOTONIC in ns; 0 before.
    pub first_ns: AtomicU64,
    /// See `first_ns`.
    pub last_ns: AtomicU64,
    over: AtomicBool,
}

impl Counts {
    /// Requests the end.
    pub fn end(&self) {
        self.over.store(true, Relaxed);
    }

    /// Tells whether the end was requested, or `done` packets since `started` reach a bound.
    fn is_over(&self, done: u64, started: u64, bound: Bound) -> bool {
        done >= bound.count || self.over.load(Relaxed) || Monotonic.now().saturating_sub(started) >= bound.time.0
    }

    /// Counts a packet of that many bytes.
    pub fn arrived(&self, bytes: usize) {
        let now = Monotonic.now();
        if self.received.fetch_add(1, Relaxed) == 0 {
            self.first_ns.store(now, Relaxed);
        }
        self.last_ns.store(now, Relaxed);
        self.received_bytes.fetch_add(bytes as u64, Relaxed);
    }
}

/// Returns a socket that sends only to one machine.
///
/// # Errors
/// The address belongs to many machines or to no machine, or it cannot be reached.
pub fn towards(target: SocketAddr) -> Result<UdpSocket> {
    let of_one = match target.ip() {
        std::net::IpAddr::V4(ip) => !(ip.is_unspecified() || ip.is_broadcast() || ip.is_multicast()),
        std::net::IpAddr::V6(ip) => !(ip.is_unspecified() || ip.is_multicast()),
    };
    ensure!(of_one && target.port() != 0, "{target} is not the address and port of one machine");
    let own: SocketAddr =
        if target.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(own).map_err(|error| anyhow::anyhow!("cannot make a socket to send from: {error}"))?;
    socket.connect(target).map_err(|error| anyhow::anyhow!("{target} cannot be reached: {error}"))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_sends_to_one_machine() {
        assert!(towards("127.0.0.1:9".parse().unwrap()).is_ok());
        for bad in ["0.0.0.0:9", "255.255.255.255:9", "239.1.1.1:9", "127.0.0.1:0", "[::]:9", "[ff02::1]:9"] {
            assert!(towards(bad.parse().unwrap()).is_err(), "{bad}");
        }
    }
}
