//! Text as users see it.

use super::*;
use latido_judge::{
    configuration,
    judgement::ExpectJudgement,
    judging::of_run,
    measured::{Amount, Decision, Dimension, Measured, Whose},
    outcome::Outcome,
};
use latido_model::{
    plan::Unjudged,
    record::Skip,
    sample::{Fixture, cell, probing, quiet, record, under, with_spike},
};

const PLAIN: Style = Style { width: 80, color: false };

fn printed(fixture: &Fixture) -> String {
    let found = configuration::configurations([&fixture.run], fixture);
    let mut judgement = of_run(&fixture.run, fixture);
    let amount = Ok(Amount { value: 4_100.0, dimension: Dimension::Time });
    let measured = Measured::Single { whose: Whose::Cpu(1), amount, but: None };
    let held = Decision { place: "wakeup, idle".into(), measured, alike: 3 };
    for (text, verdict, decision) in [
        ("wakeup.latency.p99.9 < 100us", Verdict::Pass, Some(held)),
        ("gap.gap.max < 100us", Verdict::Inconclusive, None),
    ] {
        let (claim, of_study, conclusion, each) = (None, false, None, Vec::new());
        let (text, condition) = (text.into(), text.into());
        let outcome = Outcome::of(verdict, decision.as_ref());
        let one = ExpectJudgement { text, condition, claim, of_study, conclusion, verdict, outcome, decision, each };
        judgement.expectations.push(one);
    }
    summary(&fixture.run, &judgement, &found, Beside::default(), PLAIN)
}

fn busy() -> Fixture {
    Fixture::new(vec![
        (cell(), vec![quiet(0), quiet(1)]),
        (under("busy"), vec![quiet(0), with_spike(1, 3_000, 228_000)]),
    ])
}

#[test]
fn a_failed_run() {
    let mut fixture = busy();
    fixture.record(1).quality.smi = None;
    fixture.record(2).quality.dma_latency_held = false;
    fixture.record(2).skipped.push(Skip { what: "frequency pinning".into(), why: "no cpufreq here".into() });
    insta::assert_snapshot!(printed(&fixture), @"
    20261121T200000Z-quick-k3f9 on bench-07, Linux 6.12.48
    note: idle states: not disabled: wake-ups may wait for the processor to leave
          them (cell 2)
    note: also frequency pinning (skipped); not measured: smi, hypervisor (see
          `latido show --full`)

    Wake-up latency (µs)
    configuration  wake-ups   min   p50  mean   p99  p99.9    max  > 100 µs  missed
    idle              20000  2.00  2.62  2.64  3.24   3.25   24.8         0       0
    busy              20000  2.00  2.62  2.65  3.24   3.25  228.0         1       0
     A once-a-day event shows in 10 s with a chance of less than 1 %, in 3 days with
     95 %

    expected
      holds         wakeup.latency.p99.9 < 100us: wakeup, idle, CPU 1: 4.10 µs (and
                    3 more)
      not measured  gap.gap.max < 100us: no series matches

    FAIL: wakeup, busy: 1 of 20000 samples above the limit of 100 µs, worst 228 µs
          (latency, CPU 1)
    in the way: idle states: `latido check` says what to change
    why: add --explain to the command to see what caused the late samples (it needs
         root)
    ");
}

#[test]
fn a_pass_says_what_it_supports() {
    let told = |fixture: &Fixture| {
        let found = configuration::configurations([&fixture.run], fixture);
        verdict(&fixture.run, &of_run(&fixture.run, fixture), (&found, &[]), Style { width: 400, color: false })
            .join("\n")
    };
    insta::assert_snapshot!(told(&Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])])), @"PASS: wakeup, idle: worst 24.8 µs of 20000 samples (latency, CPU 1), 75.2 µs inside the limit of 100 µs; none above it: a cause that strikes more often than once in 3.34 s would have been seen with 95 % probability");
    insta::assert_snapshot!(told(&Fixture::new(vec![(cell(), vec![vec![2_000; 20]])])), @"PASS: wakeup, idle: worst 2.00 µs of 20 samples (latency, CPU 0), 98.0 µs inside the limit of 100 µs; none above it: a cause that strikes more often than once in 3.34 s would have been seen with 95 % probability");
    insta::assert_snapshot!(told(&Fixture::new(vec![(probing("gap"), vec![quiet(0)])])), @"
    NO LIMIT SET: gap, idle: worst 24.8 µs of 10000 samples (gap, CPU 0)
    next: $ latido run gap -c 0,1 --load stress-cpu
    ");
}

