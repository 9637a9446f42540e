//! Several verdicts of one family.

/// The p values adjusted after Holm (Scandinavian Journal of Statistics 6, 1979), in the order given: those below 5 % are
/// false with at most 5 % for the whole family.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = p.iter().copied().zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut adjusted = vec![1.0; p.len()];
    let (mut least, mut left) = (0.0_f64, p.len());
    for (p, at) in order {
        least = least.max((p * left as f64).min(1.0));
        if let Some(place) = adjusted.get_mut(at) {
            *place = least;
        }
        left -= 1;
    }
    adjusted
}
