//! Walks once through the recording: counts its events, counts those that latido's own threads caused, and collects the addresses that need
//! symbols.

use super::{contents::Description, drain::Drained};
use anyhow::{Context, Result};
use latido_model::cpus::CpuSet;
use latido_trace::{
    file::Pages,
    format::{Format, Number},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Read,
};

/// How much of a file is read at once, in bytes.
const PIECE: usize = 4 << 20;

/// Fields that contain the address of code (include/trace/events).
const CODE: [&str; 7] = ["function", "func", "callsite", "call_site", "caller_ip", "parent_ip", "ip"];

/// The most distinct addresses that are collected: more than that are not symbols.
const MOST: usize = 10_000;

/// What the walk found.
#[derive(Debug, Default)]
pub struct Walked {
    /// Events of each CPU.
    pub events: BTreeMap<u32, u64>,
    /// Events on the quiet CPUs while one of latido's threads ran there.
    pub own: u64,
    /// Addresses of kernel code that events contain.
    pub addresses: BTreeSet<u64>,
}

/// The positions of the fields that are read.
struct Looks {
    pid: Option<Number>,
    /// The fields with addresses of code, indexed by the event's number.
    code: Vec<Vec<Number>>,
}

impl Looks {
    fn of(formats: impl Iterator<Item = Format>, endian: latido_trace::bytes::Endian) -> Self {
        let mut looks = Self { pid: None, code: Vec::new() };
        for format in formats {
            looks.pid = looks.pid.or_else(|| format.number("common_pid", endian));
            let code: Vec<Number> = CODE.iter().filter_map(|name| format.number(name, endian)).collect();
            let id = usize::from(format.id);
            if looks.code.len() <= id {
                looks.code.resize(id + 1, Vec::new());
            }
            if let Some(of_event) = looks.code.get_mut(id) {
                *of_event = code;
            }
        }
        looks
    }
}

impl Walked {
    /// Walks through all files.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn all(description: &Description, drained: &Drained, quiet: &CpuSet, own: &[i32]) -> Result<Self> {
        let looks = Looks::of(description.formats(), description.layout.endian);
        let own: BTreeSet<i64> = own.iter().map(|tid| i64::from(*tid)).collect();
        let mut walked = Self::default();
        let page = drained.page as usize;
        let mut piece = vec![0; PIECE.next_multiple_of(page.max(1))];
        for (cpu, path) in &drained.files {
            let mut file = File::open(path).with_context(|| format!("{}", path.display()))?;
            let ours = quiet.contains(*cpu).then_some(&own);
            loop {
                let length = fill(&mut file, &mut piece)?;
                let bytes = piece.get(..length).unwrap_or_default();
                let events = walked.piece(Pages::raw(bytes, page, description.layout), &looks, ours);
                *walked.events.entry(*cpu).or_default() += events;
                if length < piece.len() {
                    break;
                }
            }
        }
        Ok(walked)
    }

    fn piece(&mut self, mut pages: Pages<'_>, looks: &Looks, ours: Option<&BTreeSet<i64>>) -> u64 {
        let mut count = 0;
        while let Some(page) = pages.next_page() {
            for event in page.events() {
                count += 1;
                let pid = ours.and(looks.pid).and_then(|pid| pid.of(event.data));
                self.own += u64::from(pid.zip(ours).is_some_and(|(pid, ours)| ours.contains(&pid)));
                let id = event.data.first_chunk().map_or(0, |id| u16::from_ne_bytes(*id));
                for code in looks.code.get(usize::from(id)).into_iter().flatten() {
                    if let Some(address) = code.of(event.data)
                        && self.addresses.len() < MOST
                    {
                        self.addresses.insert(address.cast_unsigned());
                    }
                }
            }
        }
        count
    }
}

/// Reads until the piece is full or the file ends.
fn fill(file: &mut File, piece: &mut [u8]) -> Result<usize> {
    let mut length = 0;
    while let Some(rest) = piece.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}
