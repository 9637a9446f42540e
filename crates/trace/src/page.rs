//! Pages of the kernel's ring buffer (include/linux/ring_buffer.h, kernel/trace/ring_buffer.c): a time, a length, then events, each with
//! the time since the previous event.

use crate::bytes::{Bad, Endian};

/// The layout of a page. It comes from `events/header_page`, because a `long` is 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The byte order.
    pub endian: Endian,
    /// The offset of the word with the length of the data.
    pub commit_at: usize,
    /// The size of that word: 4 or 8 bytes.
    pub commit_bytes: usize,
    /// The offset of the data.
    pub data_at: usize,
}

impl Layout {
    /// Returns the layout of a kernel whose `long` has this many bytes.
    pub fn of(endian: Endian, long: usize) -> Self {
        Self { endian, commit_at: 8, commit_bytes: long, data_at: 8 + long }
    }

    /// Parses the text of `header_page`.
    ///
    /// # Errors
    /// The text does not give the place of the data, or gives an impossible place.
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
            return Err(Bad::new(0, "the page header does not state where the length and the data are"));
        };
        let fits = matches!(commit_bytes, 4 | 8)
            && commit_at >= 8
            && commit_at.checked_add(commit_bytes).is_some_and(|end| end <= data_at)
            && data_at <= 4096;
        let layout = Self { endian, commit_at, commit_bytes, data_at };
        if fits { Ok(layout) } else { Err(Bad::new(0, format!("an impossible page header: {layout:?}"))) }
    }
}

/// What was lost before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// Nothing.
    Nothing,
    /// This many events.
    Events(u64),
    /// An unknown number of events.
    Some,
}

/// The bits of the commit word above the length.
const MISSED: u64 = 1 << 31;
const COUNTED: u64 = 1 << 30;
/// The bits of the length.
const LENGTH: u64 = (1 << 27) - 1;

/// The top five bits of a time, which an absolute stamp does not contain.
const TOP: u64 = 0xf8 << 56;

/// Kinds of an event's header (enum ring_buffer_type).
const WORDS_MOST: u32 = 28;
const PADDING: u32 = 29;
const EXTEND: u32 = 30;
const STAMP: u32 = 31;

/// A page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The time from which its first event's delta counts, in the trace's clock.
    pub time: u64,
    /// What was lost before it.
    pub missed: Missed,
    data: &'a [u8],
    endian: Endian,
}

/// An event as a page contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The stored time, in the trace's clock.
    pub time: u64,
    /// The record; its first two bytes name the format.
    pub data: &'a [u8],
}

impl<'a> Page<'a> {
    /// Parses the bytes of a page.
    ///
    /// # Errors
    /// There are too few bytes, or the length in them is more than their number.
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
            Bad::new(layout.commit_at, format!("a page states that it holds {length} bytes, but has {}", rest.len()))
        })?;
        let missed = match (commit & MISSED != 0, commit & COUNTED != 0) {
            (false, _) => Missed::Nothing,
            // The count is in a `long` after the data.
            (true, true) => rest
                .get(data.len()..data.len().saturating_add(layout.commit_bytes))
                .and_then(|count| endian.number(count))
                .map_or(Missed::Some, Missed::Events),
            (true, false) => Missed::Some,
        };
        Ok(Self { time, missed, data, endian })
    }

    /// Returns the events of the page, in order.
    pub fn events(&self) -> Events<'a> {
        Events::behind(self.data, self.time, self.endian)
    }

    /// Returns the bytes of its events.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

/// A walk through the events of a page.
#[derive(Clone, Copy, Debug)]
pub struct Events<'a> {
    rest: &'a [u8],
    time: u64,
    broken: bool,
    endian: Endian,
}

impl<'a> Events<'a> {
    /// Continues after an event of this time, in the data of its page. Before the first event the time is the page's own.
    #[inline(always)]
    pub(crate) fn behind(rest: &'a [u8], time: u64, endian: Endian) -> Self {
        Self { rest, time, broken: false, endian }
    }

    /// Returns the time of the last returned event, as the page stores it.
    #[inline(always)]
    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    /// Returns how many bytes are left.
    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Returns how many bytes of the page's data could not be read: 0 for a sound page.
    pub fn unread(&self) -> usize {
        if self.broken { self.rest.len() } else { 0 }
    }

    /// Returns the next event. The caller passes the byte order, because it may know it before its loop starts.
    ///
    /// Nearly all events are short and store the time since the previous one. A separate function reads all other entries, so the walk over
    /// the short events stays in registers.
    #[inline(always)]
    pub(crate) fn step(&mut self, endian: Endian) -> Option<Event<'a>> {
        if let Some((head, body)) = self.rest.split_first_chunk() {
            let (kind, delta) = parts(endian.word(*head), endian);
            if kind.wrapping_sub(1) < WORDS_MOST
                && let Some((data, rest)) = body.split_at_checked(kind as usize * 4)
            {
                self.rest = rest;
                self.time = self.time.wrapping_add(delta);
                return Some(Event { time: self.time, data });
            }
        }
        let (event, events) = self.rare();
        *self = events;
        event
    }

    #[cold]
    #[inline(never)]
    fn rare(mut self) -> (Option<Event<'a>>, Self) {
        while !self.broken && !self.rest.is_empty() {
            match self.any() {
                Some(Some(data)) => return (Some(Event { time: self.time, data }), self),
                Some(None) => {}
                None => self.broken = true,
            }
        }
        (None, self)
    }

    /// Returns the data of the next entry, `Some(None)` if the entry is not an event, `None` if it cannot be read.
    fn any(&mut self) -> Option<Option<&'a [u8]>> {
        let (head, body) = self.rest.split_first_chunk()?;
        let (kind, delta) = parts(self.endian.word(*head), self.endian);
        // A length includes its own word, and the page contains only whole words.
        let long = || {
            let (length, rest) = body.split_first_chunk()?;
            let length = (self.endian.word(*length) as usize).checked_sub(4)?;
            let data = rest.get(..length)?;
            Some((data, rest.get(length.next_multiple_of(4)..).unwrap_or_default()))
        };
        let (data, rest, time) = match kind {
            1..=WORDS_MOST => {
                let (data, rest) = body.split_at_checked(kind as usize * 4)?;
                (Some(data), rest, self.time.wrapping_add(delta))
            }
            0 => {
                let (data, rest) = long()?;
                (Some(data), rest, self.time.wrapping_add(delta))
            }
            // The rest of the page, or a discarded event, which keeps its time.
            PADDING if delta == 0 => (None, Default::default(), self.time),
            PADDING => (None, long()?.1, self.time.wrapping_add(delta)),
            EXTEND | STAMP => {
                let (high, rest) = body.split_first_chunk()?;
                let value = delta | u64::from(self.endian.word(*high)) << 27;
                let time = if kind == EXTEND { self.time.wrapping_add(value) } else { value | self.time & TOP };
                (None, rest, time)
            }
            _ => return None,
        };
        (self.rest, self.time) = (rest, time);
        Some(data)
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    #[inline]
    fn next(&mut self) -> Option<Event<'a>> {
        self.step(self.endian)
    }
}

/// Returns the kind of an event and the time since the previous one. The bit fields of C are at opposite ends of the word in the two byte
/// orders.
#[inline(always)]
fn parts(head: u32, endian: Endian) -> (u32, u64) {
    match endian {
        Endian::Little => (head & 31, u64::from(head >> 5)),
        Endian::Big => (head >> 27, u64::from(head & ((1 << 27) - 1))),
    }
}

#[cfg(test)]
mod tests;
