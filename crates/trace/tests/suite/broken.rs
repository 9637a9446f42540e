//! Broken files: cut, damaged, or written to harm. The reader reads what is left and reports what is lost, with its place. Nothing panics
//! (these tests run with overflow checks), runs for ever or takes memory for data that the file does not contain.

use crate::common::{
    BIG, Built, Bytes, File, LITTLE, Ring,
    events::{Event, Story, format, story, systems},
    pages::Page,
    read::{Told, read},
};
use latido_trace::{
    explain::{Begins, Window, explain},
    file::{Packing, Trace},
};

/// What a file contains, and everything that is reported as lost.
fn told(bytes: &[u8]) -> (Vec<Told>, Vec<String>) {
    let (told, mut lost) = read(bytes).unwrap_or_else(|bad| panic!("{bad}"));
    lost.extend(told.iter().flat_map(|told| told.met.unread.told()));
    assert!(lost.iter().all(|said| said.starts_with("at byte ") || said.starts_with("and ")), "{lost:?}");
    (told, lost)
}

/// Checks that the file is read and that this loss is reported. Returns the number of events that are left.
fn loses(bytes: &[u8], what: &str) -> u64 {
    let (told, lost) = told(bytes);
    assert!(lost.iter().any(|said| said.contains(what)), "{what} is not in {lost:?}");
    told.iter().map(|told| told.met.events).sum()
}

fn refused(bytes: &[u8], what: &str) {
    let bad = read(bytes).unwrap_err().to_string();
    assert!(bad.starts_with("at byte ") && bad.contains(what), "{what} is not in `{bad}`");
}

fn whole() -> (Story, File) {
    let story = story(300, 1_000_000);
    (story.clone(), File::of(LITTLE, story.pages(LITTLE, 4096)))
}

/// The start of a part of a file.
fn begin(built: &Built, part: &str) -> usize {
    let at = built.ends.iter().position(|(_, what)| what == part).unwrap();
    built.ends[at - 1].0
}

fn patched(built: &Built, at: usize, number: u64, size: usize) -> Vec<u8> {
    let mut bytes = Bytes { bytes: built.bytes.clone(), endian: LITTLE.endian };
    bytes.put(at, number, size);
    bytes.bytes
}

/// A file that is cut at the end of each part, one byte before and after it, and at a thousand places between gives fewer events with the
/// place of a loss, or an error with a place. It never gives an event that the whole file does not have.
#[test]
fn a_file_cut_anywhere_says_so() {
    let (_, file) = whole();
    let packed = File { packing: Packing::Zstd, packed_sections: true, packed_data: true, ..file.clone() };
    let big = File { version: 6, ..File::of(BIG, story(300, 1_000_000).pages(BIG, 4096)) };
    for file in [File { version: 6, ..file.clone() }, file, packed, big] {
        let built = file.build();
        let (all, lost) = told(&built.bytes);
        assert!(lost.is_empty());
        let length = built.bytes.len();
        let ends = built.ends.iter().flat_map(|(end, _)| [end - 1, *end, end + 1]);
        for cut in ends.chain((0..length).step_by(length / 1_000 + 1)).filter(|cut| *cut < length) {
            let (left, lost) = match read(&built.bytes[..cut]) {
                Ok(_) => told(&built.bytes[..cut]),
                Err(bad) => {
                    assert!(bad.at <= cut as u64, "{cut}: {bad}");
                    continue;
                }
            };
            let same = left.len() == all.len() && left[0].events == all[0].events;
            assert!(same || !lost.is_empty(), "cut at {cut} of {length}, and nothing is said");
            for event in left.iter().flat_map(|told| &told.events) {
                assert!(all[0].events.binary_search_by_key(&(event.1, event.0), |one| (one.1, one.0)).is_ok());
            }
        }
    }
}

/// The reader refuses a wrong head.
#[test]
fn a_wrong_head_is_refused() {
    let built = whole().1.build();
    for (at, number, size, what) in [
        (0, 0x18, 1, "not a trace file"),
        (10, u64::from(b'5'), 1, "version 5"),
        (10, u64::from(b'x'), 1, "`x` is not a version"),
        (12, 2, 1, "2 is not a byte order"),
        (14, 0, 4, "pages of 0 bytes"),
        (14, 0xffff_ffff, 4, "pages of 4294967295 bytes"),
        (built.ends[0].0 + 9, u64::MAX, 8, "should begin at byte"),
        (built.ends[0].0 + 9, 3, 8, "section 0 should begin here"),
    ] {
        refused(&patched(&built, at, number, size), what);
    }
    refused(b"", "not a trace file");
    refused(&[b"\x17\x08\x44tracing".as_slice(), &[b'7'; 70_000]].concat(), "the version has no end");
    let text = String::from_utf8_lossy(&built.bytes).into_owned();
    let commit = built.bytes.windows(6).position(|six| six == b"commit").unwrap();
    assert!(text.contains("commit"));
    let mut bytes = built.bytes.clone();
    bytes[commit..commit + 6].copy_from_slice(b"xommit");
    refused(&bytes, "does not state where the length and the data are");
}

