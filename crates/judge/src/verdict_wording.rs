//! Turns verdicts into sentences: this file words what decides a cell or an expectation, `headline_wording` what decides a run. `decide`
//! gives the verdict's word, `words::marks` its sign and colour, `html::card_text` the short text of a card.

use super::{
    cause::Cause,
    comparison_wording::decimals,
    measured::{Amount, But, Decision, Dimension, Measured, Missing},
    reason::{ForeignBeside, Reason, WithoutJob, Worst},
};
use crate::span::{Span, many, plain, spans};
use latido_model::units::exact;
use serde::{Serialize, Serializer};

impl Reason {
    /// The reason as a sentence without its full stop.
    pub fn spans(&self) -> Vec<Span> {
        match self {
            Self::Contradiction { part: Some((part, parts)), what } => {
                spans![format!("part {part} of {parts}: {what}")]
            }
            Self::Contradiction { part: None, what } => spans![what.to_string()],
            Self::Broken(text) | Self::Skipped(text) => spans![text.as_str()],
            Self::Doubt(finding) => finding.spans(),
            Self::NotStarted => spans!["not measured yet"],
            Self::NeverFinished => spans!["started and never finished"],
            Self::Checkpoint => spans!["a checkpoint of a cell that was never finished"],
            // The file of an import does not contain the time measured.
            Self::Interrupted { after_ns: 0 } => spans!["interrupted"],
            Self::Interrupted { after_ns } => spans!["interrupted after ", Span::time(*after_ns)],
            Self::NoSamples => spans!["no samples"],
            Self::Sampled { count, limited } => sampled(*count, *limited),
            Self::Unlimited { worst, count } => largest(worst, *count),
            Self::Within { worst, count, limit_ns } => {
                let room = Span::Time(limit_ns.saturating_sub(worst.value_ns));
                [largest(worst, *count), spans![", ", room, " inside the limit of ", Span::Time(*limit_ns)]].concat()
            }
            Self::Coarse { worst, limit_ns, open } => coarse(worst, *limit_ns, *open),
            Self::NoMaximum { count: 1 } => spans!["1 sample, but its value is unknown"],
            Self::NoMaximum { count } => [many(*count, "sample"), spans![", but the largest is unknown"]].concat(),
            Self::OtherPeriod { every_ns, count, worst, limit_ns } => {
                let woken =
                    spans!["the kernel woke the program every ", Span::time(*every_ns), ", more than once per slot"];
                let within = spans![
                    "; that each slot was done within ",
                    Span::Time(*limit_ns),
                    " says nothing about a single job: "
                ];
                [woken, within, largest(worst, Some(*count))].concat()
            }
            Self::MayBeLate { slots, count, worst, limit_ns } => {
                let jobs = if *slots == 1 { " job may have ended" } else { " jobs may have ended" };
                let how =
                    " in the next slot, which the events do not show (a wake-up came late there); all others within ";
                let within = spans![Span::Count(*slots), jobs, how, Span::Time(*limit_ns), ": "];
                [within, largest(worst, Some(*count))].concat()
            }
            Self::WithoutJob { slots, count, worst, limit_ns } => {
                let within = spans![", and no job was later than the limit of ", Span::Time(*limit_ns), ": "];
                [no_job(*slots), within, largest(worst, Some(*count))].concat()
            }
            Self::Above { above, count, limit_ns, worst, also, foreign, named, without_job } => {
                let what = exceeding(*above, *count, *limit_ns, worst);
                let also = (!also.is_empty()).then(|| spans![format!("; also samples of {}", also.join(", "))]);
                let jobs = without_job.map(|slots| [spans!["; "], no_job(slots)].concat());
                let foreign = foreign.map(|beside| beside_failure(beside, *above));
                let causes = named.iter().flat_map(|(cause, samples)| by(*cause, *samples)).collect();
                let [also, jobs, foreign] = [also, jobs, foreign].map(Option::unwrap_or_default);
                [what, also, jobs, foreign, causes].concat()
            }
            Self::InParts(parts) => spans![parts.join("; "), ": the figures are pooled from the parts"],
            Self::Unread(why) => spans!["latido could not read the largest samples: ", why.as_str()],
        }
    }

    /// The same as plain text.
    pub fn sentence(&self) -> String {
        plain(&self.spans())
    }
}

