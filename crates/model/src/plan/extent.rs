//! The size of a plan: its cells, and how long they take as far as latido knows that.

use super::{
    Group, Plan,
    around::{Around, Like},
    kernels::lacks,
};
use crate::{
    cell::Conditions,
    clean,
    quantity::Measurand,
    units::{self, Ns},
};

/// Returns why latido skips cells of a plan, as far as the plan shows, and how many cells for each reason.
pub fn skipped(plan: &Plan) -> Vec<(String, usize)> {
    let mut all: Vec<(String, usize)> = Vec::new();
    for group in &plan.groups {
        let of_place = each(group).saturating_mul(group.probe.len()).saturating_mul(plan.boots as usize);
        for reason in places(group).filter_map(|(target, kernel)| lacks(plan, group, target, kernel)) {
            // The plan's text has the reason in a comment, where a name must not start a new line.
            let reason = clean::line(&reason).to_string();
            match all.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, cells)) => *cells = cells.saturating_add(of_place),
                None => all.push((reason, of_place)),
            }
        }
    }
    all
}

/// Each target of a group with each of its kernels.
fn places(group: &Group) -> impl Iterator<Item = (&str, &str)> {
    group.target.iter().flat_map(|target| group.kernel.iter().map(move |kernel| (&**target, &**kernel)))
}

/// Returns how many cells of each probe a group has per target and kernel.
fn each(group: &Group) -> usize {
    let axes = [group.tuning.len(), group.load.len(), group.scheduling.len()];
    axes.into_iter().fold(group.repeat as usize, usize::saturating_mul)
}

/// The size of a group, of a plan, or of any cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// All its cells.
    pub all: usize,
    /// The cells that this version measures.
    pub cells: usize,
    /// Of these, the cells that end after their probe's number of samples. How long they take is unknown.
    pub open: usize,
    /// Warm-up and measurement of the other cells: the least time that they take, as far as latido knows.
    pub time: Ns,
    /// What all cells take in addition.
    pub around: Ns,
}

impl Extent {
    /// Returns the size of a plan with all its boots. `earlier` estimates what each cell takes in addition to its measurement.
    pub fn of_plan(plan: &Plan, earlier: &Around) -> Self {
        let once =
            plan.groups.iter().map(|group| Self::of_group(plan, group, earlier)).fold(Self::default(), Self::and);
        once.times(plan.boots as usize)
    }

    /// Returns how many of a group's cells this version measures, and for how long.
    pub fn of_group(plan: &Plan, group: &Group, earlier: &Around) -> Self {
        let booted = places(group).filter(|(target, kernel)| lacks(plan, group, target, kernel).is_none());
        let alike = group.scheduling.len().saturating_mul(group.repeat as usize);
        let mut sum = Self::default();
        for (target, kernel) in booted {
            for (tuning, load) in
                group.tuning.iter().flat_map(|tuning| group.load.iter().map(move |load| (tuning, load)))
            {
                for probe in &group.probe {
                    let like = Like::new(target, kernel, &probe.item.name, &load.items, &tuning.items);
                    let one = Self::of_cell(&group.conditions, &probe.measurand);
                    sum = sum.and(one.learned(&like, earlier).times(alike));
                }
            }
        }
        Self { all: group.cells().unwrap_or(usize::MAX), ..sum }
    }

    /// Returns the size of one cell that latido measures.
    pub fn of_cell(conditions: &Conditions, measurand: &Measurand) -> Self {
        let known = if measurand.counts_samples { measurand.expected } else { Some(conditions.duration) };
        let time = known.map_or(Ns(0), |known| Ns(known.0.saturating_add(conditions.warmup.0)));
        Self { all: 1, cells: 1, open: usize::from(known.is_none()), time, around: Ns(0) }
    }

    /// Returns the size of a cell as the time of `earlier` cells suggests it.
    #[must_use]
    pub fn learned(self, like: &Like, earlier: &Around) -> Self {
        let whole = earlier.whole(like, self.time);
        let time = self.time.min(whole);
        Self { time, around: Ns(whole.0 - time.0), ..self }
    }

    /// Returns all the time that is known.
    pub fn total(&self) -> Ns {
        Ns(self.time.0.saturating_add(self.around.0))
    }

    /// Adds two sizes.
    pub fn and(self, other: Self) -> Self {
        Self {
            all: self.all.saturating_add(other.all),
            cells: self.cells.saturating_add(other.cells),
            open: self.open.saturating_add(other.open),
            time: Ns(self.time.0.saturating_add(other.time.0)),
            around: Ns(self.around.0.saturating_add(other.around.0)),
        }
    }

    fn times(self, n: usize) -> Self {
        Self {
            all: self.all.saturating_mul(n),
            cells: self.cells.saturating_mul(n),
            open: self.open.saturating_mul(n),
            time: Ns(self.time.0.saturating_mul(n as u64)),
            around: Ns(self.around.0.saturating_mul(n as u64)),
        }
    }

    /// Writes how many cells latido measures and how long they take: `66 cells, about 12 min in all`. Cells that this version skips take no
    /// time.
    pub fn sentence(&self) -> String {
        let Self { all, cells, open, .. } = *self;
        let time = units::about(self.total());
        let until = "until the probe has its number of samples";
        let text = match (cells.saturating_sub(open), open) {
            (0, 0) => many(0),
            (_, 0) => format!("{}, {time} in all", many(cells)),
            (0, _) => format!("{}, {until}", many(cells)),
            (timed, _) => format!("{}, {time} in all for {timed} of them, the others {until}", many(cells)),
        };
        match all.saturating_sub(cells) {
            0 => text,
            1 => format!("{text}; 1 more is skipped"),
            skipped => format!("{text}; {skipped} more are skipped"),
        }
    }
}

/// Writes a number of cells.
pub(super) fn many(number: usize) -> String {
    if number == 1 { "1 cell".into() } else { format!("{number} cells") }
}