/// Impossible sizes of sections, options and texts: the reader reads what comes before.
#[test]
fn absurd_sizes_are_named() {
    let (story, file) = whole();
    let built = file.build();
    for (part, left) in [("formats of tracers", true), ("formats of events", true), ("names of tasks", true)] {
        let bytes = patched(&built, begin(&built, part) + 8, u64::MAX, 8);
        assert_eq!(loses(&bytes, "a section should have 18446744073709551615 bytes") == story.count(), left);
    }
    refused(&patched(&built, begin(&built, "header info") + 8, u64::MAX, 8), "a section should have");
    refused(&patched(&built, begin(&built, "options") + 8, 1 << 40, 8), "a section should have 1099511627776 bytes");
    // The first option's length; after that nothing is known about pages.
    refused(&patched(&built, begin(&built, "options") + 16 + 2, 0xffff_ffff, 4), "4294967295 bytes");
    // The count and length of a format, and the number of systems.
    let formats = begin(&built, "formats of events") + 16;
    assert_eq!(loses(&patched(&built, formats, 0xffff_ffff, 4), "the name of an event system"), story.count());
    assert_eq!(loses(&patched(&built, formats + 10, 0xffff_ffff, 4), "a format"), story.count());
    assert_eq!(loses(&patched(&built, formats + 14, 1 << 60, 8), "a format should have"), story.count());
    let names = begin(&built, "names of tasks") + 16;
    assert_eq!(loses(&patched(&built, names, 1 << 50, 8), "the names of tasks should have"), story.count());
    // The same in version 6, where nothing after such a place can be found.
    let built = File { version: 6, ..file }.build();
    assert_eq!(loses(&patched(&built, begin(&built, "names of tasks"), 1 << 50, 8), "the names of tasks"), 0);
    assert_eq!(loses(&patched(&built, begin(&built, "symbols"), 0xffff_ffff, 4), "the symbols"), 0);
}

/// The reader refuses more CPUs than any machine has, reads thousands of CPUs of which only some wrote, and reports data outside the file.
#[test]
fn cpus_are_believed_as_far_as_they_are_there() {
    let (story, file) = whole();
    for version in [6, 7] {
        let mut many = File { version, ..file.clone() };
        let mut data = story.pages(LITTLE, 4096).into_iter();
        let wrote = [5, 4_000].map(|cpu| (cpu, data.next().unwrap().1));
        let of = |cpu: u32| wrote.iter().find(|(one, _)| *one == cpu).map(|(_, data)| data.clone()).unwrap_or_default();
        many.rings[0].cpus = (0..4_096).map(|cpu| (cpu, of(cpu))).collect();
        let built = many.build();
        let (told, lost) = told(&built.bytes);
        assert_eq!((told[0].met.events, &told[0].waits, lost), (story.count(), &story.waits, vec![]));
        let cpus: std::collections::BTreeSet<u32> = told[0].events.iter().map(|(cpu, _, _)| *cpu).collect();
        assert_eq!(cpus.into_iter().collect::<Vec<_>>(), [5, 4_000]);
    }
    let built = file.build();
    let rings = begin(&built, "options of rings") + 16 + 6;
    let count = rings + 8 + 1 + 5 + 4;
    assert_eq!(loses(&patched(&built, count, 0xffff_ffff, 4), "4294967295 CPUs"), 0);
    assert_eq!(loses(&patched(&built, count, 8_000, 4), "the number of a CPU"), 0);
    assert_eq!(loses(&patched(&built, count + 4, 0xffff_ffff, 4), "CPU 4294967295"), 0);
    assert!(loses(&patched(&built, count + 8, u64::MAX, 8), "the file has only 0 of the") < story.count());
    assert!(loses(&patched(&built, count + 16, u64::MAX, 8), "of the 18446744073709551615 bytes of CPU 0") > 0);
    assert_eq!(loses(&patched(&built, rings, u64::MAX, 8), "section 3 should begin at byte 18446744073709551615"), 0);
    assert_eq!(loses(&patched(&built, count - 4, 3, 4), "pages of 3 bytes"), 0);
    let six = File { version: 6, ..file }.build();
    let count = begin(&six, "options");
    assert_eq!(loses(&patched(&six, count, 0xffff_ffff, 4), "4294967295 CPUs"), 0);
}

