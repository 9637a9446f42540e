//! Writes a running program as text and as JSON: its threads in a table, then the points.

use super::{list, verdict};
use crate::terminal::Style;
use latido_model::{
    check::{Point, Process, Thread},
    clean,
};

/// The columns of the table of threads.
const COLUMNS: [&str; 9] = ["thread", "name", "policy", "CPUs", "on", "faults", "slept", "preempted", "slack µs"];

/// Writes a running program as text: its threads, then the points.
pub fn table(process: &Process, points: &[Point], style: Style) -> String {
    let mut what = format!("{} ({})", clean::line(&process.name), process.pid);
    match process.threads.len() {
        1 => what.push_str(", 1 thread"),
        count => what.push_str(&format!(", {count} threads")),
    }
    let kib = |name: &str, kib: Option<u64>| kib.map_or(String::new(), |kib| format!(", {kib} KiB {name}"));
    what.push_str(&kib("present", process.resident_kib));
    what.push_str(&kib("locked", process.locked_kib));
    let mut text = format!("{what}\n{}\n", verdict(points, "work", style.color));
    let mut rows = vec![COLUMNS.map(String::from)];
    rows.extend(process.threads.iter().map(row));
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
            let padding = width.unwrap_or(0).saturating_sub(cell.chars().count());
            line.push_str(cell);
            line.push_str(&" ".repeat(padding + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text + &groups(process) + &list(points, style)
}

/// Lists the control groups, each with its threads.
fn groups(process: &Process) -> String {
    let mut all: Vec<(String, Vec<u32>)> = Vec::new();
    for thread in &process.threads {
        let group = thread.cgroup.as_deref().map_or_else(|| "?".into(), group);
        match all.iter_mut().find(|(known, _)| *known == group) {
            Some((_, threads)) => threads.push(thread.tid),
            None => all.push((group, vec![thread.tid])),
        }
    }
    let mut text = String::from("\n");
    let several = all.len() > 1;
    for (group, threads) in all {
        let whose: Vec<String> = threads.iter().take(8).map(ToString::to_string).collect();
        let more = if threads.len() > whose.len() { ", ..." } else { "" };
        let whose = if several { format!(" of {}{more}", whose.join(", ")) } else { String::new() };
        text.push_str(&format!("control group{whose}: {group}\n"));
    }
    text
}

/// Shortens `0::/a` to `/a`. In version 1 the controllers precede their path, unless all have the same path.
fn group(text: &str) -> String {
    let mut lines: Vec<(&str, &str)> = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        if let (Some(controllers), Some(path)) = (parts.next(), parts.next()) {
            lines.push((controllers, path));
        }
    }
    let shown = match lines.as_slice() {
        [(_, first), rest @ ..] if rest.iter().all(|(_, path)| path == first) => (*first).to_string(),
        _ => {
            let told = lines.iter().filter(|(_, path)| *path != "/");
            let one = |(controllers, path): &(&str, &str)| match *controllers {
                "" => (*path).to_string(),
                controllers => format!("{controllers}:{path}"),
            };
            told.map(one).collect::<Vec<_>>().join(" ")
        }
    };
    clean::line(&shown).into_owned()
}

fn row(thread: &Thread) -> [String; 9] {
    fn or<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(|| "?".into(), |value| value.to_string())
    }
    let faults = thread.minor_faults.zip(thread.major_faults).map(|(minor, major)| format!("{minor}+{major}"));
    let name = clean::line(&thread.name).into_owned();
    [
        thread.tid.to_string(),
        name,
        or(thread.policy.as_ref()),
        or(thread.cpus.as_ref()),
        or(thread.last_cpu),
        or(faults),
        or(thread.voluntary_switches),
        or(thread.involuntary_switches),
        or(thread.timer_slack_ns.map(|ns| ns as f64 / 1e3)),
    ]
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Examined, json},
        *,
    };
    use latido_model::check::{Remedy, Severity};

    #[test]
    fn groups_of_both_versions_are_short() {
        assert_eq!(group("0::/user.slice/x\n"), "/user.slice/x");
        assert_eq!(group("3:cpu,cpuacct:/\n0::/\n"), "/");
        assert_eq!(group("3:cpu,cpuacct:/fast\n2:cpuset:/\n1:name=systemd:/y\n"), "cpu,cpuacct:/fast name=systemd:/y");
        assert_eq!(group("junk\n"), "");
    }

    /// Returns a thread that has slept and was preempted.
    fn thread(tid: u32, name: &str, policy: &str, cpus: &str) -> Thread {
        Thread {
            tid,
            name: name.into(),
            policy: Some(policy.into()),
            realtime: Some(policy != "other"),
            priority: None,
            cpus: Some(cpus.parse().unwrap()),
            last_cpu: Some(1),
            minor_faults: Some(120),
            major_faults: Some(2),
            voluntary_switches: Some(900),
            involuntary_switches: Some(3),
            timer_slack_ns: Some(50_000),
            cgroup: Some("0::/\n".into()),
        }
    }

    /// Returns a point that decides nothing.
    fn point(check: &str, severity: Severity, state: &str, remedies: Vec<Remedy>) -> Point {
        Point {
            check: check.into(),
            severity,
            state: state.into(),
            why: "Each one is a delay in the midst of the work.".into(),
            remedies,
            decides: false,
            rules_out: None,
        }
    }

    /// Returns a program of two threads and the points about it.
    fn motor() -> (Process, [Point; 2]) {
        let process = Process {
            pid: 77,
            name: "motor".into(),
            command: Some("/usr/bin/motor --fast".into()),
            kernel: false,
            locked_kib: Some(4096),
            resident_kib: Some(5000),
            swapped_kib: Some(0),
            threads: vec![thread(77, "motor", "other", "0-2"), thread(78, "loop", "fifo 80", "3")],
        };
        let remedies = vec![Remedy::Run("ps -eLo rtprio".into()), Remedy::Do("ask again while it works".into())];
        let points = [
            point("priority", Severity::Ok, "at most 80", Vec::new()),
            point("page faults", Severity::Advice, "120 minor, 2 major so far", remedies),
        ];
        (process, points)
    }

    #[test]
    fn a_program_is_shown_thread_by_thread() {
        let (process, points) = motor();
        insta::assert_snapshot!(table(&process, &points, Style { width: 100, color: false }), @r#"
        motor (77), 2 threads, 5000 KiB present, 4096 KiB locked
        fit for real-time work
        1 advice, 1 ok

        thread  name   policy   CPUs  on  faults  slept  preempted  slack µs
        77      motor  other    0-2   1   120+2   900    3          50
        78      loop   fifo 80  3     1   120+2   900    3          50

        control group: /

        advice  page faults  120 minor, 2 major so far
                Each one is a delay in the midst of the work.
                $ ps -eLo rtprio
                - ask again while it works

        ok      priority     at most 80
        "#);
    }

    #[test]
    fn the_document_of_a_program_has_its_threads_and_the_verdict() {
        let (process, points) = motor();
        let document: serde_json::Value = serde_json::from_str(&json(Examined::Process(&process), &points)).unwrap();
        assert_eq!(document["process"]["threads"][1]["policy"], "fifo 80");
        assert_eq!(document["verdict"], "fit");
    }
}
