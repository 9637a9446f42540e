//! Any bytes as a CSV of the largest samples: an answer, and the same samples after encoding and decoding.
#![no_main]

use latido_model::run::codec::{decode_largest, encode_largest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(samples) = decode_largest(bytes) else { return };
    let encoded = encode_largest(&samples).expect("samples can be written");
    assert_eq!(decode_largest(&encoded).expect("and read"), samples);
});
