//! latido's executable for machines other than this one.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Returns latido's executable for a machine of this architecture; it needs no library there. `host` names the machine in messages.
///
/// # Errors
/// There is no such executable. The error gives the command that builds it.
pub fn file(arch: &str, host: &str) -> Result<PathBuf> {
    // uname(1) gives the kernel's name of the architecture. Directories and compilers use the name of the instruction set.
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
        "{host} is {arch}, and {why}. Build a static latido for it, and name its directory in LATIDO_AGENTS:\n  \
         scripts/cross {arch}\n  LATIDO_AGENTS=$PWD/target/agents latido ..."
    )
}
