//! Hand-made trace files of any machine: both versions, both byte orders, any page size, compressed or not. The code follows the
//! description of the format and does not use the crate's own writer, so that reader and writer cannot share an error.
#![allow(dead_code)]

pub mod events;
pub mod oracle;
pub mod pages;
pub mod read;

use latido_trace::{bytes::Endian, file::Packing};
use std::io::Write;

/// The properties of a kernel's ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub endian: Endian,
    /// The number of bytes in a `long`.
    pub long: usize,
}

pub const LITTLE: Machine = Machine { endian: Endian::Little, long: 8 };
pub const BIG: Machine = Machine { endian: Endian::Big, long: 8 };

/// Bytes in the byte order of a machine.
#[derive(Clone, Debug)]
pub struct Bytes {
    pub bytes: Vec<u8>,
    pub endian: Endian,
}

impl Bytes {
    pub fn of(machine: Machine) -> Self {
        Self { bytes: Vec::new(), endian: machine.endian }
    }

    pub fn number(&mut self, number: u64, size: usize) -> &mut Self {
        match self.endian {
            Endian::Little => self.bytes.extend(&number.to_le_bytes()[..size]),
            Endian::Big => self.bytes.extend(&number.to_be_bytes()[8 - size..]),
        }
        self
    }

    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes.extend(text.bytes());
        self.bytes.push(0);
        self
    }

    /// Appends a text with its length before it.
    pub fn counted(&mut self, text: &str, size: usize) -> &mut Self {
        self.number(text.len() as u64, size);
        self.bytes.extend(text.bytes());
        self
    }

    /// Overwrites existing bytes with a number.
    pub fn put(&mut self, at: usize, number: u64, size: usize) {
        let mut over = Self { bytes: Vec::new(), endian: self.endian };
        over.number(number, size);
        self.bytes[at..at + size].copy_from_slice(&over.bytes);
    }

    pub fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    fn formats(&mut self, formats: &[String]) {
        self.number(formats.len() as u64, 4);
        formats.iter().for_each(|format| {
            self.counted(format, 8);
        });
    }
}

/// The contents of a file.
#[derive(Clone, Debug)]
pub struct File {
    pub machine: Machine,
    pub version: u32,
    /// The compression that the head of version 7 names.
    pub packing: Packing,
    pub packed_sections: bool,
    pub packed_data: bool,
    /// The number of pages in a chunk.
    pub chunk: usize,
    pub page: usize,
    pub systems: Vec<(&'static str, Vec<String>)>,
    /// The names of tasks.
    pub names: String,
    pub options: Vec<(u16, Vec<u8>)>,
    pub rings: Vec<Ring>,
}

/// A ring: the first one of a file is its main ring and has no name.
#[derive(Clone, Debug)]
pub struct Ring {
    pub name: &'static str,
    pub clock: &'static str,
    pub page: usize,
    /// The pages of each CPU.
    pub cpus: Vec<(u32, Vec<u8>)>,
}

/// A file, and the end of each of its parts.
#[derive(Clone, Debug)]
pub struct Built {
    pub bytes: Vec<u8>,
    pub ends: Vec<(usize, String)>,
}

impl File {
    /// A file of version 7, not compressed, with the usual events and one ring.
    pub fn of(machine: Machine, cpus: Vec<(u32, Vec<u8>)>) -> Self {
        Self {
            machine,
            version: 7,
            packing: Packing::None,
            packed_sections: false,
            packed_data: false,
            chunk: 2,
            page: 4096,
            systems: events::systems(machine),
            names: events::COMMS.into(),
            options: Vec::new(),
            rings: vec![Ring { name: "", clock: "mono", page: 4096, cpus }],
        }
    }

    pub fn build(&self) -> Built {
        let mut out = Built { bytes: Vec::new(), ends: Vec::new() };
        let mut bytes = Bytes::of(self.machine);
        bytes.bytes.extend(b"\x17\x08\x44tracing");
        bytes.text(&self.version.to_string());
        bytes.number(u64::from(self.machine.endian == Endian::Big), 1);
        bytes.number(self.machine.long as u64, 1).number(self.page as u64, 4);
        out.end(&bytes, "the head");
        if self.version == 6 {
            self.six(&mut bytes, &mut out);
        } else {
            self.seven(&mut bytes, &mut out);
        }
        out.bytes = bytes.bytes;
        out
    }

