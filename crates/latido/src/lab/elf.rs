//! Reads from a program's own file which libraries it needs (elf(5)). latido runs nothing: to ask a program's loader would run the loader
//! that the file names.

use anyhow::{Context, Result, bail, ensure};

/// The parts of a file that determine its libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Elf {
    /// The class (32 or 64 bits) and the instruction set of the file. A library of another kind does not fit.
    pub kind: (u8, u16),
    /// The loader; `None` for a static program and for most libraries.
    pub loader: Option<String>,
    /// The names of the needed libraries.
    pub needed: Vec<String>,
    /// The directories searched first, with `$ORIGIN` not yet replaced.
    pub paths: Vec<String>,
}

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
const PT_NOTE: u64 = 4;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;

/// The most libraries that a file may need, and the most segments.
const MOST: usize = 4096;

/// A segment.
struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    length: u64,
}

/// Reads little-endian numbers and texts. A place outside the file is an error.
struct File<'a> {
    bytes: &'a [u8],
    wide: bool,
}

impl<'a> File<'a> {
    fn part(&self, at: u64, length: u64) -> Result<&'a [u8]> {
        let end = at.checked_add(length).and_then(|end| usize::try_from(end).ok());
        let part = end.and_then(|end| self.bytes.get(usize::try_from(at).ok()?..end));
        part.context("it names a place outside of the file")
    }

    fn number(&self, at: u64, length: u64) -> Result<u64> {
        Ok(self.part(at, length)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads a number with the width of an address.
    fn word(&self, at: u64) -> Result<u64> {
        self.number(at, if self.wide { 8 } else { 4 })
    }

    fn text(&self, at: u64) -> Result<String> {
        let rest = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..));
        let rest = rest.context("it names a text outside of the file")?;
        let end = rest.iter().position(|byte| *byte == 0).context("it has a text without an end")?;
        let text = rest.get(..end).unwrap_or_default();
        Ok(std::str::from_utf8(text).context("it has a name that is not text")?.to_owned())
    }

    fn segments(&self) -> Result<Vec<Segment>> {
        let (table, size, count) = match self.wide {
            true => (self.word(32)?, self.number(54, 2)?, self.number(56, 2)?),
            false => (self.word(28)?, self.number(42, 2)?, self.number(44, 2)?),
        };
        ensure!(count <= MOST as u64, "it has {count} segments");
        let at = |number: u64| table.checked_add(number * size).context("the position of its segments is invalid");
        (0..count).map(|number| self.segment(at(number)?)).collect()
    }

    fn segment(&self, at: u64) -> Result<Segment> {
        let field = |wide: u64, narrow: u64| self.word(at + if self.wide { wide } else { narrow });
        let (offset, address, length) = (field(8, 4)?, field(16, 8)?, field(32, 16)?);
        Ok(Segment { kind: self.number(at, 4)?, offset, address, length })
    }
}

/// The note with which a kernel names its entry for PVH guests: `XEN_ELFNOTE_PHYS32_ENTRY` (kernel include/xen/interface/elfnote.h).
const PVH_ENTRY: u64 = 18;

/// Returns whether a file is a 64-bit kernel with an entry for PVH guests.
pub(super) fn boots_by_pvh(bytes: &[u8]) -> bool {
    let file = File { bytes, wide: true };
    let segments = if bytes.starts_with(b"\x7fELF\x02\x01") { file.segments().unwrap_or_default() } else { Vec::new() };
    segments
        .iter()
        .filter(|segment| segment.kind == PT_NOTE)
        .any(|notes| names_pvh_entry(&file, notes).unwrap_or(false))
}

fn names_pvh_entry(file: &File<'_>, notes: &Segment) -> Result<bool> {
    let (mut at, end) = (notes.offset, notes.offset.saturating_add(notes.length));
    while at < end {
        let [name, about, kind] = [file.number(at, 4)?, file.number(at + 4, 4)?, file.number(at + 8, 4)?];
        if kind == PVH_ENTRY && file.part(at + 12, name)? == b"Xen\0" {
            return Ok(true);
        }
        at += 12 + name.next_multiple_of(4) + about.next_multiple_of(4);
    }
    Ok(false)
}

