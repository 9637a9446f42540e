//! Joins lines that a mailer broke in two: the first piece shows what is missing, and the next line contains it.
//!
//! latido joins only forms with a known end, and only if the joined line is then complete. All other lines stay as they are.

use super::{
    event::{Body, Event},
    scan::{decimal, number},
};

/// The most pieces of a broken line.
pub(super) const PIECES: usize = 4;

/// Returns whether the end of an event is missing: everything after its time, or the last of its fields.
pub(super) fn is_begun(event: &Event<'_>) -> bool {
    match event.body {
        Body::Other(text) => text.trim().is_empty() || tracer(text),
        Body::Named { name: "sched_switch", fields } => switch(fields),
        Body::Named { name: "sched_waking" | "sched_wakeup" | "sched_wakeup_new", fields } => {
            fields.is_empty() || fields.contains("comm=") && !valued(fields, " prio=")
        }
        Body::Named { name: "irq_handler_entry" | "irq_handler_exit", fields } => fields.is_empty(),
        Body::Named { name: "softirq_entry" | "softirq_exit" | "softirq_raise", fields } => fields.is_empty(),
        _ => false,
    }
}

/// Returns whether a text is `#1 inner/outer(us):` without `ts:`, `#1 context irq` without the value, or too few numbers of osnoise.
fn tracer(text: &str) -> bool {
    if let Some((sample, rest)) = text.strip_prefix('#').and_then(|text| text.split_once(' ')) {
        let rest = rest.trim_start();
        return number::<u64>(sample).is_some()
            && (rest.starts_with("inner/outer(us):") || rest.starts_with("context"));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    (2..9).contains(&words.len())
        && words.iter().enumerate().all(|(at, word)| match at {
            2 => decimal(word, 100_000).is_some(),
            _ => number::<u64>(word).is_some(),
        })
}

/// Returns whether the kernel's fields lack the last one, or trace-cmd's fields lack the task that comes.
fn switch(fields: &str) -> bool {
    if fields.is_empty() {
        return true;
    }
    if fields.contains("prev_comm=") {
        return !valued(fields, " next_prio=");
    }
    let side = |text: &str| text.rsplit_once(" [").is_some_and(|(_, level)| level.contains(']'));
    match fields.split_once("==>") {
        Some((from, to)) => side(from) && !side(to),
        None => side(fields),
    }
}

/// Returns whether a key has a value.
fn valued(fields: &str, key: &str) -> bool {
    fields.rsplit_once(key).is_some_and(|(_, value)| !value.is_empty())
}

/// Returns whether a line that must continue can be a piece of an event, not prose.
pub(super) fn is_piece(text: &str) -> bool {
    text.contains(['=', ':']) || text.split_whitespace().all(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns whether a line of a header continues on the next line: its bracket is open.
pub(super) fn is_begun_header(text: &str) -> bool {
    let said = text.trim_start_matches('#').trim_start();
    let bracketed = said.starts_with("latency: ") || said.starts_with("| task: ");
    bracketed && !said.contains(')') && said.contains('(')
}
