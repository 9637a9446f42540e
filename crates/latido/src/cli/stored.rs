//! Stored runs for comparisons, histories and effects: read one after the other, each to its repeats.

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
    /// Of a store, for this figure of each repeat; the samples too, where distributions are compared.
    ///
    /// # Errors
    /// There is no place for a store.
    pub fn new(store: Option<&Path>, statistic: Statistic, samples: bool) -> Result<Self> {
        Ok(Self { root: store::root(store)?, wanted: Wanted { statistic, samples }, taken: Vec::new() })
    }

    /// The figure that is wanted of each repeat.
    pub fn statistic(&self) -> Statistic {
        self.wanted.statistic
    }

    /// The measured repeats of the run of this name; `None` for one that was named before.
    ///
    /// # Errors
    /// There is no such run, or nothing was measured in it.
    pub fn run(&mut self, name: &str) -> Result<Option<Vec<Observed>>> {
        let dir = store::find(&self.root, name)?;
        let canonical = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        if self.taken.contains(&canonical) {
            return Ok(None);
        }
        self.taken.push(canonical);
        self.repeats(&store::read(&dir)?).map(Some)
    }

    /// The measured repeats of a run that is read.
    ///
    /// # Errors
    /// Nothing was measured in it.
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
