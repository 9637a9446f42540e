//! What the targets report about the cells of a run, collected block by block.

use super::sessions::BootBlock;
use crate::machines::is_local;
use anyhow::{Context, Result, ensure};
use latido_model::{
    cell::Cell,
    cpus::CpuSet,
    protocol::{LeftOut, Ready},
    quantity::Measurand,
    run::parts::MeasuredOn,
};
use std::collections::BTreeSet;

/// What the targets report about the cells, each list in the order of the cells.
#[derive(Debug, Default)]
pub struct Known {
    /// Why a cell is skipped, if it is.
    pub skips: Vec<Option<String>>,
    /// What the probes measure, each once.
    pub measurands: Vec<Measurand>,
    /// Index in `measurands` for each cell.
    pub measurand: Vec<usize>,
    /// The CPUs that each cell leaves to everything else.
    pub housekeeping: Vec<Option<CpuSet>>,
    /// The conditions under which each cell would be measured, as far as its target reports them.
    pub places: Vec<Option<MeasuredOn>>,
    /// The CPUs that latido leaves out of cells which name no CPUs, each once, with its target where that is not this machine.
    pub left_out: Vec<String>,
    /// The texts of the targets' kernel configurations.
    pub kernel_configs: BTreeSet<String>,
}

impl Known {
    /// Returns what a cell's probe measures; cells are numbered from 1.
    pub fn measurand_of(&self, number: usize) -> Option<&Measurand> {
        self.measurands.get(*self.measurand.get(number.checked_sub(1)?)?)
    }

    /// Returns an empty collection for this number of cells.
    pub fn nothing(cells: usize) -> Self {
        Self {
            skips: vec![None; cells],
            measurands: Vec::new(),
            measurand: vec![0; cells],
            housekeeping: vec![None; cells],
            places: vec![None; cells],
            left_out: Vec::new(),
            kernel_configs: BTreeSet::new(),
        }
    }

    /// Notes what a cell measures, and why it is skipped, if it is.
    pub fn note(&mut self, cell: usize, skip: Option<String>, measurand: Measurand) {
        put(&mut self.skips, cell, skip);
        put(&mut self.measurand, cell, among(&mut self.measurands, measurand));
    }

    /// Stores what a target reports about these cells, in this order.
    ///
    /// # Errors
    /// It does not report what one of them measures.
    pub fn take(&mut self, target: &str, cells: &[usize], ready: &Ready) -> Result<()> {
        self.kernel_configs.extend(ready.kernel_config.clone());
        for LeftOut { cpus, why } in &ready.left_out {
            let there = if is_local(target) { String::new() } else { format!(" of {target}") };
            let told = format!("CPU {cpus}{there} ({why})");
            if !self.left_out.contains(&told) {
                self.left_out.push(told);
            }
        }
        for (index, cell) in cells.iter().enumerate() {
            put(&mut self.housekeeping, *cell, ready.housekeeping.get(index).cloned().flatten());
            put(&mut self.places, *cell, ready.places.get(index).cloned().flatten());
            let measurand = ready.measurand.get(index).and_then(|index| ready.measurands.get(*index));
            let measurand = measurand.context("the agent did not report what a cell measures")?.clone();
            self.note(*cell, ready.skips.get(index).cloned().flatten(), measurand);
        }
        Ok(())
    }
}

/// Refuses to start where the machine refuses what the plan requests.
///
/// # Errors
/// Each refusal.
pub fn granted(ready: &Ready) -> Result<()> {
    ensure!(
        ready.refusals.is_empty(),
        "the machine refuses what the plan requests, so nothing was started:\n  {}",
        ready.refusals.join("\n  ")
    );
    Ok(())
}

/// Returns the blocks of these cells, ordered by their first cells, each with the indices of its cells.
pub fn blocks(cells: &[Cell]) -> Vec<(BootBlock, Vec<usize>)> {
    let mut blocks: Vec<(BootBlock, Vec<usize>)> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let block = BootBlock::of(cell);
        match blocks.iter_mut().find(|(known, _)| *known == block) {
            Some((_, cells)) => cells.push(index),
            None => blocks.push((block, vec![index])),
        }
    }
    blocks
}

