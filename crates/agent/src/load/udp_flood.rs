//! `udp-flood`: sends UDP packets at a steady rate or as fast as possible, to this machine or to a named one.

mod cable;

use crate::{
    loading::{
        Launch, Load, Surroundings,
        account::{self, Account, Manner},
    },
    station::{
        self, Bound, Counts, PORT, Reached, flood,
        mark::Mark,
        place::Place,
        sink::{self, Whose},
    },
};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    record::STRANGERS,
    registry::{self, Def, Objection},
    units::Ns,
};
use latido_sys::clock::Clock::Monotonic;
use serde::{Deserialize, Serialize};
use std::{
    net::{Ipv4Addr, SocketAddr, ToSocketAddrs, UdpSocket},
    process::ChildStdout,
    sync::{Arc, Mutex, atomic::Ordering::Relaxed, mpsc},
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
`latido load udp-sink` counts them. The load sends to no other host.

Options:
  to       HOST or HOST:PORT; default this machine's loopback. With `station` = ssh:HOST the address of this machine
  station  the place that sends; this machine receives and counts: netns (a network namespace of this machine, over
           veth), guest (behind the second network card of a guest of the laboratory), ssh:[USER@]HOST; default local
  between  ONE,OTHER instead: two network devices on one hub, in a guest of the laboratory (kernel = \"...+net\")
  size     bytes of payload per packet, 1 to 65507 (a station: at least 8); default 1472, the most in an Ethernet frame
  rate     bits per second of payload: 100Mbit (default), 64kbit, 2Gbit, or max
  port     the port where `to` names none; default 5201

`between` sends from the first device to the second, which latido puts into a separate network namespace. So packets
really leave and arrive, and both devices raise interrupts, which packets on the loopback never do. It stands in for a
network, but one machine does the work of both ends. veth raises no interrupts either: packets from netns are softirq
work of the sender's CPU. A station elsewhere is `latido station flood` (docs/targets.md), and latido keeps the counts
of both ends.

From a station elsewhere latido counts only packets that contain an unguessable word. It counts packets from other
senders as stranger_packets.

The record's `achieved` holds sent_packets, sent_bytes, received_packets (unless `to` names another host), refused
(sends for which the kernel had no room) and elapsed_ns. The load of the embedded-properties study (2014) was 100 Mbit/s
of UDP by iperf.",
    main_option: Some("rate"),
    new: |table| {
        if let Some(toml::Value::Integer(bare)) = table.get("rate") {
            let text = match bare {
                1.. => format!("`rate` is bits per second with a unit: {bare}kbit, {bare}Mbit, {bare}Gbit or max"),
                _ => no_rate(&bare.to_string()),
            };
            return Err(Objection::Value(text).into());
        }
        let flood: UdpFlood = registry::options(table)?;
        if let (Some(_), Some(_)) = (&flood.to, &flood.between) {
            bail!("`to` and `between` exclude each other: name one");
        }
        ensure!(
            flood.station.is_none() || flood.between.is_none(),
            "`station` and `between` exclude each other: name one"
        );
        if let Some(place) = flood.elsewhere() {
            let over = matches!(place, Place::Ssh(_));
            let own = |to: &String| to.parse::<std::net::IpAddr>().is_ok();
            ensure!(
                flood.to.as_ref().is_some_and(own) == over && flood.to.is_some() == over,
                "`station` = \"ssh:HOST\" needs `to`, an address of this machine (10.9.1.1); netns and guest take no \
                 `to`"
            );
        }
        cable::ends(flood.between.as_deref())?;
        ensure!((1..=65_507).contains(&flood.size), "`size` is 1 to 65507 bytes, what a UDP packet can carry");
        ensure!(
            flood.elsewhere().is_none() || flood.size >= Mark::BYTES,
            "`size` is at least {} bytes where a `station` sends: this is the length of the word that marks its \
             packets",
            Mark::BYTES
        );
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
    #[serde(skip_serializing_if = "Option::is_none")]
    station: Option<Place>,
    size: usize,
    rate: String,
    port: u16,
}

impl Default for UdpFlood {
    fn default() -> Self {
        Self { to: None, between: None, station: None, size: 1472, rate: "100Mbit".into(), port: PORT }
    }
}

/// Parses a rate in bits per second; `None` means as fast as possible.
///
/// # Errors
/// The text is not a rate with a unit.
pub fn bits(rate: &str) -> Result<Option<u64>> {
    if rate == "max" {
        return Ok(None);
    }
    let wrong = || no_rate(rate);
    let (number, factor) = [("kbit", 1_000), ("Mbit", 1_000_000), ("Gbit", 1_000_000_000)]
        .into_iter()
        .find_map(|(unit, factor)| Some((rate.strip_suffix(unit)?, factor)))
        .with_context(wrong)?;
    let bits = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).with_context(wrong)?;
    ensure!(bits > 0, wrong());
    Ok(Some(bits))
}

fn no_rate(rate: &str) -> String {
    format!("`rate` is a whole number above 0 with its unit, such as 64kbit, 100Mbit or 2Gbit, or max; got `{rate}`")
}

impl UdpFlood {
    /// Returns the address to which the packets go, if it is not in this process.
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
        let station = self.station.as_ref().map_or_else(String::new, |place| format!(",station={place}"));
        let word = format!("udp-flood:rate={},size={},port={}{to}{between}{station}", self.rate, self.size, self.port);
        let argv = vec![own.to_string_lossy().into_owned(), "load".into(), word];
        let note = match &self.between {
            Some(_) => Some(cable::STANDS_IN.to_owned()),
            None => self.station.as_ref().and_then(Place::worth),
        };
        Ok(Some(Launch { version: Some(env!("CARGO_PKG_VERSION").into()), note, ..Launch::of(argv) }))
    }

    fn settle(&self) -> Ns {
        match (&self.between, &self.station) {
            (Some(_), _) | (_, Some(Place::Guest | Place::Ssh(_))) => cable::SETTLES,
            _ => Ns::from_millis(500),
        }
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.flood())
    }
}

