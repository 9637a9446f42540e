//! The source `hpet`: a comparator of the high precision event timer, used through its character device (Documentation/timers/hpet.rst).

use super::{Handler, Opened, RaisedBy, Setup, Source};
use crate::machine::Root;
use anyhow::{Context, Result, anyhow, bail, ensure};
use latido_rt::stamped::{self, HpetEvents};
use latido_sys::{Errno, hpet::Hpet};
use std::{fs::File, time::Duration};

/// The list entry.
pub const SOURCE: Source = Source {
    name: "hpet",
    t1: "the value of the comparator, by readings of counter and clock right after each event",
    raised: RaisedBy::Itself,
    beware: None,
    handler: Handler::Function(&["hpet_interrupt"]),
    line: Some(|_| "hpet".into()),
    device: Some("/dev/hpet"),
    options: &[],
    lacks,
    open,
};

/// How long latido waits for an interrupt. After that it does not come.
const PATIENCE: Duration = Duration::from_secs(2);

/// The file with the highest rate that the kernel allows every user.
const MAX_USER_FREQ: &str = "/proc/sys/dev/hpet/max-user-freq";

fn lacks(root: &Root, setup: &Setup) -> Result<()> {
    let device = &setup.device;
    ensure!(
        root.exists(device),
        "there is no {device}: Linux found no HPET, or it is off (see the firmware settings; boot without hpet=disable \
         and nohpet), or the kernel was built without CONFIG_HPET"
    );
    Ok(())
}

fn open(setup: &Setup) -> Result<Opened> {
    let device = &setup.device;
    let file = File::open(device).map_err(|error| match error.raw_os_error() {
        Some(number) if Errno::from_raw(number) == Errno::EBUSY => {
            anyhow!("{device}: all comparators are in use; end the programs that use it (fuser -v {device})")
        }
        _ => anyhow!("{device}: {error}; run as root (sudo latido ...)"),
    })?;
    let hpet = Hpet::start(file, setup.rate).map_err(|failed| {
        let remedy = match failed.step {
            "mmap" => "boot with hpet_mmap=1, on a kernel with CONFIG_HPET_MMAP".to_owned(),
            "HPET_IRQFREQ" => {
                format!("a rate above {MAX_USER_FREQ} needs CAP_SYS_RESOURCE: run as root, or use a lower rate")
            }
            "HPET_IE_ON" => "this machine routes no interrupt line to the comparator; use another machine".to_owned(),
            _ => "the driver refuses it".to_owned(),
        };
        anyhow!("{device}: {}: {}; {remedy}", failed.step, failed.error)
    })?;
    let came = hpet.came(PATIENCE).context("waiting for the HPET's first interrupt")?;
    if !came {
        bail!("{device} raises no interrupt: its comparator is routed to a line that does not work (/proc/interrupts)");
    }
    let resolution_ns = hpet.tick_fs().div_ceil(1_000_000);
    Ok(Opened::of(stamped::Source::Hpet(HpetEvents::of(hpet)), resolution_ns))
}
