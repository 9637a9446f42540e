//! `disk`: writes, syncs and reads a file without a name again and again, or reads a raw device.

use crate::{
    loading::{
        Launch, Load, Surroundings,
        work::{self, Chore, Work, again_and_again},
    },
    scratch::{filesystem, room},
};
use anyhow::{Context, Result, ensure};
use latido_model::{
    registry::{self, Def},
    units::Ns,
};
use latido_sys::clock::Clock::Monotonic;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::{
    fs::{Advice, Mode as Permission, OFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "disk",
    about: "reads and writes of a file without a name, with fsync, or raw reads of a device",
    help: "\
Writes a file of one size, syncs it every few blocks and reads it back, again and again, past the page cache where the
file system lets it (O_DIRECT). The file has no name (O_TMPFILE): the kernel gives its room back when the load ends,
however that happens. Or reads the beginning of a device that you name again and again; nothing is ever written to it.

Options:
  mode     both (default), read or write
  order    sequential (default) or random
  size     of the file, or of the part of the device that is read, in MiB; default 64
  block    of one read or write, in KiB; default 1024
  sync     blocks written between two fsyncs; default 16, 0 for none
  direct   bypass the page cache; default true; where this is refused the load uses the cache, and the record says so
  dir      where the file is; default /var/tmp
  device   a block device (or a file) to read instead, for example /dev/sda; needs the right to read it
  seed     of the data and the order; default the cell's

The record's `achieved` holds read_bytes, written_bytes, syncs, sync_ns (time within fsync) and elapsed_ns. One of the
loads of the interrupt-determinism study (2008): raw reads of 1000 blocks of 1 MiB.",
    main_option: Some("mode"),
    new: |table| Ok(Box::new(checked(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Disk {
    mode: Access,
    order: Walk,
    size: u32,
    block: u32,
    sync: u32,
    direct: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    dir: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Access {
    Both,
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Walk {
    Sequential,
    Random,
}

impl Default for Disk {
    fn default() -> Self {
        let (mode, order) = (Access::Both, Walk::Sequential);
        Self { mode, order, size: 64, block: 1024, sync: 16, direct: true, dir: None, device: None, seed: None }
    }
}

fn checked(table: toml::Table) -> Result<Disk> {
    let mut disk: Disk = registry::options(table)?;
    ensure!((1..=65_536).contains(&disk.size), "`size` is 1 to 65536 MiB");
    // Direct reads and writes are of whole pages (open(2)).
    ensure!(
        (4..=16_384).contains(&disk.block) && disk.block.is_multiple_of(4),
        "`block` is 4 to 16384 KiB, in steps of 4"
    );
    ensure!(disk.block <= disk.size << 10, "`block` must not be larger than `size`");
    if disk.device.is_some() {
        ensure!(
            disk.mode != Access::Write && disk.dir.is_none(),
            "a `device` is only read: leave out `dir` and mode=write"
        );
        disk.mode = Access::Read;
    }
    for path in disk.dir.iter().chain(&disk.device) {
        ensure!(path.is_absolute(), "`dir` and `device` are absolute paths, from /");
    }
    Ok(disk)
}

impl Load for Disk {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let target = self.open()?;
        let place = self.device.clone().unwrap_or_else(|| self.dir());
        let mut notes = Vec::new();
        if self.direct && !target.direct {
            notes.push(format!("disk: {} refuses O_DIRECT: the load uses the page cache", place.display()));
        }
        if let (None, Some(kind @ ("tmpfs" | "ramfs"))) = (&self.device, filesystem(&place).as_deref()) {
            notes.push(format!(
                "disk: {} is in memory ({kind}): the load uses no disk; name another directory with dir=",
                place.display()
            ));
        }
        let asked = Self { seed: Some(self.seed.unwrap_or(around.seed)), dir: self.place(), ..self.clone() };
        let launch = work::own(DEF.name, &asked)?;
        Ok(Some(Launch { note: Some(notes.join("; ")).filter(|notes| !notes.is_empty()), ..launch }))
    }

    fn settle(&self) -> Ns {
        Ns::from_secs(1)
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

/// The counts of a pass.
pub(super) const COUNTS: [&str; 4] = ["read_bytes", "written_bytes", "syncs", "sync_ns"];

/// Returns the work of one pass over the file or the device, for a load with several parts.
///
/// # Errors
/// An option is unknown or wrong, or the file or device cannot be opened.
pub(super) fn chore(options: toml::Table) -> Result<Chore> {
    checked(options)?.chore()
}

/// The file or device that is read and written.
struct Aim {
    file: File,
    direct: bool,
}

impl Disk {
    /// Returns the directory of the file; `None` for a device.
    fn place(&self) -> Option<PathBuf> {
        self.device.is_none().then(|| self.dir())
    }

    fn dir(&self) -> PathBuf {
        let usual = || {
            // By the hierarchy standard, files here outlive a reboot, so they are on a disk.
            let var = PathBuf::from("/var/tmp");
            if rustix::fs::access(&var, rustix::fs::Access::WRITE_OK).is_ok() { var } else { std::env::temp_dir() }
        };
        self.dir.clone().unwrap_or_else(usual)
    }

    fn open(&self) -> Result<Aim> {
        let open = |flags: OFlags| match &self.device {
            Some(device) => {
                let flags = flags.bits().cast_signed();
                File::options().read(true).custom_flags(flags).open(device)
            }
            None => nameless(&self.dir(), flags),
        };
        let what = self.device.clone().unwrap_or_else(|| self.dir());
        let context = || format!("disk: cannot open {}", what.display());
        if self.device.is_none() {
            room(&what, u64::from(self.size) << 20)?;
        }
        match open(OFlags::DIRECT) {
            Ok(file) if self.direct => Ok(Aim { file, direct: true }),
            _ => Ok(Aim { file: open(OFlags::empty()).with_context(context)?, direct: false }),
        }
    }

    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        let work = Work::of(&COUNTS);
        let disk = self.clone();
        let thread = work.thread(move |work| again_and_again(disk.chore()?, work))?;
        work.go_on(vec![thread])
    }

    /// Returns the work of one pass over the file or the device.
    fn chore(self) -> Result<Chore> {
        let target = self.open()?;
        let block = self.block as usize * 1024;
        // Direct transfers need a buffer that starts on a page boundary.
        let mut memory = vec![0u8; block + 4096];
        let start = memory.as_ptr().align_offset(4096);
        let aligned = start..start.saturating_add(block);
        let buffer = memory.get_mut(aligned.clone()).context("disk: no aligned memory")?;
        let mut random = ChaCha8Rng::seed_from_u64(self.seed.unwrap_or(1));
        // Random data also makes a drive work that compresses data or recognises repeated data.
        random.fill_bytes(buffer);
        let blocks = (u64::from(self.size) << 20) / block as u64;
        // A load that reads before it writes needs data in the file. This filling is not yet part of the load.
        if self.device.is_none() && (self.mode == Access::Read || self.order == Walk::Random) {
            let fill = Self { order: Walk::Sequential, ..self.clone() };
            fill.write(&target, buffer, blocks, &mut random, &mut 0, &Work::of(&[]))?;
        }
        // The count continues across passes: a small file is synced as often as a large one.
        let mut written = 0;
        Ok(Box::new(move |work| {
            let buffer = memory.get_mut(aligned.clone()).context("disk: no aligned memory")?;
            if self.mode != Access::Read {
                self.write(&target, buffer, blocks, &mut random, &mut written, work)?;
            }
            if self.mode != Access::Write {
                self.read(&target, buffer, blocks, &mut random, work)?;
            }
            Ok(())
        }))
    }

    fn at(&self, number: u64, blocks: u64, random: &mut ChaCha8Rng) -> u64 {
        match self.order {
            Walk::Sequential => number,
            Walk::Random => random.random_range(0..blocks),
        }
    }

    fn write(
        &self,
        to: &Aim,
        buffer: &[u8],
        blocks: u64,
        random: &mut ChaCha8Rng,
        written: &mut u64,
        work: &Work,
    ) -> Result<()> {
        for number in 0..blocks {
            if work.is_over() {
                return Ok(());
            }
            let at = self.at(number, blocks, random) * buffer.len() as u64;
            to.file.write_all_at(buffer, at).context("disk: writing")?;
            work.add("written_bytes", buffer.len() as u64);
            *written += 1;
            if self.sync > 0 && written.is_multiple_of(u64::from(self.sync)) {
                let began = Monotonic.now();
                to.file.sync_all().context("disk: fsync")?;
                work.add("sync_ns", Monotonic.now().saturating_sub(began));
                work.add("syncs", 1);
            }
        }
        Ok(())
    }

    fn read(&self, from: &Aim, buffer: &mut [u8], blocks: u64, random: &mut ChaCha8Rng, work: &Work) -> Result<()> {
        if !from.direct {
            // Pages in the cache would be read without the disk. The kernel drops only clean pages (posix_fadvise(2)).
            if self.device.is_none() {
                from.file.sync_data().context("disk: fdatasync")?;
            }
            rustix::fs::fadvise(&from.file, 0, None, Advice::DontNeed).context("disk: posix_fadvise")?;
        }
        for number in 0..blocks {
            if work.is_over() {
                return Ok(());
            }
            let at = self.at(number, blocks, random) * buffer.len() as u64;
            let read = from.file.read_at(buffer, at).context("disk: reading")?;
            work.add("read_bytes", read as u64);
            // The end of a device smaller than `size`.
            if read == 0 {
                ensure!(at > 0, "disk: the file or device is empty");
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Opens a file for reading and writing that appears in no directory.
fn nameless(dir: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Permission::RUSR | Permission::WUSR;
    match rustix::fs::open(dir, flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(file.into()),
        // On file systems without O_TMPFILE (open(2)) the file has a name for an instant.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => {
            let path = dir.join(format!("latido-disk-{}", std::process::id()));
            let file = rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, mode)?;
            std::fs::remove_file(&path)?;
            Ok(file.into())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(text: &str) -> Result<Disk> {
        checked(text.parse().unwrap())
    }

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in [
            "size = 0",
            "block = 6",
            "block = 2048\nsize = 1",
            "dir = \"tmp\"",
            "device = \"/dev/sda\"\nmode = \"write\"",
            "mode = \"erase\"",
        ] {
            assert!(disk(bad).is_err(), "{bad}");
        }
        assert_eq!(disk("device = \"/dev/sda\"").unwrap().mode, Access::Read);
    }

    /// One pass writes and reads the whole file and no more, and the file never appears in the directory.
    #[test]
    fn a_pass_is_the_size_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        for order in ["sequential", "random"] {
            let text = format!("size = 1\nblock = 64\nsync = 4\norder = \"{order}\"\ndir = {:?}", dir.path());
            let disk = disk(&text).unwrap();
            let target = disk.open().unwrap();
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
            let work = Work::of(&["read_bytes", "written_bytes", "syncs"]);
            let mut random = ChaCha8Rng::seed_from_u64(1);
            let mut memory = vec![7u8; (64 << 10) + 4096];
            let start = memory.as_ptr().align_offset(4096);
            let buffer = &mut memory[start..start + (64 << 10)];
            // Two blocks of a pass before it count for the first sync.
            let mut written = 2;
            disk.write(&target, buffer, 16, &mut random, &mut written, &work).unwrap();
            assert_eq!(written, 18);
            target.file.write_all_at(buffer, 15 * (64 << 10)).unwrap();
            disk.read(&target, buffer, 16, &mut random, &work).unwrap();
            assert_eq!((work.done("written_bytes"), work.done("syncs")), (1 << 20, 4), "{order}");
            assert_eq!(work.done("read_bytes"), 1 << 20, "{order}");
        }
    }

    /// latido opens a device that the user names for reading only, and its end is no error.
    #[test]
    fn a_file_to_read_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("device");
        std::fs::write(&path, vec![1; 8192]).unwrap();
        let disk = disk(&format!("device = {path:?}\nblock = 4\nsize = 1\ndirect = false")).unwrap();
        let target = disk.open().unwrap();
        let work = Work::of(&["read_bytes"]);
        disk.read(&target, &mut [0; 4096], 256, &mut ChaCha8Rng::seed_from_u64(1), &work).unwrap();
        assert_eq!(work.done("read_bytes"), 8192, "the end of a small device is no error");
        assert!(target.file.write_all_at(&[2], 0).is_err(), "opened for reading alone");
    }
}
