//! Parts that a cut or damaged file lacks: latido reports no latency that depends on them.

use crate::common::{
    Built, Bytes, File, LITTLE,
    events::{Story, story},
    read::{Told, read},
};
use latido_trace::{file::Trace, pairing::Met};

/// What a file contains, and everything that is reported as lost.
fn told(bytes: &[u8]) -> (Vec<Told>, Vec<String>) {
    let (told, mut lost) = read(bytes).unwrap_or_else(|bad| panic!("{bad}"));
    lost.extend(told.iter().flat_map(|told| told.met.unread.told()));
    assert!(lost.iter().all(|said| said.starts_with("at byte ") || said.starts_with("and ")), "{lost:?}");
    (told, lost)
}

fn whole() -> (Story, File) {
    let story = story(300, 1_000_000);
    (story.clone(), File::of(LITTLE, story.pages(LITTLE, 4096)))
}

fn patched(built: &Built, at: usize, number: u64, size: usize) -> Vec<u8> {
    let mut bytes = Bytes { bytes: built.bytes.clone(), endian: LITTLE.endian };
    bytes.put(at, number, size);
    bytes.bytes
}

/// A missing part breaks the waits across it: they are void and counted, and every reported wait is true. Whatever is damaged, latido
/// reports no wait that the whole file does not have. If a CPU is lost, the place of a task is unknown.
#[test]
fn what_is_missing_breaks_the_waits_over_it() {
    let (story, file) = whole();
    let built = file.build();
    let true_waits = |told: &Told| told.waits.iter().all(|wait| story.waits.binary_search(wait).is_ok());
    let data = Trace::open(&built.bytes).unwrap().buffers[0].cpus.clone();
    let pages = |at: usize| data[at].bytes.len() / 4096;
    assert!(pages(0) > 3 && pages(1) > 3, "the story needs more pages");
    for cpu in [0, 1] {
        for page in 0..pages(cpu) {
            let at = data[cpu].at as usize + page * 4096;
            // A garbage length; a time before all others, in the future, or at the end of time; a garbage event.
            let future = story.events[cpu][0].0 + (1 << 40);
            // Nothing shows that the first page cannot be this early, or that the last one cannot be this late.
            let mut spoilt = vec![(at + 8, 5_000, 8), (at + 16, !0, 4)];
            spoilt.extend((page > 0).then_some((at, 1, 8)));
            spoilt
                .extend((page + 1 < pages(cpu)).then_some([(at, future, 8), (at, u64::MAX, 8)]).into_iter().flatten());
            for (at, number, size) in spoilt {
                let (told, lost) = told(&patched(&built, at, number, size));
                assert!(true_waits(&told[0]), "CPU {cpu}, page {page}, {number} at {at}: {:?}", told[0].waits);
                let Met { unpaired, uncounted, backwards, .. } = &told[0].met;
                assert!(!lost.is_empty() || *backwards > 0, "CPU {cpu}, page {page}, {number} at {at}");
                assert!(
                    unpaired.voided > 0 && *uncounted > 0,
                    "CPU {cpu}, page {page}, {number} at {at}: {unpaired:?}"
                );
            }
        }
    }
    // A cut within the data of the CPU that is last in the file: after that nothing is certain.
    let last = data.iter().max_by_key(|data| data.at).unwrap();
    for keep in [0, 1, 2] {
        let cut = last.at as usize + keep * 4096 + 100;
        let six = File { version: 6, ..file.clone() }.build();
        let data = Trace::open(&six.bytes).unwrap().buffers[0].cpus.clone();
        let place = data.iter().max_by_key(|data| data.at).unwrap().at as usize;
        let (left, _) = told(&six.bytes[..place + cut - last.at as usize]);
        assert!(true_waits(&left[0]) && left[0].waits.len() < story.waits.len());
        assert!(left[0].met.unpaired.voided > 0 && left[0].met.uncounted > 0, "{:?}", left[0].met.unpaired);
    }
    // All data of a CPU are missing.
    let six = File { version: 6, ..file }.build();
    let place = Trace::open(&six.bytes).unwrap().buffers[0].cpus.iter().map(|data| data.at).max().unwrap();
    let (left, lost) = told(&six.bytes[..place as usize]);
    assert!(left[0].waits.is_empty() && left[0].met.unpaired.voided > 0, "{:?}", left[0].met.unpaired);
    assert!(lost.iter().any(|said| said.contains("the file has only 0")), "{lost:?}");
}
