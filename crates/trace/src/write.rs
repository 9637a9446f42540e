//! Writes trace files: version 7, not compressed (trace-cmd.dat.v7(5)), as trace-cmd, KernelShark and [`crate::file`] read them.
//!
//! The description of the events comes first, then all options, then the data of the CPUs. A caller that knows the length of this data
//! writes a file from start to end and never goes back.

use crate::{
    bytes::Endian,
    file::{MAGIC, kind},
};
use std::{
    borrow::Cow,
    io::{self, Read, Write},
};

/// The content of a file except its pages. Texts are as the kernel provides them.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    /// The byte order of the machine.
    pub endian: Endian,
    /// The size of a `long` of its programs in bytes.
    pub long: u8,
    /// The size of a page of its memory in bytes.
    pub page: u32,
    /// `events/header_page`.
    pub header_page: Cow<'a, str>,
    /// `events/header_event`.
    pub header_event: Cow<'a, str>,
    /// The formats of the tracers' own events, `events/ftrace/*/format`.
    pub ftrace: Vec<Cow<'a, str>>,
    /// The formats of events by their systems.
    pub systems: Vec<(Cow<'a, str>, Vec<Cow<'a, str>>)>,
    /// `/proc/kallsyms`, or the necessary part of it.
    pub kallsyms: Cow<'a, str>,
    /// `printk_formats`.
    pub printk: Cow<'a, str>,
    /// `saved_cmdlines`: one number and one name per line.
    pub comms: Cow<'a, str>,
    /// The name of the clock: `mono`.
    pub clock: Cow<'a, str>,
    /// The system: `Linux board 6.12.0 …`.
    pub uname: Cow<'a, str>,
    /// The program that recorded the trace.
    pub recorder: Cow<'a, str>,
    /// How many CPUs the machine has.
    pub cpus: u32,
    /// `per_cpu/cpuN/stats` of each CPU.
    pub statistics: Vec<Cow<'a, str>>,
    /// The size of a page of the ring, a sub-buffer, in bytes.
    pub sub_buffer: u32,
}

/// The data of a CPU: the CPU's number, the number of bytes, and their source.
#[derive(Debug)]
pub struct Ring<R> {
    /// The CPU's number.
    pub cpu: u32,
    /// How many bytes its pages have together.
    pub length: u64,
    /// The source of the pages.
    pub pages: R,
}

/// How many bytes are written at a time, at places in the file that are multiples of this. So the page cache has the file in large pieces,
/// and a program that maps the file takes fewer faults. The kernel's own copy from file to file goes page by page.
const PIECE: usize = 1 << 20;

/// A writer that collects its output into whole pieces.
struct Pieces<'a, W> {
    out: &'a mut W,
    piece: Vec<u8>,
    filled: usize,
    written: u64,
}

impl<'a, W: Write> Pieces<'a, W> {
    fn of(out: &'a mut W) -> Self {
        Self { out, piece: vec![0; PIECE], filled: 0, written: 0 }
    }

