//! Lines of `perf script`: `  sh   187 [000]    28.911216: sched:sched_switch: prev_comm=sh ...`.
//!
//! The fields of an event are those that the kernel prints in tracefs. The form is that of tools/perf/builtin-script.c: the task's name,
//! its thread (or process and thread, `187/188`), the CPU, the time in seconds, the period if requested, the event with its system. perf
//! writes a header only on request.

use super::{
    event::{Body, Event, Time},
    line::Line,
    scan::{decimal, digits, first, last_word, number},
};

/// The part of a line before the event's name.
struct Front<'a> {
    task: &'a str,
    /// `None` for a thread that perf no longer knew: perf writes `:-1` and -1 for it.
    pid: Option<u32>,
    tgid: Option<u32>,
    cpu: u32,
    time: u64,
    rest: &'a str,
}

/// Returns whether perf wrote the line for a thread that had ended: `:-1    -1 [000]` also looks like a name and a number in other forms.
pub(super) fn is_of_ended(line: &str) -> bool {
    line.trim_start().starts_with(":-1 ")
}

/// Parses an event.
pub(super) fn event(line: &str) -> Option<Event<'_>> {
    let Front { task, pid, tgid, cpu, time, rest } = front(line)?;
    let (system, behind) = unnumbered(rest).split_once(':')?;
    let (name, fields) = behind.split_once(':')?;
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_word(system) && is_word(name)).then_some(())?;
    // The task that leaves the CPU writes the event of its switch.
    let pid = pid.or_else(|| number(first(fields, "prev_pid=").filter(|_| name == "sched_switch")?));
    let body = Body::Named { name, fields: fields.trim_start() };
    Some(Event { source: None, task, pid, tgid, cpu, flags: None, time: Time::Clock(time), mark: None, body })
}

/// Parses `... PERF_RECORD_LOST lost 5` of `perf script --show-lost-events`.
pub(super) fn lost(line: &str) -> Option<Line<'static>> {
    let (_, count) = line.split_once(": PERF_RECORD_LOST lost ")?;
    let Front { cpu, .. } = front(line)?;
    Some(Line::Lost { cpu, count: Some(number(count.trim())?) })
}

/// Parses `        ffffffff810c1c5d try_to_wake_up ([kernel.kallsyms])`: a function of the stack of the event above.
pub(super) fn called(line: &str) -> Option<Line<'_>> {
    let (address, function) = line.trim().split_once(' ')?;
    let is_address = address.len() >= 4 && address.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_address && function.ends_with(')') && function.contains(" (")).then_some(Line::Stack(function))
}

/// Parses the part before the event's name. A name may contain any part of a line, but not as much as a whole line: so the first place that
/// fits is the right one.
fn front(line: &str) -> Option<Front<'_>> {
    line.match_indices(" [").take(8).find_map(|(at, _)| {
        let (who, after) = line.split_at_checked(at)?;
        let (cpu, after) = digits(after.strip_prefix(" [")?)?;
        let (stamp, rest) = after.strip_prefix("] ")?.split_once(": ")?;
        let stamp = stamp.trim();
        let time = stamp.contains('.').then(|| decimal(stamp, 1_000_000_000))??;
        let (task, ids) = last_word(who)?;
        let (tgid, pid) = ids.split_once('/').map_or((None, ids), |(tgid, pid)| (Some(tgid), pid));
        let tgid = tgid.and_then(number);
        let pid = if pid == "-1" { None } else { Some(number(pid)?) };
        Some(Front { task: task.trim(), pid, tgid, cpu, time, rest })
    })
}

/// Returns the text after the period of a sample.
fn unnumbered(rest: &str) -> &str {
    let rest = rest.trim_start();
    match digits(rest) {
        Some((_, behind)) if behind.starts_with(' ') => behind.trim_start(),
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_perf_are_read() {
        let line =
            "  odd name [1] x  187/188  [003] 30049.371088123:          1 sched:sched_waking: comm=a b pid=18 prio=0";
        let event = event(line).unwrap();
        assert_eq!((event.task, event.pid, event.tgid, event.cpu), ("odd name [1] x", Some(188), Some(187), 3));
        assert_eq!(event.time, Time::Clock(30_049_371_088_123));
        assert_eq!(event.body, Body::Named { name: "sched_waking", fields: "comm=a b pid=18 prio=0" });
        let plain = super::event(" migration/0    18 [000] 3.371093: irq:softirq_entry: vec=1").unwrap();
        assert_eq!((plain.task, plain.pid, plain.tgid), ("migration/0", Some(18), None));
        let gone = " :-1    -1 [000] 3.371093: sched:sched_switch: prev_comm=a prev_pid=31 prev_prio=9";
        assert_eq!(super::event(gone).unwrap().pid, Some(31));
        assert_eq!(super::event(" :-1    -1 [000] 3.371093: sched:sched_waking: comm=a b pid=18").unwrap().pid, None);
        for other in [
            "sh-187 [000] d..2. 28.911216: sched_waking: comm=sh",
            "sh 187 [000] 28.911216: 250000 cycles: ffffffff8",
            "sh x [000] 28.911216: sched:sched_waking: comm=sh",
            "sh 187 [000] 28: sched:sched_waking: comm=sh",
        ] {
            assert!(super::event(other).is_none(), "{other}");
        }
    }

    #[test]
    fn losses_and_stacks_of_perf_are_known() {
        let text = " sh 1 [002] 1.000000: PERF_RECORD_LOST lost 5   ";
        assert_eq!(super::lost(text), Some(Line::Lost { cpu: 2, count: Some(5) }));
        assert_eq!(super::lost(" sh 1 [002] 1.000000: PERF_RECORD_LOST lost many"), None);
        let stack = "\tffffffff810c1c5d try_to_wake_up+0x1 ([kernel.kallsyms])";
        assert_eq!(called(stack), Some(Line::Stack("try_to_wake_up+0x1 ([kernel.kallsyms])")));
        assert_eq!(called("this is prose (really)"), None);
    }
}