/// Options that lead to themselves, to each other, or nowhere.
#[test]
fn chains_of_options_end() {
    let (story, file) = whole();
    let built = file.build();
    let (first, second) = (begin(&built, "options"), begin(&built, "options of rings"));
    let (first_next, second_next) =
        (built.ends.iter().find(|(_, what)| what == "options").unwrap().0 - 8, built.bytes.len() - 8);
    let back = "the sections of options form a loop";
    assert_eq!(loses(&patched(&built, first_next, first as u64, 8), back), 0);
    assert_eq!(loses(&patched(&built, second_next, second as u64, 8), back), story.count());
    assert_eq!(loses(&patched(&built, second_next, first as u64, 8), back), story.count());
    assert_eq!(
        loses(&patched(&built, second_next, 1 << 62, 8), "section 0 should begin at byte 4611686018427387904"),
        story.count()
    );
    assert_eq!(loses(&patched(&built, second_next, 7, 8), "section 0 should begin here"), story.count());
    // A chain of any length.
    let mut long = Bytes { bytes: built.bytes.clone(), endian: LITTLE.endian };
    let here = long.bytes.len() as u64;
    long.put(second_next, here, 8);
    for _ in 0..3_000 {
        let next = long.bytes.len() as u64 + 16 + 14;
        long.number(0, 2).number(0, 2).number(0, 4).number(14, 8).number(0, 2).number(8, 4).number(next, 8);
    }
    assert_eq!(loses(&long.bytes, "more than 1024 sections of options"), story.count());
}

/// Parts that occur twice: the first description counts, and the reader walks through the data of CPUs once.
#[test]
fn what_is_there_twice_is_told_once() {
    let (story, mut file) = whole();
    let place = |at: u64| Bytes::of(LITTLE).number(at, 8).bytes.clone();
    // A second header of pages, placed where the names of tasks are.
    let names = begin(&file.build(), "names of tasks") as u64;
    file.options = vec![(16, place(names)), (18, place(names)), (21, place(3))];
    let (told, lost) = told(&file.build().bytes);
    assert_eq!((told[0].met.events, &told[0].waits, lost), (story.count(), &story.waits, vec![]));
    // A ring whose option is repeated: the reader takes as many as it may, all over the data of the first one.
    file.options.clear();
    let built = file.build();
    let rings = begin(&built, "options of rings") + 16;
    let option = built.bytes[rings..built.bytes.len() - 14].to_vec();
    let mut again = Bytes { bytes: built.bytes[..rings].to_vec(), endian: LITTLE.endian };
    (0..5_000).for_each(|_| again.bytes.extend(&option));
    again.number(0, 2).number(8, 4).number(0, 8);
    let length = again.bytes.len() - rings;
    again.put(rings - 8, length as u64, 8);
    let left = loses(&again.bytes, "overlap the data of other CPUs");
    // The options make the file longer than its pages, so some of the other rings fit.
    assert!((story.count()..40 * story.count()).contains(&left), "{left}");
    assert_eq!(Trace::open(&again.bytes).unwrap().buffers.len(), 1_024);
    assert!(loses(&again.bytes, "and ") > 0, "what is not named is counted");
}

