//! Names of a run's cells in sentences: as short as a title, but different for each configuration.

use super::title::{Titles, title};
use latido_model::{cell::Cell, run::Run};
use std::collections::BTreeMap;

/// What distinguishes cells with the same title: for each title, the differences among its cells.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<String, Titles>);

impl Names {
    /// Returns the names of a run's cells, without skipped ones: no name needs to distinguish a cell from them.
    pub fn of_run(run: &Run) -> Self {
        Self::among(run.cells.iter().filter(|cell| cell.skipped().is_none()).map(|cell| &cell.cell))
    }

    /// Returns the names of these cells together.
    pub fn among<'a>(all: impl Iterator<Item = &'a Cell>) -> Self {
        let mut alike: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
        for cell in all {
            let cell = configuration(cell);
            alike.entry(title(&cell)).or_default().push(cell);
        }
        Self(alike.into_iter().map(|(title, cells)| (title, Titles::among(cells.iter()))).collect())
    }

    /// Returns the name of a cell: `wakeup, busy, repeat 2`, or `wakeup, busy, 6.12-rt` where several kernels measured the same.
    pub fn of(&self, cell: &Cell) -> String {
        self.0.get(&title(&configuration(cell))).map_or_else(|| title(cell), |titles| titles.of(cell))
    }

    /// Returns the common name of all its repeats.
    pub fn of_all(&self, cell: &Cell) -> String {
        self.of(&configuration(cell))
    }
}

/// Returns a cell without what distinguishes its repeats.
fn configuration(cell: &Cell) -> Cell {
    Cell { repeat: 1, boot: 1, ..cell.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        cell::{Item, Scheduling},
        sample::{cell, probing, under},
    };

    fn told(cells: &[Cell]) -> Vec<String> {
        let names = Names::among(cells.iter());
        cells.iter().map(|cell| names.of(cell)).collect()
    }

    fn with(kernel: &str, cell: Cell) -> Cell {
        Cell { kernel: kernel.into(), ..cell }
    }

    /// If two kernels measured the same work, each name must contain the kernel; work on one kernel needs no kernel in its name.
    #[test]
    fn what_a_title_hides_is_named_where_two_would_be_called_the_same() {
        let cells = [with("6.12-none", cell()), with("6.12-rt", cell()), with("6.12-rt", under("busy"))];
        assert_eq!(told(&cells), ["wakeup, idle, 6.12-none", "wakeup, idle, 6.12-rt", "wakeup, busy"]);
        let other = Cell { scheduling: Scheduling::OTHER, ..cell() };
        assert_eq!(
            told(&[cell(), other.clone(), probing("gap")]),
            ["wakeup, idle, fifo 80", "wakeup, idle, other", "gap, idle"]
        );
        let slow = Cell { probe: Item { name: "wakeup".into(), options: toml::toml! { period = "2ms" } }, ..cell() };
        assert_eq!(told(&[cell(), slow]), ["wakeup period=1ms, idle", "wakeup period=2ms, idle"]);
    }

    /// Repeats and boots are one configuration; only the number of the repeat appears in the name.
    #[test]
    fn repeats_are_told_by_their_number() {
        let cells = [cell(), Cell { repeat: 2, boot: 2, ..cell() }];
        assert_eq!(told(&cells), ["wakeup, idle", "wakeup, idle, repeat 2"]);
        let twice = [with("a", cells[1].clone()), with("b", cells[1].clone())];
        assert_eq!(told(&twice), ["wakeup, idle, repeat 2, a", "wakeup, idle, repeat 2, b"]);
        assert_eq!(Names::among(twice.iter()).of_all(&twice[0]), "wakeup, idle, a");
    }
}
