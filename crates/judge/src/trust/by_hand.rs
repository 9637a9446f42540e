//! The trust check of settings that the user applied with `latido tune apply`.

use super::checks::Graded;
use crate::{deciding::Deciding, finding::Grade::Note, span::spans};
use latido_model::record::{ByHand, Record};

/// Notes settings that no cell names and no plan repeats: the figures depend on them too.
pub(super) fn by_hand(record: &Record, _: &Deciding) -> Graded {
    let (loose, stood): (Vec<&ByHand>, Vec<&ByHand>) =
        record.quality.by_hand.iter().partition(|set| set.in_force == Some(false));
    let stood = (!stood.is_empty()).then(|| by_tuning(&stood));
    let loose = (!loose.is_empty()).then(|| format!("no longer in force: {}", by_tuning(&loose)));
    (Note, spans![[stood, loose].into_iter().flatten().collect::<Vec<_>>().join("; ")])
}

/// Returns `frequency (scaling_governor to performance, and 3 more), vm-stat (stat_interval to 60)`.
fn by_tuning(set: &[&ByHand]) -> String {
    let mut named: Vec<(&ByHand, usize)> = Vec::new();
    for one in set {
        match named.iter_mut().find(|(known, _)| known.tuning == one.tuning) {
            Some((_, more)) => *more += 1,
            None => named.push((one, 0)),
        }
    }
    let words = named.into_iter().map(|(ByHand { tuning, knob, value, .. }, more)| match more {
        0 => format!("{tuning} ({knob} to {value})"),
        more => format!("{tuning} ({knob} to {value}, and {more} more)"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::plain;
    use latido_model::sample;

    fn set(tuning: &str, in_force: Option<bool>) -> ByHand {
        ByHand { tuning: tuning.into(), knob: "knob".into(), value: "performance".into(), in_force }
    }

    #[test]
    fn each_tuning_is_named_with_a_value() {
        let told = |set: &[ByHand]| {
            let mut record = sample::record();
            record.quality.by_hand = set.to_vec();
            plain(&by_hand(&record, &Deciding::default()).1)
        };
        let two = [set("frequency", Some(true)), set("frequency", Some(true))];
        assert_eq!(told(&two), "frequency (knob to performance, and 1 more)");
        let mixed = [set("frequency", Some(true)), set("irqs", None), set("smt", Some(false))];
        assert_eq!(
            told(&mixed),
            "frequency (knob to performance), irqs (knob to performance); no longer in force: smt \
             (knob to performance)"
        );
    }
}
