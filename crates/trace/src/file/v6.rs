//! Version 6: one part behind the other.

use super::{Buffer, CpuData, Head, MOST_CPUS, Options, Packing, Trace, meta};
use crate::bytes::{Bad, Cursor, Endian};

/// The option that names the ring of an instance.
const BUFFER: u16 = 3;

pub fn open<'a>(bytes: &'a [u8], head: Head<'a>) -> Result<Trace<'a>, Bad> {
    let Head { mut cursor, version, endian, page } = head;
    let layout = meta::header_info(&mut cursor, endian)?;
    let mut trace = Trace {
        version,
        endian,
        packing: Packing::None,
        layout,
        formats: Vec::new(),
        comms: Vec::new(),
        options: Options::default(),
        buffers: Vec::new(),
        text: None,
        lost: Vec::new(),
    };
    if let Err(bad) = rest(bytes, &mut cursor, page, &mut trace) {
        trace.lost.push(bad);
    }
    Ok(trace)
}

fn rest<'a>(bytes: &'a [u8], cursor: &mut Cursor<'a>, page: usize, trace: &mut Trace<'a>) -> Result<(), Bad> {
    let endian = trace.endian;
    meta::ftrace_formats(cursor, &mut trace.formats, &mut trace.lost)?;
    meta::event_formats(cursor, &mut trace.formats, &mut trace.lost)?;
    let size = cursor.number(4, "the size of the symbols")?;
    cursor.take(size, "the symbols")?;
    let size = cursor.number(4, "the size of the formats of trace_printk")?;
    cursor.take(size, "the formats of trace_printk")?;
    trace.comms = meta::comms(cursor)?;
    let at = cursor.at();
    let cpus = cursor.number(4, "the number of CPUs")?;
    if cpus > MOST_CPUS {
        return Err(Bad::new(at, format!("{cpus} CPUs")));
    }
    let mut instances = Vec::new();
    loop {
        let at = cursor.at();
        match cursor.take(10, "what follows the names of tasks")? {
            b"options  \0" => options(cursor, trace, &mut instances)?,
            b"latency  \0" => {
                trace.text = bytes.get(cursor.at()..);
                break;
            }
            b"flyrecord\0" => {
                let main = buffer(bytes, cursor, cpus, page, &mut trace.lost)?;
                trace.buffers.push(main);
                break;
            }
            other => return Err(Bad::new(at, format!("`{}` is no part of a trace", other.escape_ascii()))),
        }
    }
    for (offset, name, cpus_of) in instances {
        let Some(at) = usize::try_from(offset).ok().filter(|at| *at <= bytes.len()) else {
            trace.lost.push(Bad::new(bytes.len(), format!("the ring of `{name}` is to begin at byte {offset}")));
            continue;
        };
        match instance(bytes, Cursor::new(bytes, at, endian), cpus_of.unwrap_or(cpus), page, &mut trace.lost) {
            Ok(found) => trace.buffers.push(Buffer { name, ..found }),
            Err(bad) => trace.lost.push(bad),
        }
    }
    Ok(())
}

/// Where a ring of an instance begins, its name, and of how many CPUs it is, where that is told.
type Instance = (u64, String, Option<u64>);

fn options(cursor: &mut Cursor<'_>, trace: &mut Trace<'_>, instances: &mut Vec<Instance>) -> Result<(), Bad> {
    loop {
        let at = cursor.at() as u64;
        let id = cursor.number(2, "the kind of an option")? as u16;
        if id == 0 {
            return Ok(());
        }
        let size = cursor.number(4, "the size of an option")?;
        let data = cursor.take(size, "an option")?;
        let endian: Endian = trace.endian;
        if id == BUFFER {
            let mut inside = Cursor::new(data, 0, endian);
            let offset = inside.number(8, "the place of a ring")?;
            let name = inside.text("the name of a ring")?;
            let cpus = inside.number(4, "the number of CPUs of a ring").ok().filter(|cpus| *cpus <= MOST_CPUS);
            instances.push((offset, name, cpus));
        } else if let Err(bad) = meta::option(id, data, endian, &mut trace.options) {
            trace.lost.push(bad.further(at));
        }
    }
}

fn instance<'a>(
    bytes: &'a [u8],
    mut cursor: Cursor<'a>,
    cpus: u64,
    page: usize,
    lost: &mut Vec<Bad>,
) -> Result<Buffer<'a>, Bad> {
    let at = cursor.at();
    if cursor.take(10, "the head of a ring")? != b"flyrecord\0" {
        return Err(Bad::new(at, "here the ring of an instance is to begin"));
    }
    buffer(bytes, &mut cursor, cpus, page, lost)
}

/// The table of the CPUs' data.
fn buffer<'a>(
    bytes: &'a [u8],
    cursor: &mut Cursor<'a>,
    cpus: u64,
    page: usize,
    lost: &mut Vec<Bad>,
) -> Result<Buffer<'a>, Bad> {
    let mut all = Vec::new();
    for cpu in 0..cpus as u32 {
        let (offset, size) =
            (cursor.number(8, "the place of a CPU's data")?, cursor.number(8, "the size of a CPU's data")?);
        all.extend(CpuData::found(bytes, cpu, offset, size, false, lost));
    }
    Ok(Buffer { name: String::new(), clock: None, page, cpus: all })
}
