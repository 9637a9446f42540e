//! The live view of a running cell: lines of text from what the agent says, for a terminal and for a log.

mod pendulum;

use crate::terminal::{Paint, Style, fit, paint};
use latido_model::{
    cell::Cell,
    protocol::{Progress, ThreadProgress},
    quantity::Measurand,
    units::{self, human},
};

/// What the host knows beside the agent's progress.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Number of the cell, from 1.
    pub number: usize,
    /// How many cells the run has.
    pub cells: usize,
    /// The cell in words.
    pub label: &'a str,
    /// The cell.
    pub cell: &'a Cell,
    /// What its probe measures.
    pub measurand: &'a Measurand,
    /// Time that the cells after this one will take, in ns.
    pub after_ns: u64,
    /// What the agent said last.
    pub progress: &'a Progress,
}

impl View<'_> {
    /// Whether the probe has slots to miss.
    fn is_periodic(&self) -> bool {
        self.measurand.quantities.iter().any(|quantity| quantity.periodic)
    }

    /// What the probe's last value is: a loop that never sleeps keeps the last gap that was not an ordinary one.
    fn last(&self) -> &'static str {
        if self.cell.probe.name == "gap" { "last gap" } else { "now" }
    }

    /// Time left of the whole run, in ns, as far as it is spent measuring; none where samples are counted instead.
    fn left(&self) -> Option<u64> {
        let (progress, cell) = (self.progress, self.cell);
        let own = match progress.phase.as_str() {
            "measuring" if progress.total_ns == 0 => return None,
            "measuring" => progress.total_ns.saturating_sub(progress.elapsed_ns),
            "finishing" => 0,
            _ => cell.conditions.duration.0.saturating_add(cell.conditions.warmup.0),
        };
        Some(own.saturating_add(self.after_ns))
    }
}

/// The scale of the bars: four decades from 1 us, where latencies live.
const BAR_FROM: f64 = 1_000.0;
const BAR_DECADES: f64 = 4.0;

/// The lines of one frame, each no wider than the terminal and no more than `height` of them. With more CPUs than
/// lines, those with the largest maxima are shown.
pub fn frame(view: View<'_>, height: usize, style: Style) -> Vec<String> {
    let progress = view.progress;
    let mut lines = vec![paint(&fit(&head(view, style.width), style.width), Paint::Bold, style)];
    // What is shown during the warm-up is forgotten: figures of it would only seem to be results.
    if progress.phase == "measuring" && !progress.threads.is_empty() {
        let all = progress.threads.len();
        // Beside the threads: head, header and spike, and a line on those that are not shown.
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
        lines.extend(pendulum::picture(progress, style.width, room));
    }
    lines.truncate(height.max(1));
    lines
}

/// One line for a log: at the start of measuring what begins, later what was found.
pub fn line(view: View<'_>) -> String {
    let progress = view.progress;
    // Numbers of another process: hostile ones must not stop the view.
    let sum = |of: fn(&ThreadProgress) -> u64| progress.threads.iter().map(of).fold(0, u64::saturating_add);
    let timed = progress.threads.iter().filter(|thread| thread.unit.is_none());
    let Some(max) = timed.filter_map(|thread| thread.max).max() else {
        return head(view, usize::MAX);
    };
    let (count, missed) = (sum(|thread| thread.count), sum(|thread| thread.missed));
    let missed = if view.is_periodic() { format!(", {missed} missed") } else { String::new() };
    format!("{}, {count} samples, max {}{missed}", head(view, usize::MAX), human(max))
}

/// The line of a log when a cell begins to measure.
pub fn start(view: View<'_>) -> String {
    let span = match view.progress.total_ns {
        0 => String::new(),
        total => format!(" for {}", clock(total)),
    };
    let more = if view.number < view.cells { left(view) } else { String::new() };
    format!("{}{}, measuring{span}{more}", place(view), view.label)
}

/// Where the run is; too long a label gives way, not the time.
fn head(view: View<'_>, width: usize) -> String {
    let progress = view.progress;
    let place = place(view);
    let mut state = format!(", {}", progress.phase);
    if progress.phase == "measuring" {
        state = format!("{state} {}", clock(progress.elapsed_ns));
        if progress.total_ns > 0 {
            state = format!("{state} of {}", clock(progress.total_ns));
        }
    }
    state += &left(view);
    let room = width.saturating_sub(place.chars().count() + state.chars().count()).max(6);
    place + &fit(view.label, room) + &state
}

