//! Names of a run's cells in sentences: as short as a title, but no two configurations have the same.

use super::title::{Titles, title};
use latido_model::{cell::Cell, run::Run};
use std::collections::BTreeMap;

/// What tells cells apart whose titles do not: under each title that several share, what differs among these.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<String, Titles>);

impl Names {
    /// The names of a run's cells; what was skipped has nothing to be told from.
    pub fn of_run(run: &Run) -> Self {
        Self::among(run.cells.iter().filter(|cell| cell.skipped().is_none()).map(|cell| &cell.cell))
    }

    /// The names of these cells beside each other.
    pub fn among<'a>(all: impl Iterator<Item = &'a Cell>) -> Self {
        let mut alike: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
        for cell in all {
            let cell = configuration(cell);
            alike.entry(title(&cell)).or_default().push(cell);
        }
        Self(alike.into_iter().map(|(title, cells)| (title, Titles::among(cells.iter()))).collect())
    }

    /// A cell: `wakeup, busy, repeat 2`, and where the same is measured with several kernels `wakeup, busy, 6.12-rt`.
    pub fn of(&self, cell: &Cell) -> String {
        self.0.get(&title(&configuration(cell))).map_or_else(|| title(cell), |titles| titles.of(cell))
    }

    /// All its repeats.
    pub fn of_all(&self, cell: &Cell) -> String {
        self.of(&configuration(cell))
    }
}

/// A cell without what tells its repeats apart.
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

    /// Of the same work with two kernels neither is told without its kernel; what one kernel has alone needs none.
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

    /// Repeats and boots are one configuration, whose name has the number of the repeat alone.
    #[test]
    fn repeats_are_told_by_their_number() {
        let cells = [cell(), Cell { repeat: 2, boot: 2, ..cell() }];
        assert_eq!(told(&cells), ["wakeup, idle", "wakeup, idle, repeat 2"]);
        let twice = [with("a", cells[1].clone()), with("b", cells[1].clone())];
        assert_eq!(told(&twice), ["wakeup, idle, repeat 2, a", "wakeup, idle, repeat 2, b"]);
        assert_eq!(Names::among(twice.iter()).of_all(&twice[0]), "wakeup, idle, a");
    }
}
