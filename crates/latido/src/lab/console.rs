//! The end of a guest's console output, as part of an error.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

/// How many lines of a guest's log an error shows.
const LINES: usize = 12;

/// How much of a guest's log latido reads, in bytes from its end.
const LOG: u64 = 1 << 20;

/// Returns the end of a guest's log, as part of an error. If the kernel panicked, the reason comes first: a backtrace follows it in the
/// log.
pub(super) fn log(dir: &Path) -> String {
    let path = dir.join("console.log");
    let text = last(&path, LINES);
    let all = tail(&path);
    let cause = all.lines().rfind(|line| line.contains("Kernel panic")).map(latido_model::clean::line);
    let cause = cause.filter(|line| !text.contains(line.trim())).map(|line| format!("  | {}\n", line.trim()));
    let text = if text.is_empty() { text } else { cause.unwrap_or_default() + &text };
    if text.is_empty() {
        "; it wrote nothing on its console".into()
    } else {
        format!("; its console ends with:\n{text}")
    }
}

/// Reads the end of a text file.
fn tail(path: &Path) -> String {
    let mut bytes = Vec::new();
    let _ = File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG)))?;
        file.take(LOG).read_to_end(&mut bytes)
    });
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the last lines of a text file that are not empty.
pub(super) fn last(path: &Path, lines: usize) -> String {
    let text = tail(path).replace('\r', "");
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let lines = all.iter().rev().take(lines).rev().map(|line| format!("  | {}", latido_model::clean::line(line)));
    lines.collect::<Vec<_>>().join("\n")
}
