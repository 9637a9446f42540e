//! Numbers in lines: whole numbers, and decimals that are exact in the kept unit.

/// The number of digits with which every number fits 63 bits.
const SURE: usize = 18;

/// Reads the whole number at the beginning of the bytes. Returns the number, the byte behind it, and the rest; `None` where there are no
/// digits, more digits than surely fit, or no byte behind them.
#[inline(always)]
pub(super) fn digits(bytes: &[u8]) -> Option<(u64, u8, &[u8])> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return if at == 0 || at > SURE { None } else { Some((value, *byte, bytes.get(at + 1..)?)) };
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    None
}

/// Parses a whole number of 63 bits.
pub(super) fn whole(word: &[u8]) -> Option<u64> {
    let mut value = 0i64;
    for byte in word {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    (!word.is_empty()).then_some(value.unsigned_abs())
}

/// Multiplies a decimal by a power of ten, where the product is whole and fits 63 bits: `1.5` in us is 1500 ns, `0.0005` gives `None`. The
/// protocol has no exponents.
pub(super) fn decimal(word: &[u8], factor: i64) -> Option<i64> {
    let plain = word.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    let whole = word.strip_prefix(b"-").unwrap_or(word).first().is_some_and(u8::is_ascii_digit);
    (plain && whole).then(|| crate::samples::decimal(std::str::from_utf8(word).ok()?, factor))?
}
