//! Records that are small to send and large to read: each ends in an error that names the place and the bound, in little
//! memory.

use crate::common;

use common::{World, json};
use serde_json::Value;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The most memory that reading any of these may take, in KiB.
const MEMORY: u64 = 400 << 10;

/// Makes a small run of made-up samples and returns its directory.
fn made_up(world: &World) -> PathBuf {
    let output = world.run(["run", "null", "-d", "50ms", "--warmup=1ms", "--no-report", "--json"]);
    json(&output, 0);
    world.runs().remove(0)
}

/// Returns the whole output of a command. The command must end, and must stay within the memory at each look.
fn said(world: &World, words: &[&str]) -> String {
    let mut command = world.latido(words.iter().copied());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let status = format!("/proc/{}/status", child.id());
    let reader = |from: &mut dyn std::io::Read| {
        let mut text = Vec::new();
        from.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    };
    let (text, peak) = std::thread::scope(|scope| {
        let (out, err) = (scope.spawn(move || reader(&mut out)), scope.spawn(move || reader(&mut err)));
        let mut peak = 0;
        common::until(&format!("the end of {words:?}"), || {
            let told = fs::read_to_string(&status).unwrap_or_default();
            let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0).max(peak);
            if peak > MEMORY {
                child.kill().unwrap();
            }
            child.try_wait().unwrap()
        });
        (out.join().unwrap() + &err.join().unwrap(), peak)
    });
    assert!(peak <= MEMORY, "{words:?}: {} MiB", peak >> 10);
    println!("{words:?}: {} MiB", peak >> 10);
    // Independent of the width of the lines.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// 26,000 series of one histogram.
#[test]
fn a_file_of_many_series_is_refused() {
    let world = World::new();
    let run = made_up(&world);
    let path = run.join("cells/001/record.json");
    let mut record = read(&path);
    let first = record["series"][0].clone();
    let next = |thread: u32| {
        let mut series = first.clone();
        series["thread"] = thread.into();
        series
    };
    record["series"] = (0..26_000).map(next).collect();
    fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
    let text = said(&world, &["show", "--full", run.to_str().unwrap()]);
    let quantity = first["quantity"].as_str().unwrap();
    let told = format!("is named twice: by {quantity} of thread 0 and by {quantity} of thread 1");
    assert!(text.contains(&told) && text.contains("cells/001/record.json"), "{text}");
}

/// Distributions that differ in their labels, each with its own file, as many as fit into a record.
#[test]
fn more_distributions_than_are_kept_are_refused() {
    let world = World::new();
    let run = made_up(&world);
    let path = run.join("cells/001/record.json");
    let mut record = read(&path);
    let first = record["series"][0].clone();
    let next = |n: u32| {
        let mut series = first.clone();
        series["labels"] = serde_json::json!({ "n": n.to_string() });
        series["files"] =
            serde_json::json!({ "histogram": format!("h{n}.hdr"), "missed": null, "blocks": null, "largest": null });
        series
    };
    record["series"] = (0..10_000).map(next).collect();
    fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
    let text = said(&world, &["show", "--full", run.to_str().unwrap()]);
    assert!(text.contains("more than 256 distributions"), "{text}");
}

/// Too many values, too deep nesting, and objects that take a hundred times their bytes, in an unknown key.
#[test]
fn json_that_is_larger_in_memory_is_refused() {
    let world = World::new();
    let run = made_up(&world);
    let path = run.join("cells/001/record.json");
    let sound = fs::read_to_string(&path).unwrap();
    let beside = |bomb: &str| sound.trim_start().replacen('{', &format!("{{\"novelty\":{bomb},"), 1);
    let list = |one: &str, bytes: usize| format!("[{}{one}]", format!("{one},").repeat(bytes / (one.len() + 1)));
    for (bomb, told) in [
        (list("0", 30 << 20), "more than 6000000 values"),
        (list("[]", 30 << 20), "more than 6000000 values"),
        ("[".repeat(1 << 20) + &"]".repeat(1 << 20), "recursion limit"),
        (format!("{{{}\"x\":0}}", (0..200_000).map(|n| format!("\"{n}\":0,")).collect::<String>()), "different keys"),
        // As many objects as the bound allows: latido reads them and leaves them out.
        (list("{\"a\":0}", 20 << 20), "novelty"),
    ] {
        fs::write(&path, beside(&bomb)).unwrap();
        let text = said(&world, &["show", "--full", run.to_str().unwrap()]);
        assert!(text.contains(told) && text.contains("cells/001/record.json"), "{told}: {text}");
    }
    // A cell with an unknown key, which latido must read value by value: the bytes bound it.
    let newer = sound.replacen("\"probe\"", "\"colour\":1,\"probe\"", 1);
    let bomb = list("{\"a\":0}", 20 << 20);
    fs::write(&path, newer.trim_start().replacen('{', &format!("{{\"novelty\":{bomb},"), 1)).unwrap();
    let text = said(&world, &["show", "--full", run.to_str().unwrap()]);
    assert!(text.contains("cells/001/record.json"), "{text}");
}

