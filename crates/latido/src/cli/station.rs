//! `latido station`: runs on the other machines of a measurement, to trigger the measured one, to flood it, or to count packets.

use super::{Usage, words};
use crate::{output, stop::StopRequests};
use anyhow::{Context, Result};
use latido_agent::{
    load::bits,
    loading::account,
    station::{
        self, Bound, Counts, flood,
        mark::Mark,
        sink::{self, Numbered, Whose},
        trigger::{self, Pace},
    },
};
use latido_model::{
    exit::Exit,
    units::{Ns, many},
};
use latido_sys::clock::Clock::Monotonic;
use serde::Serialize;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs, UdpSocket},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering::Relaxed},
    thread,
    time::Duration,
};

/// Trigger, flood or count, on another machine than the measured one.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "A station sends UDP packets only to the address that you name, and always ends: by --for, by \
                        --count, or with Ctrl-C. docs/targets.md has the commands for three machines.")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum What {
    /// Numbered packets at a steady rate whose phase moves relative to every tick
    Trigger {
        #[command(flatten)]
        to: To,
        /// Packets per second
        #[arg(long, value_name = "HZ", default_value_t = 20.0, allow_hyphen_values = true, value_parser = hertz)]
        rate: f64,
        /// The range over which the phase moves, less than the time between packets; 0s for no movement
        #[arg(long, value_name = "TIME", default_value = "4ms", allow_hyphen_values = true, value_parser = time)]
        walk: Ns,
        /// Bytes of payload per packet
        #[arg(long, value_name = "BYTES", default_value_t = 24, allow_negative_numbers = true, value_parser = whole::<{ trigger::Trigger::LEAST as u64 }, 1472>)]
        size: u64,
        #[command(flatten)]
        end: End,
    },
    /// Packets of one size as fast as they go, or at a rate
    Flood {
        #[command(flatten)]
        to: To,
        /// Bits per second of payload (100Mbit, 64kbit), or max
        #[arg(long, value_name = "RATE", default_value = "max", allow_hyphen_values = true, value_parser = words::text)]
        rate: String,
        /// Bytes of payload per packet; 22 are 64 on the wire
        #[arg(long, value_name = "BYTES", default_value_t = 64, allow_negative_numbers = true, value_parser = whole::<1, 65_507>)]
        size: u64,
        #[command(flatten)]
        end: End,
    },
    /// Receives packets and counts them; it answers none
    Sink {
        /// Where to listen
        #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED))]
        address: IpAddr,
        /// The port
        #[arg(long, value_name = "PORT", default_value_t = station::PORT, allow_negative_numbers = true)]
        port: u16,
        #[command(flatten)]
        end: End,
    },
}

#[derive(clap::Args, Clone, Debug)]
struct To {
    /// The one machine to send to: a name or an address
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// The port there
    #[arg(long, value_name = "PORT", default_value_t = station::PORT, allow_negative_numbers = true)]
    port: u16,
}

#[derive(clap::Args, Clone, Debug)]
struct End {
    /// End after this time, above 0 and at most 24h
    #[arg(long = "for", value_name = "TIME", default_value = "10m", allow_hyphen_values = true, value_parser = span)]
    time: Ns,
    /// End after this number of packets
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000_000, allow_negative_numbers = true, value_parser = whole::<1, 1_000_000_000_000>)]
    count: u64,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
    /// Print counts as loads do, for the program that started this, and end when nothing reads them
    #[arg(long, hide = true)]
    tell: bool,
    /// Put a mark, read from stdin, into each packet
    #[arg(long, hide = true)]
    marked: bool,
}

/// Reads a number of packets or bytes: clap's own error about a negative number names no range.
fn whole<const LEAST: u64, const MOST: u64>(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
    number.ok_or_else(|| format!("write a whole number, {LEAST} to {MOST}"))
}

fn hertz(text: &str) -> Result<f64, String> {
    let rate = words::text(text)?.parse().ok().filter(|rate| (0.01..=100_000.0).contains(rate));
    rate.ok_or_else(|| "write packets per second, 0.01 to 100000".into())
}

