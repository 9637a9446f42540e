//! Even steps written short: `4,8,12..44` is 4, 8, 12, 16 and so on to 44, one level each.

use super::CELLS_MAX;
use toml::Value;

/// Returns the levels of a ramp, or `None` if the text is not a ramp. Whole numbers become integers; numbers with the same unit
/// (`10ms,20ms..100ms`) stay texts.
///
/// # Errors
/// The text has the form of a ramp, but no even steps lead to its end.
pub fn levels(text: &str) -> Option<Result<Vec<Value>, String>> {
    let (from, end) = text.split_once("..")?;
    let (end, unit) = number(end)?;
    let mut numbers = Vec::new();
    for piece in from.split(',') {
        let (number, of) = number(piece)?;
        // It is enough that the last number has the unit.
        if of != unit && !of.is_empty() {
            return None;
        }
        numbers.push(number);
    }
    Some(steps(&numbers, end).map_err(|why| format!("`{text}`: {why}")).map(|all| {
        let value = |number: i64| match unit {
            "" => Value::Integer(number),
            unit => Value::String(format!("{number}{unit}")),
        };
        all.into_iter().map(value).collect()
    }))
}

/// Splits a whole number from its unit.
fn number(text: &str) -> Option<(i64, &str)> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit)).filter(|(_, unit)| unit.chars().all(char::is_alphabetic))
}

fn steps(numbers: &[i64], end: i64) -> Result<Vec<i64>, String> {
    let last = *numbers.last().ok_or("there is no number before `..`")?;
    let mut differences = numbers.windows(2).filter_map(|pair| pair.last()?.checked_sub(*pair.first()?));
    let step = differences.next().unwrap_or(if end < last { -1 } else { 1 });
    if let Some(other) = differences.find(|other| *other != step) {
        return Err(format!("the steps before `..` are {step} and {other}: make them equal, or write a list"));
    }
    let way = end.checked_sub(last).ok_or("the end is too far away")?;
    if step == 0 || way % step != 0 || way / step < 0 {
        return Err(format!("steps of {step} do not lead from {last} to {end}"));
    }
    if way / step >= CELLS_MAX as i64 {
        return Err(format!("these are more than {CELLS_MAX} levels"));
    }
    Ok(numbers.iter().copied().chain((1..=way / step).map(|n| last + n * step)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match levels(text) {
            None => "none".into(),
            Some(Err(why)) => why,
            Some(Ok(values)) => values.iter().map(crate::written::value).collect::<Vec<_>>().join(" "),
        }
    }

    #[test]
    fn even_steps_are_continued() {
        assert_eq!(shown("4,8,12..44"), "4 8 12 16 20 24 28 32 36 40 44");
        assert_eq!(shown("1..4"), "1 2 3 4");
        assert_eq!(shown("9,6..0"), "9 6 3 0");
        assert_eq!(shown("4, 8 .. 16"), "4 8 12 16");
        assert_eq!(shown("5..5"), "5");
        assert_eq!(shown("10ms,20ms..40ms"), r#""10ms" "20ms" "30ms" "40ms""#);
        assert_eq!(shown("10,20..40ms"), r#""10ms" "20ms" "30ms" "40ms""#);
    }

    #[test]
    fn what_is_no_ramp_is_left_alone() {
        for text in ["", "..", "4,8", "0-3,5", "../x", "a..b", "1...4", "1..4..8", "1.5..2", "2s..10ms", "64M", "-1..3"]
        {
            assert_eq!(shown(text), "none", "{text}");
        }
    }

    #[test]
    fn a_ramp_that_misses_its_end_is_refused() {
        for (text, why) in [
            ("4,8..45", "steps of 4 do not lead from 8 to 45"),
            ("4,8..2", "steps of 4 do not lead from 8 to 2"),
            ("4,4..8", "steps of 0 do not lead from 4 to 8"),
            ("1,2,4..64", "the steps before `..` are 1 and 2: make them equal, or write a list"),
            ("0..99999999999", "these are more than"),
        ] {
            assert!(shown(text).contains(why), "{}", shown(text));
        }
    }
}