    /// Copies everything from a reader. Returns how many bytes that were.
    fn take(&mut self, mut from: impl Read) -> io::Result<u64> {
        let before = self.written;
        loop {
            let room = self.piece.get_mut(self.filled..).unwrap_or_default();
            match from.read(room) {
                Ok(0) => return Ok(self.written - before),
                Ok(count) => {
                    self.filled += count;
                    self.written += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            // There is always room: a read of zero bytes would look like the end.
            if self.filled == self.piece.len() {
                self.put()?;
            }
        }
    }

    /// Writes the collected bytes.
    fn put(&mut self) -> io::Result<()> {
        let filled = std::mem::take(&mut self.filled);
        self.out.write_all(self.piece.get(..filled).unwrap_or_default())
    }
}

impl Contents<'_> {
    /// Writes a whole file in large pieces. Returns its length. The caller needs no buffered writer around `out`.
    ///
    /// # Errors
    /// The file cannot be written, or a ring provides fewer bytes than stated.
    pub fn write<R: Read>(&self, out: &mut impl Write, rings: Vec<Ring<R>>) -> io::Result<u64> {
        let lengths: Vec<(u32, u64)> = rings.iter().map(|ring| (ring.cpu, ring.length)).collect();
        let mut out = Pieces::of(out);
        out.take(&*self.head(&lengths))?;
        for ring in rings {
            let copied = out.take(ring.pages.take(ring.length))?;
            if copied < ring.length {
                let what = format!("CPU {}: latido copied {copied} of {} bytes", ring.cpu, ring.length);
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            }
            out.take(io::repeat(0).take(self.aligned(copied) - copied))?;
        }
        out.put()?;
        Ok(out.written)
    }

    /// Returns everything that comes before the pages of the first CPU.
    fn head(&self, rings: &[(u32, u64)]) -> Vec<u8> {
        let mut out = Bytes { bytes: Vec::new(), endian: self.endian };
        out.bytes.extend_from_slice(MAGIC);
        out.text("7");
        out.number(u64::from(self.endian == Endian::Big), 1);
        out.number(u64::from(self.long), 1);
        out.number(u64::from(self.page), 4);
        // Not compressed: the name is `none`, the version is empty.
        out.text("none");
        out.text("");
        let first = out.bytes.len();
        out.number(0, 8);
        let mut options = self.places(&mut out);
        self.facts(&mut options);
        let place = out.bytes.len() as u64;
        // The pages come after the options and the head of their section, at the start of a memory page.
        let buffer_option = 8 + 1 + self.clock.len() as u64 + 1 + 4 + 4 + 20 * rings.len() as u64;
        let own = kind::HEAD + options.bytes.len() as u64 + OPTION_HEAD + buffer_option + OPTION_HEAD + 8;
        let section = place + own;
        let data = self.aligned(section + kind::HEAD);
        options.option(kind::BUFFER, |option| {
            option.number(section, 8);
            option.text("");
            option.text(&self.clock);
            option.number(u64::from(self.sub_buffer), 4);
            option.number(rings.len() as u64, 4);
            let mut at = data;
            for (cpu, length) in rings {
                option.number(u64::from(*cpu), 4);
                option.number(at, 8);
                option.number(*length, 8);
                at += self.aligned(*length);
            }
        });
        options.option(kind::DONE, |option| option.number(0, 8));
        out.section(kind::OPTIONS, options.bytes.len() as u64);
        out.bytes.append(&mut options.bytes);
        let end = rings.iter().fold(data, |at, (_, length)| at + self.aligned(*length));
        out.section(kind::BUFFER, end - (section + kind::HEAD));
        out.bytes.resize(usize::try_from(data).unwrap_or(out.bytes.len()), 0);
        out.put_at(first, place);
        out.bytes
    }

    /// Writes the sections that describe the events. Returns the options with their places.
    fn places(&self, out: &mut Bytes) -> Bytes {
        let mut options = Bytes { bytes: Vec::new(), endian: self.endian };
        let mut section = |id: u16, body: &dyn Fn(&mut Bytes)| {
            let mut inside = Bytes { bytes: Vec::new(), endian: self.endian };
            body(&mut inside);
            let place = out.bytes.len() as u64;
            options.option(id, |option| option.number(place, 8));
            out.section(id, inside.bytes.len() as u64);
            out.bytes.append(&mut inside.bytes);
        };
        section(kind::HEADER_INFO, &|out| {
            for (name, text) in [("header_page", &self.header_page), ("header_event", &self.header_event)] {
                out.text(name);
                out.counted(text, 8);
            }
        });
        section(kind::FTRACE_EVENTS, &|out| out.formats(&self.ftrace));
        section(kind::EVENT_FORMATS, &|out| {
            out.number(self.systems.len() as u64, 4);
            for (name, formats) in &self.systems {
                out.text(name);
                out.formats(formats);
            }
        });
        section(kind::KALLSYMS, &|out| out.counted(&self.kallsyms, 4));
        section(kind::PRINTK, &|out| out.counted(&self.printk, 4));
        section(kind::CMDLINES, &|out| out.counted(&self.comms, 8));
        options
    }

    /// Writes the options that are texts and numbers.
    fn facts(&self, options: &mut Bytes) {
        for (id, text) in [(kind::TRACECLOCK, &self.clock), (kind::UNAME, &self.uname), (kind::VERSION, &self.recorder)]
        {
            options.option(id, |option| option.text(text));
        }
        options.option(kind::CPUCOUNT, |option| option.number(u64::from(self.cpus), 4));
        for text in &self.statistics {
            options.option(kind::CPUSTAT, |option| option.text(text));
        }
    }

    /// Returns the next place where a page may start: readers map the pages.
    fn aligned(&self, place: u64) -> u64 {
        place.next_multiple_of(u64::from(self.page.max(1)))
    }
}

/// The size of the number and the length before an option, in bytes.
const OPTION_HEAD: u64 = 6;

/// Bytes in the byte order of a machine.
struct Bytes {
    bytes: Vec<u8>,
    endian: Endian,
}

impl Bytes {
    /// Appends a number as this many bytes, up to 8.
    fn number(&mut self, number: u64, bytes: usize) {
        self.bytes.extend(self.ordered(number, bytes));
    }

    fn ordered(&self, number: u64, bytes: usize) -> impl Iterator<Item = u8> + use<> {
        let mut all = number.to_le_bytes();
        let skipped = match self.endian {
            Endian::Little => 0,
            Endian::Big => {
                all.reverse();
                8usize.saturating_sub(bytes)
            }
        };
        all.into_iter().skip(skipped).take(bytes)
    }

    /// Overwrites eight bytes with a number.
    fn put_at(&mut self, at: usize, number: u64) {
        let ordered = self.ordered(number, 8);
        self.bytes.iter_mut().skip(at).zip(ordered).for_each(|(there, byte)| *there = byte);
    }

    /// Appends a text up to its first NUL, and a NUL after it.
    fn text(&mut self, text: &str) {
        self.bytes.extend(text.bytes().take_while(|byte| *byte != 0));
        self.bytes.push(0);
    }

    /// Appends a text, after its length as a number of `bytes` bytes.
    fn counted(&mut self, text: &str, bytes: usize) {
        self.number(text.len() as u64, bytes);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn formats(&mut self, formats: &[Cow<'_, str>]) {
        self.number(formats.len() as u64, 4);
        formats.iter().for_each(|format| self.counted(format, 8));
    }

    /// Appends the head of a section.
    fn section(&mut self, id: u16, size: u64) {
        self.number(u64::from(id), 2);
        // No flags, no description.
        self.number(0, 2);
        self.number(0, 4);
        self.number(size, 8);
    }

    fn option(&mut self, id: u16, data: impl FnOnce(&mut Self)) {
        let mut inside = Self { bytes: Vec::new(), endian: self.endian };
        data(&mut inside);
        self.number(u64::from(id), 2);
        self.number(inside.bytes.len() as u64, 4);
        self.bytes.append(&mut inside.bytes);
    }
}

#[cfg(test)]
mod tests;
