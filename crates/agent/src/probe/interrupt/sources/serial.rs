//! The source `serial`: a 16550 whose output is connected to its own input (Documentation/driver-api/serial/driver.rst, TIOCM_LOOP).

use super::{Handler, Opened, RaisedBy, Setup, Source};
use crate::machine::Root;
use anyhow::{Context, Result, anyhow, ensure};
use latido_rt::stamped::{self, SerialEvents, TIMEOUT_CHARACTERS};
use latido_sys::{clock::Clock::Monotonic, uart::Loopback};
use std::fs::File;

/// The list entry.
pub const SOURCE: Source = Source {
    name: "serial",
    t1: "the byte's way into the chip and four characters of 9600 baud, after which its FIFO raises the interrupt for a byte that is \
         alone; a real chip takes up to a character more to send it",
    raised: RaisedBy::Itself,
    beware: Some("activation includes a kworker, which passes the byte from the handler to the task"),
    handler: Handler::Function(&["serial8250_interrupt"]),
    line: Some(Setup::name),
    device: Some("/dev/ttyS1"),
    options: &[],
    lacks,
    open,
};

/// The file with every I/O port of a PC, at the port's number.
const PORTS: &str = "/dev/port";

/// The driver's numbers for a chip with a FIFO of 16 bytes (include/uapi/linux/serial_core.h), and for registers in I/O ports.
const PORT_16550A: &str = "4";
const UPIO_PORT: &str = "0";

/// Reads what the driver reports about the port, from one file per property.
fn told(root: &Root, device: &str, file: &str) -> Option<String> {
    root.read(&format!("/sys/class/tty/{}/{file}", device.strip_prefix("/dev/")?))
}

fn lacks(root: &Root, setup: &Setup) -> Result<()> {
    let device = setup.device.as_str();
    let told = |file| told(root, device, file);
    ensure!(
        root.exists(device) && told("type").is_some(),
        "there is no serial port {device}: name a 16550 port of this machine (device=/dev/ttyS1), or load its driver (modprobe 8250_pci)"
    );
    ensure!(
        told("type").as_deref() == Some(PORT_16550A),
        "{device} is not a 16550A, whose FIFO raises the interrupt (/proc/tty/driver/serial): name another port"
    );
    ensure!(
        told("io_type").as_deref() == Some(UPIO_PORT) && root.exists(PORTS),
        "latido cannot reach the registers of {device} by {PORTS} (CONFIG_DEVPORT): use a serial port on a PC's mainboard"
    );
    ensure!(
        told("irq").is_some_and(|irq| irq != "0"),
        "{device} has no interrupt, because its driver polls it: name another port"
    );
    let consoles = root.read("/sys/class/tty/console/active").unwrap_or_default();
    let name = device.trim_start_matches("/dev/");
    ensure!(
        consoles.split_whitespace().all(|console| console != name),
        "{device} is the kernel's console: name another port"
    );
    Ok(())
}

fn open(setup: &Setup) -> Result<Opened> {
    let device = setup.device.as_str();
    let address = told(&Root::default(), device, "port").context("cannot read the address of the port (sysfs)")?;
    let address = u16::from_str_radix(address.trim_start_matches("0x"), 16);
    let address = address.with_context(|| format!("the address of {device}"))?;
    ensure!(
        setup.period_ns() > 2 * TIMEOUT_CHARACTERS * Loopback::CHARACTER_NS,
        "source=serial raises at most {} events per second, because a byte takes time",
        1_000_000_000 / (2 * TIMEOUT_CHARACTERS * Loopback::CHARACTER_NS)
    );
    let opened = |path: &str| {
        let file = File::options().read(true).write(true).open(path);
        file.map_err(|error| {
            anyhow!("{path}: {error}; run as root (sudo latido ...), on a kernel that is not locked down")
        })
    };
    let (tty, ports) = (opened(device)?, opened(PORTS)?);
    let port = Loopback::start(tty, ports, address)
        .map_err(|error| anyhow!("cannot put {device} into loopback (TIOCM_LOOP): {error}"))?;
    ensure!(port.is_there(), "the transmitter at {address:#x} is not idle: does another program use {device}?");
    let mut source = stamped::Source::Serial(SerialEvents::every(port, setup.period_ns(), Monotonic.now()));
    source.once().map_err(|refusal| {
        anyhow!(
            "{device} is in loopback but returns nothing: {refusal}. The chips of some PCs gate their interrupt by OUT2 and raise none \
             in loopback; use another source"
        )
    })?;
    Ok(Opened::of(source, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The refusal names each missing thing, in the order in which a user would fix them.
    #[test]
    fn what_a_port_lacks_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let setup = Setup { device: "/dev/ttyS2".into(), ..Setup::default() };
        let refusal = || lacks(&root, &setup).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refusal().contains("no serial port /dev/ttyS2"));
        let put = |path: &str, text: &str| {
            let path = root.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("/dev/ttyS2", "");
        for (file, bad, good, why) in [
            ("type", "0\n", "4\n", "not a 16550A"),
            ("io_type", "2\n", "0\n", "cannot reach the registers"),
            ("irq", "0\n", "5\n", "no interrupt"),
        ] {
            put(&format!("/sys/class/tty/ttyS2/{file}"), bad);
            if file == "io_type" {
                put(PORTS, "");
            }
            assert!(refusal().contains(why), "{file}: {}", refusal());
            put(&format!("/sys/class/tty/ttyS2/{file}"), good);
        }
        assert_eq!(refusal(), "");
        put("/sys/class/tty/console/active", "tty0 ttyS2\n");
        assert!(refusal().contains("console"));
    }
}
