//! Properties of every figure, whatever was measured.

use super::*;
use crate::{
    paper,
    sample::{self, calls},
    tree::{chapters, sections},
};
use latido_model::record::Point;
use proptest::prelude::*;

/// Returns the attribute values that must be numbers or paths, without texts and styles.
fn attributes(svg: &str) -> Vec<&str> {
    let names = [" d=\"", " x=\"", " y=\"", "width=\"", "height=\"", "transform=\"", "viewBox=\""];
    let value = |at: usize| svg[at..].split('"').nth(1).unwrap_or_default();
    names.iter().flat_map(|name| svg.match_indices(name).map(|(at, _)| value(at))).collect()
}

fn check(configurations: &[latido_judge::configuration::Configuration]) -> Result<(), TestCaseError> {
    let sections = sections(configurations);
    for section in &sections {
        for figure in FIGURES {
            sound(figure.name, &(figure.draw)(section), &(figure.table)(section))?;
            sound(figure.name, &narrow(figure, section), &(figure.table)(section))?;
        }
    }
    for chapter in chapters(&sections) {
        for figure in OVERVIEWS.iter().filter(|figure| (figure.fits)(&chapter)) {
            sound(figure.name, &(figure.draw)(&chapter), &(figure.table)(&chapter))?;
        }
    }
    Ok(())
}

/// Checks that numbers in attributes are valid and that every table row is as wide as its head.
fn sound(name: &str, drawings: &[Drawing], table: &Sheet) -> Result<(), TestCaseError> {
    for drawing in drawings {
        let svg = drawing.inline();
        let values = attributes(&svg);
        prop_assert!(values.len() > 3, "{name} draws axes at least");
        for value in values {
            prop_assert!(!value.contains("NaN") && !value.contains("inf"), "{name}: {value}");
            let known = |c: char| c.is_ascii_digit() || ".- mlhvzrotate()%Ma".contains(c);
            prop_assert!(value.chars().all(known), "{name}: {value}");
        }
        prop_assert!(drawing.width > 0.0 && drawing.height > 0.0 && drawing.height < 4_000.0);
    }
    prop_assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{name}: {table:?}");
    Ok(())
}

