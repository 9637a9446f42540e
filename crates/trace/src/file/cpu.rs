//! A CPU's pages, one behind the other, unpacked chunk by chunk.

use super::{CpuData, unpack::Unpacker};
use crate::{
    bytes::{Bad, Endian, Losses},
    page::{Layout, Missed, Page},
};
use std::ops::Range;

impl<'a> CpuData<'a> {
    /// What lies at a place of a file; what of it the file does not have is named, and the data is cut. None where a CPU
    /// wrote nothing.
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
            let what = format!("of {size} bytes that CPU {cpu} wrote the file has {there}");
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
    /// Where in the file the rest lies.
    at: u64,
    left: u32,
    endian: Endian,
}

impl<'a> Chunks<'a> {
    /// Of packed data that lies there in its file: their number comes first.
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
                let what = format!("{} chunks are to follow in {} bytes", u64::from(self.left) + 1, self.rest.len());
                self.left = 0;
                Some(Err(Bad { at: self.at, what }))
            }
        }
    }
}

/// Walks through a CPU's pages. Holds at most one chunk unpacked.
#[derive(Debug)]
pub struct Pages<'a> {
    from: From<'a>,
    layout: Layout,
    page: usize,
    /// Where in the data the next page lies; of packed data, in the chunk.
    at: usize,
    /// Where the page lies that it went to last.
    here: usize,
    /// Where in the file the data begins; of packed data, the chunk.
    begin: u64,
    /// Whether more was written than the data has.
    cut: bool,
    /// What could not be read.
    lost: Losses,
}

#[derive(Debug)]
enum From<'a> {
    Plain(&'a [u8]),
    Packed { chunks: Chunks<'a>, unpacker: Unpacker, unpacked: Vec<u8> },
}

/// A page by its place in what is unpacked.
pub(crate) struct Place {
    pub data: Range<usize>,
    /// When its first event's delta counts from.
    pub time: u64,
    pub missed: Missed,
    /// When the page behind it begins, where that is at hand.
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

    /// Raw pages as the kernel gives them (`per_cpu/cpuN/trace_pipe_raw`).
    pub fn raw(bytes: &'a [u8], page: usize, layout: Layout) -> Self {
        let (from, page) = (From::Plain(bytes), page.max(64));
        Self { from, layout, page, at: 0, here: 0, begin: 0, cut: false, lost: Losses::default() }
    }

    /// The next page that can be read. It borrows from the walk, as the chunk that it lies in is given up behind it.
    pub fn next_page(&mut self) -> Option<Page<'_>> {
        self.advance()?;
        Page::parse(self.at_place(self.here), &self.layout).ok()
    }

    /// Goes to the next page that can be read, and tells where its data lies in what is unpacked.
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

    /// The order of its bytes.
    pub(crate) fn endian(&self) -> Endian {
        self.layout.endian
    }

    /// Whether more was written than there is.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Notes how many bytes of a page could not be read.
    pub(crate) fn unread(&mut self, bytes: usize) {
        if bytes > 0 {
            self.lose(&format!("{bytes} bytes of a page are no events"));
        }
    }

    /// Notes what is wrong with the page that it is at.
    pub(crate) fn lose(&mut self, what: &str) {
        let bad = match self.from {
            From::Plain(_) => Bad { at: self.begin + self.here as u64, what: what.to_owned() },
            From::Packed { .. } => {
                Bad { at: self.begin, what: format!("{what}, {} bytes into what this chunk unpacks to", self.here) }
            }
        };
        self.lost.push(bad);
    }

    /// The bytes of the page there; the last one may be short.
    fn at_place(&self, at: usize) -> &[u8] {
        let bytes = self.unpacked();
        bytes.get(at..at.saturating_add(self.page).min(bytes.len())).unwrap_or_default()
    }

    /// Its data, where it is not packed.
    pub(crate) fn plain(&self) -> Option<&'a [u8]> {
        match &self.from {
            From::Plain(bytes) => Some(bytes),
            From::Packed { .. } => None,
        }
    }

    /// What is unpacked of its data.
    #[inline]
    pub(crate) fn unpacked(&self) -> &[u8] {
        match &self.from {
            From::Plain(bytes) => bytes,
            From::Packed { unpacked, .. } => unpacked,
        }
    }

    /// Where the next page lies in what is unpacked, of which there may be more.
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

    /// What could not be read so far, with its place in the file.
    pub fn lost(&self) -> &Losses {
        &self.lost
    }
}
