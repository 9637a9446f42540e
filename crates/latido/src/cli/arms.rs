//! The sides of a comparison of stored runs: runs that the user names, or the levels of an axis within some runs.

use super::{Usage, stored::Reader, words};
use crate::output::tell;
use anyhow::Result;
use latido_judge::{
    compare::{self, Arms},
    observed::{Observed, coarser},
};
/// How the user named the sides on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// One side each; commas separate several runs of one side.
    pub runs: &'a [String],
    /// `NAME=RUN,RUN`.
    pub arms: &'a [String],
    /// The side that comes first.
    pub base: Option<&'a str>,
}

impl Named<'_> {
    /// Reads the sides: the levels of a factor where `by` names one, else the named runs.
    ///
    /// # Errors
    /// A run cannot be read, or there are fewer than two sides.
    pub fn read(self, by: Option<&str>, reader: &mut Reader) -> Result<Arms> {
        let mut arms = match (by.map(words::axis), self.runs, self.arms) {
            (Some(factor), ..) => self.levels(factor, reader)?,
            (None, [], []) => self.within("last", reader)?,
            (None, [run], []) if !run.contains(',') => self.within(run, reader)?,
            _ => self.each(reader)?,
        };
        coarser::level(reader.statistic(), arms.observed.iter_mut().flatten());
        Ok(arms)
    }

    /// Returns the levels of the one axis or option that a run varies.
    fn within(self, run: &str, reader: &mut Reader) -> Result<Arms> {
        let observed = reader.run(run)?.unwrap_or_default();
        match varied(run, observed, self.base).map_err(Usage::new)? {
            Some(arms) => Ok(arms),
            None => Err(Usage::new(format!(
                "{run} has only one measured configuration: name two runs, or measure two configurations with `latido \
                 run --vary load=idle,stress-cpu`"
            ))
            .into()),
        }
    }

    /// Returns the levels of a factor in all runs together.
    fn levels(self, factor: &str, reader: &mut Reader) -> Result<Arms> {
        if !self.arms.is_empty() {
            return Err(Usage::new("--side and --by both name the sides: give one of them").into());
        }
        let last = ["last".to_owned()];
        let runs = if self.runs.is_empty() { &last } else { self.runs };
        let mut observed = Vec::new();
        for name in runs.iter().flat_map(|runs| runs.split(',')) {
            match reader.run(name)? {
                Some(repeats) => observed.extend(repeats),
                None => tell(&format!("note: `{name}` names a run that you already named; latido takes it once")),
            }
        }
        compare::by(factor, observed, self.base).map_err(|why| Usage::new(format!("--by {factor}: {why}")).into())
    }

    /// Returns one side per argument, with commas for several runs; `--side` gives the sides names.
    fn each(self, reader: &mut Reader) -> Result<Arms> {
        let mut words: Vec<(String, &str)> = Vec::new();
        for text in self.arms {
            let Some((name, runs)) = text.split_once('=').filter(|(name, runs)| !name.is_empty() && !runs.is_empty())
            else {
                return Err(Usage::new(format!("--side {text}: write NAME=RUN,RUN")).into());
            };
            words.push((name.to_owned(), runs));
        }
        for (runs, at) in self.runs.iter().zip(self.arms.len()..) {
            words.push((letter(at), runs));
        }
        if let Some((twice, _)) =
            (1..).zip(&words).find_map(|(next, one)| words.iter().skip(next).find(|other| other.0 == one.0))
        {
            return Err(Usage::new(format!("two sides are called `{twice}`")).into());
        }
        if words.len() < 2 {
            let message = "name two sides: `latido compare RUN RUN`, with commas for several runs of one side; --by \
                           AXIS compares the levels within a run";
            return Err(Usage::new(message).into());
        }
        if let Some(base) = self.base {
            let Some(at) = words.iter().position(|(name, _)| name == base) else {
                return Err(Usage::new(format!("--base {base}: no side has this name")).into());
            };
            if let Some(first) = words.get_mut(..=at) {
                first.rotate_right(1);
            }
        }
        let mut arms = Arms { names: Vec::new(), observed: Vec::new(), factor: None };
        for (mut name, runs) in words {
            let mut observed: Vec<Observed> = Vec::new();
            for run in runs.split(',') {
                let Some(repeats) = reader.run(run)? else {
                    return Err(Usage::new(format!(
                        "`{run}` names a run that you already named: latido does not compare a run with itself"
                    ))
                    .into());
                };
                observed.extend(repeats);
            }
            // The label by which the user named the run says more than a letter.
            let is_label = |run: &str| !run.contains('/') && run != "last" && !runs.contains(',');
            let labelled = observed.first().is_some_and(|one| is_label(runs) && !one.run.starts_with(runs));
            if labelled && name.len() == 1 && !arms.names.iter().any(|known| known == runs) {
                name = runs.to_owned();
            }
            arms.names.push(name);
            arms.observed.push(observed);
        }
        Ok(arms)
    }
}

/// Returns the levels of the one axis or option that a run varies; `None` where it varies nothing.
///
/// # Errors
/// The run varies several, or its levels cannot be sides.
pub fn varied(run: &str, observed: Vec<Observed>, base: Option<&str>) -> Result<Option<Arms>, String> {
    match compare::varied(&observed).as_slice() {
        [] => Ok(None),
        [factor] => compare::by(factor, observed, base).map(Some).map_err(|why| format!("--by {factor}: {why}")),
        many => Err(format!(
            "{run} varies {}: choose one with --by, for example --by {}",
            many.join(", "),
            many.first().map_or("", String::as_str)
        )),
    }
}

/// `a`, `b`, ..., `z`, then numbers.
fn letter(at: usize) -> String {
    u8::try_from(at)
        .ok()
        .filter(|at| *at < 26)
        .map_or_else(|| format!("side {}", at + 1), |at| char::from(b'a' + at).into())
}
