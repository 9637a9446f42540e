//! Unpacks the compressed parts of a kernel's package with the program of each format: modules, and the kernel itself.
//!
//! A kernel for a PC is a program that unpacks the kernel inside it. In emulation this takes up to two fifths of the host's time for a
//! boot. QEMU boots the unpacked kernel by its entry for PVH guests, and the guest starts with the kernel's first instruction.

use super::{child, elf, sealed::Sealed};
use anyhow::{Context, Result, ensure};
use std::{
    fs::File,
    io::{Read, Write},
    process::{Command, Stdio},
    thread,
};

/// A compression format.
pub(super) struct Format {
    /// The ending of the file name.
    pub ending: &'static str,
    /// The first bytes of the file.
    head: &'static [u8],
    /// The program that unpacks it.
    program: &'static str,
}

/// The formats of Debian's packages and of kernels that latido builds.
pub(super) const FORMATS: [Format; 3] = [
    Format { ending: ".xz", head: b"\xfd7zXZ\0", program: "xz" },
    Format { ending: ".zst", head: b"\x28\xb5\x2f\xfd", program: "zstd" },
    Format { ending: ".gz", head: b"\x1f\x8b", program: GZIP },
];
const GZIP: &str = "gzip";

/// The largest unpacked kernel, in bytes.
const MOST_KERNEL: u64 = 1 << 30;

impl Format {
    /// Unpacks a file of at most this many bytes.
    ///
    /// # Errors
    /// The program is not installed, or cannot read the file.
    pub(super) fn unpack(&self, packed: File, most: u64) -> Result<Vec<u8>> {
        let mut command = child::command(self.program);
        command.arg("-dc").stdin(packed);
        taken(command, self.program, most, None)
    }
}

/// Returns the kernel for QEMU: the unpacked one if QEMU can boot it, and else the packed one.
///
/// # Errors
/// The unpacking program is not installed, or cannot read the kernel.
pub(super) fn kernel(packed: Sealed) -> Result<Sealed> {
    let image = packed.bytes()?;
    let Some((program, payload, length)) = payload(&image) else { return Ok(packed) };
    ensure!(length <= MOST_KERNEL, "the kernel says that it has {length} bytes when it is unpacked");
    let mut command = child::command(program);
    command.arg("-dc").stdin(Stdio::piped());
    let kernel = taken(command, program, length, Some(payload))?;
    if kernel.len() as u64 == length && elf::boots_by_pvh(&kernel) {
        return Sealed::of(|to| Ok(to.write_all(&kernel)?));
    }
    Ok(packed)
}

/// Returns the unpacking program, the packed kernel in a bzImage, and its unpacked length (kernel Documentation/arch/x86/boot.rst, version
/// 2.08 and later: `payload_offset`, `payload_length`).
fn payload(image: &[u8]) -> Option<(&'static str, &[u8], u64)> {
    let number = |at: usize| Some(u32::from_le_bytes(image.get(at..at.checked_add(4)?)?.try_into().ok()?) as usize);
    let sectors = match image.get(0x1f1)? {
        0 => 4,
        count => usize::from(*count),
    };
    let version = number(0x206)? & 0xffff;
    if image.get(0x202..0x206)? != b"HdrS" || version < 0x208 {
        return None;
    }
    let begin = ((sectors + 1) * 512).checked_add(number(0x248)?)?;
    let whole = image.get(begin..begin.checked_add(number(0x24c)?)?)?;
    let Format { program, .. } = FORMATS.into_iter().find(|format| whole.starts_with(format.head))?;
    let (data, length) = whole.split_last_chunk::<4>()?;
    // The kernel's build writes the length after the data. With gzip the length is part of the data (RFC 1952, ISIZE).
    Some((program, if program == GZIP { whole } else { data }, u64::from(u32::from_le_bytes(*length))))
}

