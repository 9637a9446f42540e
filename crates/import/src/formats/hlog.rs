//! `hlog`: HdrHistogram's interval log, V2. latido adds up the histograms of each tag.

use crate::{
    cost,
    format::{Asked, Format, Unit},
    imported::{Bin, Ending, Imported, Interval, Series},
    samples::decimal,
    text::{self, lines, shown},
};
use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use hdrhistogram::serialization::Deserializer;
use std::{collections::BTreeMap, io::Read};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "hlog",
    about: "HdrHistogram's interval log, V2; tags become series; ns unless --unit",
    recognise,
    read,
};

/// The largest histogram, in bytes.
const MOST: u64 = 64 << 20;
const COMPRESSED: u32 = 0x1c84_9304;
const PLAIN: u32 = 0x1c84_9303;

/// Reads an interval: tag, start and length in ns, payload.
fn interval(line: &str) -> Option<(String, i64, i64, &str)> {
    let (tag, rest) = match line.strip_prefix("Tag=") {
        Some(text) => text.split_once(',')?,
        None => ("", line),
    };
    let mut fields = rest.splitn(4, ',');
    let (start, length) = (decimal(fields.next()?, 1_000_000_000), decimal(fields.next()?, 1_000_000_000));
    fields.next()?.trim().parse::<f64>().ok()?;
    Some((tag.into(), start?, length.filter(|length| *length >= 0)?, fields.next()?.trim()))
}

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).take(100).any(|(_, line)| {
        let line = String::from_utf8_lossy(line);
        line.starts_with("#[Histogram log format")
            || interval(&line).is_some_and(|(.., payload)| payload.starts_with("HIST"))
    })
}

/// Returns how many slots the counts of a histogram cover. A count takes one, and a negative number represents that many empty ones
/// (HdrHistogram, "ZigZagEncoding": at most nine bytes per number, with seven bits each and eight in the last).
fn slots(counts: &[u8]) -> u64 {
    let (mut slots, mut value, mut shift) = (0u64, 0u64, 0);
    for byte in counts {
        let is_last = shift == 56;
        value |= u64::from(if is_last { *byte } else { byte & 0x7f }) << shift;
        if is_last || byte & 0x80 == 0 {
            slots = slots.saturating_add(if value & 1 == 1 { (value >> 1).saturating_add(1) } else { 1 });
            (value, shift) = (0, 0);
        } else {
            shift += 7;
        }
    }
    slots
}

/// Lowers the stated highest value of a histogram to what its counts reach. The library allocates each slot below that value, used or not.
/// The place of a slot depends only on the smallest value and on the digits.
fn no_higher(plain: &mut [u8], passed: u64) -> Option<()> {
    let number = |plain: &[u8], at: usize| plain.get(at..)?.first_chunk::<8>().map(|eight| u64::from_be_bytes(*eight));
    let digits = u32::from_be_bytes(*plain.get(12..)?.first_chunk::<4>()?);
    let (low, high) = (number(plain, 16)?, number(plain, 24)?);
    // This is as wide as the first power of two that distinguishes values of that many digits. Each further half is twice as wide as the
    // one before.
    let first = 10u64.checked_pow(digits)?.checked_mul(2)?.checked_next_power_of_two()?;
    let doublings = u32::try_from(passed / (first / 2)).ok()?.checked_add(low.max(1).ilog2())?;
    let reach = first.checked_mul(1u64.checked_shl(doublings)?)?;
    let lowered = high.min(reach.max(low.checked_mul(2)?));
    plain.get_mut(24..32)?.copy_from_slice(&lowered.to_be_bytes());
    Some(())
}

