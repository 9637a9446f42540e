//! Reads what `trace-cmd` prints around events: its own words, and what it reports about the buffers.

use super::{
    line::Line,
    scan::{digits, number},
};

/// Returns whether a text is one of trace-cmd's words that do not concern an event: `cpus=4`, `version = 6`, `CPU 3 is empty`.
pub(super) fn is_word(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((key, value)) = text.split_once('=')
        && matches!(key.trim_end(), "cpus" | "version")
    {
        return is_number(value.trim());
    }
    if let Some(cpu) = text.strip_prefix("CPU ").and_then(|rest| rest.strip_suffix(" is empty")) {
        return is_number(cpu);
    }
    matches!(text, "trace.dat" | "file is little endian" | "file is big endian")
        || text.starts_with("trace-cmd version ")
}

/// Parses a line about missing events, or about the start of a buffer.
pub(super) fn stated(text: &str) -> Option<Line<'_>> {
    lost(text).or_else(|| started(text)).or_else(|| counted(text)).or_else(|| statistic(text))
}

/// Parses `overrun: 5`: a line of `per_cpu/cpuN/stats`, or of `trace-cmd report --stat`, which prints `CPU: 0` before the lines of each
/// CPU.
fn statistic(text: &str) -> Option<Line<'_>> {
    const NAMES: [&str; 9] = [
        "CPU",
        "entries",
        "overrun",
        "commit overrun",
        "bytes",
        "oldest event ts",
        "now ts",
        "dropped events",
        "read events",
    ];
    let (name, value) = text.split_once(": ")?;
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_number && NAMES.contains(&name)).then_some(Line::Statistic { name, value })
}

/// Parses `CPU:0 [LOST 123 EVENTS]` of the kernel and `CPU:0 [123 EVENTS DROPPED]` of `trace-cmd report`, or either without the number.
fn lost(text: &str) -> Option<Line<'static>> {
    let (cpu, rest) = digits(text.strip_prefix("CPU:")?)?;
    let said = rest.trim_start().strip_prefix('[')?.strip_suffix(']')?;
    if said.starts_with("SUBBUFFER START") {
        return Some(Line::Header);
    }
    let count = match said.strip_prefix("LOST").and_then(|rest| rest.strip_suffix("EVENTS")) {
        Some(count) => count,
        None => said.strip_suffix("EVENTS DROPPED")?,
    };
    let count = count.trim();
    let count = if count.is_empty() { None } else { Some(number(count)?) };
    Some(Line::Lost { cpu, count })
}

/// Parses `##### CPU 1 buffer started ####`: the earlier events of this CPU were overwritten.
fn started(text: &str) -> Option<Line<'static>> {
    let (cpu, rest) = digits(text.trim_start_matches('#').strip_prefix(" CPU ")?)?;
    let rest = rest.trim_end_matches('#').trim();
    (rest == "buffer started").then_some(Line::Started { cpu })
}

/// Parses `CPU 0: 90427 events lost`, which `trace-cmd record` prints at its end.
fn counted(text: &str) -> Option<Line<'static>> {
    let (cpu, rest) = digits(text.strip_prefix("CPU ")?)?;
    let count = number(rest.strip_prefix(": ")?.strip_suffix(" events lost")?)?;
    Some(Line::Counted { cpu, count })
}

/// Splits the input from a line of a report with several inputs: `a.dat: CPU:1 [5 EVENTS DROPPED]`. Returns both parts.
pub(super) fn prefixed(text: &str) -> Option<(&str, &str)> {
    let (source, rest) = text.split_once(": ")?;
    let (source, rest) = (source.trim(), rest.trim());
    let known = !source.is_empty() && !source.starts_with('#') && (is_word(rest) || lost(rest).is_some());
    known.then_some((source, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_stated_in_either_form() {
        let lost = |cpu, count| Some(Line::Lost { cpu, count });
        for (text, wanted) in [
            ("CPU:1 [5 EVENTS DROPPED]", lost(1, Some(5))),
            ("CPU:1 [EVENTS DROPPED]", lost(1, None)),
            ("CPU:12 [LOST 7 EVENTS]", lost(12, Some(7))),
            ("CPU:0 [LOST EVENTS]", lost(0, None)),
            ("CPU:0 [LOST x EVENTS]", None),
            ("CPU:0 [SUBBUFFER START]", Some(Line::Header)),
            ("##### CPU 3 buffer started ####", Some(Line::Started { cpu: 3 })),
            ("CPU 0: 90427 events lost", Some(Line::Counted { cpu: 0, count: 90_427 })),
            ("CPU 0 is empty", None),
            ("commit overrun: 7", Some(Line::Statistic { name: "commit overrun", value: "7" })),
            ("CPU: 3", Some(Line::Statistic { name: "CPU", value: "3" })),
            ("now ts: 76885.106165", Some(Line::Statistic { name: "now ts", value: "76885.106165" })),
            ("overrun: many", None),
            ("overrun:", None),
        ] {
            assert_eq!(stated(text), wanted, "{text}");
        }
        assert_eq!(prefixed("  a.dat: CPU:1 [EVENTS DROPPED]"), Some(("a.dat", "CPU:1 [EVENTS DROPPED]")));
        assert_eq!(prefixed("b.dat: cpus=2"), Some(("b.dat", "cpus=2")));
        assert_eq!(prefixed("sh-1 [000] 1.0: x: CPU:1"), None);
    }

    #[test]
    fn words_of_trace_cmd_are_known() {
        assert!(["cpus=64", "version = 6", "CPU 3 is empty", "CPU 10 is empty"].into_iter().all(is_word));
        assert!(!["cpus=", "CPU x is empty", "CPU 1 is full", "version = six"].into_iter().any(is_word));
    }
}