fn time(text: &str) -> Result<Ns, String> {
    let time: Ns = words::text(text)?.parse().map_err(|error| format!("{error}"))?;
    if time <= Ns::from_secs(86_400) { Ok(time) } else { Err("write at most 24h".into()) }
}

/// Reads how long a station runs. A time of zero is refused: the station would do nothing.
fn span(text: &str) -> Result<Ns, String> {
    match time(text)? {
        Ns(0) => Err("write a time above 0 and at most 24h, for example 10m".into()),
        time => Ok(time),
    }
}

/// What a station did. Rates are packets per second; fields that do not apply are absent.
#[derive(Clone, Debug, Default, Serialize)]
struct Did {
    station: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<SocketAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    listened: Option<SocketAddr>,
    elapsed_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    numbered: Option<Numbered>,
}

/// Carries out `latido station`.
///
/// # Errors
/// A usage error, or the reason why the station could not work.
pub fn run(args: Args) -> Result<u8> {
    let stops = StopRequests::watch()?;
    let counts = Arc::new(Counts::default());
    let own = Arc::clone(&counts);
    let numbered = Arc::<Mutex<Numbered>>::default();
    let started = Monotonic.now();
    let (did, end, size, work) = match args.what {
        What::Trigger { to, rate, walk, size, end } => {
            let (pace, target) = (pace(rate, walk)?, to.resolved()?);
            let (socket, bound, mark) = (station::towards(target)?, end.bound(), end.mark()?);
            let send = move || trigger::send(&socket, size as usize, pace, bound, &own, mark);
            let work = thread::Builder::new().spawn(send)?;
            (Did { station: "trigger", to: Some(target), ..Did::default() }, end, size, work)
        }
        What::Flood { to, rate, size, end } => {
            let rate = bits(&rate).map_err(|error| Usage::new(format!("--rate: {error}")))?;
            let target = to.resolved()?;
            let (socket, bound, mark) = (station::towards(target)?, end.bound(), end.mark()?);
            let work = thread::Builder::new().spawn(move || {
                flood::send(&socket, size as usize, rate, bound, &own, mark);
                Ok(())
            })?;
            (Did { station: "flood", to: Some(target), ..Did::default() }, end, size, work)
        }
        What::Sink { address, port, end } => {
            let socket =
                UdpSocket::bind((address, port)).with_context(|| format!("cannot open port {port} of {address}"))?;
            let listened = Some(socket.local_addr()?);
            let (numbered, bound) = (Arc::clone(&numbered), end.bound());
            let work = thread::Builder::new()
                .spawn(move || sink::count(&socket, Whose::Everybodys, bound, &own, &numbered))?;
            (Did { station: "sink", listened, ..Did::default() }, end, 0, work)
        }
    };
    while !work.is_finished() {
        thread::sleep(Duration::from_millis(if end.tell { 100 } else { 20 }));
        let told = !end.tell || tell(&counts, size, started).is_ok();
        if stops.count() > 0 || !told {
            counts.end();
        }
    }
    let elapsed = Monotonic.now().saturating_sub(started);
    work.join().ok().context("the station's thread failed")??;
    if end.tell {
        // The reader may be gone.
        let _ = tell(&counts, size, started);
        return Ok(Exit::Done.code());
    }
    let numbered = *numbered.lock().unwrap_or_else(PoisonError::into_inner);
    let did = did.with(&counts, size, elapsed, numbered);
    output::write_out(&if end.json { format!("{}\n", serde_json::to_string_pretty(&did)?) } else { did.text() })?;
    Ok(Exit::Done.code())
}

/// Returns the pace of a trigger.
///
/// # Errors
/// The walk is not shorter than the time from one packet to the next.
fn pace(rate: f64, walk: Ns) -> Result<Pace, Usage> {
    let period = Ns((1e9 / rate).round() as u64);
    match walk < period {
        true => Ok(Pace { period, walk }),
        false => {
            Err(Usage::new(format!("--walk {walk}: it must be below {period}, the time from one packet to the next")))
        }
    }
}

