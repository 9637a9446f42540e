//! The demonstrator's pendulum in characters: a rod from its pivot to its weight, as large as the space allows.

use latido_model::{
    protocol::{Progress, ThreadProgress},
    quantity::Measurand,
};

/// Good machines have small angles, so they are drawn magnified by this factor.
const MAGNIFIED: f64 = 10.0;

/// The unit of a pendulum's angle.
const UNIT: &str = "urad";

/// The fewest rows for a readable picture.
const LEAST: usize = 5;

/// Draws the first angle that has a bound, as lines of text; none if no angle has one or there is no room.
pub fn picture(measurand: &Measurand, progress: &Progress, width: usize, height: usize) -> Vec<String> {
    let lies = measurand.quantities.iter().filter(|quantity| quantity.unit == UNIT).find_map(|quantity| quantity.bound);
    let thread = progress.threads.iter().find(|thread| thread.unit.as_deref() == Some(UNIT));
    let Some((thread, lies)) = thread.zip(lies) else { return Vec::new() };
    let (Some(angle), true) = (thread.kept, height > LEAST && width >= 40) else { return Vec::new() };
    // A character is twice as high as wide: a rod of this many rows reaches twice as many columns to each side.
    let rows = (height - 1).min(9);
    let mut lines = rod(angle, rows);
    lines.push(words(thread, angle, lies));
    lines.into_iter().map(|line| line.chars().take(width).collect()).collect()
}

fn rod(urad: i64, rows: usize) -> Vec<String> {
    let lean = (urad as f64 * 1e-6 * MAGNIFIED).clamp(-std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_2);
    let length = rows.saturating_sub(1) as f64;
    let reach = 2 * rows;
    let mut field = vec![vec![' '; 2 * reach + 1]; rows];
    // One character per row; an almost horizontal rod needs one per column.
    let steps = if lean.abs() > 0.9 { rows * 4 } else { rows.saturating_sub(1) };
    for step in 0..=steps {
        let part = step as f64 / steps as f64;
        let across = reach as f64 + 2.0 * length * part * lean.sin();
        let up = length * part * lean.cos();
        let sign = match step {
            0 => '^',
            _ if step == steps => 'O',
            _ if lean.abs() > 1.3 => '-',
            _ if lean > 0.25 => '/',
            _ if lean < -0.25 => '\\',
            _ => '|',
        };
        let row = rows - 1 - (up.round() as usize).min(rows - 1);
        let cell = field.get_mut(row).and_then(|line| line.get_mut(across.round().max(0.0) as usize));
        // The pivot stays visible below the rod.
        if let Some(cell) = cell.filter(|cell| **cell != '^') {
            *cell = sign;
        }
    }
    field.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_string()).collect()
}

fn words(thread: &ThreadProgress, angle: i64, lies: i64) -> String {
    let degrees = |urad: i64| (urad as f64 * 1e-6).to_degrees();
    let farthest = thread.max.unwrap_or(0);
    // The angle is in whole units, so it may be below the bound by a fraction of a unit.
    if farthest >= lies - 1 {
        let at = thread.spike.map_or_else(String::new, |(_, at)| format!(" after {:.1} s", at as f64 * 1e-9));
        return format!("it FELL{at}: the torque was held too long");
    }
    format!(
        "leans {:+.2}°, at most {:.2}° so far; it falls at {:.0}° (drawn {MAGNIFIED:.0} times as large)",
        degrees(angle),
        degrees(farthest),
        degrees(lies)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::quantity::Quantity;

    fn measurand() -> Measurand {
        let angle = Quantity::time("angle", "Pendulum: angle").in_unit(UNIT).up_to(1_047_198);
        Measurand { quantities: vec![angle], ..Measurand::default() }
    }

    fn at(angle: i64, max: i64) -> Progress {
        let thread = ThreadProgress {
            unit: Some("urad".into()),
            kept: Some(angle),
            max: Some(max),
            spike: Some((max, 2_300_000_000)),
            ..ThreadProgress::default()
        };
        Progress { threads: vec![ThreadProgress::default(), thread], ..Progress::default() }
    }

    #[test]
    fn it_stands_leans_and_lies() {
        let states = [(0, 9_000), (-60_000, 90_000), (1_047_198, 1_047_198)];
        let pictures = states.map(|(angle, max)| picture(&measurand(), &at(angle, max), 80, 7).join("\n"));
        insta::assert_snapshot!(pictures.join("\n\n"), @r#"
                    O
                    |
                    |
                    |
                    |
                    ^
        leans +0.00°, at most 0.52° so far; it falls at 60° (drawn 10 times as large)


              O
               \
                 \\
                   \
                    ^
        leans -3.44°, at most 5.16° so far; it falls at 60° (drawn 10 times as large)






                    ^---------O
        it FELL after 2.3 s: the torque was held too long
        "#);
    }

    #[test]
    fn without_a_pendulum_or_room_there_is_no_picture() {
        assert!(picture(&measurand(), &Progress::default(), 80, 20).is_empty());
        assert!(
            picture(&measurand(), &at(0, 0), 80, 4).is_empty() && picture(&measurand(), &at(0, 0), 30, 20).is_empty()
        );
    }

    proptest::proptest! {
        /// Whatever another process reports, the picture fits into its field.
        #[test]
        fn it_never_leaves_its_field(angle: i64, max: i64, width in 40usize..200, height in 6usize..60) {
            let lines = picture(&measurand(), &at(angle, max), width, height);
            proptest::prop_assert!(lines.len() <= height);
            proptest::prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
        }
    }
}
