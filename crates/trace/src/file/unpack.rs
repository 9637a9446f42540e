//! Unpacking what a file compressed.

use crate::bytes::Bad;
use std::io::Read;

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

    /// Unpacks into a vector, which keeps its memory for the next time.
    ///
    /// # Errors
    /// It is not what it is said to be, or not as long; then the vector holds what could be read.
    pub fn unpack(self, packed: &[u8], length: u64, into: &mut Vec<u8>) -> Result<(), Bad> {
        into.clear();
        let length = usize::try_from(length).ok().filter(|length| *length <= MOST);
        let Some(length) = length else { return Err(Bad::new(0, format!("a chunk of more than {MOST} bytes"))) };
        let read = match self {
            Self::None => {
                into.extend_from_slice(packed.get(..length.min(packed.len())).unwrap_or_default());
                Ok(into.len())
            }
            Self::Zlib => flate2::read::ZlibDecoder::new(packed).take(length as u64).read_to_end(into),
            Self::Zstd => match ruzstd::decoding::StreamingDecoder::new(packed) {
                Ok(decoder) => decoder.take(length as u64).read_to_end(into),
                Err(error) => return Err(Bad::new(0, format!("no Zstandard data: {error}"))),
            },
        };
        match read {
            Ok(_) if into.len() == length => Ok(()),
            Ok(_) => Err(Bad::new(0, format!("a chunk of {length} bytes unpacks to {}", into.len()))),
            Err(error) => Err(Bad::new(0, format!("a chunk that cannot be unpacked: {error}"))),
        }
    }
}