/// A user who reads only one line still sees the doubt.
#[test]
fn doubt_is_in_the_first_line() {
    let mut fixture = busy();
    for number in [1, 2] {
        let quality = &mut fixture.record(number).quality;
        quality.policy_refused =
            Some("fifo 80 was refused: Operation not permitted; allow it with `sudo prlimit --rtprio=99 --pid $$` in this shell".into());
        quality.threads[0].minor_faults = number as u64;
        quality.housekeeping = None;
    }
    let text = printed(&fixture);
    assert!(text.starts_with("INVALID: policy: fifo 80 was refused"), "{text}");
    insta::assert_snapshot!(text, @"
    INVALID: policy: fifo 80 was refused: Operation not permitted
    20261121T200000Z-quick-k3f9 on bench-07, Linux 6.12.48
    note: page faults: 1 minor, 0 major while measuring (cell 1; similar in 2)
    note: housekeeping: every CPU is measured: latido itself runs on them too
    note: not measured: hypervisor (see `latido show --full`)

    Wake-up latency (µs)
    configuration  wake-ups   min   p50  mean   p99  p99.9    max  > 100 µs  missed
    idle              20000  2.00  2.62  2.64  3.24   3.25   24.8         0       0
    busy              20000  2.00  2.62  2.65  3.24   3.25  228.0         1       0
     A once-a-day event shows in 10 s with a chance of less than 1 %, in 3 days with
     95 %

    expected
      holds         wakeup.latency.p99.9 < 100us: wakeup, idle, CPU 1: 4.10 µs (and
                    3 more)
      not measured  gap.gap.max < 100us: no series matches

    INCONCLUSIVE: wakeup, busy: policy: fifo 80 was refused: Operation not
                  permitted; 1 of 20000 samples above the limit of 100 µs, worst 228
                  µs (latency, CPU 1) (2 of 2 cells)
    ");
}

#[test]
fn what_could_not_be_stored_is_still_seen() {
    insta::assert_snapshot!(rescue(&[&record()], PLAIN), @"
    wakeup, idle
    latency (µs)  samples   min   p50  mean   p99  p99.9   max  late  missed
    CPU 0           10000  2.00  2.62  2.64  3.24   3.25  24.8     0       0
    CPU 1           10000  2.00  2.62  2.64  3.24   3.25  24.8     0       0
     A once-a-day event shows in 10 s with a chance of less than 1 %, in 3 days
     with 95 %
    CPU 0 to 5.00 µs: 9991, to 8.00 µs: 1, to 10.0 µs: 1, to 50.0 µs: 7
    CPU 1 to 5.00 µs: 9991, to 8.00 µs: 1, to 10.0 µs: 1, to 50.0 µs: 7
    ");
}

fn table(fixture: &Fixture, width: usize) -> String {
    let found = configuration::configurations([&fixture.run], fixture);
    quantities(&sections(&found.all), Style { width, color: false }).join("\n")
}

fn four() -> Fixture {
    let short: Vec<i64> = quiet(3).iter().map(|v| v / 100).collect();
    Fixture::new(vec![
        (cell(), vec![quiet(0), quiet(1)]),
        (under("stress-ng ramp"), vec![quiet(0), with_spike(1, 3_000, 2_280_000)]),
        (probing("gap"), vec![short.clone()]),
        (probing("compute"), vec![short[..100].to_vec()]),
    ])
}

#[test]
fn a_table_of_four_configurations() {
    insta::assert_snapshot!(table(&four(), 120), @"
    Wake-up latency (µs)
    configuration   wake-ups   min   p50  mean      sd   p99  p99.9  p99.99     max  > 100 µs  late  missed
    idle               20000  2.00  2.62  2.64   0.555  3.24   3.25    22.5    24.8         0     0       0
    stress-ng ramp     20000  2.00  2.62  2.75  16.113  3.24   3.25    24.9  2280.0         1     0       0

    Gaps in a busy loop (ns)
    configuration  readings  min  p50  mean  sd  p99  p99.9  p99.99  max
    idle              10000   20   26    26   6   32     32     224  248

    compute latency (ns)
    configuration  samples  min  p50  mean  sd  p99  max  late  missed
    idle               100   20   25    26   4   32   32     0       0
     A once-a-day event shows in 10 s with a chance of less than 1 %, in 3 days with 95 %
    ");
}

/// A row of dashes is not informative, so it is left out; a quantity without any measurement is shown.
#[test]
fn what_measured_nothing_is_left_out_beside_what_did() {
    let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0), vec![]]), (under("busy"), vec![vec![]])]);
    fixture.record(1).series[1].quantity = "latency_after_overrun".into();
    let text = table(&fixture, 80);
    assert!(!text.contains("overrun"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("busy") && line.contains('-')), "{text}");
    fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
    fixture.record(1).series[1].quantity = "latency_after_overrun".into();
    let text = table(&fixture, 80);
    assert!(text.lines().any(|line| line == "After a budget overrun (µs)"), "{text}");
}

