//! Parses pieces of text: numbers, and the words before and after them.

/// Parses a decimal number as a whole number of its smallest part: `28.911216` with 1,000,000,000 parts is 28,911,216,000. Returns `None`
/// if the text is not a number, does not fit, or has digits beyond the smallest part.
pub(super) fn decimal(text: &str, parts: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut value = number::<u64>(whole)?.checked_mul(parts)?;
    let mut unit = parts;
    if fraction.is_empty() {
        return None;
    }
    for digit in fraction.chars() {
        unit /= 10;
        value = value.checked_add(u64::from(digit.to_digit(10)?).checked_mul(unit)?)?;
        if unit == 0 && digit != '0' {
            return None;
        }
    }
    Some(value)
}

/// Parses a number of digits only: no sign, no space.
pub(super) fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Returns the first word and the text after it, without the spaces before either.
pub(super) fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end)?;
    (!word.is_empty()).then(|| (word, rest.trim_start()))
}

/// Returns the text before the last word, and the last word, without trailing spaces.
pub(super) fn last_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let (rest, word) = text.rsplit_once(char::is_whitespace).unwrap_or(("", text));
    (!word.is_empty()).then_some((rest, word))
}

/// Parses `sh-187`: a task's name, which may contain dashes and spaces, and its number.
pub(super) fn task(text: &str) -> Option<(&str, u32)> {
    let (name, pid) = text.trim().rsplit_once('-')?;
    Some((name, number(pid)?))
}

/// Parses the leading digits. Returns the number and the text after it.
pub(super) fn digits(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((number(digits)?, rest))
}

/// Returns the text after the first occurrence of a key, up to the end.
pub(super) fn rest<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    fields.split_once(key).map(|(_, value)| value)
}

/// Returns the text after the first occurrence of a key, up to a space.
pub(super) fn first<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    rest(fields, key)?.split(' ').next()
}

/// Returns the text after the last occurrence of a key, up to a space.
pub(super) fn last<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    fields.rsplit_once(key)?.1.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!(decimal("28.911216", 1_000_000_000), Some(28_911_216_000));
        assert_eq!(decimal("0.283", 1000), Some(283));
        assert_eq!(decimal("123", 1000), Some(123_000));
        assert_eq!(decimal("1.5000", 1000), Some(1500));
        for bad in ["", ".", "1.", ".5", "1.2345", "-1", "1.x", "99999999999999999999", "18446744073709551615"] {
            assert_eq!(decimal(bad, 1000), None, "{bad}");
        }
    }

    #[test]
    fn a_task_keeps_the_dashes_of_its_name() {
        assert_eq!(task(" odd name-7 [1]-323 "), Some(("odd name-7 [1]", 323)));
        assert_eq!(task("-0"), Some(("", 0)));
        assert_eq!(task("sh"), None);
    }
}