/// Returns the output of a program, if it is at most this long. `input` goes to its input where that is a pipe.
fn taken(mut command: Command, program: &str, most: u64, input: Option<&[u8]>) -> Result<Vec<u8>> {
    let needs = || format!("cannot start {program}, which unpacks kernels and modules: install it");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().with_context(needs)?;
    let (to, from) = (child.stdin.take(), child.stdout.take());
    let mut out = Vec::new();
    thread::scope(|scope| {
        if let (Some(mut to), Some(input)) = (to, input) {
            // The program may end before it has read everything. Its exit status shows why.
            scope.spawn(move || to.write_all(input));
        }
        from.context("the output of a program")?
            .take(most.saturating_add(1))
            .read_to_end(&mut out)
            .context(program.to_owned())
    })?;
    let ended = child.wait_with_output().with_context(|| program.to_owned())?;
    ensure!(out.len() as u64 <= most, "{program} unpacks more than {most} bytes");
    ensure!(ended.status.success(), "{program} cannot unpack it: {}", String::from_utf8_lossy(&ended.stderr).trim());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};
    use std::process::Command;

    /// Makes a kernel for a PC around a payload, with the header fields that locate it.
    fn around(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0_u8; 1024 + 16];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x248..0x24c].copy_from_slice(&16_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
        image.extend(payload);
        image
    }

    /// Makes the smallest ELF file with one note of this name: with "Xen" it names an entry for PVH guests.
    fn program(name: &[u8; 4]) -> Vec<u8> {
        let mut bytes = vec![0_u8; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        (bytes[54], bytes[56]) = (56, 1);
        let note =
            [&4_u32.to_le_bytes()[..], &4_u32.to_le_bytes(), &18_u32.to_le_bytes(), name, &[0, 0, 0, 1]].concat();
        (bytes[64], bytes[64 + 8], bytes[64 + 32]) = (4, 120, u8::try_from(note.len()).unwrap());
        bytes.extend(note);
        bytes
    }

    fn packed_by(words: &[&str], bytes: &[u8]) -> Option<Vec<u8>> {
        let mut child =
            Command::new(words[0]).args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        Some(child.wait_with_output().unwrap().stdout)
    }

    fn booted(image: &[u8]) -> Vec<u8> {
        kernel(Sealed::of(|to| Ok(to.write_all(image)?)).unwrap()).unwrap().bytes().unwrap()
    }

    /// In each format, the guest boots the unpacked kernel. Without a PVH entry, or in another format, it boots the file as it is.
    #[test]
    fn a_kernel_is_unpacked_where_it_can_be_booted_so() {
        for words in [["gzip", "-c"], ["xz", "-c"], ["zstd", "-c"]] {
            for (name, bootable) in [(b"Xen\0", true), (b"GNU\0", false)] {
                let plain = program(name);
                let Some(mut payload) = packed_by(&words, &plain) else {
                    skip("a kernel that is unpacked", Need::Program, &format!("{} is not installed", words[0]));
                    break;
                };
                if words[0] != "gzip" {
                    payload.extend(u32::try_from(plain.len()).unwrap().to_le_bytes());
                }
                let image = around(&payload);
                assert_eq!(booted(&image), if bootable { plain } else { image }, "{words:?}");
            }
        }
        for image in [around(b"LZ4 or another"), around(b""), b"no kernel".to_vec(), Vec::new()] {
            assert_eq!(booted(&image), image);
        }
    }

    /// A kernel that is truncated or changed, or unpacks to more than its stated length, gives an error and never a partial kernel. A
    /// payload of fewer than four bytes has no length, and the guest boots the file as it is.
    #[test]
    fn a_broken_kernel_is_an_error() {
        let plain = program(b"Xen\0");
        let payload = packed_by(&["gzip", "-c"], &plain).unwrap();
        let sealed = |payload: &[u8]| Sealed::of(|to| Ok(to.write_all(&around(payload))?)).unwrap();
        let mut less = payload.clone();
        let at = less.len() - 4;
        less[at..].copy_from_slice(&3_u32.to_le_bytes());
        assert!(kernel(sealed(&less)).unwrap_err().to_string().contains("more than 3 bytes"));
        less[at..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(kernel(sealed(&less)).unwrap_err().to_string().contains("4294967295 bytes"));
        for cut in 2..payload.len() {
            let kept = kernel(sealed(&payload[..cut])).map(|kept| kept.bytes().unwrap());
            if cut < 4 {
                assert_eq!(kept.unwrap(), around(&payload[..cut]));
            } else {
                assert!(kept.is_err(), "{cut} of {} bytes", payload.len());
            }
        }
    }
}
