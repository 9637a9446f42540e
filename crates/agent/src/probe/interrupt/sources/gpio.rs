//! The source `gpio`: two lines of a chip that are wired to each other, used through its character device (edge events, second version).

use super::{Handler, Opened, RaisedBy, Setup, Source};
use crate::machine::Root;
use anyhow::{Context, Result, anyhow, ensure};
use latido_rt::stamped::{self, Line, LineEvents};
use latido_sys::{
    Errno,
    gpio::{CONSUMER, Gpio},
};
use std::fs::File;

/// The list entry.
pub const SOURCE: Source = Source {
    name: "gpio",
    t1: "the clock before the write that drives the line `out` up, which is wired to the line `in`",
    raised: RaisedBy::Thread,
    beware: Some(
        "the handler of an edge runs in the hard interrupt on every kernel, also on PREEMPT_RT; activation includes the wait for the \
         line's thread, which wakes the task",
    ),
    handler: Handler::Function(&["edge_irq_handler"]),
    line: Some(|_| CONSUMER.into()),
    device: Some("/dev/gpiochip0"),
    options: &["out", "in"],
    lacks,
    open,
};

fn lacks(root: &Root, setup: &Setup) -> Result<()> {
    let device = setup.device.as_str();
    ensure!(
        root.exists(device),
        "there is no {device}: the machine has no GPIO chip with a driver, or the driver is not loaded (gpiodetect lists chips), or the \
         kernel has no CONFIG_GPIO_CDEV"
    );
    Ok(())
}

fn open(setup: &Setup) -> Result<Opened> {
    let device = setup.device.as_str();
    let chip = File::options().read(true).write(true).open(device);
    let chip = chip.map_err(|error| anyhow!("{device}: {error}; run as root (sudo latido ...)"))?;
    let (out, input) = setup.lines.context("source=gpio needs both lines: out=N and in=N, wired to each other")?;
    let gpio = Gpio::take(&chip, out, input).map_err(|error| {
        let why = match error {
            Errno::EBUSY => "another program uses one of them (gpioinfo names it)",
            Errno::EINVAL => "the chip has no such line, or the kernel is older than Linux 5.10",
            _ => "the line `in` has no interrupt, or this device is not a GPIO chip",
        };
        anyhow!("cannot get lines {out} and {input} of {device}: {error}; {why}")
    })?;
    let mut events = stamped::Source::Line(LineEvents::alone(Line::Gpio(gpio)));
    events.once().map_err(|refusal| anyhow!("{refusal}")).with_context(|| {
        format!("line {input} of {device} sees no edge when line {out} rises: wire one to the other")
    })?;
    Ok(Opened::of(events, 1))
}
