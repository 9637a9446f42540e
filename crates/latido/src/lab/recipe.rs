//! Recipes of kernels to build: a source, and fragments of its configuration. An option that was requested but not granted is an error.

use super::arch::Arch;
use anyhow::{Result, bail, ensure};
use latido_model::{protocol::hex, suggest::nearest};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The recipe of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Debian's package with the source.
    pub source: String,
    /// Fragments of the configuration, appended to `tinyconfig` in this order. For each option the last value counts.
    pub fragments: Vec<String>,
    /// Further options, appended last: `CONFIG_RCU_BOOST_DELAY=0`.
    #[serde(default)]
    pub options: Vec<String>,
}

/// Returns the fragments that come with latido, by name.
///
/// # Errors
/// Never: a test reads them.
fn fragments() -> Result<BTreeMap<String, String>> {
    Ok(toml::from_str(include_str!("../../../../kernels/fragments.toml"))?)
}

impl Recipe {
    /// Returns everything requested, as lines of a configuration.
    ///
    /// # Errors
    /// There is no such fragment, an option is invalid, or the laboratory builds no kernels for this architecture.
    pub fn asked(&self, arch: Arch) -> Result<String> {
        let (known, mut text) = (fragments()?, String::new());
        let machine = arch.kbuild()?.machine;
        for name in std::iter::once(machine).chain(self.fragments.iter().map(String::as_str)) {
            let Some(fragment) = known.get(name) else {
                bail!("there is no fragment `{name}`{}", nearest(name, known.keys().map(String::as_str)));
            };
            text.push_str(fragment);
        }
        for option in &self.options {
            ensure!(
                option.starts_with("CONFIG_") && option.contains('=') && !option.contains('\n'),
                "`{option}` is not an option of a kernel's configuration: write CONFIG_NAME=VALUE"
            );
            text.push_str(option);
            text.push('\n');
        }
        Ok(text)
    }

    /// Returns a key that differs for each architecture, source and configuration.
    ///
    /// # Errors
    /// As [`Self::asked`].
    pub fn key(&self, arch: Arch) -> Result<String> {
        let mut hash = Sha256::new();
        hash.update(format!("{}\n{}\n{}", arch.debian(), self.source, self.asked(arch)?));
        Ok(hex(&hash.finalize()).chars().take(12).collect())
    }

    /// Words the recipe for the user and for records: the source, the fragments and the options.
    pub fn told(&self) -> String {
        let all: Vec<&str> = self.fragments.iter().chain(&self.options).map(String::as_str).collect();
        format!("{} ({})", self.source, all.join(" "))
    }
}

/// Returns the options of a configuration by name. The kernel writes an unset option as a comment, which is not among them.
fn options(text: &str) -> BTreeMap<&str, &str> {
    let pairs = text.lines().filter_map(|line| line.trim().split_once('='));
    pairs.filter(|(name, _)| name.starts_with("CONFIG_")).collect()
}

/// Returns the requested options that the resulting configuration does not contain with the same value.
pub fn refused(asked: &str, granted: &str) -> Vec<String> {
    let granted = options(granted);
    let kept = |name: &str, value: &str| granted.get(name).copied().unwrap_or("n") == value;
    options(asked)
        .iter()
        .filter(|(name, value)| !kept(name, value))
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last value counts, a missing option is `n`, and every other difference is reported.
    #[test]
    fn what_was_not_granted_is_told() {
        let asked = "# words\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C=500\nCONFIG_D=y\nCONFIG_D=n\n";
        assert!(refused(asked, "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=500\n").is_empty());
        assert_eq!(
            refused(asked, "CONFIG_B=y\nCONFIG_C=250\nCONFIG_D=y"),
            ["CONFIG_A=y", "CONFIG_B=n", "CONFIG_C=500", "CONFIG_D=n"]
        );
    }

    /// Another order of fragments or another option gives another key.
    #[test]
    fn a_key_is_of_all_that_is_asked_for() {
        let of = |fragments: &[&str], options: &[&str]| {
            let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect();
            Recipe { source: "linux-source-6.12".into(), fragments: words(fragments), options: words(options) }
        };
        let key = |recipe: Recipe| recipe.key(Arch::X86_64).unwrap();
        let plain = key(of(&["lab", "rt"], &[]));
        assert_eq!(plain, key(of(&["lab", "rt"], &[])));
        assert_ne!(plain, key(of(&["rt", "lab"], &[])));
        assert_ne!(plain, key(of(&["lab", "rt"], &["CONFIG_RCU_BOOST_DELAY=0"])));
        assert!(of(&["labb"], &[]).key(Arch::X86_64).unwrap_err().to_string().contains("did you mean `lab`"));
        assert!(
            of(&["lab"], &["RCU_BOOST"]).asked(Arch::X86_64).unwrap_err().to_string().contains("CONFIG_NAME=VALUE")
        );
    }
}
