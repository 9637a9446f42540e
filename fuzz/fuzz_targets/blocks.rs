//! Any bytes as a CSV of blocks: an answer, and the same blocks after encoding and decoding.
#![no_main]

use latido_model::run::codec::{decode_blocks, encode_blocks};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(blocks) = decode_blocks(bytes) else { return };
    let encoded = encode_blocks(&blocks).expect("blocks can be written");
    assert_eq!(decode_blocks(&encoded).expect("and read"), blocks);
});