impl Elf {
    /// Reads a file; `None` if it is not an ELF file.
    ///
    /// # Errors
    /// What is invalid in it.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>> {
        if bytes.get(..4) != Some(b"\x7fELF") {
            return Ok(None);
        }
        let (class, order) = (bytes.get(4).copied(), bytes.get(5).copied());
        let (Some(class @ (1 | 2)), Some(1)) = (class, order) else {
            bail!("it is not a program for a little-endian machine")
        };
        let file = File { bytes, wide: class == 2 };
        let machine = u16::try_from(file.number(18, 2)?)?;
        let mut elf = Self { kind: (class, machine), ..Self::default() };
        let segments = file.segments()?;
        for segment in &segments {
            match segment.kind {
                PT_INTERP => elf.loader = Some(file.text(segment.offset)?),
                PT_DYNAMIC => elf.dynamic(&file, segment, &segments)?,
                _ => {}
            }
        }
        Ok(Some(elf))
    }

    fn dynamic(&mut self, file: &File<'_>, segment: &Segment, segments: &[Segment]) -> Result<()> {
        let step = if file.wide { 8 } else { 4 };
        let (mut texts, mut names) = (None, Vec::new());
        for at in (0..segment.length / (2 * step)).map(|entry| segment.offset.saturating_add(entry * 2 * step)) {
            match (file.word(at)?, file.word(at.saturating_add(step))?) {
                (0, _) => break,
                (DT_STRTAB, address) => texts = Some(address),
                (what @ (DT_NEEDED | DT_RPATH | DT_RUNPATH), name) => names.push((what, name)),
                _ => {}
            }
            ensure!(names.len() <= MOST, "it needs more than {MOST} libraries");
        }
        if names.is_empty() {
            return Ok(());
        }
        // This is an address in memory. A segment maps it to a place in the file.
        let address = texts.context("it does not say where its names are")?;
        let within =
            |load: &&Segment| load.kind == PT_LOAD && address >= load.address && address - load.address < load.length;
        let load = segments.iter().find(within).context("its names are outside of the loaded segments")?;
        let texts = load.offset.saturating_add(address - load.address);
        for (what, name) in names {
            let text = file.text(texts.saturating_add(name))?;
            match what {
                DT_NEEDED => self.needed.push(text),
                _ => self.paths.extend(text.split(':').filter(|path| !path.is_empty()).map(str::to_owned)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A dynamic program names its loader and the C library.
    #[test]
    fn a_program_names_what_it_needs() {
        let elf = Elf::read(&fs::read("/bin/sh").unwrap()).unwrap().unwrap();
        assert!(elf.loader.is_some_and(|loader| loader.starts_with("/lib")));
        assert!(elf.needed.iter().any(|name| name.starts_with("libc.")), "{:?}", elf.needed);
        assert_eq!(Elf::read(b"#!/bin/sh\n").unwrap(), None);
    }

    /// With any byte changed or any end cut off, reading gives an error or an answer, and never more libraries than the limit. A file that
    /// ends before the number of its segments gives an error, and one without the first four bytes is no ELF file.
    #[test]
    fn a_broken_file_is_an_error() {
        let whole = fs::read("/bin/sh").unwrap();
        let head = whole.len().min(4096);
        for cut in 0..head {
            let read = Elf::read(&whole[..cut]);
            assert!(cut >= 4 || matches!(read, Ok(None)), "{cut}: {read:?}");
            // The number of segments ends at byte 46 of a 32-bit file, and at byte 58 of a 64-bit file.
            assert!(!(4..46).contains(&cut) || read.is_err(), "{cut}: {read:?}");
        }
        let mut changed = whole;
        for at in 4..1024.min(head) {
            let before = changed[at];
            for byte in [0, 1, 0x7f, 0xff] {
                changed[at] = byte;
                let _ = Elf::read(&changed).map(|elf| assert!(elf.is_none_or(|elf| elf.needed.len() <= MOST + 1)));
            }
            changed[at] = before;
        }
    }
}
