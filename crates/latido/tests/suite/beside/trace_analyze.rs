//! Analysed traces: one that latido recorded here, compared with trace-cmd, written in every form, cut and damaged.

use crate::common::{self, Need};
#[path = "../../../../trace/tests/common/mod.rs"]
mod made;

use common::{World, installed, json, root, skip, stderr, text};
use latido_trace::{
    events::Class,
    file::Trace,
    pairing::{Definition, Pairing, Why, pair},
    summary::Summary,
};
use serde_json::Value;
use std::{fs, path::PathBuf, process::Command};

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/common/texts.rs"));

/// Writes a text of a tracer as a file of this world, and returns its path.
fn tracer_text(world: &World, name: &str) -> String {
    let texts = texts_below(concat!(env!("CARGO_MANIFEST_DIR"), "/../trace"));
    let path = world.path(&format!("{}.txt", name.replace('/', "-")));
    fs::write(&path, texts.get(name).unwrap_or_else(|| panic!("there is no text {name}"))).unwrap();
    path.into_os_string().into_string().unwrap()
}

/// A trace of this machine; `None` if root cannot record one, which the test then notes as skipped.
fn recorded(world: &World, what: &str) -> Option<PathBuf> {
    if !root(what) {
        return None;
    }
    let busy = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.005; true | true; done";
    let output = world.run(["trace", "record", "-o", "a.dat", "--", "sh", "-c", busy]);
    if !output.status.success() {
        skip(what, Need::Tracefs, stderr(&output).trim());
        return None;
    }
    Some(world.path("a.dat"))
}

fn sum(pieces: &Value) -> u64 {
    pieces.as_array().unwrap().iter().map(|piece| piece["ns"].as_u64().unwrap()).sum()
}

