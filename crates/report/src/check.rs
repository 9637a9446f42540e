//! Writes the points as a table for people and as one JSON document for programs.

pub mod process;
#[cfg(test)]
mod tests;
pub mod timing;

use crate::{
    terminal::{self, Paint, Style},
    words,
};
use latido_model::{
    check::{Fitness, Grade, Point, Process, Purpose, Remedy, Severity},
    clean,
    machine::Machine,
};
use serde::Serialize;
use std::fmt::Write as _;
use timing::Timing;

/// The version of the JSON document.
const SCHEMA: u32 = 1;

/// The most columns of a line of words, even on a wider terminal; commands are never broken.
const WIDTH: usize = 100;

/// What the points concern.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Examined<'a> {
    /// A machine.
    Machine(&'a Machine),
    /// A running program.
    Process(&'a Process),
}

#[derive(Serialize)]
struct CheckDocument<'a> {
    schema: u32,
    verdict: Fitness,
    exit: u8,
    /// The uses that a machine is fit for; empty for a program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    good_for: Vec<Grade>,
    points: &'a [Point],
    #[serde(flatten)]
    subject: Examined<'a>,
}

/// Writes one JSON document.
pub fn json(subject: Examined<'_>, points: &[Point]) -> String {
    let verdict = Fitness::of(points);
    let good_for = match &subject {
        Examined::Machine(_) => Grade::all(points),
        Examined::Process(_) => Vec::new(),
    };
    let document = CheckDocument { schema: SCHEMA, verdict, exit: verdict.exit_code(), good_for, points, subject };
    // Strings, numbers and maps with string keys never fail to serialize.
    serde_json::to_string_pretty(&document).map(|text| clean::text(&text).into_owned() + "\n").unwrap_or_default()
}

/// Writes a table for people.
pub fn table(machine: &Machine, points: &[Point], timing: Option<Timing>, style: Style) -> String {
    let next = timing.map(|timing| timing.next()).unwrap_or_default();
    headline(machine, points, style.color) + &next + &list(points, style) + &together(points)
}

/// Lists all tunings and all boot parameters again, each list in one line to copy.
fn together(points: &[Point]) -> String {
    let (mut tunings, mut parameters): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for remedy in points.iter().filter(|point| point.severity != Severity::Ok).flat_map(|point| &point.remedies) {
        let (words, all) = match remedy {
            Remedy::Tune(word) => (vec![word.as_str()], &mut tunings),
            Remedy::Boot(text) => (text.split_whitespace().collect(), &mut parameters),
            _ => continue,
        };
        for word in words {
            if !all.contains(&word) {
                all.push(word);
            }
        }
    }
    let mut text = String::new();
    if !tunings.is_empty() {
        let tunings = tunings.join(" ");
        let _ =
            write!(text, "\nall tunings together, until `latido tune undo` or a reboot (for one run: --tune each):\n");
        let _ = writeln!(text, "{:DETAIL$}$ sudo latido tune apply {tunings}", "");
    }
    if !parameters.is_empty() {
        let _ = write!(text, "\nall boot parameters together:\n{:DETAIL$}{}\n", "", parameters.join(" "));
    }
    text
}

/// The note on a tuning that periodic tasks do not need.
const BUSY: &str =
    "only for a task that never sleeps; this affects all real-time tasks, and one that hangs blocks its CPU";

/// Lists the points, those to change first.
pub fn list(points: &[Point], style: Style) -> String {
    let width = style.width.min(WIDTH);
    let mut text = String::new();
    let name_width = points.iter().map(|point| point.check.len()).max().unwrap_or(0);
    let indent = DETAIL + name_width + 2;
    let mut sorted: Vec<&Point> = points.iter().collect();
    // The points to change first; within one severity in the order of the checks.
    sorted.sort_by_key(|point| std::cmp::Reverse(point.severity));
    let mut previous = None;
    for point in sorted {
        let brief = point.severity == Severity::Ok;
        // A blank line before each point with explanations, and one before the list of points that are fine.
        if !brief || previous != Some(Severity::Ok) {
            text.push('\n');
        }
        previous = Some(point.severity);
        let mark = paint(point.severity, &format!("{:MARK_WIDTH$}", mark(point.severity)), style.color);
        let _ = write!(text, "{mark} {:name_width$}  ", point.check);
        wrap(&mut text, indent, width, "", &point.state);
        if brief {
            continue;
        }
        let _ = write!(text, "{:DETAIL$}", "");
        wrap(&mut text, DETAIL, width, "", &point.why);
        for remedy in &point.remedies {
            match remedy {
                Remedy::Tune(word) => {
                    let _ = writeln!(text, "{:DETAIL$}$ sudo latido tune apply {word}", "");
                }
                Remedy::TuneForBusy(word) => {
                    let _ = write!(text, "{:DETAIL$}", "");
                    wrap(&mut text, DETAIL, width, "- ", BUSY);
                    let _ = writeln!(text, "{:DETAIL$}$ sudo latido tune apply {word}", "");
                }
                Remedy::Run(command) => {
                    let _ = writeln!(text, "{:DETAIL$}$ {command}", "");
                }
                Remedy::Boot(parameter) => {
                    let _ = writeln!(text, "{:DETAIL$}boot with {parameter}", "");
                }
                Remedy::Do(what) => {
                    let _ = write!(text, "{:DETAIL$}", "");
                    wrap(&mut text, DETAIL, width, "- ", what);
                }
            }
        }
    }
    text
}