/// Formats that contradict each other or the records: the reader counts the events, and reports nothing that is impossible.
#[test]
fn formats_may_say_anything() {
    let (story, file) = whole();
    let fields = |fields: &[(&str, usize, usize, u8)]| ("sched", vec![format("sched_waking", 318, fields, "\"\"")]);
    let all = [("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("int prio", 28, 4, 1)];
    for (what, system) in [
        ("overlapping", fields(&[("char comm[16]", 8, 16, 0), ("pid_t pid", 9, 4, 1), ("int prio", 10, 8, 0)])),
        ("outside", fields(&[("char comm[16]", 400, 16, 0), ("pid_t pid", 5_000, 4, 1), ("int prio", 1 << 23, 4, 1)])),
        ("empty", fields(&[("char comm[16]", 8, 0, 0), ("pid_t pid", 24, 0, 1), ("int prio", 28, 0, 1)])),
        ("odd", fields(&[("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 3, 1), ("int prio", 28, 7, 1)])),
        ("none", fields(&[])),
        (
            "twice",
            ("sched", vec![format("sched_waking", 318, &all, "\"\""), format("sched_waking", 316, &all, "\"\"")]),
        ),
    ] {
        let mut file = file.clone();
        file.systems = vec![("sched", vec![systems(LITTLE)[0].1[0].clone()]), system];
        let built = file.build();
        let (told, lost) = told(&built.bytes);
        assert_eq!((told[0].met.events, lost.len()), (story.count(), 0), "{what}: {lost:?}");
        // Without a waking there is no wait, and with overlapping fields no task has the number that was woken.
        assert!(told[0].waits.is_empty() || what == "twice", "{what}");
        assert!(told[0].waits.len() <= story.waits.len(), "{what}");
        let trace = Trace::open(&built.bytes).unwrap();
        for (_, _, kind) in &told[0].events {
            if let Some(described) = trace.formats.iter().find(|one| one.format.id == *kind) {
                assert!(described.format.describe(&[0x5a; 40], trace.endian).starts_with("sched_"));
            }
        }
    }
    let mut file = file;
    let huge = "name: a\nID: 9\nfield:int x;\toffset:0;\tsize:99999999999999999999;\tsigned:0;\n";
    let long = format!("name: {}\nID: 9\n", "y".repeat(300_000));
    file.systems.push(("other", vec![huge.into(), long, "no format".into()]));
    let built = file.build();
    assert_eq!(loses(&built.bytes, "is not a field inside a record"), story.count());
    assert_eq!(loses(&built.bytes, "a format of 300013 bytes"), story.count());
    assert_eq!(loses(&built.bytes, "without a name and a number"), story.count());
    file.systems.push(("more", vec!["name:a\nID:1\n".into(); 20_000]));
    assert_eq!(loses(&file.build().bytes, "more than 16384 formats: no kernel has so many"), story.count());
}

/// The reader counts times that go back, and makes no latency from them.
#[test]
fn a_clock_that_goes_back_is_counted() {
    let waking = Event::Waking { pid: 103 }.record(LITTLE);
    let come = Event::Switch { from: 0, state: 0, to: 103 }.record(LITTLE);
    let page = |time: u64, record: &[u8]| {
        let mut page = Page::new(LITTLE, 4096, time);
        page.event(time, record);
        page.finish()
    };
    let data = [page(9_000, &waking), page(8_000, &come), page(7_000, &waking), page(7_500, &come)].concat();
    let (told, lost) = told(&File::of(LITTLE, vec![(0, data)]).build().bytes);
    let met = &told[0].met;
    assert_eq!((met.events, met.backwards, met.first, met.last, lost.len()), (4, 2, 7_000, 9_000, 0));
    assert!(told[0].waits.is_empty(), "no wait is certain next to such an event: {:?}", told[0].waits);
}

/// The reader skips pages with garbage, names them with their place and CPU, and reads the pages next to them.
#[test]
fn garbage_in_pages_is_passed_over() {
    let (story, file) = whole();
    let built = file.build();
    let trace = Trace::open(&built.bytes).unwrap();
    let data = trace.buffers[0].cpus[1];
    let second = data.at as usize + 4096;
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    let mut bytes = built.bytes.clone();
    bytes[second..second + 4096].iter_mut().for_each(|byte| *byte = random());
    let (spoilt, lost) = told(&bytes);
    assert!(lost.len() == 1 && lost[0].starts_with(&format!("at byte {second}: CPU 1: ")), "{lost:?}");
    assert!(spoilt[0].met.events < story.count() && spoilt[0].met.events > story.count() / 2);
    // The head states more data than a page has; in the other case only the data after an event are damaged.
    assert!(loses(&patched(&built, second + 8, 5_000, 8), "a page states that it holds 5000 bytes, but has 4080") > 0);
    assert!(loses(&patched(&built, second + 16, 0, 4), "bytes of a page are not events") > 0);
    // The last page is cut off in the middle of the file.
    let all = File { rings: vec![Ring { cpus: vec![(0, vec![0xff; 100_000])], ..file.rings[0].clone() }], ..file };
    assert_eq!(loses(&all.build().bytes, "CPU 0: a page"), 0);
}

/// Chunks with a wrong length, invalid chunks, and fewer chunks than stated.
#[test]
fn chunks_that_lie_are_passed_over() {
    let (story, file) = whole();
    for packing in [Packing::Zlib, Packing::Zstd] {
        let built = File { packing, packed_data: true, ..file.clone() }.build();
        let trace = Trace::open(&built.bytes).unwrap();
        let data = trace.buffers[0].cpus[0].at as usize;
        let place = format!("at byte {}: CPU 0: ", data + 4);
        for length in [0, 1, 8_191, 8_193, 32 << 20, (32 << 20) + 1, 0xffff_ffff] {
            let left = loses(&patched(&built, data + 8, length, 4), &format!("{place}a chunk"));
            assert!(left > 0 && left < story.count());
        }
        assert!(loses(&patched(&built, data + 4, 0xffff_fff0, 4), "chunks should follow in") < story.count());
        assert!(loses(&patched(&built, data, 0xffff_ffff, 4), "chunks should follow in") > 0);
        assert!(loses(&patched(&built, data + 12 + 40, 0x55aa_55aa_55aa_55aa, 8), &place) < story.count());
        // A damaged page in the second chunk: the reported place is that of the chunk, which the user can find in the file.
        let mut spoilt = file.clone();
        spoilt.rings[0].cpus[0].1[3 * 4096 + 8] = 0xff;
        spoilt.rings[0].cpus[0].1[3 * 4096 + 9] = 0xff;
        let built = File { packing, packed_data: true, ..spoilt }.build();
        let second = built.ends.iter().find(|(_, what)| what == "a chunk").unwrap().0;
        let what =
            format!("at byte {second}: CPU 0: a page states that it holds 65535 bytes, but has 4080, 4096 bytes into");
        assert!(loses(&built.bytes, &what) > 0);
        let built = File { packing, packed_sections: true, ..file.clone() }.build();
        let formats = begin(&built, "formats of events");
        assert_eq!(loses(&patched(&built, formats + 20, 0xffff_ffff, 4), "should unpack to 4294967295"), story.count());
        assert_eq!(loses(&patched(&built, formats + 24, 0, 8), "cannot be unpacked"), story.count());
    }
    let mut bytes = File { packing: Packing::Zstd, packed_data: true, ..file }.build().bytes;
    let name = bytes.windows(4).position(|four| four == b"zstd").unwrap();
    bytes[name..name + 4].copy_from_slice(b"lzma");
    assert_eq!(loses(&bytes, "compressed with `lzma`, but latido reads only zlib and zstd"), 0);
}

/// Random changes of bytes, and shifts of time with extreme numbers: the reader and the explanation answer each time.
#[test]
fn spoilt_bytes_are_survived() {
    let story = story(20, 1_000_000);
    let mut shift = Bytes::of(LITTLE);
    shift.number(1, 8).number(1, 4).number(2, 4);
    for _ in 0..2 {
        shift.number(2, 4).number(0, 8).number(u64::MAX, 8).number(1 << 63, 8).number((1 << 63) - 1, 8);
        shift.number(u64::MAX, 8).number(u64::MAX, 8);
    }
    (0..4).for_each(|_| _ = shift.number(u64::MAX, 8));
    let wild = File { options: vec![(12, shift.bytes)], ..File::of(LITTLE, story.pages(LITTLE, 4096)) };
    assert_eq!(told(&wild.build().bytes).0[0].met.events, story.count());
    // Products of such times and shifts overflow every number type.
    let later = File { rings: File::of(LITTLE, self::story(20, 3 << 62).pages(LITTLE, 4096)).rings, ..wild.clone() };
    assert_eq!(told(&later.build().bytes).0[0].met.events, story.count());
    let plain = File::of(LITTLE, story.pages(LITTLE, 4096));
    let packed = File { packing: Packing::Zstd, packed_sections: true, packed_data: true, ..plain.clone() };
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for file in [File { version: 6, ..plain.clone() }, plain, packed, wild] {
        let built = file.build().bytes;
        for _ in 0..400 {
            let mut bytes = built.clone();
            for _ in 0..=random(4) {
                let (at, byte) = (random(bytes.len()), [0, 1, 0x7f, 0x80, 0xff, random(256) as u8][random(6)]);
                bytes[at] = byte;
            }
            let Ok(trace) = Trace::open(&bytes) else { continue };
            for buffer in &trace.buffers {
                let window = Window { begin: 0, end: u64::MAX, pid: 101, cpu: 0, begins: Begins::Asleep };
                let (explained, _) = explain(&trace, buffer, &[window]);
                assert_eq!(explained.len(), 1);
            }
            told(&bytes);
        }
    }
}
