//! `udp-sink`: takes the packets of a `udp-flood` on another machine and counts them.

use crate::loading::{Launch, Load, Surroundings, account};
use anyhow::{Context, Result};
use latido_model::registry::{self, Def};
use latido_sys::clock::Clock::Monotonic;
use serde::{Deserialize, Serialize};
use std::{
    net::{IpAddr, Ipv4Addr, UdpSocket},
    time::Duration,
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "udp-sink",
    about: "takes the packets of `udp-flood` from another machine and counts them",
    help: "\
Listens on a UDP port and counts what arrives; nothing is answered.

Options:
  port      the port; default 5201
  address   where to listen; default 0.0.0.0, every IPv4 address of the machine

The record's `achieved` holds received_packets, received_bytes and elapsed_ns.",
    main_option: Some("port"),
    new: |table| Ok(Box::new(registry::options::<UdpSink>(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UdpSink {
    port: u16,
    address: IpAddr,
}

impl Default for UdpSink {
    fn default() -> Self {
        Self { port: 5201, address: Ipv4Addr::UNSPECIFIED.into() }
    }
}

impl Load for UdpSink {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        let own = std::env::current_exe().context("cannot find latido's own file to start the load")?;
        let word = format!("udp-sink:port={},address={}", self.port, self.address);
        let argv = vec![own.to_string_lossy().into_owned(), "load".into(), word];
        Ok(Some(Launch { version: Some(env!("CARGO_PKG_VERSION").into()), ..Launch::of(argv) }))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.listen())
    }
}

impl UdpSink {
    /// Bears the load in this process until it is ended from outside.
    fn listen(&self) -> Result<()> {
        let socket = UdpSocket::bind((self.address, self.port))
            .with_context(|| format!("udp-sink: port {} of {} cannot be had", self.port, self.address))?;
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        let (started, mut told) = (Monotonic.now(), 0);
        let (mut packets, mut bytes) = (0u64, 0u64);
        let mut packet = vec![0; 65_536];
        loop {
            if let Ok(length) = socket.recv(&mut packet) {
                (packets, bytes) = (packets + 1, bytes + length as u64);
            }
            let now = Monotonic.now();
            if now.saturating_sub(told) > 100_000_000 {
                told = now;
                account::tell(&[
                    ("elapsed_ns", now.saturating_sub(started)),
                    ("received_packets", packets),
                    ("received_bytes", bytes),
                ])?;
            }
        }
    }
}