#[test]
fn eighty_columns_hold_what_matters() {
    let text = table(&four(), 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text, @"
    Wake-up latency (µs)
    configuration   wake-ups   min   p50  mean  p99.9     max  > 100 µs  missed
    idle               20000  2.00  2.62  2.64   3.25    24.8         0       0
    stress-ng ramp     20000  2.00  2.62  2.75   3.25  2280.0         1       0

    Gaps in a busy loop (ns)
    configuration  readings  min  p50  mean  sd  p99  p99.9  p99.99  max
    idle              10000   20   26    26   6   32     32     224  248

    compute latency (ns)
    configuration  samples  min  p50  mean  sd  p99  max  late  missed
    idle               100   20   25    26   4   32   32     0       0
     A once-a-day event shows in 10 s with a chance of less than 1 %, in 3 days with
     95 %
    ");
}

#[test]
fn long_names_are_cut_before_figures_are() {
    let fixture = Fixture::new(vec![
        (under("a very long name of a load that somebody wrote"), vec![quiet(0)]),
        (under("b"), vec![quiet(0)]),
    ]);
    let text = table(&fixture, 60);
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    insta::assert_snapshot!(text, @"
    Wake-up latency (µs)
    configuration  wake-ups   p50  p99.9   max  > 100 µs  missed
    a very long…      10000  2.62   3.25  24.8         0       0
    b                 10000  2.62   3.25  24.8         0       0
     A once-a-day event shows in 10 s with a chance of less than
     1 %, in 3 days with 95 %
    ");
}

#[test]
fn bad_news_is_painted_without_moving_anything() {
    let found = configuration::configurations([&four().run], &four());
    let plain = quantities(&sections(&found.all), Style { width: 80, color: false });
    let painted = quantities(&sections(&found.all), Style { width: 80, color: true });
    assert!(painted.iter().any(|line| line.contains("\x1b[31m")));
    let stripped = |line: &String| {
        let mut text = String::new();
        let mut rest = line.as_str();
        while let Some((before, after)) = rest.split_once('\x1b') {
            text.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        (text + rest).trim_end().to_string()
    };
    assert_eq!(painted.iter().map(stripped).collect::<Vec<_>>(), plain);
}

/// A study's sentences without figures share a line for each reason, with their numbers; a few of them have separate lines.
#[test]
fn many_sentences_without_figures_share_a_line() {
    let sentence = |number: &str| ExpectJudgement {
        text: "a < b".into(),
        condition: "a < b".into(),
        claim: Some(format!("sentence {number}")),
        of_study: true,
        conclusion: Some(number.into()),
        verdict: Verdict::Inconclusive,
        outcome: Outcome::NotMeasured,
        decision: Some(Decision {
            place: "wakeup".into(),
            measured: Measured::Nothing(Some("no such kernel".into())),
            alike: 0,
        }),
        each: Vec::new(),
    };
    let said = |numbers: &[&str]| {
        let expectations = numbers.iter().map(|number| sentence(number)).collect();
        let unjudged = vec![Unjudged { conclusion: "9".into(), claim: "it pays".into(), why: "no figure".into() }];
        let judgement = Judgement { expectations, unjudged, ..of_run(&busy().run, &busy()) };
        super::statements::lines(&judgement, Style { width: 100, color: false }).join("\n")
    };
    let many = said(&["1", "1", "2", "3", "3", "4"]);
    assert!(many.contains("not measured  6 sentences of 1, 2, 3, 4: no such kernel"), "{many}");
    assert!(!many.contains("sentence 1") && many.contains("not judged    9: it pays: no figure"), "{many}");
    let few = said(&["1", "2"]);
    assert!(few.contains("not measured  1: sentence 1") && few.contains("not measured  2: sentence 2"), "{few}");
}
