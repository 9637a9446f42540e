//! Pages of the kernel's ring buffer (include/linux/ring_buffer.h, kernel/trace/ring_buffer.c): a time, a length, then events,
//! each with the time since the one before.

use crate::bytes::{Bad, Endian};

/// Where a page has what: from `events/header_page`, since a `long` is 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The order of its bytes.
    pub endian: Endian,
    /// Where the word with the length of the data lies.
    pub commit_at: usize,
    /// How long that word is: 4 or 8 bytes.
    pub commit_bytes: usize,
    /// Where the data begins.
    pub data_at: usize,
}

impl Layout {
    /// Of a kernel with a `long` of so many bytes.
    pub fn of(endian: Endian, long: usize) -> Self {
        Self { endian, commit_at: 8, commit_bytes: long, data_at: 8 + long }
    }

    /// From the text of `header_page`.
    ///
    /// # Errors
    /// It does not tell where the data begins, or puts it where there can be none.
    pub fn parse(text: &str, endian: Endian) -> Result<Self, Bad> {
        let field = |name: &str| {
            text.lines().find_map(|line| {
                let mut parts = line.split(';').map(str::trim);
                let declared = parts.next()?.strip_prefix("field:")?;
                let last = declared.rsplit(' ').next()?.trim_end_matches("[]");
                let number = |key: &str, part: Option<&str>| part?.strip_prefix(key)?.parse::<usize>().ok();
                (last == name).then(|| (number("offset:", parts.next()), number("size:", parts.next())))
            })
        };
        let (Some((Some(commit_at), Some(commit_bytes))), Some((Some(data_at), _))) = (field("commit"), field("data"))
        else {
            return Err(Bad::new(0, "the header of pages does not tell where the length and the data are"));
        };
        let fits = matches!(commit_bytes, 4 | 8)
            && commit_at >= 8
            && commit_at.checked_add(commit_bytes).is_some_and(|end| end <= data_at)
            && data_at <= 4096;
        let layout = Self { endian, commit_at, commit_bytes, data_at };
        if fits { Ok(layout) } else { Err(Bad::new(0, format!("an impossible header of pages: {layout:?}"))) }
    }
}

/// What was lost before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// Nothing.
    Nothing,
    /// So many events.
    Events(u64),
    /// Nobody counted how many.
    Some,
}

/// Bits of the commit word beside the length.
const MISSED: u64 = 1 << 31;
const COUNTED: u64 = 1 << 30;
/// The length itself.
const LENGTH: u64 = (1 << 27) - 1;

/// The top five bits of a time, which an absolute stamp does not carry.
const TOP: u64 = 0xf8 << 56;

/// Kinds of an event's header (enum ring_buffer_type).
const WORDS_MOST: u32 = 28;
const PADDING: u32 = 29;
const EXTEND: u32 = 30;
const STAMP: u32 = 31;

/// A page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// When its first event's delta counts from, in the trace's clock.
    pub time: u64,
    /// What was lost before it.
    pub missed: Missed,
    data: &'a [u8],
    endian: Endian,
}

/// An event as it lies in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// In the trace's clock, as it was stored.
    pub time: u64,
    /// The record; its first two bytes name the format.
    pub data: &'a [u8],
}

impl<'a> Page<'a> {
    /// From the bytes of a page.
    ///
    /// # Errors
    /// They are too few, or the length in them is more than they are.
    pub fn parse(bytes: &'a [u8], layout: &Layout) -> Result<Self, Bad> {
        let endian = layout.endian;
        let time = endian.u64(bytes, 0).ok_or_else(|| Bad::new(0, "a page without a time"))?;
        let commit = match layout.commit_bytes {
            4 => endian.u32(bytes, layout.commit_at).map(u64::from),
            _ => endian.u64(bytes, layout.commit_at),
        };
        let commit = commit.ok_or_else(|| Bad::new(layout.commit_at, "a page without a length"))?;
        let rest = bytes.get(layout.data_at..).unwrap_or_default();
        let length = commit & LENGTH;
        let data = usize::try_from(length).ok().and_then(|length| rest.get(..length)).ok_or_else(|| {
            Bad::new(layout.commit_at, format!("a page says that it holds {length} bytes, and has {}", rest.len()))
        })?;
        let missed = match (commit & MISSED != 0, commit & COUNTED != 0) {
            (false, _) => Missed::Nothing,
            // The count is a long behind the data.
            (true, true) => rest
                .get(data.len()..data.len().saturating_add(layout.commit_bytes))
                .and_then(|count| endian.number(count))
                .map_or(Missed::Some, Missed::Events),
            (true, false) => Missed::Some,
        };
        Ok(Self { time, missed, data, endian })
    }

