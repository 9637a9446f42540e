//! A file that cannot change any more: what is hashed is what is booted.
//!
//! The file is in memory (memfd_create(2)) and sealed against writing. It has no path that another process could redirect. A child that
//! keeps its descriptor opens it as `/proc/self/fd/N`.

use anyhow::{Context, Result, ensure};
use latido_model::protocol::hex;
use latido_sys::process;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    os::{fd::AsRawFd, unix::fs::FileExt},
    path::Path,
    process::Command,
};

/// Opens a file for reading. Opening must not hang on a pipe at this path.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub(super) fn file(path: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).with_context(|| format!("{}", path.display()))?;
    let file = File::from(opened);
    ensure!(file.metadata().is_ok_and(|meta| meta.is_file()), "{} is not a file", path.display());
    Ok(file)
}

/// The file and the SHA-256 of its bytes.
#[derive(Debug)]
pub struct Sealed {
    file: File,
    sha256: String,
}

impl Sealed {
    /// Seals what `write` writes.
    ///
    /// # Errors
    /// There is not enough memory, or the source cannot be read.
    pub fn of(write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // A machine may refuse executable files in memory (vm.memfd_noexec), and kernels before 6.3 do not know the flag.
        let file =
            memfd_create("latido-lab", flags | MemfdFlags::NOEXEC_SEAL).or_else(|_| memfd_create("latido-lab", flags));
        let file = File::from(file.context("a file in memory")?);
        let mut out = Hashed { to: BufWriter::new(&file), hash: Sha256::new() };
        write(&mut out)?;
        out.flush().context("a file in memory")?;
        let sha256 = hex(&out.hash.finalize_reset());
        drop(out);
        fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)
            .context("sealing a file in memory")?;
        Ok(Self { file, sha256 })
    }

    /// Seals a copy of a file.
    ///
    /// # Errors
    /// It cannot be read, or is not a regular file.
    pub fn copy(path: &Path) -> Result<Self> {
        let mut from = file(path)?;
        Self::of(|mut to| {
            io::copy(&mut from, &mut to).with_context(|| format!("{}", path.display()))?;
            Ok(())
        })
    }

    /// Returns its bytes.
    ///
    /// # Errors
    /// None in practice.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let length = usize::try_from(self.file.metadata().context("a file in memory")?.len())?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, 0).context("a file in memory")?;
        Ok(bytes)
    }

    /// Returns the SHA-256 of its bytes.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Gives the file to a child. Returns the path by which the child opens it.
    pub fn give(&self, command: &mut Command) -> String {
        process::keep_open(command, &self.file);
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }
}

/// A writer that also hashes its bytes.
struct Hashed<W> {
    to: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A process that has the descriptor, or opens the file again for writing, cannot change it.
    #[test]
    fn what_is_sealed_stays() {
        let sealed = Sealed::of(|to| Ok(to.write_all(b"kernel")?)).unwrap();
        assert_eq!(sealed.sha256(), hex(&Sha256::digest(b"kernel")));
        assert!(sealed.file.write_at(b"x", 0).is_err());
        assert!(sealed.file.set_len(0).is_err());
        let path = format!("/proc/self/fd/{}", sealed.file.as_raw_fd());
        let again = fs::OpenOptions::new().write(true).open(&path);
        assert!(again.is_err() || again.unwrap().write_at(b"x", 0).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"kernel");
    }

    /// A child reads the sealed bytes by the given path, even after the copied file has changed.
    #[test]
    fn a_child_reads_what_was_hashed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vmlinuz");
        fs::write(&path, "one").unwrap();
        let sealed = Sealed::copy(&path).unwrap();
        fs::write(&path, "other").unwrap();
        let mut command = Command::new("cat");
        let given = sealed.give(&mut command);
        assert_eq!(command.arg(given).output().unwrap().stdout, b"one");
    }

    /// A pipe without a writer is refused at once.
    #[test]
    fn what_is_no_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [pipe.as_path(), dir.path()] {
            assert!(Sealed::copy(path).unwrap_err().to_string().contains("is not a file"));
        }
    }
}
