//! What each CPU did over time, in at most as many slices as a page can draw.

use latido_trace::pairing::{Owner, Segment, Sink};
use std::collections::BTreeMap;

/// The most slices that are drawn.
pub const MOST: usize = 100_000;

/// A slice that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Its start, ns on the trace's clock.
    pub begin: u64,
    /// Its end, ns.
    pub end: u64,
    /// The owner of the CPU, or of most of that time, as an index into [`Timeline::names`].
    pub owner: usize,
}

/// What each CPU did. If there are more slices than can be drawn, slices shorter than [`Timeline::grain`] are joined with their neighbours.
/// The joined slice belongs to the owner with the most time in it.
#[derive(Debug, Default)]
pub struct Timeline {
    owners: BTreeMap<Owner, usize>,
    /// The names of the owners, by index.
    pub names: Vec<String>,
    lanes: BTreeMap<u32, Vec<Drawn>>,
    count: usize,
    /// Slices shorter than this are joined, ns; 0 if all slices are drawn as they are.
    pub grain: u64,
}

impl Timeline {
    /// Joins short slices until there are at most `most`.
    fn thin(&mut self, most: usize) {
        while self.count > most {
            self.grain = (self.grain * 2).max(1_000);
            let grain = self.grain;
            self.lanes.values_mut().for_each(|lane| *lane = joined(lane, grain));
            let count: usize = self.lanes.values().map(Vec::len).sum();
            // There are more CPUs than slices allowed: the timeline stays as it is.
            if grain > 1 << 60 {
                break;
            }
            self.count = count;
        }
        self.forget();
    }

    /// Removes the owners that have no slice left.
    fn forget(&mut self) {
        let mut used = vec![None; self.owners.len()];
        let mut next = 0;
        for piece in self.lanes.values_mut().flatten() {
            let Some(slot) = used.get_mut(piece.owner) else { continue };
            piece.owner = *slot.get_or_insert_with(|| {
                next += 1;
                next - 1
            });
        }
        self.owners.retain(|_, at| used.get(*at).copied().flatten().map(|new| *at = new).is_some());
    }

    /// Completes the timeline: joins short slices, then names the owners.
    pub fn name(&mut self, name: impl Fn(Owner) -> String) {
        self.thin(MOST);
        let mut names = vec![String::new(); self.owners.len()];
        for (owner, at) in &self.owners {
            names.get_mut(*at).into_iter().for_each(|slot| *slot = name(*owner));
        }
        self.names = names;
    }

    /// Returns the slices of each CPU.
    pub fn lanes(&self) -> &BTreeMap<u32, Vec<Drawn>> {
        &self.lanes
    }

    /// Returns the kind of each owner: `idle`, `hard`, `soft`, `task`, `lost`.
    pub fn kinds(&self) -> Vec<&'static str> {
        let mut kinds = vec!["task"; self.owners.len()];
        for (owner, at) in &self.owners {
            let kind = match owner {
                Owner::Idle => "idle",
                Owner::Nmi => "hard",
                Owner::Above(latido_trace::events::Above::Soft(_)) => "soft",
                Owner::Above(_) => "hard",
                Owner::Task(_) => "task",
                Owner::Lost | Owner::Unknown => "lost",
            };
            kinds.get_mut(*at).into_iter().for_each(|slot| *slot = kind);
        }
        kinds
    }
}

impl Sink for Timeline {
    fn segment(&mut self, segment: &Segment) {
        let next = self.owners.len();
        let owner = *self.owners.entry(segment.owner).or_insert(next);
        let lane = self.lanes.entry(segment.cpu).or_default();
        let piece = Drawn { begin: segment.begin, end: segment.end, owner };
        match lane.last_mut() {
            Some(last) if last.owner == owner && last.end == piece.begin => last.end = piece.end,
            _ => {
                lane.push(piece);
                self.count += 1;
            }
        }
        if self.count >= 2 * MOST {
            self.thin(MOST);
        }
    }
}

/// Joins neighbours within one grain into one slice, which belongs to the owner with the most time in it.
fn joined(lane: &[Drawn], grain: u64) -> Vec<Drawn> {
    let mut all: Vec<Drawn> = Vec::new();
    let mut group: Vec<Drawn> = Vec::new();
    for piece in lane {
        let same =
            group.first().is_some_and(|first| first.begin / grain == piece.end / grain && touches(&group, piece));
        if !same {
            all.extend(one(&group));
            group.clear();
        }
        group.push(*piece);
    }
    all.extend(one(&group));
    all
}

fn touches(group: &[Drawn], piece: &Drawn) -> bool {
    group.last().is_some_and(|last| last.end == piece.begin)
}

fn one(group: &[Drawn]) -> Option<Drawn> {
    let (first, last) = (group.first()?, group.last()?);
    let mut had = BTreeMap::<usize, u64>::new();
    group.iter().for_each(|piece| *had.entry(piece.owner).or_default() += piece.end - piece.begin);
    let owner = had.into_iter().max_by_key(|(owner, ns)| (*ns, std::cmp::Reverse(*owner)))?.0;
    Some(Drawn { begin: first.begin, end: last.end, owner })
}