fn put<T>(list: &mut [T], place: usize, value: T) {
    if let Some(slot) = list.get_mut(place) {
        *slot = value;
    }
}

/// Returns the index of a measurand, and adds it if it is missing.
fn among(all: &mut Vec<Measurand>, one: Measurand) -> usize {
    all.iter().position(|known| *known == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::sample;

    fn cell(target: &str, boot: u32) -> Cell {
        Cell { target: target.into(), boot, ..sample::cell() }
    }

    fn measurand(title: &'static str) -> Measurand {
        Measurand { title: title.into(), ..Measurand::default() }
    }

    /// Cells of one boot form one block, however a plan mixes them. The block with the first cell is prepared first.
    #[test]
    fn cells_of_one_boot_are_one_block() {
        let cells = [cell("b", 1), cell("a", 1), cell("b", 2), cell("b", 1), cell("a", 1)];
        let found = blocks(&cells);
        let told: Vec<_> =
            found.iter().map(|(block, cells)| (block.target.as_str(), block.boot, cells.as_slice())).collect();
        assert_eq!(told, [("b", 1, &[0, 3][..]), ("a", 1, &[1, 4]), ("b", 2, &[2])]);
        let mut all: Vec<usize> = found.into_iter().flat_map(|(_, cells)| cells).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4], "each cell is in one block");
    }

    /// Two targets report about their own cells only. latido keeps what both measure once, and reports what each leaves out.
    #[test]
    fn what_two_targets_say_is_put_together() {
        let mut known = Known::nothing(4);
        let left = |why: &str| LeftOut { cpus: "3".parse().unwrap(), why: why.into() };
        let ready = |titles: [&'static str; 2], config: &str| Ready {
            skips: vec![None, Some("no such knob".into())],
            measurands: titles.map(measurand).to_vec(),
            measurand: vec![1, 0],
            housekeeping: vec![Some("0".parse().unwrap()), None],
            left_out: vec![left("offline"), left("offline")],
            kernel_config: Some(config.into()),
            ..Ready::default()
        };
        known.take("local", &[0, 2], &ready(["one", "two"], "CONFIG_A=y")).unwrap();
        known.take("ssh:board", &[1, 3], &ready(["two", "three"], "CONFIG_A=y")).unwrap();
        let titles: Vec<_> = known.measurand.iter().map(|index| &known.measurands[*index]).cloned().collect();
        assert_eq!(titles, ["two", "three", "one", "two"].map(measurand));
        assert_eq!(known.measurands.len(), 3);
        assert_eq!(known.left_out, ["CPU 3 (offline)", "CPU 3 of ssh:board (offline)"]);
        assert_eq!(known.kernel_configs.len(), 1);
        let skips: Vec<bool> = known.skips.iter().map(Option::is_some).collect();
        assert_eq!(skips, [false, false, true, true]);
        assert!(known.housekeeping[1].is_some() && known.housekeeping[3].is_none());
    }

    /// An incomplete answer is an error of the agent. A machine's refusal starts nothing.
    #[test]
    fn half_an_answer_and_a_refusal_are_errors() {
        let error = Known::nothing(1).take("local", &[0], &Ready::default()).unwrap_err().to_string();
        assert_eq!(error, "the agent did not report what a cell measures");
        let beyond = Ready { measurand: vec![7], measurands: vec![measurand("one")], ..Ready::default() };
        assert!(Known::nothing(1).take("local", &[0], &beyond).is_err());
        assert!(granted(&Ready::default()).is_ok());
        let refusals = vec!["no FIFO".to_owned(), "no deadline".to_owned()];
        let error = granted(&Ready { refusals, ..Ready::default() }).unwrap_err().to_string();
        assert!(error.contains("nothing was started:\n  no FIFO\n  no deadline"), "{error}");
    }
}
