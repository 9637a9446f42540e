//! What kernels are built for: the words for an architecture, and how `make` has it.

use serde::Deserialize;

/// What a kernel is built for.
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
    /// Debian's word for it.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
            Self::Armv7 => "armhf",
        }
    }

    /// The word of compilers and of LATIDO_AGENTS for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Armv7 => "armv7",
        }
    }

    /// Its architecture in the kernel's source, the prefix of a compiler for it, what `make` makes of it, and where that lies.
    pub fn kbuild(self) -> Kbuild {
        let (arch, prefix, target, image) = match self {
            Self::X86_64 => ("x86_64", "x86_64-linux-gnu-", "bzImage", "arch/x86/boot/bzImage"),
            Self::Aarch64 => ("arm64", "aarch64-linux-gnu-", "Image", "arch/arm64/boot/Image"),
            Self::Armv7 => ("arm", "arm-linux-gnueabihf-", "zImage", "arch/arm/boot/zImage"),
        };
        Kbuild { arch, prefix: if self.is_own() { "" } else { prefix }, target, image }
    }

    /// This machine's, where it is one of them.
    pub fn own() -> Option<Self> {
        [Self::X86_64, Self::Aarch64, Self::Armv7].into_iter().find(|arch| arch.is_own())
    }

    /// Whether it is this machine's.
    pub fn is_own(self) -> bool {
        match self {
            Self::X86_64 => cfg!(target_arch = "x86_64"),
            Self::Aarch64 => cfg!(target_arch = "aarch64"),
            Self::Armv7 => cfg!(target_arch = "arm"),
        }
    }
}

/// An architecture as `make` has it in the kernel's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kbuild {
    /// The value of `ARCH`.
    pub arch: &'static str,
    /// The value of `CROSS_COMPILE`: empty on a machine of that architecture.
    pub prefix: &'static str,
    /// The target that is the kernel.
    pub target: &'static str,
    /// Where that lies.
    pub image: &'static str,
}
