//! Any bytes as a file of ordered samples, compressed or plain: an answer, and the same samples after writing and reading.
#![no_main]

use latido_model::run::codec::{decode_samples, encode_samples};
use libfuzzer_sys::fuzz_target;
use std::io::Write;

fuzz_target!(|bytes: &[u8]| {
    // Random bytes are almost never gzip: compress them, so that the fuzzer also reaches the lines inside.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packed.write_all(bytes).expect("memory takes all");
    let packed = packed.finish().expect("memory takes all");
    for bytes in [bytes, &packed] {
        let Ok(samples) = decode_samples(bytes) else { continue };
        let encoded = encode_samples(&samples).expect("samples can be written");
        assert_eq!(decode_samples(&encoded).expect("and read"), samples);
    }
});
