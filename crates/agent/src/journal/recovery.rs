//! Restores what the journal names: after a run, after a crash, or at a user's request.

use super::{
    Borrowed, Custody, boot_id,
    entries::{Entry, Line, hand_over, read, rewrite},
    group::processes,
    kept::Files,
    lock,
    marked::end_marked,
    pulse::Pulse,
    urgent::Urgent,
};
use crate::{fault, step::Undone};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// The result of an undoing.
#[derive(Debug, Default)]
pub struct Recovery {
    /// What was restored, the last change first.
    pub back: Vec<Borrowed>,
    /// What was not restored and why, and other messages for the user.
    pub told: Vec<String>,
    /// What leaves the journal without being restored.
    left: Vec<Borrowed>,
    /// Whether something is not as it was before. Then `told` says what.
    pub incomplete: bool,
    /// Lines of the journal that cannot be read, and what to do about them.
    unreadable: Option<String>,
}

impl Recovery {
    /// Returns the messages of a recovery on which further work depends.
    ///
    /// # Errors
    /// The journal names changes that this latido cannot undo: no work may depend on them.
    pub(super) fn settled(mut self) -> Result<Vec<String>> {
        match self.unreadable.take() {
            None => Ok(self.told),
            Some(why) => bail!("{}", [vec![why], self.told].concat().join("; ")),
        }
    }
}

/// Undoes what users applied and `wanted` selects, and what a crash left of the machine `place`.
///
/// # Errors
/// Another latido is running until patience ends, or the journal cannot be read or written.
pub fn undo_manual(
    wanted: &dyn Fn(&Borrowed) -> bool,
    place: Option<&PathBuf>,
    pulse: &mut Pulse,
    patience: &mut lock::Patience<'_>,
) -> Result<Recovery> {
    // Between two cells of a run nothing may change either.
    let _run = lock::take_patiently("run", "tune undo", patience.undoing())?;
    let _lock = lock::take_patiently("lock", "tune undo", patience)?;
    let (files, boot) = (Files::usual(), boot_id());
    let mended = files.mend(&boot)?;
    let picked = |_: usize, entry: &Entry| entry.owner == Custody::Manual && entry.boot == boot && wanted(&entry.what);
    // This takes the machine's lock first: while another process measures, a user's change must stay the user's.
    let _machine = changing(&read(&files.journal)?.0, &picked, patience)?;
    hand_over(&files.journal, &picked, Custody::Unsettled)?;
    let mut recovery = recover(&files, &boot, &|_, entry| left_behind(entry, place), pulse, patience)?;
    // This removes files of a killed agent.
    crate::scratch::sweep();
    if let Some(why) = recovery.unreadable.take() {
        recovery.told.push(why);
        recovery.incomplete = true;
    }
    recovery.told.splice(0..0, mended.into_iter().chain(patience.passed()));
    Ok(recovery)
}

/// Undoes what a run left behind, if the lock is free: before a run, and for the host whose supervisor was killed.
///
/// # Errors
/// The lock is held until patience ends, or the journal cannot be read.
pub fn recover_now(pulse: &mut Pulse, patience: &mut lock::Patience<'_>) -> Result<Vec<String>> {
    let _lock = lock::take_patiently("lock", "recovery", patience)?;
    crate::scratch::sweep();
    recover(&Files::usual(), &boot_id(), &|_, entry| left_behind(entry, None), pulse, patience)?.settled()
}

/// Takes the lock of the machine if the journal contains settings of this machine to restore. A latido with another state directory may be
/// measuring: the settings stay as they are until it has ended.
fn changing(
    lines: &[Line],
    wanted: &dyn Fn(usize, &Entry) -> bool,
    patience: &mut lock::Patience<'_>,
) -> Result<Option<lock::MachineTurn>> {
    let here = |(index, line): (usize, &Line)| match line {
        Line::Entry(entry) => entry.what.is_of_this_machine() && wanted(index, entry),
        Line::Unreadable(_) => false,
    };
    let any = lines.iter().enumerate().any(here);
    any.then(|| lock::machine(lock::Use::Change, "restoring settings", patience.undoing())).transpose()
}

/// Whether a latido that works on the machine `place` must undo an entry. It never undoes what a user applied. For a fake machine it undoes
/// nothing of the running one, which the user did not name.
pub(super) fn left_behind(entry: &Entry, place: Option<&PathBuf>) -> bool {
    let of = match &entry.what {
        Borrowed::Setting { root, .. } => root.as_ref(),
        Borrowed::Load { .. } | Borrowed::Trace { .. } | Borrowed::Hook { .. } => None,
    };
    entry.owner != Custody::Manual && (place.is_none() || of == place)
}

/// Undoes the wanted entries of the journal, the last one first, and keeps the others. The result contains messages for the user.
pub(super) fn recover(
    files: &Files,
    boot: &str,
    wanted: &dyn Fn(usize, &Entry) -> bool,
    pulse: &mut Pulse,
    patience: &mut lock::Patience<'_>,
) -> Result<Recovery> {
    let (lines, told) = read(&files.journal)?;
    let (kept, mut recovery) = put_back(files, lines, boot, wanted, pulse, patience)?;
    rewrite(&files.journal, &kept)?;
    recovery.told.splice(0..0, told);
    Ok(recovery)
}

