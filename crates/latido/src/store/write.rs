//! Writes a run. Each cell is durable before the next starts. Its `record.json`, written last, marks it as done.

use super::root;
use crate::durable;
use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use latido_model::{
    cell::Cell,
    machine::KernelConfig,
    plan::Plan,
    quantity::Measurand,
    record::{HostFacts, Outcome, Record},
    run::{CellState, Manifest, Meta, PART_NEW, Planned, Run, SCHEMA, StoredCell, bounds, cell_dir, parts},
    verdict::Verdict,
};
use rustix::fs::FlockOperation;
use serde::Serialize;
use std::{
    fs::File,
    path::{Path, PathBuf},
};

/// What a new run is made from.
#[derive(Clone, Debug)]
pub struct New<'a> {
    /// The plan's name.
    pub plan: &'a str,
    /// The text of the plan for reading it again, seed included.
    pub toml: &'a str,
    /// The plan (without its groups), the measurands and the cells.
    pub contents: Contents,
    /// The command line.
    pub command: Vec<String>,
    /// The name of the measured machine.
    pub machine: String,
    /// The user's label.
    pub label: Option<String>,
}

/// A cell that still needs measuring.
#[derive(Clone, Debug, PartialEq)]
pub struct Todo {
    /// Its number.
    pub number: usize,
    /// The rest of the cell, where its measured piece is kept as a part.
    pub rest: Option<Cell>,
    /// Whether an earlier measurement of it no longer counts.
    pub anew: bool,
}

/// Returns the rest of a partly measured cell; `None` where latido cannot determine it.
fn rest(cell: &StoredCell) -> Option<Cell> {
    let records: Vec<&Record> = match cell.parts.is_empty() {
        true => cell.record().into_iter().collect(),
        false => cell.parts.iter().filter_map(|part| part.cell.record()).collect(),
    };
    if records.is_empty() || records.iter().any(|record| record.elapsed_ns == 0) {
        return None;
    }
    parts::rest(&cell.cell, &cell.measurand, &records)
}

/// Returns whether the measured piece of a cell can stay as a part: the cell is not done, and its rest is known.
pub fn is_kept(cell: &StoredCell) -> bool {
    !is_done(cell) && rest(cell).is_some()
}

/// The parts of the plan that a run stores.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The plan.
    pub plan: Plan,
    /// What the cells' probes measure, each once.
    pub measurands: Vec<Measurand>,
    /// The cells in the order in which they run.
    pub cells: Vec<Planned>,
}

/// A run that is being written. Only one process has it: latido locks the directory until this is dropped.
#[derive(Debug)]
pub struct Draft {
    /// The run's directory.
    pub dir: PathBuf,
    /// The run's metadata. [`Draft::finish`] stores changes.
    pub meta: Meta,
    contents: Contents,
    _lock: File,
}

impl Draft {
    /// Returns the plan that the run carries out.
    pub fn plan(&self) -> &Plan {
        &self.contents.plan
    }

    /// Returns the store that contains the run; `None` for a run that was copied elsewhere.
    pub fn store(&self) -> Option<&Path> {
        self.dir.parent().filter(|runs| runs.ends_with("runs"))?.parent()
    }

    /// Claims a new directory in the store and writes the plan.
    ///
    /// # Errors
    /// The store cannot be written, with the path and the remedy. Or the plan has more expectations than latido judges for this number of
    /// cells.
    pub fn create(root: &Path, new: New<'_>) -> Result<Self> {
        bounds::pairs(new.contents.cells.len(), new.contents.plan.expect.len())?;
        let now = Timestamp::now();
        let (id, dir) = root::claim(root, new.plan, now)?;
        // A directory without a plan is not a run, so it is removed.
        Self::begin(id, dir.clone(), now, new).inspect_err(|_| _ = std::fs::remove_dir_all(&dir))
    }

    /// Writes the initial files of a run into its directory.
    fn begin(id: String, dir: PathBuf, now: Timestamp, new: New<'_>) -> Result<Self> {
        let limited = |planned: &Planned| planned.cell.conditions.limit.is_some();
        let unjudged = new.contents.plan.expect.is_empty() && !new.contents.cells.iter().any(limited);
        let meta = Meta {
            id,
            plan: new.plan.into(),
            latido: env!("CARGO_PKG_VERSION").into(),
            command: new.command,
            machine: new.machine,
            label: new.label,
            started: now.to_string(),
            finished: None,
            cells: new.contents.cells.len(),
            verdict: None,
            headline: None,
            unjudged,
            unmeasured: false,
        };
        let draft = Self { _lock: lock(&dir)?, dir, meta, contents: new.contents };
        durable::make_dir(&draft.dir.join("cells"))?;
        durable::write(&draft.dir.join("plan.toml"), new.toml.as_bytes())?;
        draft.put_manifest()?;
        Ok(draft)
    }