/// Returns the buckets of a payload. `left` is the number of slots that the file may still cover.
fn buckets(payload: &str, left: &mut u64) -> Result<Vec<Bin>> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(payload).context("no base64")?;
    let cookie = |bytes: &[u8]| bytes.first_chunk::<4>().map(|four| u32::from_be_bytes(*four) & !0xf0);
    match cookie(&bytes) {
        Some(COMPRESSED) => {}
        Some(0x1c84_9302 | 0x1c84_9301) => {
            bail!("a histogram of V1, but latido reads only V2 (write it again with a newer library)")
        }
        Some(0x1c84_9309 | 0x1c84_9308) => {
            bail!("a histogram of V0, but latido reads only V2 (write it again with a newer library)")
        }
        other => bail!("not a compressed V2 histogram: it begins with {other:x?}"),
    }
    let length = bytes.get(4..8).and_then(<[u8]>::first_chunk::<4>).map(|four| u32::from_be_bytes(*four));
    let packed = bytes.get(8..).unwrap_or_default();
    ensure!(
        length.is_some_and(|length| length as usize == packed.len()),
        "its stated length differs from its number of bytes"
    );
    let mut plain = Vec::new();
    flate2::read::ZlibDecoder::new(packed).take(MOST).read_to_end(&mut plain).context("no zlib")?;
    ensure!(cookie(&plain) == Some(PLAIN) && (plain.len() as u64) < MOST, "not a V2 histogram");
    // The library walks through all slots, even if only few of them are used.
    let passed = slots(plain.get(40..).unwrap_or_default());
    *left = left
        .checked_sub(passed)
        .with_context(|| format!("histograms of more slots than a file of this size may have ({passed} here)"))?;
    let _ = no_higher(&mut plain, passed);
    // The word size of V2 is optional, but the library requires it.
    if let Some(digit) = plain.get_mut(3) {
        *digit = 0x13;
    }
    let histogram = Deserializer::new().deserialize::<u64, _>(&mut plain.as_slice());
    let histogram = histogram.map_err(|error| anyhow::anyhow!("not a V2 histogram that latido can read ({error})"))?;
    let mut bins = Vec::new();
    for step in histogram.iter_recorded() {
        let value = step.value_iterated_to();
        let end = |value: u64| i64::try_from(value).context("a value above 2^63");
        let (low, high) = (end(histogram.lowest_equivalent(value))?, end(histogram.highest_equivalent(value))?);
        bins.push(Bin { low, high: Some(high), count: step.count_since_last_iteration() });
    }
    Ok(bins)
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let unit = asked.unit.unwrap_or(Unit::Ns).ns();
    let torn = text::torn(bytes);
    let mut tags: BTreeMap<String, Counts> = BTreeMap::new();
    let (mut imported, mut span) = (Imported::default(), None::<(i64, i64)>);
    // The limits for all tags together.
    let (mut held, mut left) = (0, cost::slots(bytes.len()));
    for (at, raw) in lines(bytes).filter(|(at, line)| torn != Some(*at) && !line.is_empty()) {
        text::within(at, raw)?;
        let text = std::str::from_utf8(raw).with_context(|| format!("line {at}: bytes that are not UTF-8"))?;
        if let Some(remark) = text.strip_prefix('#') {
            if let Some(start) = remark.strip_prefix("[StartTime:") {
                imported.times = [Some(start.trim_end_matches(']').trim().to_owned()), None];
            }
            if imported.notes.len() < 100 {
                imported.notes.push(shown(remark.as_bytes()));
            }
            continue;
        }
        if text.starts_with("\"StartTimestamp\"") {
            continue;
        }
        let (tag, start, length, payload) =
            interval(text).with_context(|| format!("line {at}: not an interval: `{}`", shown(raw)))?;
        let end = start.checked_add(length).with_context(|| format!("line {at}: an end beyond 2^63 ns"))?;
        span = Some(span.map_or((start, end), |(from, to)| (from.min(start), to.max(end))));
        ensure!(tags.len() < 8192 || tags.contains_key(&tag), "line {at}: more than 8192 tags");
        let own = tags.entry(tag).or_default();
        let before = own.len();
        add(own, payload, unit, &mut left).with_context(|| format!("line {at}"))?;
        held += own.len() - before;
        cost::enough(held, bytes.len()).with_context(|| format!("line {at}"))?;
    }
    ensure!(!tags.is_empty(), "no interval");
    (imported.tool, imported.title, imported.command) = ("HdrHistogram".into(), "hlog".into(), asked.args.clone());
    imported.elapsed_ns = span.and_then(|(from, to)| u64::try_from(to.checked_sub(from)?).ok());
    if asked.unit.is_none() {
        imported.notes.push("the file does not state its unit: latido assumes ns unless you use --unit".into());
    }
    if let Some(at) = torn {
        imported.ending = Ending::Interrupted(format!("line {at} {}", text::TORN));
    }
    for (thread, (tag, own)) in (0..).zip(tags) {
        imported.series.push(series(thread, tag, own)?);
    }
    Ok(imported)
}

/// The counts of buckets, by the bucket's smallest and largest value.
type Counts = BTreeMap<(i64, i64), u64>;

/// Adds the buckets of one interval, in ns.
fn add(own: &mut Counts, payload: &str, unit: i64, left: &mut u64) -> Result<()> {
    for bin in buckets(payload, left)? {
        let low = bin.low.checked_mul(unit);
        let high = bin.high.and_then(|high| high.checked_add(1)?.checked_mul(unit)).map(|end| end - 1);
        let (low, high) = low.zip(high).context("a value beyond 2^63 ns")?;
        let count = own.entry((low, high)).or_default();
        *count = count.checked_add(bin.count).context("more than 2^64 samples")?;
    }
    Ok(())
}

