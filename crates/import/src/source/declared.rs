//! What a program declares about a series before its first sample.

use super::{Bad, number};
use std::collections::BTreeMap;

/// A unit in which a program may report samples.
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

    /// Returns the unit with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(own, _)| *own == name).map(|(_, unit)| unit)
    }

    /// Returns the unit in which latido keeps the samples: `ns` for all times except picoseconds.
    pub fn kept(self) -> &'static str {
        match self {
            Self::Ns | Self::Us | Self::Ms | Self::S => "ns",
            Self::Ps => "ps",
            Self::Urad => "urad",
        }
    }

    /// Returns how many of the kept unit make up this unit.
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
    /// The device's clock, which is unrelated to the machine's clocks.
    Device,
    /// The series has no times.
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

    /// Returns the name as lines use it.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, clock)| *clock == self).map_or("none", |(name, _)| name)
    }

    /// Whether it is one of the machine's clocks.
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
    /// The kernel's id of the thread that takes the samples.
    pub tid: Option<u32>,
    /// The distance between its slots, in ns.
    pub period: Option<u64>,
    /// What distinguishes the series from others of the same quantity.
    pub labels: BTreeMap<String, String>,
}

impl Declared {
    /// Returns a declaration of this quantity with nothing else declared.
    pub fn of(quantity: &str, unit: Unit) -> Self {
        let (clock, labels) = (TimeOf::None, BTreeMap::new());
        Self { quantity: quantity.into(), unit, clock, cpu: None, tid: None, period: None, labels }
    }

    /// Reads the `key=value` words of a declaration; `quantity` and `unit` are required.
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

/// Returns the text if it is a valid name for records.
pub(super) fn name(text: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    let sound = text.len() <= 32 && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(fits);
    sound.then(|| text.to_owned())
}
