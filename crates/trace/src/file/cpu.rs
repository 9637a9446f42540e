//! Reads a CPU's pages one after the other, and unpacks them chunk by chunk.

use super::{CpuData, unpack::Unpacker};
use crate::{
    bytes::{Bad, Endian, Losses},
    page::{Layout, Missed, Page},
};
use std::ops::Range;

impl<'a> CpuData<'a> {
    /// Returns a CPU's data at a place of a file. If the file has only a part of it, the function records the loss and marks the data as
    /// cut. Returns `None` if the CPU wrote nothing.
    pub(super) fn found(
        bytes: &'a [u8],
        cpu: u32,
        offset: u64,
        size: u64,
        packed: bool,
        lost: &mut Losses,
    ) -> Option<Self> {
        if size == 0 {
            return None;
        }
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
        let there = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
        if (there as u64) < size {
            let what = format!("the file has only {there} of the {size} bytes of CPU {cpu}");
            lost.push(Bad { at: offset.min(bytes.len() as u64), what });
        }
        let bytes = rest.get(..there).unwrap_or_default();
        Some(Self { cpu, bytes, at: offset, packed, cut: (there as u64) < size })
    }
}

/// The chunks of packed pages: each with its place in the file and the length that it unpacks to.
#[derive(Clone, Debug)]
pub struct Chunks<'a> {
    rest: &'a [u8],
    /// The place of the rest in the file.
    at: u64,
    left: u32,
    endian: Endian,
}

impl<'a> Chunks<'a> {
    /// Reads packed data at that place in its file. The data starts with the number of chunks.
    pub(super) fn of(data: &'a [u8], at: u64, endian: Endian) -> Self {
        let (left, rest) = (endian.u32(data, 0).unwrap_or(0), data.get(4..).unwrap_or_default());
        Self { rest, at: at.saturating_add(4), left, endian }
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<(u64, &'a [u8], u64), Bad>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let sizes = self.endian.u32(self.rest, 0).zip(self.endian.u32(self.rest, 4));
        let taken = sizes.and_then(|(packed, length)| {
            let end = 8usize.checked_add(packed as usize)?;
            Some((self.rest.get(8..end)?, u64::from(length), self.rest.get(end..)?))
        });
        match taken {
            Some((packed, length, rest)) => {
                let at = self.at;
                self.rest = rest;
                self.at += 8 + packed.len() as u64;
                Some(Ok((at, packed, length)))
            }
            None => {
                let what = format!("{} chunks should follow in {} bytes", u64::from(self.left) + 1, self.rest.len());
                self.left = 0;
                Some(Err(Bad { at: self.at, what }))
            }
        }
    }
}

/// A walk through a CPU's pages. It keeps at most one unpacked chunk.
#[derive(Debug)]
pub struct Pages<'a> {
    from: From<'a>,
    layout: Layout,
    page: usize,
    /// The place of the next page: in the data, or in the chunk if the data is packed.
    at: usize,
    /// The place of the current page.
    here: usize,
    /// The place in the file of the data, or of the chunk if the data is packed.
    begin: u64,
    /// Whether the CPU wrote more than the data has.
    cut: bool,
    /// What could not be read.
    lost: Losses,
}

