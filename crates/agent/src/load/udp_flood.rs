//! `udp-flood`: UDP packets at a steady rate or as fast as they go, to this machine or to one that is named.

mod cable;

use crate::loading::{Launch, Load, Surroundings, account};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    registry::{self, Def, Objection},
    units::Ns,
};
use latido_sys::clock::Clock::Monotonic;
use serde::{Deserialize, Serialize};
use std::{
    net::{Ipv4Addr, SocketAddr, ToSocketAddrs, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "udp-flood",
    about: "UDP packets at a rate: over the loopback, or to a host that you name",
    help: "\
Sends UDP packets of one size at a steady rate. Without `to` they go over the loopback to a sink in the same process, so
that this machine's network stack does all the work and nothing leaves it. With `to` they go to that host, where
`latido load udp-sink` counts them; nothing else is ever sent to.

Options:
  to       HOST or HOST:PORT; default this machine's loopback
  between  ONE,OTHER instead: two network devices on one hub, in a guest of the laboratory (kernel = \"...+net\")
  size     bytes of payload of a packet, 1 to 65507; default 1472, the most in an Ethernet frame
  rate     bits a second of payload: 100Mbit (default), 64kbit, 2Gbit, or max
  port     the port where `to` names none; default 5201

`between` sends from the first device to the other one, which is put into a network namespace of its own, so that packets
really leave and arrive and both devices raise interrupts, as those on the loopback never do. It stands in for a network:
both ends are one machine's work.

The record's `achieved` holds sent_packets, sent_bytes, received_packets (unless `to` a host), refused (sends that the kernel
had no room for) and elapsed_ns. The load of the embedded-properties study (2014) was 100 Mbit/s of UDP by iperf.",
    main_option: Some("rate"),
    new: |table| {
        if let Some(toml::Value::Integer(bare)) = table.get("rate") {
            let text = format!("`rate` is bits a second with a unit: {bare}kbit, {bare}Mbit, {bare}Gbit or max");
            return Err(Objection::Value(text).into());
        }
        let flood: UdpFlood = registry::options(table)?;
        if let (Some(_), Some(_)) = (&flood.to, &flood.between) {
            bail!("`to` and `between` are two places: name one");
        }
        cable::ends(flood.between.as_deref())?;
        ensure!((1..=65_507).contains(&flood.size), "`size` is 1 to 65507 bytes, what a UDP packet can carry");
        bits(&flood.rate)?;
        Ok(Box::new(flood))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UdpFlood {
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    between: Option<String>,
    size: usize,
    rate: String,
    port: u16,
}

impl Default for UdpFlood {
    fn default() -> Self {
        Self { to: None, between: None, size: 1472, rate: "100Mbit".into(), port: 5201 }
    }
}

/// Bits a second; `None` for as many as there can be.
pub(super) fn bits(rate: &str) -> Result<Option<u64>> {
    if rate == "max" {
        return Ok(None);
    }
    let wrong = || format!("`rate` is written as 100Mbit, 64kbit, 2Gbit or max; got `{rate}`");
    let (number, factor) = [("kbit", 1_000), ("Mbit", 1_000_000), ("Gbit", 1_000_000_000)]
        .into_iter()
        .find_map(|(unit, factor)| Some((rate.strip_suffix(unit)?, factor)))
        .with_context(wrong)?;
    let bits = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).with_context(wrong)?;
    ensure!(bits > 0, wrong());
    Ok(Some(bits))
}

impl UdpFlood {
    /// Where the packets go, if not to this process.
    fn target(&self) -> Result<Option<SocketAddr>> {
        let Some(to) = &self.to else { return Ok(None) };
        let found = match to.to_socket_addrs() {
            Ok(mut found) => found.next(),
            Err(_) => (to.as_str(), self.port).to_socket_addrs().with_context(|| format!("udp-flood: {to}"))?.next(),
        };
        found.with_context(|| format!("udp-flood: `{to}` has no address")).map(Some)
    }
}

impl Load for UdpFlood {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        self.target()?;
        let own = std::env::current_exe().context("cannot find latido's own file to start the load")?;
        let to = self.to.as_ref().map_or_else(String::new, |to| format!(",to={to}"));
        let between = self.between.as_ref().map_or_else(String::new, |ends| format!(",between={ends}"));
        let word = format!("udp-flood:rate={},size={},port={}{to}{between}", self.rate, self.size, self.port);
        let argv = vec![own.to_string_lossy().into_owned(), "load".into(), word];
        let note = self.between.as_ref().map(|_| cable::STANDS_IN.to_owned());
        Ok(Some(Launch { version: Some(env!("CARGO_PKG_VERSION").into()), note, ..Launch::of(argv) }))
    }

    fn settle(&self) -> Ns {
        if self.between.is_some() { cable::SETTLES } else { Ns::from_millis(500) }
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.flood())
    }
}

/// What was done so far.
#[derive(Default)]
struct Delivered {
    packets: AtomicU64,
    received: AtomicU64,
    refused: AtomicU64,
}

