//! Reads version 7: sections that a chain of options locates.

use super::{
    Buffer, Chunks, CpuData, Head, MOST_CPUS, Options, Packing, Trace,
    kind::{BUFFER, BUFFER_TEXT, CMDLINES, DONE, EVENT_FORMATS, FTRACE_EVENTS, HEAD, HEADER_INFO, OPTIONS},
    meta, page_size,
    unpack::{MOST, Unpacker},
};
use crate::bytes::{Bad, Cursor, Endian, Losses};
use std::{borrow::Cow, collections::BTreeSet};

/// The most bytes of options: a chain with more does not come from a real file.
const MOST_OPTIONS: usize = 16 << 20;

/// The most sections of options in a file.
const MOST_LINKS: usize = 1 << 10;

/// An option as the file contains it.
struct Raw {
    id: u16,
    data: Vec<u8>,
    /// The place of its section.
    at: u64,
}

/// The bytes of a file, with what is necessary to find its sections.
struct Sections<'a> {
    bytes: &'a [u8],
    endian: Endian,
    packing: Option<Packing>,
    packer: String,
}

pub fn open<'a>(bytes: &'a [u8], head: Head<'a>) -> Result<Trace<'a>, Bad> {
    let Head { mut cursor, version, endian, .. } = head;
    let packer = cursor.text("the name of the compression")?;
    cursor.text("the version of the compression")?;
    let first = cursor.number(8, "the place of the options")?;
    let packing = Packing::named(&packer);
    let sections = Sections { bytes, endian, packing, packer };
    let mut lost = Losses::default();
    let raw = sections.options(first, &mut lost)?;
    let place = |id: u16| raw.iter().find(|option| option.id == id).and_then(|option| endian.u64(&option.data, 0));
    let layout = match place(HEADER_INFO) {
        Some(at) => {
            let body = sections.body(at, u64::from(HEADER_INFO))?;
            meta::header_info(&mut Cursor::new(&body, 0, endian), endian).map_err(|bad| bad.further(at))?
        }
        None => return Err(Bad { at: first, what: "the file does not describe its pages".into() }),
    };
    let mut trace = Trace {
        version,
        endian,
        packing: packing.unwrap_or(Packing::None),
        layout,
        formats: Vec::new(),
        comms: Vec::new(),
        options: Options::default(),
        buffers: Vec::new(),
        text: None,
        lost,
    };
    for (id, at) in [FTRACE_EVENTS, EVENT_FORMATS, CMDLINES].into_iter().filter_map(|id| Some((id, place(id)?))) {
        if let Err(bad) = sections.describe(id, at, &mut trace) {
            trace.lost.push(bad);
        }
    }
    for option in &raw {
        let read = match option.id {
            BUFFER => sections.buffer(option, &mut trace.lost).map(|buffer| trace.buffers.push(buffer)),
            BUFFER_TEXT => sections.text(option, &mut trace.lost).map(|text| trace.text = Some(text)),
            id => meta::option(id, &option.data, endian, &mut trace.options),
        };
        if let Err(bad) = read {
            trace.lost.push(bad.further(option.at));
        }
    }
    Ok(trace)
}

impl<'a> Sections<'a> {
    /// Returns a cursor after the head of a section, with the section's flags and size.
    fn section(&self, at: u64, id: u64) -> Result<(Cursor<'a>, u64, u64), Bad> {
        let missing = || Bad {
            at: self.bytes.len() as u64,
            what: format!("section {id} should begin at byte {at}, but the file ends here"),
        };
        let place = usize::try_from(at).ok().filter(|at| *at < self.bytes.len()).ok_or_else(missing)?;
        let mut cursor = Cursor::new(self.bytes, place, self.endian);
        let found = cursor.number(2, "the kind of a section")?;
        if found != id {
            return Err(Bad { at, what: format!("section {id} should begin here, but section {found} does") });
        }
        let flags = cursor.number(2, "the flags of a section")?;
        cursor.number(4, "the description of a section")?;
        let size = cursor.number(8, "the size of a section")?;
        Ok((cursor, flags, size))
    }

