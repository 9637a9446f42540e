//! Comparisons: a figure against the same figure where named axes have other levels and everything else agrees.

use super::{
    Found,
    pairing::{Member, Pairing, Side, Tells, configuration},
    repeats,
};
use crate::{judgement::CellJudgement, names::Names};
use latido_model::{
    plan::{Expect, Than},
    run::{Run, SeriesSource, StoredCell},
};

/// Finds every pair of a run that an expectation compares.
pub(super) fn all(
    expect: &Expect,
    than: &Than,
    run: &Run,
    cells: &[CellJudgement],
    source: &dyn SeriesSource,
) -> Found {
    let mut found = Found::default();
    let pairing = Pairing::new(expect, than, run.cells.iter().map(|cell| &cell.cell));
    let sides = Sides::of(run, cells, expect, &pairing);
    let names = Names::of_run(run);
    for cell in &sides.untold {
        found.without(names.of_all(&cell.cell), cell);
    }
    // The figures already show what the two sides differ in.
    let names_here = Names::among(sides.here.iter().flat_map(|side| &side.members).map(|member| &member.cell.cell));
    for side in &sides.here {
        for partner in sides.other.iter().filter(|partner| partner.pair == side.pair) {
            repeats::pair(expect, than, [side, partner], &names_here, source, &mut found);
        }
    }
    for cell in sides.unpaired.iter().filter(|cell| sides.miss(cell, &pairing)) {
        found.without(names.of_all(&cell.cell), cell);
    }
    found
}

/// The cells of a run on the sides of a comparison.
struct Sides<'a> {
    /// The measured configurations that the expectation is about.
    here: Vec<Side<Member<'a>>>,
    /// The measured configurations that they are compared with.
    other: Vec<Side<Member<'a>>>,
    /// The cells of `here` whose configuration has no measured repeat.
    untold: Vec<&'a StoredCell>,
    /// The same of `other`.
    unpaired: Vec<&'a StoredCell>,
}

impl<'a> Sides<'a> {
    /// Sorts the cells of a run and their series.
    fn of(run: &'a Run, cells: &'a [CellJudgement], expect: &Expect, pairing: &Pairing<'_>) -> Self {
        let (mut here, mut other): (Vec<Side<Member<'_>>>, Vec<Side<Member<'_>>>) = (Vec::new(), Vec::new());
        let (mut untold, mut unpaired): (Vec<&StoredCell>, Vec<&StoredCell>) = (Vec::new(), Vec::new());
        for (cell, judged) in run.cells.iter().zip(cells) {
            let Some(record) = cell.record() else {
                let [is_here, is_there] = pairing.of_cell(&cell.cell, &cell.measurand);
                untold.extend(is_here.then_some(cell));
                unpaired.extend(is_there.then_some(cell));
                continue;
            };
            if record.probe != expect.probe {
                continue;
            }
            for series in &record.series {
                let tells =
                    Tells { cell: &cell.cell, quantity: &series.quantity, labels: &series.labels, cpu: series.cpu };
                let member = Member { cell, judged, record, series };
                let [is_here, is_there] = pairing.of_series(tells, &cell.measurand);
                if is_here {
                    pairing.add(&mut here, tells, member);
                }
                if is_there {
                    pairing.add(&mut other, tells, member);
                }
            }
        }
        // A repeat that was not measured only lowers the count; a configuration without any measured repeat is missing.
        untold.retain(|cell| !is_measured(&here, cell));
        unpaired.retain(|cell| !is_measured(&other, cell));
        Self { here, other, untold, unpaired }
    }

    /// Whether an unpaired cell is missing: it is only if some cell would have been compared with it.
    fn miss(&self, unpaired: &StoredCell, pairing: &Pairing<'_>) -> bool {
        let axes = pairing.axes(&unpaired.cell);
        let alike = |cell: &StoredCell| pairing.axes(&cell.cell) == axes;
        self.here.iter().filter_map(|side| side.members.first()).any(|member| alike(member.cell))
            || self.untold.iter().copied().any(alike)
    }
}

/// Whether one of these sides has a measured repeat of a cell's configuration.
fn is_measured(sides: &[Side<Member<'_>>], cell: &StoredCell) -> bool {
    let own = configuration(&cell.cell);
    sides.iter().flat_map(|side| &side.members).any(|member| configuration(&member.cell.cell) == own)
}