fn values() -> impl Strategy<Value = Vec<i64>> {
    let magnitude = (0u32..11, 1.0f64..10.0).prop_map(|(decade, digit)| (digit * 10f64.powi(decade as i32)) as i64);
    prop_oneof![Just(vec![]), Just(vec![0]), proptest::collection::vec(magnitude, 0..40)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_figure_has_an_invalid_attribute(all in proptest::collection::vec((values(), proptest::option::of(1u64..10_000_000)), 1..11)) {
        let configurations: Vec<_> = all.iter().enumerate()
            .map(|(i, (values, limit))| sample::of(&format!("c{i}"), values, *limit))
            .collect();
        check(&configurations)?;
    }

    /// Ordered samples may have any values and signs.
    #[test]
    fn no_overview_has_an_invalid_attribute(
        all in proptest::collection::vec(proptest::collection::vec(-1i64 << 40..1 << 40, 0..30), 1..6)
    ) {
        for mut configurations in [calls::compute(&[2, 4], 1), calls::pendulum()] {
            for (one, values) in configurations.iter_mut().zip(&all) {
                for track in one.repeats[0].tracks_mut() {
                    let point = |(value, i): (&i64, u64)| Point { value: *value, at_ns: i * 1_000_003 };
                    track.samples = values.iter().zip(0..).map(point).collect();
                }
            }
            check(&configurations)?;
        }
    }
}

#[test]
fn overviews_of_many_calls_are_sound() {
    check(&calls::mutex(&["idle", "busy", "more"])).unwrap();
    check(&calls::switch(&["idle"], &["futex", "pipe", "eventfd"])).unwrap();
}

#[test]
fn nothing_at_all_is_drawn_as_nothing() {
    check(&[sample::empty("idle"), sample::empty("busy")]).unwrap();
    let mut bare = sample::empty("bare");
    bare.repeats[0].quantities[0].tracks.clear();
    bare.quantities[0].summary = latido_model::record::Summary::default();
    check(&[bare]).unwrap();
}

#[test]
fn hostile_names_stay_text_in_every_figure() {
    let hostile = "<script>alert(\"1\")</script>&'";
    let mut configuration = sample::of(hostile, &[1_000, 2_000], Some(1_500));
    sample::change(&mut configuration, 0, |own| {
        own.labels = [("kind".to_owned(), "\"><img src=x>".to_owned())].into();
        own.quantity = "<q>".into();
    });
    let mut all = vec![configuration];
    for mut one in calls::compute(&[2], 9).into_iter().chain(calls::pendulum()) {
        one.cell.load.id = hostile.into();
        sample::change(&mut one, 0, |own| drop(own.labels.insert("\"><img src=x>".into(), hostile.into())));
        all.push(one);
    }
    let all = sections(&all);
    let mut drawings = Vec::new();
    for section in &all {
        for figure in FIGURES {
            drawings.extend((figure.draw)(section));
        }
    }
    for chapter in chapters(&all) {
        for figure in OVERVIEWS {
            drawings.extend((figure.draw)(&chapter));
        }
    }
    assert!(drawings.len() > 2 * FIGURES.len());
    for drawing in drawings {
        for svg in [drawing.inline(), standalone(&[hostile], &drawing)] {
            assert!(!svg.contains("<script") && !svg.contains("<img") && !svg.contains("<q>"), "{svg}");
        }
    }
}

/// Returns the font size of each class of texts, in pixels.
fn sizes() -> Vec<(String, f64)> {
    let rules = style::paper_rules();
    let of = |rule: &str| {
        let (class, size) = (rule.split_once('{')?.0, rule.split_once("font-size:")?.1.split_once("px")?.0);
        Some((class.trim_start_matches('.').to_owned(), size.parse().ok()?))
    };
    rules.replace('}', "\n").lines().filter_map(of).collect()
}

/// Returns start and end of each horizontal text, and the text.
fn texts(svg: &str) -> Vec<(f64, f64, String)> {
    let sizes = sizes();
    let one = |text: &str| {
        let (tag, rest) = text.split_once('>')?;
        let value = |name: &str| tag.split_once(&format!("{name}=\""))?.1.split('"').next();
        let words = rest.split('<').next()?.replace("&gt;", ">").replace("&lt;", "<");
        let size = sizes.iter().find(|(class, _)| Some(class.as_str()) == value("class"))?.1;
        let (x, width) = (value(" x")?.parse::<f64>().ok()?, text_width(&words, size));
        let from = match value("text-anchor") {
            Some("middle") => x - width / 2.0,
            Some("end") => x - width,
            _ => x,
        };
        (!tag.contains("rotate")).then_some((from, from + width, words))
    };
    svg.split("<text ").skip(1).filter_map(|text| one(&format!(" {text}"))).collect()
}

/// Passes each picture of these configurations, as wide as a column of this width, to `see`. Returns the number of pictures.
fn drawn(all: &[latido_judge::configuration::Configuration], millimetres: f64, see: impl Fn(&str, &str)) -> usize {
    let judged = sample::SampleRun::of(all);
    let figures = paper::Figures::of(&judged.input(all), millimetres);
    let names = figures.list();
    for (name, _) in &names {
        see(name, &figures.named(name).unwrap().svg(false, "DejaVu Sans"));
    }
    names.len()
}

/// Returns a factorial: two kernels under two loads, three repeats each.
fn factorial() -> Vec<latido_judge::configuration::Configuration> {
    let one = |(kernel, load, times): (&str, &str, i64)| {
        let once = |number: i64| sample::of(load, &[1_000, (100 + number) * times * 1_000], Some(300_000));
        let mut first = once(0);
        first.repeats.extend((1..3).flat_map(|number| once(number).repeats));
        first.repeats.iter_mut().zip(1..).for_each(|(repeat, number)| repeat.repeat = number);
        first.cell.kernel = kernel.into();
        (first.label, first.short) = (format!("{kernel}, {load}"), format!("{kernel}, {load}"));
        first
    };
    [("stock", "idle", 4), ("stock", "busy", 12), ("rt", "idle", 2), ("rt", "busy", 6)].map(one).into()
}

/// On paper every text is at least 6 points high and inside the figure, however narrow the figure is.
#[test]
fn texts_are_readable_and_inside_at_the_width_of_a_column() {
    assert!(
        sizes().len() > 5 && sizes().iter().all(|(_, size)| size * paper::SCALE / 25.4 * 72.0 >= 6.0),
        "{:?}",
        sizes()
    );
    let runs = [
        sample::configurations(1),
        sample::configurations(5),
        calls::mutex(&["idle", "busy"]),
        calls::pendulum(),
        calls::compute(&[2, 64], 200),
        factorial(),
    ];
    for all in &runs {
        for millimetres in [60.0, 84.0, 140.0, 178.0] {
            let seen = drawn(all, millimetres, |name, svg| {
                assert!(svg.contains(&format!("width=\"{millimetres:.2}mm\"")), "{name}: {svg:.200}");
                let right = millimetres / paper::SCALE + 3.0;
                assert!(!texts(svg).is_empty(), "{name}");
                for (from, to, text) in texts(svg) {
                    assert!(from > -3.0 && to < right, "{name}, {millimetres} mm: `{text}` from {from} to {to}");
                }
            });
            assert!(seen > 0);
        }
    }
}
