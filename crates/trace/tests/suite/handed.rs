//! Texts as people pass them on: from real tools in every form (`data/tools`, with what `scripts/traces` read from the same lines), and
//! from bug reports (`data/handed`).

use latido_trace::{
    accounts::Source,
    events::Class,
    pairing::{Definition, Met, Pairing, Why},
    summary::Summary as Waits,
    text::{Input, Reader, Saved, Summary, clean, pair},
};
use std::collections::BTreeMap;

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/texts.rs"));

/// All texts, also those that people passed on.
fn texts() -> BTreeMap<String, Vec<u8>> {
    texts_of(env!("CARGO_MANIFEST_DIR"), &["6.12-rt", "6.1-rt", "form", "handed", "tools"])
}

fn data(name: &str) -> String {
    let text = texts().remove(name).unwrap_or_else(|| panic!("there is no text {name} below tests/data"));
    String::from_utf8(text).unwrap()
}

/// The results of a text: its waits by class (number, sum, longest), the facts of the pairing, and the summary.
fn told(text: &[u8], source: u32) -> (String, Met, Summary) {
    let (mut summary, mut reader) = (Summary::default(), Reader::default());
    reader.push(text, |header, line| {
        if header.source == source {
            summary.take(header, &line);
        }
    });
    summary.lost.finish();
    let (mut waits, mut pairing) = (Waits::default(), Pairing::of(Definition::Waking));
    let (met, _) = pair(Input { text, source, gaps: &summary.lost }, &mut pairing, &mut waits);
    let of = |class: Class| {
        let all = &waits.waits(Why::Woken, class).unwrap().all;
        (all.count() > 0).then(|| format!("{} {} {} {}", class.name(), all.count(), all.sum(), all.max().unwrap()))
    };
    let mut waits: Vec<String> = Class::ALL.into_iter().filter_map(of).collect();
    waits.sort();
    (waits.join(";"), met, summary)
}

/// The same text as mails, terminals and other systems change it.
fn forms(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let each = |change: &dyn Fn(&str) -> String| text.lines().map(change).collect::<String>();
    let utf16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        ("as it is", text.into()),
        ("CR LF", each(&|line| format!("{line}\r\n")).into()),
        ("a mark of byte order", format!("\u{feff}{text}").into()),
        ("UTF-16", clean::decoded(&utf16).into_owned()),
        ("quoted", each(&|line| format!("> {line}\n")).into()),
        ("quoted by two", each(&|line| format!(">> {line}\n")).into()),
        ("indented", each(&|line| format!("    {line}\n")).into()),
        ("coloured", each(&|line| format!("\x1b[1;32m{line}\x1b[0m\x1b[K\n")).into()),
        ("of a web page", each(&|line| format!("{}\n", line.replace("  ", "\u{a0} "))).into()),
        ("behind an input's name", each(&|line| prefixed("board.dat", line)).into()),
    ]
}

/// A line as a report of several inputs prints it; headers have no prefix.
fn prefixed(input: &str, line: &str) -> String {
    if line.starts_with('#') { format!("{line}\n") } else { format!("{input}: {line}\n") }
}

/// A hundred texts of trace-cmd and of tracefs, in every form: latido finds the waits that another program found in the same lines, none
/// across a loss, and the losses that the lines state.
#[test]
fn texts_of_the_tools_tell_the_same_in_every_form() {
    let right = include_str!("../data/tools-right.tsv");
    let texts = texts();
    assert_eq!(right.lines().count(), 100);
    for row in right.lines() {
        let [name, waits, lost, uncounted, gaps] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        for (form, text) in forms(std::str::from_utf8(&texts[&format!("tools/{name}")]).unwrap()) {
            // A count in a header belongs to no input.
            if form == "behind an input's name" && name.starts_with("trace") {
                continue;
            }
            let source = u32::from(form == "behind an input's name");
            let (found, met, summary) = told(&text, source);
            assert_eq!(found, waits, "{name}, {form}");
            let accounts = &met.said;
            let lines: u64 =
                accounts.said().filter(|(of, ..)| *of == Source::Lines).map(|(_, _, said)| said.times).sum();
            if source == 0 {
                let counted = (accounts.events().to_string(), accounts.uncounted().to_string());
                assert_eq!(counted, (lost.to_owned(), uncounted.to_owned()), "{name}, {form}");
            }
            assert_eq!(lines.to_string(), gaps, "{name}, {form}");
            assert_eq!((summary.others, summary.first_other), (0, None), "{name}, {form}");
        }
    }
}

