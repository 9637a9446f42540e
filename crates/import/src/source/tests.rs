use super::*;
use proptest::prelude::*;

/// What the sink received, as text.
#[derive(Default)]
struct Heard(Vec<String>);

impl Sink for Heard {
    fn series(&mut self, series: usize, one: Declared) {
        let Declared { quantity, unit, clock, cpu, tid, period, labels } = one;
        self.0.push(format!("series {series} {quantity} {unit:?} {clock:?} {cpu:?} {tid:?} {period:?} {labels:?}"));
    }

    fn ready(&mut self) {
        self.0.push("ready".into());
    }

    fn sample(&mut self, series: usize, value: i64, end: Option<u64>) {
        self.0.push(format!("{series} {value} {end:?}"));
    }

    fn missed(&mut self, series: usize, count: u64, due: Option<u64>) {
        self.0.push(format!("miss {series} {count} {due:?}"));
    }

    fn dropped(&mut self, series: usize, count: u64) {
        self.0.push(format!("drop {series} {count}"));
    }

    fn end(&mut self, series: usize, produced: u64) {
        self.0.push(format!("end {series} {produced}"));
    }
}

fn told(form: Form, pieces: &[&[u8]]) -> (Vec<String>, Reader) {
    let (mut heard, mut reader) = (Heard::default(), Reader::new(form, None));
    pieces.iter().for_each(|piece| reader.take(piece, &mut heard));
    reader.finish();
    (heard.0, reader)
}

fn counts(reader: &Reader) -> Vec<(&'static str, u64)> {
    reader.bad().map(|(bad, count)| (bad.name(), count)).collect()
}

const SPECIFIED: &[u8] = b"latido-samples 1
series 0 quantity=latency unit=ns clock=monotonic cpu=3 tid=4711 period=1000000 label.node=camera
ready
0 23456 1234567890123
0 -1
miss 0 3 1234567890123
miss 0 0
drop 0 17
end 0 60000
";

#[test]
fn every_line_of_the_protocol_is_understood() {
    let (heard, reader) = told(Form::Latido, &[SPECIFIED]);
    assert_eq!(
        heard,
        [
            "series 0 latency Ns Monotonic Some(3) Some(4711) Some(1000000) {\"node\": \"camera\"}",
            "ready",
            "0 23456 Some(1234567890123)",
            "0 -1 None",
            "miss 0 3 Some(1234567890123)",
            "miss 0 0 None",
            "drop 0 17",
            "end 0 60000"
        ]
    );
    assert_eq!((reader.header(), reader.lines(), counts(&reader)), (Some(true), 9, vec![]));
}

/// Wherever a pipe splits the text, at any byte, the sink receives the same.
#[test]
fn torn_at_every_byte_it_is_the_same() {
    let mut text = SPECIFIED.to_vec();
    text.extend_from_slice(b"0 12x4 99\n\xff\xfe 0\n7 1\n0 1 2 3\r\n0 5 6\r\n");
    text.extend_from_slice(&[b'7'; 300]);
    text.extend_from_slice(b"\n0 8\n");
    let (whole, reader) = told(Form::Latido, &[&text]);
    let bad = [("too long", 1), ("not ASCII", 1), ("unknown words", 1), ("number", 1), ("undeclared series", 1)];
    assert_eq!(counts(&reader), bad);
    assert_eq!(reader.kept()[..2], ["0 12x4 99", "\\xff\\xfe 0"]);
    for at in 0..=text.len() {
        let (first, second) = text.split_at(at);
        let (torn, again) = told(Form::Latido, &[first, second]);
        assert_eq!((&torn, counts(&again), again.lines()), (&whole, counts(&reader), reader.lines()), "torn at {at}");
    }
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(told(Form::Latido, &bytes).0, whole);
}

/// A text that ends in the middle of a line never yields a shorter number.
#[test]
fn a_cut_text_has_no_wrong_number() {
    let (whole, _) = told(Form::Latido, &[SPECIFIED]);
    for at in 0..SPECIFIED.len() {
        let (cut, reader) = told(Form::Latido, &[&SPECIFIED[..at]]);
        assert_eq!(cut, whole[..cut.len()], "cut at {at}");
        let torn = at > 0 && SPECIFIED[at - 1] != b'\n';
        assert_eq!(counts(&reader), if torn { vec![("torn", 1)] } else { vec![] });
    }
}

