//! The repeats of two sides: each repeat is one figure, and untrustworthy repeats are left out.

use super::{
    Found, doubt, figure, is_foreign_above,
    pairing::{Member, Side},
    settle::Open,
};
use crate::{
    copies,
    foreign::{Parted, Repeated, part},
    measured::{Amount, Apart, But, Compared, Dimension, LeftOut, Measured, Missing, Pair, Ruling, Unfit},
    names::Names,
    statistics::middle,
};
use latido_model::{
    plan::{Expect, Op, Statistic, Than},
    run::SeriesSource,
    verdict::Verdict,
};
use latido_statistics::two::{Comparison, Question, Scale, compare, hodges_lehmann::Difference};

/// A repeat that counts.
struct Repeat<'s, 'a> {
    members: Vec<&'s Member<'a>>,
    /// The figure; for counts, a rate.
    value: f64,
    /// The exposure over which it was counted.
    exposure: f64,
}

/// A side with its remaining repeats.
struct Arm<'s, 'a> {
    side: &'s Side<Member<'a>>,
    repeats: Vec<Repeat<'s, 'a>>,
    left_out: Vec<LeftOut>,
    /// The most severe verdict among the repeats that were left out.
    verdict: Verdict,
}

impl<'s, 'a> Arm<'s, 'a> {
    fn of(side: &'s Side<Member<'a>>, expect: &Expect, source: &dyn SeriesSource) -> Self {
        let mut arm = Self { side, repeats: Vec::new(), left_out: Vec::new(), verdict: Verdict::Inconclusive };
        let mut numbers: Vec<usize> = side.members.iter().map(|member| member.cell.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            let members: Vec<_> = side.members.iter().filter(|member| member.cell.number == number).collect();
            let doubtful = members.iter().find_map(|member| doubt(member.judged));
            if let Some((verdict, But::Doubt(reason))) = doubtful {
                arm.leave_out(verdict, Unfit::Doubt(reason));
                continue;
            }
            let record = members.first().map(|member| member.record);
            let known = |known: &Repeat<'_, '_>| {
                known.members.first().zip(record).is_some_and(|(member, record)| copies::are(member.record, record))
            };
            if arm.repeats.iter().any(known) {
                arm.leave_out(Verdict::Inconclusive, Unfit::Copy);
                continue;
            }
            match of_members(&members, expect, source) {
                Ok((count, exposure)) => arm.repeats.push(Repeat { members, value: count / exposure, exposure }),
                Err(missing) => arm.leave_out(Verdict::Inconclusive, Unfit::Missing(missing)),
            }
        }
        arm
    }

    /// Leaves out a repeat. There is one entry per kind of reason: the first reason stands for all of its kind.
    fn leave_out(&mut self, verdict: Verdict, why: Unfit) {
        if verdict.weight_for_item() > self.verdict.weight_for_item() {
            self.verdict = verdict;
        }
        let alike = |known: &&mut LeftOut| std::mem::discriminant(&known.why) == std::mem::discriminant(&why);
        match self.left_out.iter_mut().find(alike) {
            Some(known) => known.repeats += 1,
            None => self.left_out.push(LeftOut { side: self.side.name.clone(), repeats: 1, why }),
        }
    }

    fn values(&self) -> Vec<f64> {
        self.repeats.iter().map(|repeat| repeat.value).collect()
    }

    fn compared(&self, expect: &Expect) -> Compared {
        let amount = middle(self.values().into_iter()).map(|value| amount(expect, self.side, value));
        Compared { name: self.side.name.clone(), amount, repeats: self.repeats.len() }
    }

    /// Returns why no repeat has a figure, if nothing else is wrong with the side.
    fn missing(&self) -> Option<Missing> {
        match self.left_out.as_slice() {
            [LeftOut { why: Unfit::Missing(missing), .. }] if self.repeats.is_empty() => Some(missing.clone()),
            _ => None,
        }
    }
}

/// A repeat with everything needed to find its samples.
struct Traced<'r, 's, 'a> {
    repeat: Repeat<'s, 'a>,
    expect: &'r Expect,
    source: &'r dyn SeriesSource,
}

