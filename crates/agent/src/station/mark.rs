//! What a station's packets are known by: a word that nobody can guess. Any user of a machine may send to any of its ports, and
//! what arrives is a result.
//!
//! It goes to the station through its standard input: what stands on a command line or in an address everybody can read.

use anyhow::{Context, Result};
use latido_sys::clock::Clock;
use std::{
    hash::{BuildHasher, Hasher, RandomState},
    io::{Read, Write},
};

/// The word, at the end of each packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mark([u8; Self::BYTES]);

impl Mark {
    /// How long it is.
    pub const BYTES: usize = 8;

    /// One that nobody had before: the keys of the library's hashes are the kernel's random numbers (getrandom(2)).
    pub fn new() -> Self {
        let mut hash = RandomState::new().build_hasher();
        hash.write_u64(Clock::Monotonic.now());
        Self(hash.finish().to_be_bytes())
    }

    /// Its bytes, for a loop that has no library.
    pub const fn bytes(self) -> [u8; Self::BYTES] {
        self.0
    }

    /// Puts it on a packet; one that is shorter stays as it is, and is nobody's.
    pub fn put(self, packet: &mut [u8]) {
        if let Some(end) = packet.last_chunk_mut() {
            *end = self.0;
        }
    }

    /// Whether a packet has it.
    pub fn is_on(self, packet: &[u8]) -> bool {
        packet.last_chunk() == Some(&self.0)
    }

    /// Hands it over.
    ///
    /// # Errors
    /// Nobody takes it.
    pub fn tell(self, mut to: impl Write) -> Result<()> {
        to.write_all(&self.0).context("the station does not take its word")
    }

    /// Takes it.
    ///
    /// # Errors
    /// Nobody gives one.
    pub fn hear(mut from: impl Read) -> Result<Self> {
        let mut word = [0; Self::BYTES];
        from.read_exact(&mut word).context("no word came through the standard input")?;
        Ok(Self(word))
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

/// Nobody is shown it.
impl std::fmt::Debug for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mark")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet has its own mark and no other; a short one has none, not even the beginning of one.
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
