//! What holds of every figure, whatever was measured.

use super::*;
use crate::{
    sample::{self, calls},
    tree::{chapters, sections},
};
use latido_model::record::Point;
use proptest::prelude::*;

/// Everything between quotes that should be a number or path, without texts and styles.
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

/// Numbers in attributes are numbers, and every row of the table is as wide as its head.
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

    /// Whatever was kept in order, with whatever signs.
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
