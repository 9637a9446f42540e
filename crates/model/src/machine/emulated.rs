//! The laboratory that a guest runs in: what its results depend on besides the cell.

use serde::{Deserialize, Serialize};

/// Emulation with its clock counted in instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emulated {
    /// The emulator and its version, as it says it.
    pub emulator: String,
    /// Its arguments, files by the names that they have in the guest's directory.
    pub arguments: Vec<String>,
    /// How long an instruction takes, ns; absent of a guest of several CPUs, whose time is the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction_ns: Option<u32>,
    /// Where the kernel comes from: a package's name, or a file's without its directory.
    pub kernel: String,
    /// The package's version; empty of a file.
    pub version: String,
    /// The SHA-256 of the package or the file.
    pub package_sha256: String,
    /// The SHA-256 of the kernel's own file, as it is booted.
    pub kernel_sha256: String,
    /// The SHA-256 of latido's own file, which is the guest's first program.
    pub latido_sha256: String,
    /// The SHA-256 of all that guests like this one begin with, before what this one is asked for: latido, the programs of
    /// loads, their libraries, modules.
    pub image_sha256: String,
    /// How long this member of the sweep waited before it began, ns.
    pub offset_ns: u64,
    /// How much its image was padded, in bytes.
    pub padding: u64,
}

impl Emulated {
    /// What its clock counts.
    pub fn time(&self) -> String {
        match self.instruction_ns {
            Some(cost) => format!("emulated at {cost} ns an instruction"),
            None => "emulated on several CPUs with the host's time".into(),
        }
    }

    /// What its latencies are worth, for every table and figure of them: ranks, or nothing.
    pub fn worth(&self) -> String {
        match self.instruction_ns {
            Some(cost) => format!(
                "emulated: instructions along kernel paths at {cost} ns each, one CPU: it ranks kernels, not hardware"
            ),
            None => {
                "emulated on several CPUs with the host's time: it shows that something works, and none is a latency"
                    .into()
            }
        }
    }

    /// The same in a word, for what stands before a verdict.
    pub const fn in_short(&self) -> &'static str {
        match self.instruction_ns {
            Some(_) => "emulated (ranks kernels, not hardware)",
            None => "emulated (with the host's time: none is a latency)",
        }
    }
}
