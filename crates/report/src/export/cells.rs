//! The cells of the runs, as every format uses them: with their name, series and result.

use super::{format::Exported, naming, state::State, units};
use crate::judged::JudgedRun;
use latido_judge::judgement::CellJudgement;
use latido_model::{
    plan::expect::NS,
    record::{self, Record, Series, Summary},
    run::StoredCell,
};
use std::collections::BTreeMap;

/// One cell of one run.
#[derive(Clone, Debug)]
pub struct OneCell<'a> {
    /// Its run.
    pub run: &'a JudgedRun,
    /// What was stored.
    pub stored: &'a StoredCell,
    /// Its judgement.
    pub judged: &'a CellJudgement,
    /// What it measures, the same in each run of the plan: `wakeup, busy`.
    pub title: String,
    /// The same as one word: `wakeup-busy`.
    pub step: String,
    /// The prefix of names if the file has several runs.
    pub of_run: Option<String>,
}

/// One series of a cell.
#[derive(Clone, Debug)]
pub struct OneSeries<'a> {
    /// Its cell.
    pub cell: &'a OneCell<'a>,
    /// What was stored.
    pub series: &'a Series,
    /// The distribution that is judged: with the delays of missed slots if slots are counted.
    pub summary: Summary,
    /// The thread, and what else distinguishes the series from others of its quantity: `cpu 1`, `cpu 0 kind inherit`.
    pub place: String,
}

/// A figure of a series in its stored unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// `min`, `mean`, `p50` to `p99_999`, `max`; `max_at_least` if the largest possible value was cut off.
    pub key: String,
    /// Its value.
    pub value: f64,
    /// Its result.
    pub state: State,
}

impl Exported<'_> {
    /// Returns the cells of all runs, run by run, in the order in which they were measured.
    pub fn cells(&self) -> Vec<OneCell<'_>> {
        prefixes(self.runs)
            .into_iter()
            .zip(self.runs)
            .flat_map(|(prefix, run)| of_run(run, prefix.as_deref()))
            .collect()
    }
}

/// Returns what distinguishes the runs of one file: the plan's name, with a number if the plan appears again. The run's id is not part of
/// it, because it differs in every run of CI history.
pub fn prefixes(runs: &[JudgedRun]) -> Vec<Option<String>> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    runs.iter()
        .map(|run| {
            let plan = run.run.meta.plan.as_str();
            let again = seen.entry(plan).and_modify(|again| *again += 1).or_insert(1);
            (runs.len() > 1).then(|| if *again == 1 { plan.to_owned() } else { format!("{plan} {again}") })
        })
        .collect()
}

/// Returns the cells of one run.
pub fn of_run<'a>(run: &'a JudgedRun, prefix: Option<&str>) -> Vec<OneCell<'a>> {
    let pairs = run.run.cells.iter().zip(&run.judgement.cells).zip(naming::names(&run.run));
    let one = |((stored, judged), name): ((&'a StoredCell, &'a CellJudgement), naming::Name)| OneCell {
        run,
        stored,
        judged,
        title: name.title,
        step: name.step,
        of_run: prefix.map(str::to_owned),
    };
    pairs.map(one).collect()
}

impl<'a> OneCell<'a> {
    /// Returns `wakeup, busy`, preceded by the plan if there are several runs.
    pub fn name(&self) -> String {
        match &self.of_run {
            Some(run) => format!("{run}: {}", self.title),
            None => self.title.clone(),
        }
    }

    /// Returns the name as in [`OneCell::name`], for people who look for the cell in this run: with its number for `--cell`, and with the
    /// run if there are several.
    pub fn listed(&self) -> String {
        let run = self.of_run.as_ref().map(|_| format!("{} ", self.run.run.meta.id)).unwrap_or_default();
        format!("{run}{:03} {}", self.stored.number, self.title)
    }

    /// Returns its record, if it has one.
    pub fn record(&self) -> Option<&'a Record> {
        self.stored.record()
    }

    /// Returns its result, judged by its limit.
    pub fn state(&self) -> State {
        State::of_cell(self.judged, self.stored.cell.conditions.limit.is_some())
    }

    /// Returns the reason, in sentences.
    pub fn why(&self) -> String {
        self.judged.reasons.iter().map(|reason| reason.sentence()).collect::<Vec<_>>().join("; ")
    }

    /// Returns when it started, as RFC 3339; the start of its run if the cell has no host facts.
    pub fn started(&self) -> &str {
        self.stored.host.as_ref().map_or(&self.run.run.meta.started, |host| &host.started)
    }

    /// Returns the series with samples. A series without samples was not measured and is left out.
    pub fn series(&'a self) -> Vec<OneSeries<'a>> {
        let all = self.record().map(|record| record.series.as_slice()).unwrap_or_default();
        let one = |series: &'a Series| OneSeries {
            cell: self,
            series,
            summary: series.decisive(),
            place: place(series, all),
        };
        all.iter().filter(|series| series.count > 0).map(one).collect()
    }
}

