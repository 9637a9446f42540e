//! Files that are valid but odd: they give the same results whatever machine wrote them, and agree with `trace-cmd report`.

use crate::common::{
    BIG, Bytes, File, LITTLE, Machine, Ring,
    events::{Event, Story, story},
    oracle::agrees,
    pages::Page,
    read::{Told, read},
};
use latido_trace::{
    bytes::Endian,
    file::{Packing, Trace},
    page::Missed,
};

/// The only ring of a file without losses.
fn one(bytes: &[u8]) -> Told {
    let (mut rings, lost) = read(bytes).unwrap();
    assert_eq!((rings.len(), lost), (1, Vec::<String>::new()));
    let told = rings.remove(0);
    assert!(told.met.unread.is_empty(), "{:?}", told.met.unread);
    told
}

fn tells(story: &Story, told: &Told, what: &str) {
    assert_eq!((&told.waits, &told.handled), (&story.waits, &story.handled), "{what}");
    assert_eq!((told.met.events, told.met.backwards), (story.count(), 0), "{what}");
    assert_eq!(told.met.devices.get(&7).map(String::as_str), Some("eth0"), "{what}");
}

/// Both versions, both byte orders, both sizes of a long, pages and sub-buffers of 4 to 64 KiB: each event, each latency and the name that
/// a `__data_loc` points to are the same, and trace-cmd agrees.
#[test]
fn every_machine_tells_the_same() {
    let story = story(400, 5_000_000_000);
    let mut events = None;
    for version in [6, 7] {
        for endian in [Endian::Little, Endian::Big] {
            for long in [4, 8] {
                for size in [4096, 8192, 16_384, 65_536] {
                    let machine = Machine { endian, long };
                    let what = format!("version {version} {endian:?} long {long} pages {size}");
                    let mut file = File { version, page: size, ..File::of(machine, story.pages(machine, size)) };
                    file.rings[0].page = size;
                    let built = file.build();
                    let told = one(&built.bytes);
                    tells(&story, &told, &what);
                    assert_eq!(&told.events, events.get_or_insert_with(|| told.events.clone()), "{what}");
                    agrees(&built.bytes, &what);
                }
            }
        }
    }
}

/// Compressed or not, sections and data separately: the results are the same.
#[test]
fn packed_files_tell_the_same() {
    let story = story(900, 7_000);
    for machine in [LITTLE, BIG] {
        for packing in [Packing::Zlib, Packing::Zstd] {
            for (packed_sections, packed_data) in [(true, true), (true, false), (false, true), (false, false)] {
                for chunk in [1, 3, 100] {
                    let file = File::of(machine, story.pages(machine, 4096));
                    let built = File { packing, packed_sections, packed_data, chunk, ..file }.build();
                    let what = format!("{packing:?} {packed_sections} {packed_data} {chunk} {:?}", machine.endian);
                    tells(&story, &one(&built.bytes), &what);
                    if chunk == 3 {
                        agrees(&built.bytes, &what);
                    }
                }
            }
        }
    }
}

/// Instances have their own name, clock, page size and CPUs; in version 6 too, except for the page size.
#[test]
fn every_ring_is_told_by_its_own_rules() {
    for version in [6, 7] {
        for machine in [LITTLE, BIG] {
            let stories = [story(50, 1_000_000), story(30, 2_000_000), story(20, 3_000_000)];
            let sizes = if version == 6 { [4096; 3] } else { [4096, 16_384, 65_536] };
            let mut file = File { version, ..File::of(machine, stories[0].pages(machine, sizes[0])) };
            let mut second = stories[1].pages(machine, sizes[1]);
            // A number of CPUs other than that of the main ring.
            second.push((2, Vec::new()));
            file.rings.push(Ring { name: "second", clock: "boot", page: sizes[1], cpus: second });
            let third = stories[2].pages(machine, sizes[2]);
            file.rings.push(Ring { name: "third one", clock: "global", page: sizes[2], cpus: third });
            let built = file.build();
            let (told, lost) = read(&built.bytes).unwrap();
            assert_eq!((told.len(), lost), (3, vec![]));
            for (told, story) in told.iter().zip(&stories) {
                tells(story, told, "a ring");
            }
            let trace = Trace::open(&built.bytes).unwrap();
            let named: Vec<_> =
                trace.buffers.iter().map(|ring| (ring.name.as_str(), ring.clock.as_deref(), ring.page)).collect();
            let expected = [("", Some("mono")), ("second", Some("boot")), ("third one", Some("global"))];
            assert_eq!(named, expected.iter().zip(sizes).map(|((n, c), s)| (*n, *c, s)).collect::<Vec<_>>());
            assert_eq!(trace.options.clock.as_deref(), Some("mono"));
            // In version 6 trace-cmd gives an instance the CPUs of the main ring.
            if version == 7 {
                agrees(&built.bytes, &format!("rings {:?}", machine.endian));
            }
        }
    }
}

/// No events, CPUs that wrote nothing, and CPU numbers with gaps.
#[test]
fn what_is_empty_is_no_error() {
    let story = story(10, 9_000);
    for version in [6, 7] {
        for machine in [LITTLE, BIG] {
            let none = File { version, ..File::of(machine, vec![(0, vec![]), (1, vec![])]) }.build();
            let told = one(&none.bytes);
            assert_eq!((told.met.events, told.met.first, told.met.last), (0, 0, 0));
            let blank = Page::new(machine, 4096, 77).finish();
            let told = one(&File { version, ..File::of(machine, vec![(0, blank)]) }.build().bytes);
            assert_eq!(told.met.events, 0);
            let cpus = story.pages(machine, 4096).into_iter().map(|(cpu, data)| (3 * cpu + 2, data)).collect();
            if version == 7 {
                let built = File::of(machine, cpus).build();
                tells(&story, &one(&built.bytes), "sparse CPUs");
                agrees(&built.bytes, &format!("sparse {:?}", machine.endian));
            }
        }
    }
}

