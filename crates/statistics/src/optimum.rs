//! Minima of functions of one and two variables, and zeros of those of one.

/// Returns where a function with one minimum within the interval is smallest, and its value there (Brent, Algorithms for Minimization
/// without Derivatives, 1973, chapter 5).
pub fn minimum(low: f64, high: f64, tolerance: f64, f: impl Fn(f64) -> f64) -> (f64, f64) {
    const GOLDEN: f64 = 0.381_966_011_250_105;
    let (mut low, mut high) = (low, high);
    let mut best = low + GOLDEN * (high - low);
    let mut at_best = f(best);
    let (mut second, mut third) = (best, best);
    let (mut at_second, mut at_third) = (at_best, at_best);
    let (mut step, mut before_last) = (0.0_f64, 0.0_f64);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        let near = tolerance * best.abs() + tolerance;
        if (best - middle).abs() <= 2.0 * near - 0.5 * (high - low) {
            break;
        }
        let r = (best - second) * (at_best - at_third);
        let q = (best - third) * (at_best - at_second);
        let p = (best - third) * q - (best - second) * r;
        let q = 2.0 * (q - r);
        let (p, q) = if q > 0.0 { (-p, q) } else { (p, -q) };
        let parabola = p.abs() < (0.5 * q * before_last).abs() && p > q * (low - best) && p < q * (high - best);
        before_last = step;
        if parabola {
            step = p / q;
            let next = best + step;
            if next - low < 2.0 * near || high - next < 2.0 * near {
                step = near.copysign(middle - best);
            }
        } else {
            before_last = if best < middle { high - best } else { low - best };
            step = GOLDEN * before_last;
        }
        let next = best + if step.abs() >= near { step } else { near.copysign(step) };
        let at_next = f(next);
        if at_next <= at_best {
            if next < best {
                high = best
            } else {
                low = best
            }
            (third, at_third) = (second, at_second);
            (second, at_second) = (best, at_best);
            (best, at_best) = (next, at_next);
        } else {
            if next < best {
                low = next
            } else {
                high = next
            }
            if at_next <= at_second || second == best {
                (third, at_third) = (second, at_second);
                (second, at_second) = (next, at_next);
            } else if at_next <= at_third || third == best || third == second {
                (third, at_third) = (next, at_next);
            }
        }
    }
    (best, at_best)
}

/// Returns where a function of two variables is smallest, and its value there, after about `evaluations` evaluations from `start` with
/// these initial steps (Nelder & Mead, Computer Journal 7, 1965).
pub fn minimum_of_two(
    start: [f64; 2],
    steps: [f64; 2],
    evaluations: u32,
    f: impl Fn([f64; 2]) -> f64,
) -> ([f64; 2], f64) {
    let at = |place: [f64; 2]| (place, f(place));
    let along =
        |from: [f64; 2], to: [f64; 2], by: f64| [from[0] + by * (to[0] - from[0]), from[1] + by * (to[1] - from[1])];
    let [x, y] = start;
    let mut corners = [at(start), at([x + steps[0], y]), at([x, y + steps[1]])];
    let mut used = 3;
    while used < evaluations {
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        let [best, middle, worst] = corners;
        let centre = along(best.0, middle.0, 0.5);
        let mirrored = at(along(worst.0, centre, 2.0));
        used += 2;
        let new = if mirrored.1 < best.1 {
            let further = at(along(worst.0, centre, 3.0));
            if further.1 < mirrored.1 { further } else { mirrored }
        } else if mirrored.1 < middle.1 {
            mirrored
        } else {
            at(along(if mirrored.1 < worst.1 { mirrored.0 } else { worst.0 }, centre, 0.5))
        };
        corners = if new.1 < worst.1 {
            [best, middle, new]
        } else {
            [best, at(along(best.0, middle.0, 0.5)), at(along(best.0, worst.0, 0.5))]
        };
    }
    corners.sort_by(|a, b| a.1.total_cmp(&b.1));
    corners[0]
}

/// Returns where a function changes its sign between two places (regula falsi after Dowell & Jarratt, BIT 11, 1971, "Illinois", with
/// bisection where it is slow). The function must have different signs at the ends.
pub fn zero(low: f64, high: f64, tolerance: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut a, mut b) = (low, high);
    let (mut at_a, mut at_b) = (f(a), f(b));
    for round in 0..200 {
        if (b - a).abs() <= tolerance * (a.abs() + b.abs()) + f64::MIN_POSITIVE {
            break;
        }
        let secant = b - at_b * (b - a) / (at_b - at_a);
        let inside = secant.is_finite() && secant > a.min(b) && secant < a.max(b) && round % 4 != 3;
        let next = if inside { secant } else { f64::midpoint(a, b) };
        let at_next = f(next);
        if at_next == 0.0 {
            return next;
        }
        if (at_next > 0.0) == (at_b > 0.0) {
            at_a *= 0.5;
        } else {
            (a, at_a) = (b, at_b);
        }
        (b, at_b) = (next, at_next);
    }
    f64::midpoint(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The functions find the minima and zeros known from calculus.
    #[test]
    fn known_minima_and_zeros_are_found() {
        let (at, value) = minimum(-3.0, 5.0, 1e-9, |x: f64| (x - 1.25).powi(2) + 2.0);
        assert!((at - 1.25).abs() < 1e-6 && (value - 2.0).abs() < 1e-12);
        assert!((minimum(0.0, 1.0, 1e-9, |x| x).0).abs() < 1e-6, "at an end");
        let (at, value) =
            minimum_of_two([0.0, 0.0], [0.5, 0.5], 120, |[x, y]| (x - 1.0).powi(2) + 3.0 * (y - x).powi(2));
        assert!((at[0] - 1.0).abs() < 1e-4 && (at[1] - 1.0).abs() < 1e-4 && value < 1e-8, "{at:?}");
        assert!((zero(0.0, 3.0, 1e-14, |x: f64| x.cos()) - std::f64::consts::FRAC_PI_2).abs() < 1e-10);
        assert!((zero(0.0, 1e9, 1e-14, |x: f64| x.powi(3) - 8.0) - 2.0).abs() < 1e-9);
    }
}
