//! The options of a measurement by three stamps.

use super::super::sources::{Handler, RaisedBy, Setup, Source};
use crate::station::place::Place;
use anyhow::{Result, bail, ensure};
use latido_sys::uio::{MAPPED, Write};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Events per second where the user sets no rate. It is no multiple and no divisor of a tick's rate, so that the phase walks.
const RATE: u64 = 97;

/// The requested measurement, as options of the probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    pub source: String,
    pub rate: u64,
    pub events: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub irq_prio: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_prio: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<u32>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub input: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raise: Option<Register>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clear: Option<Register>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub station: Option<Place>,
    pub trace: Trace,
}

/// Whether the kernel's events are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trace {
    On,
    Off,
}

impl Asked {
    /// Returns the default options for a source.
    pub fn of(source: &Source) -> Self {
        Self {
            source: source.name.into(),
            rate: RATE,
            events: 0,
            device: source.device.map(str::to_owned),
            irq_prio: None,
            trigger_prio: None,
            handler: None,
            out: None,
            input: None,
            raise: None,
            clear: None,
            station: source.options.contains(&"station").then(Place::default),
            trace: Trace::On,
        }
    }

    /// Refuses options that the source does not have, and impossible values.
    ///
    /// # Errors
    /// The first such option or value.
    pub fn possible(&self, source: &Source) -> Result<()> {
        let name = source.name;
        ensure!((1..=100_000).contains(&self.rate), "`rate` must be 1 to 100000 events per second, not {}", self.rate);
        for (option, prio) in [("irq_prio", self.irq_prio), ("trigger_prio", self.trigger_prio)] {
            ensure!(prio.is_none_or(|prio| (1..=99).contains(&prio)), "`{option}` must be 1 to 99");
        }
        ensure!(
            self.irq_prio.is_none() || source.line.is_some(),
            "source={name} has no interrupt thread: omit `irq_prio`"
        );
        let why = match source.raised {
            RaisedBy::Itself => "raises its events by itself",
            RaisedBy::Station => "gets its events from another process",
            RaisedBy::Thread => "",
        };
        ensure!(self.trigger_prio.is_none() || why.is_empty(), "source={name} {why}: omit `trigger_prio`");
        let named = [
            ("out", self.out.is_some()),
            ("in", self.input.is_some()),
            ("raise", self.raise.is_some()),
            ("clear", self.clear.is_some()),
            ("station", self.station.is_some()),
        ];
        for (option, given) in named {
            ensure!(!given || source.options.contains(&option), "source={name} has no option `{option}`: omit it");
        }
        if source.options.contains(&"in") {
            ensure!(
                self.out.is_some() && self.input.is_some() && self.out != self.input,
                "source={name} needs two lines that are wired to each other: out=N and in=M"
            );
        }
        ensure!(self.device.is_none() || source.device.is_some(), "source={name} has no device: omit `device`");
        let own = match source.handler {
            Handler::Event(..) => Some("stamps its handler by a kernel event"),
            Handler::Carried(_) => Some("carries its own stamp in place of its handler's"),
            Handler::Function(_) => None,
        };
        if let (Some(own), Some(_)) = (own, &self.handler) {
            bail!("source={name} {own}: omit `handler`");
        }
        let symbol =
            |name: &String| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.".contains(&b));
        ensure!(
            self.handler.as_ref().is_none_or(symbol),
            "`handler` must be a symbol of /proc/kallsyms: letters, digits, _ and ."
        );
        Ok(())
    }

    /// Returns the setup of the source. Its `bound` on the time for which latido needs events is longer than `of`, the time of the cell.
    pub fn setup(&self, of: Duration) -> Setup {
        let counted = Duration::from_nanos(self.events.saturating_mul(1_000_000_000 / self.rate.max(1)));
        Setup {
            device: self.device.clone().unwrap_or_default(),
            rate: self.rate,
            traced: self.trace == Trace::On,
            lines: self.out.zip(self.input),
            raise: self.raise.map(|Register(write)| write),
            clear: self.clear.map(|Register(write)| write),
            station: self.station.clone().unwrap_or_default(),
            bound: of.saturating_add(counted).saturating_mul(2).saturating_add(SLACK).min(LONGEST),
        }
    }
}

/// The time to add for what happens before and after the counted events, and the longest time for which a station accepts an order.
const SLACK: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A register and the value to write there: `OFFSET:VALUE`, each decimal or hexadecimal (0x60:1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Register(Write);

impl TryFrom<String> for Register {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let write =
            text.split_once(':').and_then(|(at, value)| Some(Write { offset: number(at)?, value: number(value)? }));
        let reached = write.filter(|write| write.offset.is_multiple_of(4) && (write.offset as usize) < MAPPED);
        reached.map(Self).ok_or_else(|| {
            format!("a register is OFFSET:VALUE, two numbers, the first a multiple of 4 below {MAPPED} (0x60:1), not `{text}`")
        })
    }
}

impl From<Register> for String {
    fn from(Register(Write { offset, value }): Register) -> Self {
        format!("{offset:#x}:{value:#x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_is_written_as_it_is_read() {
        let read = |text: &str| Register::try_from(text.to_owned());
        let edu = Register(Write { offset: 0x60, value: 1 });
        assert_eq!((read("0x60:1"), read("96:0x1")), (Ok(edu), Ok(edu)));
        assert_eq!(read(&String::from(edu)), Ok(edu));
        for bad in ["", "60", "0x61:1", "4096:1", "0x60:0x100000000", "-4:1", "0x60:1:1"] {
            assert!(read(bad).unwrap_err().contains("OFFSET:VALUE"), "{bad}");
        }
    }
}