/// `perf script` prints the same events: latido pairs them like those of tracefs, in every form, and makes no pair across what perf lost.
/// There a thread that has ended has no number.
#[test]
fn the_text_of_perf_is_paired() {
    let text = "\
            perf 31906 [000] 1.000010: sched:sched_waking: comm=ctl pid=7 prio=19 target_cpu=001
         swapper     0 [001] 1.000040: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=ctl next_pid=7 next_prio=19
             ctl     7 [001] 1.000050: sched:sched_switch: prev_comm=ctl prev_pid=7 prev_prio=19 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
             :-1    -1 [000] 1.000060: sched:sched_waking: comm=ctl pid=7 prio=19 target_cpu=001
         swapper     0 [001] 1.000065: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=ctl next_pid=7 next_prio=19
             ctl     7 [001] 1.000070: sched:sched_switch: prev_comm=ctl prev_pid=7 prev_prio=19 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
            perf 31906 [000] 1.000080: sched:sched_waking: comm=ctl pid=7 prio=19 target_cpu=001
            perf 31906 [001] 1.000085: PERF_RECORD_LOST lost 4
         swapper     0 [001] 1.000090: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=ctl next_pid=7 next_prio=19
";
    // perf does not name an input.
    for (form, text) in forms(text).into_iter().filter(|(form, _)| *form != "behind an input's name") {
        let (waits, met, summary) = told(&text, 0);
        assert_eq!(waits, "real-time 2 35000 30000", "{form}");
        assert_eq!((met.unpaired.voided, met.said.events(), summary.others), (1, 4, 0), "{form}");
    }
}

/// Two machines whose threads have the same numbers: latido pairs each input separately, also for events after a loss, which the report
/// prints without their input.
#[test]
fn inputs_of_a_report_do_not_meet() {
    let text = "\
a.dat: cpus=2
b.dat: cpus=2
a.dat:           <idle>-0     [001]  1.000010: sched_waking:         comm=ctl pid=7 prio=19 target_cpu=001
b.dat:           <idle>-0     [001]  1.000020: sched_switch:         swapper/1:0 [120] R ==> ctl:7 [19]
a.dat:           <idle>-0     [001]  1.000040: sched_switch:         swapper/1:0 [120] R ==> ctl:7 [19]
b.dat:              ctl-7     [001]  1.000050: sched_switch:         ctl:7 [19] S ==> swapper/1:0 [120]
b.dat:           <idle>-0     [000]  1.000060: sched_waking:         comm=ctl pid=7 prio=19 target_cpu=001
b.dat: CPU:1 [3 EVENTS DROPPED]
           <idle>-0     [001]  1.000090: sched_switch:         swapper/1:0 [120] R ==> ctl:7 [19]
a.dat:              ctl-7     [001]  1.000095: sched_switch:         ctl:7 [19] S ==> swapper/1:0 [120]
a.dat:           <idle>-0     [000]  1.000100: sched_waking:         comm=ctl pid=7 prio=19 target_cpu=001
a.dat:           <idle>-0     [001]  1.000105: sched_switch:         swapper/1:0 [120] R ==> ctl:7 [19]
";
    let (_, reader) = Summary::of(text.as_bytes());
    assert_eq!((reader.sources(), reader.seen().unknown), (&["", "a.dat", "b.dat"].map(String::from)[..], 0));
    let (a, met, _) = told(text.as_bytes(), 1);
    assert_eq!((a.as_str(), met.said.any()), ("real-time 2 35000 30000", false));
    let (b, met, _) = told(text.as_bytes(), 2);
    assert_eq!((b.as_str(), met.unpaired.voided, met.said.events()), ("", 1, 3));
    // A name with a colon, after blanks, is the name of a task and not of an input.
    let (_, reader) = Summary::of(b"       odd: name-7     [001]  1.000010: sched_waking: comm=x pid=7 prio=19\n");
    assert_eq!(reader.sources().len(), 1);
}

