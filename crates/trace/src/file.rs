//! Trace files as `trace-cmd record` writes them (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)).
//!
//! latido reads a file as one slice of bytes, preferably a memory mapping. It reads the content in place, and unpacks compressed pages one
//! chunk at a time.

mod cpu;
pub(crate) mod kind;
mod meta;
mod statistics;
mod times;
mod unpack;
mod v6;
mod v7;

use crate::{
    accounts::Accounts,
    bytes::{Bad, Cursor, Endian, Losses},
    format::Format,
    page::Layout,
};
pub use cpu::{Chunks, Pages};
pub(crate) use statistics::Statistics;
use std::borrow::Cow;
pub use times::{Shift, Shifts, Ticks};
pub use unpack::Packing;
use unpack::Unpacker;

/// The first bytes of every file.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The largest page that a kernel's ring buffer can have (sub-buffers of 2^9 pages of 64 KiB).
const LARGEST_PAGE: u64 = 32 << 20;

/// The most CPUs that a kernel can be built for (CONFIG_NR_CPUS of x86 and arm64): latido refuses a larger number.
const MOST_CPUS: u64 = 1 << 13;

/// The most rings that latido reads.
const MOST_RINGS: usize = 1 << 10;

/// An opened trace.
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    /// 6 or 7.
    pub version: u32,
    /// The byte order of the file.
    pub endian: Endian,
    /// The compression of its pages and sections.
    pub packing: Packing,
    /// The layout of its pages.
    pub layout: Layout,
    /// The formats of its events.
    pub formats: Vec<Described>,
    /// The names of tasks by number, as the kernel knew them at the end.
    pub comms: Vec<(i32, String)>,
    /// What the file states about itself.
    pub options: Options,
    /// The rings: one from `trace-cmd record`, and one for each instance.
    pub buffers: Vec<Buffer<'a>>,
    /// The text of a latency tracer, if that is what was recorded.
    pub text: Option<Cow<'a, [u8]>>,
    /// What could not be read, and was skipped.
    pub lost: Losses,
}

/// An event's format with the system that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// `sched`; `ftrace` for the tracers' own events.
    pub system: String,
    /// The fields of its record.
    pub format: Format,
}

/// What a file states about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The clock, if the file names one: `local`, `mono`, `x86-tsc`.
    pub clock: Option<String>,
    /// The offset to add to every time, in the clock's unit: the offset that the file states, and the time of day at the clock's zero.
    pub offset: i64,
    /// The conversion of ticks of a processor's counter to ns.
    pub ticks: Option<Ticks>,
    /// The conversion of a guest's times to its host's.
    pub shifts: Shifts,
    /// The system: `Linux board 6.12.0 …`.
    pub uname: Option<String>,
    /// The program that recorded the file.
    pub recorder: Option<String>,
    /// `per_cpu/cpuN/stats` of each CPU.
    pub statistics: Vec<String>,
}

/// The ring of one instance.
#[derive(Clone, Debug)]
pub struct Buffer<'a> {
    /// Its name; empty for the main ring.
    pub name: String,
    /// Its clock, if it has a separate one.
    pub clock: Option<String>,
    /// The size of its pages in bytes.
    pub page: usize,
    /// The data of each CPU.
    pub cpus: Vec<CpuData<'a>>,
}

/// The data that a CPU wrote into a ring.
#[derive(Clone, Copy, Debug)]
pub struct CpuData<'a> {
    /// The CPU's number.
    pub cpu: u32,
    /// Its pages, packed or not.
    pub bytes: &'a [u8],
    /// The place in the file where they start.
    pub at: u64,
    /// Whether they are packed.
    pub packed: bool,
    /// Whether the CPU wrote more than this data.
    pub cut: bool,
}

/// The head of every file.
struct Head<'a> {
    cursor: Cursor<'a>,
    version: u32,
    endian: Endian,
    page: usize,
}

