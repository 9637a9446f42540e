//! What a program says of a series before its first sample.

use super::{Bad, number};
use std::collections::BTreeMap;

/// A unit in which samples may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Picoseconds.
    Ps,
    /// Microradians.
    Urad,
}

impl Unit {
    const ALL: [(&'static str, Self); 6] =
        [("ns", Self::Ns), ("us", Self::Us), ("ms", Self::Ms), ("s", Self::S), ("ps", Self::Ps), ("urad", Self::Urad)];

    /// The unit of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(own, _)| *own == name).map(|(_, unit)| unit)
    }

    /// The unit in which its samples are kept: `ns` for all times but picoseconds.
    pub fn kept(self) -> &'static str {
        match self {
            Self::Ns | Self::Us | Self::Ms | Self::S => "ns",
            Self::Ps => "ps",
            Self::Urad => "urad",
        }
    }

    /// How many of the unit that is kept it has.
    pub fn factor(self) -> i64 {
        match self {
            Self::Ns | Self::Ps | Self::Urad => 1,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }
}

/// The clock of a series' times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeOf {
    /// CLOCK_MONOTONIC of the machine that latido runs on.
    Monotonic,
    /// CLOCK_BOOTTIME.
    Boottime,
    /// CLOCK_TAI.
    Tai,
    /// CLOCK_REALTIME.
    Realtime,
    /// A clock of its own, which has nothing to do with the machine's.
    Device,
    /// There are no times.
    #[default]
    None,
}

impl TimeOf {
    const ALL: [(&'static str, Self); 6] = [
        ("monotonic", Self::Monotonic),
        ("boottime", Self::Boottime),
        ("tai", Self::Tai),
        ("realtime", Self::Realtime),
        ("device", Self::Device),
        ("none", Self::None),
    ];

    /// As lines name it.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, clock)| *clock == self).map_or("none", |(name, _)| name)
    }

    /// Whether it is one of the machine's.
    pub fn is_host(self) -> bool {
        !matches!(self, Self::Device | Self::None)
    }
}

/// A series as its program declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// What is measured: a lower-case letter, then letters, digits, `-` and `_`, at most 32.
    pub quantity: String,
    /// The unit of its samples.
    pub unit: Unit,
    /// The clock of its times.
    pub clock: TimeOf,
    /// The CPU that the program says it measures.
    pub cpu: Option<u32>,
    /// The thread that takes the samples, as the kernel numbers it.
    pub tid: Option<u32>,
    /// How far apart its slots are, in ns.
    pub period: Option<u64>,
    /// What tells it from others of its quantity.
    pub labels: BTreeMap<String, String>,
}

impl Declared {
    /// Of a quantity, with nothing more to say.
    pub fn of(quantity: &str, unit: Unit) -> Self {
        let (clock, labels) = (TimeOf::None, BTreeMap::new());
        Self { quantity: quantity.into(), unit, clock, cpu: None, tid: None, period: None, labels }
    }

    /// From the `key=value` words of a declaration; `quantity` and `unit` are needed.
    pub(super) fn read<'a>(words: impl Iterator<Item = &'a [u8]>) -> Result<Self, Bad> {
        let (mut quantity, mut unit, mut clock) = (None, None, None);
        let (mut cpu, mut tid, mut period) = (None, None, None);
        let mut labels = BTreeMap::new();
        for word in words {
            let word = std::str::from_utf8(word).map_err(|_| Bad::Bytes)?;
            let (key, value) = word.split_once('=').ok_or(Bad::Declaration)?;
            let whole = || number::whole(value.as_bytes()).filter(|one| *one > 0 || key == "cpu");
            let small = || whole().and_then(|one| u32::try_from(one).ok());
            let again = match key {
                "quantity" => quantity.replace(name(value).ok_or(Bad::Declaration)?).is_some(),
                "unit" => unit.replace(Unit::named(value).ok_or(Bad::Declaration)?).is_some(),
                "clock" => {
                    let known = TimeOf::ALL.into_iter().find(|(own, _)| *own == value);
                    clock.replace(known.ok_or(Bad::Declaration)?.1).is_some()
                }
                "cpu" => cpu.replace(small().ok_or(Bad::Declaration)?).is_some(),
                "tid" => tid.replace(small().ok_or(Bad::Declaration)?).is_some(),
                "period" => period.replace(whole().ok_or(Bad::Declaration)?).is_some(),
                _ => {
                    let key = key.strip_prefix("label.").and_then(name).ok_or(Bad::Declaration)?;
                    if value.is_empty() {
                        return Err(Bad::Declaration);
                    }
                    labels.insert(key, value.to_owned()).is_some()
                }
            };
            if again {
                return Err(Bad::Declaration);
            }
        }
        let (Some(quantity), Some(unit)) = (quantity, unit) else { return Err(Bad::Declaration) };
        Ok(Self { quantity, unit, clock: clock.unwrap_or_default(), cpu, tid, period, labels })
    }
}

/// A name as records have them.
pub(super) fn name(text: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    let sound = text.len() <= 32 && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(fits);
    sound.then(|| text.to_owned())
}