/// latido makes no pair across a stated loss, whatever states it, and makes the pair after it.
#[test]
fn no_pair_is_made_over_a_stated_loss() {
    let woken = "<idle>-0 [000] 1.000010: sched_waking: comm=c pid=7 prio=19 target_cpu=001\n";
    let came = "<idle>-0 [001] 1.000050: sched_switch: swapper/1:0 [120] R ==> c:7 [19]\n";
    let left = "c-7 [001] 1.000060: sched_switch: c:7 [19] S ==> swapper/1:0 [120]\n";
    let again = "<idle>-0 [000] 1.000070: sched_waking: comm=c pid=7 prio=19 target_cpu=001\n\
                 <idle>-0 [001] 1.000075: sched_switch: swapper/1:0 [120] R ==> c:7 [19]\n";
    let latency = |line: &str| {
        line.replace(" [00", " ")
            .replace("] 1.0000", "d.h2. 1.0000")
            .replace("1.0000", "")
            .replace(": sched", "us : sched")
    };
    for (what, loss) in [
        ("tracefs", "CPU:1 [LOST 5 EVENTS]\n"),
        ("tracefs, not counted", "CPU:1 [LOST EVENTS]\n"),
        ("a report", "CPU:1 [5 EVENTS DROPPED]\n"),
        ("a report, not counted", "CPU:1 [EVENTS DROPPED]\n"),
        ("the start of a buffer", "##### CPU 1 buffer started ####\n"),
    ] {
        let text = [woken, loss, came, left, again].concat();
        let (waits, met, _) = told(text.as_bytes(), 0);
        assert_eq!((waits.as_str(), met.unpaired.voided), ("real-time 1 5000 5000", 1), "{what}");
        assert!(met.said.any() && met.said.none_by().is_none(), "{what}");
        let text = [&latency(woken), loss, &latency(came), &latency(left), &latency(again)].concat();
        let (waits, met, summary) = told(text.as_bytes(), 0);
        assert_eq!((summary.events.values().sum::<u64>(), met.events), (5, 5), "{text}");
        assert_eq!((waits.as_str(), met.unpaired.voided), ("real-time 1 5000 5000", 1), "latency format, {what}");
        let (waits, _, _) = told([woken, came, left, again].concat().as_bytes(), 0);
        assert_eq!(waits, "real-time 2 45000 40000");
    }
    // A wait on another CPU within the lost time, although its end comes before the line.
    let text =
        [left, woken, &came.replace("[001]", "[000]"), "CPU:1 [LOST 5 EVENTS]\n", &left.replace("60:", "80:")].concat();
    let (waits, met, _) = told(text.replace("1.000060", "1.000005").as_bytes(), 0);
    assert_eq!((waits.as_str(), met.unpaired.voided), ("", 1));
    // The header counts more events than there are: those that a CPU wrote before its first event are missing.
    let header = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 5/9   #P:2\n";
    let (waits, met, _) = told([header, woken, came, left, again].concat().as_bytes(), 0);
    assert_eq!((waits.as_str(), met.said.events()), ("real-time 1 5000 5000", 4));
    // At the end, where no event of the CPU follows.
    let (waits, met, _) = told([woken, came, left, again, "CPU:2 [LOST 12 EVENTS]\n"].concat().as_bytes(), 0);
    assert_eq!((waits.as_str(), met.said.events(), met.over_cpu), ("", 12, Some(2)));
    let (waits, met, _) = told([woken, came, left, again, "CPU:1 [LOST 12 EVENTS]\n"].concat().as_bytes(), 0);
    assert_eq!((waits.as_str(), met.said.events()), ("real-time 2 45000 40000", 12));
    // Counted at the end of the recording: nothing says where the events are missing.
    let (waits, met, _) = told([woken, came, left, again, "CPU 1: 7 events lost\n"].concat().as_bytes(), 0);
    assert_eq!((waits.as_str(), met.said.events(), met.said.unplaced()), ("", 7, vec![1]));
}

