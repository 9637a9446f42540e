//! The files next to a record: HdrHistogram V2 (deflated), CSV of blocks, CSV of the largest samples.
//!
//! The measuring process encodes, the host decodes. Decoders take bytes from other machines: junk is an error, and no header makes them
//! allocate more than the bytes can fill.

use crate::record::{Block, Class, ORDERED_MAX, Point, Sample};
use anyhow::{Context, Result, anyhow, bail, ensure};
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer, V2DeflateSerializer},
};
use std::{io::Read, str::FromStr};

mod bins;

pub use bins::{decode_bins, encode_bins, upper_ends};

/// Significant decimal digits of a histogram: its error is then small compared with the sampling error.
pub const HISTOGRAM_DIGITS: u8 = 3;

/// The largest value in a measuring thread's histogram, in the unit of its series: 60 s of nanoseconds. Larger samples count as overflow.
pub const HIGHEST: i64 = 60_000_000_000;

/// The largest inflated histogram accepted; 3 digits over 64 bits with 9 bytes per bucket stay below it.
const MAX_INFLATED: u64 = 4 << 20;

/// The most samples of a histogram accepted: a month with one every 10 ns. The sums over many files then stay below 2^64, beyond which the
/// histogram's quantiles are wrong.
pub const MAX_SAMPLES: u64 = 1 << 48;

/// The most blocks accepted: latido merges them beyond 3600, and a day has 86,400 seconds.
const MAX_BLOCKS: usize = 100_000;

/// The most largest samples accepted; latido keeps 4096.
const MAX_LARGEST: usize = 65_536;

/// Samples kept of each block.
const KEPT: usize = 4;

const BLOCK_HEADER: [&str; 13] =
    ["start_ns", "length_ns", "count", "sum", "sum_squares", "v1", "t1", "v2", "t2", "v3", "t3", "v4", "t4"];

const SAMPLES_HEADER: [&str; 2] = ["value", "at_ns"];

/// The largest unpacked file of ordered samples accepted: a million lines of two 64-bit numbers.
const MAX_SAMPLES_CSV: u64 = 48 << 20;

const LARGEST_HEADER: [&str; 3] = ["value", "at_ns", "class"];

/// Returns an empty histogram that grows as needed: for pooling and for values of unknown range.
///
/// # Errors
/// None in practice: the number of digits is a constant that the format allows.
pub fn histogram() -> Result<Histogram<u64>> {
    Histogram::new(HISTOGRAM_DIGITS).map_err(|e| anyhow!("histogram: {e}"))
}

/// Encodes as HdrHistogram V2, deflated (format: HdrHistogram, "V2CompressedEncoding").
///
/// # Errors
/// A count is beyond 2^63, which the format cannot store.
pub fn encode_histogram(histogram: &Histogram<u64>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).map_err(|e| anyhow!("encoding a histogram: {e}"))?;
    Ok(bytes)
}

