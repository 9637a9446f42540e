//! Reads the parts that describe the pages. Both versions of the file have these parts, at different places.

use super::{
    Described, Options, Shift, Shifts, Ticks,
    kind::{CPUSTAT, DATE, OFFSET, TIME_SHIFT, TRACECLOCK, TSC2NSEC, UNAME, VERSION},
};
use crate::{
    bytes::{Bad, Cursor, Endian, Losses},
    format::Format,
    page::Layout,
};

/// Reads `header_page` and `header_event`: the layout of a page.
pub fn header_info(cursor: &mut Cursor<'_>, endian: Endian) -> Result<Layout, Bad> {
    let at = cursor.at();
    if cursor.text("the name of the page header")? != "header_page" {
        return Err(Bad::new(at, "the page header should be here"));
    }
    let size = cursor.number(8, "the size of the page header")?;
    let at = cursor.at();
    let text = cursor.take(size, "the page header")?;
    if text.len() > LONGEST_FORMAT {
        return Err(Bad::new(at, format!("a page header of {size} bytes")));
    }
    let layout = Layout::parse(&String::from_utf8_lossy(text), endian).map_err(|bad| bad.further(at as u64))?;
    let at = cursor.at();
    if cursor.text("the name of the event header")? != "header_event" {
        return Err(Bad::new(at, "the event header should be here"));
    }
    let size = cursor.number(8, "the size of the event header")?;
    cursor.take(size, "the event header")?;
    Ok(layout)
}

/// No kernel has this many events, or descriptions this long: a file that claims more does not come from a real machine.
const MOST_FORMATS: usize = 1 << 14;
const MOST_FIELDS: usize = 1 << 17;
const LONGEST_FORMAT: usize = 1 << 18;
/// The length of all formats together, and of all task names.
const LONGEST_FORMATS: usize = 16 << 20;
const LONGEST_COMMS: u64 = 2 << 20;

/// Reads the formats of one system. It skips a text that is not a format, and records it as lost. `begin` is the offset at which the
/// formats of all systems start.
fn formats(
    cursor: &mut Cursor<'_>,
    begin: usize,
    system: &str,
    into: &mut Vec<Described>,
    lost: &mut Losses,
) -> Result<(), Bad> {
    let count = cursor.number(4, "the number of formats")?;
    let mut fields: usize = into.iter().map(|described| described.format.fields.len()).sum();
    for _ in 0..count {
        let size = cursor.number(8, "the size of a format")?;
        let at = cursor.at();
        let text = cursor.take(size, "a format")?;
        if text.len() > LONGEST_FORMAT {
            lost.push(Bad::new(at, format!("a format of {size} bytes")));
            continue;
        }
        match Format::parse(&String::from_utf8_lossy(text)) {
            Ok(format) => {
                fields += format.fields.len();
                if into.len() >= MOST_FORMATS || fields > MOST_FIELDS || at - begin > LONGEST_FORMATS {
                    return Err(Bad::new(at, format!("more than {} formats: no kernel has so many", into.len())));
                }
                into.push(Described { system: system.to_owned(), format });
            }
            Err(bad) => lost.push(bad.further(at as u64)),
        }
    }
    Ok(())
}

/// Reads the formats of the tracers' own events.
pub fn ftrace_formats(cursor: &mut Cursor<'_>, into: &mut Vec<Described>, lost: &mut Losses) -> Result<(), Bad> {
    formats(cursor, cursor.at(), "ftrace", into, lost)
}

/// Reads the formats of the events of all systems.
pub fn event_formats(cursor: &mut Cursor<'_>, into: &mut Vec<Described>, lost: &mut Losses) -> Result<(), Bad> {
    let begin = cursor.at();
    let systems = cursor.number(4, "the number of event systems")?;
    for _ in 0..systems {
        let system = cursor.text("the name of an event system")?;
        formats(cursor, begin, &system, into, lost)?;
    }
    Ok(())
}

