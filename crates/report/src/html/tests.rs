//! Properties of every report.

use super::*;
use crate::{
    formats,
    input::ReportInput,
    sample::{self, SampleRun, calls},
    study::{Conclusion, PublishedColumn, PublishedRow},
    tree::sections,
};
use latido_judge::{configuration::Configuration, outcome::Outcome};
use latido_model::plan::Unjudged;

fn report(configurations: &[Configuration]) -> String {
    formats::render("html", &SampleRun::of(configurations).input(configurations)).unwrap()
}

/// Returns a report of a study: scaled, with every outcome of a claim, gaps, and printed numbers, some of them impossible.
fn study_report(configurations: &[Configuration]) -> String {
    let judged = SampleRun::of(configurations);
    let mut input = judged.input(configurations);
    study(&mut input);
    formats::render("html", &input).unwrap()
}

fn study(input: &mut ReportInput) {
    let claim = |text: &str, outcome, detail: &str| Conclusion {
        number: None,
        text: text.into(),
        outcome,
        detail: detail.into(),
    };
    input.title = "Strategies to lower scheduling latency".into();
    input.study = Some(StudyPart {
        citation: "A. Author, \"Strategies to lower scheduling latency\", degree thesis, University, 2019".into(),
        scaled: Some(0.01),
        sized: None,
        unjudged: vec![Unjudged { conclusion: "5".into(), claim: "tuning matters".into(), why: "no figure".into() }],
        claims: vec![
            claim("Isolation lowers the maxima of mutex calls", Outcome::Holds, "max 3.9 µs against 88 µs"),
            claim("RCU options make the priority calls slower", Outcome::NotMeasured, "needs another kernel"),
            claim("Round robin is the lowest", Outcome::DoesNotHold, "1.21 ms against 1.19 ms"),
            claim("Nice helps", Outcome::Undecided, "715 µs against 715 µs"),
        ],
    });
    let gap = |label: &str| NotMeasured { label: label.into(), reason: "needs another kernel".into(), cells: 12 };
    input.not_measured = ["isolated", "rcu", "isolated + rcu", "rt", "rt + isolated", "rt + rcu"].map(gap).into();
    let row = |quantity: &str, [min, mean, max]: [f64; 3]| PublishedRow {
        probe: "mutex".into(),
        quantity: quantity.into(),
        labels: [("kind".to_owned(), "normal".to_owned()), ("shared".to_owned(), "no".to_owned())].into(),
        min: Some(min),
        mean: Some(mean),
        max: Some(max),
        ..PublishedRow::default()
    };
    let column = |system: &str, factor: f64| PublishedColumn {
        system: format!("{system}, published (Raspberry Pi 3B, 2019)"),
        rows: vec![
            row("lock", [156.0, 230.0, 437_389.0 / factor]),
            row("trylock", [104.0, 181.0, 562_230.0 / factor]),
            row("unlock", [156.0, 247.0, 245.0 * factor]),
        ],
    };
    input.published = vec![column("stock", 1.0), column("isolated", 12.0)];
}

/// Returns the reports that the browser check opens, for people to check after a change of the templates.
fn samples() -> Vec<(&'static str, Vec<Configuration>)> {
    let mut quick = sample::configurations(2);
    quick.extend([sample::gaps("idle", 3), sample::gaps("busy", 4)]);
    vec![
        ("one", sample::configurations(1)),
        ("three", sample::configurations(3)),
        ("eight", sample::full_size(8)),
        ("ten", sample::configurations(10)),
        ("quick", quick),
        ("sparse", vec![sample::empty("nothing"), sample::of("one sample", &[24_900], Some(100_000))]),
        ("none", Vec::new()),
        ("mutex", mutex()),
        ("compute", calls::compute(&[2, 4, 8, 16, 32, 64, 128], 1_000)),
        ("switch", calls::switch(&["idle", "busy"], &["semaphore", "futex", "pipe", "eventfd"])),
        ("pendulum", calls::pendulum()),
        ("long-names", long_names()),
    ]
}

/// Returns eight configurations whose names are too long everywhere and differ only in their middles and ends.
fn long_names() -> Vec<Configuration> {
    let mut all = sample::configurations(8);
    for (i, one) in all.iter_mut().enumerate() {
        let way = if i % 2 == 0 { "fifo 80" } else { "other" };
        one.label = format!("memory-pressure-with-forking-workers-on-every-cpu-{}, {way}", i / 2);
        one.short = one.label.clone();
        one.machine.hostname = "a-board-with-a-name-that-somebody-gave-it-long-ago.example.org".into();
    }
    all
}