/// In a call graph a loss ends the open calls on its CPU: the end of a call gets no name from before the loss.
#[test]
fn a_call_over_a_loss_has_no_name() {
    let graph = |loss: &str, cpu: &str| {
        format!("{cpu}             |  outer() {{\n{loss}{cpu} + 11.0 us     |  }}\n{cpu}   0.1 us      |  leaf();\n")
    };
    for cpu in [" 1)", ""] {
        let header = if cpu.is_empty() { "# tracer: function_graph\n#\n#  DURATION     FUNCTION CALLS\n" } else { "" };
        let of = |loss: &str| {
            let text = format!("{header}{}", graph(loss, cpu));
            let (summary, reader) = Summary::of(text.as_bytes());
            assert_eq!(reader.seen().unknown, 0, "{text}");
            (summary.durations.functions.len(), summary.durations.unnamed.count, summary.lost.accounts().events())
        };
        assert_eq!(of(""), (2, 0, 0), "{cpu}");
        assert_eq!(of("CPU:1 [LOST 4 EVENTS]\n"), (1, 1, 4), "{cpu}");
    }
}

/// Without a header latido takes the columns of a graph from its lines.
#[test]
fn a_graph_without_a_header_is_one() {
    for name in ["graph", "graph-time-task", "graph-latency"] {
        let text = data(&format!("6.12-rt/{name}"));
        let (whole, _) = Summary::of(text.as_bytes());
        let body: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let (tail, reader) = Summary::of(body.as_bytes());
        assert_eq!(reader.seen().unknown, 0, "{name}: {:?}", reader.seen().first_unknown);
        assert_eq!(tail.durations.functions, whole.durations.functions, "{name}");
    }
}

/// The tail of each tracer's text gives all samples that it contains.
#[test]
fn the_tail_of_a_text_tells_what_it_has() {
    for name in ["6.12-rt/timerlat", "6.12-rt/osnoise", "6.12-rt/hwlat", "6.12-rt/function", "form/hwlat-nmi"] {
        let text = data(name);
        let (whole, _) = Summary::of(text.as_bytes());
        let body: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let (tail, reader) = Summary::of(body.as_bytes());
        let items = |of: &Summary| (of.timerlat.clone(), of.osnoise.clone(), of.hwlat.clone(), of.calls, of.others);
        assert_eq!((items(&tail), reader.seen().unknown), (items(&whole), 0), "{name}");
    }
}

/// latido rejoins lines that a mailer broke, and joins no others.
#[test]
fn broken_lines_are_joined_where_their_end_is_known() {
    let (gaps, reader) = Summary::of(data("handed/hwlat-wrapped").as_bytes());
    let seen = reader.seen();
    assert_eq!((seen.unknown, seen.joined, seen.first_unknown.clone()), (0, 3, None));
    let told = gaps.hwlat.items.iter().map(|one| (one.value.inner_us, one.value.outer_us, one.value.nmi_us));
    assert_eq!(told.collect::<Vec<_>>(), [(41, 41, None), (40, 40, Some(4)), (41, 45, None)]);
    let (_, reader) = Summary::of(data("handed/mail-quoted").as_bytes());
    assert_eq!((reader.header().cpus, reader.seen().joined), (Some(512), 1));

    let switch = "sh-1 [001] 1.000030: sched_switch: prev_comm=a prev_pid=1 prev_prio=120\n";
    let rest = "prev_state=R ==> next_comm=b\nnext_pid=2 next_prio=98\n";
    let (whole, reader) = Summary::of(format!("{switch}{rest}").as_bytes());
    assert_eq!((whole.events["sched_switch"], reader.seen().unknown, reader.seen().joined), (1, 0, 2));
    // The next event is not the rest of this one, and neither is prose.
    for other in ["sh-1 [001] 1.000040: softirq_raise: vec=1\n", "and so on\n"] {
        let (parts, reader) = Summary::of(format!("{switch}{other}").as_bytes());
        assert!(!parts.events.contains_key("sched_switch") && reader.seen().joined == 0, "{other}");
        assert_eq!(reader.seen().first_unknown.as_ref().map(|(line, _)| *line), Some(1), "{other}");
    }
}