fn headline(machine: &Machine, points: &[Point], colour: bool) -> String {
    let mut what = vec![if machine.hostname.is_empty() { "this machine" } else { &machine.hostname }.to_owned()];
    if !machine.kernel.is_empty() {
        what.push(format!("Linux {}", machine.kernel));
    }
    what.extend(machine.architecture.clone());
    what.extend(machine.cpu.online.as_ref().map(|cpus| words::many(cpus.len() as u64, "CPU")));
    format!("{}\n{}{}\n", what.join(", "), grades(points, colour), counts(points))
}

/// Writes the verdict and the number of points per severity, in two lines.
pub fn verdict(points: &[Point], purpose: &str, colour: bool) -> String {
    let (severity, verdict) = match Fitness::of(points) {
        Fitness::Fit => (Severity::Ok, format!("fit for real-time {purpose}")),
        Fitness::Unfit => (Severity::Unfit, format!("NOT fit for real-time {purpose}")),
        Fitness::Unknown => (Severity::Unknown, format!("cannot tell whether it is fit for real-time {purpose}")),
    };
    format!("{}\n{}\n", paint(severity, &verdict, colour), counts(points))
}

/// Writes what the machine is fit for, one line per use: the uses that it is fit for, then the first one for which it is unfit or unknown.
/// No check can prove that a deadline is never missed.
fn grades(points: &[Point], colour: bool) -> String {
    let mut text = String::new();
    for grade in Grade::all(points) {
        let (good, bad) = match grade.purpose {
            Purpose::Compare => ("fit to measure, and to compare its configurations", "real-time measurement"),
            Purpose::SoftDeadlines => ("fit for soft deadlines, which may be missed now and then", "soft deadlines"),
            Purpose::HardDeadlines => (
                "found nothing that rules out hard deadlines: test them in a long run under your own load, with --limit",
                "hard deadlines, which may never be missed",
            ),
        };
        let because = grade.because.join(", ");
        let (severity, said) = match grade.fitness {
            Fitness::Fit => (Severity::Ok, good.to_owned()),
            Fitness::Unfit if grade.purpose == Purpose::Compare => {
                (Severity::Unfit, format!("NOT fit for {bad}: {because}"))
            }
            Fitness::Unfit => (Severity::Warning, format!("NOT fit for {bad}: {because}")),
            Fitness::Unknown => (Severity::Unknown, format!("cannot tell whether it is fit for {bad}: {because}")),
        };
        let _ = writeln!(text, "{}", paint(severity, &said, colour));
        // The next use demands all that this one does, and more.
        if grade.fitness != Fitness::Fit {
            break;
        }
    }
    text
}

/// Writes the number of points per severity.
fn counts(points: &[Point]) -> String {
    let counts: Vec<String> = [Severity::Unfit, Severity::Warning, Severity::Unknown, Severity::Advice, Severity::Ok]
        .into_iter()
        .map(|severity| (severity, points.iter().filter(|point| point.severity == severity).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| match (severity, count) {
            (Severity::Warning, 2..) => format!("{count} warnings"),
            (Severity::Advice, 2..) => format!("{count} pieces of advice"),
            _ => format!("{count} {}", mark(severity)),
        })
        .collect();
    counts.join(", ")
}

/// The width of the longest mark, in characters.
const MARK_WIDTH: usize = 7;

/// The column where reasons and remedies begin: under the name, so that most fit on one line.
const DETAIL: usize = MARK_WIDTH + 1;

fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "ok",
        Severity::Advice => "advice",
        Severity::Unknown => "unknown",
        Severity::Warning => "warning",
        Severity::Unfit => "UNFIT",
    }
}

fn paint(severity: Severity, text: &str, colour: bool) -> String {
    let tone = match severity {
        Severity::Ok => Paint::Good,
        Severity::Advice | Severity::Unknown => Paint::Dim,
        Severity::Warning => Paint::Warn,
        Severity::Unfit => Paint::Bad,
    };
    terminal::paint(text, tone, Style { color: colour, width: usize::MAX })
}

/// Appends words from the current column, which is `indent`, and breaks lines between them.
fn wrap(text: &mut String, indent: usize, width: usize, bullet: &str, words: &str) {
    text.push_str(bullet);
    let start = indent + bullet.len();
    let mut column = start;
    for word in words.split_whitespace() {
        let length = word.chars().count();
        if column > start && column + 1 + length > width {
            let _ = write!(text, "\n{:start$}", "");
            column = start;
        } else if column > start {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}
