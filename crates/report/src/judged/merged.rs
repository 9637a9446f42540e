//! Merges runs of one plan on several kernels of one machine: a machine runs one kernel at a time, but a study compares kernels.

use super::JudgedRun;
use latido_model::{
    cell::{Axis, Cell},
    run::{Run, SeriesSource, StoredCell},
};

/// Merges the runs that measured different kernels of the same plan on the same machine, and judges the result. Other runs stay as they
/// are.
pub fn merged(all: Vec<JudgedRun>, source: &dyn SeriesSource) -> Vec<JudgedRun> {
    let mut kept: Vec<JudgedRun> = Vec::new();
    for one in all {
        match kept.iter().position(|known| belong_together(&known.run, &one.run)) {
            Some(at) => {
                let first = kept.remove(at);
                kept.insert(at, both(first, one, source));
            }
            None => kept.push(one),
        }
    }
    kept
}

/// Returns whether two runs are of one plan that describes kernels, on one machine, and measured no cell twice.
fn belong_together(a: &Run, b: &Run) -> bool {
    let describes = !a.plan.kernels.is_empty() && a.plan.kernels == b.plan.kernels;
    let alike = (&a.plan.name, &a.meta.machine, a.plan.scaled, &a.plan.sized)
        == (&b.plan.name, &b.meta.machine, b.plan.scaled, &b.plan.sized);
    describes && alike && a.plan.expect == b.plan.expect && a.cells.len() == b.cells.len() && {
        let mut pairs = pairs(a, b);
        pairs.all(|(a, b)| {
            b.is_some_and(|b| is_same(&a.cell, &b.cell) && (a.skipped().is_some() || b.skipped().is_some()))
        })
    }
}

/// Returns the cells of a run, each with the other run's cell at the same place of the plan.
fn pairs<'a>(a: &'a Run, b: &'a Run) -> impl Iterator<Item = (&'a StoredCell, Option<&'a StoredCell>)> {
    a.cells.iter().map(|one| (one, b.cells.iter().find(|other| other.written == one.written)))
}

/// Returns whether both are the same cell of the plan, whatever its seed.
fn is_same(a: &Cell, b: &Cell) -> bool {
    Axis::ALL.iter().all(|axis| a.agrees(b, *axis)) && a.repeat == b.repeat && a.conditions == b.conditions
}

/// Merges the cells of both runs: of each pair, the measured cell.
fn both(first: JudgedRun, second: JudgedRun, source: &dyn SeriesSource) -> JudgedRun {
    let (mut run, other) = (first.run, second.run);
    for cell in other.cells.into_iter().filter(|cell| cell.skipped().is_none()) {
        if let Some(own) = run.cells.iter_mut().find(|own| own.written == cell.written) {
            // Members refer to the run and the number of a cell, so the cell takes the number in the merged run.
            *own = StoredCell { number: own.number, ..cell };
        }
    }
    run.meta.id = format!("{} + {}", run.meta.id, other.meta.id);
    run.problems.extend(other.problems);
    run.damaged |= other.damaged;
    run.at_work |= other.at_work;
    let commands = first.commands.into_iter().chain(second.commands).collect();
    JudgedRun { commands, published: first.published, ..JudgedRun::new(run, first.plan_toml, source) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        cell::Cell,
        machine::Model,
        plan::kernels::Named,
        run::CellState,
        sample::{Fixture, cell, quiet},
    };

    /// Returns a run of a plan with two kernels, only one of which was available.
    fn of_kernel(name: &str) -> JudgedRun {
        let with = |kernel: &str| Cell { kernel: kernel.into(), ..cell() };
        let mut fixture = Fixture::new(vec![(with("stock"), vec![quiet(0)]), (with("rt"), vec![quiet(0)])]);
        for stored in fixture.run.cells.iter_mut().filter(|stored| stored.cell.kernel != name) {
            stored.state = CellState::Skipped("another kernel runs".into());
        }
        let named = |name: &str, model| Named {
            name: name.into(),
            preemption: vec![model],
            boot: Vec::new(),
            options: Vec::new(),
        };
        fixture.run.plan.kernels = vec![named("stock", Model::Full), named("rt", Model::Rt)];
        fixture.run.meta.id = name.into();
        let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
        JudgedRun::new(run, String::new(), &fixture)
    }

    #[test]
    fn runs_of_two_kernels_become_one() {
        let source = Fixture::new(Vec::new());
        let all = merged(vec![of_kernel("stock"), of_kernel("rt")], &source);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].run.meta.id, "stock + rt");
        let measured: Vec<(usize, &str)> = all[0]
            .run
            .cells
            .iter()
            .filter(|cell| cell.record().is_some())
            .map(|cell| (cell.number, cell.cell.kernel.as_str()))
            .collect();
        assert_eq!(measured, [(1, "stock"), (2, "rt")]);
        assert_eq!(all[0].commands.len(), 2);
    }

    /// Two runs of the same kernel stay two runs, and so do runs of two machines.
    #[test]
    fn runs_that_measured_the_same_stay_apart() {
        let source = Fixture::new(Vec::new());
        assert_eq!(merged(vec![of_kernel("rt"), of_kernel("rt")], &source).len(), 2);
        let mut elsewhere = of_kernel("rt");
        elsewhere.run.meta.machine = "another".into();
        assert_eq!(merged(vec![of_kernel("stock"), elsewhere], &source).len(), 2);
    }
}