/// Headers as kernels and people leave them.
#[test]
fn headers_are_read_with_what_they_have() {
    let (summary, reader) = Summary::of(data("handed/latency-header-without-P").as_bytes());
    let one = &summary.snapshots.items[0];
    let latency = &one.latency;
    assert_eq!((one.tracer.as_str(), latency.us, latency.cpu, latency.priority), ("wakeup_rt", 2000, 0, 50));
    assert_eq!((latency.task.as_str(), latency.pid), ("irq/100-enet-fe", 118));
    assert_eq!((reader.header().cpus, one.woken.as_ref().map(|turn| turn.from.0)), (None, Some(11)));
    let (summary, _) = Summary::of(data("handed/latency-trace-without-tracer-line").as_bytes());
    let one = &summary.snapshots.items[0];
    assert_eq!(
        (one.tracer.as_str(), one.latency.us, one.release.as_deref()),
        ("irqsoff", 8111, Some("6.14.0-next-20250403"))
    );
    // Two of them in a row are two snapshots.
    let two = data("handed/latency-trace-without-tracer-line").repeat(2);
    assert_eq!(Summary::of(two.as_bytes()).0.snapshots.items.len(), 2);
    let (summary, reader) = Summary::of(data("handed/trace-cmd-report-empty-cpus").as_bytes());
    assert_eq!((reader.seen().unknown, summary.events["sched_switch"]), (0, 2));
}

/// The kernel names the value for which it took a snapshot, and the row.
#[test]
fn a_snapshot_belongs_to_its_row() {
    let text = b"# event histogram\n#\n# trigger info: hist:keys=next_pid:vals=hitcount:onmax($lat).snapshot() [active]\n#\n\n\
        { next_pid:       2101 } hitcount:        200\n{ next_pid:       2102 } hitcount:       1326\n\n\
        Snapshot taken (see tracing/snapshot).  Details:\n\ttriggering value { onmax($lat) }:        572\n\
        \ttriggered by event with key: { next_pid:       2102 }\n\nTotals:\n    Hits: 1526\n";
    let (summary, reader) = Summary::of(text);
    let wanted = Saved { row: 1, name: "snapshot at onmax($lat)".into(), value: 572, rest: String::new() };
    assert_eq!((summary.saved.items, reader.seen().unknown), (vec![wanted], 0));
}

/// The kernel's counts of a ring, pasted after its events, account for losses like those in a file.
#[test]
fn the_counts_of_a_ring_are_read() {
    let event = "sh-1 [000] 1.000020: sched_waking: comm=a pid=12 prio=98 target_cpu=001\n";
    let counts = |overrun, dropped| {
        format!(
            "{event}CPU: 0\nentries: 0\noverrun: {overrun}\ncommit overrun: 0\nbytes: 5232\n\
             oldest event ts: 31327.245900\nnow ts: 76885.106165\ndropped events: {dropped}\nread events: 9\n"
        )
    };
    let (summary, reader) = Summary::of(counts(7, 2).as_bytes());
    let accounts = summary.lost.accounts();
    assert_eq!((accounts.events(), accounts.unplaced(), reader.seen().unknown), (9, vec![0], 0));
    let (summary, _) = Summary::of(counts(0, 0).as_bytes());
    assert_eq!(summary.lost.accounts().none_by(), Some(Source::Statistics));
}
