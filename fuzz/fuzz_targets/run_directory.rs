//! A sound run of one cell in which one file is replaced: latido reads, judges, prints and reports it, whatever the file contains; an
//! accepted record is the same after writing and reading.
//!
//! The first byte names the file. If the second byte is odd, the rest edits the sound record; otherwise the rest is the content of the
//! file. Two more bits of it decide whether the page is also made. The sound run is the directory in `$LATIDO_FUZZ_RUN`.
#![no_main]

use latido::host::outcome;
use latido_model::record::Record;
use latido_report::{
    self as report,
    formats::{FORMATS, json},
    judged::JudgedRun,
    terminal::Beside,
};
use libfuzzer_sys::fuzz_target;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

const FILES: [&str; 9] = [
    "run.json",
    "cells/001/record.json",
    "cells/001/host.json",
    "cells/001/infra.json",
    "cells/001/histogram-0.hdr",
    "cells/001/blocks-0.csv",
    "cells/001/largest-0.csv",
    "plan.toml",
    "cells/001/checkpoint",
];

/// The sound files, and their directory, which exists while this process lives.
static SOUND: LazyLock<(Vec<Vec<u8>>, PathBuf)> = LazyLock::new(|| {
    let Some(run) = std::env::var_os("LATIDO_FUZZ_RUN").map(PathBuf::from) else {
        eprintln!("LATIDO_FUZZ_RUN must name a run with one cell; scripts/slow/fuzz makes one");
        std::process::exit(1);
    };
    let dir = latido_fuzz::scratch("run");
    fs::create_dir_all(dir.join("cells/001")).expect("a directory");
    let files = FILES.map(|name| fs::read(run.join(name)).unwrap_or_default());
    for (name, bytes) in FILES.iter().zip(&files) {
        if !bytes.is_empty() {
            fs::write(dir.join(name), bytes).expect("memory");
        }
    }
    (files.to_vec(), dir)
});

fuzz_target!(|bytes: &[u8]| {
    let [file, mode, rest @ ..] = bytes else { return };
    let (files, dir) = &*SOUND;
    // The page takes ten times as long as everything else.
    let page = mode & 0b110 == 0;
    let which = usize::from(*file) % FILES.len();
    let mut content = rest.to_vec();
    // Half of all inputs edit the record: it contains almost everything.
    let edited = if mode % 2 == 1 { 1 } else { which };
    if mode % 2 == 1 || FILES[which].ends_with("checkpoint") {
        let mut value = serde_json::from_slice(&files[1]).expect("the sound record");
        latido_fuzz::edit(&mut value, rest);
        content = serde_json::to_vec(&value).expect("JSON");
    }
    let path = dir.join(FILES[edited]);
    if FILES[edited].ends_with("checkpoint") {
        fs::create_dir_all(&path).expect("a directory");
        fs::write(path.join("record.json"), &content).expect("memory");
        fs::rename(dir.join(FILES[1]), dir.join("aside")).expect("a name");
        everything(dir, page);
        fs::rename(dir.join("aside"), dir.join(FILES[1])).expect("a name");
        fs::remove_dir_all(&path).expect("gone");
        return;
    }
    fs::write(&path, &content).expect("memory");
    everything(dir, page);
    match files[edited].is_empty() {
        true => fs::remove_file(&path).expect("gone"),
        false => fs::write(&path, &files[edited]).expect("memory"),
    }
});

fn everything(dir: &Path, page: bool) {
    let Ok(judged) = outcome::judged(dir) else { return };
    for record in judged.run.cells.iter().filter_map(|cell| cell.record()) {
        let text = serde_json::to_string(record).expect("a record can be written");
        let again: Record = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(&again, record);
    }
    let all = [judged];
    let found = outcome::pooled(&all);
    let [JudgedRun { run, judgement, .. }] = &all;
    let _ = json::document(run, judgement, Some(&found));
    let _ = report::show(
        run,
        judgement,
        &found,
        (true, report::terminal::Beside::default()),
        report::terminal::Style { width: 100, color: false },
    );
    let _ = report::terminal::summary(
        run,
        judgement,
        &found,
        Beside::default(),
        report::terminal::Style { width: 40, color: true },
    );
    if page {
        for format in FORMATS {
            let _ = outcome::report(&all, &found, format.name);
        }
    }
}