impl UdpFlood {
    /// Runs the load in this process until another process ends it.
    fn flood(&self) -> Result<()> {
        if let Some(place) = self.elsewhere() {
            return self.taken_from(place);
        }
        let done = Arc::new(Counts::default());
        let (target, sink) = match (self.target()?, cable::ends(self.between.as_deref())?) {
            (Some(target), _) => (target, None),
            (None, Some(ends)) => (cable::laid(&ends, self.port, &done)?, None),
            (None, None) => {
                let sink = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("udp-flood: no socket on the loopback")?;
                (sink.local_addr()?, Some(sink))
            }
        };
        let socket = station::towards(target).context("udp-flood")?;
        if let Some(sink) = sink {
            own_sink(sink, &socket, &done)?;
        }
        let (size, rate, counts) = (self.size, bits(&self.rate)?, Arc::clone(&done));
        let sender =
            thread::Builder::new().spawn(move || flood::send(&socket, size, rate, Bound::OUTSIDE, &counts, None))?;
        let started = Monotonic.now();
        loop {
            thread::sleep(Duration::from_millis(100));
            let packets = done.sent.load(Relaxed);
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

    /// Returns the place of the station, if it is not this process.
    fn elsewhere(&self) -> Option<&Place> {
        self.station.as_ref().filter(|place| **place != Place::Local)
    }

    /// Receives the packets of a station elsewhere until this process ends, and prints the counts of both ends.
    fn taken_from(&self, place: &Place) -> Result<()> {
        let here = self
            .to
            .as_ref()
            .map(|to| to.parse())
            .transpose()
            .context("udp-flood: `to` must be an address of this machine")?;
        let reached = Reached::lay(place, here, self.port).context("udp-flood")?;
        let done = Arc::new(Counts::default());
        let mark = Mark::new();
        let (size, rate) = (format!("--size={}", self.size), format!("--rate={}", self.rate));
        // The station ends with the process that reads its output. Its own bound is for the case that it does not notice that.
        let output = reached.start(&["flood", &size, &rate, "--for=24h", "--count=1000000000000"], mark)?;
        let met = reached.meet(mark).context("udp-flood")?;
        done.arrived(met.bytes);
        done.strangers.store(met.strangers, Relaxed);
        let (socket, counts) = (reached.socket().try_clone()?, Arc::clone(&done));
        let count = move || sink::count(&socket, Whose::Marked(mark), Bound::OUTSIDE, &counts, &Mutex::default());
        thread::Builder::new().spawn(count)?;
        let (ended, end) = mpsc::channel::<()>();
        let told = Account::of(Watched(output, ended), Manner::Lines)?;
        let started = Monotonic.now();
        while let Err(mpsc::RecvTimeoutError::Timeout) = end.recv_timeout(Duration::from_millis(100)) {
            let told = told.now();
            let there = |name| told.get(name).map(|count| (name, count.cast_unsigned()));
            let mut counts = vec![
                ("elapsed_ns", Monotonic.now().saturating_sub(started)),
                ("received_packets", done.received.load(Relaxed)),
                (STRANGERS, done.strangers.load(Relaxed)),
            ];
            counts.extend(["sent_packets", "sent_bytes", "refused"].into_iter().filter_map(there));
            account::tell(&counts)?;
        }
        bail!("udp-flood: the station {place} ended by itself")
    }
}

/// The output of a station. Dropping it, at the end of the output, closes the channel.
struct Watched(ChildStdout, #[expect(dead_code, reason = "dropped with what it belongs to")] mpsc::Sender<()>);

impl std::io::Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

/// Counts on the loopback what arrives from `of`, and from no other socket.
fn own_sink(socket: UdpSocket, of: &UdpSocket, done: &Arc<Counts>) -> Result<()> {
    socket.connect(of.local_addr()?).context("udp-flood: the loopback")?;
    let done = Arc::clone(done);
    let count = move || sink::count(&socket, Whose::Everybodys, Bound::OUTSIDE, &done, &Mutex::default());
    thread::Builder::new().spawn(count)?;
    Ok(())
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
        let Err(below) = (DEF.new)(toml::toml! { rate = -5 }) else { panic!("below zero is no rate") };
        assert!(below.to_string().contains("above 0") && !below.to_string().contains("-5kbit"), "{below}");
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
        // On a user's machine it would take a device away.
        let Err(refused) = cable::laid(&("eth0".into(), "eth1".into()), 1, &Arc::default()) else { panic!("no guest") };
        assert!(refused.to_string().contains("guest of the laboratory"), "{refused}");
    }

    #[test]
    fn a_station_elsewhere_sends_to_one_address() {
        let new = |text: &str| (DEF.new)(text.parse().unwrap());
        for good in ["station = \"netns\"", "station = \"local\"", "station = \"ssh:board\"\nto = \"10.9.1.1\""] {
            assert!(new(good).is_ok(), "{good}");
        }
        for bad in [
            "station = \"ssh:board\"",
            "station = \"ssh:board\"\nto = \"board\"",
            "station = \"netns\"\nto = \"10.9.1.1\"",
            "station = \"netns\"\nbetween = \"eth0,eth1\"",
            "station = \"elsewhere\"",
        ] {
            assert!(new(bad).is_err(), "{bad}");
        }
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
