//! The mark of a station's packets: a secret that no other user can guess. Any user of a machine may send to any of its ports, and every
//! packet that arrives affects the result.
//!
//! latido sends the mark to the station's standard input: every user can read a command line or an address.

use anyhow::{Context, Result};
use latido_sys::clock::Clock;
use std::{
    hash::{BuildHasher, Hasher, RandomState},
    io::{Read, Write},
};

/// The secret bytes at the end of each packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mark([u8; Self::BYTES]);

impl Mark {
    /// Its length, bytes.
    pub const BYTES: usize = 8;

    /// Makes a new mark. The keys of the library's hashes come from the kernel's random numbers (getrandom(2)).
    pub fn new() -> Self {
        let mut hash = RandomState::new().build_hasher();
        hash.write_u64(Clock::Monotonic.now());
        Self(hash.finish().to_be_bytes())
    }

    /// Returns its bytes, for a loop that cannot use this type.
    pub const fn bytes(self) -> [u8; Self::BYTES] {
        self.0
    }

    /// Puts it on a packet. A packet that is shorter stays unchanged, and belongs to no station.
    pub fn put(self, packet: &mut [u8]) {
        if let Some(end) = packet.last_chunk_mut() {
            *end = self.0;
        }
    }

    /// Tells whether a packet has it.
    pub fn is_on(self, packet: &[u8]) -> bool {
        packet.last_chunk() == Some(&self.0)
    }

    /// Writes it to the station's input.
    ///
    /// # Errors
    /// The station does not accept it.
    pub fn tell(self, mut to: impl Write) -> Result<()> {
        to.write_all(&self.0).context("cannot send the station the word that marks its packets")
    }

    /// Reads it.
    ///
    /// # Errors
    /// The input ends before it.
    pub fn hear(mut from: impl Read) -> Result<Self> {
        let mut word = [0; Self::BYTES];
        from.read_exact(&mut word).context("the standard input ended before the word that marks the packets")?;
        Ok(Self(word))
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

/// The debug output does not show the bytes.
impl std::fmt::Debug for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mark")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet must have its own mark and no other. A short one has none, not even the beginning of one.
    #[test]
    fn a_packet_is_known_by_its_mark() {
        let (own, other) = (Mark([1, 2, 3, 4, 5, 6, 7, 8]), Mark([1, 2, 3, 4, 5, 6, 7, 9]));
        for size in [0, 1, 7, 8, 9, 64] {
            let mut packet = vec![1; size];
            assert!(!own.is_on(&packet), "{size}");
            own.put(&mut packet);
            assert_eq!(own.is_on(&packet), size >= 8, "{size}");
            assert!(!other.is_on(&packet), "{size}");
        }
        let mut said = Vec::new();
        own.tell(&mut said).unwrap();
        assert_eq!(Mark::hear(&said[..]).unwrap(), own);
        assert!(Mark::hear(&said[..7]).is_err());
        assert_ne!(Mark::new(), Mark::new());
        assert!(!format!("{own:?}").contains('1'));
    }
}
