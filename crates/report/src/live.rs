//! The live view of a running cell: lines of text from the agent's messages, for a terminal and for a log.

mod pendulum;

use crate::{
    terminal::{Paint, Style, fit, paint},
    words,
};
use latido_model::{
    cell::Cell,
    clean,
    protocol::{Phase, Progress, ThreadProgress},
    quantity::Measurand,
    units::{human, many},
};

/// What the host knows in addition to the agent's progress.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Number of the cell, from 1.
    pub number: usize,
    /// The number of cells in the run.
    pub cells: usize,
    /// The cell as text.
    pub label: &'a str,
    /// The cell.
    pub cell: &'a Cell,
    /// What its probe measures.
    pub measurand: &'a Measurand,
    /// The time that the cells after this one will take, in ns.
    pub after_ns: u64,
    /// The agent's latest report.
    pub progress: &'a Progress,
}

impl View<'_> {
    /// Returns whether the probe has slots that it can miss.
    fn is_periodic(&self) -> bool {
        self.measurand.quantities.iter().any(|quantity| quantity.periodic)
    }

    /// Returns whether a guest measures, out of the host's view.
    fn is_emulated(&self) -> bool {
        self.progress.phase == Phase::Emulating
    }

    /// Returns the name of the latest value, if all quantities of the probe agree on it.
    fn latest(&self) -> &str {
        match self.measurand.quantities.as_slice() {
            [first, rest @ ..] if rest.iter().all(|other| other.latest == first.latest) => &first.latest,
            _ => "now",
        }
    }

    /// Returns the remaining measurement time of the whole run, in ns; none where the probe counts samples instead.
    fn left(&self) -> Option<u64> {
        let (progress, cell) = (self.progress, self.cell);
        let own = match progress.phase {
            // Emulation takes many times the measured duration: the time that guests have taken so far is the better estimate, not the
            // plan.
            Phase::Emulating if progress.total_ns == 0 => return None,
            Phase::Emulating => {
                let cells = self.cells.saturating_sub(self.number).saturating_add(1) as u64;
                return Some(progress.total_ns.saturating_mul(cells).saturating_sub(progress.elapsed_ns));
            }
            Phase::Measuring if progress.total_ns == 0 => return None,
            Phase::Measuring => progress.total_ns.saturating_sub(progress.elapsed_ns),
            Phase::Finishing | Phase::Undoing | Phase::Sending => 0,
            _ => cell.conditions.duration.0.saturating_add(cell.conditions.warmup.0),
        };
        Some(own.saturating_add(self.after_ns))
    }
}

/// The start of the bars' scale, in ns: four decades from 1 µs, the usual range of latencies.
const BAR_FROM: f64 = 1_000.0;
const BAR_DECADES: f64 = 4.0;

/// Returns the lines of one frame, each no wider than the terminal, and at most `height` of them. If there are more CPUs than lines, those
/// with the largest maxima are shown.
pub fn frame(view: View<'_>, height: usize, style: Style) -> Vec<String> {
    let progress = view.progress;
    let mut lines = vec![paint(&fit(&head(view, style.width), style.width), Paint::Bold, style)];
    // latido discards the samples of the warm-up: figures of them would only look like results.
    if progress.phase == Phase::Measuring && !progress.threads.is_empty() {
        let all = progress.threads.len();
        // In addition to the threads, a frame has a head, a header and a spike, and a line about hidden threads.
        let room = if all + 3 <= height { all } else { height.saturating_sub(4).max(1) };
        let mut shown: Vec<&ThreadProgress> = progress.threads.iter().collect();
        if all > room {
            shown.sort_by_key(|thread| std::cmp::Reverse(thread.max));
            shown.truncate(room);
            shown.sort_by_key(|thread| thread.cpu);
        }
        lines.push(header(view, style));
        lines.extend(shown.iter().map(|thread| row(thread, view, style)));
        if all > room {
            let text = match all - room {
                1 => "      and 1 more CPU with a smaller maximum".into(),
                more => format!("      and {more} more CPUs with smaller maxima"),
            };
            lines.push(paint(&fit(&text, style.width), Paint::Dim, style));
        }
        lines.extend(spike(progress).map(|text| fit(&text, style.width)));
        let room = height.saturating_sub(lines.len());
        lines.extend(pendulum::picture(view.measurand, progress, style.width, room));
    }
    lines.truncate(height.max(1));
    lines
}

