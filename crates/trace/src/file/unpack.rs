//! Unpacking what a file compressed.

use crate::bytes::Bad;
use std::{
    cell::RefCell,
    io::{self, Read},
};

/// How a file is compressed, as its head names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    None,
    /// zlib (RFC 1950).
    Zlib,
    /// Zstandard (RFC 8878).
    Zstd,
}

/// No section and no chunk is unpacked to more: a few bytes of zeros could claim terabytes.
pub const MOST: usize = 32 << 20;

/// What all CPUs of a ring hold unpacked at once, together. trace-cmd's chunks are of 10 pages: 160 MiB of 4,096 CPUs.
const MOST_TOGETHER: usize = 256 << 20;

/// So many pages no chunk has: trace-cmd packs 10 together. Pages may be as small as 64 bytes, each is a piece of work, and a
/// few packed bytes could claim half a million of them.
const MOST_PAGES: usize = 256;

impl Packing {
    /// By its name in a file; unknown names are refused where they are needed.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "" | "none" => Self::None,
            "zlib" => Self::Zlib,
            "zstd" => Self::Zstd,
            _ => return None,
        })
    }
}

/// Unpacks one chunk after the other.
#[derive(Clone, Copy, Debug)]
pub struct Unpacker {
    packing: Packing,
    /// The longest that one may be, unpacked.
    most: usize,
}

thread_local! {
    /// The tables of zstd are larger than a chunk: one for all CPUs of a trace.
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

impl Unpacker {
    /// For what is packed like this, of which so many are held at once.
    pub fn of(packing: Packing, held: usize) -> Self {
        Self { packing, most: (MOST_TOGETHER / held.max(1)).min(MOST) }
    }

    /// For chunks of pages of this size.
    pub fn of_pages(packing: Packing, held: usize, page: usize) -> Self {
        let Self { most, .. } = Self::of(packing, held);
        Self { packing, most: most.min(page.saturating_mul(MOST_PAGES)) }
    }

    /// Unpacks into a vector, which keeps its memory for the next time.
    ///
    /// # Errors
    /// It is not what it is said to be, or not as long; then the vector may hold a part.
    pub fn unpack(self, packed: &[u8], length: u64, into: &mut Vec<u8>) -> Result<(), Bad> {
        into.clear();
        let fits = usize::try_from(length).ok().filter(|length| *length <= self.most);
        let Some(length) = fits else {
            return Err(Bad::new(0, format!("a chunk that is to unpack to {length} bytes, more than {}", self.most)));
        };
        // One more, since what is longer than it says lies too.
        let most = length as u64 + 1;
        let read = match self.packing {
            Packing::None => packed.take(most).read_to_end(into).map(drop),
            Packing::Zlib => flate2::read::ZlibDecoder::new(packed).take(most).read_to_end(into).map(drop),
            Packing::Zstd => zstd(packed, length, into),
        };
        match read {
            Ok(()) if into.len() == length => Ok(()),
            Ok(()) if into.len() > length => {
                Err(Bad::new(0, format!("a chunk of {length} bytes unpacks to more than these")))
            }
            Ok(()) => Err(Bad::new(0, format!("a chunk of {length} bytes unpacks to {}", into.len()))),
            Err(error) => Err(Bad::new(0, format!("a chunk that cannot be unpacked: {error}"))),
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

    /// A thousand bytes that claim half a million pages of 64 bytes are no chunk; what trace-cmd packs is one.
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
