//! latido applies what a file states about its times as `trace-cmd report` does: offsets, ticks, the shift of a guest.

use crate::common::{BIG, Bytes, File, LITTLE, Machine, events::story, oracle::agrees, read::read};

/// The CPU and time of each event in a file with these options.
fn times(machine: Machine, version: u32, options: Vec<(u16, Vec<u8>)>, what: &str) -> Vec<(u32, u64)> {
    let pages = story(40, BEGIN).pages(machine, 4096);
    let mut file = File { version, options, ..File::of(machine, pages) };
    if what.contains("ticks") {
        file.rings[0].clock = "x86-tsc";
    }
    let built = file.build();
    let (told, lost) = read(&built.bytes).unwrap();
    assert_eq!(lost, Vec::<String>::new(), "{what}");
    agrees(&built.bytes, &format!("{what} {version} {:?}", machine.endian));
    let mut times: Vec<_> = told[0].events.iter().map(|(cpu, time, _)| (*cpu, *time)).collect();
    times.sort_unstable();
    times
}

const BEGIN: u64 = 50_000_000_000;

/// The times of the story, each changed.
fn changed(change: impl Fn(u32, u64) -> u64) -> Vec<(u32, u64)> {
    let story = story(40, BEGIN);
    let cpus = (0..).zip(&story.events);
    let mut times: Vec<_> =
        cpus.flat_map(|(cpu, events)| events.iter().map(move |(at, _)| (cpu, *at))).collect::<Vec<_>>();
    times.iter_mut().for_each(|(cpu, at)| *at = change(*cpu, *at));
    times.sort_unstable();
    times
}

fn everywhere(see: impl Fn(Machine, u32)) {
    for machine in [LITTLE, BIG] {
        for version in [6, 7] {
            see(machine, version);
        }
    }
}

/// latido reads numbers like the C library: decimal, hexadecimal, octal, signed. A date is in microseconds, and all offsets are added up.
#[test]
fn offsets_are_added() {
    everywhere(|machine, version| {
        for (options, by) in [
            (vec![(7, &b"1234\0"[..])], 1_234),
            (vec![(7, b"-5000000000\0")], -5_000_000_000),
            (vec![(7, b"0x10\0")], 16),
            (vec![(7, b"010\0")], 8),
            (vec![(7, b"0\0"), (7, b"7 of them\0")], 7),
            (vec![(1, b"0x1000\0"), (7, b"3\0")], 4_096_003),
        ] {
            let what = format!("offset {by}");
            let options = options.into_iter().map(|(id, text)| (id, text.to_vec())).collect();
            let expected = changed(|_, at| at.wrapping_add_signed(by));
            assert_eq!(times(machine, version, options, &what), expected, "{what}");
        }
    });
}

/// A factor and a shift convert ticks to ns. latido ignores an offset next to them, as trace-cmd does.
#[test]
fn ticks_become_ns() {
    everywhere(|machine, version| {
        for (factor, shift, offset) in [(1u64 << 30, 31u64, 0), (0x4ccc_cccd, 32, 0), (5, 1, 40_000_000_000), (7, 0, 1)]
        {
            let mut option = Bytes::of(machine);
            option.number(factor, 4).number(shift, 4).number(offset, 8);
            let expected = changed(|_, at| ((u128::from(at) * u128::from(factor)) >> shift) as u64);
            let what = format!("ticks {factor} {shift} {offset}");
            assert_eq!(times(machine, version, vec![(14, option.bytes)], &what), expected, "{what}");
        }
    });
}

/// The time, correction, ratio, and its number of binary digits after the point.
type Sample = (u64, i64, u64, u64);

/// An option of shifts; older files lack the digits.
fn shift(machine: Machine, flags: u64, digits: bool, cpus: &[Vec<Sample>]) -> (u16, Vec<u8>) {
    let mut option = Bytes::of(machine);
    option.number(99, 8).number(flags, 4).number(cpus.len() as u64, 4);
    for samples in cpus {
        option.number(samples.len() as u64, 4);
        samples.iter().for_each(|sample| _ = option.number(sample.0, 8));
        samples.iter().for_each(|sample| _ = option.number(sample.1.cast_unsigned(), 8));
        samples.iter().for_each(|sample| _ = option.number(sample.2, 8));
    }
    if digits {
        cpus.iter().flatten().for_each(|sample| _ = option.number(sample.3, 8));
    }
    (12, option.bytes)
}

/// A guest's CPUs have their own samples. A single sample is an offset. Between two samples the correction is linear if the flags say so,
/// and it continues before and after them. A fraction may scale times. CPUs without samples stay unchanged.
#[test]
fn a_guest_is_shifted_to_its_host() {
    let middle = BEGIN + 200_000;
    let (a, b, c) = ((BEGIN + 50_000, 1_000, 1, 0), (middle, -7_001, 1, 0), (BEGIN + 300_000, 50_000, 1, 0));
    let line = |a: Sample, b: Sample, at: u64| {
        let (span, by) = ((b.0 - a.0) as i128, i128::from(b.1 - a.1));
        i128::from(a.1) + ((i128::from(at) - i128::from(a.0)) * by + span / 2) / span
    };
    everywhere(|machine, version| {
        let check = |what: &str, option, expected: &dyn Fn(u32, u64) -> u64| {
            let what = format!("shift {what}");
            assert_eq!(times(machine, version, vec![option], &what), changed(expected), "{what}");
        };
        let ours = |at: u64, by: i128| (i128::from(at) + by) as u64;
        check("of one", shift(machine, 1, true, &[vec![a], vec![b]]), &|cpu, at| {
            ours(at, if cpu == 0 { 1_000 } else { -7_001 })
        });
        check("of one CPU of two", shift(machine, 1, true, &[vec![a]]), &|cpu, at| {
            ours(at, if cpu == 0 { 1_000 } else { 0 })
        });
        check("on a line", shift(machine, 1, true, &[vec![a, b], vec![a, b, c]]), &|cpu, at| {
            let first = cpu == 0 || at < middle;
            ours(at, if first { line(a, b, at) } else { line(b, c, at) })
        });
        // The samples may be in any order in the file.
        check("in steps", shift(machine, 0, true, &[vec![b, a], vec![c, a, b]]), &|cpu, at| {
            ours(at, i128::from(if cpu == 1 && at >= middle { b.1 } else { a.1 }))
        });
        let (half, other) = ((BEGIN, 5, 3 << 7, 8), (BEGIN + 1_000, 5, 3 << 7, 8));
        check("scaled", shift(machine, 1, true, &[vec![half, other], vec![half, other]]), &|_, at| at * 3 / 2 + 5);
        check("of an old file", shift(machine, 1, false, &[vec![a, b], vec![a, b]]), &|_, at| ours(at, line(a, b, at)));
    });
}

/// latido reads the numbers of records without a branch on their size. They equal the numbers that their bytes make one by one.
mod numbers {
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
}
