//! The laboratory in which a guest runs: what its results depend on besides the cell.

use serde::{Deserialize, Serialize};

/// The emulation in which a guest ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emulated {
    /// The emulator and its version, as the emulator prints them.
    pub emulator: String,
    /// Its arguments. Files have the names that they have in the guest's directory.
    pub arguments: Vec<String>,
    /// How long an instruction takes, in ns; absent for a guest with several CPUs, which uses the host's time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction_ns: Option<u32>,
    /// The kernel's source: the name of a package, or of a file without its directory.
    pub kernel: String,
    /// The package's version; empty for a file.
    pub version: String,
    /// The SHA-256 of the package or the file.
    pub package_sha256: String,
    /// The SHA-256 of the kernel image that boots.
    pub kernel_sha256: String,
    /// The SHA-256 of latido's executable, which is the guest's first program.
    pub latido_sha256: String,
    /// The SHA-256 of the image that guests with the same programs share, before the requests of this guest are added: latido, the programs
    /// of loads, their libraries, modules.
    pub image_sha256: String,
    /// How long this replicate of the sweep waited before it started, in ns.
    pub offset_ns: u64,
    /// The padding of its image, in bytes.
    pub padding: u64,
}

impl Emulated {
    /// Returns what its clock counts.
    pub fn time(&self) -> String {
        match self.instruction_ns {
            Some(cost) => format!("emulated at {cost} ns per instruction"),
            None => "emulated on several CPUs with the host's time".into(),
        }
    }

    /// Returns what its latencies can be used for, to print with every table and figure of them: ranking kernels, or nothing.
    pub fn worth(&self) -> String {
        match self.instruction_ns {
            Some(cost) => format!(
                "emulated: instructions along kernel paths at {cost} ns each, one CPU: it ranks kernels, not hardware"
            ),
            None => {
                "emulated on several CPUs with the host's time: it shows that something works, but no value is a latency"
                    .into()
            }
        }
    }

    /// Returns the same in a few words, to print before a verdict.
    pub const fn in_short(&self) -> &'static str {
        match self.instruction_ns {
            Some(_) => "emulated (ranks kernels, not hardware)",
            None => "emulated (with the host's time: no value is a latency)",
        }
    }
}
