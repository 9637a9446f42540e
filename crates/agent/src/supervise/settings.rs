//! `latido tune`, on the target.

use super::{Serving, by_hand};
use crate::{
    fault,
    journal::{self, lock},
};
use anyhow::{Context, Result};
use latido_model::{
    protocol::{Phase, Reply, Tune, TuneStatus, TuneWhat, Tuned},
    units::Ns,
};
use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    time::Duration,
};

impl Serving {
    /// Applies, undoes or shows the tunings of persons.
    pub(super) fn tune(&mut self, tune: Tune) -> Result<()> {
        let whole = |dir: &PathBuf| dir.canonicalize().with_context(|| format!("--sysroot {}", dir.display()));
        let root = fault::settings_root(tune.sysroot.as_ref().map(whole).transpose()?.as_deref())?;
        let pulse = RefCell::new(self.pulse());
        let stop = || {
            pulse.borrow_mut().beat(Phase::Waiting);
            self.is_unwanted()
        };
        let mut tell = |holder: &lock::Holder| {
            self.voice.say(Reply::Note { message: format!("waiting for another latido ({})", holder.words) });
        };
        let limit = tune.wait.map_or(Duration::ZERO, Ns::as_duration);
        let mut patience = lock::Patience::of(limit, &stop, Some(&mut tell));
        let tuned = match tune.what {
            TuneWhat::Apply { items } => {
                let outcome = by_hand::apply_all(&items, &root, self.pulse(), &mut patience)?;
                outcome.told.iter().for_each(|told| self.voice.note(told.clone()));
                match outcome.stopped {
                    Some(left) => Tuned::Stopped { left },
                    None => Tuned::Applied { records: outcome.records },
                }
            }
            // A half-done undoing helps no user: latido completes it.
            TuneWhat::Undo { names } => {
                let recovery = by_hand::undo(&names, &root, &mut self.pulse(), &mut patience)?;
                recovery.told.iter().for_each(|told| self.voice.note(told.clone()));
                let back = recovery.back.iter().map(journal::Borrowed::put_back).collect();
                Tuned::Undone { back, incomplete: recovery.incomplete }
            }
            TuneWhat::Status => {
                let status = by_hand::status(&root)?;
                Tuned::Status(TuneStatus { journal: journal::path(), elsewhere: elsewhere(), ..status })
            }
        };
        self.voice.say(Reply::Tuned(Box::new(tuned)));
        Ok(())
    }
}

/// Returns root's journal if it is another one: each user has a journal, and root's lists what root applied.
fn elsewhere() -> Option<PathBuf> {
    let of_root = Path::new("/run/latido/journal.jsonl");
    (of_root != journal::path() && lock::is_default() && of_root.exists()).then(|| of_root.to_path_buf())
}