    /// Reopens a run that was cut off. Returns the cells still to measure, with cleared directories. The measured piece of an unfinished
    /// cell becomes a part of it if `keep` is set and its rest is known. Otherwise it moves to `abandoned/`, so that no measurement is
    /// lost.
    ///
    /// # Errors
    /// Its plan cannot be read, another process writes it, or the store cannot be written.
    pub fn reopen(run: &Run, mut contents: Contents, keep: bool) -> Result<(Self, Vec<Todo>)> {
        let dir = run.dir.clone();
        ensure!(!run.damaged, "{} cannot be resumed: {}", dir.display(), run.problems.join("; "));
        // The stored plan has no groups. Only the run itself still contains the order in which the plan wrote its cells.
        for (planned, stored) in contents.cells.iter_mut().zip(&run.cells) {
            planned.written = stored.written;
        }
        let mut meta = run.meta.clone();
        (meta.finished, meta.verdict, meta.headline, meta.unmeasured) = (None, None, None, false);
        let draft = Self { _lock: lock(&dir)?, dir, meta, contents };
        draft.refuse_links()?;
        durable::sweep(&draft.dir)?;
        durable::make_dirs(&draft.dir.join("cells"))?;
        draft.put_manifest()?;
        let mut todo = Vec::new();
        for cell in run.cells.iter().filter(|cell| !is_done(cell)) {
            let number = cell.number;
            let rest = rest(cell);
            let begun = cell.record().is_some();
            match rest.filter(|_| keep) {
                Some(rest) => {
                    draft.keep_part(number)?;
                    todo.push(Todo { number, rest: Some(rest), anew: false });
                }
                None => {
                    draft.clear_cell(number)?;
                    todo.push(Todo { number, rest: None, anew: begun });
                }
            }
        }
        Ok((draft, todo))
    }

    /// Refuses a run whose cells are links: latido must clear only this run's own directories.
    fn refuse_links(&self) -> Result<()> {
        let cells = self.dir.join("cells");
        let all = (1..=self.contents.cells.len()).map(|number| cell_dir(&self.dir, number));
        for path in [cells, self.dir.join("abandoned")].into_iter().chain(all) {
            let link = std::fs::symlink_metadata(&path).is_ok_and(|what| what.is_symlink());
            ensure!(
                !link,
                "{}: a link, not a directory of this run, so latido does not resume the run",
                path.display()
            );
        }
        Ok(())
    }

