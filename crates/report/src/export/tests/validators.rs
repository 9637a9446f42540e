//! The formats as programs of others read them, where these are installed: Python's modules, looked for by name.

use super::*;
use std::{
    io::Write,
    process::{Command, Stdio},
};

/// What reads a format: the module that it takes, and a program that reads stdin and fails where it is not understood.
const READERS: &[(&str, &str, &str)] = &[
    ("junit", "xml.etree.ElementTree", XML),
    ("junit", "junitparser", JUNIT),
    ("kcidb", "kcidb_io", "import json, sys, kcidb_io\nkcidb_io.schema.LATEST.validate(json.load(sys.stdin))"),
    (
        "prometheus",
        "prometheus_client.parser",
        "import sys, prometheus_client.parser as p\nassert len(list(p.text_string_to_metric_families(sys.stdin.read()))) > 4",
    ),
    (
        "openmetrics",
        "prometheus_client.openmetrics.parser",
        "import sys, prometheus_client.openmetrics.parser as p\nassert len(list(p.text_string_to_metric_families(sys.stdin.read()))) > 4",
    ),
    ("hlog", "hdrh.log", HLOG),
    (
        "otava",
        "csv",
        "import csv, sys\nrows = list(csv.DictReader(sys.stdin))\nassert rows and all(all(row.values()) for row in rows)",
    ),
];

/// Neither schemas nor parsers add the totals up.
const XML: &str = r#"
import sys, xml.etree.ElementTree as e
root = e.fromstring(sys.stdin.buffer.read())
names = [case.get("name") for case in root.iter("testcase")]
assert len(set(names)) == len(names) == int(root.get("tests")) > 0
for suite in root.iter("testsuite"):
    for key, tag in ("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"):
        assert int(suite.get(key)) == len(list(suite.iter(tag))), (suite.get("name"), key)
for key, tag in ("failures", "failure"), ("errors", "error"):
    assert int(root.get(key)) == len(list(root.iter(tag))), key
"#;

const JUNIT: &str = r#"
import sys, junitparser
found = junitparser.JUnitXml.fromstring(sys.stdin.buffer.read())
cases = [case for suite in found for case in suite]
assert len(cases) > 10 and sum(not case.result for case in cases) < len(cases)
"#;

const HLOG: &str = r#"
import sys, tempfile, hdrh.histogram, hdrh.log
with tempfile.NamedTemporaryFile("w", suffix=".hlog") as file:
    file.write(sys.stdin.read())
    file.flush()
    into = hdrh.histogram.HdrHistogram(1, 2 ** 40, 3)
    reader = hdrh.log.HistogramLogReader(file.name, into)
    totals = []
    while True:
        interval = reader.get_next_interval_histogram()
        if not interval:
            break
        totals.append(interval.get_total_count())
assert totals == [1000, 1000, 1000, 4, 1000], totals
"#;

fn skipped(what: &str, why: &str) {
    println!("skipped: {what}: {why}");
    if let Some(list) = std::env::var_os("LATIDO_SKIPS") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(list).unwrap();
        writeln!(file, "{what}: {why}").unwrap();
    }
}

/// Whether Python has a module.
fn has(module: &str) -> bool {
    let import = format!("import {module}");
    let found = Command::new("python3").args(["-c", &import]).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

fn read(program: &str, text: &str) -> Result<(), String> {
    let mut python = Command::new("python3");
    python.args(["-X", "utf8", "-c", program]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = python.spawn().unwrap();
    // One that refuses at once closes its end: what it says tells more than the failed write.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    let output = child.wait_with_output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn others_read_them() {
    let runs = ["quick", "a\"b' <c>&amp; \\ # {x=\"y\"}\n| ]]> \u{1b}[2J"].map(texts);
    for (format, module, program) in READERS {
        if !has(module) {
            skipped(&format!("the export {format}"), &format!("python3 has no module {module}"));
            continue;
        }
        for texts in &runs {
            let (_, text) = texts.iter().find(|(name, _)| name == format).unwrap();
            read(program, text).unwrap_or_else(|error| panic!("{format} by {module}: {error}\n{text}"));
        }
    }
}
