//! Whether the repeats of a plan can decide what it compares.

use crate::{comparison_wording::sides, expect::planned::Planned};
use latido_statistics::two::{
    mann_whitney::{repeats_needed, smallest_p},
    verdict::LEVEL,
};

/// Returns a sentence about comparisons that their repeats cannot decide, whatever the values; `None` if all can be decided.
pub fn too_few(planned: &[Planned]) -> Option<String> {
    let family = planned.len();
    let level = LEVEL / family.max(1) as f64;
    let short: Vec<(u64, u64)> =
        planned.iter().map(|one| one.repeats).filter(|(n, m)| smallest_p(*n, *m) > level).collect();
    let (n, m) = short.iter().copied().min_by_key(|(n, m)| (n.min(m).to_owned(), n + m))?;
    let which = match (short.len(), family) {
        (_, 1) => "the comparison cannot be decided".to_owned(),
        (all, family) if all == family => format!("none of the {family} comparisons can be decided"),
        (some, family) => format!("{some} of the {family} comparisons cannot be decided"),
    };
    let alone = repeats_needed(LEVEL);
    let needed = repeats_needed(level);
    let takes = match (alone, needed) {
        (_, None) => String::new(),
        (Some(alone), Some(needed)) if family > 1 => {
            format!("; one alone needs {alone} per side, one of {family} needs {needed} (--repeat {needed})")
        }
        (_, Some(needed)) => format!("; it needs {needed} per side (--repeat {needed})"),
    };
    let of = if family > 1 { " for all of them together" } else { "" };
    Some(format!("{which}: {} cannot reach 5 %{of}{takes}", sides(n, m)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(repeats: &[(u64, u64)]) -> Option<String> {
        let all: Vec<Planned> = repeats.iter().map(|repeats| Planned { expect: 0, repeats: *repeats }).collect();
        too_few(&all)
    }

    /// The sentence must give both numbers: what one comparison needs alone, and what it needs among the others.
    #[test]
    fn too_few_repeats_are_told_with_what_it_takes() {
        assert_eq!((said(&[]), said(&[(4, 4)]), said(&[(10, 10); 24])), (None, None, None));
        assert_eq!(
            said(&[(3, 3)]).unwrap(),
            "the comparison cannot be decided: 3 repeats per side cannot reach 5 %; it needs 4 per side (--repeat 4)"
        );
        assert_eq!(
            said(&[(1, 1); 2]).unwrap(),
            "none of the 2 comparisons can be decided: one run per side cannot reach 5 % for all of them together; one \
             alone needs 4 per side, one of 2 needs 5 (--repeat 5)"
        );
        let uneven = said(&[(4, 1)]).unwrap();
        let told = "the comparison cannot be decided: 4 repeats against 1 cannot reach 5 %";
        assert!(uneven.starts_with(told), "{uneven}");
        let some = said(&[(10, 10), (10, 10), (4, 4)]).unwrap();
        assert!(some.starts_with("1 of the 3 comparisons cannot be decided: 4 repeats per side"), "{some}");
    }
}
