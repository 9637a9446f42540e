//! The architectures of kernels: their names, and what `make` needs for each.

use anyhow::{Result, bail};
use serde::Deserialize;

/// The architecture of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Arch {
    /// 64-bit PCs.
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit ARM.
    #[serde(rename = "aarch64")]
    Aarch64,
    /// 32-bit ARM with a floating-point unit.
    #[serde(rename = "armv7")]
    Armv7,
}

impl Arch {
    /// Returns Debian's name for it.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
            Self::Armv7 => "armhf",
        }
    }

    /// Returns its name in compilers and in LATIDO_AGENTS.
    pub fn word(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Armv7 => "armv7",
        }
    }

    /// Returns what a kernel build needs for it.
    ///
    /// # Errors
    /// The laboratory builds no kernels for it.
    pub fn kbuild(self) -> Result<Kbuild> {
        let kbuild = match self {
            Self::X86_64 => Kbuild {
                arch: "x86_64",
                prefix: "x86_64-linux-gnu-",
                package: "gcc-x86-64-linux-gnu",
                target: "bzImage",
                image: "arch/x86/boot/bzImage",
                machine: "pc",
            },
            Self::Aarch64 => Kbuild {
                arch: "arm64",
                prefix: "aarch64-linux-gnu-",
                package: "gcc-aarch64-linux-gnu",
                target: "Image",
                image: "arch/arm64/boot/Image",
                machine: "virt",
            },
            Self::Armv7 => bail!("the laboratory builds no kernels for 32-bit ARM; `6.1-rt-armhf` is one of Debian's"),
        };
        Ok(Kbuild { prefix: if self.is_own() { "" } else { kbuild.prefix }, ..kbuild })
    }

    /// Returns this machine's architecture, if it is one of these.
    pub fn own() -> Option<Self> {
        [Self::X86_64, Self::Aarch64, Self::Armv7].into_iter().find(|arch| arch.is_own())
    }

    /// Returns whether it is this machine's architecture.
    pub fn is_own(self) -> bool {
        match self {
            Self::X86_64 => cfg!(target_arch = "x86_64"),
            Self::Aarch64 => cfg!(target_arch = "aarch64"),
            Self::Armv7 => cfg!(target_arch = "arm"),
        }
    }
}

/// How a kernel is built for an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kbuild {
    /// The value of `ARCH`.
    pub arch: &'static str,
    /// The value of `CROSS_COMPILE`: empty on a machine of that architecture.
    pub prefix: &'static str,
    /// Debian's package with the compiler of that prefix.
    pub package: &'static str,
    /// The make target of the kernel image.
    pub target: &'static str,
    /// The path of that image.
    pub image: &'static str,
    /// The fragment of the configuration that every kernel needs for QEMU's machine.
    pub machine: &'static str,
}