impl To {
    fn resolved(&self) -> Result<SocketAddr> {
        let mut found = (self.address.as_str(), self.port).to_socket_addrs().with_context(|| self.address.clone())?;
        found.next().with_context(|| format!("`{}` has no address", self.address))
    }
}

impl End {
    /// Reads the mark of the packets from stdin, where the user requested one.
    fn mark(&self) -> Result<Option<Mark>> {
        self.marked.then(|| Mark::hear(std::io::stdin().lock())).transpose()
    }

    const fn bound(&self) -> Bound {
        Bound { count: self.count, time: self.time }
    }
}

fn tell(counts: &Counts, size: u64, started: u64) -> std::io::Result<()> {
    let sent = counts.sent.load(Relaxed);
    account::tell(&[
        ("elapsed_ns", Monotonic.now().saturating_sub(started)),
        ("sent_packets", sent),
        ("sent_bytes", sent.saturating_mul(size)),
        ("refused", counts.refused.load(Relaxed)),
    ])
}

/// The fewest attempted packets for which latido reports a rate.
const FOR_A_RATE: u64 = 10;

impl Did {
    fn with(self, counts: &Counts, size: u64, elapsed_ns: u64, numbered: Numbered) -> Self {
        let per_second = |packets: u64, ns: u64| (ns > 0).then(|| packets as f64 * 1e9 / ns as f64);
        if self.listened.is_none() {
            let (sent, refused) = (counts.sent.load(Relaxed), counts.refused.load(Relaxed));
            // With fewer packets, the time before the first and after the last is too large a part.
            let rate = per_second(sent, elapsed_ns).filter(|_| sent.saturating_add(refused) >= FOR_A_RATE);
            return Self {
                elapsed_ns,
                sent: Some(sent),
                refused: Some(refused),
                bytes: Some(sent.saturating_mul(size)),
                rate,
                ..self
            };
        }
        let received = counts.received.load(Relaxed);
        let span = counts.last_ns.load(Relaxed).saturating_sub(counts.first_ns.load(Relaxed));
        // The rate covers the time from the first packet to the last: the time before and after is not part of the flood.
        let rate = per_second(received.saturating_sub(1), span).filter(|_| received > 1);
        let numbered = (numbered.triggers > 0).then_some(numbered);
        let bytes = Some(counts.received_bytes.load(Relaxed));
        Self { elapsed_ns, received: Some(received), bytes, rate, numbered, ..self }
    }

    /// `sent 1200 packets (28800 bytes) in 60.000 s to 10.9.0.1:5201: 20.0 a second, 0 refused`
    fn text(&self) -> String {
        let seconds = self.elapsed_ns as f64 / 1e9;
        let rate = self.rate.map_or_else(String::new, |rate| format!(": {rate:.1} a second"));
        let bytes = self.bytes.unwrap_or(0);
        let mut text = match (self.sent, self.to, self.listened) {
            (Some(sent), Some(to), _) => {
                let refused = match self.refused {
                    None | Some(0) => "0 refused".to_owned(),
                    // The kernel reports a refused packet at the next send.
                    Some(n) => format!("{n} refused: no program listens there, or there was no room"),
                };
                let (packets, bytes) = (many(sent, "packet"), many(bytes, "byte"));
                format!("sent {packets} ({bytes}) in {seconds:.3} s to {to}{rate}, {refused}")
            }
            (_, _, at) => {
                let at = at.map_or_else(String::new, |at| format!(" at {at}"));
                let (packets, bytes) = (many(self.received.unwrap_or(0), "packet"), many(bytes, "byte"));
                let said = if self.rate.is_some() { " from the first to the last" } else { "" };
                format!("received {packets} ({bytes}) in {seconds:.3} s{at}{rate}{said}")
            }
        };
        if let Some(n) = self.numbered {
            let triggers = many(n.triggers, "trigger");
            text.push_str(&format!("; {triggers}, {} lost, {} not in order", n.lost, n.not_in_order));
        }
        text.push('\n');
        text
    }
}
