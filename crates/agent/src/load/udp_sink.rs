//! `udp-sink`: receives the packets of a `udp-flood` on another machine and counts them.

use crate::{
    loading::{Launch, Load, Surroundings, account},
    station::{
        Bound, Counts, PORT,
        sink::{self, Whose},
    },
};
use anyhow::{Context, Result, bail};
use latido_model::{
    record::STRANGERS,
    registry::{self, Def},
};
use latido_sys::clock::Clock::Monotonic;
use serde::{Deserialize, Serialize};
use std::{
    net::{IpAddr, Ipv4Addr, UdpSocket},
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
    thread,
    time::Duration,
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "udp-sink",
    about: "receives and counts the packets that `udp-flood` sends from another machine",
    help: "\
Listens on a UDP port and counts the packets from one address. It answers none. It counts packets from other addresses
separately, as stranger_packets: any user of this machine, and any machine that reaches the port, may send to it.

Options:
  port      the port; default 5201
  address   where to listen; default 0.0.0.0, every IPv4 address of the machine
  from      the address whose packets are counted; default that of the first packet

The record's `achieved` holds received_packets, received_bytes, stranger_packets and elapsed_ns.",
    main_option: Some("port"),
    new: |table| Ok(Box::new(registry::options::<UdpSink>(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UdpSink {
    port: u16,
    address: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<IpAddr>,
}

impl Default for UdpSink {
    fn default() -> Self {
        Self { port: PORT, address: Ipv4Addr::UNSPECIFIED.into(), from: None }
    }
}

impl Load for UdpSink {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        let own = std::env::current_exe().context("cannot find latido's own file to start the load")?;
        let from = self.from.map_or_else(String::new, |from| format!(",from={from}"));
        let word = format!("udp-sink:port={},address={}{from}", self.port, self.address);
        let argv = vec![own.to_string_lossy().into_owned(), "load".into(), word];
        Ok(Some(Launch { version: Some(env!("CARGO_PKG_VERSION").into()), ..Launch::of(argv) }))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.listen())
    }
}

impl UdpSink {
    /// Runs the load in this process until another process ends it.
    fn listen(&self) -> Result<()> {
        let socket = UdpSocket::bind((self.address, self.port))
            .with_context(|| format!("udp-sink: cannot open port {} of {}", self.port, self.address))?;
        let (started, counts) = (Monotonic.now(), Arc::new(Counts::default()));
        let counted = Arc::clone(&counts);
        let whose = self.from.map_or(Whose::Firsts, Whose::Of);
        let count = move || sink::count(&socket, whose, Bound::OUTSIDE, &counted, &Mutex::default());
        let taker = thread::Builder::new().spawn(count)?;
        while !taker.is_finished() {
            thread::sleep(Duration::from_millis(100));
            account::tell(&[
                ("elapsed_ns", Monotonic.now().saturating_sub(started)),
                ("received_packets", counts.received.load(Relaxed)),
                ("received_bytes", counts.received_bytes.load(Relaxed)),
                (STRANGERS, counts.strangers.load(Relaxed)),
            ])?;
        }
        bail!("udp-sink: counting ended by itself")
    }
}
