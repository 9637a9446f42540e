//! How files print a value: for comparing what latido wrote with what it reads.

use latido_model::cpus::CpuSet;
use serde::{Deserialize, Serialize};

/// How a file prints its value, for comparing what latido wrote with what it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As it is written.
    #[default]
    Plain,
    /// All choices, the one in force in brackets: `always [madvise] never`.
    Choice,
    /// A list of CPUs: `0-3,5`.
    Cpus,
    /// A mask of CPUs in hexadecimal words: `0000000f`, `ff,ffffffff`.
    Mask,
    /// A mask that the kernel narrows further. The requested mask is in the file `NAME_requested` in the same directory, if that exists
    /// (workqueues since Linux 6.7).
    Requested,
    /// The line of the level-3 cache among others, with one mask per cache: `L3:0=ffff;1=00ff`.
    L3,
}

impl Form {
    /// Returns the value alone from a file's text.
    pub fn value(self, text: &str) -> String {
        let text = text.trim();
        match self {
            Self::Plain => text.to_string(),
            Self::Choice => {
                let marked = text
                    .split_whitespace()
                    .find_map(|word| word.strip_prefix(['[', '(']).and_then(|word| word.strip_suffix([']', ')'])));
                marked.unwrap_or(text).to_string()
            }
            Self::Cpus => text.parse::<CpuSet>().map_or_else(|_| text.to_string(), |cpus| cpus.to_string()),
            Self::Mask | Self::Requested => {
                let digits = text.replace(',', "").to_lowercase();
                let short = digits.trim_start_matches('0');
                if short.is_empty() { "0".into() } else { short.into() }
            }
            Self::L3 => {
                let line = text.lines().find_map(|line| line.trim().strip_prefix("L3:")).unwrap_or_default();
                let caches = line.split(';').filter_map(|cache| cache.trim().split_once('='));
                let masks: Vec<String> =
                    caches.map(|(id, mask)| format!("{}={}", id.trim(), Self::Mask.value(mask))).collect();
                format!("L3:{}", masks.join(";"))
            }
        }
    }

    /// Returns a value as it must be written: the kernel accepts masks only in words of 32 bits (bitmap_parse).
    pub fn written(self, value: &str) -> String {
        match self {
            Self::Mask | Self::Requested => {
                let digits: Vec<char> = value.chars().filter(|c| *c != ',').collect();
                let words: Vec<String> = digits.rchunks(8).rev().map(|word| word.iter().collect()).collect();
                words.join(",")
            }
            Self::Plain | Self::Choice | Self::Cpus | Self::L3 => value.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_as_the_kernel_means_them() {
        for (form, text, value) in [
            (Form::Plain, "1\n", "1"),
            (Form::Choice, "always [madvise] never\n", "madvise"),
            (Form::Choice, "none voluntary (full) lazy", "full"),
            (Form::Cpus, "0,1,2,3\n", "0-3"),
            (Form::Mask, "00000000,0000000f\n", "f"),
            (Form::Mask, "00000000", "0"),
            (Form::Mask, "FF", "ff"),
            (Form::Mask, "0ff", "ff"),
        ] {
            assert_eq!([form.value(text), form.value(value)], [value, value], "{form:?} {text}");
        }
        assert_ne!(Form::Mask.value("10"), Form::Mask.value("1"));
    }

    /// The kernel refuses more than eight digits without a comma.
    #[test]
    fn masks_are_written_in_words() {
        for (value, written) in [("f", "f"), ("ffffffffffffff", "ffffff,ffffffff"), ("1,00000000", "1,00000000")] {
            assert_eq!(Form::Mask.written(value), written);
            assert_eq!(Form::Mask.value(&Form::Mask.written(value)), Form::Mask.value(value));
        }
    }
}
