//! Any bytes as a file of another tool, read as each format: an answer; the bins are in order and contain no more samples than the count,
//! and the smallest value is not above the largest.
#![no_main]

use latido_import::{Asked, IMPORTS, Unit};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, file)) = bytes.split_first() else { return };
    let asked = Asked {
        unit: [None, Some(Unit::Ns), Some(Unit::Us), Some(Unit::S)][usize::from(mode & 3)],
        args: (mode & 4 != 0).then(|| String::from_utf8_lossy(&file[..file.len().min(60)]).into_owned()),
        cpus: if mode & 8 != 0 { vec![3, 1] } else { Vec::new() },
        file: "a".into(),
    };
    for format in IMPORTS {
        let _ = (format.recognise)(file);
        let Ok(imported) = format.import(file, &asked) else { continue };
        for series in &imported.series {
            let bins = &series.bins;
            assert!(bins.is_sorted_by_key(|bin| bin.low), "{}: {bins:?}", format.name);
            assert!(bins.iter().all(|bin| bin.high.is_none_or(|high| bin.low <= high)), "{}: {bins:?}", format.name);
            let counted: u128 = bins.iter().map(|bin| u128::from(bin.count)).sum();
            let whole = !series.cut && series.above.is_none() && !bins.is_empty();
            if let Some(count) = series.count.filter(|_| whole) {
                assert!(counted <= u128::from(count), "{}: {counted} of {count}", format.name);
            }
            if let (Some(min), Some(max)) = (series.min, series.max) {
                assert!(max.high.is_none_or(|high| min.low <= high), "{}: {min:?} {max:?}", format.name);
            }
        }
    }
});
