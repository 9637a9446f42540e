use super::*;
use proptest::prelude::*;

/// Builds a page of one byte order and word size.
fn page(endian: Endian, long: usize, time: u64, flags: u64, words: &[u32]) -> Vec<u8> {
    let word = |value: u32| match endian {
        Endian::Little => value.to_le_bytes(),
        Endian::Big => value.to_be_bytes(),
    };
    let wide = |value: u64, bytes: usize| match endian {
        Endian::Little => value.to_le_bytes().into_iter().take(bytes).collect::<Vec<_>>(),
        Endian::Big => value.to_be_bytes().into_iter().skip(8 - bytes).collect(),
    };
    let mut bytes = wide(time, 8);
    bytes.extend(wide((words.len() as u64 * 4) | flags, long));
    bytes.extend(words.iter().flat_map(|value| word(*value)));
    bytes
}

fn head(endian: Endian, kind: u32, delta: u32) -> u32 {
    match endian {
        Endian::Little => kind | delta << 5,
        Endian::Big => kind << 27 | delta,
    }
}

/// Every kind of header must be read in both byte orders and word sizes: short and long events, an extended time, an absolute time, a
/// discarded event, and the end of the page.
#[test]
fn every_kind_of_header_is_read() {
    for endian in [Endian::Little, Endian::Big] {
        for long in [4, 8] {
            let time = 0x0800_0000_0000_1000;
            let words = [
                head(endian, 1, 5),
                0xaa,
                head(endian, EXTEND, 3),
                2,
                head(endian, 0, 1),
                12,
                0xbb,
                0xcc,
                head(endian, PADDING, 7),
                8,
                0xdead,
                head(endian, STAMP, 9),
                1,
                head(endian, 2, 0),
                1,
                2,
                head(endian, PADDING, 0),
                0xffff_ffff,
            ];
            let bytes = page(endian, long, time, 0, &words);
            let read = Page::parse(&bytes, &Layout::of(endian, long)).unwrap();
            let mut events = read.events();
            let found: Vec<(u64, usize)> = events.by_ref().map(|event| (event.time, event.data.len())).collect();
            let extended = time + 5 + 3 + (2 << 27) + 1;
            // The stamp keeps the five top bits of the previous time.
            assert_eq!(found, [(time + 5, 4), (extended, 8), (0x0800_0000_0000_0000 | 9 | 1 << 27, 8)]);
            assert_eq!((events.unread(), read.missed), (0, Missed::Nothing));
        }
    }
}

/// Lost events must be reported, with their number if the kernel counted them.
#[test]
fn lost_events_are_told() {
    for (flags, missed) in [(MISSED, Missed::Some), (MISSED | COUNTED, Missed::Events(77)), (COUNTED, Missed::Nothing)]
    {
        let endian = Endian::Little;
        let mut bytes = page(endian, 8, 1, flags, &[head(endian, 1, 5), 0]);
        bytes.extend(77u64.to_le_bytes());
        assert_eq!(Page::parse(&bytes, &Layout::of(endian, 8)).unwrap().missed, missed);
    }
}

/// What does not fit must not be read, and its length must be reported.
#[test]
fn a_broken_page_is_read_up_to_its_break() {
    let endian = Endian::Little;
    let layout = Layout::of(endian, 8);
    for words in [&[head(endian, 1, 1), 1, head(endian, 28, 1), 1][..], &[head(endian, 1, 1), 1, head(endian, 0, 1), 3]]
    {
        let bytes = page(endian, 8, 1, 0, words);
        let mut events = Page::parse(&bytes, &layout).unwrap().events();
        assert_eq!((events.by_ref().count(), events.unread()), (1, 8));
    }
    let mut bytes = page(endian, 8, 1, 0, &[head(endian, 1, 1), 1]);
    bytes.pop();
    assert!(Page::parse(&bytes, &layout).unwrap_err().what.contains("holds 8 bytes, but has 7"));
    assert!(Page::parse(&[0; 9], &layout).is_err());
}

#[test]
fn the_layout_comes_from_its_text() {
    let text = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                \tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
                \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
                \tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";
    assert_eq!(Layout::parse(text, Endian::Big), Ok(Layout::of(Endian::Big, 4)));
    assert!(Layout::parse("", Endian::Big).is_err());
    assert!(Layout::parse(&text.replace("offset:12", "offset:9"), Endian::Big).is_err());
    assert!(Layout::parse(&text.replace("offset:12", "offset:99999999999"), Endian::Big).is_err());
}

proptest! {
    /// Whatever the bytes, the walk must end, and every event must be within the bytes.
    #[test]
    fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..300), big: bool, long in prop_oneof![Just(4usize), Just(8)]) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let layout = Layout::of(endian, long);
        let _ = Page::parse(&bytes, &layout).map(|page| page.events().count());
        // A random length is hardly ever that of the bytes: give the same bytes a head that fits.
        let mut fitting = page(endian, long, 1, bytes.len() as u64, &[]);
        fitting.extend(&bytes);
        let events = Page::parse(&fitting, &layout).unwrap().events();
        prop_assert!(events.map(|event| event.data.len() + 4).sum::<usize>() <= bytes.len());
    }
}
