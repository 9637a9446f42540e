//! A guest's initial file system: latido as its first program, the requests, and the programs of loads. The same contents give the same
//! bytes.

use super::{
    arch::Arch,
    brought::{Brought, libraries},
    modules::Module,
};
use anyhow::{Context, Result, ensure};
use latido_agent::far::file;
use latido_agent::{guest, machine::LABORATORY};
use latido_model::{
    machine::Emulated,
    protocol::{Request, hex},
};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The files of a guest.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// By path, without the leading slash. A parent comes before its contents.
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug)]
enum Entry {
    Directory,
    Link(String),
    /// A file, read when it is added, so that the guest boots exactly what was hashed.
    Bytes {
        mode: u32,
        bytes: Arc<[u8]>,
    },
    /// A character device with its numbers.
    Device(u32, u32),
}

/// What makes one replicate of a sweep a different draw from the next. It depends on the seed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// How long the guest waits before it starts, ns.
    pub offset_ns: u64,
    /// How many zero bytes its image contains.
    pub padding: u64,
}

impl Member {
    /// Returns the replicate of a cell's seed: an offset within 1 ms in steps of 1 us, and padding of up to 64 pages.
    pub fn of(seed: u64) -> Self {
        // The low bits of a seed decide other things, so the seed is mixed: splitmix64's finaliser (Steele et al., OOPSLA 2014).
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        Self { offset_ns: mixed % 1000 * 1000, padding: (mixed >> 32) % 64 * 4096 }
    }
}

/// Returns the latido executable for guests of an architecture.
///
/// # Errors
/// There is no such executable; the error names what builds it.
pub fn guests_own(arch: Arch) -> Result<PathBuf> {
    match arch.is_own() {
        true => std::env::current_exe().context("cannot find latido's own file"),
        false => file::file(arch.word(), "the guest"),
    }
}

impl Image {
    /// Makes the part that all guests of one latido share: directories, the console, latido with its libraries, and programs.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn shared(arch: Arch, programs: &[Brought]) -> Result<Self> {
        let mut image = Self::default();
        // The first entry is the root directory. Without it every user could write there, and root starts no program that other users may
        // replace.
        for path in [".", "dev", "proc", "sys", "tmp", "run", "bin", "lib", "lab", "etc", "var", "var/tmp"] {
            image.entries.insert(path.into(), Entry::Directory);
        }
        image.entries.insert("dev/console".into(), Entry::Device(5, 1));
        image.entries.insert("lib64".into(), Entry::Link("lib".into()));
        image.bytes("etc/passwd", b"root:x:0:0:root:/:/bin/sh\n".to_vec());
        let own = guests_own(arch)?;
        if arch.is_own() {
            // Read from the file: what a process has mapped depends on what it did before.
            for library in libraries(&own)? {
                image.library(&library)?;
            }
        } else {
            ensure!(
                programs.is_empty(),
                "{} is a program for this machine, and the guest has another architecture: it can run only the loads \
                 that latido generates itself",
                programs.first().map_or(String::new(), |program| program.from.display().to_string())
            );
        }
        image.file("init", &own)?;
        for program in programs {
            image.above(&program.at);
            image.file(&program.at, &program.from)?;
            for library in libraries(&program.from)? {
                image.library(&library)?;
            }
        }
        Ok(image)
    }

    /// Adds the directories above a path.
    fn above(&mut self, path: &str) {
        for (end, _) in path.match_indices('/') {
            let parent = path.get(..end).unwrap_or_default();
            self.entries.entry(parent.into()).or_insert(Entry::Directory);
        }
    }

    /// Returns the total size of its files, bytes.
    pub fn size(&self) -> u64 {
        let lengths =
            self.entries.values().map(|entry| if let Entry::Bytes { bytes, .. } = entry { bytes.len() } else { 0 });
        lengths.map(|length| length as u64).sum()
    }

    /// Returns the SHA-256 of the image.
    ///
    /// # Errors
    /// None in practice.
    pub fn sha256(&self) -> Result<String> {
        let mut hash = Sha256::new();
        self.write(&mut hash)?;
        Ok(hex(&hash.finalize()))
    }

    /// Returns the SHA-256 of the latido executable in it; empty if there is none.
    pub fn own_sha256(&self) -> String {
        match self.entries.get("init") {
            Some(Entry::Bytes { bytes, .. }) => hex(&Sha256::digest(bytes)),
            _ => String::new(),
        }
    }

    /// Adds modules. The guest loads them in this order.
    pub fn with_modules(mut self, modules: &[Module]) -> Self {
        let mut list = String::new();
        for module in modules {
            self.bytes(&format!("lab/{}.ko", module.name), module.bytes.clone());
            list.push_str(&format!("{}.ko {}\n", module.name, module.parameters));
        }
        self.bytes(guest::MODULES, list.into_bytes());
        self
    }

    /// Adds settings. The guest applies them after its modules are loaded.
    pub fn with_settings(mut self, settings: &[String]) -> Self {
        if !settings.is_empty() {
            self.bytes(guest::SETTINGS, settings.join("\n").into_bytes());
        }
        self
    }

    /// Adds a library. All libraries go into one directory, whatever directory they come from.
    fn library(&mut self, path: &Path) -> Result<()> {
        let Some(name) = path.file_name() else { return Ok(()) };
        self.file(&format!("lib/{}", name.to_string_lossy()), path)
    }

    /// Adds an executable file of the host.
    fn file(&mut self, path: &str, from: &Path) -> Result<()> {
        let bytes: Arc<[u8]> = fs::read(from).with_context(|| format!("{}", from.display()))?.into();
        if let Some(Entry::Bytes { bytes: before, .. }) = self.entries.get(path) {
            ensure!(
                *before == bytes,
                "the guest needs two files with the same path, {path}, and they differ: one of them is {}",
                from.display()
            );
        }
        self.entries.insert(path.into(), Entry::Bytes { mode: 0o755, bytes });
        Ok(())
    }

    fn bytes(&mut self, path: &str, bytes: Vec<u8>) {
        self.entries.insert(path.into(), Entry::Bytes { mode: 0o644, bytes: bytes.into() });
    }

    /// Adds what one guest is requested to do.
    ///
    /// # Errors
    /// None in practice.
    pub fn asking(mut self, requests: &[Request], member: Member, about: &Emulated) -> Result<Self> {
        let about = Emulated { offset_ns: member.offset_ns, padding: member.padding, ..about.clone() };
        self.bytes(LABORATORY, serde_json::to_vec(&about)?);
        self.bytes(guest::REQUESTS, serde_json::to_vec(requests)?);
        self.bytes(guest::OFFSET, member.offset_ns.to_string().into_bytes());
        self.bytes("lab/padding", vec![0; usize::try_from(member.padding)?]);
        Ok(self)
    }

    /// Writes the image in the `newc` format (kernel Documentation/driver-api/early-userspace/buffer-format.rst), uncompressed: unpacking
    /// would cost the guest more than it saves.
    ///
    /// # Errors
    /// A file cannot be read, or the image cannot be written.
    pub fn write(&self, out: &mut impl Write) -> Result<()> {
        let mut number = 0;
        for (path, entry) in &self.entries {
            number += 1;
            let (mode, data, device): (u32, &[u8], _) = match entry {
                Entry::Directory => (0o040_755, &[], (0, 0)),
                Entry::Link(to) => (0o120_777, to.as_bytes(), (0, 0)),
                Entry::Bytes { mode, bytes } => (0o100_000 | mode, bytes, (0, 0)),
                Entry::Device(major, minor) => (0o020_600, &[], (*major, *minor)),
            };
            member(out, number, path, mode, data, device).context("the image cannot be written")?;
        }
        member(out, 0, "TRAILER!!!", 0, &[], (0, 0)).context("the image cannot be written")
    }
}