fn place(view: View<'_>) -> String {
    match view.cells {
        1 => String::new(),
        cells => format!("cell {} of {cells}: ", view.number),
    }
}

fn left(view: View<'_>) -> String {
    let whose = if view.number < view.cells { " in all" } else { "" };
    // Rounded up, so that it and the time measured add up to the whole.
    let up = |ns: u64| ns.saturating_add(999_999_999);
    view.left().map_or_else(String::new, |ns| format!(", {} left{whose}", clock(up(ns))))
}

/// Columns: where the middle ones fit, and how wide the bar may be (0 is none).
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

/// The column that says what a row measures, where not all rows measure the same.
fn what(view: View<'_>, name: &str) -> String {
    let names = || view.progress.threads.iter().map(|thread| thread.name.as_str());
    let first = names().next().unwrap_or_default();
    if names().all(|other| other == first) {
        return String::new();
    }
    let width = names().map(|name| name.chars().count()).max().unwrap_or(0).min(WHAT);
    format!("  {:<width$}", fit(name, width))
}

/// The widest name of a row.
const WHAT: usize = 24;

fn header(view: View<'_>, style: Style) -> String {
    let (middle, bar) = layout(view, style);
    let middle = if middle { format!("  {:>8}  {:>8}", "p50", "p99.9") } else { String::new() };
    let missed = if view.is_periodic() { "  missed" } else { "" };
    let legend = if bar >= 25 { "=p50 -p99.9 |max" } else { "" };
    let scale = match bar {
        0 => String::new(),
        _ => format!("  1us{legend:^w$}10ms", w = bar - 7),
    };
    let what = what(view, "");
    let text = format!("{:>4}{what}  {:>8}{middle}  {:>8}{missed}{scale}", "CPU", view.last(), "max");
    paint(&fit(&text, style.width), Paint::Dim, style)
}

