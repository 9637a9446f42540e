//! Checks the formats with the programs of other projects, where `scripts/readers` or the machine has them.

use super::*;
use latido_model::needs::{Need, skip};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A program that reads a format.
struct Reader {
    format: &'static str,
    /// Its environment: a module of Python or JavaScript, and perhaps a file in `target/readers`.
    with: With,
    /// A script that reads stdin, finds `target/readers` in `READERS`, and fails on text that it does not understand.
    program: &'static str,
}

#[derive(Clone, Copy)]
enum With {
    /// Python with this module.
    Python(&'static str),
    /// Python with this module and a file.
    PythonAnd(&'static str, &'static str),
    /// Node with this module.
    Node(&'static str),
}
use With::{Node, Python, PythonAnd};

const fn reader(format: &'static str, with: With, program: &'static str) -> Reader {
    Reader { format, with, program }
}

const READERS: &[Reader] = &[
    reader("ktap", PythonAnd("json", "linux/tools/testing/kunit/kunit.py"), KUNIT),
    reader("ktap", Node("tap-parser"), TAP),
    reader("junit", Python("xml.etree.ElementTree"), XML),
    reader("junit", Python("junitparser"), JUNIT),
    reader("junit", PythonAnd("xmlschema", "junit-10.xsd"), XSD),
    reader(
        "kcidb",
        Python("kcidb_io"),
        "import json, sys, kcidb_io\nkcidb_io.schema.LATEST.validate(json.load(sys.stdin))",
    ),
    reader(
        "prometheus",
        Python("prometheus_client.parser"),
        "import sys, prometheus_client.parser as p\nassert len(list(p.text_string_to_metric_families(sys.stdin.read()))) > 4",
    ),
    reader("prometheus", PythonAnd("json", "promtool"), PROMTOOL),
    reader(
        "openmetrics",
        Python("prometheus_client.openmetrics.parser"),
        "import sys, prometheus_client.openmetrics.parser as p\nassert len(list(p.text_string_to_metric_families(sys.stdin.read()))) > 4",
    ),
    reader("hlog", Python("hdrh.log"), HLOG),
    reader("hlog", Node("hdr-histogram-js"), HLOG_NODE),
    reader("bencher", Python("jsonschema"), BENCHER),
    reader("github-action-benchmark", Python("jsonschema"), BENCHMARK),
    reader(
        "otava",
        Python("csv"),
        "import csv, sys\nrows = list(csv.DictReader(sys.stdin))\nassert rows and all(all(row.values()) for row in rows)",
    ),
    reader("otava", Python("otava"), OTAVA),
];

/// kunit.py finds every test and reports no crash.
const KUNIT: &str = r#"
import os, re, subprocess, sys, tempfile
text = sys.stdin.read()
with tempfile.NamedTemporaryFile("w", suffix=".ktap") as file:
    file.write(text)
    file.flush()
    command = [sys.executable, os.environ["READERS"] + "/linux/tools/testing/kunit/kunit.py", "parse", file.name]
    told = subprocess.run(command, capture_output=True, text=True).stdout
ended = re.search(r"Testing complete. Ran (\d+) tests", told)
wanted = len(re.findall(r"^  (?:not )?ok ", text, re.M))
assert ended and int(ended[1]) == wanted and "crash" not in told.lower(), (wanted, told)
"#;

const TAP: &str = r#"
const { Parser } = require("tap-parser");
let text = "";
process.stdin.on("data", piece => text += piece).on("end", () => {
  const parser = new Parser(found => {
    if (found.bailout || found.count < 5 || found.ok || found.plan.end !== found.count) {
      console.error(JSON.stringify(found));
      process.exit(1);
    }
  });
  parser.end(text);
});
"#;

const XSD: &str = r#"
import os, sys, tempfile, xmlschema
with tempfile.NamedTemporaryFile(suffix=".xml") as file:
    file.write(sys.stdin.buffer.read())
    file.flush()
    xmlschema.XMLSchema(os.environ["READERS"] + "/junit-10.xsd").validate(file.name)
"#;

const PROMTOOL: &str = r#"
import os, subprocess, sys
told = subprocess.run([os.environ["READERS"] + "/promtool", "check", "metrics"], stdin=sys.stdin, capture_output=True, text=True)
assert told.returncode == 0, told.stderr
"#;

const HLOG_NODE: &str = r#"
const { HistogramLogReader } = require("hdr-histogram-js");
let text = "";
process.stdin.on("data", piece => text += piece).on("end", () => {
  const reader = new HistogramLogReader(text);
  const totals = [];
  for (let one; (one = reader.nextIntervalHistogram()) != null;) totals.push(one.totalCount);
  if (totals.join() !== "1000,1000,1000,4,1000") {
    console.error(totals);
    process.exit(1);
  }
});
"#;

/// Bencher's documented metric format: benchmarks that contain measures that contain metrics.
const BENCHER: &str = r#"
import json, jsonschema, sys
metric = {"type": "object", "required": ["value"], "additionalProperties": False,
          "properties": {key: {"type": "number"} for key in ("value", "lower_value", "upper_value")}}
measures = {"type": "object", "minProperties": 1, "additionalProperties": metric}
jsonschema.validate(json.load(sys.stdin), {"type": "object", "minProperties": 1, "additionalProperties": measures})
"#;

const BENCHMARK: &str = r#"
import json, jsonschema, sys
text = {"type": "string", "minLength": 1}
entry = {"type": "object", "required": ["name", "unit", "value"], "additionalProperties": False,
         "properties": {"name": text, "unit": {"type": "string"}, "value": {"type": "number"}, "range": text, "extra": text}}
jsonschema.validate(json.load(sys.stdin), {"type": "array", "minItems": 1, "items": entry})
"#;

/// Otava analyses the file as a history that repeats one point, with every column as a metric.
const OTAVA: &str = r#"
import csv, io, os, pathlib, subprocess, sys, tempfile
text = sys.stdin.read()
columns = [column for column in next(csv.reader(io.StringIO(text))) if column not in ("time", "commit")]
with tempfile.TemporaryDirectory() as folder:
    file, config = pathlib.Path(folder, "history.csv"), pathlib.Path(folder, "otava.yaml")
    head, *rows = text.splitlines()
    # One row is no history: the same again on the days before.
    days = [row.replace("2026-11-21", f"2026-11-{day:02}") for day in range(1, 22) for row in rows]
    file.write_text("\n".join([head, *days]) + "\n")
    metrics = "".join(f"      {column}: {{column: {column}, direction: -1}}\n" for column in columns)
    config.write_text(f"tests:\n  latido:\n    type: csv\n    file: {file}\n    time_column: time\n    attributes: [commit]\n    metrics:\n{metrics}")
    otava = pathlib.Path(sys.executable).with_name("otava")
    command = [otava, "analyze", "latido", "--since", "2026-10-01"]
    told = subprocess.run(command, env={**os.environ, "OTAVA_CONFIG": str(config)}, capture_output=True, text=True)
    assert told.returncode == 0 and columns[0] in told.stdout and "ERROR" not in told.stderr, told.stdout + told.stderr
"#;

/// This checks the totals, because neither schemas nor parsers add them up.
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

/// The directory in which `scripts/readers` installs them.
fn installed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers")
}

/// Returns the program that runs a reader's script, with the arguments before the script, or what is missing.
fn found(with: With) -> Result<(PathBuf, &'static [&'static str]), String> {
    let readers = installed();
    let runs = |program: &PathBuf, words: [&str; 2]| {
        let mut command = command(program);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    match with {
        PythonAnd(_, file) if !readers.join(file).exists() => Err(format!("there is no {file} in target/readers")),
        Python(module) | PythonAnd(module, _) => {
            let has = |python: &PathBuf| runs(python, ["-c", &format!("import {module}")]);
            let found = [readers.join("python/bin/python3"), "python3".into()].into_iter().find(has);
            Ok((found.ok_or(format!("python3 has no module {module}"))?, &["-X", "utf8", "-c"]))
        }
        Node(module) if runs(&"node".into(), ["-e", &format!("require('{module}')")]) => Ok(("node".into(), &["-e"])),
        Node(module) => Err(format!("node has no module {module}")),
    }
}

fn command(program: &PathBuf) -> Command {
    let mut command = Command::new(program);
    command.env("READERS", installed()).env("NODE_PATH", installed().join("node/node_modules"));
    command
}

fn read(mut reader: Command, program: &str, text: &str) -> Result<(), String> {
    reader.arg(program).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = reader.spawn().unwrap();
    // A reader that refuses the text at once closes its end of the pipe: its message is more useful than the failed write.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    let output = child.wait_with_output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// What these readers say against texts of a format; those that are missing here are noted.
fn complaints<'a>(readers: impl Iterator<Item = &'a Reader>, texts: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let mut failed = Vec::new();
    for Reader { format, with, program } in readers {
        let (reader, words) = match found(*with) {
            Ok(found) => found,
            Err(why) => {
                skip(&format!("the export {format}"), Need::Readers, &format!("{why}: scripts/readers installs it"));
                continue;
            }
        };
        let texts = texts(format);
        assert!(!texts.is_empty(), "there is no text of {format}");
        for text in texts {
            let mut reader = command(&reader);
            reader.args(words);
            failed.extend(read(reader, program, &text).map_err(|error| format!("{format}: {error}\n{text}")).err());
        }
    }
    failed
}

#[test]
fn others_read_them() {
    let runs = ["quick", "a\"b' <c>&amp; \\ # {x=\"y\"}\n| ]]> \u{1b}[2J"].map(texts);
    let of_format = |format: &str| {
        let all = runs.iter().flatten().filter(|(name, _)| *name == format);
        all.map(|(_, text)| text.clone()).collect()
    };
    let failed = complaints(READERS.iter(), of_format);
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// The third reader's program counts more tests than a comparison has.
#[test]
fn others_read_what_compare_writes_for_them() {
    let values = |of: f64| (0..6).map(|at| of + f64::from(at)).collect();
    let arms = [("a <&\" ]]>\n", 10.0), ("b", 30.0), ("c", 10.2), ("d", 1.0)];
    let arms = arms.map(|(name, of)| latido_judge::numbers::compare::Arm { name: name.into(), values: values(of) });
    let (question, kind) = (latido_statistics::two::Question::RATIO, latido_judge::numbers::Kind::AsGiven);
    let found = latido_judge::numbers::compare::of(&arms, question, kind).unwrap();
    let readers = READERS.iter().filter(|one| one.format == "junit" && one.program != JUNIT);
    let failed = complaints(readers, |_| vec![crate::export::compared::values(&found, "<&>.csv")]);
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
