//! Reads bytes of a stated order and word size, with bounds checks.

use std::fmt;

/// Why bytes are not a trace, and at which offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// The offset in the bytes that were read.
    pub at: u64,
    /// What is wrong there.
    pub what: String,
}

impl Bad {
    /// Creates the fault `what` at an offset.
    pub fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at: at as u64, what: what.into() }
    }

    /// Returns the same fault, with the offset counted from `by` bytes further in front.
    #[must_use]
    pub fn further(mut self, by: u64) -> Self {
        self.at = self.at.saturating_add(by);
        self
    }
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.at, self.what)
    }
}

impl std::error::Error for Bad {}

/// What could not be read: the first places, and how many there are. It stays small however broken a file is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    places: Vec<Bad>,
    count: u64,
}

impl Losses {
    /// The number of places that are kept.
    pub const MOST: usize = 100;

    /// Adds one loss.
    pub fn push(&mut self, bad: Bad) {
        self.count += 1;
        if self.places.len() < Self::MOST {
            self.places.push(bad);
        }
    }

    /// Adds the losses of `other`, each with `part` in front of it: the part of the file that it belongs to.
    pub fn join(&mut self, other: &Self, part: &str) {
        for bad in &other.places {
            self.push(Bad { at: bad.at, what: format!("{part}{}", bad.what) });
        }
        self.count += other.count - other.places.len() as u64;
    }

    /// Returns whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns how many places there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the first places.
    pub fn places(&self) -> &[Bad] {
        &self.places
    }

    /// Returns each place as a sentence, and at the end the number of places that were not kept.
    pub fn told(&self) -> impl Iterator<Item = String> {
        let further = self.count - self.places.len() as u64;
        let places = if further == 1 { "place" } else { "places" };
        let further = (further > 0).then(|| format!("and {further} more {places}"));
        self.places.iter().map(ToString::to_string).chain(further)
    }
}

/// The byte order of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// The least significant first.
    Little,
    /// The most significant first.
    Big,
}

impl Endian {
    /// Returns a number of up to 8 bytes, or `None` for more bytes.
    pub fn number(self, bytes: &[u8]) -> Option<u64> {
        let mut word = [0; 8];
        match self {
            Self::Little => word.get_mut(..bytes.len())?.copy_from_slice(bytes),
            Self::Big => word.get_mut(8usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes),
        }
        Some(match self {
            Self::Little => u64::from_le_bytes(word),
            Self::Big => u64::from_be_bytes(word),
        })
    }

    /// Returns the number in four bytes.
    #[inline(always)]
    pub fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Reads four bytes at an offset.
    #[inline(always)]
    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        Some(self.word(*bytes.get(at..)?.first_chunk()?))
    }

    /// Reads eight bytes at an offset.
    #[inline(always)]
    pub fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let word = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u64::from_le_bytes(word),
            Self::Big => u64::from_be_bytes(word),
        })
    }

    /// Reads two bytes at an offset.
    #[inline(always)]
    pub fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let word = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(word),
            Self::Big => u16::from_be_bytes(word),
        })
    }
}

/// A reader of values, one after the other.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    endian: Endian,
}

impl<'a> Cursor<'a> {
    /// Starts at an offset of these bytes.
    pub fn new(bytes: &'a [u8], at: usize, endian: Endian) -> Self {
        Self { bytes, at, endian }
    }

    /// Returns the current offset.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns how many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Takes the next `count` bytes.
    ///
    /// # Errors
    /// Fewer bytes are left; `what` names the value in the message.
    pub fn take(&mut self, count: u64, what: &str) -> Result<&'a [u8], Bad> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = usize::try_from(count).ok().and_then(|count| rest.get(..count));
        let taken = taken.ok_or_else(|| {
            Bad::new(self.at, format!("{what} should have {count} bytes, but the file ends after {} bytes", rest.len()))
        })?;
        self.at += taken.len();
        Ok(taken)
    }

    /// Reads a number of `bytes` bytes, up to 8.
    ///
    /// # Errors
    /// Fewer bytes are left, or the number has more than 8 bytes.
    pub fn number(&mut self, bytes: u64, what: &str) -> Result<u64, Bad> {
        let at = self.at;
        let taken = self.take(bytes, what)?;
        self.endian
            .number(taken)
            .ok_or_else(|| Bad::new(at, format!("{what} has {bytes} bytes, too many for a number")))
    }

    /// Reads text up to a NUL and skips the NUL. It replaces bytes that are not UTF-8.
    ///
    /// # Errors
    /// There is no NUL within 64 KiB.
    pub fn text(&mut self, what: &str) -> Result<String, Bad> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let within = rest.get(..rest.len().min(65_536)).unwrap_or_default();
        let Some(length) = within.iter().position(|byte| *byte == 0) else {
            return Err(Bad::new(self.at, format!("{what} has no end")));
        };
        let text = String::from_utf8_lossy(within.get(..length).unwrap_or_default()).into_owned();
        self.at += length + 1;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_stated_order() {
        assert_eq!(Endian::Little.number(&[1, 2]), Some(0x201));
        assert_eq!(Endian::Big.number(&[1, 2]), Some(0x102));
        assert_eq!(Endian::Little.number(&[0; 9]), None);
        assert_eq!(Endian::Big.u32(&[9, 0, 0, 1, 2], 1), Some(0x102));
        assert_eq!(Endian::Little.u64(&[0; 8], 1), None);
    }

    #[test]
    fn one_place_more_is_told_as_one() {
        let mut losses = Losses::default();
        let last = |losses: &Losses| losses.told().last().unwrap();
        (0..=Losses::MOST).for_each(|at| losses.push(Bad::new(at, "x")));
        assert_eq!(last(&losses), "and 1 more place");
        losses.push(Bad::new(0, "x"));
        assert_eq!(last(&losses), "and 2 more places");
    }

    #[test]
    fn a_cursor_says_what_is_missing_and_where() {
        let mut cursor = Cursor::new(b"ab\0\x01\x02", 0, Endian::Little);
        assert_eq!(cursor.text("a name").unwrap(), "ab");
        assert_eq!(cursor.number(2, "a count").unwrap(), 0x201);
        let bad = cursor.take(u64::MAX, "the data").unwrap_err();
        assert!(bad.at == 5 && bad.to_string().contains("the data"), "{bad}");
        assert!(Cursor::new(b"ab", 0, Endian::Little).text("a name").is_err());
    }
}
