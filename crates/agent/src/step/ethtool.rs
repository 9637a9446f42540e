//! Reads and sets how a network device coalesces interrupts.

use crate::machine::Root;
use anyhow::{Context, Result};

/// Returns the value of a parameter, named as in `ethtool -C`; `n/a` if the device has no such parameter.
///
/// # Errors
/// The program is not there or refuses.
pub fn get(root: &Root, device: &str, key: &str) -> Result<String> {
    let found = root.kernel()?.coalescing(device, key);
    let found =
        found.with_context(|| format!("{device} does not report how it coalesces interrupts: use coalesce=as-is"))?;
    Ok(found.unwrap_or_else(|| "n/a".into()))
}

/// Sets a parameter.
///
/// # Errors
/// As [`get`].
pub fn set(root: &Root, device: &str, key: &str, value: &str) -> Result<()> {
    root.kernel()?.set_coalescing(device, key, value).with_context(|| match rustix::process::geteuid().is_root() {
        true => format!("{device} does not accept {key}={value}: use coalesce=as-is"),
        false => format!("only root may set {key} of {device}: run the same command with sudo"),
    })
}