fn place(series: &Series, all: &[Series]) -> String {
    let on =
        |other: &&Series| (&other.quantity, &other.labels, other.cpu) == (&series.quantity, &series.labels, series.cpu);
    let mut place = match series.cpu {
        Some(cpu) if all.iter().filter(on).count() < 2 => format!("cpu {cpu}"),
        Some(cpu) => format!("cpu {cpu} thread {}", series.thread),
        None => format!("thread {}", series.thread),
    };
    for (key, value) in &series.labels {
        place.push_str(&format!(" {key} {value}"));
    }
    place
}

impl OneSeries<'_> {
    /// Returns why its largest value is not a maximum but only a lower bound; absent if nothing cut it.
    pub fn censored(&self) -> Option<String> {
        let record = self.cell.record()?;
        if let record::Outcome::Stopped { value_ns, .. } = record.outcome
            && units::is_time(&self.series.unit)
        {
            return Some(format!("the measurement ended at the first sample above its bound, {value_ns} ns"));
        }
        let bound = self.cell.stored.measurand.quantity(&self.series.quantity)?.bound?;
        let reached = [self.summary.min, self.summary.max].into_iter().flatten().any(|v| v.saturating_abs() >= bound);
        reached.then(|| format!("nothing is measured beyond {bound} {}", self.series.unit))
    }

    /// Returns its mean. For an import, whose tool printed only some of the digits, this is the middle of the possible range.
    pub fn mean(&self) -> Option<f64> {
        self.import_mean().map_or(self.summary.mean, |(low, high)| Some(f64::midpoint(low, high)))
    }

    /// Returns its mean without the delays of missed slots, for formats that print only whole microseconds. For an import this is the value
    /// that its tool printed.
    pub fn printed_mean(&self) -> Option<f64> {
        self.import_mean().map_or(self.series.mean, |(low, _)| Some(low))
    }

    fn import_mean(&self) -> Option<(f64, f64)> {
        self.series.bounds.as_ref()?.mean
    }

    /// Returns its figures. Figures that were not measured, or have too few samples, are left out.
    pub fn figures(&self) -> Vec<Figure> {
        let summary = &self.summary;
        let state = self.beside();
        let whole = |value: Option<i64>| value.map(|value| value as f64);
        let mut all = Vec::new();
        let mut add = |key: &str, value: Option<f64>, state| {
            all.extend(value.map(|value| Figure { key: key.into(), value, state }));
        };
        add("min", whole(summary.min), state);
        add("mean", self.mean(), state);
        for (key, _) in record::QUANTILES {
            add(&percentile(key), whole(summary.quantiles.get(*key).copied().flatten()), state);
        }
        let max = if self.censored().is_some() { "max_at_least" } else { "max" };
        add(max, whole(summary.max), self.of_max());
        all
    }

    /// Returns the slots that were met, late and missed, if they were counted.
    pub fn slots(&self) -> Vec<(&'static str, u64)> {
        let counted =
            self.series.slots.map(|slots| vec![("met", slots.met), ("late", slots.late), ("missed", slots.missed)]);
        counted.unwrap_or_default()
    }

    /// Returns the result of its maximum: in a failed cell, each thread either kept the limit or did not.
    pub fn of_max(&self) -> State {
        let limit = self.cell.stored.cell.conditions.limit;
        let judged = self.series.unit == NS && self.cell.stored.measurand.judges(&self.series.quantity);
        match (self.cell.state(), limit, self.summary.max) {
            (State::Fail, Some(limit), Some(max)) if judged => {
                if max > i64::try_from(limit.0).unwrap_or(i64::MAX) {
                    State::Fail
                } else {
                    State::Pass
                }
            }
            (State::Pass, ..) if judged => State::Pass,
            _ => self.beside(),
        }
    }

    /// Returns the result of a figure that no limit applies to.
    fn beside(&self) -> State {
        let state = self.cell.state();
        if state.is_trusted() { State::Measured } else { state }
    }
}

/// Returns `p99_9` for `0.999`: without a point, which separates names elsewhere.
fn percentile(key: &str) -> String {
    let digits = key.strip_prefix("0.").unwrap_or(key);
    let (whole, rest) = digits.split_at(digits.len().min(2));
    match rest {
        "" => format!("p{whole:0<2}"),
        rest => format!("p{whole}_{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_named_without_points() {
        let named = record::QUANTILES.iter().map(|(key, _)| percentile(key));
        assert_eq!(named.collect::<Vec<_>>(), ["p50", "p90", "p99", "p99_9", "p99_99", "p99_999"]);
    }
}
