//! latido reads the numbers of records without a branch on their size. They equal the numbers that their bytes make one by one.

use latido_trace::{bytes::Endian, format::Format};
use proptest::prelude::*;

/// The field's value byte by byte; `None` if the record ends before the field.
fn slow(record: &[u8], at: usize, size: usize, signed: bool, endian: Endian) -> Option<i64> {
    let bytes = record.get(at..at + size)?;
    let number = endian.number(bytes)?;
    let negative = signed && number >> (8 * size - 1) == 1;
    // Sign extension fills all bits above the field.
    Some(if negative && size < 8 { number.cast_signed() - (1 << (8 * size)) } else { number.cast_signed() })
}

proptest! {
    /// For each size, sign and byte order, at each place of a record of any length: at its start, at its end, and beyond it.
    #[test]
    fn a_number_is_what_its_bytes_make(record in proptest::collection::vec(any::<u8>(), 0..40)) {
        for endian in [Endian::Little, Endian::Big] {
            for (size, signed) in [1, 2, 4, 8].into_iter().flat_map(|size| [(size, false), (size, true)]) {
                for at in 0..record.len() + 9 {
                    let text = format!(
                        "name: x\nID: 1\nfield:int v;\toffset:{at};\tsize:{size};\tsigned:{};\n", u8::from(signed)
                    );
                    let number = Format::parse(&text).unwrap().number("v", endian).unwrap();
                    prop_assert_eq!(
                        number.of(&record), slow(&record, at, size, signed, endian), "{} bytes at {} {:?}", size, at, endian
                    );
                }
            }
        }
    }

    /// A field of another size is not a number.
    #[test]
    fn other_sizes_are_no_numbers(at in 0usize..20, size in 0usize..20) {
        let text = format!("name: x\nID: 1\nfield:int v;\toffset:{at};\tsize:{size};\tsigned:1;\n");
        let number = Format::parse(&text).unwrap().number("v", Endian::Little);
        prop_assert_eq!(number.is_some(), [1, 2, 4, 8].contains(&size));
    }
}
