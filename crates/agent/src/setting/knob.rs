//! Tunings of one file with one value, which most tunings are.

use super::Wanted;
use crate::{
    machine::Root,
    step::{Form, Step, refusal},
};
use anyhow::{Result, anyhow, ensure};
use latido_model::cpus::CpuSet;
use serde::{Deserialize, Serialize};

/// Off or on; most knobs are turned off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffOn {
    /// 0.
    #[default]
    Off,
    /// 1.
    On,
}

impl OffOn {
    /// Returns the digit for the file.
    pub fn digit(self) -> &'static str {
        match self {
            Self::Off => "0",
            Self::On => "1",
        }
    }
}

/// Returns the step that gives a file another value; `None` if it already has that value. `absent` tells why the file may not exist, and
/// what to do then.
///
/// # Errors
/// The file does not exist, is not readable, or has no such choice.
pub fn step(root: &Root, path: &str, value: &str, form: Form, absent: &str) -> Result<Option<Step>> {
    let found = root.try_read(path).map_err(|error| refusal::of_read(root, path, absent, &error))?;
    if form == Form::Choice {
        let choices: Vec<&str> = found.split_whitespace().map(|word| word.trim_matches(['[', ']', '(', ')'])).collect();
        ensure!(choices.contains(&value), "{path} does not offer `{value}`: it offers {}", choices.join(", "));
    }
    Step::value(root, path, value, form)
}

/// Returns what a tuning of one file wants.
///
/// # Errors
/// As [`step`].
pub fn one(root: &Root, path: &str, value: &str, form: Form, absent: &str) -> Result<Wanted> {
    Ok(wanted([step(root, path, value, form, absent)?]))
}

/// Returns what a tuning of these steps wants, with a note if nothing needs to change.
pub fn wanted(steps: impl IntoIterator<Item = Option<Step>>) -> Wanted {
    let steps: Vec<Step> = steps.into_iter().flatten().collect();
    let note = steps.is_empty().then(|| "this was already set: nothing was changed".into());
    Wanted { steps, note, ..Wanted::default() }
}

/// Returns the CPUs that are online.
///
/// # Errors
/// sysfs is not there.
pub fn online(root: &Root) -> Result<CpuSet> {
    cpus(root, "/sys/devices/system/cpu/online", "sysfs is not mounted: mount -t sysfs sysfs /sys")
}

/// Returns the CPUs that a file lists.
///
/// # Errors
/// The file does not exist, or contains no such list.
pub fn cpus(root: &Root, path: &str, absent: &str) -> Result<CpuSet> {
    let text = root.try_read(path).map_err(|error| refusal::of_read(root, path, absent, &error))?;
    text.parse().map_err(|error| anyhow!("{path}: {error}"))
}

/// Formats a set of CPUs as a mask: hexadecimal, with a comma before every 32 bits from the right.
pub fn mask(cpus: &CpuSet) -> String {
    let words = cpus.iter().max().map_or(1, |last| last as usize / 32 + 1);
    let mut mask = vec![0u32; words];
    for cpu in cpus.iter() {
        if let Some(word) = mask.get_mut(cpu as usize / 32) {
            *word |= 1 << (cpu % 32);
        }
    }
    let mut words = mask.iter().rev();
    let first = words.next().map(|word| format!("{word:x}"));
    first.into_iter().chain(words.map(|word| format!("{word:08x}"))).collect::<Vec<_>>().join(",")
}

/// Parses such a mask.
///
/// # Errors
/// It is no mask.
pub fn unmask(text: &str) -> Result<CpuSet> {
    let digits: Vec<char> = text.trim().chars().filter(|c| *c != ',').collect();
    let mut cpus = CpuSet::default();
    for (place, digit) in (0u32..).zip(digits.iter().rev()) {
        let bits = digit.to_digit(16).ok_or_else(|| anyhow!("`{text}` is not a mask of CPUs"))?;
        cpus.0.extend((0..4).filter(|bit| bits >> bit & 1 == 1).map(|bit| place * 4 + bit));
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn masks_and_lists_agree(cpus in proptest::collection::btree_set(0u32..200, 1..40)) {
            let set = CpuSet(cpus);
            proptest::prop_assert_eq!(unmask(&mask(&set)).unwrap(), set);
        }
    }

    #[test]
    fn masks_are_written_in_words_of_32_bits() {
        assert_eq!(mask(&"0-3".parse().unwrap()), "f");
        assert_eq!(mask(&"0,33".parse().unwrap()), "2,00000001");
        assert!(unmask("x").is_err());
    }
}