/// Returns one line for a log: at the start of the measurement what starts, later what was found.
pub fn line(view: View<'_>) -> String {
    let progress = view.progress;
    // Another process reports these numbers: bad ones must not stop the view.
    let sum = |of: fn(&ThreadProgress) -> u64| progress.threads.iter().map(of).fold(0, u64::saturating_add);
    let timed = progress.threads.iter().filter(|thread| thread.unit.is_none());
    let Some(max) = timed.filter_map(|thread| thread.max).max() else {
        return head(view, usize::MAX);
    };
    let (count, missed) = (sum(|thread| thread.count), sum(|thread| thread.missed));
    let missed = if view.is_periodic() { format!(", {missed} missed") } else { String::new() };
    format!("{}, {}, max {}{missed}", head(view, usize::MAX), many(count, "sample"), human(max))
}

/// Returns the line of a log when a cell starts to measure.
pub fn start(view: View<'_>) -> String {
    let span = match view.progress.total_ns {
        _ if view.is_emulated() => String::new(),
        0 => String::new(),
        short @ 1..1_000_000_000 => format!(" for {}", human(short.cast_signed())),
        total => format!(" for {}", clock(total)),
    };
    let more = if view.number < view.cells { left(view) } else { String::new() };
    let state = if view.is_emulated() { Phase::Emulating.word() } else { "measuring" };
    format!("{}{}, {state}{span}{more}", place(view.number, view.cells), clean::line(view.label))
}

/// Returns the line of a log when a cell has been measured.
pub fn done(number: usize, cells: usize, label: &str) -> String {
    format!("{}{}, measured", place(number, cells), clean::line(label))
}

/// Returns the position in the run; if the line is too long, the label is shortened, not the time.
fn head(view: View<'_>, width: usize) -> String {
    let progress = view.progress;
    let place = place(view.number, view.cells);
    let mut state = format!(", {}", progress.phase.word());
    if progress.phase == Phase::Measuring {
        state = format!("{state} {}", clock(progress.elapsed_ns));
        if progress.total_ns > 0 {
            state = format!("{state} of {}", clock(progress.total_ns));
        }
    }
    state += &left(view);
    let room = width.saturating_sub(place.chars().count() + state.chars().count()).max(6);
    place + &fit(view.label, room) + &state
}

fn place(number: usize, cells: usize) -> String {
    match cells {
        1 => String::new(),
        cells => format!("cell {number} of {cells}: "),
    }
}

fn left(view: View<'_>) -> String {
    let whose = if view.number < view.cells { " in all" } else { "" };
    // Rounded up, so that it and the measured time add up to the whole.
    let up = |ns: u64| ns.saturating_add(999_999_999);
    view.left().map_or_else(String::new, |ns| format!(", {} left{whose}", clock(up(ns))))
}

/// Returns whether the middle columns fit, and the width of the bar (0 for none).
fn layout(view: View<'_>, style: Style) -> (bool, usize) {
    let middle = style.width >= 52;
    let fixed = 4
        + what(view, "").chars().count()
        + 10
        + 10
        + if middle { 20 } else { 0 }
        + if view.is_periodic() { 8 } else { 0 };
    let bar = style.width.saturating_sub(fixed + 2).min(40);
    (middle, if bar >= 16 { bar } else { 0 })
}

/// Returns the name of what a row measures, if not all rows measure the same.
fn what(view: View<'_>, name: &str) -> String {
    let names = || view.progress.threads.iter().map(|thread| thread.name.as_str());
    let first = names().next().unwrap_or_default();
    if names().all(|other| other == first) {
        return String::new();
    }
    let width = names().map(|name| name.chars().count()).max().unwrap_or(0).min(WHAT);
    format!("  {:<width$}", fit(name, width))
}

/// The largest width of a row's name.
const WHAT: usize = 24;

