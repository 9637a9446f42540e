//! How a simulated kernel prints what was written.

use crate::machine::{form::Form, kernel::ethtool::parameter};
use latido_model::cpus::CpuSet;

/// Returns the content of a file, formerly `old`, after a value was written to it.
pub fn printed(form: Form, old: &str, value: &str) -> String {
    if old.trim_matches('\0').is_empty() {
        return value.into();
    }
    let (body, end) = match old.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (old, ""),
    };
    let new = match form {
        Form::Choice => choice(body, value),
        Form::Mask | Form::Requested => mask(body, value),
        Form::L3 => body.lines().map(|line| l3(line, value)).collect::<Vec<_>>().join("\n"),
        Form::Cpus => value.parse().map_or_else(|_| value.into(), |cpus| list(&cpus)),
        Form::Plain => value.into(),
    };
    new + end
}

/// Marks another word in `always [madvise] never`.
fn choice(old: &str, value: &str) -> String {
    let brackets = if old.contains('(') { ('(', ')') } else { ('[', ']') };
    let mark = |word: &str| {
        let plain = word.trim_matches(['[', ']', '(', ')']);
        if plain == value { format!("{}{plain}{}", brackets.0, brackets.1) } else { plain.into() }
    };
    old.split(' ').map(mark).collect::<Vec<_>>().join(" ")
}

/// Formats a mask with the digits and commas of the old one.
fn mask(old: &str, value: &str) -> String {
    let digits = value.replace(',', "");
    let mut rest = digits.chars().rev();
    let turned: String = old.chars().rev().map(|c| if c == ',' { ',' } else { rest.next().unwrap_or('0') }).collect();
    turned.chars().rev().collect()
}

/// Replaces the masks in the line of level 3. Other lines stay as they are.
fn l3(line: &str, value: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    match line.trim().strip_prefix("L3:") {
        Some(_) => format!("{}{value}", " ".repeat(indent)),
        None => line.into(),
    }
}

/// Formats CPUs as a kernel lists them: two neighbours also form a range.
pub fn list(cpus: &CpuSet) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus.iter() {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let run = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs.into_iter().map(run).collect::<Vec<_>>().join(",")
}

/// Returns the output of `ethtool -c` after a parameter was set.
pub fn coalescing(text: &str, key: &str, value: &str) -> String {
    let set = |line: &str| match (line.strip_prefix("Adaptive RX:"), key) {
        (Some(_), "adaptive-rx" | "adaptive-tx") => {
            let keep = |key: &str| parameter(text, key).unwrap_or_default();
            let (rx, tx) = if key == "adaptive-rx" {
                (value.into(), keep("adaptive-tx"))
            } else {
                (keep("adaptive-rx"), value.into())
            };
            format!("Adaptive RX: {rx}  TX: {tx}")
        }
        _ if line.split(':').next() == Some(key) => {
            let space = line.chars().skip(key.len() + 1).take_while(|c| c.is_whitespace());
            format!("{key}:{}{value}", space.collect::<String>())
        }
        _ => line.into(),
    };
    text.split('\n').map(set).collect::<Vec<_>>().join("\n")
}
