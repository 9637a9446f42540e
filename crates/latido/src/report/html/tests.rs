//! What holds of every report.

use super::*;
use crate::{
    analyze::configuration::Configuration,
    report::sample::{self, Judged},
};

fn report(configurations: &[Configuration]) -> String {
    render(&Judged::of(configurations).input(configurations)).unwrap()
}

/// The reports that the browser check opens; also what a person looks at after a change of the templates.
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
    ]
}

#[test]
fn every_report_is_whole_offline_and_small() {
    // Beside the test binary, where build products go: a browser can open them after the tests.
    let dir = std::env::current_exe().unwrap().parent().unwrap().join("sample-reports");
    std::fs::create_dir_all(&dir).unwrap();
    for (name, configurations) in samples() {
        let html = report(&configurations);
        std::fs::write(dir.join(name).with_extension("html"), &html).unwrap();
        assert!(html.len() < 250 * 1024, "{name}: {} bytes", html.len());
        for external in ["http://", "https://", "url(", "@import", "src="] {
            assert!(!html.contains(external), "{name} is offline: no {external}");
        }
        for figure in if configurations.is_empty() { &[] } else { FIGURES } {
            assert!(html.contains(&format!("id=\"s0-{}\"", figure.name)), "{name} has {}", figure.name);
        }
        assert!(!html.contains("NaN") && !html.contains(">inf"), "{name}");
    }
}

#[test]
fn hostile_names_stay_text_everywhere() {
    let hostile = "</script><script>alert(1)</script>&\"'";
    let mut configuration = sample::of(hostile, &[1_000, 200_000_000], Some(1_500));
    configuration.machine.hostname = hostile.into();
    configuration.quantities[0].labels = [(hostile.to_owned(), hostile.to_owned())].into();
    configuration.quantities[0].tracks[0].largest[0].class = hostile.into();
    let all = [configuration];
    let judged = Judged::of(&all);
    let mut input = judged.input(&all);
    input.title = hostile.into();
    input.problems = vec![hostile.into()];
    input.runs[0].plan_toml = hostile;
    let html = render(&input).unwrap();
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
    assert!(html.contains("</span> Contaminated</div>") && html.contains("</span> Undecided</div>"));
}

#[test]
fn figures_say_when_they_do_not_show_all() {
    assert!(report(&sample::configurations(10)).contains("Figures show the first 8 of 10 configurations"));
    assert!(!report(&sample::configurations(8)).contains("Figures show the first"));
}

#[test]
fn cells_without_a_record_are_named() {
    let all = sample::configurations(2);
    let judged = Judged::of(&all);
    let html = render(&judged.input(&all[..1])).unwrap();
    assert!(html.contains("cell 2 of 20261121T200000Z-sample-k3f9 was not measured"));
}