/// Decodes what [`encode_histogram`] wrote.
///
/// # Errors
/// The bytes are not such a histogram, are cut short, or claim more than they contain.
pub fn decode_histogram(bytes: &[u8]) -> Result<Histogram<u64>> {
    let word =
        |bytes: &[u8], at: usize| -> Option<u32> { Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?)) };
    let (Some(held), Some(deflated)) = (word(bytes, 4), bytes.get(8..)) else {
        bail!("the histogram file has fewer than 8 bytes");
    };
    // The low nibbles of the cookies are the format's version (3) and the encoding (4: deflated, 3: plain).
    ensure!(word(bytes, 0) == Some(0x1c84_9314), "not an HdrHistogram V2 deflated file");
    let there = deflated.len();
    ensure!(there == held as usize, "the histogram file has {there} bytes of data, but its header states {held}");
    let mut plain = Vec::new();
    flate2::read::ZlibDecoder::new(deflated)
        .take(MAX_INFLATED + 1)
        .read_to_end(&mut plain)
        .context("the compressed part of the histogram file is broken")?;
    ensure!(plain.len() as u64 <= MAX_INFLATED, "the histogram file inflates to more than {MAX_INFLATED} bytes");
    // Checked here because the decoder allocates what the header claims before it reads the data.
    let (Some(payload), Some(digits)) = (word(&plain, 4), word(&plain, 12)) else {
        bail!("the histogram file has no header");
    };
    ensure!(plain.len() == 40 + payload as usize, "the histogram file is cut short");
    ensure!(
        digits <= u32::from(HISTOGRAM_DIGITS),
        "the histogram has {digits} digits, but latido writes {HISTOGRAM_DIGITS}"
    );
    // Nine such bytes mean -2^63 empty buckets, a number that the decoder cannot negate. No other bytes do.
    let counts = plain.get(40..).unwrap_or_default();
    ensure!(!counts.windows(9).any(|w| w == [0xff; 9]), "the histogram file has an impossible count");
    let read = Deserializer::new().deserialize(&mut &plain[..]);
    let histogram: Histogram<u64> = read.map_err(|e| anyhow!("the histogram file is broken: {e}"))?;
    ensure!(histogram.len() <= MAX_SAMPLES, "the histogram file has more samples than any machine takes");
    Ok(histogram)
}

/// Encodes as CSV with the columns `start_ns,length_ns,count,sum,sum_squares,v1,t1,...,v4,t4`; absent samples are empty. The classes of the
/// samples are not stored.
///
/// # Errors
/// None in practice: the function writes to memory.
pub fn encode_blocks(blocks: &[Block]) -> Result<Vec<u8>> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(BLOCK_HEADER)?;
    for block in blocks {
        let mut row = vec![
            block.start_ns.to_string(),
            block.length_ns.to_string(),
            block.count.to_string(),
            block.sum.to_string(),
            block.sum_squares.to_string(),
        ];
        for sample in block.largest.iter().take(KEPT) {
            row.extend([sample.value.to_string(), sample.at_ns.to_string()]);
        }
        row.resize(BLOCK_HEADER.len(), String::new());
        out.write_record(row)?;
    }
    Ok(out.into_inner()?)
}

/// Decodes what [`encode_blocks`] wrote.
///
/// # Errors
/// Another header, a line of another length, or a field that is not a number; the error names the line.
pub fn decode_blocks(bytes: &[u8]) -> Result<Vec<Block>> {
    rows(bytes, &BLOCK_HEADER, MAX_BLOCKS, |row| {
        let mut largest = Vec::new();
        for k in 0..KEPT {
            if !row[5 + 2 * k].is_empty() {
                let (value, at_ns) = (number(row, 5 + 2 * k)?, number(row, 6 + 2 * k)?);
                largest.push(Sample { value, at_ns, class: Class::Unknown });
            }
        }
        Ok(Block {
            start_ns: number(row, 0)?,
            length_ns: number(row, 1)?,
            count: number(row, 2)?,
            sum: number(row, 3)?,
            sum_squares: number(row, 4)?,
            largest,
        })
    })
}

/// Encodes as CSV with the columns `value,at_ns,class`.
///
/// # Errors
/// None in practice: the function writes to memory.
pub fn encode_largest(samples: &[Sample]) -> Result<Vec<u8>> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(LARGEST_HEADER)?;
    for sample in samples {
        out.write_record([sample.value.to_string().as_str(), &sample.at_ns.to_string(), sample.class.name()])?;
    }
    Ok(out.into_inner()?)
}

/// Encodes samples in the order of time as gzipped CSV with the columns `value,at_ns`.
///
/// # Errors
/// None in practice: the function writes to memory.
pub fn encode_samples(samples: &[Point]) -> Result<Vec<u8>> {
    let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut out = csv::Writer::from_writer(packed);
    out.write_record(SAMPLES_HEADER)?;
    for sample in samples {
        out.write_record([sample.value.to_string(), sample.at_ns.to_string()])?;
    }
    let packed = out.into_inner().map_err(|error| anyhow!("encoding samples: {error}"))?;
    Ok(packed.finish()?)
}

