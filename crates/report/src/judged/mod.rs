//! Stored runs, judged: from the files on disk to the input of a report.

mod merged;
mod study;

pub use merged::merged;

use crate::input::{Declared, ReportInput, RunPart};
use anyhow::Result;
use latido_judge::{
    chains::{self, Chains},
    configuration::{Configurations, configurations},
    decide,
    judgement::Judgement,
    judging,
    late::{self, OfCell, TraceSource},
    maxima::{self, Maxima},
};
use latido_model::run::{Run, SeriesSource, StoredCell};

/// A run, read and judged: everything that any output needs.
#[derive(Debug)]
pub struct JudgedRun {
    /// The run as stored on disk.
    pub run: Run,
    /// The plan's text, as stored.
    pub plan_toml: String,
    /// The command lines that run it again, see [`again`]: several if it was merged from runs of several kernels.
    pub commands: Vec<Vec<String>>,
    /// Its judgement.
    pub judgement: Judgement,
    /// The verdict's word for people.
    pub word: &'static str,
    /// Why samples were late, for the cells that requested this; empty until [`Self::explain`].
    pub explained: Vec<OfCell>,
    /// The largest value of each second, for the cells whose tracer keeps nothing else; empty until [`Self::explain`].
    pub maxima: Vec<Maxima>,
    /// The stages of the median and the worst event, for the configurations that timestamp events; empty until [`Self::explain`].
    pub chains: Vec<Chains>,
    /// Whether a report shows the study's printed numbers next to its own.
    pub published: bool,
}

impl JudgedRun {
    /// Judges a run.
    pub fn new(run: Run, plan_toml: String, source: &dyn SeriesSource) -> Self {
        let judgement = judging::of_run(&run, source);
        let word = decide::word(&run, &judgement);
        let commands = vec![again(&run.meta.command, run.plan.seed)];
        Self {
            run,
            plan_toml,
            commands,
            judgement,
            word,
            explained: Vec::new(),
            maxima: Vec::new(),
            chains: Vec::new(),
            published: false,
        }
    }

    /// Explains late samples where the plan requests it, and finds the longest ones: this reads traces and other files.
    pub fn explain(
        &mut self,
        series: &dyn SeriesSource,
        traces: &dyn TraceSource,
        read: &dyn Fn(&StoredCell, &str) -> Result<String>,
    ) {
        self.explained = late::of_run(&self.run, series, traces);
        self.maxima = maxima::of_run(&self.run, read);
        self.chains = chains::of_run(&self.run, read);
    }
}

/// Returns the command line that runs a run again: with its seed, and with `latido` instead of the path of the program at that time.
fn again(command: &[String], seed: u64) -> Vec<String> {
    let Some((program, words)) = command.split_first() else { return Vec::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    // Arguments after `--` belong to another program.
    let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, others) = words.split_at(own);
    let runs = own.iter().find(|word| !word.starts_with('-')).is_some_and(|word| word == "run" || word == "lab");
    let given = |word: &String| ["--seed", "--resume"].iter().any(|flag| word.split('=').next() == Some(flag));
    let seed = (runs && !own.iter().any(given)).then(|| ["--seed".to_owned(), seed.to_string()]);
    let words = own.iter().cloned().chain(seed.into_iter().flatten()).chain(others.iter().cloned());
    std::iter::once(name.to_owned()).chain(words).collect()
}

/// Pools the cells of runs.
pub fn pooled(all: &[JudgedRun], source: &dyn SeriesSource) -> Configurations {
    configurations(all.iter().map(|one| &one.run), source)
}

/// Returns the input for a report of runs; `found` are their configurations.
pub fn input<'a>(all: &'a [JudgedRun], found: &'a Configurations) -> ReportInput<'a> {
    let part = |one: &'a JudgedRun| RunPart {
        meta: &one.run.meta,
        judgement: &one.judgement,
        word: one.word,
        plan_toml: &one.plan_toml,
        commands: &one.commands,
    };
    let title = all.first().map(|one| one.run.plan.about.clone().unwrap_or_else(|| one.run.meta.plan.clone()));
    let problems = all.iter().flat_map(|one| one.run.problems.clone()).chain(found.problems.clone()).collect();
    ReportInput {
        title: title.unwrap_or_default(),
        runs: all.iter().map(part).collect(),
        configurations: &found.all,
        problems,
        study: study::study(all),
        not_measured: study::not_measured(all),
        published: study::printed(all),
        explained: all.iter().flat_map(|one| &one.explained).collect(),
        maxima: all.iter().flat_map(|one| &one.maxima).collect(),
        chains: all.iter().flat_map(|one| &one.chains).collect(),
        declared: Declared::of(all.iter().map(|one| &one.run)),
    }
}

#[cfg(test)]
mod tests {
    use super::again;

    /// The command does the same on another day: it does not include the path of the program, and it includes the seed.
    #[test]
    fn a_command_has_its_seed_and_no_path() {
        let said = |line: &str| again(&line.split(' ').map(String::from).collect::<Vec<_>>(), 41).join(" ");
        assert_eq!(said("target/release/latido run quick"), "latido run quick --seed 41");
        assert_eq!(said("latido run quick --seed=7"), "latido run quick --seed=7");
        assert_eq!(said("/usr/bin/latido run quick --seed 7"), "latido run quick --seed 7");
        assert_eq!(said("./latido -q run task -- ./loop --seed 3"), "latido -q run task --seed 41 -- ./loop --seed 3");
        assert_eq!(said("latido import old.hist"), "latido import old.hist");
        assert_eq!(again(&[], 41), Vec::<String>::new());
    }
}
