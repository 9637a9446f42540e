use super::*;
use crate::{
    formats::FORMATS,
    input::ReportInput,
    sample::{self, SampleRun, declared},
    tree::Report,
};
use latido_judge::configuration::Configuration;
use latido_model::{plan::Plan, units::Ns};

fn drawn(all: &[Configuration], figure: Figure) -> DeclaredFigure {
    let plan = Plan { figures: vec![figure], ..declared::plan() };
    let sample = SampleRun::of(all);
    let mut given = declared::declared(&plan);
    given.levels[0].1 = all.iter().map(|one| one.cell.load.id.clone()).collect();
    let input = ReportInput { declared: Some(given), ..sample.input(all) };
    let report = Report::new(&input, FORMATS);
    super::all(Lookup::of(&report).unwrap()).remove(0)
}

/// For every kind: what was measured is drawn, what was not measured is named, and the study's number is below latido's.
#[test]
fn every_kind_says_what_it_has_and_what_it_lacks() {
    let kinds = [
        Kind::Bands(vec![1_000, 10_000]),
        Kind::Histogram,
        Kind::Instances,
        Kind::Moments,
        Kind::Time,
        Kind::Bars(Statistic::Max),
        Kind::Ramp(Statistic::Max),
    ];
    for kind in kinds {
        let axis = if kind.has_axis() { vec![declared::pick("4"), declared::pick("8")] } else { Vec::new() };
        for log in [false, true] {
            let figure = Figure { axis: axis.clone(), log, ..declared::figure(kind.clone()) };
            let figure = drawn(&declared::measured(), figure);
            let text = figure.drawing.inline().replace('\u{a0}', " ");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{kind:?}: {text}");
            assert!(text.contains("xenomai (not measured)"), "{kind:?}");
            assert!(text.contains("std: max 17.8 µs") && text.contains("published: max 18.4"), "{kind:?}: {text}");
            assert_eq!(figure.heading, "Figure 3. Latency");
            let nothing = drawn(&[], Figure { axis: axis.clone(), log, ..declared::figure(kind.clone()) });
            assert!(nothing.drawing.inline().contains(">not measured<"), "{kind:?}");
        }
    }
}

/// The last band contains all samples above the last edge, and counts of repeats are not summed.
#[test]
fn bands_have_a_last_one_above_the_last_edge() {
    let figure = Figure { curves: vec![declared::system("std")], ..declared::figure(Kind::Bands(vec![1_000, 10_000])) };
    let mut all = declared::measured();
    let again = declared::measured().remove(0).repeats;
    all[0].repeats.extend(again);
    let text = drawn(&all, figure).drawing.inline().replace('\u{a0}', " ");
    for wanted in ["&gt; 10 µs: 1<", "1–10 µs: 2<", "≤ 1 µs: 0<"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

/// A ramp has as many places as levels: the number of colours does not limit it.
#[test]
fn a_ramp_of_twelve_levels_has_twelve_points() {
    let levels: Vec<String> = (1..=12).map(|i| format!("{}", 4 * i)).collect();
    let all: Vec<_> = levels.iter().map(|level| sample::of(level, &[1_000, 2_000], None)).collect();
    let at = |level: &String| latido_model::plan::Pick {
        levels: vec![("load".into(), level.clone())],
        metric: Some("wakeup.latency".into()),
        ..declared::pick(level)
    };
    let figure = Figure {
        axis: levels.iter().map(at).collect(),
        panels: vec![declared::pick("")],
        curves: vec![declared::pick("here")],
        printed: Vec::new(),
        ..declared::figure(Kind::Ramp(Statistic::Mean))
    };
    let figure = drawn(&all, figure);
    assert_eq!(figure.drawing.body.matches("<use href=\"#m0\"").count(), 12);
    assert_eq!(figure.table.rows.len(), 12);
}

/// Where nothing was measured, a chart of printed numbers shows the study's values as hollow marks and says so.
#[test]
fn an_unmeasured_chart_shows_the_published_values() {
    let axis = vec![declared::pick("4"), declared::pick("8")];
    for kind in [Kind::Bars(Statistic::Max), Kind::Ramp(Statistic::Max)] {
        let figure = Figure { axis: axis.clone(), captions: Vec::new(), ..declared::figure(kind.clone()) };
        let nothing = drawn(&[], figure.clone());
        let text = nothing.drawing.inline().replace('\u{a0}', " ");
        assert!(text.contains(">published<") && text.contains(">not measured<"), "{kind:?}: {text}");
        assert!(text.contains("std, published: 18.4"), "{kind:?}: {text}");
        assert_eq!(nothing.table.head.last().unwrap().name, "published max");
        let without = drawn(&[], Figure { printed: vec!["no such table".into()], ..figure });
        assert!(!without.drawing.inline().contains("published"), "{kind:?}");
    }
}

/// A printed number is a time and an emulated value is not: the chart shows no printed marks among emulated values.
#[test]
fn no_published_mark_stands_beside_emulated_values() {
    let figure = Figure {
        axis: vec![declared::pick("4")],
        captions: Vec::new(),
        ..declared::figure(Kind::Bars(Statistic::Max))
    };
    let mut all = declared::measured();
    assert!(drawn(&all, figure.clone()).drawing.inline().contains("std, published: "));
    all.iter_mut().for_each(|one| one.machine.emulated = Some(latido_model::sample::emulated()));
    assert!(!drawn(&all, figure).drawing.inline().contains("std, published: "));
}

/// A sample beyond the end of the scale is a triangle and is not lost.
#[test]
fn beyond_the_scale_is_a_triangle() {
    let time = |upto| Figure { upto, ..declared::figure(Kind::Time) };
    let triangles = |upto| drawn(&declared::measured(), time(upto)).drawing.body.matches("#off").count();
    assert_eq!(triangles(None), 0);
    assert_eq!(triangles(Some(Ns(20_000))), 1, "of rt alone");
}