/// Decodes what [`encode_samples`] wrote.
///
/// # Errors
/// The bytes are not such a file, are cut short, or unpack to more than a million lines.
pub fn decode_samples(bytes: &[u8]) -> Result<Vec<Point>> {
    let mut plain = Vec::new();
    let unpacked = flate2::read::GzDecoder::new(bytes).take(MAX_SAMPLES_CSV + 1).read_to_end(&mut plain);
    unpacked.context("the compressed part of the samples file is broken")?;
    ensure!(plain.len() as u64 <= MAX_SAMPLES_CSV, "the samples file is larger than {MAX_SAMPLES_CSV} bytes");
    rows(&plain, &SAMPLES_HEADER, ORDERED_MAX, |row| Ok(Point { value: number(row, 0)?, at_ns: number(row, 1)? }))
}

/// Decodes what [`encode_largest`] wrote.
///
/// # Errors
/// As [`decode_blocks`].
pub fn decode_largest(bytes: &[u8]) -> Result<Vec<Sample>> {
    rows(bytes, &LARGEST_HEADER, MAX_LARGEST, |row| {
        Ok(Sample { value: number(row, 0)?, at_ns: number(row, 1)?, class: Class::of(&row[2]) })
    })
}

/// Reads every line below the expected header; the csv reader has already checked that all lines have the same number of fields.
fn rows<T>(
    bytes: &[u8],
    header: &[&str],
    most: usize,
    read: impl Fn(&csv::StringRecord) -> Result<T>,
) -> Result<Vec<T>> {
    let mut csv = csv::Reader::from_reader(bytes);
    let found = csv.headers()?;
    ensure!(found == header, "the columns are `{}`", found.iter().collect::<Vec<_>>().join(","));
    let mut all = Vec::new();
    for (index, row) in csv.records().enumerate() {
        ensure!(index < most, "more than {most} lines, the most that latido reads");
        all.push(row.map_err(anyhow::Error::from).and_then(|row| read(&row)).context(format!("line {}", index + 2))?);
    }
    Ok(all)
}