impl UdpFlood {
    /// Bears the load in this process until it is ended from outside.
    fn flood(&self) -> Result<()> {
        let done = Arc::new(Delivered::default());
        let target = match (self.target()?, cable::ends(self.between.as_deref())?) {
            (Some(target), _) => target,
            (None, Some(ends)) => cable::laid(&ends, self.port, &done)?,
            (None, None) => sink(&done)?,
        };
        let from: SocketAddr =
            if target.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { "[::]:0".parse().context("IPv6")? };
        let socket = UdpSocket::bind(from).context("udp-flood: cannot make a socket")?;
        socket.connect(target).with_context(|| format!("udp-flood: {target} cannot be reached"))?;
        let (size, rate, counts) = (self.size, bits(&self.rate)?, Arc::clone(&done));
        let sender = thread::Builder::new().spawn(move || send(&socket, size, rate, &counts))?;
        let started = Monotonic.now();
        loop {
            thread::sleep(Duration::from_millis(100));
            let packets = done.packets.load(Relaxed);
            let mut counts = vec![
                ("elapsed_ns", Monotonic.now().saturating_sub(started)),
                ("sent_packets", packets),
                ("sent_bytes", packets.saturating_mul(self.size as u64)),
                ("refused", done.refused.load(Relaxed)),
            ];
            if self.to.is_none() {
                counts.push(("received_packets", done.received.load(Relaxed)));
            }
            account::tell(&counts)?;
            if sender.is_finished() {
                bail!("udp-flood: sending ended by itself");
            }
        }
    }
}

/// A socket of this process on the loopback that counts what arrives.
fn sink(done: &Arc<Delivered>) -> Result<SocketAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("udp-flood: no socket on the loopback")?;
    let address = socket.local_addr()?;
    let done = Arc::clone(done);
    thread::Builder::new().spawn(move || count(&socket, &done))?;
    Ok(address)
}

/// Counts what arrives, as long as anything can.
fn count(socket: &UdpSocket, done: &Delivered) {
    let mut packet = vec![0; 65_536];
    while socket.recv(&mut packet).is_ok() {
        done.received.fetch_add(1, Relaxed);
    }
}

/// How often a limited sender looks how much it may send.
const TICK: Duration = Duration::from_millis(1);

fn send(socket: &UdpSocket, size: usize, rate: Option<u64>, done: &Delivered) {
    let packet = vec![0x5a; size];
    let started = Monotonic.now();
    let mut tried = 0u64;
    loop {
        let due = match rate {
            None => tried + 1,
            Some(bits) => {
                let passed = u128::from(Monotonic.now().saturating_sub(started));
                (passed * u128::from(bits) / 8 / 1_000_000_000 / size as u128) as u64
            }
        };
        if tried >= due {
            thread::sleep(TICK);
            continue;
        }
        tried += 1;
        // Nobody listening (ECONNREFUSED) and no room (ENOBUFS) are part of the load.
        match socket.send(&packet) {
            Ok(_) => done.packets.fetch_add(1, Relaxed),
            Err(_) => done.refused.fetch_add(1, Relaxed),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units() {
        assert_eq!(bits("100Mbit").unwrap(), Some(100_000_000));
        assert_eq!(bits("max").unwrap(), None);
        for bad in ["100", "0kbit", "1.5Mbit", "Mbit", "-1Gbit", "99999999999999Gbit"] {
            assert!(bits(bad).is_err(), "{bad}");
        }
        let Err(bare) = (DEF.new)(toml::toml! { rate = 1000 }) else { panic!("a number has no unit") };
        assert!(bare.to_string().contains("1000kbit"), "{bare}");
    }

    #[test]
    fn a_cable_has_two_ends_and_goes_nowhere_else() {
        let new = |table: toml::Table| (DEF.new)(table);
        assert!(new(toml::toml! { between = "eth0,eth1" }).is_ok());
        for bad in
            [toml::toml! { between = "eth0" }, toml::toml! { between = "eth0,eth0" }, toml::toml! { between = "a,b,c" }]
        {
            assert!(new(bad).is_err());
        }
        assert!(
            new(toml::toml! { between = "eth0,eth1"
            to = "127.0.0.1" })
            .is_err()
        );
        // On a machine of one's own it would take a device away from its user.
        let Err(refused) = cable::laid(&("eth0".into(), "eth1".into()), 1, &Arc::default()) else { panic!("no guest") };
        assert!(refused.to_string().contains("guest of the laboratory"), "{refused}");
    }

    #[test]
    fn nothing_leaves_the_machine_unless_told() {
        let flood = UdpFlood::default();
        assert!(flood.target().unwrap().is_none());
        let named = UdpFlood { to: Some("127.0.0.1:99".into()), ..UdpFlood::default() };
        assert_eq!(named.target().unwrap().unwrap().to_string(), "127.0.0.1:99");
        let port = UdpFlood { to: Some("127.0.0.1".into()), ..UdpFlood::default() };
        assert_eq!(port.target().unwrap().unwrap().port(), 5201);
    }
}
