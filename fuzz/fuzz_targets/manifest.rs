//! Any bytes as a run's `run.json`: an answer; an accepted one is the same after writing and reading, without a complaint. If the first
//! byte is odd, the rest edits the sound one of the run in `$LATIDO_FUZZ_RUN`.
#![no_main]

use latido_model::run::{Manifest, SCHEMA, tolerant};
use libfuzzer_sys::fuzz_target;
use std::{fs, path::PathBuf, sync::LazyLock};

static SOUND: LazyLock<serde_json::Value> = LazyLock::new(|| {
    let Some(run) = std::env::var_os("LATIDO_FUZZ_RUN").map(PathBuf::from) else {
        eprintln!("LATIDO_FUZZ_RUN must name a run with one cell; scripts/slow/fuzz makes one");
        std::process::exit(1);
    };
    serde_json::from_slice(&fs::read(run.join("run.json")).expect("a run")).expect("the sound run.json")
});

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else { return };
    let file = if mode % 2 == 1 {
        let mut value = SOUND.clone();
        latido_fuzz::edit(&mut value, rest);
        serde_json::to_vec(&value).expect("JSON")
    } else {
        rest.to_vec()
    };
    let Ok((manifest, _)) = tolerant::parse::<Manifest>(&file, SCHEMA) else { return };
    let text = serde_json::to_vec(&manifest).expect("a manifest can be written");
    let (again, unknown) = tolerant::parse::<Manifest>(&text, SCHEMA).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(unknown, Vec::<String>::new());
    assert_eq!(again, manifest);
});