#[test]
fn units_are_exact_or_refused() {
    let lines = b"latido-samples 1\nseries 0 quantity=a unit=us\nseries 1 quantity=b unit=s\nseries 2 quantity=c unit=ps\n\
        0 1.5\n0 -0.001\n0 0.0005\n1 2.000000001\n1 9223372037\n2 7.0\n2 7.5\n0 1.\n0 .5\n0 1e3\n0 1,5\n0 9223372036854775808\n";
    let (heard, reader) = told(Form::Latido, &[lines]);
    assert_eq!(heard[3..], ["0 1500 None", "0 -1 None", "1 2000000001 None", "2 7 None"]);
    assert_eq!(counts(&reader), [("number", 8)]);
}

/// The checksum is the XOR of the bytes before the `*`; once a series has used one, its later lines need one.
#[test]
fn a_checksum_is_checked_and_stays() {
    let sum = |text: &str| format!("{text}*{:02X}\n", checksum(text.as_bytes()));
    let lines = [
        "latido-samples 1\n".to_owned(),
        sum("series 0 quantity=a unit=ns"),
        "series 1 quantity=b unit=ns\n".into(),
        sum("ready"),
        sum("0 17"),
        "0 18\n".into(),
        "0 19*00\n".into(),
        "1 20\n".into(),
        sum("1 21").to_lowercase(),
        "1 22\n".into(),
    ];
    let (heard, reader) = told(Form::Latido, &[lines.concat().as_bytes()]);
    assert_eq!(heard[3..], ["0 17 None", "1 20 None", "1 21 None"]);
    assert_eq!(counts(&reader), [("checksum", 3)]);
    assert_eq!(checksum(b"GPGLL,5300.97914,N,00259.98174,E,125926,A"), 0x28, "the example that everybody has");
}

#[test]
fn declarations_that_cannot_be_are_refused() {
    let refused = |line: &str| {
        let text = format!("latido-samples 1\nseries 3 quantity=a unit=ns\n{line}\n");
        let (heard, reader) = told(Form::Latido, &[text.as_bytes()]);
        heard.len() == 1 && counts(&reader) == [("declaration", 1)]
    };
    for line in [
        "series 3 quantity=a unit=ns",
        "series 256 quantity=a unit=ns",
        "series 0 quantity=a",
        "series 0 unit=ns",
        "series 0 quantity=a unit=min",
        "series 0 quantity=A unit=ns",
        "series 0 quantity=a unit=ns unit=ns",
        "series 0 quantity=a unit=ns clock=wall",
        "series 0 quantity=a unit=ns period=0",
        "series 0 quantity=a unit=ns tid=99999999999",
        "series 0 quantity=a unit=ns label.=x",
        "series 0 quantity=a unit=ns deadline=3",
        "series 0 quantity=a unit=ns alone",
    ] {
        assert!(refused(line), "{line}");
    }
}

#[test]
fn a_first_line_that_is_no_header_is_told() {
    for text in [&b"0 1\n"[..], b"latido-samples 2\n", b"\xff\n", b"latido-samples 1 x\n"] {
        assert_eq!(told(Form::Latido, &[text]).1.header(), Some(false));
    }
    assert_eq!(told(Form::Latido, &[b"latido-samples 1"]).1.header(), None);
    assert_eq!(told(Form::Latido, &[b"latido-samples 1\r\n"]).1.header(), Some(true));
}

/// No double can represent 9007199254740.993: a number is exactly what is written. A comma in quotes belongs to a label.
#[test]
fn fields_are_exact_and_may_be_quoted() {
    let value = |line: &str| line.split(' ').nth(1).unwrap().to_owned();
    let (object, _) = told(Form::Ndjson, &[b"{\"value_us\": 9007199254740.993, \"cpu\": null}\n"]);
    assert_eq!(value(object.last().unwrap()), "9007199254740993");
    let (row, reader) = told(Form::Csv, &[b"value_us,node\n9007199254740.993,\"a, b\"\n1,\"open\n"]);
    assert_eq!(value(row.last().unwrap()), "9007199254740993");
    assert!(row[0].contains("{\"node\": \"a, b\"}"), "{row:?}");
    assert_eq!(counts(&reader).len(), 1, "a quote that is not closed");
}

/// A second value would hide the first one.
#[test]
fn a_line_with_two_values_or_two_units_is_bad() {
    for line in ["{\"value_us\": 1, \"value_ns\": 2}\n", "{\"value\": 1, \"unit\": \"us\", \"value_us\": 2}\n"] {
        let (heard, reader) = told(Form::Ndjson, &[line.as_bytes()]);
        assert_eq!((heard.len(), counts(&reader)), (0, vec![("unknown words", 1)]), "{line}");
    }
    let (heard, _) = told(Form::Ndjson, &[b"{\"value\": 1, \"unit\": \"us\"}\n"]);
    assert_eq!(heard[1], "0 1000 None");
}

