//! Any output of a load as its account: no panic, however hostile the lines.
#![no_main]

use latido::load::account::Account;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let counts = Account::read(bytes);
    assert!(counts.len() <= 64, "a load cannot fill the record");
});
