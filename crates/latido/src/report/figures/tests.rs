//! What holds of every figure, whatever was measured.

use super::*;
use crate::report::sample;
use proptest::prelude::*;

/// Everything between quotes that should be a number or path, without texts and styles.
fn attributes(svg: &str) -> Vec<&str> {
    let names = [" d=\"", " x=\"", " y=\"", "width=\"", "height=\"", "transform=\"", "viewBox=\""];
    let value = |at: usize| svg[at..].split('"').nth(1).unwrap_or_default();
    names.iter().flat_map(|name| svg.match_indices(name).map(|(at, _)| value(at))).collect()
}

fn check(configurations: &[crate::analyze::configuration::Configuration]) -> Result<(), TestCaseError> {
    for section in sections(configurations) {
        for figure in FIGURES {
            for drawing in (figure.draw)(&section) {
                let svg = drawing.inline();
                let values = attributes(&svg);
                prop_assert!(values.len() > 3, "{} draws axes at least", figure.name);
                for value in values {
                    prop_assert!(!value.contains("NaN") && !value.contains("inf"), "{}: {value}", figure.name);
                    let known = |c: char| c.is_ascii_digit() || ".- mlhvzrotate()%Ma".contains(c);
                    prop_assert!(value.chars().all(known), "{}: {value}", figure.name);
                }
                prop_assert!(drawing.width > 0.0 && drawing.height > 0.0 && drawing.height < 4_000.0);
            }
            let table = (figure.table)(&section);
            prop_assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}: {table:?}", figure.name);
        }
    }
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
}

#[test]
fn nothing_at_all_is_drawn_as_nothing() {
    check(&[sample::empty("idle"), sample::empty("busy")]).unwrap();
    let mut bare = sample::empty("bare");
    bare.quantities[0].tracks.clear();
    bare.quantities[0].summary = crate::record::Summary::default();
    check(&[bare]).unwrap();
}

#[test]
fn hostile_names_stay_text_in_every_figure() {
    let hostile = "<script>alert(\"1\")</script>&'";
    let mut configuration = sample::of(hostile, &[1_000, 2_000], Some(1_500));
    configuration.quantities[0].labels = [("kind".to_owned(), "\"><img src=x>".to_owned())].into();
    configuration.quantities[0].quantity = "<q>".into();
    let all = [configuration];
    for section in sections(&all) {
        for figure in FIGURES {
            for drawing in (figure.draw)(&section) {
                for svg in [drawing.inline(), standalone(&section, &drawing)] {
                    assert!(!svg.contains("<script") && !svg.contains("<img") && !svg.contains("<q>"), "{svg}");
                }
            }
        }
    }
}

#[test]
fn every_figure_is_written_with_its_data() {
    let dir = tempfile::tempdir().unwrap();
    let mut configuration = sample::of("x", &[1_000, 2_000], None);
    configuration.quantities[0].quantity = "../../latency".into();
    let configurations = [configuration];
    let sample = sample::Judged::of(&configurations);
    let written = write(&sample.input(&configurations), dir.path()).unwrap();
    assert_eq!(written.len(), 1 + 2 * FIGURES.len() + 1, "a picture and its data each, a second form of the histogram");
    for path in written {
        assert_eq!(path.parent(), Some(dir.path()));
        let text = fs::read_to_string(&path).unwrap();
        let svg = path.extension().is_some_and(|e| e == "svg");
        assert!(if svg {
            text.starts_with("<svg xmlns=") && !text.contains("var(")
        } else {
            text.lines().count() >= 2
        });
    }
}
