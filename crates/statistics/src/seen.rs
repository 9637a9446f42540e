//! What a measurement had the time to see: causes that strike rarely, at random moments (a Poisson process).

/// The probability that a cause which strikes every `interval` on average did not strike within `length`, both in the same
/// unit: `exp(-length/interval)`. A cause of once a day is missed with probability .96, .72, .37 and .05 in 1, 8, 24 and
/// 72 hours. `None` unless both are finite, the length at least 0 and the interval above it.
pub fn missed(interval: f64, length: f64) -> Option<f64> {
    let sound = interval.is_finite() && length.is_finite() && interval > 0.0 && length >= 0.0;
    sound.then(|| (-length / interval).exp())
}

/// How long one must measure to have seen such a cause with the given probability, in the unit of the interval:
/// `interval ln(1/(1 - confidence))`, three days for once a day and 95 %.
pub fn length_needed(interval: f64, confidence: f64) -> Option<f64> {
    let sound = interval.is_finite() && interval > 0.0 && (0.0..1.0).contains(&confidence);
    sound.then(|| -interval * (-confidence).ln_1p())
}

/// The mean interval of the rarest cause that a measurement of this length has seen with the given probability: what
/// strikes less often may be in no maximum of it.
pub fn rarest_seen(length: f64, confidence: f64) -> Option<f64> {
    let sound = length.is_finite() && length >= 0.0 && confidence > 0.0 && confidence < 1.0;
    sound.then(|| -length / (-confidence).ln_1p())
}