fn header(view: View<'_>, style: Style) -> String {
    let (middle, bar) = layout(view, style);
    let middle = if middle { format!("  {:>8}  {:>8}", "p50", "p99.9") } else { String::new() };
    let missed = if view.is_periodic() { "  missed" } else { "" };
    let legend = if bar >= 25 { "=p50 -p99.9 |max" } else { "" };
    let scale = match bar {
        0 => String::new(),
        _ => format!("  1µs{legend:^w$}10ms", w = bar - 7),
    };
    let what = what(view, "");
    let text = format!("{:>4}{what}  {:>8}{middle}  {:>8}{missed}{scale}", "CPU", clean::line(view.latest()), "max");
    paint(&fit(&text, style.width), Paint::Dim, style)
}

fn row(thread: &ThreadProgress, view: View<'_>, style: Style) -> String {
    let (middle, bar) = layout(view, style);
    let cpu = thread.cpu.map_or_else(|| "-".into(), |cpu| cpu.to_string());
    let unit = thread.unit.as_deref().unwrap_or("ns");
    let time = |value: Option<i64>| value.map_or_else(|| "-".into(), |value| fit(&shown(value, unit), 8));
    let over = |value: i64| {
        unit == "ns" && view.cell.conditions.limit.is_some_and(|limit| i128::from(value) > i128::from(limit.0))
    };
    let now = if thread.count > 0 { Some(thread.now) } else { None };
    let middle = if middle { format!("  {:>8}  {:>8}", time(thread.p50), time(thread.p999)) } else { String::new() };
    let max = format!("{:>8}", time(thread.max));
    let max = if thread.max.is_some_and(over) { paint(&max, Paint::Bad, style) } else { max };
    let missed = format!("{:>6}", short(thread.missed));
    let missed = if thread.missed > 0 { paint(&missed, Paint::Bad, style) } else { missed };
    let missed = if view.is_periodic() { format!("  {missed}") } else { String::new() };
    let text = format!("{cpu:>4}{}  {:>8}{middle}  {max}{missed}", what(view, &thread.name), time(now));
    if bar > 0 && unit == "ns" { format!("{text}  {}", bar_of(thread, bar)).trim_end().to_string() } else { text }
}

/// Formats a value of any unit; an angle is in degrees, like the pendulum next to it.
fn shown(value: i64, unit: &str) -> String {
    match unit {
        "urad" => format!("{:.2}°", (value as f64 * 1e-6).to_degrees()),
        _ => words::value(value as f64, unit).replace('\u{a0}', " "),
    }
}

/// Formats a count in at most six characters.
fn short(count: u64) -> String {
    match count {
        0..1_000_000 => count.to_string(),
        1_000_000..100_000_000 => format!("{}k", count / 1_000),
        _ => fit(&format!("{}M", count / 1_000_000), 6),
    }
}

/// Draws `====---|`: to the median, to p99.9, and the maximum, on a logarithmic scale from 1 µs to 10 ms.
fn bar_of(thread: &ThreadProgress, width: usize) -> String {
    let place = |value: Option<i64>| {
        let decades = (value.unwrap_or(0).max(1) as f64 / BAR_FROM).log10() / BAR_DECADES;
        (decades.clamp(0.0, 1.0) * width as f64).round() as usize
    };
    let (median, tail, max) = (place(thread.p50), place(thread.p999), place(thread.max));
    let mut bar: Vec<char> = (0..width)
        .map(|k| {
            if k < median {
                '='
            } else if k < tail {
                '-'
            } else {
                ' '
            }
        })
        .collect();
    if thread.max.is_some()
        && let Some(mark) = bar.get_mut(max.saturating_sub(1))
    {
        *mark = '|';
    }
    bar.into_iter().collect()
}

fn spike(progress: &Progress) -> Option<String> {
    let timed = progress.threads.iter().filter(|thread| thread.unit.is_none());
    let latest = timed.filter_map(|thread| Some((thread.spike?, thread.cpu)));
    let ((value, at), cpu) = latest.max_by_key(|((_, at), _)| *at)?;
    let cpu = cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
    Some(format!("last spike {}{cpu} at {}", human(value), clock(at)))
}

/// Formats a time like a clock: `0:07`, `12:30`, `71:59:01`.
fn clock(ns: u64) -> String {
    let s = ns / 1_000_000_000;
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

#[cfg(test)]
mod tests;