    /// Its events, in their order.
    pub fn events(&self) -> Events<'a> {
        Events { page: *self, walk: Walk::of(self) }
    }

    /// The bytes of its events.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

/// A place among the events of a page, without the page: whoever holds the bytes may hold it beside them.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    at: usize,
    time: u64,
    broken: bool,
}

impl Walk {
    /// Before the first event of a page.
    pub fn of(page: &Page<'_>) -> Self {
        Self { at: 0, time: page.time, broken: false }
    }

    /// How much of the page's data could not be read, in bytes: nothing of a good one.
    pub fn unread(&self, data: &[u8]) -> usize {
        if self.broken { data.len().saturating_sub(self.at) } else { 0 }
    }

    fn broken<T>(&mut self) -> Option<T> {
        self.broken = true;
        None
    }

    /// The next event of that page's data.
    #[inline]
    pub fn next<'a>(&mut self, all: &'a [u8], endian: Endian) -> Option<Event<'a>> {
        loop {
            if self.broken || self.at >= all.len() {
                return None;
            }
            let Some(head) = endian.u32(all, self.at) else { return self.broken() };
            // The bit fields of C lie at the other end of the word where bytes do.
            let (kind, delta) = match endian {
                Endian::Little => (head & 31, head >> 5),
                Endian::Big => (head >> 27, head & ((1 << 27) - 1)),
            };
            let delta = u64::from(delta);
            let body = self.at + 4;
            match kind {
                1..=WORDS_MOST => {
                    let end = body + kind as usize * 4;
                    let Some(data) = all.get(body..end) else { return self.broken() };
                    self.at = end;
                    self.time = self.time.wrapping_add(delta);
                    return Some(Event { time: self.time, data });
                }
                // A length follows, which counts itself.
                0 => {
                    let length = endian.u32(all, body).filter(|length| *length >= 4);
                    let end = length.and_then(|length| body.checked_add(length as usize));
                    let Some(data) = end.and_then(|end| all.get(body + 4..end)) else { return self.broken() };
                    // Words are whole in a page.
                    self.at = (body + 4 + data.len()).next_multiple_of(4);
                    self.time = self.time.wrapping_add(delta);
                    return Some(Event { time: self.time, data });
                }
                // The rest of the page, or an event that was taken back, which keeps its time.
                PADDING => {
                    if delta == 0 {
                        self.at = all.len();
                        return None;
                    }
                    let length = endian.u32(all, body).filter(|length| *length >= 4);
                    let end = length.and_then(|length| body.checked_add(length as usize));
                    let Some(end) = end.filter(|end| *end <= all.len()) else { return self.broken() };
                    self.at = end.next_multiple_of(4);
                    self.time = self.time.wrapping_add(delta);
                }
                EXTEND | STAMP => {
                    let Some(high) = endian.u32(all, body) else { return self.broken() };
                    let value = delta | u64::from(high) << 27;
                    self.time = match kind {
                        EXTEND => self.time.wrapping_add(value),
                        _ => value | self.time & TOP,
                    };
                    self.at = body + 4;
                }
                _ => return self.broken(),
            }
        }
    }
}

/// Goes through the events of a page.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    page: Page<'a>,
    walk: Walk,
}

impl Events<'_> {
    /// As [`Walk::unread`].
    pub fn unread(&self) -> usize {
        self.walk.unread(self.page.data)
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    #[inline]
    fn next(&mut self) -> Option<Event<'a>> {
        self.walk.next(self.page.data, self.page.endian)
    }
}

#[cfg(test)]
mod tests;
