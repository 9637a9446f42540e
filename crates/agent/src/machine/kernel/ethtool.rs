//! Runs the program ethtool(8) for the interrupt coalescing of a network device.

use crate::program;
use anyhow::{Context, Result, bail, ensure};

/// The program.
pub const PROGRAM: &str = "ethtool";

/// Runs the program, and returns what it printed.
///
/// # Errors
/// The program is not installed, or it fails.
pub fn run(arguments: &[&str]) -> Result<String> {
    let line = arguments.join(" ");
    let Some(ethtool) = program::find(PROGRAM)? else {
        bail!("there is no program ethtool, which coalescing needs: install it (apt-get install ethtool)")
    };
    let output = ethtool.command().args(arguments).output().context("cannot start ethtool")?;
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    ensure!(output.status.success(), "ethtool {line} failed: {said}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Finds a parameter in the output of `ethtool -c`: `rx-usecs: 8`, `Adaptive RX: on  TX: off`.
pub fn parameter(text: &str, key: &str) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_in_both_ways_of_printing() {
        let text = "Coalesce parameters for eth0:\nAdaptive RX: on  TX: off\nrx-usecs:\t8\nrx-usecs-irq: n/a\n";
        for (key, value) in [("adaptive-rx", "on"), ("adaptive-tx", "off"), ("rx-usecs", "8"), ("rx-usecs-irq", "n/a")]
        {
            assert_eq!(parameter(text, key).as_deref(), Some(value));
        }
        assert_eq!(parameter(text, "tx-usecs"), None);
    }
}
