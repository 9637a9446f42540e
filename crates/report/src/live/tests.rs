//! The live view, in every phase.

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
    Progress { phase: Phase::Measuring, elapsed_ns, total_ns, armed_at_ns: 1, threads }
}

/// `wakeup`, 10 s with a limit of 100 µs.
static CELL: LazyLock<Cell> = LazyLock::new(sample::cell);
/// `gap`, without a limit.
static GAP: LazyLock<Cell> = LazyLock::new(|| sample::probing("gap"));
static LATENCY: LazyLock<Measurand> = LazyLock::new(|| sample::measurand(&CELL));
static GAPS: LazyLock<Measurand> = LazyLock::new(|| sample::measurand(&GAP));

fn view(progress: &Progress) -> View<'_> {
    View {
        number: 2,
        cells: 4,
        label: "wakeup, busy",
        cell: &CELL,
        measurand: &LATENCY,
        after_ns: 30_000_000_000,
        progress,
    }
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
     CPU       now       p50     p99.9       max  missed  1µs =p50 -p99.9 |max  10ms
       0   3.10 µs   2.90 µs   12.1 µs   24.9 µs       0  ===---- |
       1   3.10 µs   2.90 µs   12.1 µs    228 µs       3  ===----       |
       2         -         -         -         -       0
    last spike 228 µs on CPU 1 at 0:03
    "#);
}

#[test]
fn a_log_line() {
    let progress = progress(vec![thread(0, 24_900), thread(1, 228_000)]);
    insta::assert_snapshot!(line(view(&progress)), @"cell 2 of 4: wakeup, busy, measuring 0:07 of 0:15, 0:38 left in all, 14000 samples, max 228 µs, 0 missed");
    insta::assert_snapshot!(start(view(&progress)), @"cell 2 of 4: wakeup, busy, measuring for 0:15, 0:38 left in all");
    insta::assert_snapshot!(line(gap(&progress)), @"cell 4 of 4: gap, none, measuring 0:07 of 0:15, 0:08 left, 14000 samples, max 228 µs");
    insta::assert_snapshot!(done(3, 4, "wakeup, busy"), @"cell 3 of 4: wakeup, busy, measured");
    insta::assert_snapshot!(done(1, 1, "wakeup, busy"), @"wakeup, busy, measured");
}

#[test]
fn what_comes_before_measuring_is_shown_without_figures() {
    let settling = Progress { phase: Phase::Settling, ..Progress::default() };
    insta::assert_snapshot!(frame(view(&settling), 24, PLAIN).join("\n"), @"cell 2 of 4: wakeup, busy, settling, 0:41 left in all");
    let mut warming = progress(vec![thread(0, 24_900)]);
    (warming.phase, warming.elapsed_ns) = (Phase::WarmUp, 0);
    insta::assert_snapshot!(frame(gap(&warming), 24, PLAIN).join("\n"), @"cell 4 of 4: gap, none, warm-up, 0:11 left");
}

#[test]
fn a_probe_without_slots_misses_none_and_names_its_last_value() {
    let progress = progress(vec![ThreadProgress { now: 23_700, ..thread(1, 54_100_000) }]);
    insta::assert_snapshot!(frame(gap(&progress), 24, PLAIN).join("\n"), @r#"
    cell 4 of 4: gap, none, measuring 0:07 of 0:15, 0:08 left
     CPU  last gap       p50     p99.9       max  1µs     =p50 -p99.9 |max      10ms
       1   23.7 µs   2.90 µs   12.1 µs   54.1 ms  ====-----                        |
    last spike 54.1 ms on CPU 1 at 0:03
    "#);
}

#[test]
fn time_left_is_never_below_zero() {
    let mut progress = progress(vec![thread(0, 24_900)]);
    progress.elapsed_ns = progress.total_ns + 1;
    assert!(head(gap(&progress), 80).ends_with(", 0:00 left"), "{}", head(gap(&progress), 80));
    (progress.total_ns, progress.phase) = (0, Phase::Measuring);
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
    /// A frame with a wrapped line would break the display when latido redraws it.
    #[test]
    fn no_line_is_wider_than_the_terminal(width in 32usize..200, max: i64, missed: u64, label in "[a-z, ]{0,80}") {
        let progress = progress(vec![ThreadProgress { missed, ..thread(0, max) }]);
        let lines = frame(View { label: &label, ..view(&progress) }, 24, Style { width, color: false });
        for line in lines {
            proptest::prop_assert!(line.chars().count() <= width, "{}", line);
        }
    }
}
