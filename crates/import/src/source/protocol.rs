//! The line protocol (`docs/command.md`).

use super::{
    Bad, Declared, LONGEST, Lines, SERIES, Sink,
    number::{decimal, digits, whole},
};

/// The first line of the output.
pub const HEADER: &[u8] = b"latido-samples 1";

/// What the reader needs to know about a series to read its lines.
#[derive(Clone, Copy)]
struct Known {
    factor: i64,
    /// Whether a line of the series had a checksum: then all later lines need one.
    checked: bool,
}

#[derive(Default)]
pub(super) struct Protocol {
    /// Whether the first line was the header.
    pub header: Option<bool>,
    known: Vec<Option<Known>>,
}

/// Computes the checksum of a line: the exclusive or of all bytes before the `*`, as in NMEA 0183.
pub fn checksum(line: &[u8]) -> u8 {
    line.iter().fold(0, |sum, byte| sum ^ byte)
}

/// Returns the part of a line before its checksum, and whether it has a checksum.
fn checked(line: &[u8]) -> Result<(&[u8], bool), Bad> {
    let Some((text, [b'*', high, low])) = line.split_last_chunk::<3>() else { return Ok((line, false)) };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let Some(sum) = digit(*high).zip(digit(*low)).map(|(high, low)| high * 16 + low) else { return Ok((line, false)) };
    if sum == u32::from(checksum(text)) { Ok((text, true)) } else { Err(Bad::Checksum) }
}

impl Protocol {
    fn known(&mut self, word: Option<&[u8]>) -> Result<(usize, &mut Known), Bad> {
        let number = whole(word.ok_or(Bad::Words)?).ok_or(Bad::Number)?;
        let number = usize::try_from(number).map_err(|_| Bad::Series)?;
        let known = self.known.get_mut(number).and_then(Option::as_mut).ok_or(Bad::Series)?;
        Ok((number, known))
    }

    /// Returns the series of a line, given whether the line has a checksum (`sum`).
    fn of(&mut self, word: Option<&[u8]>, sum: bool) -> Result<(usize, i64), Bad> {
        let (number, known) = self.known(word)?;
        if known.checked && !sum {
            return Err(Bad::Checksum);
        }
        known.checked |= sum;
        Ok((number, known.factor))
    }

    fn declare<'a>(
        &mut self,
        mut words: impl Iterator<Item = &'a [u8]>,
        sum: bool,
        sink: &mut impl Sink,
    ) -> Result<(), Bad> {
        let number = whole(words.next().ok_or(Bad::Words)?).ok_or(Bad::Number)?;
        let number = usize::try_from(number).ok().filter(|number| *number < SERIES).ok_or(Bad::Declaration)?;
        let declared = Declared::read(words)?;
        if self.known.len() <= number {
            self.known.resize(number + 1, None);
        }
        let place = self.known.get_mut(number).filter(|place| place.is_none()).ok_or(Bad::Declaration)?;
        *place = Some(Known { factor: declared.unit.factor(), checked: sum });
        sink.series(number, declared);
        Ok(())
    }
}

/// Reads a count and, if `timed`, an optional time; nothing may follow.
fn count<'a>(mut words: impl Iterator<Item = &'a [u8]>, timed: bool) -> Result<(u64, Option<u64>), Bad> {
    let number = |word: &[u8]| whole(word).ok_or(Bad::Number);
    let count = number(words.next().ok_or(Bad::Words)?)?;
    let time = if timed { words.next().map(number).transpose()? } else { None };
    if words.next().is_some() { Err(Bad::Words) } else { Ok((count, time)) }
}

impl Lines for Protocol {
    fn line(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), Bad> {
        if !line.iter().all(|byte| matches!(byte, b' '..=b'~')) {
            self.header.get_or_insert(false);
            return Err(Bad::Bytes);
        }
        let (line, sum) = checked(line)?;
        if self.header.is_none() {
            let right = line.trim_ascii_end() == HEADER;
            self.header = Some(right);
            return if right { Ok(()) } else { Err(Bad::Words) };
        }
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        match words.next() {
            Some(b"series") => self.declare(words, sum, sink)?,
            Some(b"ready") => match words.next() {
                None => sink.ready(),
                Some(_) => return Err(Bad::Words),
            },
            Some(b"miss") => {
                let (series, _) = self.of(words.next(), sum)?;
                let (missed, due) = count(words, true)?;
                sink.missed(series, missed, due);
            }
            Some(b"drop") => {
                let (series, _) = self.of(words.next(), sum)?;
                sink.dropped(series, count(words, false)?.0);
            }
            Some(b"end") => {
                let (series, _) = self.of(words.next(), sum)?;
                sink.end(series, count(words, false)?.0);
            }
            Some(word) if word.iter().all(u8::is_ascii_digit) => {
                let (series, factor) = self.of(Some(word), sum)?;
                let value = decimal(words.next().ok_or(Bad::Words)?, factor).ok_or(Bad::Number)?;
                let end = words.next().map(|word| whole(word).ok_or(Bad::Number)).transpose()?;
                if words.next().is_some() {
                    return Err(Bad::Words);
                }
                sink.sample(series, value, end);
            }
            _ => return Err(Bad::Words),
        }
        Ok(())
    }

    #[inline(always)]
    fn plain<'a>(&mut self, bytes: &'a [u8], sink: &mut impl Sink) -> (u64, &'a [u8]) {
        let mut rest = bytes;
        let mut count = 0;
        if self.header != Some(true) {
            return (count, rest);
        }
        while let Some((series, value, end, after)) = plain(rest) {
            let Some(Some(known)) = self.known.get(series) else { break };
            let Some(value) = value.checked_mul(known.factor).filter(|_| !known.checked) else { break };
            sink.sample(series, value, end);
            count += 1;
            rest = after;
        }
        (count, rest)
    }

    fn longest(&self) -> usize {
        LONGEST
    }
}

/// Reads the complete sample that bytes begin with, if it consists of integers with single blanks between them. Returns series, value, end,
/// and the rest. [`Protocol::line`] reads everything else, and would give the same result for these samples.
#[inline(always)]
fn plain(bytes: &[u8]) -> Option<(usize, i64, Option<u64>, &[u8])> {
    let (series, b' ', rest) = digits(bytes)? else { return None };
    let (sign, rest) = match rest.split_first() {
        Some((b'-', rest)) => (-1, rest),
        _ => (1, rest),
    };
    let (value, stop, rest) = digits(rest)?;
    let (end, rest) = match stop {
        b'\n' => (None, rest),
        b' ' => match digits(rest)? {
            (end, b'\n', rest) => (Some(end), rest),
            _ => return None,
        },
        _ => return None,
    };
    Some((usize::try_from(series).ok()?, sign * value.cast_signed(), end, rest))
}
