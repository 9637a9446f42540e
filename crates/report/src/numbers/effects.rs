//! The effects of several factors as text.

use super::{between, number, p_text};
use crate::{
    terminal::{Paint, Style, hang, paint, table},
    words,
};
use latido_judge::numbers::effects::Factorial;
use latido_statistics::factorial::Effect;
use table::TextColumn;

/// Returns the text for people.
pub fn text(found: &Factorial, name: &str, style: Style) -> String {
    let title = format!("{name}: {}", words::many(found.count, "value"));
    let mut lines = vec![paint(&title, Paint::Bold, style)];
    let mut about = format!("geometric mean {}", found.unit.text(found.effects.mean));
    if let Some(spread) = found.effects.spread {
        let freedom = words::many(found.effects.freedom, "degree");
        about.push_str(&format!("; repeats differ by a factor of {} ({freedom} of freedom)", number(spread.exp())));
    }
    lines.push(about);
    if found.effects.freedom == 0 {
        let text = "there are too few repeats: the fit leaves no degree of freedom, so the effects have no intervals";
        lines.extend(hang("note:", Paint::Warn, text, style));
    }
    if !found.balanced {
        lines.extend(hang("note:", Paint::Warn, "not every combination was measured equally often", style));
    }
    if found.effects.uneven {
        let text = match found.effects.each_own {
            true => "combinations spread differently, so p and intervals use the spread of each",
            false => {
                "combinations may spread differently, but one has fewer than 4 values, too few to tell; p and intervals assume equal spread, \
                 so both may be too small, and an effect may be chance"
            }
        };
        lines.extend(hang("note:", Paint::Warn, text, style));
    }
    lines.push(String::new());
    for one in &found.effects.contrasts {
        let sure = found.effects.uneven == found.effects.each_own
            && one.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
        let tone = if sure { Paint::Bold } else { Paint::Dim };
        lines.extend(hang("  -", tone, &sentence(one), style));
    }
    lines.push(String::new());
    lines.extend(terms(found, style));
    lines.join("\n") + "\n"
}

fn terms(found: &Factorial, style: Style) -> Vec<String> {
    let terms = &found.effects.terms;
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

/// Returns a sentence on an effect: `load=busy is 2.10 times load=idle (1.60 to 2.70)`.
fn sentence(effect: &Effect) -> String {
    let interval = between(effect.interval, number).map(|interval| format!(" ({interval})")).unwrap_or_default();
    let p = effect.p.map(|p| format!(", p {}", p_text(p))).unwrap_or_default();
    let ratio = number(effect.ratio);
    let level = |at: usize| {
        let (factor, level) = (effect.factors.get(at), effect.levels.get(at));
        format!("{}={}", factor.map_or("", String::as_str), level.map_or("", String::as_str))
    };
    match effect.factors.as_slice() {
        [factor] => {
            let base = effect.relative_to.as_ref().map(|base| format!("{factor}={base}"));
            let base = base.unwrap_or_else(|| "the geometric mean".into());
            format!("{} is {ratio} times {base}{interval}{p}", level(0))
        }
        [_, _] => format!("{} multiplies the effect of {} by {ratio}{interval}{p}", level(0), level(1)),
        more => {
            let others: Vec<String> = (1..more.len()).map(level).collect();
            format!("{} multiplies the interaction of {} by {ratio}{interval}{p}", level(0), others.join(" and "))
        }
    }
}
