//! The source `parport`: a parallel port whose strobe is wired to its interrupt, used through its character device (ppdev).

use super::{Handler, Opened, RaisedBy, Setup, Source};
use crate::machine::Root;
use anyhow::{Context, Result, anyhow, ensure};
use latido_rt::stamped::{self, Line, LineEvents};
use latido_sys::parport::Parport;
use std::fs::File;

/// The list entry.
pub const SOURCE: Source = Source {
    name: "parport",
    t1: "the clock before the write that lets the strobe (pin 1) rise, which is wired to the port's interrupt (pin 10)",
    raised: RaisedBy::Thread,
    beware: None,
    handler: Handler::Function(&["parport_irq_handler"]),
    line: Some(Setup::name),
    device: Some("/dev/parport0"),
    options: &[],
    lacks,
    open,
};

fn lacks(root: &Root, setup: &Setup) -> Result<()> {
    let device = setup.device.as_str();
    ensure!(
        root.exists(device),
        "there is no {device}: load a real port's driver and its device (modprobe parport_pc io=0x378 irq=7; modprobe ppdev); a port \
         behind USB has no interrupt"
    );
    let irq = root.read(&format!("/proc/sys/dev/parport/{}/irq", device.trim_start_matches("/dev/")));
    ensure!(
        irq.is_none_or(|irq| irq.trim().parse::<i32>().is_ok_and(|irq| irq >= 0)),
        "{device} has no interrupt: load its driver with one (modprobe -r parport_pc; modprobe parport_pc io=0x378 irq=7)"
    );
    Ok(())
}

fn open(setup: &Setup) -> Result<Opened> {
    let device = setup.device.as_str();
    let file = File::options().read(true).write(true).open(device);
    let file = file.map_err(|error| anyhow!("{device}: {error}; run as root (sudo latido ...)"))?;
    let port = Parport::claim(file).map_err(|error| {
        anyhow!("cannot claim {device}: {error}; end the program that uses it (lp: modprobe -r lp)")
    })?;
    let mut events = stamped::Source::Line(LineEvents::alone(Line::Parport(port)));
    events.once().map_err(|refusal| anyhow!("{refusal}")).with_context(|| {
        format!(
            "{device} raises no interrupt: wire pin 1 (strobe) to pin 10 (acknowledge), and connect nothing else to the port"
        )
    })?;
    Ok(Opened::of(events, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_port_without_an_interrupt_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let setup = Setup { device: "/dev/parport0".into(), ..Setup::default() };
        assert!(lacks(&root, &setup).unwrap_err().to_string().contains("modprobe ppdev"));
        for path in ["/dev", "/proc/sys/dev/parport/parport0"] {
            fs::create_dir_all(root.path(path)).unwrap();
        }
        fs::write(root.path("/dev/parport0"), "").unwrap();
        for (irq, here) in [("-1\n", false), ("none\n", false), ("7\n", true)] {
            fs::write(root.path("/proc/sys/dev/parport/parport0/irq"), irq).unwrap();
            assert_eq!(lacks(&root, &setup).is_ok(), here, "{irq}");
        }
    }
}