/// Undoes the wanted entries of these lines as [`recover`] does. Returns the lines that the journal must contain from now on.
pub(super) fn put_back(
    files: &Files,
    lines: Vec<Line>,
    boot: &str,
    wanted: &dyn Fn(usize, &Entry) -> bool,
    pulse: &mut Pulse,
    patience: &mut lock::Patience<'_>,
) -> Result<(Vec<Line>, Recovery)> {
    let _urgent = (!lines.is_empty()).then(Urgent::take);
    let _machine = changing(&lines, &|index, entry| entry.boot == boot && wanted(index, entry), patience)?;
    let mut recovery = Recovery::default();
    let (mut kept, mut unreadable) = (Vec::new(), Vec::new());
    for (index, line) in lines.into_iter().enumerate().rev() {
        pulse.beat(latido_model::protocol::Phase::Undoing);
        let of_this_boot = line.boot().is_none_or(|of| of == boot);
        match line {
            Line::Unreadable(bytes) if of_this_boot => {
                unreadable.push(format!("`{}`", String::from_utf8_lossy(&bytes).escape_debug()));
                kept.push(Line::Unreadable(bytes));
            }
            Line::Unreadable(bytes) => {
                let text = String::from_utf8_lossy(&bytes).escape_debug().to_string();
                recovery.told.push(format!("`{text}` is from before the last boot and void: the reboot undid it"));
            }
            Line::Entry(entry) if !of_this_boot => {
                let void = format!("{} is from before the last boot and void: the reboot undid it", entry.what);
                recovery.told.push(void);
            }
            Line::Entry(entry) if !wanted(index, &entry) => kept.push(Line::Entry(entry)),
            Line::Entry(entry) => kept.extend(recovery.undo(entry).map(Line::Entry)),
        }
    }
    kept.reverse();
    // This comes before they leave the journal: an entry that is only in the second record would look lost.
    if let Err(error) = files.strike(boot, &[&recovery.back[..], &recovery.left[..]].concat()) {
        recovery.told.push(format!("{error:#}: `latido tune undo` would restore it once more"));
    }
    if !unreadable.is_empty() {
        unreadable.reverse();
        recovery.unreadable = Some(unknown(&files.journal, &unreadable));
    }
    Ok((kept, recovery))
}

fn unknown(path: &Path, lines: &[String]) -> String {
    format!(
        "the journal {} names changes that latido {} cannot read: put them back with the latido that wrote them \
         (`latido tune undo`), or by hand, and remove these lines from the journal: {}",
        path.display(),
        env!("CARGO_PKG_VERSION"),
        lines.join(", ")
    )
}

impl Recovery {
    /// Undoes one entry. Returns it if it must stay in the journal.
    fn undo(&mut self, entry: Entry) -> Option<Entry> {
        let mut stays = None;
        match entry.what.undo() {
            Ok(Past::Back) => self.back.push(entry.what),
            Ok(Past::Ended(ended)) => {
                self.told.push(format!("ended {} of {}", processes(ended), entry.what));
                self.back.push(entry.what);
            }
            Ok(Past::Left(why)) => {
                self.told.push(why);
                self.incomplete = true;
                self.left.push(entry.what);
            }
            // It stays in the journal: the next latido tries again.
            Err(error) => {
                self.told.push(format!("{} could not be undone: {error:#}", entry.what));
                self.incomplete = true;
                stays = Some(entry);
            }
        }
        crate::fault::point("agent");
        stays
    }
}

/// The result of undoing one change.
enum Past {
    /// It is as it was.
    Back,
    /// The number of a load's processes that had outlived it and were killed.
    Ended(usize),
    /// It was left alone, for this reason.
    Left(String),
}

impl Borrowed {
    /// Undoes the change.
    fn undo(&self) -> Result<Past> {
        match self {
            Self::Load { mark, group, .. } => {
                // A process that has left the group may still have the mark, and the other way round.
                let grouped = group.as_ref().map_or(Ok(0), |group| group.end(mark));
                let ended = end_marked(mark)? + grouped?;
                // The load's directory has no owner any longer.
                crate::scratch::sweep();
                Ok(if ended == 0 { Past::Back } else { Past::Ended(ended) })
            }
            Self::Trace { instance } => {
                instance.remove()?;
                // What was read from the trace is in a directory that has no owner any longer.
                crate::scratch::sweep();
                Ok(Past::Back)
            }
            Self::Hook { hook } => {
                hook.remove()?;
                Ok(Past::Back)
            }
            Self::Setting { tuning, root, change } => {
                Ok(match change.undo(&fault::settings_root(root.as_deref())?)? {
                    Undone::Back => Past::Back,
                    Undone::Left(why) => Past::Left(format!("tuning {tuning}: {why}")),
                })
            }
        }
    }
}
