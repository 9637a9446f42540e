//! Latido's own file for machines that are not this one.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Our file for a machine of this architecture, which needs no library there; `host` is who asks, for people.
///
/// # Errors
/// There is none, with what builds it.
pub fn file(arch: &str, host: &str) -> Result<PathBuf> {
    // uname(1) names the kernel's architecture, directories and compilers name the instruction set.
    let arch = match arch {
        "armv7l" | "armv8l" | "armv6l" => "armv7",
        other => other,
    };
    if let Some(dir) = std::env::var_os("LATIDO_AGENTS") {
        let file = Path::new(&dir).join(arch).join("latido");
        if file.is_file() {
            return Ok(file);
        }
    }
    let fits = arch == std::env::consts::ARCH && cfg!(target_feature = "crt-static");
    if fits {
        return std::env::current_exe().context("cannot find latido's own file");
    }
    let why = match arch == std::env::consts::ARCH {
        true => "this latido needs the libraries of this machine",
        false => "this latido is for another architecture",
    };
    bail!(
        "{host} is {arch}, and {why}. Build one file for it, and name its directory in LATIDO_AGENTS:\n  \
         scripts/cross {arch}\n  LATIDO_AGENTS=$PWD/target/agents latido ..."
    )
}