#[test]
fn other_tools_lines_are_understood() {
    let verbose = b"Max CPUs = 2\nThread 0 Interval: 1000\n       0:       0:      23\n       1:       0:      40\n\
        \x20      0:       1:      31\n       0:       4:      19\n       0:  1x:  5\nT: 0 ( 12) P:95\n       0:";
    let (heard, reader) = told(Form::CyclictestV, &[verbose]);
    let series = |number: usize| format!("series {number} latency Us None None None None {{\"thread\": \"{number}\"}}");
    assert_eq!(
        heard,
        [&series(0), "0 23000 None", &series(1), "1 40000 None", "0 31000 None", "drop 0 2", "0 19000 None"]
    );
    assert_eq!(counts(&reader), [("number", 1), ("torn", 1)]);
    let (heard, _) = told(Form::Jitterdebugger, &[b"0;5457.507117074;32\n"]);
    assert_eq!(heard[1], "0 32000 Some(5457507117074)");
    let (heard, reader) =
        told(Form::Csv, &[b"value_us,at_ns,cpu\n89.204,6009543086957,0\n32.437,6009544030190,1\n1,2\n"]);
    assert_eq!((&heard[1], &heard[3]), (&"0 89204 Some(6009543086957)".into(), &"1 32437 Some(6009544030190)".into()));
    assert_eq!(counts(&reader), [("unknown words", 1)]);
    let (heard, reader) = told(
        Form::Ndjson,
        &[b"{\"value\":89.5,\"unit\":\"us\",\"at_ns\":6,\"cpu\":0}\n{\"value\":7,\"unit\":\"ns\",\"node\":\"a\"}\n{\n{\"value\":1}\n"],
    );
    assert_eq!((&heard[1], &heard[3]), (&"0 89500 Some(6)".into(), &"1 7 None".into()));
    assert_eq!(counts(&reader), [("unknown words", 2)]);
}

proptest! {
    /// No bytes make the reader panic, and how they are split changes nothing.
    #[test]
    fn any_bytes_are_borne(
        bytes in prop::collection::vec(
            prop_oneof![
                2 => Just(b'\n'),
                1 => Just(b' '),
                1 => prop::sample::select(b":;".to_vec()),
                4 => b'0'..=b'9',
                1 => any::<u8>(),
            ],
            0..600,
        ),
        at in 0usize..600,
        form in prop::sample::select(Form::ALL.to_vec()),
    ) {
        let head: &[u8] = match form {
            Form::Latido => b"latido-samples 1\nseries 0 quantity=a unit=us\n",
            Form::CyclictestV => b"0:0:23\n",
            Form::Csv => b"value_us\n",
            Form::Ndjson => b"{\"value_us\": 1}\n",
            Form::Jitterdebugger => b"0;1.5;3\n",
        };
        let text = [head, bytes.as_slice()].concat();
        let (first, second) = text.split_at(at.min(text.len()));
        let (whole, one) = told(form, &[&text]);
        let (torn, two) = told(form, &[first, second]);
        prop_assert_eq!(whole, torn);
        prop_assert_eq!(counts(&one), counts(&two));
        prop_assert_eq!(one.lines(), two.lines());
    }

    /// The fast path for plain samples and the slow path give the same result.
    #[test]
    fn both_ways_come_to_the_same(
        // The fast path takes numbers of at most 18 digits.
        value in prop_oneof![any::<i64>(), -10_000_000i64..10_000_000],
        end in prop_oneof![any::<u64>(), 0u64..1_000_000_000_000],
        zeros in 0usize..12,
    ) {
        let head = "latido-samples 1\nseries 0 quantity=a unit=us\n";
        let line = format!("0 {value} {}{end}", "0".repeat(zeros));
        let (short, one) = told(Form::Latido, &[format!("{head}{line}\n").as_bytes()]);
        // Two blanks count as one, but a plain sample has only single blanks.
        let (long, two) = told(Form::Latido, &[format!("{head}{}\n", line.replace(' ', "  ")).as_bytes()]);
        let ns = value.checked_mul(1_000).filter(|_| i64::try_from(end).is_ok());
        prop_assert_eq!(short.get(1).cloned(), ns.map(|ns| format!("0 {ns} Some({end})")));
        prop_assert_eq!(short, long);
        prop_assert_eq!(counts(&one), counts(&two));
    }
}
