use super::*;
use crate::{file::Trace, merge::Merge, page::Event};
use proptest::prelude::*;

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

const FORMAT: &str = "name: sched_tick\nID: 7\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:int pid;\toffset:4;\tsize:4;\tsigned:1;\n\nprint fmt: \"pid=%d\", REC->pid\n";

pub(super) fn contents(endian: Endian) -> Contents<'static> {
    Contents {
        endian,
        long: 8,
        page: 4096,
        header_page: HEADER_PAGE.into(),
        header_event: "# compressed entry header\n".into(),
        ftrace: vec![FORMAT.replace("sched_tick", "print").replace("ID: 7", "ID: 5").into()],
        systems: vec![("sched".into(), vec![FORMAT.into()])],
        kallsyms: "ffffffff81000000 T _stext\n".into(),
        printk: "".into(),
        comms: "12 a task: with a colon\n".into(),
        clock: "mono".into(),
        uname: "Linux board 6.12.0 aarch64".into(),
        recorder: "latido".into(),
        cpus: 4,
        statistics: vec!["CPU: 0\nentries: 0\n".into(), "CPU: 2\noverrun: 9\n".into()],
        sub_buffer: 4096,
    }
}

/// Builds a page with one event per time; the low half of the time is the event's pid.
fn page(endian: Endian, times: &[u64]) -> Vec<u8> {
    let mut out = Bytes { bytes: Vec::new(), endian };
    let first = times.first().copied().unwrap_or(0);
    out.number(first, 8);
    out.number(12 * times.len() as u64, 8);
    let mut last = first;
    for time in times {
        let (delta, kind) = (time - last, 2);
        last = *time;
        let head = match endian {
            Endian::Little => kind | delta << 5,
            Endian::Big => kind << 27 | delta,
        };
        out.number(head, 4);
        out.number(7, 2);
        out.number(0, 2);
        out.number(*time & 0xffff_ffff, 4);
    }
    out.bytes.resize(4096, 0);
    out.bytes
}

#[test]
fn what_is_written_is_read_again_in_both_orders() {
    for endian in [Endian::Little, Endian::Big] {
        let contents = contents(endian);
        let of_cpu = [(0, [page(endian, &[10, 40]), page(endian, &[1_000])].concat()), (2, page(endian, &[20, 30]))];
        let rings = of_cpu.iter().map(|(cpu, bytes)| Ring { cpu: *cpu, length: bytes.len() as u64, pages: &bytes[..] });
        let mut file = Vec::new();
        let length = contents.write(&mut file, rings.collect()).unwrap();
        assert_eq!(length, file.len() as u64);
        let trace = Trace::open(&file).unwrap();
        assert_eq!((trace.version, trace.endian, trace.lost.count()), (7, endian, 0), "{:?}", trace.lost);
        let formats: Vec<_> = trace.formats.iter().map(|one| (one.system.as_str(), one.format.name.as_str())).collect();
        assert_eq!(formats, [("ftrace", "print"), ("sched", "sched_tick")]);
        assert_eq!(trace.comms, [(12, "a task: with a colon".to_owned())]);
        let options = &trace.options;
        assert_eq!((options.clock.as_deref(), options.recorder.as_deref()), (Some("mono"), Some("latido")));
        assert_eq!(options.uname.as_deref(), Some("Linux board 6.12.0 aarch64"));
        assert_eq!(options.statistics, ["CPU: 0\nentries: 0", "CPU: 2\noverrun: 9"]);
        let [buffer] = &trace.buffers[..] else { panic!("{:?}", trace.buffers) };
        assert_eq!((buffer.name.as_str(), buffer.clock.as_deref(), buffer.page), ("", Some("mono"), 4096));
        assert!(buffer.cpus.iter().all(|data| data.at % 4096 == 0), "readers map pages");
        let pid = trace.format("sched_tick").unwrap().number("pid", endian).unwrap();
        let mut merge = Merge::of(&trace, buffer);
        let mut seen = Vec::new();
        merge.each(&mut |cpu: u32, event: Event<'_>| seen.push((cpu, event.time, pid.of(event.data))));
        let expected =
            [(0, 10), (2, 20), (2, 30), (0, 40), (0, 1_000)].map(|(cpu, time)| (cpu, time, Some(time as i64)));
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_ring_that_gives_less_than_it_said_is_an_error() {
    let ring = Ring { cpu: 3, length: 4096, pages: &[0u8; 100][..] };
    let error = contents(Endian::Little).write(&mut Vec::new(), vec![ring]).unwrap_err();
    assert!(error.to_string().contains("CPU 3: latido copied 100 of 4096"), "{error}");
}

proptest! {
    /// Whatever the lengths of texts and rings, every part must be where the options say.
    #[test]
    fn every_part_is_found(
        texts in prop::collection::vec("[ -~]{0,40}", 4),
        pages in prop::collection::vec(0usize..4, 0..5),
        statistics in prop::collection::vec("[ -~]{1,30}", 0..4),
    ) {
        let trimmed = |text: &str| format!("x{}x", text);
        let contents = Contents {
            clock: "mono".into(),
            uname: trimmed(&texts[0]).into(),
            recorder: trimmed(&texts[1]).into(),
            kallsyms: texts[2].clone().into(),
            printk: texts[3].clone().into(),
            statistics: statistics.iter().map(|text| trimmed(text).into()).collect(),
            ..contents(Endian::Little)
        };
        let bytes: Vec<Vec<u8>> = pages.iter().map(|count| page(Endian::Little, &[5, 6]).repeat(*count)).collect();
        let rings = bytes.iter().zip(0..).map(|(bytes, cpu)| Ring { cpu, length: bytes.len() as u64, pages: &bytes[..] });
        let mut file = Vec::new();
        contents.write(&mut file, rings.collect()).unwrap();
        let trace = Trace::open(&file).unwrap();
        prop_assert!(trace.lost.is_empty(), "{:?}", trace.lost);
        prop_assert_eq!(trace.options.uname.as_deref(), Some(&*contents.uname));
        prop_assert_eq!(trace.options.recorder.as_deref(), Some(&*contents.recorder));
        prop_assert_eq!(&trace.options.statistics, &contents.statistics);
        let buffer = &trace.buffers[0];
        // A CPU that wrote nothing has no pages.
        let found: Vec<(u32, &[u8])> = buffer.cpus.iter().map(|data| (data.cpu, data.bytes)).collect();
        let given: Vec<(u32, &[u8])> = (0..).zip(bytes.iter().map(Vec::as_slice)).filter(|(_, b)| !b.is_empty()).collect();
        prop_assert_eq!(found, given);
    }
}