#[derive(Debug)]
enum From<'a> {
    Plain(&'a [u8]),
    Packed { chunks: Chunks<'a>, unpacker: Unpacker, unpacked: Vec<u8> },
}

/// A page, by its place in the unpacked bytes.
pub(crate) struct Place {
    pub data: Range<usize>,
    /// The time from which its first event's delta counts.
    pub time: u64,
    pub missed: Missed,
    /// When the next page starts, if that page is available.
    pub behind: Option<u64>,
}

impl<'a> Pages<'a> {
    pub(super) fn of(data: CpuData<'a>, page: usize, unpacker: Unpacker, layout: Layout) -> Self {
        let from = if data.packed {
            From::Packed { chunks: Chunks::of(data.bytes, data.at, layout.endian), unpacker, unpacked: Vec::new() }
        } else {
            From::Plain(data.bytes)
        };
        Self { from, layout, page, at: 0, here: 0, begin: data.at, cut: data.cut, lost: Losses::default() }
    }

    /// Reads raw pages as the kernel provides them (`per_cpu/cpuN/trace_pipe_raw`).
    pub fn raw(bytes: &'a [u8], page: usize, layout: Layout) -> Self {
        let (from, page) = (From::Plain(bytes), page.max(64));
        Self { from, layout, page, at: 0, here: 0, begin: 0, cut: false, lost: Losses::default() }
    }

    /// Returns the next readable page. The page borrows from the walk, because the walk drops its chunk afterwards.
    pub fn next_page(&mut self) -> Option<Page<'_>> {
        self.advance()?;
        Page::parse(self.at_place(self.here), &self.layout).ok()
    }

    /// Moves to the next readable page. Returns the place of its data in the unpacked bytes.
    pub(crate) fn advance(&mut self) -> Option<Place> {
        while let Some(at) = self.next_place() {
            self.here = at;
            match Page::parse(self.at_place(at), &self.layout) {
                Ok(page) => {
                    let begin = at + self.layout.data_at;
                    let data = begin..begin + page.data().len();
                    let (time, missed) = (page.time, page.missed);
                    return Some(Place {
                        data,
                        time,
                        missed,
                        behind: self.layout.endian.u64(self.unpacked(), self.at),
                    });
                }
                Err(bad) => self.lose(&bad.what),
            }
        }
        None
    }

    /// Returns the byte order of the pages.
    pub(crate) fn endian(&self) -> Endian {
        self.layout.endian
    }

    /// Returns whether the CPU wrote more than the data has.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Records how many bytes of a page could not be read.
    pub(crate) fn unread(&mut self, bytes: usize) {
        match bytes {
            0 => {}
            1 => self.lose("1 byte of a page is no event"),
            _ => self.lose(&format!("{bytes} bytes of a page are not events")),
        }
    }

    /// Records a fault of the current page.
    pub(crate) fn lose(&mut self, what: &str) {
        let bad = match self.from {
            From::Plain(_) => Bad { at: self.begin + self.here as u64, what: what.to_owned() },
            From::Packed { .. } => Bad {
                at: self.begin,
                what: format!("{what}, {} bytes into the unpacked data of this chunk", self.here),
            },
        };
        self.lost.push(bad);
    }

    /// Returns the bytes of the page at a place; the last page may be short.
    fn at_place(&self, at: usize) -> &[u8] {
        let bytes = self.unpacked();
        bytes.get(at..at.saturating_add(self.page).min(bytes.len())).unwrap_or_default()
    }

    /// Returns the data if it is not packed.
    pub(crate) fn plain(&self) -> Option<&'a [u8]> {
        match &self.from {
            From::Plain(bytes) => Some(bytes),
            From::Packed { .. } => None,
        }
    }

    /// Returns the unpacked bytes: all data, or one chunk.
    #[inline]
    pub(crate) fn unpacked(&self) -> &[u8] {
        match &self.from {
            From::Plain(bytes) => bytes,
            From::Packed { unpacked, .. } => unpacked,
        }
    }

    /// Returns the place of the next page in the unpacked bytes. It unpacks the next chunk if necessary.
    fn next_place(&mut self) -> Option<usize> {
        while self.at >= self.unpacked().len() {
            let From::Packed { chunks, unpacker, unpacked } = &mut self.from else { return None };
            let chunk = chunks.next()?;
            self.at = 0;
            let read = chunk.and_then(|(at, packed, length)| {
                self.begin = at;
                unpacker.unpack(packed, length, unpacked).map_err(|bad| bad.further(at))
            });
            if let Err(bad) = read {
                unpacked.clear();
                self.lost.push(bad);
            }
        }
        let at = self.at;
        self.at = at.saturating_add(self.page);
        Some(at)
    }

    /// Returns what could not be read so far, with its place in the file.
    pub fn lost(&self) -> &Losses {
        &self.lost
    }
}
