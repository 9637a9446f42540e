//! Texts as people pass them on: a person read each one to find the expected results.

use super::*;
use serde_json::Value;

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/common/texts.rs"));

fn text(name: &str) -> Vec<u8> {
    let files = ["6.12-rt", "form", "handed"];
    let found = texts_of(concat!(env!("CARGO_MANIFEST_DIR"), "/../trace"), &files).remove(name);
    found.unwrap_or_else(|| panic!("there is no text {name} below tests/data"))
}

fn analysed(path: &str) -> Analysis {
    let mut all = analyse_text("t.txt", &text(path), &Of::All).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(all.len(), 1, "{path}");
    all.remove(0)
}

fn refused(path: &str) -> String {
    analyse_text("t.txt", &text(path), &Of::All).unwrap_err()
}

/// Returns the terminal output in one text, without the spaces that group digits.
fn shown(analysis: &Analysis) -> String {
    let style = crate::terminal::Style { width: 10_000, color: false };
    analysis.text(style).replace('\u{202f}', "").replace('\u{a0}', " ")
}

/// Returns how often, and how long at most, tasks waited after a wake-up, by class.
fn waits(analysis: &Analysis) -> Vec<(&str, u64, u64, Option<&str>)> {
    let of = |row: &&Row| row.kind == Kind::Scheduling;
    analysis
        .rows
        .iter()
        .filter(of)
        .map(|row| (row.name.as_str(), row.count, row.max_ns, row.max_of.as_deref()))
        .collect()
}

/// latido reports no latency across a loss, and it reports the loss with its number and source.
#[test]
fn losses_are_told_by_their_source() {
    let one = analysed("handed/trace-cmd-events-dropped");
    assert_eq!(waits(&one), []);
    assert!(
        one.lost.sentence().starts_with("5 events in 1 gap; by lines of the text: CPU 1 5; 1 pair left out"),
        "{}",
        one.lost.sentence()
    );
    let one = analysed("handed/lost-at-the-end");
    assert_eq!((one.lost.events, one.lost.over_cpu, waits(&one)), (12, Some(2), vec![]));
    assert!(
        one.lost.sentence().contains("12 events in 1 gap") && one.lost.sentence().contains("CPU 2 has no later events")
    );
    let one = analysed("handed/function_graph-lost");
    assert!(
        one.lost.sentence().starts_with("4 events in 1 gap; by lines of the text: CPU 1 4"),
        "{}",
        one.lost.sentence()
    );
    assert_eq!((one.lost.over_ns, one.lost.over_cpu), (None, None));
    let json = serde_json::to_value(&one).unwrap();
    assert_eq!((&json["lost"]["stated"][0]["by"], &json["lost"]["stated"][0]["cpu"]), (&"lines".into(), &1.into()));
    // latido reports that nothing is lost only where a source states it.
    assert!(analysed("6.12-rt/events").lost.sentence().starts_with("no event, by the header"));
    assert!(analysed("handed/trace_pipe-timerlat").lost.sentence().starts_with("not stated"));
    assert!(analysed("6.12-rt/hist-log2").lost.sentence().starts_with("no event, by the histogram's total"));
}

/// latido finds the waits between other lines of a report, of a mail and of another system.
#[test]
fn what_stands_between_is_passed_over() {
    let whose = Some("cyclictest-2717");
    for (name, count, max_ns) in [
        ("trace-cmd-report-ts-diff", 2, 10_000),
        ("trace-text-crlf", 1, 10_000),
        ("trace-cmd-report-latency-flags", 1, 10_000),
        ("trace-cmd-report-empty-cpus", 1, 5_010_000),
        ("sched-2.6.33", 1, 10_000),
    ] {
        let one = analysed(&format!("handed/{name}"));
        assert_eq!(waits(&one), [("real-time", count, max_ns, whose)], "{name}");
        let notes = one.told.as_ref().unwrap().notes();
        assert_eq!(notes.len(), usize::from(name == "sched-2.6.33"), "{name}: {notes:?}");
    }
}