/// Files next to a record that unpack to more than any sound one, or have more lines.
#[test]
fn files_that_unpack_to_much_are_refused() {
    let world = World::new();
    let run = made_up(&world);
    let cell = run.join("cells/001");
    let record = read(&cell.join("record.json"));
    let files = record["series"][0]["files"].clone();
    let name = |key: &str| cell.join(files[key].as_str().unwrap());
    let deflated = |bytes: usize| {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        let block = vec![0u8; 1 << 20];
        (0..bytes >> 20).for_each(|_| packed.write_all(&block).unwrap());
        packed.finish().unwrap()
    };
    let body = deflated(256 << 20);
    let mut bomb = 0x1c84_9314_u32.to_be_bytes().to_vec();
    bomb.extend((body.len() as u32).to_be_bytes());
    bomb.extend(body);
    let blocks = "start_ns,length_ns,count,sum,sum_squares,v1,t1,v2,t2,v3,t3,v4,t4\n".to_owned();
    let largest = "value,at_ns,class\n".to_owned() + &"1,1,\n".repeat(10_000_000);
    for (key, bytes, told) in [
        ("histogram", bomb, "inflates to more than"),
        ("blocks", (blocks + &"0,0,0,0,0,1,1,1,1,1,1,1,1\n".repeat(2_000_000)).into_bytes(), "more than 100000 lines"),
        ("largest", largest.into_bytes(), "more than 65536 lines"),
        ("blocks", vec![b'\n'; 65 << 20], "more than the 67108864 that a valid file may have"),
    ] {
        let sound = fs::read(name(key)).unwrap();
        fs::write(name(key), bytes).unwrap();
        let text = said(&world, &["show", "--full", run.to_str().unwrap()]);
        assert!(text.contains(told), "{key}: {text}");
        fs::write(name(key), sound).unwrap();
    }
}

/// A million cells in run.json; a thousand cells that link to one large record; a description of 30 MB in a store of many runs.
#[test]
fn runs_of_too_many_cells_and_words_are_refused() {
    let world = World::new();
    let run = made_up(&world);
    let dir = run.to_str().unwrap();
    let sound = read(&run.join("run.json"));
    let mut many = sound.clone();
    let cell = serde_json::to_string(&many["cells"][0]).unwrap();
    many["cells"] = Value::Array(Vec::new());
    let cells = (30 << 20) / (cell.len() + 1);
    let text = many.to_string().replacen(
        "\"cells\":[]",
        &format!("\"cells\":[{}{cell}]", format!("{cell},").repeat(cells)),
        1,
    );
    fs::write(run.join("run.json"), text).unwrap();
    let told = said(&world, &["show", "--full", dir]);
    assert!(told.contains("cells, but latido reads at most 20000"), "{told}");

    fs::write(run.join("run.json"), sound.to_string()).unwrap();
    let record = fs::read_to_string(run.join("cells/001/record.json")).unwrap();
    let large = world.file("large.json", &(record + &" ".repeat(31 << 20)));
    for number in 2..1_000 {
        let cell = run.join(format!("cells/{number:03}"));
        fs::create_dir(&cell).unwrap();
        fs::hard_link(&large, cell.join("record.json")).unwrap();
    }
    let told = said(&world, &["show", "--full", dir]);
    assert!(told.contains("more than the 1073741824 that latido reads of a run"), "{told}");

    let mut long = sound.clone();
    long["meta"]["headline"] = "x".repeat(30 << 20).into();
    let long = world.file("long.json", &long.to_string());
    for number in 0..40 {
        let other = world.store().join(format!("runs/20200101T0000{number:02}Z-x-aaaa"));
        fs::create_dir(&other).unwrap();
        fs::hard_link(&long, other.join("run.json")).unwrap();
    }
    let told = said(&world, &["list", "runs"]);
    assert!(told.contains("but latido reads at most 65536"), "{}", told.len());
    let status = Command::new("mkfifo").arg(world.path("fifo")).status().unwrap();
    assert!(status.success());
    fs::remove_file(run.join("plan.toml")).unwrap();
    fs::rename(world.path("fifo"), run.join("plan.toml")).unwrap();
    (2..1_000).for_each(|number| fs::remove_dir_all(run.join(format!("cells/{number:03}"))).unwrap());
    said(&world, &["show", "--full", dir]);
}

/// latido reads and shows numbers that contradict each other, or whose sum overflows; nothing panics.
#[test]
fn numbers_that_cannot_be_are_read() {
    let world = World::new();
    let run = made_up(&world);
    let path = run.join("cells/001/record.json");
    let sound = read(&path);
    let most = u64::MAX;
    let line = |name: &str| serde_json::json!({ "line": name, "action": "x", "count": most });
    let changes: [(&str, Value); 4] = [
        ("/series/0/max", 0.into()),
        ("/series/0/min", i64::MAX.into()),
        ("/series/0/count", most.into()),
        ("/quality/interrupts", vec![line("1"), line("2"), line("3")].into()),
    ];
    for (place, value) in changes {
        let mut record = sound.clone();
        let (above, key) = place.rsplit_once('/').unwrap();
        record.pointer_mut(above).unwrap()[key] = value;
        fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
        let page = world.path("page.html");
        let report = ["report", "-o", page.to_str().unwrap(), "--figures", "figures"];
        for (words, shown) in [(&["show", "--full"][..], "latency"), (&report, "page.html")] {
            let text = said(&world, &[words, &[run.to_str().unwrap()]].concat());
            assert!(text.contains(shown) && !text.contains("panicked"), "{place}: {words:?}: {text}");
        }
    }
}
