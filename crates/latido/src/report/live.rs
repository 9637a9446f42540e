//! The live view of a running cell: lines of text from what the agent says, for a terminal and for a log.

use super::terminal::{Paint, Style, fit, paint};
use crate::{
    protocol::{Progress, ThreadProgress},
    units::{Ns, human},
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
    /// The cell's limit.
    pub limit: Option<Ns>,
    /// Time that the cells after this one will take, in ns.
    pub after_ns: u64,
    /// What the agent said last.
    pub progress: &'a Progress,
}

/// The scale of the bars: four decades from 1 us, where latencies live.
const BAR_FROM: f64 = 1_000.0;
const BAR_DECADES: f64 = 4.0;

/// The lines of one frame, each no wider than the terminal and no more than `height` of them. With more CPUs than
/// lines, those with the largest maxima are shown.
pub fn frame(view: View<'_>, height: usize, style: Style) -> Vec<String> {
    let progress = view.progress;
    let mut lines = vec![paint(&fit(&head(view), style.width), Paint::Bold, style)];
    if !progress.threads.is_empty() {
        let room = height.saturating_sub(4).max(1);
        let mut shown: Vec<&ThreadProgress> = progress.threads.iter().collect();
        if shown.len() > room {
            shown.sort_by_key(|thread| std::cmp::Reverse(thread.max));
            shown.truncate(room);
            shown.sort_by_key(|thread| thread.cpu);
        }
        let middle = if is_narrow(style) { String::new() } else { format!("  {:>8}  {:>8}", "p50", "p99.9") };
        let header = format!("{:>4}  {:>8}{middle}  {:>8}  {:>6}", "CPU", "now", "max", "missed");
        let bar = style.width.saturating_sub(header.len() + 2).min(40);
        let scale = if bar >= 16 { format!("  {:<w$}10ms", "1us", w = bar - 4) } else { String::new() };
        lines.push(paint(&fit(&(header + &scale), style.width), Paint::Dim, style));
        lines.extend(shown.iter().map(|thread| row(thread, view.limit, bar, style)));
        let hidden = progress.threads.len() - shown.len();
        if hidden > 0 {
            let text = format!("      and {hidden} more CPUs with smaller maxima");
            lines.push(paint(&fit(&text, style.width), Paint::Dim, style));
        }
    }
    lines.extend(spike(progress).map(|text| fit(&text, style.width)));
    lines
}

/// One line for a log, every ten seconds.
pub fn line(view: View<'_>) -> String {
    let progress = view.progress;
    let max = progress.threads.iter().filter_map(|thread| thread.max).max();
    let missed: u64 = progress.threads.iter().map(|thread| thread.missed).fold(0, u64::saturating_add);
    let count: u64 = progress.threads.iter().map(|thread| thread.count).fold(0, u64::saturating_add);
    let mut text = head(view);
    if let Some(max) = max {
        text = format!("{text}, {count} samples, max {}, {missed} missed", human(max));
    }
    text
}

fn head(view: View<'_>) -> String {
    let progress = view.progress;
    let mut text = format!("cell {} of {}: {}, {}", view.number, view.cells, view.label, progress.phase);
    if progress.total_ns > 0 {
        let left = progress.total_ns.saturating_sub(progress.elapsed_ns);
        text = format!("{text} {} of {}", clock(progress.elapsed_ns), clock(progress.total_ns));
        if view.number < view.cells {
            text = format!("{text}, {} left in all", clock(left.saturating_add(view.after_ns)));
        } else {
            text = format!("{text}, {} left", clock(left));
        }
    } else if progress.elapsed_ns > 0 {
        text = format!("{text} {}", clock(progress.elapsed_ns));
    }
    text
}

fn row(thread: &ThreadProgress, limit: Option<Ns>, bar: usize, style: Style) -> String {
    let cpu = thread.cpu.map_or_else(|| "-".into(), |cpu| cpu.to_string());
    let time = |value: Option<i64>| value.map_or_else(|| "-".into(), |value| fit(&human(value), 8));
    let over = |value: i64| limit.is_some_and(|limit| i128::from(value) > i128::from(limit.0));
    let now = if thread.count > 0 { Some(thread.now) } else { None };
    let max = format!("{:>8}", time(thread.max));
    let max = if thread.max.is_some_and(over) { paint(&max, Paint::Bad, style) } else { max };
    let missed = format!("{:>6}", short(thread.missed));
    let missed = if thread.missed > 0 { paint(&missed, Paint::Bad, style) } else { missed };
    let middle = format!("  {:>8}  {:>8}", time(thread.p50), time(thread.p999));
    let middle = if is_narrow(style) { "" } else { &middle };
    let text = format!("{cpu:>4}  {:>8}{middle}  {max}  {missed}", time(now));
    if bar >= 16 { format!("{text}  {}", bar_of(thread, bar)).trim_end().to_string() } else { text }
}

/// Whether the two middle columns do not fit.
fn is_narrow(style: Style) -> bool {
    style.width < 52
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
    let latest = progress.threads.iter().filter_map(|thread| Some((thread.spike?, thread.cpu)));
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
        }
    }

    fn progress(threads: Vec<ThreadProgress>) -> Progress {
        let (elapsed_ns, total_ns) = (7_000_000_000, 15_000_000_000);
        Progress { phase: "measuring".into(), elapsed_ns, total_ns, armed_at_ns: 1, threads }
    }

    fn view(progress: &Progress) -> View<'_> {
        let limit = Some(Ns::from_micros(100));
        View { number: 2, cells: 4, label: "wakeup, busy", limit, after_ns: 30_000_000_000, progress }
    }

    #[test]
    fn a_frame() {
        let mut late = thread(1, 228_000);
        late.missed = 3;
        let progress = progress(vec![thread(0, 24_900), late, ThreadProgress { cpu: Some(2), ..Default::default() }]);
        insta::assert_snapshot!(frame(view(&progress), 24, PLAIN).join("\n"), @r#"
        cell 2 of 4: wakeup, busy, measuring 0:07 of 0:15, 0:38 left in all
         CPU       now       p50     p99.9       max  missed  1us                   10ms
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
        let warming = Progress { phase: "settling".into(), ..Progress::default() };
        insta::assert_snapshot!(line(view(&warming)), @"cell 2 of 4: wakeup, busy, settling");
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