    fn header_info(&self, bytes: &mut Bytes) {
        bytes.text("header_page").counted(&events::header_page(self.machine, self.page), 8);
        bytes.text("header_event").counted(events::HEADER_EVENT, 8);
    }

    fn event_formats(&self, bytes: &mut Bytes) {
        bytes.number(self.systems.len() as u64, 4);
        for (name, formats) in &self.systems {
            bytes.text(name);
            bytes.formats(formats);
        }
    }

    fn six(&self, bytes: &mut Bytes, out: &mut Built) {
        self.header_info(bytes);
        out.end(bytes, "header info");
        bytes.formats(&[]);
        out.end(bytes, "formats of tracers");
        self.event_formats(bytes);
        out.end(bytes, "formats of events");
        bytes.counted("ffffffff81000000 T _stext\n", 4).counted("", 4);
        out.end(bytes, "symbols");
        bytes.counted(&self.names, 8);
        out.end(bytes, "names of tasks");
        bytes.number(self.rings[0].cpus.len() as u64, 4);
        bytes.bytes.extend(b"options  \0");
        let mut places = Vec::new();
        for (id, data) in &self.options {
            bytes.number(u64::from(*id), 2).number(data.len() as u64, 4).bytes.extend(data);
        }
        // The clock comes after the table of the CPUs; an option says that it is there.
        bytes.number(4, 2).number(0, 4);
        for ring in &self.rings[1..] {
            bytes.number(3, 2).number(8 + ring.name.len() as u64 + 1, 4);
            places.push(bytes.bytes.len());
            bytes.number(0, 8).text(ring.name);
            bytes.number(8, 2).number(4, 4).number(ring.cpus.len() as u64, 4);
        }
        bytes.number(0, 2);
        out.end(bytes, "options");
        for (at, ring) in self.rings.iter().enumerate() {
            if at > 0 {
                let here = bytes.bytes.len() as u64;
                bytes.put(places[at - 1], here, 8);
            }
            bytes.bytes.extend(b"flyrecord\0");
            let table = bytes.bytes.len();
            bytes.bytes.resize(table + 16 * ring.cpus.len(), 0);
            bytes.counted(&format!("local [{}] global\n", ring.clock), 8);
            out.end(bytes, "a table of CPUs");
            for (number, (_, data)) in ring.cpus.iter().enumerate() {
                bytes.align(self.page);
                let here = bytes.bytes.len() as u64;
                bytes.put(table + 16 * number, here, 8);
                bytes.put(table + 16 * number + 8, data.len() as u64, 8);
                bytes.bytes.extend(data);
                out.end(bytes, "the data of a CPU");
            }
        }
    }

    fn seven(&self, bytes: &mut Bytes, out: &mut Built) {
        let name = match self.packing {
            Packing::None => "none",
            Packing::Zlib => "zlib",
            Packing::Zstd => "zstd",
        };
        bytes.text(name).text("1.0");
        let first = bytes.bytes.len();
        bytes.number(0, 8);
        out.end(bytes, "the name of the compression");
        let mut options = Vec::new();
        for (id, what) in
            [(16, "header info"), (17, "formats of tracers"), (18, "formats of events"), (21, "names of tasks")]
        {
            let mut body = Bytes::of(self.machine);
            match id {
                16 => self.header_info(&mut body),
                17 => body.formats(&[]),
                18 => self.event_formats(&mut body),
                _ => _ = body.counted(&self.names, 8),
            }
            let mut place = Bytes::of(self.machine);
            place.number(bytes.bytes.len() as u64, 8);
            options.push((id, place.bytes));
            self.section(bytes, id, &body.bytes);
            out.end(bytes, what);
        }
        let here = bytes.bytes.len() as u64;
        bytes.put(first, here, 8);
        options.extend(self.options.iter().cloned());
        // Then the rings, then the options that describe them: a chain, as trace-cmd writes it.
        let clock = self.rings[0].clock;
        options.push((4, Bytes::of(self.machine).text(clock).bytes.clone()));
        let plain = Self { packed_sections: false, ..self.clone() };
        let next = plain.options_section(bytes, &options);
        out.end(bytes, "options");
        let rings = self.rings.iter().map(|ring| (3, self.ring(bytes, ring, out))).collect::<Vec<_>>();
        let here = bytes.bytes.len() as u64;
        bytes.put(next, here, 8);
        self.options_section(bytes, &rings);
        out.end(bytes, "options of rings");
    }