/// Every kind of header: extended and absolute times, also with the top bits that only a page has, discarded events, long events, an end of
/// the data before the end of the page.
#[test]
fn every_header_has_its_time() {
    for machine in [LITTLE, BIG, Machine { long: 4, ..LITTLE }, Machine { long: 4, ..BIG }] {
        for top in [0u64, 0x1_0000_0000_0000_0000u128.wrapping_sub(1 << 62) as u64, 0x0800_0000_0000_0000] {
            let time = top + 1_000_000;
            let record = Event::Waking { pid: 103 }.record(machine);
            let mut long = Event::Exit { irq: 9 }.record(machine);
            long.resize(2_001, 7);
            let mut page = Page::new(machine, 4096, time);
            page.event(time, &record);
            page.event(time + 3_000_000_000, &record);
            page.stamp(time + 4_000_000_000);
            page.event(time + 4_000_000_005, &record);
            page.discarded(time + 4_000_000_105, 12);
            page.large(time + 4_000_000_110, &record);
            page.event(time + 4_000_000_120, &long);
            page.discarded(time + 4_000_000_150, 4);
            page.event(time + 5_000_000_000, &record);
            page.ends();
            let built = File::of(machine, vec![(0, page.finish())]).build();
            let told = one(&built.bytes);
            let times: Vec<u64> = told.events.iter().map(|(_, at, _)| at - time).collect();
            let expected = [0, 3_000_000_000, 4_000_000_005, 4_000_000_110, 4_000_000_120, 5_000_000_000];
            assert_eq!(times, expected, "{machine:?} {top:x}");
            // trace-cmd prints times with a sign.
            if top == 0 {
                agrees(&built.bytes, &format!("headers {machine:?}"));
            }
        }
    }
}

/// The reader counts missed events if the kernel counted them, and makes open pairs void.
#[test]
fn missed_events_are_counted() {
    for machine in [LITTLE, BIG, Machine { long: 4, ..LITTLE }, Machine { long: 4, ..BIG }] {
        for (missed, counts) in
            [(Missed::Nothing, (0, 0, 0)), (Missed::Some, (1, 0, 1)), (Missed::Events(77), (1, 77, 0))]
        {
            let waking = Event::Waking { pid: 103 }.record(machine);
            let mut first = Page::new(machine, 4096, 1_000);
            first.event(1_000, &waking);
            let mut second = Page::new(machine, 4096, 2_000);
            second.event(2_000, &Event::Switch { from: 0, state: 0, to: 103 }.record(machine));
            second.missed = missed;
            let data = [first.finish(), second.finish()].concat();
            for version in [6, 7] {
                let built = File { version, ..File::of(machine, vec![(0, data.clone())]) }.build();
                let told = one(&built.bytes);
                let met = told.met;
                assert_eq!((met.gaps, met.lost, met.uncounted), counts, "{machine:?} {missed:?}");
                assert_eq!(told.waits.len() + met.unpaired.voided as usize, 1);
                assert_eq!(met.unpaired.voided > 0, missed != Missed::Nothing);
                agrees(&built.bytes, &format!("missed {missed:?} {machine:?}"));
            }
        }
    }
}

/// A file of a latency tracer contains its text: plain after the head of version 6, and in a section of version 7, there compressed or not.
#[test]
fn the_text_of_a_tracer_is_found() {
    let text = "# tracer: irqsoff\n#\n# irqsoff latency trace v1.1.5 on 6.1.0\n".repeat(900);
    for machine in [LITTLE, BIG] {
        let file = File::of(machine, Vec::new());
        let six = File { version: 6, ..file.clone() }.build();
        let table = six.bytes.windows(10).position(|ten| ten == b"flyrecord\0").unwrap();
        let bytes = [&six.bytes[..table], b"latency  \0", text.as_bytes()].concat();
        let trace = Trace::open(&bytes).unwrap();
        assert_eq!((trace.text.as_deref(), trace.lost.count()), (Some(text.as_bytes()), 0));
        for (packing, packed_data) in [(Packing::None, false), (Packing::Zlib, true), (Packing::Zstd, true)] {
            let mut file = File { packing, packed_data, ..file.clone() };
            let place = file.build().bytes.len() as u64;
            // The option always has the same length, and so has the file up to the section.
            let mut option = Bytes::of(machine);
            option.number(place + 6 + 8 + 2, 8).text("").text("");
            file.options = vec![(22, option.bytes.clone())];
            let mut bytes = Bytes { bytes: file.build().bytes, endian: machine.endian };
            assert_eq!(bytes.bytes.len() as u64, place + 6 + 8 + 2);
            let mut body = Bytes::of(machine);
            if packed_data {
                let chunks: Vec<&[u8]> = text.as_bytes().chunks(10_000).collect();
                body.number(chunks.len() as u64, 4);
                chunks.iter().for_each(|chunk| body.bytes.extend(file.packed(chunk)));
            } else {
                body.bytes.extend(text.bytes());
            }
            bytes.number(22, 2).number(u64::from(packed_data), 2).number(0, 4).number(body.bytes.len() as u64, 8);
            bytes.bytes.extend(&body.bytes);
            let trace = Trace::open(&bytes.bytes).unwrap();
            assert_eq!((trace.text.as_deref(), trace.lost.count()), (Some(text.as_bytes()), 0), "{packing:?}");
        }
    }
}
