//! Names for the single cells of a run, for measuring, lists and drawings.

use latido_model::{
    cell::{Axis, Cell, Item},
    written,
};

/// Returns a cell's name for people, within its run: `wakeup, busy`, with the repeat if it is not the first.
pub fn title(cell: &Cell) -> String {
    let mut text = measured_by(cell);
    if !cell.load.id.is_empty() {
        text = format!("{text}, {}", cell.load.shown_load());
    }
    if cell.repeat > 1 {
        text = format!("{text}, repeat {}", cell.repeat);
    }
    text
}

/// Returns the probe, or the program that reported the samples: `reported by node.py`.
fn measured_by(cell: &Cell) -> String {
    let name = &cell.probe.name;
    // The name may be followed by options that differ.
    let behind = name.strip_prefix("command").filter(|rest| rest.is_empty() || rest.starts_with(' '));
    let words = cell.probe.options.get("argv").and_then(toml::Value::as_array);
    let Some((behind, words)) = behind.zip(words) else { return name.clone() };
    let argv: Vec<String> = words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect();
    format!("reported by {}{behind}", written::program(&argv))
}

/// Names for the cells of a run: as [`title`], with everything in which they differ: `wakeup period=250us, busy, other, isolated`.
#[derive(Debug, Default)]
pub struct Titles {
    /// The differing axes other than probe and load.
    axes: Vec<Axis>,
    /// The differing options of probes, each with the probe's name.
    options: Vec<(String, String)>,
}

impl Titles {
    /// Finds what differs among these cells.
    pub fn among<'a>(all: impl Iterator<Item = &'a Cell> + Clone) -> Self {
        let beside = |axis: &Axis| !matches!(axis, Axis::Probe | Axis::Load);
        let differs = |axis: &Axis| {
            let mut levels = all.clone().map(|cell| cell.level(*axis));
            let first = levels.next();
            levels.any(|level| Some(level) != first)
        };
        // The faster an axis changes, the more it distinguishes.
        let axes = Axis::ALL.into_iter().rev().filter(beside).filter(differs).collect();
        let mut firsts: Vec<&Cell> = Vec::new();
        let mut options: Vec<(String, String)> = Vec::new();
        for cell in all {
            let Some(first) = firsts.iter().find(|first| first.probe.name == cell.probe.name) else {
                firsts.push(cell);
                continue;
            };
            let (own, other) = (&cell.probe.options, &first.probe.options);
            for key in own.keys().chain(other.keys()).filter(|key| own.get(*key) != other.get(*key)) {
                let known = (cell.probe.name.clone(), key.clone());
                if !options.contains(&known) {
                    options.push(known);
                }
            }
        }
        Self { axes, options }
    }

    /// Returns the name of one of them.
    pub fn of(&self, cell: &Cell) -> String {
        let options = self.options.iter().filter(|(probe, _)| *probe == cell.probe.name);
        let options =
            options.filter_map(|(_, key)| Some(format!(" {key}={}", written::said(cell.probe.options.get(key)?))));
        let name = options.fold(cell.probe.name.clone(), |name, option| name + &option);
        let named = Cell { probe: Item { name, ..cell.probe.clone() }, ..cell.clone() };
        let level = |axis: &Axis| match axis {
            Axis::Boot => format!("boot {}", cell.boot),
            axis => cell.shown(*axis),
        };
        std::iter::once(title(&named)).chain(self.axes.iter().map(level)).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        cell::{Level, Scheduling},
        sample,
    };

    #[test]
    fn a_repeat_and_a_boot_have_their_number() {
        assert_eq!(title(&Cell { repeat: 3, ..sample::under("busy") }), "wakeup, busy, repeat 3");
        let all = [1, 2].map(|boot| Cell { boot, ..sample::cell() });
        assert_eq!(Titles::among(all.iter()).of(&all[1]), "wakeup, idle, boot 2");
    }

    #[test]
    fn a_cell_at_work_is_told_with_what_differs() {
        let shared = sample::under("busy");
        let isolated = Cell { tuning: Level { id: "isolated".into(), items: Vec::new() }, ..shared.clone() };
        let all = [shared.clone(), isolated.clone()];
        assert_eq!(Titles::among(all.iter()).of(&isolated), "wakeup, busy, isolated");
        let fast = Item { name: "wakeup".into(), options: toml::toml! { period = "250us" } };
        let other = Cell { probe: fast, scheduling: Scheduling::OTHER, ..shared.clone() };
        let all = [shared.clone(), other.clone()];
        assert_eq!(Titles::among(all.iter()).of(&other), "wakeup period=250us, busy, other");
        assert_eq!(Titles::among(std::iter::once(&shared)).of(&shared), "wakeup, busy");
    }
}
