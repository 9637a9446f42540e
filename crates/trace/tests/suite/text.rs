//! latido reads from the texts of tracers under `data/` (its README says where each is from) what a person reads in them: each figure here
//! was read in the text by eye or counted by `grep`.

use latido_trace::accounts::Source;
use latido_trace::text::{
    Bin, Body, Call, Context, Flag, Form, Graph, GraphColumn, Header, Key, Line, Mark, Osnoise, Party, Reader, Summary,
    Time, Timerlat, Total, Turn, Value,
};
use std::collections::BTreeMap;

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/texts.rs"));

fn data(name: &str) -> Vec<u8> {
    let found = texts_below(env!("CARGO_MANIFEST_DIR")).remove(name);
    found.unwrap_or_else(|| panic!("there is no text {name} below tests/data"))
}

/// Passes every line of a text to `see`.
fn read(name: &str, mut see: impl FnMut(&Header, Line<'_>)) -> Reader {
    let mut reader = Reader::default();
    reader.push(&data(name), |header, line| see(header, line));
    reader
}

/// The number of lines of each kind, without drawings and empty lines.
fn kinds(name: &str) -> String {
    let mut counts = BTreeMap::<&str, u64>::new();
    read(name, |_, line| {
        let kind = match line {
            Line::Header => return,
            Line::Event(event) => match event.body {
                Body::Named { .. } => "event",
                Body::Function { .. } => "function",
                Body::Stack => "stack",
                Body::Timerlat(_) => "timerlat",
                Body::Osnoise(_) => "osnoise",
                Body::Hwlat(_) => "hwlat",
                Body::Turn(_) => "turn",
                Body::Call { .. } => "call",
                Body::Other(_) => "other",
            },
            Line::Graph(_) => "graph",
            Line::Switch { .. } => "switch",
            Line::Stack(_) => "frame",
            Line::Lost { .. } => "lost",
            Line::Started { .. } => "started",
            Line::Counted { .. } | Line::Statistic { .. } => "counted",
            Line::Begun => "begun",
            Line::Bin(_) => "bin",
            Line::Key => "key",
            Line::Saved { .. } | Line::Taken(_) => "saved",
            Line::Total(_) => "total",
            Line::Unknown(_) => "unknown",
        };
        *counts.entry(kind).or_default() += 1;
    });
    counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

/// latido recognises each line of each text: none is left out, and only undecidable lines are unknown.
#[test]
fn every_line_is_told() {
    let texts = [
        ("6.12-rt/events", "38 event"),
        ("6.12-rt/events-counter", "12 event"),
        ("6.12-rt/events-latency", "22 event"),
        ("6.12-rt/events-no-context", "6 unknown"),
        ("6.12-rt/events-no-flags", "14 event"),
        ("6.12-rt/events-odd-names", "18 event"),
        ("6.12-rt/events-stack", "4 event, 30 frame, 4 stack"),
        ("6.12-rt/events-tgid", "18 event"),
        ("6.12-rt/events-tsc", "12 event"),
        ("6.12-rt/events-verbose", "16 event"),
        ("6.12-rt/function", "18 function"),
        ("6.12-rt/graph", "86 graph"),
        ("6.12-rt/graph-latency", "29 graph"),
        ("6.12-rt/graph-no-cpu", "26 graph"),
        ("6.12-rt/graph-no-duration", "26 graph"),
        ("6.12-rt/graph-switch", "77 graph, 1 switch"),
        ("6.12-rt/graph-time-task", "36 graph"),
        ("6.12-rt/hist-buckets", "9 bin, 4 total"),
        ("6.12-rt/hist-cpu", "10 bin, 4 total"),
        ("6.12-rt/hist-execname", "7 bin, 4 total"),
        ("6.12-rt/hist-execname2", "10 bin, 4 total"),
        ("6.12-rt/hist-log2", "8 bin, 4 total"),
        ("6.12-rt/hist-named", "4 total"),
        ("6.12-rt/hist-nohit", "13 bin, 4 total"),
        ("6.12-rt/hist-percent", "13 bin, 4 total"),
        ("6.12-rt/hist-pid", "10 bin, 4 total"),
        ("6.12-rt/hist-plain", "18 bin, 4 total"),
        ("6.12-rt/hist-stack", "2 bin, 32 key, 4 total"),
        ("6.12-rt/hist-two", "20 bin, 4 total"),
        ("6.12-rt/hwlat", "5 hwlat"),
        ("6.12-rt/osnoise", "11 osnoise"),
        ("6.12-rt/pipe-lost", "5 call, 16 event, 2 lost"),
        ("6.12-rt/timerlat", "47 timerlat"),
        ("6.12-rt/timerlat-stack", "1 event, 15 frame, 1 stack, 2 timerlat"),
        ("6.12-rt/wakeup", "41 frame, 2 other, 2 stack, 2 turn"),
        ("6.12-rt/wakeup_dl", ""),
        ("6.12-rt/wakeup_rt", "35 frame, 2 other, 2 stack, 2 turn"),
        ("6.12-rt/wakeup_rt-function", "24 frame, 25 function, 1 other, 1 stack, 1 turn"),
        ("6.12-rt/wakeup_rt-graph", "24 frame, 19 graph, 1 stack"),
        ("6.1-rt/events", "26 event"),
        ("6.1-rt/events-latency", "20 event"),
        ("6.1-rt/events-tgid", "10 event"),
        ("6.1-rt/function", "14 function"),
        ("6.1-rt/graph", "56 graph"),
        ("6.1-rt/graph-latency", "14 graph"),
        ("6.1-rt/hist-onmax", "14 bin, 14 saved, 4 total"),
        ("6.1-rt/hist-plain", "17 bin, 4 total"),
        ("6.1-rt/hist-stack", "1 bin, 24 key"),
        ("6.1-rt/hist-synthetic", "14 bin, 4 total"),
        ("6.1-rt/hwlat", "5 hwlat"),
        ("6.1-rt/osnoise", "16 osnoise"),
        ("6.1-rt/wakeup_rt", "29 frame, 2 other, 2 stack, 2 turn"),
        ("form/events-4.14", "3 event, 2 lost, 1 started, 1 unknown"),
        ("form/graph-interrupt", "10 graph"),
        ("form/hist-odd-names", "1 bin, 4 total"),
        ("form/hwlat-nmi", "2 hwlat"),
        ("form/irqsoff", "2 frame, 1 function, 2 other, 1 stack"),
        ("form/osnoise-5.14", "2 osnoise"),
        ("form/preemptirqsoff", "1 frame, 3 function, 1 stack"),
        ("form/preemptoff", "2 frame, 1 function, 2 other, 1 stack"),
        ("form/timerlat-user", "5 timerlat"),
    ];
    for (name, kinds_) in texts {
        assert_eq!(kinds(name), kinds_, "{name}");
    }
    assert_eq!(texts_below(env!("CARGO_MANIFEST_DIR")).len(), texts.len());
}

/// The header of a latency: task, length, first and last function; and the header of each of several texts in a row.
#[test]
fn latencies_have_their_functions() {
    let mut all = data("form/irqsoff");
    for name in
        ["form/preemptoff", "form/preemptirqsoff", "6.12-rt/wakeup", "6.1-rt/wakeup_rt", "6.12-rt/events-latency"]
    {
        all.extend(data(name));
    }
    let (summary, reader) = Summary::of(&all);
    let told = summary.snapshots.items.iter().map(|one| {
        let latency = &one.latency;
        let place = (latency.started.as_deref(), latency.ended.as_deref());
        (one.tracer.as_str(), latency.us, latency.cpu, latency.task.as_str(), latency.pid, latency.priority, place)
    });
    let told = told.collect::<Vec<_>>();
    assert_eq!(
        told,
        [
            (
                "irqsoff",
                187,
                3,
                "my-task 2",
                4711,
                80,
                (Some("_raw_spin_lock_irqsave"), Some("_raw_spin_unlock_irqrestore"))
            ),
            ("preemptoff", 46, 1, "my-task 2", 4711, 80, (Some("irq_enter"), Some("irq_exit"))),
            ("preemptirqsoff", 10_382_682, 128, "reader", 2_701_523, 0, (Some("take_lock"), Some("drop_lock"))),
            ("wakeup", 64_502, 0, "rcuc/0", 22, 1, (None, None)),
            ("wakeup_rt", 30_278, 1, "ktimers/1", 28, 1, (None, None)),
        ]
    );
    let last = reader.header();
    assert_eq!((last.ordinal, last.release.as_deref()), (6, Some("6.12.117+deb12-rt-amd64")));
    let irqsoff = &summary.snapshots.items[0].latency;
    assert_eq!((irqsoff.nice, irqsoff.policy, irqsoff.model.as_str()), (-5, 1, "preempt"));
    assert_eq!((last.entries, last.written, last.cpus), (Some(3742), Some(3742), Some(2)));
}

/// The header's drawing decides the meaning of each letter, on kernels with four, five and seven letters, with and without the CPU in
/// front.
#[test]
fn flags_are_as_drawn() {
    let first = |name: &str| {
        let mut first = None;
        let reader = read(name, |_, line| match line {
            Line::Event(event) if first.is_none() => first = event.flags.map(str::to_owned),
            Line::Graph(graph) if first.is_none() => first = graph.flags.map(str::to_owned),
            _ => {}
        });
        let columns = reader.header().columns.clone();
        let first = first.unwrap_or_default();
        let flag = |flag: Flag| columns.flag(&first, &flag).unwrap_or('?');
        let all = [Flag::IrqsOff, Flag::NeedResched, Flag::NeedReschedLazy, Flag::Interrupt, Flag::PreemptDepth];
        let all = all.into_iter().chain([Flag::PreemptLazyDepth, Flag::MigrateDisable]);
        (columns.flags.len(), all.map(flag).collect::<String>())
    };
    assert_eq!(first("6.12-rt/events"), (5, "d.?.2?.".into()));
    assert_eq!(first("6.12-rt/wakeup"), (5, "dN?h6?2".into()));
    assert_eq!(first("6.1-rt/events"), (7, "d...2..".into()));
    assert_eq!(first("6.1-rt/wakeup_rt"), (7, "dn.h5..".into()));
    assert_eq!(first("form/events-4.14"), (4, "d.?.3??".into()));
    assert_eq!(first("form/preemptirqsoff"), (5, "..?.1?.".into()));
    // The drawing has seven letters and the lines five; the drawing has four and the lines five.
    assert_eq!(first("6.12-rt/timerlat"), (7, "d.?h1?.".into()));
    assert_eq!(first("6.12-rt/graph-latency"), (4, ".n?.1?.".into()));
    // The drawing has four letters and the lines seven: the meaning is unknown.
    assert_eq!(first("6.1-rt/graph-latency"), (4, "???????".into()));
    assert_eq!(first("6.12-rt/events-no-flags"), (0, "???????".into()));
}

/// Names with dashes, spaces and brackets; processes; clocks; marks.
#[test]
fn events_have_their_task_and_time() {
    let firsts = |name: &str| {
        let mut all = Vec::new();
        read(name, |_, line| {
            if let Line::Event(event) = line {
                all.push((event.task.to_owned(), event.pid.unwrap(), event.tgid, event.cpu, event.time, event.mark));
            }
        });
        all
    };
    let ms = |us: u64| us * 1000;
    let odd = firsts("6.12-rt/events-odd-names");
    assert_eq!(odd[4], ("odd name-7 [1]".into(), 323, None, 1, Time::Clock(ms(45_399_455)), None));
    let tgid = firsts("6.12-rt/events-tgid");
    assert_eq!(tgid[0], ("sh".into(), 187, Some(187), 1, Time::Clock(ms(33_526_799)), None));
    assert_eq!((tgid[2].0.as_str(), tgid[2].2), ("<idle>", None));
    assert_eq!(firsts("6.12-rt/events-counter")[0].4, Time::Count(3));
    assert_eq!(firsts("6.12-rt/events-tsc")[0].4, Time::Count(125_549_481_198));
    let verbose = firsts("6.12-rt/events-verbose");
    assert_eq!(verbose[4], ("sh".into(), 187, None, 0, Time::SinceFirst(ms(151_352)), None));
    let latency = firsts("6.12-rt/events-latency");
    assert_eq!(latency[1], ("ksoftirq".into(), 34, None, 1, Time::SinceFirst(ms(133_417)), Some(Mark::Over10Ms)));
    let far = firsts("form/preemptirqsoff");
    assert_eq!(far[0], ("reader".into(), 2_701_523, None, 128, Time::SinceFirst(0), Some(Mark::Over1S)));
    assert_eq!(far[1].5, None);
    assert_eq!(firsts("form/events-4.14")[2].0, "a-b");
}

/// The figures of the noise tracers: first, last, and the tallies by CPU and context.
#[test]
fn noise_is_in_figures() {
    let (summary, _) = Summary::of(&data("6.12-rt/timerlat"));
    let (first, last) = (summary.timerlat.items[0], summary.timerlat.items[46]);
    assert_eq!((first.cpu, first.time), (0, Time::Clock(158_953_252_000)));
    assert_eq!(first.value, Timerlat { activation: 1, context: Context::Irq, latency_ns: 1_067_521 });
    assert_eq!((last.cpu, last.value.activation, last.value.latency_ns), (1, 12, 56_631));
    assert_eq!(summary.timerlat_tallies.values().map(|tally| tally.count).sum::<u64>(), 47);
    let thread = summary.timerlat_tallies[&(1, Context::Thread)];
    assert_eq!((thread.count, thread.most), (11, 22_723_473));

    let (user, reader) = Summary::of(&data("form/timerlat-user"));
    assert_eq!(user.timerlat.items[2].value.context, Context::UserReturn);
    assert_eq!((user.timerlat.items[2].value.latency_ns, reader.header().tainted), (13_244, false));

    let (noise, reader) = Summary::of(&data("form/osnoise-5.14"));
    let (runtime_us, noise_us, available_e5, longest_us) = (Some(1_000_000), 656, Some(9_993_440), 74);
    let (hardware, nmi, irq, softirq, thread) = (23, 0, 1006, 16, 3);
    let wanted = Osnoise { runtime_us, noise_us, available_e5, longest_us, hardware, nmi, irq, softirq, thread };
    assert_eq!((noise.osnoise.items[1].cpu, noise.osnoise.items[1].value), (1, wanted));
    assert!(reader.header().tainted);
    let (noise, _) = Summary::of(&data("6.12-rt/osnoise"));
    let last = noise.osnoise.items[10];
    assert_eq!((last.value.noise_us, last.value.available_e5, last.value.thread), (902_197, Some(1_105_768), 7));

    let (gaps, _) = Summary::of(&data("6.12-rt/hwlat"));
    let last = gaps.hwlat.items[4].value;
    assert_eq!((last.sample, last.inner_us, last.outer_us, last.count), (5, 40_093, 28_163, Some(92)));
    let (gaps, _) = Summary::of(&data("form/hwlat-nmi"));
    let (before, after) = (gaps.hwlat.items[0].value, gaps.hwlat.items[1].value);
    assert_eq!((before.count, before.nmi_us), (None, None));
    assert_eq!((after.at_ns, after.nmi_us, after.nmi_count), (1_581_527_683_385_002_600, Some(5), Some(1)));
}

/// A wake-up and the switch to the woken task.
#[test]
fn a_wakeup_names_both_tasks() {
    let mut turns = Vec::new();
    read("6.12-rt/wakeup", |_, line| {
        if let Line::Event(event) = line
            && let Body::Turn(turn) = event.body
        {
            turns.push(format!("{turn:?}"));
        }
    });
    let from = Party { pid: 670, priority: 120, state: "Z" };
    let to = Party { pid: 22, priority: 98, state: "R" };
    let turn = |switches| format!("{:?}", Turn { switches, from, cpu: 0, to, task: "rcuc/0" });
    assert_eq!(turns, [turn(false), turn(true)]);
}

/// The columns of a graph as drawn, and durations by function, also for calls whose end does not name them.
#[test]
fn graphs_give_durations() {
    use GraphColumn::{Cpu, Duration, Flags, Task, Time as When};
    let columns = |name: &str| read(name, |_, _| {}).header().columns.form.clone();
    assert_eq!(columns("6.12-rt/graph"), Some(Form::Graph(vec![Cpu, Duration])));
    assert_eq!(columns("6.12-rt/graph-no-cpu"), Some(Form::Graph(vec![Duration])));
    assert_eq!(columns("6.12-rt/graph-no-duration"), Some(Form::Graph(vec![Cpu])));
    assert_eq!(columns("6.12-rt/wakeup_rt-graph"), Some(Form::Graph(vec![When, Cpu, Task, Flags, Duration])));
    // The same calls with their names at their ends, without them, and without CPUs.
    let ends = ["6.12-rt/graph", "6.12-rt/graph-time-task", "6.12-rt/graph-no-cpu", "6.12-rt/graph-latency"];
    for name in ends {
        let (summary, _) = Summary::of(&data(name));
        let took = |function: &str| summary.durations.functions[function];
        assert_eq!((took("raw_spin_rq_lock_nested").count, took("raw_spin_rq_lock_nested").sum), (1, 9_174), "{name}");
        assert_eq!(took("push_rt_task").most, 19_780, "{name}");
        assert_eq!(summary.durations.unnamed.count, 0, "{name}");
    }
    let (summary, _) = Summary::of(&data("form/graph-interrupt"));
    assert_eq!(summary.durations.functions["handle_irq"].most, 123_456_700);
    assert_eq!(summary.durations.functions["ack_irq"].most, 100);
    assert_eq!(summary.durations.functions["outer [mod]"].most, 2000);
    assert_eq!((summary.durations.unnamed.count, summary.durations.unnamed.most), (2, 1_234_567_000));
    let mut calls = Vec::new();
    read("form/graph-interrupt", |_, line| {
        if let Line::Graph(Graph { call, mark, .. }) = line {
            calls.push((format!("{call:?}"), mark));
        }
    });
    let told = |call: Call<'_>, mark| (format!("{call:?}"), mark);
    assert_eq!(calls[0], told(Call::Interrupt { begins: true }, None));
    assert_eq!(calls[3], told(Call::Comment("irq_handler_entry: irq=7 name=a|b"), None));
    assert_eq!(calls[4], told(Call::Leave { name: Some("handle_irq") }, Some(Mark::Over100Ms)));
    let mut switches = Vec::new();
    read("6.12-rt/graph-switch", |_, line| {
        if let Line::Switch { cpu, task, pid } = line {
            switches.push((cpu, task.to_owned(), pid));
        }
    });
    assert_eq!(switches, [(1, "rcuc/1".to_owned(), 32)]);
}

/// Rows with all kinds of keys and values, and the totals that the kernel counted.
#[test]
fn histograms_have_rows() {
    let rows = |name: &str| Summary::of(&data(name)).0.bins.items.into_iter().map(|(_, bin)| bin).collect::<Vec<_>>();
    let row = |keys: &[(&str, Key)], values: &[(&str, Value)]| Bin {
        keys: keys.iter().map(|(name, key)| ((*name).to_owned(), key.clone())).collect(),
        values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
    };
    let count = Value::Count;
    assert_eq!(rows("6.12-rt/hist-log2")[7], row(&[("bytes_req", Key::Log2(12))], &[("hitcount", count(7))]));
    assert_eq!(rows("6.12-rt/hist-buckets")[1], row(&[("bytes_req", Key::Range(32, 63))], &[("hitcount", count(8))]));
    let site = Key::Named { name: "event_hist_open".into(), number: "ffffffffaa4666d3".into() };
    let values = [("hitcount", count(1)), ("bytes_req", count(24)), ("bytes_alloc", count(32))];
    assert_eq!(rows("6.12-rt/hist-plain")[17], row(&[("call_site", site)], &values));
    let keys = [("prev_comm", Key::Text("ksoftirqd/1".into())), ("prev_pid", Key::Number(34))];
    assert_eq!(rows("6.12-rt/hist-pid")[0], row(&keys, &[("hitcount", count(293))]));
    let values = [("hitcount", count(26)), ("hitcount", Value::Percent(2765)), ("bytes_alloc", Value::Bar(1))];
    assert_eq!(rows("6.12-rt/hist-percent")[12], row(&[("bytes_req", Key::Number(72))], &values));
    assert_eq!(rows("6.12-rt/hist-nohit")[12], row(&[("bytes_req", Key::Number(72))], &[("bytes_alloc", count(2592))]));
    let stack = &rows("6.12-rt/hist-stack")[0];
    let Key::Stack(frames) = &stack.keys[0].1 else { panic!("{stack:?}") };
    assert_eq!((frames.len(), frames[13].as_str()), (14, "asm_exc_page_fault+0x26/0x30"));
    let odd = [("comm", Key::Text("a, pid: 7} }, b{".into())), ("pid", Key::Number(-3))];
    assert_eq!(rows("form/hist-odd-names"), [row(&odd, &[("hitcount", count(5))])]);

    let (summary, _) = Summary::of(&data("6.1-rt/hist-onmax"));
    let saved = &summary.saved.items[6];
    assert_eq!((saved.row, saved.name.as_str(), saved.value), (6, "max", 103_110));
    assert_eq!(summary.bins.items[6].1.keys[0].1, Key::Number(299));

    // If the text contains all rows, their hits add up to the kernel's total.
    for name in
        ["6.12-rt/hist-plain", "6.12-rt/hist-log2", "6.12-rt/hist-two", "6.1-rt/hist-onmax", "6.1-rt/hist-synthetic"]
    {
        let (summary, reader) = Summary::of(&data(name));
        let hits = summary.bins.items.iter().flat_map(|(_, bin)| &bin.values).filter(|(name, _)| name == "hitcount");
        let hits = hits.map(|(_, value)| if let Value::Count(count) = value { *count } else { 0 }).sum();
        let rows = summary.bins.items.len() as u64;
        assert_eq!(summary.totals.items[..2], [(1, Total::Hits(hits)), (1, Total::Entries(rows))], "{name}");
        assert_eq!(reader.header().trigger.as_ref().unwrap().state, "active");
    }
}

/// What each source reports as lost.
fn lost(summary: &Summary) -> Vec<(Source, Option<u32>, u64)> {
    summary.lost.accounts().said().map(|(source, cpu, said)| (source, cpu, said.events)).collect()
}

/// latido counts what was lost and what it did not understand, with the place.
#[test]
fn losses_are_counted() {
    let (summary, _) = Summary::of(&data("6.12-rt/pipe-lost"));
    assert_eq!(lost(&summary), [(Source::Lines, Some(0), 55_847), (Source::Lines, Some(1), 45_485)]);
    let (summary, reader) = Summary::of(&data("form/events-4.14"));
    // One of the two lines states no number.
    assert_eq!(lost(&summary), [(Source::Lines, Some(1), 4), (Source::Header, None, 4)]);
    assert_eq!((summary.lost.accounts().events(), summary.lost.accounts().uncounted()), (8, 1));
    assert_eq!(summary.events["sched_waking"], 1);
    let seen = reader.seen();
    assert_eq!((seen.lines, seen.unknown), (18, 1));
    assert_eq!(seen.first_unknown, Some((18, "this line was made by nobody".into())));
    let mut long = vec![b'x'; 100_000];
    long.extend(b"\nCPU:3 [LOST 7 EVENTS]\nCPU:3 [LOST 7 EVE");
    let (summary, reader) = Summary::of(&long);
    let seen = reader.seen();
    assert_eq!((seen.lines, seen.cut, seen.unknown, seen.unfinished), (2, 1, 1, 17));
    assert_eq!(lost(&summary), [(Source::Lines, Some(3), 7)]);
}
