//! Unpacking what a file compressed.

use crate::bytes::Bad;
use std::{fmt, io::Read};

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

/// No chunk is unpacked to more: a few bytes of zeros could claim terabytes.
pub const MOST: usize = 64 << 20;

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

/// Unpacks one chunk after the other, with the same tables.
pub struct Unpacker {
    packing: Packing,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.packing.fmt(f)
    }
}

impl Unpacker {
    /// For what is packed like this.
    pub fn of(packing: Packing) -> Self {
        Self { packing, zstd: None }
    }

    /// Unpacks into a vector, which keeps its memory for the next time.
    ///
    /// # Errors
    /// It is not what it is said to be, or not as long; then the vector may hold a part.
    pub fn unpack(&mut self, packed: &[u8], length: u64, into: &mut Vec<u8>) -> Result<(), Bad> {
        into.clear();
        let length = usize::try_from(length).ok().filter(|length| *length <= MOST);
        let Some(length) = length else { return Err(Bad::new(0, format!("a chunk of more than {MOST} bytes"))) };
        let read = match self.packing {
            Packing::None => packed.take(length as u64).read_to_end(into).map(drop),
            Packing::Zlib => flate2::read::ZlibDecoder::new(packed).take(length as u64).read_to_end(into).map(drop),
            Packing::Zstd => self.zstd(packed, length, into),
        };
        match read {
            Ok(()) if into.len() == length => Ok(()),
            Ok(()) => Err(Bad::new(0, format!("a chunk of {length} bytes unpacks to {}", into.len()))),
            Err(error) => Err(Bad::new(0, format!("a chunk that cannot be unpacked: {error}"))),
        }
    }

    fn zstd(&mut self, packed: &[u8], length: usize, into: &mut Vec<u8>) -> std::io::Result<()> {
        let decompressor = match &mut self.zstd {
            Some(known) => known,
            none => none.insert(zstd::bulk::Decompressor::new()?),
        };
        into.reserve(length);
        decompressor.decompress_to_buffer(packed, into).map(drop)
    }
}