    /// Writes options. Returns the place of the pointer to the next options, if they are not compressed.
    fn options_section(&self, bytes: &mut Bytes, options: &[(u16, Vec<u8>)]) -> usize {
        let mut body = Bytes::of(self.machine);
        for (id, data) in options {
            body.number(u64::from(*id), 2).number(data.len() as u64, 4).bytes.extend(data);
        }
        body.number(0, 2).number(8, 4).number(0, 8);
        self.section(bytes, 0, &body.bytes);
        bytes.bytes.len() - 8
    }

    /// Writes a section, compressed if sections are.
    pub fn section(&self, bytes: &mut Bytes, id: u16, body: &[u8]) {
        let body = if self.packed_sections { self.packed(body) } else { body.to_vec() };
        let flags = u64::from(self.packed_sections);
        bytes.number(u64::from(id), 2).number(flags, 2).number(0, 4).number(body.len() as u64, 8);
        bytes.bytes.extend(body);
    }

    /// Compresses data, with both sizes before them.
    pub fn packed(&self, body: &[u8]) -> Vec<u8> {
        let packed = pack(self.packing, body);
        let mut out = Bytes::of(self.machine);
        out.number(packed.len() as u64, 4).number(body.len() as u64, 4).bytes.extend(packed);
        out.bytes
    }

    /// Writes the pages of a ring. Returns the option that describes them.
    fn ring(&self, bytes: &mut Bytes, ring: &Ring, out: &mut Built) -> Vec<u8> {
        let mut option = Bytes::of(self.machine);
        let section = bytes.bytes.len();
        option.number(section as u64, 8).text(ring.name).text(ring.clock);
        option.number(ring.page as u64, 4).number(ring.cpus.len() as u64, 4);
        bytes.number(3, 2).number(u64::from(self.packed_data), 2).number(0, 4).number(0, 8);
        for (cpu, data) in &ring.cpus {
            bytes.align(ring.page);
            option.number(u64::from(*cpu), 4).number(bytes.bytes.len() as u64, 8);
            let size = if self.packed_data && !data.is_empty() {
                let chunks: Vec<&[u8]> = data.chunks(self.chunk * ring.page).collect();
                bytes.number(chunks.len() as u64, 4);
                let begin = bytes.bytes.len();
                for chunk in chunks {
                    let packed = self.packed(chunk);
                    bytes.bytes.extend(packed);
                    out.end(bytes, "a chunk");
                }
                // The size does not include the number of chunks.
                bytes.bytes.len() - begin
            } else {
                bytes.bytes.extend(data);
                data.len()
            };
            option.number(size as u64, 8);
            out.end(bytes, "the data of a CPU");
        }
        let length = bytes.bytes.len() - section - 16;
        bytes.put(section + 8, length as u64, 8);
        option.bytes
    }
}

impl Built {
    fn end(&mut self, bytes: &Bytes, what: &str) {
        self.ends.push((bytes.bytes.len(), what.to_owned()));
    }
}

pub fn pack(packing: Packing, body: &[u8]) -> Vec<u8> {
    match packing {
        Packing::None => body.to_vec(),
        Packing::Zlib => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Zstd => zstd::bulk::compress(body, 1).unwrap(),
    }
}

/// Notes that something could not be tested here; scripts/test lists these notes at its end.
pub fn skip(what: &str, need: &str, why: &str) {
    println!("skipped: {what}: needs {need}: {why}");
    if let Some(list) = std::env::var_os("LATIDO_SKIPS") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(list).unwrap();
        writeln!(file, "{need}\t{what}\t{why}").unwrap();
    }
}