impl Repeated for Traced<'_, '_, '_> {
    fn value(&self) -> f64 {
        self.repeat.value
    }

    fn foreign_above(&self, edge: f64) -> Vec<Option<bool>> {
        let told = |member: &&Member<'_>| {
            is_foreign_above(self.expect, edge, member.cell, member.record, member.series, self.source)
        };
        self.repeat.members.iter().map(told).collect()
    }
}

fn without_foreign<'s, 'a>(mut arms: [Arm<'s, 'a>; 2], expect: &Expect, source: &dyn SeriesSource) -> [Arm<'s, 'a>; 2] {
    let parted = part(arms.each_mut().map(|arm| {
        let repeats = std::mem::take(&mut arm.repeats).into_iter();
        repeats.map(|repeat| Traced { repeat, expect, source }).collect()
    }));
    for (arm, Parted { own, foreign, edge }) in arms.iter_mut().zip(parted) {
        arm.repeats = own.into_iter().map(|traced| traced.repeat).collect();
        for _ in foreign {
            arm.leave_out(Verdict::Contaminated, Unfit::ForeignAbove(edge.round() as i64));
        }
    }
    arms
}

/// Returns the figure of all threads of a repeat, and the exposure over which it was counted (1 if it is no count).
fn of_members(members: &[&Member<'_>], expect: &Expect, source: &dyn SeriesSource) -> Result<(f64, f64), Missing> {
    let series: Vec<_> = members.iter().map(|member| (member.cell, member.series)).collect();
    let figure = match figure::of(expect, &series, source) {
        Ok(Some(figure)) => figure,
        Ok(None) => return Err(figure::missing(expect.statistic, &series)),
        Err(error) => return Err(Missing::Unfit(format!("{error:#}"))),
    };
    let exposure = match rate(expect.statistic, members) {
        None => 1.0,
        Some(PER_HOUR) => members.iter().map(|member| member.record.elapsed_ns as f64 / 3.6e12).sum(),
        Some(_) => members.iter().map(|member| member.series.decisive().count as f64 / 1e6).sum(),
    };
    if exposure > 0.0 { Ok((figure, exposure)) } else { Err(Missing::TooFew(0)) }
}

const PER_HOUR: &str = "per hour";
const PER_MILLION: &str = "per million";

/// Returns the unit for rates of a count. Counts are per hour of a thread where samples cover time continuously (gaps of a busy loop) or
/// where the samples themselves are counted; else per million samples or slots.
fn rate(statistic: Statistic, members: &[&Member<'_>]) -> Option<&'static str> {
    let continuous = |member: &&Member<'_>| {
        let quantities = &member.cell.measurand.quantities;
        quantities.iter().any(|quantity| quantity.name == member.series.quantity && quantity.continuous)
    };
    match statistic {
        Statistic::Count => Some(PER_HOUR),
        Statistic::Above(_) if members.iter().any(continuous) => Some(PER_HOUR),
        Statistic::Above(_) | Statistic::Missed | Statistic::Late => Some(PER_MILLION),
        _ => None,
    }
}

fn amount(expect: &Expect, side: &Side<Member<'_>>, value: f64) -> Amount {
    let members: Vec<_> = side.members.iter().collect();
    match (rate(expect.statistic, &members), side.members.first()) {
        (Some(per), _) => Amount { value, dimension: Dimension::Rate(per) },
        (None, Some(member)) => figure::amount(expect, member.series, value),
        (None, None) => Amount { value, dimension: Dimension::Number },
    }
}

/// Compares the repeats of one side with those of another; the family decides later.
pub(super) fn pair(
    expect: &Expect,
    than: &Than,
    [here, there]: [&Side<Member<'_>>; 2],
    names: &Names,
    source: &dyn SeriesSource,
    found: &mut Found,
) {
    let [first, ..] = here.members.as_slice() else { return };
    let labels = first.series.labels.iter().map(|(label, value)| format!("{label} {value}"));
    let whose = [names.of_all(&first.cell.cell)].into_iter().chain(labels).collect::<Vec<_>>().join(", ");
    let [own, other] = without_foreign([here, there].map(|side| Arm::of(side, expect, source)), expect, source);
    let sideless = |name: &str, why| Measured::Sideless { name: name.into(), why };
    for arm in [&own, &other] {
        if let Some(why) = arm.missing() {
            return found.add(Verdict::Inconclusive, 0.0, whose, sideless(&arm.side.name, why));
        }
    }
    let emulated = |side: &Side<Member<'_>>| side.members.iter().any(|m| m.record.machine.emulated.is_some());
    if emulated(here) != emulated(there) {
        let why = Missing::Unfit(
            "latido does not compare emulated time with real time; emulated time counts instructions".into(),
        );
        return found.add(Verdict::Inconclusive, 0.0, whose, sideless(&here.name, why));
    }
    let left_out = [own.left_out.clone(), other.left_out.clone()].concat();
    let compared = [own.compared(expect), other.compared(expect)];
    let each = [own.values(), other.values()];
    let pair = |apart, ruling| {
        let [own, other] = compared.clone();
        Pair { own, other, apart, p: None, ruling, left_out: left_out.clone(), each: each.clone() }
    };
    if let Some(empty) = [&own, &other].into_iter().find(|arm| arm.repeats.is_empty()) {
        let measured = Measured::Pair(Box::new(pair(None, Ruling::NoneLeft(empty.side.name.clone()))));
        return found.add(empty.verdict, 0.0, whose, measured);
    }
    let comparison = match asked(expect, than, &own, &other) {
        Ok(comparison) => comparison,
        Err(refusal) => {
            let why = Missing::Unfit(refusal.to_string());
            return found.add(Verdict::Inconclusive, 0.0, whose, sideless(&here.name, why));
        }
    };
    let apart = apart(expect, than, here, &comparison);
    let mut cells: Vec<usize> = here.members.iter().map(|member| member.cell.number).collect();
    cells.dedup();
    found.open.push(Open {
        lower: matches!(expect.op, Op::Less | Op::AtMost),
        pair: pair(Some(apart), Ruling::Chance),
        place: whose,
        comparison,
        arms: [own.values(), other.values()],
        cells,
        quantity: first.series.quantity.clone(),
        labels: first.series.labels.clone(),
    });
}

/// Makes the requested comparison: `times` multiplies the side that is to be lower, `by` shifts the null hypothesis.
fn asked(
    expect: &Expect,
    than: &Than,
    own: &Arm<'_, '_>,
    other: &Arm<'_, '_>,
) -> Result<Comparison, latido_statistics::Refusal> {
    let grown = |arm: &Arm<'_, '_>, times: f64| -> Vec<f64> { arm.values().iter().map(|v| v * times).collect() };
    let lower = matches!(expect.op, Op::Less | Op::AtMost);
    let (a, b) =
        if lower { (other.values(), grown(own, than.times)) } else { (grown(other, than.times), own.values()) };
    let positive = a.iter().chain(&b).all(|value| *value > 0.0);
    if than.by == 0.0 && positive {
        return compare(&a, &b, Question { margin: than.margin, ..Question::RATIO });
    }
    // For counts, `by` applies to a repeat of mean length.
    let exposures: Vec<f64> = own.repeats.iter().chain(&other.repeats).map(|repeat| repeat.exposure).collect();
    let by = than.by * exposures.len() as f64 / exposures.iter().sum::<f64>();
    compare(&a, &b, Question { null: if lower { -by } else { by }, ..Question::DIFFERENCE })
}

fn apart(expect: &Expect, than: &Than, here: &Side<Member<'_>>, comparison: &Comparison) -> Apart {
    let Difference { value, interval, .. } = comparison.estimate;
    match comparison.question.scale {
        Scale::Ratio => {
            let lower = matches!(expect.op, Op::Less | Op::AtMost);
            let times = if lower { 1.0 / than.times } else { than.times };
            Apart::Ratio { value: value * times, interval: interval.map(|(low, high)| (low * times, high * times)) }
        }
        Scale::Difference => {
            let amount = |value| amount(expect, here, value);
            Apart::Difference {
                value: amount(value),
                interval: interval.map(|(low, high)| (amount(low), amount(high))),
            }
        }
    }
}