fn row(thread: &ThreadProgress, view: View<'_>, style: Style) -> String {
    let (middle, bar) = layout(view, style);
    let cpu = thread.cpu.map_or_else(|| "-".into(), |cpu| cpu.to_string());
    let unit = thread.unit.as_deref().unwrap_or("ns");
    let time = |value: Option<i64>| value.map_or_else(|| "-".into(), |value| fit(&units::shown(value, unit), 8));
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

/// A count in at most six characters.
fn short(count: u64) -> String {
    match count {
        0..1_000_000 => count.to_string(),
        1_000_000..100_000_000 => format!("{}k", count / 1_000),
        _ => fit(&format!("{}M", count / 1_000_000), 6),
    }
}

/// `====---|`: to the median, to p99.9, and the maximum, on a logarithmic scale from 1 us to 10 ms.
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

/// Time as a clock shows it: `0:07`, `12:30`, `71:59:01`.
fn clock(ns: u64) -> String {
    let s = ns / 1_000_000_000;
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::sample;
    use std::sync::LazyLock;

    const PLAIN: Style = Style { width: 80, color: false };

    fn thread(cpu: u32, max: i64) -> ThreadProgress {
        ThreadProgress {
            cpu: Some(cpu),
            count: 7_000,
            now: 3_100,
            p50: Some(2_900),
            p999: Some(12_100),
            max: Some(max),
            missed: 0,
            spike: Some((max, 3_200_000_000 + u64::from(cpu))),
            ..ThreadProgress::default()
        }
    }

    fn progress(threads: Vec<ThreadProgress>) -> Progress {
        let (elapsed_ns, total_ns) = (7_000_000_000, 15_000_000_000);
        Progress { phase: "measuring".into(), elapsed_ns, total_ns, armed_at_ns: 1, threads }
    }

    /// `wakeup`, 10 s with a limit of 100 us.
    static CELL: LazyLock<Cell> = LazyLock::new(sample::cell);
    /// `gap`, without one.
    static GAP: LazyLock<Cell> = LazyLock::new(|| sample::probing("gap"));
    static LATENCY: LazyLock<Measurand> = LazyLock::new(|| sample::measurand(&CELL));
    static GAPS: LazyLock<Measurand> = LazyLock::new(|| sample::measurand(&GAP));

    fn view(progress: &Progress) -> View<'_> {
        View { number: 2, cells: 4, label: "wakeup, busy", cell: &CELL, measurand: &LATENCY, after_ns: 30_000_000_000, progress }
    }

    fn gap(progress: &Progress) -> View<'_> {
        View { number: 4, cells: 4, label: "gap, none", cell: &GAP, measurand: &GAPS, after_ns: 0, progress }
    }

    #[test]
    fn a_frame() {
        let mut late = thread(1, 228_000);
        late.missed = 3;
        let progress = progress(vec![thread(0, 24_900), late, ThreadProgress { cpu: Some(2), ..Default::default() }]);
        insta::assert_snapshot!(frame(view(&progress), 24, PLAIN).join("\n"), @r#"
        cell 2 of 4: wakeup, busy, measuring 0:07 of 0:15, 0:38 left in all
         CPU       now       p50     p99.9       max  missed  1us =p50 -p99.9 |max  10ms
           0   3.10 us   2.90 us   12.1 us   24.9 us       0  ===---- |
           1   3.10 us   2.90 us   12.1 us    228 us       3  ===----       |
           2         -         -         -         -       0
        last spike 228 us on CPU 1 at 0:03
        "#);
    }

    #[test]
    fn a_log_line() {
        let progress = progress(vec![thread(0, 24_900), thread(1, 228_000)]);
        insta::assert_snapshot!(line(view(&progress)), @"cell 2 of 4: wakeup, busy, measuring 0:07 of 0:15, 0:38 left in all, 14000 samples, max 228 us, 0 missed");
        insta::assert_snapshot!(start(view(&progress)), @"cell 2 of 4: wakeup, busy, measuring for 0:15, 0:38 left in all");
        insta::assert_snapshot!(line(gap(&progress)), @"cell 4 of 4: gap, none, measuring 0:07 of 0:15, 0:08 left, 14000 samples, max 228 us");
    }

    #[test]
    fn what_comes_before_measuring_is_shown_without_figures() {
        let settling = Progress { phase: "settling".into(), ..Progress::default() };
        insta::assert_snapshot!(frame(view(&settling), 24, PLAIN).join("\n"), @"cell 2 of 4: wakeup, busy, settling, 0:41 left in all");
        let mut warming = progress(vec![thread(0, 24_900)]);
        (warming.phase, warming.elapsed_ns) = ("warm-up".into(), 0);
        insta::assert_snapshot!(frame(gap(&warming), 24, PLAIN).join("\n"), @"cell 4 of 4: gap, none, warm-up, 0:11 left");
    }

    #[test]
    fn a_probe_without_slots_misses_none_and_names_its_last_value() {
        let progress = progress(vec![ThreadProgress { now: 23_700, ..thread(1, 54_100_000) }]);
        insta::assert_snapshot!(frame(gap(&progress), 24, PLAIN).join("\n"), @r#"
        cell 4 of 4: gap, none, measuring 0:07 of 0:15, 0:08 left
         CPU  last gap       p50     p99.9       max  1us     =p50 -p99.9 |max      10ms
           1   23.7 us   2.90 us   12.1 us   54.1 ms  ====-----                        |
        last spike 54.1 ms on CPU 1 at 0:03
        "#);
    }

    #[test]
    fn time_left_is_never_below_zero() {
        let mut progress = progress(vec![thread(0, 24_900)]);
        progress.elapsed_ns = progress.total_ns + 1;
        assert!(head(gap(&progress), 80).ends_with(", 0:00 left"), "{}", head(gap(&progress), 80));
        (progress.total_ns, progress.phase) = (0, "measuring".into());
        assert!(!head(gap(&progress), 80).contains("left"), "samples are counted: nobody knows");
    }

    #[test]
    fn a_machine_of_many_cpus_shows_its_worst() {
        let progress = progress((0..128).map(|cpu| thread(cpu, 10_000 + i64::from(cpu) * 100)).collect());
        let lines = frame(view(&progress), 10, PLAIN);
        assert!(lines.len() <= 10, "{lines:#?}");
        assert!(lines[2].starts_with(" 122") && lines[7].starts_with(" 127"), "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("122 more CPUs")), "{lines:#?}");
    }

    proptest::proptest! {
        /// A frame that wraps would tear the display when it is redrawn.
        #[test]
        fn no_line_is_wider_than_the_terminal(width in 32usize..200, max: i64, missed: u64, label in "[a-z, ]{0,80}") {
            let progress = progress(vec![ThreadProgress { missed, ..thread(0, max) }]);
            let lines = frame(View { label: &label, ..view(&progress) }, 24, Style { width, color: false });
            for line in lines {
                proptest::prop_assert!(line.chars().count() <= width, "{}", line);
            }
        }
    }
}
