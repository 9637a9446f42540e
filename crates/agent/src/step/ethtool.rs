//! How a network device gathers interrupts, read and set by the program ethtool(8).

use crate::{machine::Root, program};
use anyhow::{Context, Result, bail, ensure};
use std::fs;

/// The program.
pub const PROGRAM: &str = "ethtool";

/// Where a fake machine keeps what `ethtool -c DEVICE` prints.
fn fake(device: &str) -> String {
    format!("ethtool/{device}")
}

/// The value of a parameter, named as `ethtool -C` takes it; `n/a` where the device has none.
///
/// # Errors
/// The program is not there or refuses.
pub fn get(root: &Root, device: &str, key: &str) -> Result<String> {
    let text = match root.is_live() {
        true => run(&["-c", device])
            .with_context(|| format!("{device} does not tell how it gathers interrupts: leave coalesce=as-is"))?,
        false => root.try_read(&fake(device)).with_context(|| format!("ethtool -c {device} failed"))?,
    };
    Ok(find(&text, key).unwrap_or_else(|| "n/a".into()))
}

/// Sets a parameter.
///
/// # Errors
/// As [`get`].
pub fn set(root: &Root, device: &str, key: &str, value: &str) -> Result<()> {
    if root.is_live() {
        return run(&["-C", device, key, value]).map(drop).with_context(|| {
            match rustix::process::geteuid().is_root() {
                true => format!("{device} does not take {key}={value}: leave coalesce=as-is"),
                false => format!("only root may set {key} of {device}: run the same command with sudo"),
            }
        });
    }
    let path = root.path(&fake(device));
    let text = fs::read_to_string(&path)?;
    let set = |line: &str| match (line.strip_prefix("Adaptive RX:"), key) {
        (Some(_), "adaptive-rx" | "adaptive-tx") => {
            let keep = |key: &str| find(&text, key).unwrap_or_default();
            let (rx, tx) = if key == "adaptive-rx" {
                (value.into(), keep("adaptive-tx"))
            } else {
                (keep("adaptive-rx"), value.into())
            };
            format!("Adaptive RX: {rx}  TX: {tx}")
        }
        _ if line.split(':').next() == Some(key) => {
            let space = line.chars().skip(key.len() + 1).take_while(|c| c.is_whitespace());
            format!("{key}:{}{value}", space.collect::<String>())
        }
        _ => line.into(),
    };
    let lines: Vec<String> = text.split('\n').map(set).collect();
    Ok(fs::write(&path, lines.join("\n"))?)
}

/// A parameter in what `ethtool -c` prints: `rx-usecs: 8`, `Adaptive RX: on  TX: off`.
fn find(text: &str, key: &str) -> Option<String> {
    let adaptive = |at: usize| {
        let line = text.lines().find_map(|line| line.strip_prefix("Adaptive RX:"))?;
        line.split_whitespace().filter(|word| *word != "TX:").nth(at).map(String::from)
    };
    match key {
        "adaptive-rx" => adaptive(0),
        "adaptive-tx" => adaptive(1),
        _ => text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(|value| value.trim().into()),
    }
}

fn run(arguments: &[&str]) -> Result<String> {
    let line = arguments.join(" ");
    let Some(ethtool) = program::find(PROGRAM)? else {
        bail!("there is no program ethtool, which coalescing needs: install it (apt-get install ethtool)")
    };
    let output = ethtool.command().args(arguments).output().context("cannot start ethtool")?;
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    ensure!(output.status.success(), "ethtool {line} failed: {said}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_in_both_ways_of_printing() {
        let text = "Coalesce parameters for eth0:\nAdaptive RX: on  TX: off\nrx-usecs:\t8\nrx-usecs-irq: n/a\n";
        for (key, value) in [("adaptive-rx", "on"), ("adaptive-tx", "off"), ("rx-usecs", "8"), ("rx-usecs-irq", "n/a")]
        {
            assert_eq!(find(text, key).as_deref(), Some(value));
        }
        assert_eq!(find(text, "tx-usecs"), None);
    }
}