fn number<T: FromStr>(row: &csv::StringRecord, column: usize) -> Result<T> {
    let field = row.get(column).unwrap_or_default();
    field.parse().map_err(|_| anyhow!("`{field}` is not a number that fits"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The largest value that probes record: 60 s in ns.
    const HISTOGRAM_MAX: u64 = 60_000_000_000;

    fn sample() -> impl Strategy<Value = Sample> {
        let class = prop::sample::select(vec![Class::Unknown, Class::Preempted, Class::InPlace, Class::Throttled]);
        (any::<i64>(), any::<u64>(), class).prop_map(|(value, at_ns, class)| Sample { value, at_ns, class })
    }

    fn block() -> impl Strategy<Value = Block> {
        let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<i128>(), any::<u128>());
        (numbers, prop::collection::vec((any::<i64>(), any::<u64>()), 0..=4)).prop_map(|(n, largest)| Block {
            start_ns: n.0,
            length_ns: n.1,
            count: n.2,
            sum: n.3,
            sum_squares: n.4,
            largest: largest.into_iter().map(|(value, at_ns)| Sample { value, at_ns, class: Class::Unknown }).collect(),
        })
    }

    #[test]
    fn a_class_of_another_version_is_unknown() {
        let stored = b"value,at_ns,class\n3,1,in-place\n2,2,\n1,3,\"frozen, by whom\"\n";
        let classes: Vec<Class> = decode_largest(stored).unwrap().into_iter().map(|sample| sample.class).collect();
        assert_eq!(classes, [Class::InPlace, Class::Unknown, Class::Unknown]);
    }

    proptest! {
        #[test]
        fn histograms_come_back(values in prop::collection::vec((0..HISTOGRAM_MAX, 1u64..1 << 40), 0..50)) {
            let mut histogram = histogram().unwrap();
            for (value, count) in values {
                histogram.record_n(value, count).unwrap();
            }
            let back = decode_histogram(&encode_histogram(&histogram).unwrap()).unwrap();
            prop_assert_eq!(back.len(), histogram.len());
            prop_assert_eq!(back, histogram);
        }

        #[test]
        fn blocks_come_back(blocks in prop::collection::vec(block(), 0..20)) {
            prop_assert_eq!(decode_blocks(&encode_blocks(&blocks).unwrap()).unwrap(), blocks);
        }

        #[test]
        fn largest_come_back(samples in prop::collection::vec(sample(), 0..20)) {
            prop_assert_eq!(decode_largest(&encode_largest(&samples).unwrap()).unwrap(), samples);
        }

        #[test]
        fn junk_never_panics(bytes: Vec<u8>, text in "\\PC*") {
            let _ = decode_histogram(&bytes);
            let _ = decode_blocks(&bytes);
            let _ = decode_largest(text.as_bytes());
        }

        /// The decoder returns for any content of a valid envelope.
        #[test]
        fn inflated_junk_never_panics(mut inner in prop::collection::vec(any::<u8>(), 0..200), keep_header: bool) {
            if keep_header {
                let mut sound = inflate(&encode_histogram(&histogram().unwrap()).unwrap());
                sound.truncate(40);
                sound[4..8].copy_from_slice(&(inner.len() as u32).to_be_bytes());
                sound.extend(inner);
                inner = sound;
            }
            let _ = decode_histogram(&envelope(&inner));
        }

        #[test]
        fn a_cut_histogram_is_noticed(cut in 0usize..1000) {
            let mut histogram = histogram().unwrap();
            for value in 0..1000 {
                histogram.record(value * value).unwrap();
            }
            let bytes = encode_histogram(&histogram).unwrap();
            prop_assert!(decode_histogram(&bytes[..cut.min(bytes.len() - 1)]).is_err());
        }
    }

    fn inflate(bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        flate2::read::ZlibDecoder::new(&bytes[8..]).read_to_end(&mut plain).unwrap();
        plain
    }

    fn envelope(inner: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        flate2::read::ZlibEncoder::new(inner, flate2::Compression::fast()).read_to_end(&mut body).unwrap();
        let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    /// A few kilobytes that inflate to gigabytes, and a header that claims 4 GiB, are refused.
    #[test]
    fn bombs_are_refused() {
        let error = decode_histogram(&envelope(&vec![0; 64 << 20])).unwrap_err().to_string();
        assert!(error.contains("inflates"), "{error}");
        let mut header = inflate(&encode_histogram(&histogram().unwrap()).unwrap());
        header[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        let error = decode_histogram(&envelope(&header)).unwrap_err().to_string();
        assert!(error.contains("cut short"), "{error}");
    }

    #[test]
    fn counts_that_sum_beyond_all_bounds_are_refused() {
        let mut histogram = histogram().unwrap();
        for value in 0..5 {
            histogram.record_n(value, 1 << 62).unwrap();
        }
        let error = decode_histogram(&encode_histogram(&histogram).unwrap()).unwrap_err().to_string();
        assert!(error.contains("more samples"), "{error}");
    }

    #[test]
    fn errors_name_the_line() {
        let error = format!("{:#}", decode_largest(b"value,at_ns,class\n1,2,\nx,2,\n").unwrap_err());
        assert!(error.contains("line 3") && error.contains("`x`"), "{error}");
        assert!(decode_largest(b"a,b\n1,2\n").is_err());
        assert!(decode_largest(b"value,at_ns,class\n1,2\n").is_err());
    }
}
