//! Unpacks the compressed parts of a file.

use crate::bytes::Bad;
use std::{
    cell::RefCell,
    io::{self, Read},
};

/// The compression of a file, as its head names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// No compression.
    None,
    /// zlib (RFC 1950).
    Zlib,
    /// Zstandard (RFC 8878).
    Zstd,
}

/// The longest section or chunk that latido unpacks: a few bytes could otherwise claim terabytes of zeros.
pub const MOST: usize = 32 << 20;

/// The most unpacked bytes that all CPUs of a ring have together at one time. A chunk of trace-cmd has 10 pages: 160 MiB for 4,096 CPUs.
const MOST_TOGETHER: usize = 256 << 20;

/// The most pages of a chunk: trace-cmd packs 10 pages together. A page may be as small as 64 bytes, and latido works on each page; a few
/// packed bytes could otherwise claim half a million pages.
const MOST_PAGES: usize = 256;

impl Packing {
    /// Returns the compression of this name. latido refuses unknown names only where it needs them.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "" | "none" => Self::None,
            "zlib" => Self::Zlib,
            "zstd" => Self::Zstd,
            _ => return None,
        })
    }
}

/// An unpacker of chunks, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Unpacker {
    packing: Packing,
    /// The longest chunk that it unpacks, in bytes after unpacking.
    most: usize,
}

thread_local! {
    /// The tables of zstd are larger than a chunk, so all CPUs of a trace share them.
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

impl Unpacker {
    /// Creates an unpacker for this compression. `held` is how many chunks the caller keeps at one time.
    pub fn of(packing: Packing, held: usize) -> Self {
        Self { packing, most: (MOST_TOGETHER / held.max(1)).min(MOST) }
    }

    /// Creates an unpacker for chunks of pages of this size.
    pub fn of_pages(packing: Packing, held: usize, page: usize) -> Self {
        let Self { most, .. } = Self::of(packing, held);
        Self { packing, most: most.min(page.saturating_mul(MOST_PAGES)) }
    }

    /// Unpacks into a vector. The vector keeps its memory for the next chunk.
    ///
    /// # Errors
    /// The data is not compressed as stated, or does not have the stated length; the vector may then contain a part.
    pub fn unpack(self, packed: &[u8], length: u64, into: &mut Vec<u8>) -> Result<(), Bad> {
        into.clear();
        let fits = usize::try_from(length).ok().filter(|length| *length <= self.most);
        let Some(length) = fits else {
            return Err(Bad::new(0, format!("a chunk should unpack to {length} bytes, more than {}", self.most)));
        };
        // One byte more, to detect data that is longer than stated.
        let most = length as u64 + 1;
        let read = match self.packing {
            Packing::None => packed.take(most).read_to_end(into).map(drop),
            Packing::Zlib => flate2::read::ZlibDecoder::new(packed).take(most).read_to_end(into).map(drop),
            Packing::Zstd => zstd(packed, length, into),
        };
        match read {
            Ok(()) if into.len() == length => Ok(()),
            Ok(()) if into.len() > length => {
                Err(Bad::new(0, format!("a chunk of {length} bytes unpacks to more bytes")))
            }
            Ok(()) => Err(Bad::new(0, format!("a chunk of {length} bytes unpacks to {}", into.len()))),
            Err(error) => Err(Bad::new(0, format!("a chunk cannot be unpacked: {error}"))),
        }
    }
}

fn zstd(packed: &[u8], length: usize, into: &mut Vec<u8>) -> io::Result<()> {
    ZSTD.with_borrow_mut(|known| {
        let decompressor = match known {
            Some(known) => known,
            none => none.insert(zstd::bulk::Decompressor::new()?),
        };
        into.reserve(length);
        decompressor.decompress_to_buffer(packed, into).map(drop)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand bytes that claim half a million pages of 64 bytes must be refused; a chunk as trace-cmd packs it must be accepted.
    #[test]
    fn a_chunk_has_as_many_pages_as_a_chunk_may() {
        for (page, usual) in [(64, 640), (4096, 40_960), (65_536, 655_360)] {
            let unpacker = Unpacker::of_pages(Packing::Zstd, 1, page);
            let mut into = Vec::new();
            let packed = zstd::bulk::compress(&vec![0; usual], 1).unwrap();
            unpacker.unpack(&packed, usual as u64, &mut into).unwrap();
            assert_eq!(into.len(), usual);
            let bomb = zstd::bulk::compress(&vec![0; MOST], 1).unwrap();
            assert!(bomb.len() < 4096, "{}", bomb.len());
            let refused = unpacker.unpack(&bomb, MOST as u64, &mut into);
            assert_eq!(refused.is_err(), page * MOST_PAGES < MOST, "{page}");
            assert!(into.len() / page <= MOST / 4096, "{page}: {} pages", into.len() / page);
        }
    }
}
