//! Reads version 6: the parts follow one after the other.

use super::{
    Buffer, CpuData, Head, MOST_CPUS, Options, Packing, Trace,
    kind::{BUFFER, CPUCOUNT, DONE},
    meta,
};
use crate::bytes::{Bad, Cursor, Losses};
use std::borrow::Cow;

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
        lost: Losses::default(),
    };
    if let Err(bad) = rest(bytes, &mut cursor, page, &mut trace) {
        trace.lost.push(bad);
    }
    Ok(trace)
}

fn rest<'a>(bytes: &'a [u8], cursor: &mut Cursor<'a>, page: usize, trace: &mut Trace<'a>) -> Result<(), Bad> {
    meta::ftrace_formats(cursor, &mut trace.formats, &mut trace.lost)?;
    meta::event_formats(cursor, &mut trace.formats, &mut trace.lost)?;
    let size = cursor.number(4, "the size of the symbols")?;
    cursor.take(size, "the symbols")?;
    let size = cursor.number(4, "the size of the formats of trace_printk")?;
    cursor.take(size, "the formats of trace_printk")?;
    trace.comms = meta::comms(cursor, &mut trace.lost)?;
    let mut cpus = cpu_count(cursor)?;
    let mut instances = Vec::new();
    loop {
        let at = cursor.at();
        match cursor.take(10, "what follows the names of tasks")? {
            b"options  \0" => options(cursor, trace, &mut cpus, &mut instances)?,
            b"latency  \0" => {
                trace.text = bytes.get(cursor.at()..).map(Cow::Borrowed);
                break;
            }
            b"flyrecord\0" => {
                let main = buffer(bytes, cursor, cpus, page, &mut trace.lost)?;
                trace.options.clock.clone_from(&main.clock);
                trace.buffers.push(main);
                break;
            }
            other => return Err(Bad::new(at, format!("`{}` is not a part of a trace", other.escape_ascii()))),
        }
    }
    for Instance { offset, name, cpus: own } in instances {
        let Some(at) = usize::try_from(offset).ok().filter(|at| *at <= bytes.len()) else {
            trace.lost.push(Bad::new(
                bytes.len(),
                format!("the ring of `{name}` should begin at byte {offset}, but the file ends here"),
            ));
            continue;
        };
        match instance(bytes, Cursor::new(bytes, at, trace.endian), own.unwrap_or(cpus), page, &mut trace.lost) {
            Ok(found) => trace.buffers.push(Buffer { name, ..found }),
            Err(bad) => trace.lost.push(bad),
        }
    }
    Ok(())
}

fn cpu_count(cursor: &mut Cursor<'_>) -> Result<u64, Bad> {
    let at = cursor.at();
    let cpus = cursor.number(4, "the number of CPUs")?;
    if cpus > MOST_CPUS { Err(Bad::new(at, format!("{cpus} CPUs"))) } else { Ok(cpus) }
}

/// The ring of an instance, as the options describe it.
struct Instance {
    offset: u64,
    name: String,
    /// The number of its CPUs, if it differs from the main ring's.
    cpus: Option<u64>,
}

fn options(
    cursor: &mut Cursor<'_>,
    trace: &mut Trace<'_>,
    cpus: &mut u64,
    instances: &mut Vec<Instance>,
) -> Result<(), Bad> {
    loop {
        let id = cursor.number(2, "the kind of an option")? as u16;
        if id == DONE {
            return Ok(());
        }
        let size = cursor.number(4, "the size of an option")?;
        let at = cursor.at() as u64;
        let data = cursor.take(size, "an option")?;
        let mut inside = Cursor::new(data, 0, trace.endian);
        let read = match id {
            BUFFER => ring(&mut inside).map(|ring| instances.push(ring)),
            // The count applies to the preceding instance, or else to the file.
            CPUCOUNT => cpu_count(&mut inside).map(|count| match instances.last_mut() {
                Some(instance) => instance.cpus = Some(count),
                None => *cpus = count,
            }),
            id => meta::option(id, data, trace.endian, &mut trace.options),
        };
        if let Err(bad) = read {
            trace.lost.push(bad.further(at));
        }
    }
}

fn ring(option: &mut Cursor<'_>) -> Result<Instance, Bad> {
    let offset = option.number(8, "the place of a ring")?;
    Ok(Instance { offset, name: option.text("the name of a ring")?, cpus: None })
}

fn instance<'a>(
    bytes: &'a [u8],
    mut cursor: Cursor<'a>,
    cpus: u64,
    page: usize,
    lost: &mut Losses,
) -> Result<Buffer<'a>, Bad> {
    let at = cursor.at();
    if cursor.take(10, "the head of a ring")? != b"flyrecord\0" {
        return Err(Bad::new(at, "the ring of an instance should begin here"));
    }
    buffer(bytes, &mut cursor, cpus, page, lost)
}

/// Reads the table of the CPUs' data, and the clock after it.
fn buffer<'a>(
    bytes: &'a [u8],
    cursor: &mut Cursor<'a>,
    cpus: u64,
    page: usize,
    lost: &mut Losses,
) -> Result<Buffer<'a>, Bad> {
    let mut all = Vec::new();
    for cpu in 0..cpus as u32 {
        let (offset, size) =
            (cursor.number(8, "the place of a CPU's data")?, cursor.number(8, "the size of a CPU's data")?);
        all.extend(CpuData::found(bytes, cpu, offset, size, false, lost));
    }
    Ok(Buffer { name: String::new(), clock: clock(cursor), page, cpus: all })
}

/// The longest list of clocks, in bytes, that latido accepts.
const MOST_CLOCKS: u64 = 1024;

/// Reads the kernel's clocks, with the chosen one in brackets. Old files lack this list: they have something else there, or nothing.
fn clock(cursor: &mut Cursor<'_>) -> Option<String> {
    let size = cursor.number(8, "the size of the clocks").ok().filter(|size| *size <= MOST_CLOCKS)?;
    let text = cursor.take(size, "the clocks").ok()?;
    meta::chosen(std::str::from_utf8(text).ok().filter(|text| text.contains('['))?)
}