/// Reads `saved_cmdlines`: one number and one name per line.
pub fn comms(cursor: &mut Cursor<'_>, lost: &mut Losses) -> Result<Vec<(i32, String)>, Bad> {
    let size = cursor.number(8, "the size of the names of tasks")?;
    let at = cursor.at();
    let text = cursor.take(size, "the names of tasks")?;
    if size > LONGEST_COMMS {
        lost.push(Bad::new(at, format!("{size} bytes of names of tasks")));
        return Ok(Vec::new());
    }
    let text = String::from_utf8_lossy(text);
    let line = |line: &str| {
        let (pid, name) = line.trim_start().split_once(' ')?;
        Some((pid.parse().ok()?, name.trim_end_matches('\0').to_owned()))
    };
    Ok(text.lines().filter_map(line).collect())
}

/// Applies an option. It skips options that do not concern time or place.
pub fn option(id: u16, data: &[u8], endian: Endian, options: &mut Options) -> Result<(), Bad> {
    let text = || String::from_utf8_lossy(data).trim_end_matches(['\0', '\n']).to_owned();
    let mut later = |by: Option<i64>| -> Result<(), Bad> {
        let by = by.ok_or_else(|| Bad::new(0, format!("`{}` is not a time offset", text())))?;
        options.offset = options.offset.wrapping_add(by);
        Ok(())
    };
    match id {
        // The value is in microseconds.
        DATE => later(integer(&text()).map(|by| by.wrapping_mul(1_000)))?,
        OFFSET => later(integer(&text()))?,
        CPUSTAT => options.statistics.push(text()),
        // Version 6 stores the clock elsewhere, and has an option without a name.
        TRACECLOCK => options.clock = chosen(&text()).or(options.clock.take()),
        UNAME => options.uname = Some(text()),
        VERSION => options.recorder = Some(text()),
        TIME_SHIFT => options.shifts = shifts(&mut Cursor::new(data, 0, endian))?,
        TSC2NSEC => {
            let mut cursor = Cursor::new(data, 0, endian);
            let factor = cursor.number(4, "the factor of ticks")? as u32;
            let shift = cursor.number(4, "the shift of ticks")? as u32;
            // A factor of 0 would make all times equal.
            options.ticks = (factor > 0).then_some(Ticks { factor, shift });
        }
        _ => {}
    }
    Ok(())
}

/// Parses an integer as C's strtoll does: decimal, `0x…` or `0…`. It ignores the text after the number.
fn integer(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let value = i128::from_str_radix(digits.get(..length)?, radix).ok()?;
    i64::try_from(if negative { -value } else { value }).ok()
}

/// Returns the bracketed name of a list like `[local] global mono`; a single name is returned as it is.
pub fn chosen(text: &str) -> Option<String> {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
    bracketed.or_else(|| text.split_whitespace().next()).map(str::to_owned)
}

fn shifts(cursor: &mut Cursor<'_>) -> Result<Shifts, Bad> {
    let _peer = cursor.number(8, "the peer of a shift in time")?;
    let interpolated = cursor.number(4, "the flags of a shift in time")? & 1 != 0;
    let count = cursor.number(4, "the number of CPUs with a shift in time")?;
    // The bytes limit the length of a column: a large count alone allocates nothing.
    let column = |cursor: &mut Cursor<'_>, count: u64, what: &str| -> Result<Vec<u64>, Bad> {
        (0..count).map(|_| cursor.number(8, what)).collect()
    };
    let mut cpus = Vec::new();
    for _ in 0..count {
        let count = cursor.number(4, "the number of shifts in time")?;
        let mut next = |what: &str| column(cursor, count, what);
        let (at, by, ratio) = (next("the time of a shift")?, next("a shift")?, next("the ratio of a shift")?);
        let shift = |((at, by), ratio): ((u64, u64), u64)| Shift { at, by: by.cast_signed(), ratio, fraction: 0 };
        cpus.push(at.into_iter().zip(by).zip(ratio).map(shift).collect::<Vec<_>>());
    }
    // Later versions of the format added this part: it is at the end for all CPUs together, or missing.
    if cursor.left() > 0 {
        for samples in &mut cpus {
            let digits = column(cursor, samples.len() as u64, "the digits of a ratio")?;
            for (sample, digits) in samples.iter_mut().zip(digits) {
                sample.fraction = u32::try_from(digits).unwrap_or(u32::MAX);
            }
        }
    }
    Ok(Shifts::of(interpolated, cpus))
}
