//! Trace files as `trace-cmd record` writes them (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)).
//!
//! A file is taken as one slice of bytes, best a mapping of it: what stands in it is looked at where it lies, and compressed
//! pages are unpacked one chunk at a time.

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

/// How every file begins.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The largest page that a kernel's ring buffer can have (sub-buffers of 2^9 pages of 64 KiB).
const LARGEST_PAGE: u64 = 32 << 20;

/// As many CPUs as a kernel can be built for (CONFIG_NR_CPUS of x86 and arm64): a number above it is none.
const MOST_CPUS: u64 = 1 << 13;

/// So many rings are walked through.
const MOST_RINGS: usize = 1 << 10;

/// An opened trace.
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    /// 6 or 7.
    pub version: u32,
    /// The order of its bytes.
    pub endian: Endian,
    /// How its pages and sections are packed.
    pub packing: Packing,
    /// Where its pages have what.
    pub layout: Layout,
    /// What its events are.
    pub formats: Vec<Described>,
    /// The names of tasks by their number, as the kernel knew them at the end.
    pub comms: Vec<(i32, String)>,
    /// What the file says of itself.
    pub options: Options,
    /// The rings that were read: one by `trace-cmd record`, one more for each instance.
    pub buffers: Vec<Buffer<'a>>,
    /// The text of a latency tracer, where that is what was recorded.
    pub text: Option<Cow<'a, [u8]>>,
    /// What could not be read, and was passed over.
    pub lost: Losses,
}

/// An event's format with the system that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// `sched`; `ftrace` of what the tracers themselves write.
    pub system: String,
    /// What its record holds.
    pub format: Format,
}

/// What a file says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The clock, where the file names one: `local`, `mono`, `x86-tsc`.
    pub clock: Option<String>,
    /// To be added to every time, in the clock's unit: what the file was given, and the time of day at which the clock was
    /// nothing.
    pub offset: i64,
    /// How ticks of a processor's counter become ns.
    pub ticks: Option<Ticks>,
    /// How a guest's times become its host's.
    pub shifts: Shifts,
    /// The system: `Linux board 6.12.0 …`.
    pub uname: Option<String>,
    /// What recorded it.
    pub recorder: Option<String>,
    /// `per_cpu/cpuN/stats` of each CPU.
    pub statistics: Vec<String>,
}

/// The ring of one instance.
#[derive(Clone, Debug)]
pub struct Buffer<'a> {
    /// Its name; empty of the main one.
    pub name: String,
    /// Its clock, where it has one of its own.
    pub clock: Option<String>,
    /// How many bytes a page of it has.
    pub page: usize,
    /// What each CPU wrote.
    pub cpus: Vec<CpuData<'a>>,
}

/// What a CPU wrote into a ring.
#[derive(Clone, Copy, Debug)]
pub struct CpuData<'a> {
    /// The CPU's number.
    pub cpu: u32,
    /// Its pages, packed or not.
    pub bytes: &'a [u8],
    /// Where in the file they begin.
    pub at: u64,
    /// Whether they are packed.
    pub packed: bool,
    /// Whether it wrote more than is here.
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
    /// Opens a file. What stands behind a place that cannot be read is lost, and named in [`Trace::lost`]; what comes before
    /// it is read.
    ///
    /// # Errors
    /// It is no trace, or breaks off before it says what its pages look like.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Bad> {
        let head = Head::read(bytes)?;
        let mut trace = match head.version {
            6 => v6::open(bytes, head),
            7 => v7::open(bytes, head),
            other => Err(Bad::new(MAGIC.len(), format!("version {other} of trace files; 6 and 7 are known"))),
        }?;
        trace.bound(bytes.len());
        Ok(trace)
    }

    /// Gives up what a file tells again and again: data of all CPUs together that is longer than the file, and rings without
    /// end. So a walk through all rings takes no longer than the file is.
    fn bound(&mut self, length: usize) {
        let mut left = length;
        for ring in &mut self.buffers {
            for data in &mut ring.cpus {
                match left.checked_sub(data.bytes.len()) {
                    Some(rest) => left = rest,
                    None => {
                        let what = format!("{} bytes of CPU {} lie over what others wrote", data.bytes.len(), data.cpu);
                        self.lost.push(Bad { at: data.at, what });
                        (data.bytes, data.cut) = (&[], true);
                    }
                }
            }
        }
        if let Some(first) = self.buffers.get(MOST_RINGS) {
            let what = format!("more than {MOST_RINGS} rings; from `{}` on they are not read", first.name);
            self.lost.push(Bad { at: 0, what });
            self.buffers.truncate(MOST_RINGS);
        }
    }

    /// A format by its event's name: `sched_switch`.
    pub fn format(&self, name: &str) -> Option<&Format> {
        self.formats.iter().map(|described| &described.format).find(|format| format.name == name)
    }

    /// The pages of a CPU's data, unpacked where they are packed.
    pub fn pages(&self, buffer: &Buffer<'a>, data: CpuData<'a>) -> Pages<'a> {
        Pages::of(data, buffer.page, Unpacker::of_pages(self.packing, buffer.cpus.len(), buffer.page), self.layout)
    }

    /// What the kernel's own counts in the file say that a ring lost, or that it lost nothing.
    pub fn counted(&self, buffer: &Buffer<'_>) -> Accounts {
        statistics::accounts(&self.options.statistics, &buffer.name)
    }

    /// A time of the file on its clock in ns, with everything applied that the file says of it.
    pub fn time_ns(&self, cpu: u32, stored: u64) -> u64 {
        self.options.time_ns(cpu, stored)
    }
}

impl<'a> Head<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Bad> {
        let mut cursor = Cursor::new(bytes, 0, Endian::Little);
        if cursor.take(MAGIC.len() as u64, "the magic number of a trace").ok() != Some(MAGIC) {
            return Err(Bad::new(0, "no trace file: it does not begin as trace-cmd's files do"));
        }
        let version = cursor.text("the version")?;
        let version = version.parse().map_err(|_| Bad::new(MAGIC.len(), format!("`{version}` is no version")))?;
        let at = cursor.at();
        let endian = match cursor.number(1, "the order of bytes")? {
            0 => Endian::Little,
            1 => Endian::Big,
            other => return Err(Bad::new(at, format!("{other} is no order of bytes"))),
        };
        let mut cursor = Cursor::new(bytes, cursor.at(), endian);
        // Of programs, not of the kernel: nothing is read by it.
        let _long = cursor.number(1, "the size of a long")?;
        let at = cursor.at();
        let page = page_size(cursor.number(4, "the size of a page")?, at)?;
        Ok(Self { cursor, version, endian, page })
    }
}

/// A page's size, if it can be one.
fn page_size(bytes: u64, at: usize) -> Result<usize, Bad> {
    let usable = (64..=LARGEST_PAGE).contains(&bytes);
    usize::try_from(bytes).ok().filter(|_| usable).ok_or_else(|| Bad::new(at, format!("pages of {bytes} bytes")))
}
