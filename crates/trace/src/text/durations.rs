//! How long functions took, from the graph of their calls.

use super::{
    graph::{Call, Graph},
    tracers::Noise,
};
use std::collections::BTreeMap;

/// The most functions and CPUs that latido distinguishes; it counts later ones together.
const MOST: usize = 65_536;

/// The most nested traced calls: a kernel's stack has no more, and the kernel itself keeps 50.
const DEEPEST: usize = 256;

/// Counted values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
    /// All of them added.
    pub sum: u128,
}

impl Default for Tally {
    fn default() -> Self {
        Self { count: 0, least: u64::MAX, most: 0, sum: 0 }
    }
}

impl Tally {
    /// Adds one value.
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
        self.sum += u128::from(value);
    }
}

/// How long the things took that interrupted CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noises {
    /// By kind and name.
    pub by: BTreeMap<(&'static str, String), Tally>,
    /// How many interruptions by other things came after the room was used up.
    pub beyond: u64,
}

impl Noises {
    /// Adds one interruption.
    pub fn add(&mut self, noise: Noise<'_>) {
        let place = (noise.kind, noise.of.to_owned());
        match self.by.len() < MOST_NOISES || self.by.contains_key(&place) {
            true => self.by.entry(place).or_default().add(noise.ns),
            false => self.beyond += 1,
        }
    }
}

/// The most kinds and names that latido distinguishes.
const MOST_NOISES: usize = 1 << 14;

/// The durations of each function, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// Durations by function.
    pub functions: BTreeMap<String, Tally>,
    /// Durations of calls whose start is not in the text and whose end does not name them, and of functions beyond the 65,536th.
    pub unnamed: Tally,
    /// The names of the open calls by depth, for the task that runs on each CPU.
    open: BTreeMap<u32, Vec<String>>,
    /// Whether some lines do not name their CPU.
    anywhere: bool,
}

impl Durations {
    /// Adds a line.
    pub(super) fn take(&mut self, line: &Graph<'_>) {
        let cpu = line.cpu.unwrap_or(0);
        self.anywhere |= line.cpu.is_none();
        match line.call {
            Call::Leaf { name } => self.add(Some(name.to_owned()), line.duration_ns),
            Call::Enter { name }
                if line.depth < DEEPEST && (self.open.len() < MOST || self.open.contains_key(&cpu)) =>
            {
                let open = self.open.entry(cpu).or_default();
                open.resize_with(line.depth, String::new);
                open.push(name.to_owned());
            }
            Call::Leave { name } => {
                let open = self.open.get_mut(&cpu);
                let begun = open.filter(|open| open.len() > line.depth).map(|open| {
                    open.truncate(line.depth + 1);
                    open.pop().unwrap_or_default()
                });
                let name = name.map(str::to_owned).or(begun).filter(|name| !name.is_empty());
                self.add(name, line.duration_ns);
            }
            Call::Enter { .. } | Call::Interrupt { .. } | Call::Comment(_) => {}
        }
    }

    /// Handles that another task runs on this CPU from here on: the open calls are not on that task's stack.
    pub(super) fn switched(&mut self, cpu: u32) {
        self.open.remove(&cpu);
    }

    /// Handles a loss: any call may have started or ended in it.
    pub(super) fn lost(&mut self, cpu: u32) {
        if self.anywhere {
            self.open.clear();
        }
        self.open.remove(&cpu);
    }

    fn add(&mut self, name: Option<String>, duration_ns: Option<u64>) {
        let Some(duration_ns) = duration_ns else { return };
        match name {
            Some(name) if self.functions.len() < MOST || self.functions.contains_key(&name) => {
                self.functions.entry(name).or_default().add(duration_ns);
            }
            _ => self.unnamed.add(duration_ns),
        }
    }
}
