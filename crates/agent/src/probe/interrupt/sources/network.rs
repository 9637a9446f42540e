//! The source `network`: numbered packets from a station, with the kernel's stamp of each (SO_TIMESTAMPING).

use super::{Handler, Opened, RaisedBy, Setup, Source};
use crate::{
    machine::Root,
    station::{Reached, mark::Mark, place::Place, trigger},
};
use anyhow::{Context, Result, bail};
use latido_rt::stamped::{self, NetworkEvents};
use latido_sys::net::{Arrivals, Stamps};
use std::time::Duration;

/// The list entry.
pub const SOURCE: Source = Source {
    name: "network",
    t1: "the station's clock (CLOCK_REALTIME, this machine's) right before it sent the packet, which says so",
    raised: RaisedBy::Station,
    beware: Some(
        "t2 is when the kernel took the packet from the card, in a soft interrupt: no handler of a line is stamped, and interrupt has the \
         sending in it",
    ),
    handler: Handler::Carried("the kernel's receive stamp of the packet (SO_TIMESTAMPING, software)"),
    line: None,
    device: None,
    options: &["station"],
    lacks,
    open,
};

/// How long latido waits for a packet. After that it does not come: even at the lowest rate the next one would have come.
const PATIENCE: Duration = Duration::from_secs(3);

fn lacks(root: &Root, setup: &Setup) -> Result<()> {
    if let Place::Ssh(host) = &setup.station {
        bail!(
            "packets from {host} carry the time of that machine's clock, and latido cannot compare it with this machine's clock (it does not \
             read a card's PHC): run the station on this machine (station=netns or local) or in a guest (station=guest)"
        );
    }
    setup.station.can_be(root)
}

fn open(setup: &Setup) -> Result<Opened> {
    let reached = Reached::lay(&setup.station, None, 0)?;
    // The phase moves over a tick, or over the free part of the time to the next packet.
    let walk = trigger::WALK.0.min(setup.period_ns() / 2);
    let (rate, time) = (format!("--rate={}", setup.rate), format!("--for={}ms", setup.bound.as_millis()));
    let mark = Mark::new();
    let output = reached.start(&["trigger", &rate, &time, &format!("--walk={walk}ns")], mark)?;
    let met = reached.meet(mark)?;
    let socket = reached.socket().try_clone().context("the station's socket")?;
    let stamps = setup.traced.then_some(Stamps::Software);
    let arrivals = Arrivals::at(socket, PATIENCE, stamps).context("the kernel's receive stamps (SO_TIMESTAMPING)")?;
    let events = NetworkEvents::of(arrivals, mark.bytes(), met.strangers);
    let worth = setup
        .station
        .worth()
        .unwrap_or_else(|| "a station of this machine, over the loopback: no device raises an interrupt".into());
    let mut opened = Opened::of(stamped::Source::Network(events), 1);
    opened.beware = Some(worth);
    opened.trigger = Some(format!("station {}, policy other", setup.station));
    opened.held = Some(Box::new((output, reached)));
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// latido refuses a station with another machine's clock, and the refusal names the places that work.
    #[test]
    fn a_station_with_a_clock_of_its_own_is_refused() {
        let setup = Setup { station: Place::Ssh("board".into()), ..Setup::default() };
        let error = lacks(&Root::default(), &setup).unwrap_err().to_string();
        assert!(error.contains("board") && error.contains("station=netns"), "{error}");
    }

    /// latido refuses a guest's station on a machine that is not a guest, before it measures anything.
    #[test]
    fn a_guests_station_is_for_guests() {
        let setup = Setup { station: Place::Guest, ..Setup::default() };
        let error = lacks(&Root::default(), &setup).unwrap_err().to_string();
        assert!(error.contains("guest of the laboratory") && error.contains("ssh:HOST"), "{error}");
    }
}
