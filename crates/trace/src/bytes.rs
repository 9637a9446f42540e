//! Bytes of a stated order and word size, read with bounds.

use std::fmt;

/// Why bytes are no trace, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// The offset in what was read, in bytes.
    pub at: u64,
    /// What is wrong there.
    pub what: String,
}

impl Bad {
    /// That at this offset.
    pub fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at: at as u64, what: what.into() }
    }

    /// The same, counted from further in front.
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

/// What could not be read: the first places, and how many there are. However broken a file is, it stays small.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    places: Vec<Bad>,
    count: u64,
}

impl Losses {
    /// So many places are named.
    pub const MOST: usize = 100;

    /// One more.
    pub fn push(&mut self, bad: Bad) {
        self.count += 1;
        if self.places.len() < Self::MOST {
            self.places.push(bad);
        }
    }

    /// Those of another, each with what it is a part of before it.
    pub fn join(&mut self, other: &Self, part: &str) {
        for bad in &other.places {
            self.push(Bad { at: bad.at, what: format!("{part}{}", bad.what) });
        }
        self.count += other.count - other.places.len() as u64;
    }

    /// Whether all was read.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many places there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first of them.
    pub fn places(&self) -> &[Bad] {
        &self.places
    }

    /// Each as a sentence, and at the end how many are not named.
    pub fn told(&self) -> impl Iterator<Item = String> {
        let further = self.count - self.places.len() as u64;
        let further = (further > 0).then(|| format!("and {further} more places"));
        self.places.iter().map(ToString::to_string).chain(further)
    }
}

/// The order of a machine's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// The least significant first.
    Little,
    /// The most significant first.
    Big,
}

impl Endian {
    /// A number of up to 8 bytes; more are none.
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

    /// Of four bytes.
    #[inline(always)]
    pub fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Four bytes at an offset.
    #[inline(always)]
    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        Some(self.word(*bytes.get(at..)?.first_chunk()?))
    }

    /// Eight bytes at an offset.
    #[inline(always)]
    pub fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let word = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u64::from_le_bytes(word),
            Self::Big => u64::from_be_bytes(word),
        })
    }

    /// Two bytes at an offset.
    #[inline(always)]
    pub fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let word = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(word),
            Self::Big => u16::from_be_bytes(word),
        })
    }
}

/// Reads one thing behind the other.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    endian: Endian,
}

impl<'a> Cursor<'a> {
    /// At an offset of these bytes.
    pub fn new(bytes: &'a [u8], at: usize, endian: Endian) -> Self {
        Self { bytes, at, endian }
    }

    /// Where it stands.
    pub fn at(&self) -> usize {
        self.at
    }

    /// How much is left.
    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// That many bytes.
    ///
    /// # Errors
    /// There are not as many; `what` says of what.
    pub fn take(&mut self, count: u64, what: &str) -> Result<&'a [u8], Bad> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = usize::try_from(count).ok().and_then(|count| rest.get(..count));
        let taken = taken.ok_or_else(|| {
            Bad::new(
                self.at,
                format!("{what} is to have {count} bytes, and the file ends {} bytes further on", rest.len()),
            )
        })?;
        self.at += taken.len();
        Ok(taken)
    }

    /// A number of so many bytes, up to 8.
    ///
    /// # Errors
    /// The bytes end.
    pub fn number(&mut self, bytes: u64, what: &str) -> Result<u64, Bad> {
        let at = self.at;
        let taken = self.take(bytes, what)?;
        self.endian.number(taken).ok_or_else(|| Bad::new(at, format!("{what} has {bytes} bytes and is no number")))
    }

    /// Text up to a NUL, which is passed over; what is no UTF-8 is replaced.
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
    fn a_cursor_says_what_is_missing_and_where() {
        let mut cursor = Cursor::new(b"ab\0\x01\x02", 0, Endian::Little);
        assert_eq!(cursor.text("a name").unwrap(), "ab");
        assert_eq!(cursor.number(2, "a count").unwrap(), 0x201);
        let bad = cursor.take(u64::MAX, "the data").unwrap_err();
        assert!(bad.at == 5 && bad.to_string().contains("the data"), "{bad}");
        assert!(Cursor::new(b"ab", 0, Endian::Little).text("a name").is_err());
    }
}