/// `bins too coarse: 24 µs to 24.999 µs (latency), and the limit is 24.5 µs`. Rounded, the bounds of the bin and the limit inside it may
/// look the same.
fn coarse(worst: &Worst, limit_ns: i64, open: bool) -> Vec<Span> {
    let from = exact(worst.from_ns.unwrap_or(worst.value_ns));
    let reach = match open {
        true => spans!["the length of the largest sample is unknown: ", format!("{from} or more (")],
        false => spans!["bins too coarse: ", format!("{from} to {} (", exact(worst.value_ns))],
    };
    [reach, whose(worst), spans![")", format!(", and the limit is {}", exact(limit_ns))]].concat()
}

/// `20000 samples; the limit applies to none of them`.
fn sampled(count: u64, limited: bool) -> Vec<Span> {
    let limit = match (limited, count) {
        (false, _) => Vec::new(),
        (true, 1) => spans!["; the limit does not apply to it"],
        (true, _) => spans!["; the limit applies to none of them"],
    };
    [many(count, "sample"), limit].concat()
}

/// `3 of 20000 samples above the limit of 100 µs, worst 150 µs (latency, CPU 1)`.
fn exceeding(above: Option<u64>, count: Option<u64>, limit_ns: i64, worst: &Worst) -> Vec<Span> {
    if count == Some(1) {
        let only = spans!["the only sample is above the limit of ", Span::Time(limit_ns), ": "];
        return [only, length(worst), spans![" ("], whose(worst), spans![")"]].concat();
    }
    let many = match (above, count) {
        (Some(above), Some(count)) => spans![Span::Count(above), " of ", Span::Count(count), " samples"],
        _ => spans!["samples"],
    };
    let limit = spans![" above the limit of ", Span::Time(limit_ns), ", worst "];
    [many, limit, length(worst), spans![" ("], whose(worst), spans![")"]].concat()
}

/// Words the foreign samples next to a failure that stands: `; 3 of them may come from other programs or the host, the worst of the
/// others 674 µs`. Where missed slots are among the samples above the limit: `; of the 34 late samples that latido kept, 3 may come from
/// other programs or the host, the worst of the others 674 µs`. It is only "may": in their seconds, causes from outside took as long as
/// the excess, but latido did not see that these made the samples late. A trace shows it, and the sentence then says "caused".
fn beside_failure(beside: ForeignBeside, above: Option<u64>) -> Vec<Span> {
    let ForeignBeside { foreign, of, own_ns, traced } = beside;
    let many = match above == Some(of) {
        _ if traced && of == 1 => {
            let only = "; other programs caused the only late sample that the trace explains, the worst of the others ";
            return spans![only, Span::Time(own_ns)];
        }
        _ if traced => {
            let by = " late samples that the trace explains, the worst of the others ";
            return spans![
                "; other programs caused ",
                Span::Count(foreign),
                " of the ",
                Span::Count(of),
                by,
                Span::Time(own_ns)
            ];
        }
        true => spans!["; ", Span::Count(foreign), " of them may come from other programs or the host"],
        false if of == 1 => {
            spans!["; the only late sample that latido kept may come from other programs or the host"]
        }
        false => {
            let kept = " late samples that latido kept, ";
            spans![
                "; of the ",
                Span::Count(of),
                kept,
                Span::Count(foreign),
                " may come from other programs or the host"
            ]
        }
    };
    [many, spans![", the worst of the others ", Span::Time(own_ns)]].concat()
}

/// `50 slots had no job, 36 of them for certain`.
fn no_job(slots: WithoutJob) -> Vec<Span> {
    let many =
        spans![Span::Count(slots.slots), if slots.slots == 1 { " slot had no job" } else { " slots had no job" }];
    let certain = match (slots.certain(), slots.unclear) {
        (_, 0) => Vec::new(),
        (0, _) => spans![", none of them for certain: an earlier job may have done their work too"],
        (certain, _) => spans![", ", Span::Count(certain), " of them for certain"],
    };
    [many, certain].concat()
}

/// `; throttle caused 5 of them`.
fn by(cause: Cause, samples: u64) -> Vec<Span> {
    let what = match cause {
        // No counter measures how long one interrupt takes.
        Cause::Smi => "; a management interrupt came in the second of ".to_owned(),
        _ => format!("; {} caused ", cause.name()),
    };
    spans![what, Span::Count(samples), " of them"]
}

