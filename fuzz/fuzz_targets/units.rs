//! Any text as a span of time: an answer, the right one, and the same one after printing and reading.
#![no_main]

use latido_model::units::Ns;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let read = text.parse::<Ns>();
    if let Ok(span) = &read {
        assert_eq!(span.to_string().parse::<Ns>().as_ref(), Ok(span), "{text:?}");
    }
    if let Some(exact) = exact(text.trim()) {
        assert_eq!(read.ok().map(|span| span.0), exact, "{text:?}");
    }
});

/// Computes the same number in another way: all digits as one integer, divided at the end. `None` for texts that it does not handle;
/// `Some(None)` for a number that is too large or not a whole number of nanoseconds.
fn exact(text: &str) -> Option<Option<u64>> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let scale: u128 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    // Short enough for 128 bits.
    if whole.is_empty() || !digits(whole) || !digits(fraction) || whole.len() + fraction.len() > 22 {
        return None;
    }
    let numerator = format!("{whole}{fraction}").parse::<u128>().ok()? * scale;
    let denominator = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let whole_ns = numerator.is_multiple_of(denominator).then_some(numerator / denominator);
    Some(whole_ns.filter(|ns| *ns <= 200 * 86_400_000_000_000).map(|ns| ns as u64))
}