/// Returns as much as the largest plans of studies have: 14 quantities of five systems, with many instances that figures reduce to columns,
/// and the calls and wake-ups of several systems.
fn whole_studies() -> [(&'static str, Vec<Configuration>); 2] {
    let mut calls = mutex();
    calls.extend(calls::switch(&["idle", "busy"], &["semaphore", "futex", "pipe", "eventfd"]));
    calls.extend(sample::configurations(4));
    [("study-compute", calls::compute(&[2, 4, 8, 16, 32, 64, 128], 2_000)), ("study-calls", calls)]
}

/// A page must be small enough to send and to keep open: what is visible limits its size, not what was measured.
#[test]
fn a_whole_study_is_a_small_file() {
    let dir = sample_reports();
    for (name, configurations) in whole_studies() {
        let html = study_report(&configurations);
        std::fs::write(dir.join(name).with_extension("html"), &html).unwrap();
        assert!(html.len() < 1_000_000, "{name}: {} bytes", html.len());
    }
}

/// Returns a directory next to the test binary, among the build products; `scripts/check-report` opens its pages in a browser.
fn sample_reports() -> std::path::PathBuf {
    let dir = std::env::current_exe().unwrap().parent().unwrap().join("sample-reports");
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Returns everything that the mutex probe measures, call by call and in batches.
fn mutex() -> Vec<Configuration> {
    let mut all = calls::mutex(&["idle", "busy"]);
    all.extend(calls::mutex_batch(&["idle", "busy"]));
    all
}

#[test]
fn every_report_is_whole_offline_and_small() {
    let dir = sample_reports();
    std::fs::write(dir.join("study.html"), study_report(&mutex())).unwrap();
    for (name, configurations) in samples() {
        let html = report(&configurations);
        std::fs::write(dir.join(name).with_extension("html"), &html).unwrap();
        let most = if configurations.iter().flat_map(|c| &c.quantities).count() > 20 { 800_000 } else { 350_000 };
        assert!(html.len() < most, "{name}: {} bytes", html.len());
        for external in ["http://", "https://", "url(", "@import", "src="] {
            assert!(!html.contains(external), "{name} is offline: no {external}");
        }
        for (i, section) in sections(&configurations).iter().enumerate() {
            for figure in FIGURES {
                let there = html.contains(&format!("id=\"s{i}-{}\"", figure.name));
                assert_eq!(there, (figure.fits)(section), "{name}: {} of {}", figure.name, section.stem());
            }
        }
        assert!(!html.contains("NaN") && !html.contains(">inf"), "{name}");
    }
}

#[test]
fn hostile_names_stay_text_everywhere() {
    let hostile = "</script><script>alert(1)</script>&\"'";
    let mut configuration = sample::of(hostile, &[1_000, 200_000_000], Some(1_500));
    configuration.machine.hostname = hostile.into();
    let labels = [(hostile.to_owned(), hostile.to_owned())];
    crate::sample::change(&mut configuration, 0, |own| own.labels = labels.clone().into());
    let all = [configuration];
    let judged = SampleRun::of(&all);
    let mut input = judged.input(&all);
    input.title = hostile.into();
    input.problems = vec![hostile.into()];
    input.runs[0].plan_toml = hostile;
    study(&mut input);
    let study = input.study.as_mut().unwrap();
    study.citation = hostile.into();
    (study.claims[0].text, study.claims[0].detail) = (hostile.into(), hostile.into());
    input.not_measured[0].label = hostile.into();
    input.not_measured[1].reason = hostile.into();
    input.published[0].system = hostile.into();
    let label = input.configurations[0].quantities[0].labels.clone();
    let note = Some(hostile.to_owned());
    let row = PublishedRow {
        probe: "wakeup".into(),
        quantity: "latency".into(),
        labels: label,
        min: Some(1.0),
        note,
        ..PublishedRow::default()
    };
    input.published[0].rows = vec![row];
    let html = formats::render("html", &input).unwrap();
    assert!(html.contains("class=\"published first\""), "the published column is there");
    assert_eq!(html.matches("<script").count(), 2, "the data and the page's own script");
    assert_eq!(html.matches("</script").count(), 2);
}

#[test]
fn the_embedded_data_is_json_and_loses_no_sample() {
    let all = sample::configurations(3);
    let html = report(&all);
    let start = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + html[start..].find("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(&html[start..end]).unwrap();
    let series = &data["sections"][0]["series"];
    for (i, configuration) in all.iter().enumerate() {
        let histogram = series[i]["histogram"].as_array().unwrap();
        let sum: u64 = histogram.iter().map(|bin| bin[1].as_u64().unwrap()).sum();
        assert_eq!(sum, configuration.quantities[0].summary.count);
    }
}

#[test]
fn the_gravest_finding_comes_first_and_decides_the_card() {
    let all = sample::configurations(8);
    let html = report(&all);
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(at("class=\"invalid\"") < at("class=\"contaminated\""));
    assert!(at("class=\"contaminated\"") < at("class=\"ok\""));
    assert!(html.contains("</span> CONTAMINATED</span>") && html.contains("disturbed by foreign"));
}

#[test]
fn figures_say_when_they_do_not_show_all() {
    assert!(report(&sample::configurations(10)).contains("Figures show the first 8 of 10 configurations"));
    assert!(!report(&sample::configurations(8)).contains("Figures show the first"));
}

#[test]
fn cells_without_a_record_are_named() {
    let all = sample::configurations(2);
    let judged = SampleRun::of(&all);
    let html = formats::render("html", &judged.input(&all[..1])).unwrap();
    assert!(html.contains("cell 2 of 20261121T200000Z-sample-k3f9 was not measured"));
}

#[test]
fn a_study_says_its_source_its_size_its_conclusions_and_its_gaps() {
    let html = study_report(&mutex());
    for text in [
        "After A. Author",
        "Measured at 1\u{a0}% of the published size.",
        "<td class=\"good outcome\"><span aria-hidden=\"true\">✓</span> holds",
        "<td class=\"bad outcome\"><span aria-hidden=\"true\">✗</span> does not hold",
        "<td class=\"warn outcome\"><span aria-hidden=\"true\">?</span> not measured",
        "<td class=\"warn outcome\"><span aria-hidden=\"true\">?</span> undecided",
        "<b>Not measured:</b> isolated, rcu, isolated + rcu, rt, rt + isolated, rt + rcu.",
        "[1] mean above maximum, as printed",
        "title=\"mean above maximum, as printed\"",
    ] {
        assert!(html.contains(text), "{text}");
    }
    let plain = report(&mutex());
    for text in ["id=\"study\"", "id=\"not-measured\"", "published size", "class=\"published"] {
        assert!(html.contains(text) && !plain.contains(text), "{text}");
    }
}

/// A new reader sees the question and the limits of the answer before the details, and shortened names in a table keep the part that
/// distinguishes them.
#[test]
fn the_top_says_what_was_asked_found_how_sure_and_what_is_missing() {
    let html = study_report(&mutex());
    let start = html.find("<section id=\"verdict\">").unwrap();
    let top = html[start..start + html[start..].find("</section>").unwrap()].replace('\u{a0}', " ");
    for text in [
        "<p class=\"asked\">Do the 4 conclusions of the study hold on bench-07?",
        "<p class=\"found\">Of 4 conclusions 1 holds, 1 does not hold, 1 is undecided, 1 was not measured.",
        "<dt>How sure<dd>Each figure rests on one run of its configuration. The run had 1 % of the published size, so it did not show rare events.",
        "<dt>Missing<dd>Not measured: isolated, rcu, isolated + rcu and 3 more (72 cells).",
    ] {
        assert!(top.contains(text), "{text}: {top}");
    }
    assert!(start < html.find("<svg viewBox=\"0 0 1080").unwrap(), "before any figure");
    let long = report(&long_names());
    assert!(long.contains("</svg>memory…on-every-cpu-3, other"), "told apart");
}

/// The order is: question, verdict, figures of each configuration, one figure, obstacles, the trust checks in one line.
#[test]
fn the_first_screen_has_its_order() {
    let all = sample::configurations(3);
    let html = report(&all);
    let places = [
        "<p class=\"asked\">Do 3 expectations hold on bench-07? Does every wake-up stay within 100 µs on bench-07?</p>",
        "<p class=\"headline bad\"><span class=\"pill\"><span aria-hidden=\"true\">✗</span> FAIL</span>",
        "<div id=\"each\" class=\"cards",
        "<dl class=\"numbers\"><div class=\"over\"><dt>worst<dd>",
        "<figure id=\"s0-histogram\"",
        "<h2>What stands in the way</h2>",
        "<summary>Trust checks: 1 note, 1 not measured, 3 in order</summary>",
        "<section id=\"s0\"",
    ]
    .map(|text| {
        html.find(text).or_else(|| html.find(&text.replace('\u{a0}', " "))).unwrap_or_else(|| panic!("no {text}"))
    });
    assert!(places.is_sorted(), "{places:?}");
    let first = &html[..places[7]];
    assert_eq!(first.matches("<figure ").count(), 1, "one figure");
    assert_eq!(html.matches("id=\"s0-histogram\"").count(), 1, "it is not drawn again below");
}

/// With repeats, their maxima open the page before everything that is pooled, and the histogram follows below.
#[test]
fn of_repeats_the_spread_opens_the_page() {
    let mut all = vec![sample::of("idle", &[5_000, 9_000], Some(100_000))];
    all[0].repeats.extend(sample::of("idle", &[5_000, 60_000], Some(100_000)).repeats);
    all[0].pool();
    let html = report(&all);
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(at("id=\"s0-repeats\"") < at("What stands in the way") && at("id=\"s0-histogram\"") > at("id=\"s0\""));
    assert!(html.contains("Summary of all repeats pooled") && html.matches("id=\"s0-repeats\"").count() == 1);
}

/// Checks that spoil a measurement are visible at once; the others are folded behind their counts.
#[test]
fn trust_checks_in_order_are_folded() {
    let all = sample::configurations(8);
    let html = report(&all);
    let folded = html.find("<details id=\"trust\">").unwrap();
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(at("<li class=\"contaminated\">") < folded && at("<li class=\"invalid\">") < folded);
    assert!(at("<li class=\"ok\">") > folded && at("<li class=\"note\">") > folded);
}

#[test]
fn what_repeats_other_figures_is_folded_and_nothing_is_said_on_each_card() {
    let all = [sample::gaps("idle", 1), sample::gaps("busy", 2)];
    let html = report(&all);
    let body = &html[..html.find("id=\"data\">").unwrap()];
    assert_eq!(body.matches("Where no limit is set, nothing passes or fails.").count(), 1);
    let html = report(&sample::configurations(2));
    let more = html.find("<details class=\"more\"><summary>More figures: ").unwrap();
    let end = more + html[more..].find("</section>").unwrap();
    for name in ["bands", "scatter"] {
        let at = html.find(&format!("id=\"s0-{name}\"")).unwrap();
        assert!((more..end).contains(&at), "{name}");
    }
    for name in ["histogram", "cpus", "percentiles", "over-time"] {
        assert!(html.find(&format!("id=\"s0-{name}\"")).unwrap() < more, "{name}");
    }
    assert!(html.contains("<details class=\"data\"><summary>Tail</summary>"));
}

/// A page of many CPUs has small pictures of each, and stays small.
#[test]
fn a_hundred_cpus_are_on_the_page() {
    let all = [sample::on_cpus("idle", 100), sample::on_cpus("busy", 100)];
    let html = report(&all);
    std::fs::write(sample_reports().join("cpus.html"), &html).unwrap();
    assert!(html.contains("id=\"s0-cpus\"") && html.contains(">CPU 99<") && html.len() < 320_000, "{}", html.len());
    assert!(html.contains("CPU 99 has the largest wake-up"));
}

/// Narrow screens show the maxima first, and figures that fit; paper has page numbers and columns of words.
#[test]
fn narrow_screens_and_paper_have_their_rules() {
    let html = report(&sample::configurations(2));
    let style = &html[..html.find("</style>").unwrap()];
    let narrow = &style[style.find("@media screen and (max-width:720px){").unwrap()..];
    for rule in [".figure{min-width:0}", ".narrow{display:block}", ".early{display:table-cell}"] {
        assert!(narrow.contains(rule), "{rule}");
    }
    let paper = &style[style.find("@page{").unwrap()..];
    for rule in ["counter(page) \" / \" counter(pages)", ".differs{table-layout:fixed}", ".fig-percentiles"] {
        assert!(paper.contains(rule), "{rule}");
    }
    assert!(html.contains("<th scope=\"col\">configuration<th scope=\"col\" class=\"early\">max"));
    assert!(html.contains("<div class=\"narrow\"><svg viewBox=\"0 0 520 "));
    assert!(html.contains("<pre id=\"command0\">latido run plans/sample.toml --seed 7</pre>"));
}

/// Each verdict has one word everywhere, the same as in the JSON document; a study's conclusion holds or does not hold.
#[test]
fn outcomes_have_one_vocabulary() {
    for html in [report(&sample::configurations(8)), study_report(&mutex())] {
        let body = &html[..html.find("id=\"data\">").unwrap()];
        for other in
            ["Does not hold", "Undecided", "UNDECIDED", ">Fails", "> Fails", "> Contaminated", "reproduced", "HOLDS"]
        {
            assert!(!body.contains(other), "{other}");
        }
        assert!(body.contains(" FAIL") && body.contains("does not hold"));
    }
}

/// A report with dozens of series stays readable: one table, and everything else folded, with a link from each row.
#[test]
fn many_calls_are_one_table_and_folded_details() {
    let html = report(&mutex());
    assert_eq!(html.matches("<table class=\"calls\">").count(), 1);
    assert_eq!(html.matches("<details class=\"fold\">").count(), 15);
    for section in 0..15 {
        assert!(html.contains(&format!("<a href=\"#s{section}\">")) && html.contains(&format!("id=\"s{section}\"")));
    }
    assert!(html.contains("id=\"c0-maxima\""));
    let one = report(&sample::configurations(3));
    assert!(!one.contains("class=\"calls\"") && !one.contains("class=\"fold\""), "one call needs neither");
}
