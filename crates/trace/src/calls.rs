//! The names of system calls that a trace records only by number (`raw_syscalls`); the numbers differ by architecture.

use syscalls::{aarch64, arm, powerpc64, riscv64, s390x, x86, x86_64};

/// The architecture that the numbers belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// 64-bit x86.
    X86_64,
    /// 32-bit x86.
    X86,
    /// 64-bit Arm.
    Aarch64,
    /// 32-bit Arm.
    Arm,
    /// 64-bit RISC-V.
    Riscv64,
    /// 64-bit POWER, of either byte order.
    Powerpc64,
    /// IBM Z.
    S390x,
    /// Another architecture, or the file does not name it.
    Unknown,
}

impl Machine {
    /// Reads the architecture from a file's description of its system: `Linux board 6.1.0 aarch64`.
    pub fn of(system: &str) -> Self {
        // A host or a kernel may be named after an architecture: the machine is the last word.
        let word = system.split_whitespace().rev().find_map(|word| {
            Some(match word {
                "x86_64" => Self::X86_64,
                "i386" | "i486" | "i586" | "i686" => Self::X86,
                "aarch64" => Self::Aarch64,
                "riscv64" => Self::Riscv64,
                "ppc64" | "ppc64le" => Self::Powerpc64,
                "s390x" => Self::S390x,
                word if word.starts_with("armv") => Self::Arm,
                _ => return None,
            })
        });
        word.unwrap_or(Self::Unknown)
    }
}

/// Returns the name of a call. If this architecture has no such call, or is unknown, it returns the number.
pub fn call(machine: Machine, number: u16) -> String {
    let at = usize::from(number);
    let name = match machine {
        Machine::X86_64 => x86_64::Sysno::new(at).map(|call| call.name()),
        Machine::X86 => x86::Sysno::new(at).map(|call| call.name()),
        Machine::Aarch64 => aarch64::Sysno::new(at).map(|call| call.name()),
        Machine::Arm => arm::Sysno::new(at).map(|call| call.name()),
        Machine::Riscv64 => riscv64::Sysno::new(at).map(|call| call.name()),
        Machine::Powerpc64 => powerpc64::Sysno::new(at).map(|call| call.name()),
        Machine::S390x => s390x::Sysno::new(at).map(|call| call.name()),
        Machine::Unknown => None,
    };
    name.map_or_else(|| format!("call {number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same number is a different call on another architecture, and an unknown number stays a number. Checked against the kernel's
    /// tables (arch/x86/entry/syscalls/syscall_64.tbl and _32.tbl, scripts/syscall.tbl, arch/arm/tools/syscall.tbl).
    #[test]
    fn a_number_is_a_call_of_its_architecture() {
        let of = |system: &str, number| call(Machine::of(system), number);
        assert_eq!(of("Linux vm 6.18.44 x86_64", 0), "read");
        assert_eq!(of("Linux vm 6.18.44 x86_64", 230), "clock_nanosleep");
        assert_eq!(of("Linux board 6.1.0 aarch64", 63), "read");
        assert_eq!(of("Linux board 6.1.0 aarch64", 115), "clock_nanosleep");
        assert_eq!(of("Linux x86_64 6.1.0 armv7l", 3), "read");
        assert_eq!(of("Linux old 5.10.0 i686", 3), "read");
        assert_eq!(of("Linux vm 6.18.44 x86_64", 60_000), "call 60000");
        assert_eq!(of("", 0), "call 0");
    }
}
