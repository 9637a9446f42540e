//! The effects of the factors of stored runs, as text.

use crate::{
    numbers::effects as of_values,
    terminal::{Paint, Style, hang, paint},
    words,
};
use latido_judge::effects::{AllEffects, Quantified};

/// Writes the effects as text for the terminal.
pub fn text(all: &AllEffects, style: Style) -> String {
    let title = format!("{} of each repeat of {}", all.metric, all.runs.join(", "));
    let mut text = paint(&title, Paint::Bold, style) + "\n";
    for one in &all.left_out {
        text.push_str(&(hang("left out:", Paint::Warn, one, style).join("\n") + "\n"));
    }
    for one in &all.quantities {
        text.push('\n');
        match (&one.found, &one.refused) {
            (Some(found), _) => text.push_str(&of_values::text(found, &name(one), style)),
            (None, why) => {
                let why = why.as_deref().unwrap_or_default();
                text.push_str(&(hang(&format!("{}:", name(one)), Paint::Warn, why, style).join("\n") + "\n"));
            }
        }
    }
    text
}

/// `wakeup latency`, with its labels.
fn name(quantified: &Quantified) -> String {
    let quantity = format!("{} {}", quantified.probe, quantified.quantity.replace('_', " "));
    let parts = [quantity, words::labels(&quantified.labels)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_judge::{effects::printed, observed::Metric};

    #[test]
    fn effects_without_repeats_say_so() {
        let found = printed("scheduling-latency", &Metric::default(), None).unwrap();
        let text = text(&found, Style { width: 100, color: false });
        assert!(text.contains("the effects have no"), "{text}");
    }
}
