//! A device of userspace I/O (Documentation/driver-api/uio-howto.rst) with one register that raises its interrupt and one that clears it.

use crate::{Errno, ioctl};
use std::{fs::File, os::fd::AsRawFd, ptr::NonNull, time::Duration};

/// Mapped bytes: latido cannot reach registers beyond them.
pub const MAPPED: usize = 4096;

/// The command register in a PCI device's configuration space, and its bit that disables INTx (PCI 3.0, 6.2.2).
const COMMAND: u64 = 4;
const INTX_OFF: u16 = 1 << 10;
/// The device's registers respond, and the device is a bus master.
const ANSWERS: u16 = 6;

/// A value to write to a 32-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The register's offset in bytes from the first register: a multiple of four below [`MAPPED`].
    pub offset: u32,
    /// The value.
    pub value: u32,
}

/// A device, its registers, and how latido enables its next interrupt.
#[derive(Debug)]
pub struct Uio {
    device: File,
    registers: NonNull<u32>,
    /// The configuration space, in which the generic PCI driver disables the interrupt after each one.
    config: Option<File>,
    raise: Write,
    clear: Write,
}

// SAFETY: the page of registers belongs to this value alone. Every access is a volatile access to one register; the device orders the
// concurrent accesses of two threads.
unsafe impl Send for Uio {}
// SAFETY: as above.
unsafe impl Sync for Uio {}

impl Uio {
    /// Maps the first registers of `memory`, which is a device file or a PCI resource. With `config` it also makes the device respond.
    ///
    /// # Errors
    /// `EINVAL` for a register outside the mapped ones, and the kernel's error for the mapping.
    pub fn map(device: File, memory: &File, config: Option<File>, raise: Write, clear: Write) -> Result<Self, Errno> {
        let within = |write: Write| write.offset.is_multiple_of(4) && (write.offset as usize) < MAPPED;
        if !within(raise) || !within(clear) {
            return Err(Errno::EINVAL);
        }
        let (flags, protection) = (libc::MAP_SHARED, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new mapping at an address that the kernel chooses touches no other memory.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), MAPPED, protection, flags, memory.as_raw_fd(), 0) };
        let registers = NonNull::new(at.cast()).filter(|_| at != libc::MAP_FAILED).ok_or_else(Errno::last)?;
        let uio = Self { device, registers, config, raise, clear };
        uio.command(|command| (command | ANSWERS) & !INTX_OFF)?;
        Ok(uio)
    }

    /// Raises the interrupt.
    #[inline(always)]
    pub fn raise(&self) {
        self.write(self.raise);
    }

    /// Clears the interrupt at the device.
    #[inline(always)]
    pub fn clear(&self) {
        self.write(self.clear);
    }

    /// Waits for an interrupt, at most `within`. Returns whether one came.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self, within: Duration) -> Result<bool, Errno> {
        ioctl::came(&self.device, within)
    }

    /// Consumes the interrupts that came, and enables the next one.
    ///
    /// # Errors
    /// The driver's error.
    #[inline(always)]
    pub fn taken(&self) -> Result<(), Errno> {
        ioctl::take(&self.device, &mut 0_u32)?;
        self.command(|command| command & !INTX_OFF)?;
        if self.config.is_none() {
            let on = 1_u32;
            // SAFETY: the number is readable for its bytes. A driver without such a switch refuses the write and does not need it.
            unsafe { libc::write(self.device.as_raw_fd(), (&raw const on).cast(), size_of::<u32>()) };
        }
        Ok(())
    }

    #[inline(always)]
    fn command(&self, change: impl Fn(u16) -> u16) -> Result<(), Errno> {
        let Some(config) = &self.config else { return Ok(()) };
        let mut bytes = [0; 2];
        // SAFETY: the buffer is writable, then readable, for its two bytes.
        unsafe {
            let (at, buffer) = (COMMAND as libc::off_t, bytes.as_mut_ptr());
            if libc::pread(config.as_raw_fd(), buffer.cast(), 2, at) != 2 {
                return Err(Errno::last());
            }
            bytes = change(u16::from_le_bytes(bytes)).to_le_bytes();
            if libc::pwrite(config.as_raw_fd(), bytes.as_ptr().cast(), 2, at) != 2 {
                return Err(Errno::last());
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn write(&self, Write { offset, value }: Write) {
        // SAFETY: `map` checked both offsets: multiples of four within the page, which is mapped while this value lives.
        unsafe { self.registers.as_ptr().byte_add(offset as usize).write_volatile(value.to_le()) }
    }
}

impl Drop for Uio {
    fn drop(&mut self) {
        // SAFETY: this value mapped the page, and nothing refers to it after this.
        unsafe { libc::munmap(self.registers.as_ptr().cast(), MAPPED) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Write as _, os::unix::fs::FileExt};

    /// Each value must arrive at its register. `map` refuses a register beyond the page, or an offset across two registers.
    #[test]
    fn registers_are_written_where_they_are() {
        let dir = std::env::temp_dir().join(format!("latido-uio-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let of = |name: &str, bytes: &[u8]| {
            let path = dir.join(name);
            std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
            File::options().read(true).write(true).open(path).unwrap()
        };
        let (memory, config) = (of("memory", &[0; MAPPED]), of("config", &[0, 0, 0, 0, 0, 4, 0, 0]));
        let (raise, clear) = (Write { offset: 0x60, value: 1 }, Write { offset: 0x64, value: 2 });
        let own = || File::open("/dev/null").unwrap();
        for bad in [MAPPED as u32, 0x61] {
            let refused = Uio::map(own(), &memory, None, Write { offset: bad, value: 1 }, clear).unwrap_err();
            assert_eq!(refused, Errno::EINVAL);
        }
        let uio = Uio::map(own(), &memory, Some(config.try_clone().unwrap()), raise, clear).unwrap();
        uio.raise();
        uio.clear();
        let mut bytes = [0; 8];
        memory.read_exact_at(&mut bytes, 0x60).unwrap();
        assert_eq!(bytes, [1, 0, 0, 0, 2, 0, 0, 0]);
        let mut command = [0; 2];
        config.read_exact_at(&mut command, 4).unwrap();
        assert_eq!(u16::from_le_bytes(command), ANSWERS);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