/// Each header gives the longest latency, with its task, its CPU and its functions.
#[test]
fn headers_that_lack_something_tell_the_rest() {
    for (name, us, of) in [
        ("latency-header-without-P", 2_000, "irq/100-enet-fe-118 (real-time 50) on CPU 0, woken by 11"),
        (
            "latency-trace-without-tracer-line",
            8_111,
            "dd-820 (nice 0) on CPU 0, __rmqueue_pcplist to _raw_spin_unlock_irqrestore",
        ),
        ("mail-quoted", 10_620_430, "fio-3244715 (nice 0) on CPU 260, ilookup to ilookup"),
        ("irqsoff-5.4", 12_116, "qseecom-unload--207 (nice 0) on CPU 7, vprintk_emit to vprintk_emit"),
        ("cpu260", 10_620_430, "fio-3244715 (nice 0) on CPU 260, ilookup to ilookup"),
    ] {
        let one = analysed(&format!("handed/{name}"));
        let row = &one.told.as_ref().unwrap().rows[0];
        assert_eq!((row.kind, row.max_ns), ("longest", us * 1_000), "{name}");
        assert!(row.of.starts_with(of), "{name}: {}", row.of);
    }
    let one = analysed("handed/cpu260");
    let told = one.told.as_ref().unwrap();
    assert_eq!((told.rows[0].stack.len(), told.online), (2, Some(512)));
    assert!(told.rows[0].of.contains("at its end in _raw_spin_unlock < ilookup"), "{}", told.rows[0].of);
}

/// Timer latencies need no header.
#[test]
fn a_pipe_of_timerlat_is_told() {
    let one = analysed("handed/trace_pipe-timerlat");
    let rows = &one.told.as_ref().unwrap().rows;
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.count, row.max_ns)).collect();
    assert_eq!(told, [("interrupt, CPU 0", 2, 930), ("thread, CPU 0", 2, 11_301)]);
    assert_eq!((rows[0].facts["longest_activation"], rows[0].facts["last_activation"]), (2, 2));
    let perfetto = one.perfetto();
    let samples = perfetto["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "timerlat");
    assert_eq!(samples.count(), 4);
}

/// The value that a histogram's action saved is next to its row, in every format.
#[test]
fn what_actions_saved_is_told_in_every_form() {
    let one = analysed("handed/hist-onmax");
    let histogram = &one.told.as_ref().unwrap().histograms[0];
    let saved: Vec<_> = histogram.saved.iter().map(|one| (one.row, one.name.as_str(), one.value)).collect();
    assert_eq!(saved, [(0, "max", 12), (1, "max", 18)]);
    let json = serde_json::to_value(&one).unwrap();
    let of = &json["told"]["histograms"][0];
    assert_eq!((&of["saved"][1]["value"], &of["state"]), (&Value::from(18), &Value::from("active")));
    assert!(of["saved"][1]["with"].as_str().unwrap().contains("prev_comm: swapper/5"), "{of}");
    let lines = shown(&one);
    let line = lines.lines().find(|line| line.contains("next_pid 3730")).unwrap();
    assert!(line.contains("1321") && line.contains(" 18 ") && line.contains("swapper/5"), "{line}");
    let csv = csv::rows(std::slice::from_ref(&one)).unwrap();
    assert!(csv.lines().any(|line| line.contains("next_pid 3728") && line.ends_with("hitcount=199 max=12")), "{csv}");
    let page = crate::html::traced::render(&one).unwrap();
    assert!(page.contains("swapper/5") && page.contains("hits 1"), "the page has the rows and the totals");
}

/// A gap with a non-maskable interrupt in it is not caused by the hardware alone. latido reports each gap with everything that the tracer
/// reports.
#[test]
fn interrupts_in_gaps_are_told() {
    for (name, joined) in [("hwlat-nmi", 0), ("hwlat-wrapped", 3)] {
        let one = analysed(&format!("handed/{name}"));
        let told = one.told.as_ref().unwrap();
        assert_eq!((told.gaps.len(), told.unknown, told.joined), (3, 0, joined), "{name}");
        let second = told.gaps[1];
        assert_eq!((second.sample, second.above, second.nmi_us, second.nmi_count), (2, Some(6506), Some(4), Some(1)));
        assert_eq!(second.at_ns, 1_702_045_328_469_859_973);
        let shown = shown(&one);
        let note = "1 of 3 gaps had a non-maskable interrupt in it (4 µs in all): that one is not the hardware's alone";
        assert!(shown.contains(note), "{shown}");
        let title = "Gaps with interrupts off: the hardware's, or of non-maskable interrupts";
        assert!(shown.contains(title) && shown.contains("6506"), "{shown}");
        let csv = csv::rows(std::slice::from_ref(&one)).unwrap();
        assert!(csv.contains("outer_us=40 above=6506 nmi_us=4 nmi_count=1"), "{csv}");
    }
}

