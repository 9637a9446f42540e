//! Several factors at once: by how much each changes the value, and whether they change each other's effect.

use super::{Kind, between, finite, number, p_text};
use crate::{
    factors::fit::why,
    terminal::{Paint, Style, hang, paint, table},
    words,
};
use latido_statistics::factorial::{self, Effect, Effects, Observation};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use table::TextColumn;

/// The most combinations of levels.
const CELLS: usize = 10_000;

/// Effects of factors.
#[derive(Debug, Clone, Serialize)]
pub struct Factorial {
    /// Of all values.
    pub unit: Kind,
    /// The factors.
    pub factors: Vec<String>,
    /// The column of the blocks, if there is one.
    pub block: Option<String>,
    /// How many values there are.
    pub count: u64,
    /// Whether every combination was measured equally often.
    pub balanced: bool,
    /// The most factors of an interaction.
    pub order: usize,
    /// All that was fitted, of natural logarithms.
    #[serde(flatten)]
    pub effects: Effects,
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// The names of the factors.
    pub factors: Vec<String>,
    /// The column of the blocks, if there is one.
    pub block: Option<String>,
    /// The most factors of an interaction.
    pub order: usize,
}

/// Fits the effects.
///
/// # Errors
/// Why they cannot be told, with what is missing.
pub fn of(observations: &[Observation], question: Question, unit: Kind) -> Result<Factorial, String> {
    let names: Vec<&str> = question.factors.iter().map(String::as_str).collect();
    let levels: Vec<usize> = (0..names.len()).map(|factor| levels(observations, factor)).collect();
    if let Some((name, _)) = names.iter().zip(&levels).find(|(_, levels)| **levels < 2) {
        return Err(format!("the factor `{name}` has one level alone: leave its column away"));
    }
    let cells = levels.iter().fold(1, |all: usize, levels| all.saturating_mul(*levels));
    if cells > CELLS {
        return Err(format!(
            "the factors have {cells} combinations of levels, and at most {CELLS} are taken: is a factor a number?"
        ));
    }
    let mut values = observations.iter().map(|one| one.value);
    let first = values.next();
    if values.all(|value| Some(value) == first) {
        return Err("all values are equal: there is no effect to be estimated".into());
    }
    let order = question.order.min(names.len());
    let mut effects = factorial::effects(&names, observations, order).map_err(|refusal| why(&refusal))?;
    for one in effects.coefficients.iter_mut().chain(&mut effects.contrasts) {
        one.interval = finite(one.interval);
    }
    let mut counts: BTreeMap<&Vec<String>, usize> = BTreeMap::new();
    observations.iter().for_each(|one| *counts.entry(&one.levels).or_default() += 1);
    let (fewest, most) = (counts.values().min().copied(), counts.values().max().copied());
    Ok(Factorial {
        unit,
        block: question.block,
        count: observations.len() as u64,
        balanced: fewest == most && counts.len() == cells,
        order,
        effects,
        factors: question.factors,
    })
}

/// How many levels a factor has.
fn levels(observations: &[Observation], factor: usize) -> usize {
    let levels: BTreeSet<&String> = observations.iter().filter_map(|one| one.levels.get(factor)).collect();
    levels.len()
}

impl Factorial {
    /// What a person is shown.
    pub fn text(&self, name: &str, style: Style) -> String {
        let title = format!("{name}: {}", words::many(self.count, "value"));
        let mut lines = vec![paint(&title, Paint::Bold, style)];
        let mut about = format!("geometric mean {}", self.unit.text(self.effects.mean));
        if let Some(spread) = self.effects.spread {
            let freedom = words::many(self.effects.freedom, "degree");
            about.push_str(&format!("; repeats differ by a factor of {} ({freedom} of freedom)", number(spread.exp())));
        }
        lines.push(about);
        if self.effects.freedom == 0 {
            let text = "there are no repeats beyond what the effects take: effects without intervals";
            lines.extend(hang("note:", Paint::Warn, text, style));
        }
        if !self.balanced {
            lines.extend(hang("note:", Paint::Warn, "not every combination was measured equally often", style));
        }
        if self.effects.uneven {
            let text = match self.effects.each_own {
                true => "combinations spread differently: p and intervals take each with its own spread",
                false => {
                    "combinations may spread differently, and fewer than 4 values of one tell too little of that: p and intervals take all for \
                     alike, and both are too small then, so that an effect may be chance"
                }
            };
            lines.extend(hang("note:", Paint::Warn, text, style));
        }
        lines.push(String::new());
        for one in &self.effects.contrasts {
            let sure = self.effects.uneven == self.effects.each_own
                && one.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
            let tone = if sure { Paint::Bold } else { Paint::Dim };
            lines.extend(hang("  -", tone, &sentence(one), style));
        }
        lines.push(String::new());
        lines.extend(self.terms(style));
        lines.join("\n") + "\n"
    }

    fn terms(&self, style: Style) -> Vec<String> {
        let terms = &self.effects.terms;
        let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        let right = |name: &str, cells| TextColumn { name: name.into(), cells, ..TextColumn::default() };
        table::render(
            vec![
                TextColumn::text("term", terms.iter().map(|term| term.factors.join(" x ")).collect()),
                right("freedom", terms.iter().map(|term| term.freedom.to_string()).collect()),
                right("F", terms.iter().map(|term| or_none(term.f.map(number))).collect()),
                right("p", terms.iter().map(|term| or_none(term.p.map(p_text))).collect()),
            ],
            style,
        )
    }
}

/// `load=busy is 2.10 times load=idle (1.60 to 2.70)`.
fn sentence(effect: &Effect) -> String {
    let interval = between(effect.interval, number).map(|interval| format!(" ({interval})")).unwrap_or_default();
    let p = effect.p.map(|p| format!(", p {}", p_text(p))).unwrap_or_default();
    let ratio = number(effect.ratio);
    let level = |at: usize| {
        let (factor, level) = (effect.factors.get(at), effect.levels.get(at));
        format!("{}={}", factor.map_or("", String::as_str), level.map_or("", String::as_str))
    };
    let base = effect.relative_to.as_deref().unwrap_or("the whole");
    match effect.factors.as_slice() {
        [factor] => format!("{} is {ratio} times {factor}={base}{interval}{p}", level(0)),
        [_, _] => format!("{} multiplies the effect of {} by {ratio}{interval}{p}", level(0), level(1)),
        more => {
            let others: Vec<String> = (1..more.len()).map(level).collect();
            format!("{} multiplies what {} do to each other by {ratio}{interval}{p}", level(0), others.join(" and "))
        }
    }
}