/// Returns the series of a tag.
fn series(thread: u32, tag: String, own: Counts) -> Result<Series> {
    let bins: Vec<Bin> = own.into_iter().map(|((low, high), count)| Bin { low, high: Some(high), count }).collect();
    let apart = bins.windows(2).all(|two| matches!(two, [one, next] if one.high < Some(next.low)));
    ensure!(apart, "tag `{}`: its histograms have buckets of different sizes", shown(tag.as_bytes()));
    let ends = |bin: Option<&Bin>| bin.map(|bin| Interval { low: bin.low, high: bin.high });
    let count = bins.iter().try_fold(0u64, |sum, bin| sum.checked_add(bin.count)).context("more than 2^64 samples")?;
    let (mut low, mut high) = (0.0, 0.0);
    for bin in &bins {
        low += bin.low as f64 * bin.count as f64;
        high += bin.high.unwrap_or(bin.low) as f64 * bin.count as f64;
    }
    Ok(Series {
        quantity: "latency".into(),
        heading: "Latency".into(),
        labels: if tag.is_empty() { BTreeMap::new() } else { [("tag".to_owned(), tag)].into() },
        thread,
        unit: "ns",
        count: Some(count),
        min: ends(bins.first()),
        max: ends(bins.last()),
        mean: (count > 0).then(|| [low / count as f64, high / count as f64]),
        bins,
        ..Series::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::{
        Histogram,
        serialization::{self, Serializer, V2DeflateSerializer},
    };

    /// Makes a log with that many tags, each with a sample in every possible bucket. Compressed, it takes very few bytes.
    fn dense(tags: usize) -> String {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 1 << 50, 3).unwrap();
        let mut value = 1;
        while value < 1 << 50 {
            histogram.record(value).unwrap();
            value = histogram.next_non_equivalent(value);
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
        let payload = base64::engine::general_purpose::STANDARD.encode(bytes);
        let line = |tag| format!("Tag=t{tag},{}.000,1.000,1.0,{payload}\n", tag + 1);
        "#[Histogram log format version 1.3]\n".to_owned() + &(0..tags).map(line).collect::<String>()
    }

    /// latido must read one dense histogram. It must refuse a file that consists of them before the file has taken the memory.
    #[test]
    fn a_small_file_does_not_become_a_large_one() {
        let one = read(dense(1).as_bytes(), &Asked::default()).unwrap();
        assert!(one.series[0].bins.len() > 30_000, "{}", one.series[0].bins.len());
        let many = dense(100);
        assert!(many.len() < 100_000, "{}", many.len());
        let told = format!("{:#}", read(many.as_bytes(), &Asked::default()).unwrap_err());
        assert!(told.contains("buckets") && told.contains("line "), "{told}");
    }

    /// Makes a log of histograms with many empty slots before one count. A line of it is short, but takes long to read.
    fn hollow(lines: usize) -> String {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 1 << 52, 5).unwrap();
        histogram.record(1 << 40).unwrap();
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
        let payload = base64::engine::general_purpose::STANDARD.encode(bytes);
        (0..lines).map(|line| format!("{}.000,1.000,1.0,{payload}\n", line + 1)).collect()
    }

    /// The result must be the same as with the full room, for a histogram with any bounds. The library must allocate only the used part.
    #[test]
    fn a_lowered_histogram_is_the_same() {
        for (low, high, digits) in [(1, 1 << 62, 5), (1, 1 << 40, 3), (1000, 1 << 50, 2), (7, 14, 0), (1, 2, 1)] {
            for most in [low, 2 * low, high / 3 + low, high] {
                let mut histogram = Histogram::<u64>::new_with_bounds(low, high, digits).unwrap();
                for value in [low, most.min(high) / 2 + 1, most.min(high)] {
                    histogram.record(value).unwrap();
                }
                let mut plain = Vec::new();
                serialization::V2Serializer::new().serialize(&histogram, &mut plain).unwrap();
                let whole: Histogram<u64> = Deserializer::new().deserialize(&mut plain.as_slice()).unwrap();
                let passed = slots(plain.get(40..).unwrap());
                let _ = no_higher(&mut plain, passed);
                let lowered: Histogram<u64> = Deserializer::new().deserialize(&mut plain.as_slice()).unwrap();
                let bins = |of: &Histogram<u64>| -> Vec<_> {
                    let value = |step: u64| (of.lowest_equivalent(step), of.highest_equivalent(step));
                    let steps = of.iter_recorded();
                    steps.map(|step| (value(step.value_iterated_to()), step.count_at_value())).collect()
                };
                assert_eq!(bins(&lowered), bins(&whole), "{low} to {high}, {digits} digits, {most}");
                assert!(lowered.distinct_values() <= whole.distinct_values());
                let room = (1 << 20) + 2 * passed as usize;
                assert!(lowered.distinct_values() <= room, "{} of {room}", lowered.distinct_values());
            }
        }
    }

    /// latido must read a few such lines. It must refuse a file that consists of them before minutes have passed.
    #[test]
    fn a_small_file_takes_no_long_time() {
        let one = read(hollow(1).as_bytes(), &Asked::default()).unwrap();
        assert_eq!(one.series[0].count, Some(1));
        let told = format!("{:#}", read(hollow(1000).as_bytes(), &Asked::default()).unwrap_err());
        assert!(told.contains("slots") && told.contains("line "), "{told}");
        // Computed: 3 slots with counts, and 5 empty ones in between.
        assert_eq!(slots(&[0x02, 0x09, 0x02, 0x02]), 1 + 5 + 1 + 1);
        assert_eq!(slots(&[0xff; 9]), 1 << 63);
    }
}