/// A tracer that found nothing gives a result. A text that latido does not understand at all gives an error that quotes the line.
#[test]
fn nothing_found_is_a_result_and_nothing_understood_an_error() {
    let one = analysed("handed/hwlat-no-gap");
    assert!(shown(&one).contains("hwlat found no gap above its threshold"), "{}", shown(&one));
    assert!(one.lost.sentence().starts_with("no event, by the header"));
    let said = refused("handed/sched_switch-2.6.26");
    assert!(
        said.contains(
            "no entry in the text of a tracer (sched_switch): 3 of 7 lines are unknown, the first is line 5: 6263:120:R +   2717"
        ),
        "{said}"
    );
    let osnoise = text("handed/hwlat-no-gap");
    let osnoise = String::from_utf8(osnoise).unwrap().replace("hwlat", "osnoise");
    let said = analyse_text("t.txt", osnoise.as_bytes(), &Of::All).unwrap_err();
    assert!(said.contains("(osnoise) has no entry: its header says that 0 were written"), "{said}");
    // latido reads a short trace in a long letter, and counts the lines that are not part of it.
    let letter =
        ["Hello,\n", &"I see this often.\n".repeat(20), &String::from_utf8(text("handed/trace-text-crlf")).unwrap()]
            .concat();
    let one = analyse_text("t.txt", letter.as_bytes(), &Of::All).unwrap().remove(0);
    assert_eq!(waits(&one).len(), 1);
    let said = analyse_text("t.txt", "Hello,\nno trace: here [1] 2.5: x\n".as_bytes(), &Of::All).unwrap_err();
    assert!(said.contains("line 1: Hello,"), "{said}");
}

/// A report lists its inputs one by one, each with its name.
#[test]
fn inputs_are_told_apart() {
    let one = String::from_utf8(text("handed/trace-cmd-report-latency-flags")).unwrap();
    let both: String = ["a.dat", "b.dat"]
        .map(|input| one.lines().map(|line| format!("{input}: {line}\n")).collect::<String>())
        .concat();
    let all = analyse_text("t.txt", both.as_bytes(), &Of::All).unwrap();
    assert_eq!(all.iter().map(|one| one.buffer.as_str()).collect::<Vec<_>>(), ["a.dat", "b.dat"]);
    for one in &all {
        assert_eq!(waits(one), [("real-time", 1, 10_000, Some("cyclictest-2717"))]);
        assert!(shown(one).starts_with(&format!("t.txt, {}: 3 events", one.buffer)), "{}", shown(one));
    }
}

/// The analysis counts only the waits of one task, by its name or its number; everything else stays.
#[test]
fn one_task_alone() {
    let wait = |name: &str, pid: u32, at: u32| {
        format!(
            "  <idle>-0 [000] d..2. {at}.000000: sched_waking: comm={name} pid={pid} prio=120 target_cpu=000\n  \
             <idle>-0 [000] d..2. {at}.000050: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
             next_comm={name} next_pid={pid} next_prio=120\n  \
             {name}-{pid} [000] d..2. {at}.000090: sched_switch: prev_comm={name} prev_pid={pid} prev_prio=120 prev_state=S ==> \
             next_comm=swapper/0 next_pid=0 next_prio=120\n"
        )
    };
    let text = [wait("mine", 11, 1), wait("other", 12, 2), wait("mine", 13, 3)].concat();
    let waits = |of: &Of| {
        let one = analyse_text("t.txt", text.as_bytes(), of).unwrap().remove(0);
        assert_eq!(one.events, 9);
        (one.rows.iter().filter(|row| row.kind == Kind::Scheduling).map(|row| row.count).sum::<u64>(), one.worst.len())
    };
    let named = |name: &str| Of::Named(latido_trace::events::Comm::of(name));
    assert_eq!([waits(&Of::All), waits(&named("mine")), waits(&Of::Thread(12))], [(3, 3), (2, 2), (1, 1)]);
    assert_eq!(waits(&named("nobody")), (0, 0));
}
