//! Comparisons: a figure against the same figure where named axes have other levels and everything else agrees.

use super::{
    Found,
    pairing::{Member, Side},
    pairing::{Pairing, Tells, configuration},
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
    let (mut here, mut other): (Vec<Side<Member<'_>>>, Vec<Side<Member<'_>>>) = (Vec::new(), Vec::new());
    let (mut untold, mut unpaired) = (Vec::new(), Vec::new());
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
            let tells = Tells { cell: &cell.cell, quantity: &series.quantity, labels: &series.labels, cpu: series.cpu };
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
    let any = |sides: &[Side<Member<'_>>], cell: &StoredCell| {
        sides
            .iter()
            .flat_map(|side| &side.members)
            .any(|member| configuration(&member.cell.cell) == configuration(&cell.cell))
    };
    untold.retain(|cell| !any(&here, cell));
    unpaired.retain(|cell| !any(&other, cell));
    let names = Names::of_run(run);
    for cell in &untold {
        found.without(names.of_all(&cell.cell), cell);
    }
    // The figures already show what the two sides differ in.
    let names_here = Names::among(here.iter().flat_map(|side| &side.members).map(|member| &member.cell.cell));
    for side in &here {
        for partner in other.iter().filter(|partner| partner.pair == side.pair) {
            repeats::pair(expect, than, [side, partner], &names_here, source, &mut found);
        }
    }
    // A partner is missing only if some cell would have been compared with it.
    let needed = |cell: &&&StoredCell| {
        let alike = |member: &Member<'_>| pairing.axes(&cell.cell) == pairing.axes(&member.cell.cell);
        let lone = |side: &&Side<Member<'_>>| side.members.first().is_some_and(alike);
        here.iter().any(|side| lone(&side))
            || untold.iter().any(|one| pairing.axes(&one.cell) == pairing.axes(&cell.cell))
    };
    for cell in unpaired.iter().filter(needed) {
        found.without(names.of_all(&cell.cell), cell);
    }
    found
}
