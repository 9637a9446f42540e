//! Which causes a measurement was long enough to see, if they strike rarely and at random moments (a Poisson process).

/// Returns the probability that a cause which strikes once per `interval` on average did not strike within `length`, both in the same unit:
/// `exp(-length/interval)`. A measurement of 1, 8, 24 and 72 hours misses a cause of once per day with probability .96, .72, .37 and .05.
/// Returns `None` unless both are finite, the length is at least 0 and the interval above 0.
pub fn missed(interval: f64, length: f64) -> Option<f64> {
    let sound = interval.is_finite() && length.is_finite() && interval > 0.0 && length >= 0.0;
    sound.then(|| (-length / interval).exp())
}

/// Returns how long a measurement must be to see such a cause with the given probability, in the unit of the interval: `interval ln(1/(1 -
/// confidence))`, three days for once per day and 95 %.
pub fn length_needed(interval: f64, confidence: f64) -> Option<f64> {
    let sound = interval.is_finite() && interval > 0.0 && (0.0..1.0).contains(&confidence);
    sound.then(|| -interval * (-confidence).ln_1p())
}

/// Returns the mean interval of the rarest cause that a measurement of this length has seen with the given probability. A cause that
/// strikes less often may not have affected its maximum.
pub fn rarest_seen(length: f64, confidence: f64) -> Option<f64> {
    let sound = length.is_finite() && length >= 0.0 && confidence > 0.0 && confidence < 1.0;
    sound.then(|| -length / (-confidence).ln_1p())
}