/// `worst 24.8 µs of 20000 samples (latency, CPU 1)`
fn largest(worst: &Worst, count: Option<u64>) -> Vec<Span> {
    // The file of another tool may not contain the number of samples.
    let of = count.map(|count| [spans![" of "], many(count, "sample")].concat()).unwrap_or_default();
    [spans!["worst "], length(worst), of, spans![" ("], whose(worst), spans![")"]].concat()
}

/// `24.8 µs`, or `24.0 µs to 25.0 µs` for samples that another tool has counted in bins.
fn length(worst: &Worst) -> Vec<Span> {
    let to = spans![Span::Time(worst.value_ns)];
    // Two bounds with the same text are no interval to a reader.
    let from = worst.from_ns.map(|from| spans![Span::Time(from)]).filter(|from| plain(from) != plain(&to));
    let from = from.map(|from| [from, spans![" to "]].concat()).unwrap_or_default();
    [from, to].concat()
}

fn whose(worst: &Worst) -> Vec<Span> {
    let cpu = worst.cpu.map(|cpu| spans![", ", Span::Where(format!("CPU {cpu}"))]);
    [spans![worst.quantity.as_str()], cpu.unwrap_or_default()].concat()
}

impl Amount {
    /// The figure with its unit.
    pub fn span(&self) -> Span {
        let value = self.value;
        match &self.dimension {
            Dimension::Time => Span::Time(value.round() as i64),
            // Means of many calls resolve less than a nanosecond.
            Dimension::FineTime if value.abs() < 1_000.0 => {
                Span::Quantity { value, unit: "ns".into(), decimals: Some(2) }
            }
            Dimension::FineTime => Span::Time(value.round() as i64),
            Dimension::Share => Span::Share(value),
            Dimension::Number => Span::exact(value, ""),
            Dimension::Rate(per) => Span::Quantity { value, unit: (*per).into(), decimals: Some(decimals(value)) },
            Dimension::Other(unit) => Span::exact(value, unit),
        }
    }
}

impl Missing {
    pub(super) fn spans(&self) -> Vec<Span> {
        match self {
            Self::NoSlots => spans!["counts no slots"],
            Self::TooFew(1) => spans!["1 sample is too few"],
            Self::TooFew(count) => [many(*count, "sample"), spans![" are too few"]].concat(),
            Self::Unfit(why) => spans![why.as_str()],
        }
    }
}

impl But {
    fn spans(&self) -> Vec<Span> {
        match self {
            Self::Doubt(reason) => {
                let why = reason.as_ref().map(|reason| reason.spans()).unwrap_or_default();
                [spans![", but "], why].concat()
            }
            Self::ForeignSeconds => spans![", in seconds with time of other programs or the host"],
            Self::Coarse(from, Some(to)) => spans![", but bins too coarse: ", from.span(), " to ", to.span()],
            Self::Coarse(from, None) => spans![", but the exact value is unknown: ", from.span(), " or more"],
        }
    }
}

impl Measured {
    /// The place in the cell and the figure: `CPU 1: 4.36 ms`.
    pub fn spans(&self) -> Vec<Span> {
        let weakened = |but: &Option<But>| but.as_ref().map(But::spans).unwrap_or_default();
        match self {
            Self::Nothing(None) => spans!["not measured"],
            Self::Nothing(Some(why)) => spans!["not measured: ", why.as_str()],
            Self::Single { whose, amount, but } => {
                let what = amount.as_ref().map_or_else(Missing::spans, |amount| vec![amount.span()]);
                [spans![Span::Where(whose.to_string()), ": "], what, weakened(but)].concat()
            }
            Self::Pair(pair) => pair.spans(),
            Self::Scaled(part) => {
                let percent = Span::exact((part * 1e8).round() / 1e6, "%");
                spans!["not measured (scaled): ", percent, " of the size says nothing about a maximum or a count"]
            }
            Self::Sideless { name, why } => [spans![name.as_str(), ": "], why.spans()].concat(),
        }
    }

    /// The same as plain text.
    pub fn sentence(&self) -> String {
        plain(&self.spans())
    }
}

