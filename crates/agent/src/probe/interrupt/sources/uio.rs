//! The source `uio`: a register of a device of userspace I/O that raises the device's interrupt.

use super::{Handler, Opened, RaisedBy, Setup, Source};
use crate::machine::Root;
use anyhow::{Context, Result, anyhow, ensure};
use latido_rt::stamped::{self, Line, LineEvents};
use latido_sys::uio::{Uio, Write};
use std::fs::File;

/// The list entry.
pub const SOURCE: Source = Source {
    name: "uio",
    t1: "the clock before the write of the register that raises the interrupt",
    raised: RaisedBy::Thread,
    beware: Some(
        "t2 is the handler of userspace I/O, not of the driver; since Linux 6.12 it wakes the task from a thread on every kernel, and \
         where handlers are threads from two threads, so that it is unsuitable to compare kernels",
    ),
    handler: Handler::Function(&["uio_interrupt_handler", "uio_interrupt"]),
    line: Some(line),
    device: Some("/dev/uio0"),
    options: &["raise", "clear"],
    lacks,
    open,
};

/// QEMU's educational device (docs/specs/edu.rst), by vendor and device. latido knows the registers that raise and clear its interrupt.
const EDU: (&str, &str) = ("0x1234", "0x11e8");
const EDU_RAISE: Write = Write { offset: 0x60, value: 1 };
const EDU_CLEAR: Write = Write { offset: 0x64, value: 1 };

fn sysfs(device: &str, file: &str) -> String {
    format!("/sys/class/uio/{}/{file}", device.trim_start_matches("/dev/"))
}

fn lacks(root: &Root, setup: &Setup) -> Result<()> {
    let device = setup.device.as_str();
    ensure!(
        root.exists(device),
        "there is no {device}: load a userspace I/O driver and bind a device to it (modprobe uio_pci_generic; echo 1234 11e8 > \
         /sys/bus/pci/drivers/uio_pci_generic/new_id)"
    );
    writes(root, setup).map(drop)
}

/// Returns the name of the interrupt line: the driver's name, such as "uio_pci_generic".
fn line(setup: &Setup) -> String {
    Root::default().read(&sysfs(&setup.device, "name")).filter(|name| !name.is_empty()).unwrap_or_else(|| "uio".into())
}

/// Returns the writes that raise and clear the interrupt.
fn writes(root: &Root, setup: &Setup) -> Result<(Write, Write)> {
    let id = |file| root.read(&sysfs(&setup.device, &format!("device/{file}"))).unwrap_or_default();
    match (setup.raise, setup.clear) {
        (Some(raise), Some(clear)) => Ok((raise, clear)),
        (None, None) if (id("vendor").as_str(), id("device").as_str()) == EDU => Ok((EDU_RAISE, EDU_CLEAR)),
        _ => Err(anyhow!(
            "latido does not know which registers of {} raise and clear its interrupt: set raise=OFFSET:VALUE and clear=OFFSET:VALUE",
            setup.device
        )),
    }
}

fn open(setup: &Setup) -> Result<Opened> {
    let device = setup.device.as_str();
    let root = Root::default();
    let (raise, clear) = writes(&root, setup)?;
    let open = |path: &str| {
        let file = File::options().read(true).write(true).open(path);
        file.map_err(|error| {
            anyhow!("{path}: {error}; run as root (sudo latido ...), on a kernel that is not locked down")
        })
    };
    // The generic PCI driver maps no registers, and keeps the interrupt disabled until its configuration enables it.
    let generic = root.read(&sysfs(device, "name")).is_some_and(|name| name == "uio_pci_generic");
    let at = |file| sysfs(device, &format!("device/{file}"));
    let file = open(device)?;
    let config = generic.then(|| open(&at("config"))).transpose()?;
    let resource = generic.then(|| open(&at("resource0"))).transpose()?;
    let memory = match resource {
        Some(resource) => resource,
        None => file.try_clone()?,
    };
    let uio = Uio::map(file, &memory, config, raise, clear)
        .map_err(|error| anyhow!("cannot map the registers of {device}: {error}"))?;
    let mut events = stamped::Source::Line(LineEvents::alone(Line::Uio(uio)));
    events.once().map_err(|refusal| anyhow!("{refusal}")).with_context(|| {
        format!("{device} raises no interrupt when {:#x} is written to its register {:#x}", raise.value, raise.offset)
    })?;
    Ok(Opened::of(events, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The one device that latido knows needs no named registers. For any other device the user must name both.
    #[test]
    fn registers_are_known_or_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let own = Setup { device: "/dev/uio0".into(), ..Setup::default() };
        assert!(lacks(&root, &own).unwrap_err().to_string().contains("new_id"));
        for path in ["/dev", "/sys/class/uio/uio0/device"] {
            fs::create_dir_all(root.path(path)).unwrap();
        }
        fs::write(root.path("/dev/uio0"), "").unwrap();
        assert!(lacks(&root, &own).unwrap_err().to_string().contains("raise=OFFSET:VALUE"));
        let named = Setup { raise: Some(EDU_RAISE), clear: Some(EDU_CLEAR), ..own.clone() };
        assert_eq!(writes(&root, &named).unwrap(), (EDU_RAISE, EDU_CLEAR));
        assert!(writes(&root, &Setup { raise: Some(EDU_RAISE), ..own.clone() }).is_err());
        fs::write(root.path("/sys/class/uio/uio0/device/vendor"), "0x1234\n").unwrap();
        fs::write(root.path("/sys/class/uio/uio0/device/device"), "0x11e8\n").unwrap();
        assert_eq!(writes(&root, &own).unwrap(), (EDU_RAISE, EDU_CLEAR));
    }
}