impl<'a> Trace<'a> {
    /// Opens a file. What comes before an unreadable place is read; what comes after it is lost and listed in [`Trace::lost`].
    ///
    /// # Errors
    /// The file is not a trace, or ends before it describes its pages.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Bad> {
        let head = Head::read(bytes)?;
        let mut trace = match head.version {
            6 => v6::open(bytes, head),
            7 => v7::open(bytes, head),
            other => {
                Err(Bad::new(MAGIC.len(), format!("version {other} of trace files, but latido reads only 6 and 7")))
            }
        }?;
        trace.bound(bytes.len());
        Ok(trace)
    }

    /// Drops repeated content: data of all CPUs together that is longer than the file, and rings above the limit. So reading all rings
    /// takes no longer than the file's length allows.
    fn bound(&mut self, length: usize) {
        let mut left = length;
        for ring in &mut self.buffers {
            for data in &mut ring.cpus {
                match left.checked_sub(data.bytes.len()) {
                    Some(rest) => left = rest,
                    None => {
                        let what =
                            format!("{} bytes of CPU {} overlap the data of other CPUs", data.bytes.len(), data.cpu);
                        self.lost.push(Bad { at: data.at, what });
                        (data.bytes, data.cut) = (&[], true);
                    }
                }
            }
        }
        if let Some(first) = self.buffers.get(MOST_RINGS) {
            let what = format!("more than {MOST_RINGS} rings; latido does not read those from `{}` on", first.name);
            self.lost.push(Bad { at: 0, what });
            self.buffers.truncate(MOST_RINGS);
        }
    }

    /// Returns the format of an event: `sched_switch`.
    pub fn format(&self, name: &str) -> Option<&Format> {
        self.formats.iter().map(|described| &described.format).find(|format| format.name == name)
    }

    /// Returns the pages of a CPU's data, unpacked if they are packed.
    pub fn pages(&self, buffer: &Buffer<'a>, data: CpuData<'a>) -> Pages<'a> {
        Pages::of(data, buffer.page, Unpacker::of_pages(self.packing, buffer.cpus.len(), buffer.page), self.layout)
    }

    /// Returns what the kernel's own counts in the file report: that a ring lost events, or that it lost none.
    pub fn counted(&self, buffer: &Buffer<'_>) -> Accounts {
        statistics::accounts(&self.options.statistics, &buffer.name)
    }

    /// Returns a time of the file on its clock in ns, with all of the file's corrections applied.
    pub fn time_ns(&self, cpu: u32, stored: u64) -> u64 {
        self.options.time_ns(cpu, stored)
    }
}

impl<'a> Head<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Bad> {
        let mut cursor = Cursor::new(bytes, 0, Endian::Little);
        if cursor.take(MAGIC.len() as u64, "the magic number of a trace").ok() != Some(MAGIC) {
            return Err(Bad::new(0, "not a trace file: it does not begin as trace-cmd's files do"));
        }
        let version = cursor.text("the version")?;
        let version = version.parse().map_err(|_| Bad::new(MAGIC.len(), format!("`{version}` is not a version")))?;
        let at = cursor.at();
        let endian = match cursor.number(1, "the byte order")? {
            0 => Endian::Little,
            1 => Endian::Big,
            other => return Err(Bad::new(at, format!("{other} is not a byte order"))),
        };
        let mut cursor = Cursor::new(bytes, cursor.at(), endian);
        // The size of a long of programs, not of the kernel: latido does not use it.
        let _long = cursor.number(1, "the size of a long")?;
        let at = cursor.at();
        let page = page_size(cursor.number(4, "the size of a page")?, at)?;
        Ok(Self { cursor, version, endian, page })
    }
}

/// Returns a page's size, if it is possible.
fn page_size(bytes: u64, at: usize) -> Result<usize, Bad> {
    let usable = (64..=LARGEST_PAGE).contains(&bytes);
    usize::try_from(bytes).ok().filter(|_| usable).ok_or_else(|| Bad::new(at, format!("pages of {bytes} bytes")))
}
