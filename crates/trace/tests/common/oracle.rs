//! The same file as `trace-cmd report` reads it.

use super::skip;
use latido_trace::{
    file::{Packing, Trace},
    merge::Merge,
    page::Event,
};
use std::process::Command;

/// The CPU, time and name of an event.
type Row = (u32, u64, String);

/// What trace-cmd reads from a file, sorted; `None` if it is not installed, which is noted.
fn report(bytes: &[u8], what: &str) -> Option<Vec<Row>> {
    let path =
        std::env::temp_dir().join(format!("latido-oracle-{}-{}.dat", std::process::id(), what.replace(' ', "-")));
    std::fs::write(&path, bytes).unwrap();
    let output = Command::new("trace-cmd").args(["report", "-N", "-R", "-t", "-i"]).arg(&path).output();
    std::fs::remove_file(&path).unwrap();
    let Ok(output) = output else {
        skip(what, "a program", "trace-cmd is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut rows: Vec<Row> = text.lines().filter_map(row).collect();
    rows.sort_unstable();
    assert!(!rows.is_empty(), "{what}: {text}{}", String::from_utf8_lossy(&output.stderr));
    Some(rows)
}

/// `   task-0-100   [001] 1000.000000123: sched_switch:   …`; times without a point are ticks.
fn row(line: &str) -> Option<Row> {
    let (cpu, rest) = line.split_once('[')?.1.split_once(']')?;
    let mut words = rest.split_whitespace().skip_while(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    let (time, name) = (words.next()?.strip_suffix(':')?, words.next()?.strip_suffix(':')?);
    let time = match time.split_once('.') {
        Some((seconds, ns)) => seconds.parse::<u64>().ok()? * 1_000_000_000 + ns.parse::<u64>().ok()?,
        None => time.parse().ok()?,
    };
    Some((cpu.parse().ok()?, time, name.to_owned()))
}

/// Every event of every ring, as the crate reads it.
fn own(bytes: &[u8]) -> Vec<Row> {
    let trace = Trace::open(bytes).unwrap();
    let mut rows = Vec::new();
    for buffer in &trace.buffers {
        Merge::of(&trace, buffer).each(&mut |cpu: u32, event: Event<'_>| {
            let id = trace.endian.u16(event.data, 0).unwrap();
            let known = trace.formats.iter().find(|one| one.format.id == id);
            rows.push((cpu, event.time, known.map_or_else(|| id.to_string(), |one| one.format.name.clone())));
        });
    }
    rows.sort_unstable();
    rows
}

/// Checks that trace-cmd reads the same events with the same times. Which compression trace-cmd knows depends on its build.
pub fn agrees(bytes: &[u8], what: &str) {
    let packing = match Trace::open(bytes).unwrap().packing {
        Packing::None => None,
        Packing::Zlib => Some("zlib"),
        Packing::Zstd => Some("zstd"),
    };
    let known = Command::new("trace-cmd").args(["list", "-c"]).output().map(|output| output.stdout).unwrap_or_default();
    if let Some(packing) = packing.filter(|name| !String::from_utf8_lossy(&known).contains(name)) {
        return skip(what, "a program", &format!("no trace-cmd that knows {packing}"));
    }
    if let Some(theirs) = report(bytes, what) {
        let ours = own(bytes);
        let differs = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        assert_eq!((differs, ours.len()), (None, theirs.len()), "{what}");
    }
}
