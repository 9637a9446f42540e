//! Stored runs for comparisons, histories and effects. latido reads them one after the other and keeps their repeats.

use crate::{output::tell, store};
use anyhow::{Result, ensure};
use latido_judge::observed::{self, Observed, Wanted};
use latido_model::{plan::Statistic, run::Run};
use std::path::{Path, PathBuf};

/// Reads runs by their names.
#[derive(Debug)]
pub struct Reader {
    root: PathBuf,
    wanted: Wanted,
    taken: Vec<PathBuf>,
}

impl Reader {
    /// Returns a reader of a store, for this figure of each repeat. With `samples`, it also reads the samples, to compare distributions.
    ///
    /// # Errors
    /// There is no place for a store.
    pub fn new(store: Option<&Path>, statistic: Statistic, samples: bool) -> Result<Self> {
        Ok(Self { root: store::root(store)?, wanted: Wanted { statistic, samples }, taken: Vec::new() })
    }

    /// Returns the requested figure of each repeat.
    pub fn statistic(&self) -> Statistic {
        self.wanted.statistic
    }

    /// Returns the measured repeats of the run with this name; `None` for a run that was named before.
    ///
    /// # Errors
    /// There is no such run, or it has no measured repeat.
    pub fn run(&mut self, name: &str) -> Result<Option<Vec<Observed>>> {
        let dir = store::find(&self.root, name)?;
        let canonical = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        if self.taken.contains(&canonical) {
            return Ok(None);
        }
        self.taken.push(canonical);
        self.repeats(&store::read(&dir)?).map(Some)
    }

    /// Returns the measured repeats of a run that is already read.
    ///
    /// # Errors
    /// It has no measured repeat.
    pub fn repeats(&self, run: &Run) -> Result<Vec<Observed>> {
        let mut problems = run.problems.clone();
        let all = match self.wanted.samples {
            true => observed::of_run(run, self.wanted, &store::distribution_and_largest, &mut problems)?,
            false => observed::of_run(run, self.wanted, &store::distribution, &mut problems)?,
        };
        problems.iter().for_each(|problem| tell(&format!("warning: {problem}")));
        ensure!(!all.is_empty(), "{}: nothing was measured", run.meta.id);
        Ok(all)
    }
}
