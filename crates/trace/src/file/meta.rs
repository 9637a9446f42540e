//! The parts that say what the pages mean; both versions have them, at other places.

use super::{Described, Options, Shift, Ticks};
use crate::{
    bytes::{Bad, Cursor, Endian},
    format::Format,
    page::Layout,
};

/// `header_page` and `header_event`: where a page has what.
pub fn header_info(cursor: &mut Cursor<'_>, endian: Endian) -> Result<Layout, Bad> {
    let at = cursor.at();
    if cursor.text("the name of the page header")? != "header_page" {
        return Err(Bad::new(at, "here the header of pages is to stand"));
    }
    let size = cursor.number(8, "the size of the page header")?;
    let at = cursor.at();
    let text = cursor.take(size, "the page header")?;
    let layout = Layout::parse(&String::from_utf8_lossy(text), endian).map_err(|bad| bad.further(at as u64))?;
    let at = cursor.at();
    if cursor.text("the name of the event header")? != "header_event" {
        return Err(Bad::new(at, "here the header of events is to stand"));
    }
    let size = cursor.number(8, "the size of the event header")?;
    cursor.take(size, "the event header")?;
    Ok(layout)
}

/// The formats of one system. What is no format is passed over and named.
fn formats(cursor: &mut Cursor<'_>, system: &str, into: &mut Vec<Described>, lost: &mut Vec<Bad>) -> Result<(), Bad> {
    let count = cursor.number(4, "the number of formats")?;
    for _ in 0..count {
        let size = cursor.number(8, "the size of a format")?;
        let at = cursor.at() as u64;
        let text = cursor.take(size, "a format")?;
        match Format::parse(&String::from_utf8_lossy(text)) {
            Ok(format) => into.push(Described { system: system.to_owned(), format }),
            Err(bad) => lost.push(bad.further(at)),
        }
    }
    Ok(())
}

/// What the tracers themselves write.
pub fn ftrace_formats(cursor: &mut Cursor<'_>, into: &mut Vec<Described>, lost: &mut Vec<Bad>) -> Result<(), Bad> {
    formats(cursor, "ftrace", into, lost)
}

/// The events of all systems.
pub fn event_formats(cursor: &mut Cursor<'_>, into: &mut Vec<Described>, lost: &mut Vec<Bad>) -> Result<(), Bad> {
    let systems = cursor.number(4, "the number of event systems")?;
    for _ in 0..systems {
        let system = cursor.text("the name of an event system")?;
        formats(cursor, &system, into, lost)?;
    }
    Ok(())
}

/// `saved_cmdlines`: a number and a name a line.
pub fn comms(cursor: &mut Cursor<'_>) -> Result<Vec<(i32, String)>, Bad> {
    let size = cursor.number(8, "the size of the names of tasks")?;
    let text = String::from_utf8_lossy(cursor.take(size, "the names of tasks")?);
    let line = |line: &str| {
        let (pid, name) = line.trim_start().split_once(' ')?;
        Some((pid.parse().ok()?, name.trim_end_matches('\0').to_owned()))
    };
    Ok(text.lines().filter_map(line).collect())
}

/// Takes an option in; those that say nothing of time and place are passed over.
pub fn option(id: u16, data: &[u8], endian: Endian, options: &mut Options) -> Result<(), Bad> {
    let text = || String::from_utf8_lossy(data).trim_end_matches(['\0', '\n']).to_owned();
    match id {
        1 => options.date = Some(text()),
        2 => options.statistics.push(text()),
        4 => options.clock = chosen(&text()),
        5 => options.uname = Some(text()),
        7 => {
            options.offset =
                text().trim().parse().map_err(|_| Bad::new(0, format!("`{}` is no offset of time", text())))?;
        }
        9 => options.recorder = Some(text()),
        12 => options.shifts = shifts(&mut Cursor::new(data, 0, endian))?,
        14 => {
            let mut cursor = Cursor::new(data, 0, endian);
            let factor = cursor.number(4, "the factor of ticks")?;
            let shift = cursor.number(4, "the shift of ticks")?;
            let offset = cursor.number(8, "the offset of ticks")?;
            let (factor, shift) = (factor as u32, shift as u32);
            // A factor of nothing would make every time the same.
            options.ticks = (factor > 0 && shift < 64).then_some(Ticks { factor, shift, offset });
        }
        _ => {}
    }
    Ok(())
}

/// Of `[local] global mono` the one in brackets; a bare name is itself.
fn chosen(text: &str) -> Option<String> {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
    bracketed.or_else(|| text.split_whitespace().next()).map(str::to_owned)
}

fn shifts(cursor: &mut Cursor<'_>) -> Result<Vec<Vec<Shift>>, Bad> {
    let _peer = cursor.number(8, "the peer of a shift in time")?;
    let _flags = cursor.number(4, "the flags of a shift in time")?;
    let cpus = cursor.number(4, "the number of CPUs with a shift in time")?;
    let mut all = Vec::new();
    for _ in 0..cpus {
        let count = cursor.number(4, "the number of shifts in time")?;
        let mut column = |what: &str| -> Result<Vec<u64>, Bad> {
            // What the bytes can hold bounds it: a count alone allocates nothing.
            (0..count).map(|_| cursor.number(8, what)).collect()
        };
        let (at, by, ratio) = (column("the time of a shift")?, column("a shift")?, column("the ratio of a shift")?);
        let shift = |((at, by), ratio): ((u64, u64), u64)| Shift { at, by: by.cast_signed(), ratio };
        all.push(at.into_iter().zip(by).zip(ratio).map(shift).collect());
    }
    Ok(all)
}