impl Decision {
    /// The place and the figure that decide, and how many others agree: `wakeup, busy, CPU 1: 150 µs (and 3 more)`.
    pub fn spans(&self) -> Vec<Span> {
        let between = match self.measured {
            Measured::Nothing(_) | Measured::Pair(_) | Measured::Scaled(_) => ": ",
            Measured::Single { .. } | Measured::Sideless { .. } => ", ",
        };
        let more = if self.alike > 0 { spans![format!(" (and {} more)", self.alike)] } else { Vec::new() };
        [spans![Span::Where(self.place.clone()), between], self.measured.spans(), more].concat()
    }
}

/// Words what decided an expectation, or that no series matches.
pub fn decision(decision: Option<&Decision>) -> Vec<Span> {
    decision.map_or_else(|| spans!["no series matches"], Decision::spans)
}

pub(super) fn reasons_as_text<S: Serializer>(reasons: &[Reason], serializer: S) -> Result<S::Ok, S::Error> {
    reasons.iter().map(Reason::sentence).collect::<Vec<_>>().serialize(serializer)
}

pub(super) fn decision_as_text<S: Serializer>(of: &Option<Decision>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&plain(&decision(of.as_ref())))
}

pub(super) fn measured_as_text<S: Serializer>(measured: &Measured, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&measured.sentence())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slot that a late sample missed is above the limit, but latido keeps no sample of it. Such slots do not count as kept samples.
    #[test]
    fn foreign_samples_are_counted_among_those_that_were_kept() {
        let beside = ForeignBeside { foreign: 32, of: 34, own_ns: 674_000, traced: false };
        let told = |above| plain(&beside_failure(beside, above));
        assert_eq!(
            told(Some(34)),
            "; 32 of them may come from other programs or the host, the worst of the others 674 µs"
        );
        assert_eq!(
            told(Some(100)),
            "; of the 34 late samples that latido kept, 32 may come from other programs or the host, the worst of the others 674 µs"
        );
        let traced = plain(&beside_failure(ForeignBeside { traced: true, ..beside }, Some(34)));
        assert_eq!(
            traced,
            "; other programs caused 32 of the 34 late samples that the trace explains, the worst of the others 674 µs"
        );
    }

    /// A count of one has its noun in the singular, and the only sample is no part of several.
    #[test]
    fn one_sample_is_told_as_one() {
        let worst = Worst { value_ns: 21_700, from_ns: None, quantity: "latency".into(), cpu: Some(1), at_ns: None };
        let largest = |count| Reason::Unlimited { worst: worst.clone(), count: Some(count) }.sentence();
        assert_eq!(largest(1), "worst 21.7 µs of 1 sample (latency, CPU 1)");
        assert_eq!(largest(2), "worst 21.7 µs of 2 samples (latency, CPU 1)");
        assert_eq!(
            plain(&exceeding(Some(1), Some(1), 2_000, &worst)),
            "the only sample is above the limit of 2.00 µs: 21.7 µs (latency, CPU 1)"
        );
        assert_eq!(
            plain(&exceeding(Some(1), Some(2), 2_000, &worst)),
            "1 of 2 samples above the limit of 2.00 µs, worst 21.7 µs (latency, CPU 1)"
        );
        let sampled = |count, limited| Reason::Sampled { count, limited }.sentence();
        assert_eq!(sampled(1, false), "1 sample");
        assert_eq!(sampled(1, true), "1 sample; the limit does not apply to it");
        assert_eq!(sampled(2, true), "2 samples; the limit applies to none of them");
        let unknown = |count| Reason::NoMaximum { count }.sentence();
        assert_eq!(unknown(1), "1 sample, but its value is unknown");
        assert_eq!(unknown(2), "2 samples, but the largest is unknown");
        let few = |count| plain(&Missing::TooFew(count).spans());
        assert_eq!([few(1), few(9)], ["1 sample is too few", "9 samples are too few"]);
        let beside = |traced| {
            let beside = ForeignBeside { foreign: 1, of: 1, own_ns: 674_000, traced };
            plain(&beside_failure(beside, Some(7)))
        };
        assert_eq!(
            beside(false),
            "; the only late sample that latido kept may come from other programs or the host, the worst of the others 674 µs"
        );
        assert_eq!(
            beside(true),
            "; other programs caused the only late sample that the trace explains, the worst of the others 674 µs"
        );
    }
}