    /// Stores the text of a kernel's configuration, compressed, under its hash. Records name it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep_config(&self, text: &str) -> Result<()> {
        let path = self.dir.join(KernelConfig::file(&KernelConfig::hash(text.as_bytes())));
        if path.exists() {
            return Ok(());
        }
        durable::write(&path, &KernelConfig::packed(text)?)
    }

    /// Starts a cell: makes its directory.
    ///
    /// # Errors
    /// The cell has already started, or the store cannot be written.
    pub fn start_cell(&self, number: usize) -> Result<()> {
        let dir = cell_dir(&self.dir, number);
        // A cell that is measured further already has its parts.
        if parts::dir(&dir, 1).is_dir() { Ok(()) } else { durable::make_dir(&dir) }
    }

    /// Ends a cell with the files that arrived. With `record.json` on the disk it is done, and its checkpoint is removed.
    ///
    /// # Errors
    /// The store cannot be written; the cell then counts as not finished.
    pub fn finish_cell(&self, number: usize, record: &Record, host: &HostFacts) -> Result<()> {
        let dir = cell_dir(&self.dir, number);
        durable::move_up(&self.incoming(number))?;
        self.put_json(&dir.join("host.json"), host)?;
        self.put_json(&dir.join("record.json"), record)?;
        for name in latido_model::run::CHECKPOINTS {
            durable::remove(&dir.join(name))?;
        }
        Ok(())
    }

    /// Notes that the infrastructure failed. A checkpoint stays.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn fail_cell(&self, number: usize, reason: &str) -> Result<()> {
        self.put_reason(number, "infra.json", reason)
    }

    fn put_reason(&self, number: usize, name: &str, reason: &str) -> Result<()> {
        let reason = latido_model::run::InfraNote { schema: SCHEMA, reason: reason.into() };
        self.put_json(&cell_dir(&self.dir, number).join(name), &reason)
    }

    /// Replaces the cell's checkpoint by a record and the files that arrived. At every moment a whole checkpoint, the old or the new, is on
    /// the disk.
    ///
    /// # Errors
    /// The store cannot be written; an older checkpoint stays.
    pub fn checkpoint(&self, number: usize, record: &Record) -> Result<()> {
        let dir = cell_dir(&self.dir, number);
        let [now, new, old] = latido_model::run::CHECKPOINTS.map(|name| dir.join(name));
        // A complete new checkpoint that an interrupted replacement left is newer than the one in place.
        if !now.join("record.json").exists() && new.join("record.json").exists() {
            durable::rename(&new, &now)?;
        }
        durable::remove(&new)?;
        let incoming = self.incoming(number);
        match durable::is_dir(&incoming) {
            true => durable::rename(&incoming, &new)?,
            false => durable::make_dir(&new)?,
        }
        self.put_json(&new.join("record.json"), record)?;
        durable::remove(&old)?;
        if now.exists() {
            durable::rename(&now, &old)?;
        }
        durable::rename(&new, &now)?;
        durable::remove(&old)
    }

    /// Removes the files that arrived for a record that did not.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget(&self, number: usize) -> Result<()> {
        durable::remove(&self.incoming(number))
    }

    /// Ends the run. `unmeasured` means that the plan's questions have no figures.
    ///
    /// # Errors
    /// The store cannot be written; the cells are safe.
    pub fn finish(mut self, verdict: Verdict, unmeasured: bool, headline: &str) -> Result<Meta> {
        self.meta.finished = Some(Timestamp::now().to_string());
        self.meta.verdict = Some(verdict);
        self.meta.unmeasured = unmeasured;
        self.meta.headline = Some(headline.into());
        self.put_manifest()?;
        Ok(self.meta)
    }

    /// Adds a cell that is in no plan. Returns its number.
    ///
    /// # Errors
    /// The run already has the most cells.
    pub fn add(&mut self, cell: Cell, measurand: Measurand) -> Result<usize> {
        let Contents { measurands, cells, .. } = &mut self.contents;
        ensure!(cells.len() < bounds::MOST_CELLS, "more than the {} cells that a run may have", bounds::MOST_CELLS);
        let known = measurands.iter().position(|known| *known == measurand).unwrap_or(measurands.len());
        if known == measurands.len() {
            measurands.push(measurand);
        }
        self.meta.unjudged &= cell.conditions.limit.is_none();
        cells.push(Planned { cell, measurand: known, written: cells.len(), skipped: None });
        self.meta.cells = cells.len();
        Ok(cells.len())
    }

    /// Removes the cell that was added last, with all its files.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn withdraw(&mut self) -> Result<()> {
        let number = self.contents.cells.len();
        self.contents.cells.pop();
        self.meta.cells = self.contents.cells.len();
        durable::remove(&cell_dir(&self.dir, number))
    }

    /// Removes the run.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn discard(self) -> Result<()> {
        durable::remove(&self.dir)
    }

    /// Writes the current state to `run.json`.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn put_manifest(&self) -> Result<()> {
        let Contents { plan, measurands, cells } = self.contents.clone();
        let manifest = Manifest { schema: SCHEMA, meta: self.meta.clone(), plan, measurands, cells };
        self.put_json(&self.dir.join("run.json"), &manifest)
    }

    fn put_json(&self, path: &Path, value: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_string_pretty(value).with_context(|| path.display().to_string())?;
        text.push('\n');
        durable::write(path, text.as_bytes())
    }

    fn clear_cell(&self, number: usize) -> Result<()> {
        let dir = cell_dir(&self.dir, number);
        let measured = ["record.json", "checkpoint", "checkpoint.new", "checkpoint.old", PART_NEW, "part-1"];
        if !measured.iter().any(|name| dir.join(name).exists()) {
            return durable::remove(&dir);
        }
        let abandoned = self.dir.join("abandoned");
        durable::make_dirs(&abandoned)?;
        for attempt in 1..10_000 {
            let to = abandoned.join(format!("{number:03}-{attempt}"));
            if std::fs::symlink_metadata(&to).is_err() {
                return durable::rename(&dir, &to);
            }
        }
        bail!("{}: too many abandoned attempts at cell {number}", abandoned.display())
    }
}

/// Removes a run that no process is writing.
///
/// # Errors
/// Another process writes it, or the store cannot be written.
pub fn remove(dir: &Path) -> Result<()> {
    let _lock = lock(dir)?;
    durable::remove(dir)
}

/// Returns whether a resumed run need not measure the cell again.
pub fn is_done(cell: &StoredCell) -> bool {
    match &cell.state {
        CellState::Measured(record) => matches!(record.outcome, Outcome::Complete | Outcome::Stopped { .. }),
        CellState::Skipped(_) => true,
        _ => false,
    }
}

fn lock(dir: &Path) -> Result<File> {
    let file = File::open(dir).with_context(|| format!("opening {}", dir.display()))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => {
            bail!("{} is being written by another latido; wait for it to end", dir.display())
        }
        // latido measures even on a network file system without locks.
        _ => Ok(file),
    }
}
