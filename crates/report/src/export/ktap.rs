//! KTAP 1, the kernel's Test Anything Protocol (Documentation/dev-tools/ktap.rst).

use super::{
    case::{Case, Group, groups},
    format::{Export, Exported, Writer, Written},
    state::State,
    text,
};
use anyhow::Result;

/// The list entry.
pub const EXPORT: Export = Export {
    name: "ktap",
    ending: "ktap",
    needs: None,
    about: "the kernel's Test Anything Protocol: kunit.py, tap-parser, kselftest's tools",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let groups = groups(exported);
    let mut out = format!("KTAP version 1\n1..{}\n", groups.len());
    for (number, group) in (1..).zip(&groups) {
        out.push_str(&subtest(number, group));
    }
    Ok(Written::all(out))
}

/// Writes a parent with its tests, which come before it, indented by two blanks.
fn subtest(number: usize, group: &Group) -> String {
    let name = text::ktap(&group.name);
    let mut out = format!("  KTAP version 1\n  # Subtest: {name}\n  1..{}\n", group.cases.len());
    for (number, case) in (1..).zip(&group.cases) {
        let why = reason(case);
        // A failure has no directive that could give the reason.
        if case.state == State::Fail && !why.is_empty() {
            out.push_str(&format!("  # {why}\n"));
        }
        out.push_str(&format!("  {}", line(number, &text::ktap(&case.name), case.state, &why)));
    }
    out + &line(number, &name, group.state(), "")
}

/// Writes a test's line: `not ok 2 trust # ERROR contaminated: 40 ms stolen`.
fn line(number: usize, name: &str, state: State, why: &str) -> String {
    let words = state.words();
    let ok = if words.ktap.0 { "ok" } else { "not ok" };
    let because = if why.is_empty() { String::new() } else { format!(": {why}") };
    match words.ktap.1 {
        Some(directive) => format!("{ok} {number} {name} # {directive} {}{because}\n", words.word),
        None => format!("{ok} {number} {name}\n"),
    }
}

fn reason(case: &Case) -> String {
    text::ktap_reason(&case.why)
}
