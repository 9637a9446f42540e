//! Any bytes as a histogram file: an answer, and the same histogram after encoding and decoding. If the first byte is odd, the rest is the
//! content of the compressed file.
#![no_main]

use flate2::{Compression, write::ZlibEncoder};
use latido_model::run::codec::{decode_histogram, encode_histogram};
use libfuzzer_sys::fuzz_target;
use std::io::Write;

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else { return };
    let file = if mode % 2 == 0 { rest.to_vec() } else { wrapped(rest) };
    let Ok(histogram) = decode_histogram(&file) else { return };
    let _ = (histogram.mean(), histogram.stdev(), histogram.max(), histogram.value_at_quantile(0.999));
    if let Ok(encoded) = encode_histogram(&histogram) {
        let again = decode_histogram(&encoded).unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!(again, histogram);
    }
});

/// The format's envelope: its cookie, the length, and the compressed bytes.
fn wrapped(inner: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(inner).expect("memory");
    let packed = packed.finish().expect("memory");
    let mut file = 0x1c84_9314_u32.to_be_bytes().to_vec();
    file.extend((packed.len() as u32).to_be_bytes());
    file.extend(packed);
    file
}
