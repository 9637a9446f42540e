//! What holds for any text: nothing panics, the size of the pieces makes no difference, and a text that is cut off anywhere gives the first
//! lines of the whole.

use latido_trace::text::{Reader, Seen, Summary};
use proptest::prelude::*;

/// The recognised lines, and the counts of the reader.
fn told<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Seen) {
    let (mut reader, mut lines) = (Reader::default(), Vec::new());
    for piece in pieces {
        reader.push(piece, |header, line| lines.push(format!("{} {:?} {line:?}", header.ordinal, header.columns)));
    }
    (lines, reader.seen().clone())
}

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/texts.rs"));

/// All texts under `data/`.
fn texts() -> Vec<Vec<u8>> {
    texts_below(env!("CARGO_MANIFEST_DIR")).into_values().collect()
}

/// Each text that is cut off at any byte gives the first lines of the whole. Lines do not depend on what follows them, so within a line it
/// is enough that the cut line is not reported.
#[test]
fn a_text_cut_off_is_a_beginning() {
    for text in texts() {
        let (whole, _) = told([text.as_slice()]);
        let mut reader = Reader::default();
        let mut lines = Vec::new();
        for (at, byte) in text.chunks(1).enumerate() {
            reader.push(byte, |header, line| {
                lines.push(format!("{} {:?} {line:?}", header.ordinal, header.columns));
            });
            let ends = whole.get(..lines.len()).unwrap();
            assert_eq!(lines.last(), ends.last(), "at byte {at}");
            assert_eq!(reader.seen().unfinished == 0, byte == b"\n", "at byte {at}");
        }
        assert_eq!(lines, whole);
    }
}

/// Text that is almost what a kernel writes: lines of the samples with changed, inserted and removed bytes.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let lines: Vec<Vec<u8>> =
        texts().iter().flat_map(|text| text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec)).collect();
    let line = (0..lines.len(), any::<prop::sample::Index>(), any::<u8>(), 0..4u8);
    prop::collection::vec(line, 1..40).prop_map(move |edits| {
        let mut text = Vec::new();
        for (which, at, byte, how) in edits {
            let mut line = lines[which].clone();
            if !line.is_empty() {
                let at = at.index(line.len());
                match how {
                    0 => line[at] = byte,
                    1 => line.insert(at, byte),
                    2 => drop(line.remove(at)),
                    _ => {}
                }
            }
            text.extend(line);
            text.push(b'\n');
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_told_line_by_line(
        text in prop_oneof![nearly(), prop::collection::vec(any::<u8>(), 0..2000)],
        size in 1..300_usize,
        end in any::<prop::sample::Index>(),
    ) {
        let (whole, seen) = told([text.as_slice()]);
        prop_assert_eq!(whole.len(), text.iter().filter(|byte| **byte == b'\n').count());
        prop_assert_eq!(whole.len() as u64, seen.lines);
        let unknown = |line: &&String| line.contains(" Unknown(") || line.ends_with(" Begun");
        prop_assert!(whole.iter().filter(unknown).count() as u64 >= seen.unknown);
        prop_assert_eq!(told(text.chunks(size)), (whole.clone(), seen));
        let (begin, _) = told([&text[..end.index(text.len() + 1)]]);
        prop_assert!(whole.starts_with(&begin));
        Summary::of(&text);
    }
}
