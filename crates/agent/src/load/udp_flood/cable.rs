//! Two network devices of one guest that are cabled to each other, with one of them in another network namespace: packets leave and arrive
//! through their drivers and interrupts.

use crate::station::{Bound, Counts, sink};
use anyhow::{Context, Result, bail, ensure};
use latido_model::units::Ns;
use latido_sys::net;
use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::Ordering::Relaxed,
        mpsc::{Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// The note in the record.
pub(super) const STANDS_IN: &str = "a stand-in for a network: two devices of one guest, the receiving one in a network namespace; nothing leaves the guest";

/// How long the devices take to agree on their speed and find each other.
pub(super) const SETTLES: Ns = Ns::from_millis(5000);

/// How long the first packet may take.
const ARRIVES: Duration = Duration::from_secs(20);

/// The addresses of the two devices, in a network that nothing else uses.
const ENDS: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2));

/// Parses the two devices that an option names.
///
/// # Errors
/// The text does not name two devices.
pub(super) fn ends(between: Option<&str>) -> Result<Option<(String, String)>> {
    let Some(text) = between else { return Ok(None) };
    match text.split_once(',') {
        Some((one, other)) if !one.is_empty() && !other.is_empty() && one != other && !other.contains(',') => {
            Ok(Some((one.into(), other.into())))
        }
        _ => bail!("`between` names two devices, eth0,eth1; got `{text}`"),
    }
}

/// Connects the devices, and starts a thread behind the second one that counts what arrives. Returns the address to send to, after a first
/// packet has arrived.
///
/// # Errors
/// This is not a guest of the laboratory, the devices do not exist, or nothing arrives.
pub(super) fn laid((one, other): &(String, String), port: u16, done: &Arc<Counts>) -> Result<SocketAddr> {
    ensure!(
        Path::new("/").join(crate::machine::LABORATORY).exists(),
        "udp-flood: `between` takes a device away from its machine, so it works only in a guest of the laboratory \
         (--on lab --kernel NAME+net)"
    );
    let (ready, told) = channel();
    let (given, may_go) = channel::<()>();
    let (name, counts) = (other.clone(), Arc::clone(done));
    thread::Builder::new().spawn(move || {
        let namespace = match net::leave() {
            Ok(namespace) => namespace,
            Err(error) => return tell(&ready, Err(error).context("no network namespace")),
        };
        tell(&ready, Ok(Some(namespace)));
        if may_go.recv().is_err() {
            return;
        }
        match behind(&name, port) {
            Ok(socket) => {
                tell(&ready, Ok(None));
                // The counting ends with the process.
                let _ = sink::count(&socket, sink::Whose::Everybodys, Bound::OUTSIDE, &counts, &Mutex::default());
            }
            Err(error) => tell(&ready, Err(error)),
        }
    })?;
    let answer = || told.recv().context("udp-flood: the thread of the receiving end ended")?;
    let namespace = answer()?.context("udp-flood: the receiving end has no network namespace")?;
    net::give(other, &namespace).with_context(|| format!("udp-flood: the device {other}"))?;
    given.send(()).context("udp-flood: the thread of the receiving end ended")?;
    answer()?;
    net::address(one, ENDS.0).and_then(|()| net::up(one)).with_context(|| format!("udp-flood: the device {one}"))?;
    let target = SocketAddr::from((ENDS.1, port));
    let socket = UdpSocket::bind((ENDS.0, 0)).context("udp-flood: cannot make a socket")?;
    let until = Instant::now() + ARRIVES;
    while done.received.load(Relaxed) == 0 {
        ensure!(Instant::now() < until, "udp-flood: no packet from {one} arrives at {other}: are both on one hub?");
        // The devices may still be agreeing on their speed.
        let _ = socket.send_to(&[0], target);
        thread::sleep(Duration::from_millis(50));
    }
    done.received.store(0, Relaxed);
    Ok(target)
}

type Told = Result<Option<std::fs::File>>;

fn tell(to: &Sender<Told>, what: Told) {
    // The receiver may have given up.
    let _ = to.send(what);
}

/// Opens the receiving end, in its namespace.
fn behind(name: &str, port: u16) -> Result<UdpSocket> {
    net::address(name, ENDS.1).and_then(|()| net::up(name)).with_context(|| format!("udp-flood: the device {name}"))?;
    UdpSocket::bind((ENDS.1, port)).context("udp-flood: no socket at the receiving end")
}