    /// Returns a section's content, unpacked if it is packed.
    fn body(&self, at: u64, id: u64) -> Result<Cow<'a, [u8]>, Bad> {
        let (mut cursor, flags, size) = self.section(at, id)?;
        if flags & 1 == 0 {
            return cursor.take(size, "a section").map(Cow::Borrowed);
        }
        let packed = cursor.number(4, "the packed size of a section")?;
        let length = cursor.number(4, "the size of a section")?;
        let place = cursor.at() as u64;
        let data = cursor.take(packed, "a packed section")?;
        let mut unpacked = Vec::new();
        Unpacker::of(self.packing()?, 1).unpack(data, length, &mut unpacked).map_err(|bad| bad.further(place))?;
        Ok(Cow::Owned(unpacked))
    }

    fn packing(&self) -> Result<Packing, Bad> {
        let unknown = || Bad::new(0, format!("compressed with `{}`, but latido reads only zlib and zstd", self.packer));
        self.packing.filter(|packing| *packing != Packing::None).ok_or_else(unknown)
    }

    /// Returns all options along the chain. The options after a broken link are lost; the first section must exist.
    fn options(&self, first: u64, lost: &mut Losses) -> Result<Vec<Raw>, Bad> {
        let (mut all, mut seen, mut next, mut length) = (Vec::new(), BTreeSet::new(), first, 0);
        while next != 0 {
            let at = next;
            let wrong = if !seen.insert(at) {
                "the sections of options form a loop".into()
            } else if seen.len() > MOST_LINKS {
                format!("more than {MOST_LINKS} sections of options")
            } else if length > MOST_OPTIONS {
                format!("more than {MOST_OPTIONS} bytes of options")
            } else {
                match self.options_of(at, &mut all, &mut length) {
                    Ok(follows) => {
                        next = follows;
                        continue;
                    }
                    Err(bad) if at == first && all.is_empty() => return Err(bad),
                    Err(bad) => {
                        lost.push(bad);
                        break;
                    }
                }
            };
            lost.push(Bad { at, what: wrong });
            break;
        }
        Ok(all)
    }

    /// Reads the options of one section, and returns the place of the next section. It adds the section's length to `length`.
    fn options_of(&self, at: u64, all: &mut Vec<Raw>, length: &mut usize) -> Result<u64, Bad> {
        let body = self.body(at, u64::from(OPTIONS))?;
        *length += body.len();
        let body = body.get(..body.len().min(MOST_OPTIONS)).unwrap_or_default();
        let mut cursor = Cursor::new(body, 0, self.endian);
        let mut read = || -> Result<Option<u64>, Bad> {
            let id = cursor.number(2, "the kind of an option")? as u16;
            let size = cursor.number(4, "the size of an option")?;
            let data = cursor.take(size, "an option")?;
            if id == DONE {
                return Ok(Some(self.endian.u64(data, 0).unwrap_or(0)));
            }
            all.push(Raw { id, data: data.to_vec(), at });
            Ok(None)
        };
        loop {
            // The offset counts from the end of the section's head; in a packed section it is an offset into the unpacked bytes.
            if let Some(next) = read().map_err(|bad| bad.further(at + HEAD))? {
                return Ok(next);
            }
        }
    }

    /// Reads the formats of events, or the names of tasks.
    fn describe(&self, id: u16, at: u64, trace: &mut Trace<'_>) -> Result<(), Bad> {
        let body = self.body(at, u64::from(id))?;
        let mut cursor = Cursor::new(&body, 0, self.endian);
        let read = match id {
            FTRACE_EVENTS => meta::ftrace_formats(&mut cursor, &mut trace.formats, &mut trace.lost),
            EVENT_FORMATS => meta::event_formats(&mut cursor, &mut trace.formats, &mut trace.lost),
            _ => meta::comms(&mut cursor, &mut trace.lost).map(|comms| trace.comms = comms),
        };
        read.map_err(|bad| bad.further(at))
    }

    /// Reads a ring.
    fn buffer(&self, option: &Raw, lost: &mut Losses) -> Result<Buffer<'a>, Bad> {
        let mut cursor = Cursor::new(&option.data, 0, self.endian);
        let place = cursor.number(8, "the place of a ring")?;
        let name = cursor.text("the name of a ring")?;
        let clock = cursor.text("the clock of a ring")?;
        let page = cursor.number(4, "the page size of a ring")?;
        let page = page_size(page, cursor.at())?;
        let count = cursor.number(4, "the number of CPUs of a ring")?;
        if count > MOST_CPUS {
            return Err(Bad::new(cursor.at(), format!("{count} CPUs")));
        }
        let (_, flags, _) = self.section(place, u64::from(BUFFER))?;
        let packed = flags & 1 != 0;
        if packed {
            self.packing()?;
        }
        let mut cpus = Vec::new();
        for _ in 0..count {
            let at = cursor.at();
            let cpu = cursor.number(4, "the number of a CPU")?;
            if cpu >= MOST_CPUS {
                return Err(Bad::new(at, format!("CPU {cpu}")));
            }
            let cpu = cpu as u32;
            let (offset, size) =
                (cursor.number(8, "the place of a CPU's data")?, cursor.number(8, "the size of a CPU's data")?);
            // The stated size of packed data does not include the 4 bytes for the number of its chunks.
            let size = if packed && size > 0 { size.saturating_add(4) } else { size };
            cpus.extend(CpuData::found(self.bytes, cpu, offset, size, packed, lost));
        }
        let clock = Some(clock).filter(|clock| !clock.is_empty());
        Ok(Buffer { name, clock, page, cpus })
    }

    /// Reads the text of a tracer. It is packed in chunks, as pages are.
    fn text(&self, option: &Raw, lost: &mut Losses) -> Result<Cow<'a, [u8]>, Bad> {
        let place = Cursor::new(&option.data, 0, self.endian).number(8, "the place of a tracer's text")?;
        let (mut cursor, flags, size) = self.section(place, u64::from(BUFFER_TEXT))?;
        let at = cursor.at() as u64;
        let there = size.min(cursor.left() as u64);
        if there < size {
            lost.push(Bad { at, what: format!("the file has only {there} of the {size} bytes of a tracer's text") });
        }
        let text = cursor.take(there, "the text of a tracer")?;
        if flags & 1 == 0 {
            return Ok(Cow::Borrowed(text));
        }
        let (unpacker, mut whole, mut chunk) = (Unpacker::of(self.packing()?, 1), Vec::new(), Vec::new());
        for packed in Chunks::of(text, at, self.endian) {
            let read = packed.and_then(|(at, packed, length)| {
                let left = MOST.saturating_sub(whole.len()) as u64;
                if length > left {
                    return Err(Bad { at, what: format!("latido reads at most {MOST} bytes of a tracer's text") });
                }
                unpacker.unpack(packed, length, &mut chunk).map_err(|bad| bad.further(at))
            });
            if let Err(bad) = read {
                lost.push(bad);
                break;
            }
            whole.append(&mut chunk);
        }
        Ok(Cow::Owned(whole))
    }
}