/// The numbers add up: events by kind to all events, the shares of each CPU to one, the causes of a wait to the wait. The other forms have
/// the same numbers.
#[test]
fn an_analysis_adds_up_in_every_form() {
    let world = World::new();
    let Some(_file) = recorded(&world, "latido trace analyze") else { return };
    let all = json(&world.run(["trace", "analyze", "a.dat", "--json"]), 0);
    let one = &all["buffers"][0];
    let kinds: u64 = one["kinds"].as_array().unwrap().iter().map(|kind| kind[1].as_u64().unwrap()).sum();
    assert_eq!(Some(kinds), one["events"].as_u64());
    let cpus = one["cpus"].as_array().unwrap();
    assert!(!cpus.is_empty());
    for cpu in cpus {
        let shares: f64 =
            cpu["owners"].as_array().unwrap().iter().map(|owner| owner[1]["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{cpu}");
    }
    let worst = one["worst"].as_array().unwrap();
    assert!(!worst.is_empty());
    for wait in worst {
        assert_eq!(Some(sum(&wait["causes"])), wait["ns"].as_u64(), "{wait}");
        if !wait["slices"].as_array().unwrap().is_empty() {
            assert_eq!(Some(sum(&wait["slices"])), wait["ns"].as_u64(), "{wait}");
        }
    }
    let rows = one["rows"].as_array().unwrap();
    let scheduling = |row: &&Value| row["kind"] == "scheduling" && row["name"] == "fair";
    let fair = rows.iter().find(scheduling).unwrap();
    let csv = text(&world.run(["trace", "analyze", "a.dat", "--csv"]));
    let line = csv.lines().find(|line| line.starts_with(",scheduling,fair,")).unwrap();
    assert!(line.starts_with(&format!(",scheduling,fair,{},{},", fair["count"], fair["min_ns"])), "{line}");
    assert_eq!(csv.lines().count(), rows.len() + 1);
    let output = world.run(["trace", "analyze", "a.dat", "--html", "t.html", "--perfetto", "t.json"]);
    assert!(text(&output).contains("Scheduling latency"), "{}", stderr(&output));
    let page = fs::read_to_string(world.path("t.html")).unwrap();
    assert!(page.len() < 1 << 20 && !page.contains("src=") && !page.contains("http"), "one file, at home");
    assert!(page.contains("id=\"lanes\""), "the script draws what each CPU did");
    let perfetto: Value = serde_json::from_slice(&fs::read(world.path("t.json")).unwrap()).unwrap();
    let events = perfetto["traceEvents"].as_array().unwrap();
    let slices: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert!(!slices.is_empty() && slices.iter().all(|slice| slice["dur"].as_f64().unwrap() >= 0.0));
    assert!(events.iter().any(|event| event["args"]["name"] == "CPU 0"));
}

/// With trace-cmd's pairing, counts, means and maxima agree with `trace-cmd report -w`.
#[test]
fn wake_up_latencies_are_those_of_trace_cmd() {
    let world = World::new();
    if !installed("trace-cmd", "wake-up latencies against trace-cmd report -w") {
        return;
    }
    let Some(file) = recorded(&world, "wake-up latencies against trace-cmd report -w") else { return };
    let bytes = fs::read(&file).unwrap();
    let trace = Trace::open(&bytes).unwrap();
    let mut summary = Summary::default();
    pair(&trace, &trace.buffers[0], &mut Pairing::of(Definition::TraceCmd), &mut summary);
    let series: Vec<_> = Class::ALL.into_iter().map(|class| &summary.waits(Why::Woken, class).unwrap().all).collect();
    let of = |some: &[&latido_trace::distribution::Distribution]| {
        let (count, sum) = some.iter().fold((0, 0), |(n, sum), all| (n + all.count(), sum + all.sum()));
        let max = some.iter().filter_map(|all| all.max()).max();
        (format!("{:.3}", sum as f64 / count as f64 / 1e3), max.map(|max| format!("{:.3}", max as f64 / 1e3)))
    };
    let output = Command::new("trace-cmd").args(["report", "-w", "-i"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let after = |key: &str| -> Vec<String> {
        let values = said.lines().filter_map(|line| line.strip_prefix(key)?.split_whitespace().next());
        values.map(str::to_owned).collect()
    };
    let (means, maxima) = (after("Average wakeup latency: "), after("Maximum Latency: "));
    let (mean, max) = of(&series);
    // Both round a mean to whole ns before they print it: it may differ by one in the last place.
    let near =
        |ours: &str, theirs: &str| (ours.parse::<f64>().unwrap() - theirs.parse::<f64>().unwrap()).abs() < 0.001_5;
    assert!(near(&mean, &means[0]) && max.as_deref() == Some(&*maxima[0]), "{mean} {max:?}, {means:?} {maxima:?}");
    if let Some(theirs) = means.get(1) {
        let (mean, max) = of(&series[..2]);
        assert!(near(&mean, theirs) && max.as_deref() == Some(&*maxima[1]), "{mean} {max:?}, {means:?} {maxima:?}");
    }
}

/// latido answers a trace that is cut or damaged anywhere with what is left, or with an error that names the file. It never ends by a
/// signal.
#[test]
fn what_is_broken_is_said() {
    let world = World::new();
    for (name, content) in [
        ("empty", &b""[..]),
        ("text", b"# tracer: nop\n"),
        ("other", b"root:x:0:0:root:/root:/bin/bash\n"),
        ("magic", b"\x17\x08\x44tracing7\0"),
    ] {
        fs::write(world.path(name), content).unwrap();
        let output = world.run(["trace", "analyze", name]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
    }
    let directory = world.run(["trace", "analyze", "."]);
    assert!(stderr(&directory).contains("is not a file"), "{}", stderr(&directory));
    let Some(file) = recorded(&world, "broken traces of this machine") else { return };
    let whole = fs::read(&file).unwrap();
    for outputs in [&["--html", "./a.dat"][..], &["--perfetto", "a.dat"], &["--html", "b", "--perfetto", "b"]] {
        let output = world.run([&["trace", "analyze", "a.dat"], outputs].concat());
        assert_eq!(output.status.code(), Some(64), "{outputs:?}: {}", stderr(&output));
    }
    assert!(fs::read(&file).unwrap() == whole, "a trace is never written over by its own analysis");
    for part in 1..16 {
        fs::write(world.path("cut.dat"), &whole[..whole.len() * part / 16]).unwrap();
        let mut spoilt = whole.clone();
        for at in (part * 97..spoilt.len()).step_by(4_099) {
            spoilt[at] ^= 0x55;
        }
        fs::write(world.path("spoilt.dat"), &spoilt).unwrap();
        for name in ["cut.dat", "spoilt.dat"] {
            let output = world.run(["trace", "analyze", name, "--json"]);
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 1)), "{part} of 16, {name}: {:?} {}", output.status, stderr(&output));
            assert!(code == Some(0) || stderr(&output).contains(name), "{}", stderr(&output));
        }
    }
}

/// latido reports what it could not read, with its place, in every form: a page in the middle, CPUs after the end of the file, and a file
/// with nothing left.
#[test]
fn what_was_lost_is_told_with_its_place() {
    let world = World::new();
    let story = made::events::story(300, 1_000_000);
    let built = made::File::of(made::BIG, story.pages(made::BIG, 4096)).build();
    let trace = Trace::open(&built.bytes).unwrap();
    let page = trace.buffers[0].cpus[1].at as usize + 4096;
    let mut spoilt = built.bytes.clone();
    spoilt[page + 8..page + 20].fill(0x77);
    fs::write(world.path("spoilt.dat"), spoilt).unwrap();
    let place = format!("at byte {page}: CPU 1: a page states that it holds");
    let one = json(&world.run(["trace", "analyze", "spoilt.dat", "--json"]), 0)["buffers"][0].clone();
    assert_eq!(one["unread"].as_array().unwrap().len(), 1, "{}", one["unread"]);
    assert!(one["unread"][0].as_str().unwrap().starts_with(&place), "{}", one["unread"]);
    let waits = one["rows"].as_array().unwrap().iter().filter(|row| row["kind"] == "scheduling");
    let waits: u64 = waits.map(|row| row["count"].as_u64().unwrap()).sum();
    assert!(waits > 150 && waits < 300, "{waits} of 300");
    let output = world.run(["trace", "analyze", "spoilt.dat", "--html", "spoilt.html"]);
    assert!(text(&output).contains(&format!("at byte {page}")), "{}", text(&output));
    assert!(fs::read_to_string(world.path("spoilt.html")).unwrap().contains(&place));
    // The description of the rings is the last part of this file.
    fs::write(world.path("cut.dat"), &built.bytes[..built.bytes.len() - 30]).unwrap();
    let output = world.run(["trace", "analyze", "cut.dat"]);
    let said = stderr(&output);
    assert!(output.status.code() == Some(1) && said.contains("holds no events") && said.contains("at byte "), "{said}");
}

/// A file of a latency tracer contains its text, which latido reads like a text file.
#[test]
fn the_text_in_a_file_is_told() {
    let world = World::new();
    let data = tracer_text(&world, "form/irqsoff");
    let file = made::File { version: 6, ..made::File::of(made::LITTLE, Vec::new()) }.build().bytes;
    let head = file.windows(10).position(|ten| ten == b"flyrecord\0").unwrap();
    let bytes = [&file[..head], b"latency  \0", &fs::read(&data).unwrap()].concat();
    fs::write(world.path("irqsoff.dat"), bytes).unwrap();
    let plain = text(&world.run(["trace", "analyze", &data, "--csv"]));
    assert!(plain.contains(",longest,irqsoff,"), "{plain}");
    assert_eq!(text(&world.run(["trace", "analyze", "irqsoff.dat", "--csv"])), plain);
}

/// latido analyses the texts of every tracer in every form. The expected rows were read from the texts by hand.
#[test]
fn texts_of_tracers_are_told_in_every_form() {
    let world = World::new();
    let cases = [
        ("form/irqsoff", "longest", "irqsoff"),
        ("form/preemptoff", "longest", "preemptoff"),
        ("form/preemptirqsoff", "longest", "preemptirqsoff"),
        ("6.12-rt/wakeup", "longest", "wakeup"),
        ("6.12-rt/wakeup_rt-function", "longest", "wakeup_rt"),
        ("6.12-rt/timerlat", "timerlat", "thread, CPU 1"),
        ("6.1-rt/osnoise", "osnoise", "CPU 0"),
        ("form/hwlat-nmi", "hwlat", "in a loop"),
        ("6.12-rt/graph", "function", "update_wall_time"),
        ("6.12-rt/hist-log2", "histogram", "bytes_req to 2^4"),
        ("6.12-rt/events", "scheduling", "real-time"),
    ];
    for (name, kind, row) in cases {
        let path = tracer_text(&world, name);
        let csv = text(&world.run(["trace", "analyze", &path, "--csv"]));
        let quoted = if row.contains(',') { format!("\"{row}\"") } else { row.to_owned() };
        let line = format!(",{kind},{quoted},");
        assert!(csv.lines().any(|one| one.starts_with(&line)), "{name}: no {line} in {csv}");
        let said = json(&world.run(["trace", "analyze", &path, "--json"]), 0)["buffers"][0].clone();
        assert!(said["told"]["lines"].as_u64().unwrap() > 0 && said["version"].is_null(), "{name}: {said}");
        let shown = text(&world.run(["trace", "analyze", &path, "--html", "t.html"]));
        assert!(shown.contains(row), "{name}: {shown}");
        let page = fs::read_to_string(world.path("t.html")).unwrap();
        assert!(page.contains(row), "{name}");
        assert_eq!(page.contains("id=\"lanes\""), page.contains("</script>"), "{name}: a script only where it draws");
    }
    let path = tracer_text(&world, "6.12-rt/events-tsc");
    assert!(text(&world.run(["trace", "analyze", &path])).contains("are not in ns"));
    let timerlat = tracer_text(&world, "6.12-rt/timerlat");
    let rows = json(&world.run(["trace", "analyze", &timerlat, "--json"]), 0)["buffers"][0]["told"]["rows"].clone();
    assert_eq!(rows[0]["count"], 12, "{rows}");
    fs::write(world.path("other"), "root:x:0:0:root:/root:/bin/bash\n").unwrap();
    let said = stderr(&world.run(["trace", "analyze", "other"]));
    assert!(said.contains("neither a trace of trace-cmd") && said.contains("nor the text of a tracer"), "{said}");
    fs::write(world.path("perf.data"), "PERFILE2h\0\0\0\0\0\0\0").unwrap();
    let said = stderr(&world.run(["trace", "analyze", "perf.data"]));
    assert!(said.contains("`perf script -i FILE >TEXT`"), "{said}");
}

/// latido uses the kernel's own counts in a file in addition to the pages: it reports the number of overwritten events. If nothing says
/// where events are missing, it reports no wait.
#[test]
fn the_kernels_counts_in_a_file_are_told() {
    let world = World::new();
    let machine = made::LITTLE;
    let story = made::events::story(300, 1_000_000);
    let counts = |cpu: u32, overrun: u64, dropped: u64| {
        let text =
            format!("CPU: {cpu}\nentries: 0\noverrun: {overrun}\ncommit overrun: 0\ndropped events: {dropped}\n\0");
        (2u16, text.into_bytes())
    };
    let mut pages = story.pages(machine, 4096);
    let whole =
        made::File { options: vec![counts(0, 0, 0), counts(1, 0, 0)], ..made::File::of(machine, pages.clone()) };
    // The second page of CPU 1: events before it are missing, and the kernel did not count them there (include/linux/ring_buffer.h).
    let commit = u64::from_le_bytes(pages[1].1[4096 + 8..4096 + 16].try_into().unwrap()) | 1 << 31;
    pages[1].1[4096 + 8..4096 + 16].copy_from_slice(&commit.to_le_bytes());
    let told = |options: Vec<(u16, Vec<u8>)>, version: u32, pages: &[(u32, Vec<u8>)]| {
        let file = made::File { options, version, ..made::File::of(machine, pages.to_vec()) };
        fs::write(world.path("counts.dat"), file.build().bytes).unwrap();
        let one = json(&world.run(["trace", "analyze", "counts.dat", "--json"]), 0)["buffers"][0].clone();
        let waits = one["rows"].as_array().unwrap().iter().filter(|row| row["kind"] == "scheduling");
        let waits: u64 = waits.map(|row| row["count"].as_u64().unwrap()).sum();
        let said =
            text(&world.run(["trace", "analyze", "counts.dat"])).replace('\u{202f}', " ").replace("\n          ", " ");
        (waits, one["lost"].clone(), said)
    };
    for version in [6, 7] {
        let (waits, lost, said) = told(whole.options.clone(), version, &whole.rings[0].cpus);
        assert_eq!((waits, &lost["none_by"], &lost["events"]), (300, &"statistics".into(), &0.into()), "{lost}");
        assert!(said.contains("no event, by the kernel's counts"), "{said}");
        let (fewer, lost, said) = told(vec![counts(0, 0, 0), counts(1, 392_900, 0)], version, &pages);
        assert!(fewer < 300 && fewer > 250, "{fewer}");
        assert_eq!(
            (&lost["events"], &lost["uncounted"], &lost["gaps"]),
            (&392_900.into(), &0.into(), &1.into()),
            "{lost}"
        );
        assert!(
            said.contains("392 900 events in 1 gap") && said.contains("the kernel's counts: CPU 1 392 900"),
            "{said}"
        );
        // Events were dropped, or were overwritten without a mark on any page.
        for options in [vec![counts(0, 0, 0), counts(1, 0, 5)], vec![counts(0, 0, 0), counts(1, 5, 0)]] {
            let (waits, lost, said) = told(options, version, &whole.rings[0].cpus);
            assert_eq!((waits, &lost["events"], &lost["unplaced"][0]), (0, &5.into(), &1.into()), "{lost}");
            assert!(said.contains("the place of those of CPU 1 is unknown"), "{said}");
        }
    }
}

/// A tracer that found nothing has answered. A text of which latido understands no line is an error that names the first one.
#[test]
fn a_text_without_entries_is_a_result_or_an_error() {
    let world = World::new();
    let texts = texts_of(concat!(env!("CARGO_MANIFEST_DIR"), "/../trace"), &["handed"]);
    for (name, code, wanted) in [
        ("hwlat-no-gap", 0, "hwlat found no gap above its threshold"),
        ("sched_switch-2.6.26", 1, "the first is line 5: 6263:120:R"),
    ] {
        fs::write(world.path("t.txt"), &texts[&format!("handed/{name}")]).unwrap();
        let output = world.run(["trace", "analyze", "t.txt"]);
        assert_eq!(output.status.code(), Some(code), "{name}: {}", stderr(&output));
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        assert!(said.contains(wanted), "{name}: {said}");
    }
}