/// Writes one member of the archive, with owner root and time 0.
fn member(out: &mut impl Write, number: u32, path: &str, mode: u32, data: &[u8], device: (u32, u32)) -> io::Result<()> {
    let length = u32::try_from(data.len()).map_err(|_| io::Error::other("an image cannot contain a file of 4 GiB"))?;
    let name = u32::try_from(path.len() + 1).map_err(io::Error::other)?;
    write!(out, "070701")?;
    for field in [number, mode, 0, 0, 1, 0, length, 0, 0, device.0, device.1, name, 0] {
        write!(out, "{field:08x}")?;
    }
    let padding = |length: usize| vec![0_u8; length.next_multiple_of(4) - length];
    out.write_all(path.as_bytes())?;
    out.write_all(&[0])?;
    out.write_all(&padding(110 + path.len() + 1))?;
    out.write_all(data)?;
    out.write_all(&padding(data.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};
    use std::process::Command;

    /// The same contents give the same bytes, and another replicate's bytes differ.
    #[test]
    fn an_image_is_its_contents() {
        let bytes = |seed: u64| {
            let mut image = Image::default();
            image.entries.insert("a".into(), Entry::Directory);
            let mut bytes = Vec::new();
            image
                .asking(&[Request::Recover], Member::of(seed), &Emulated::default())
                .unwrap()
                .write(&mut bytes)
                .unwrap();
            bytes
        };
        assert_eq!(bytes(7), bytes(7));
        assert_ne!(bytes(7), bytes(8));
        assert_eq!(bytes(7).len() % 4, 0);
    }

    /// Two libraries with one name must have the same contents; otherwise it is an error.
    #[test]
    fn two_libraries_of_one_name_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = |place: &str| dir.path().join(place).join("libm.so");
        for (place, bytes) in [("a", "one"), ("b", "one"), ("c", "other")] {
            fs::create_dir(dir.path().join(place)).unwrap();
            fs::write(path(place), bytes).unwrap();
        }
        let mut image = Image::default();
        image.library(&path("a")).unwrap();
        image.library(&path("b")).unwrap();
        let before = image.sha256().unwrap();
        assert!(image.library(&path("c")).unwrap_err().to_string().contains("lib/libm.so"));
        assert_eq!(image.sha256().unwrap(), before);
    }

    /// `cpio` can read the archive.
    #[test]
    fn the_archive_is_one() {
        let mut bytes = Vec::new();
        Image::default()
            .asking(&[], Member { offset_ns: 5, padding: 4096 }, &Emulated::default())
            .unwrap()
            .write(&mut bytes)
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        fs::write(&path, bytes).unwrap();
        let Ok(output) = Command::new("cpio").args(["-t", "--quiet"]).stdin(fs::File::open(path).unwrap()).output()
        else {
            return skip("the image of a guest", Need::Program, "cpio is not installed");
        };
        assert_eq!(String::from_utf8_lossy(&output.stdout), "lab/about\nlab/offset\nlab/padding\nlab/requests\n");
    }
}
