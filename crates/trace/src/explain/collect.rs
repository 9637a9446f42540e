//! What happened in windows, kept as the trace goes by.

use super::{
    Explained, Line, Names, Window, cut,
    scene::{Scene, Turn},
};
use crate::{
    bytes::Endian,
    events::{Events, Happened},
    file::Trace,
    format::Format,
    pairing::{Segment, Sink},
};
use std::collections::BTreeMap;

/// Segments and events of a window; longer windows are told in parts.
const MOST_SEGMENTS: usize = 65_536;
const MOST_LINES: usize = 200;
/// How much before and after a window is shown, ns.
const MARGIN: u64 = 20_000;

/// Collects for all windows in one walk.
#[derive(Debug)]
pub(super) struct Collect<'t> {
    formats: BTreeMap<u16, &'t Format>,
    events: Events,
    endian: Endian,
    /// In the order of their begin.
    scenes: Vec<Scene>,
    /// How many have begun.
    begun: usize,
    /// The longest window: one that begins so long before an event may touch it.
    longest: u64,
    /// What became of each thread last, before its window.
    before: BTreeMap<i32, Vec<(u64, Turn)>>,
}

impl<'t> Collect<'t> {
    pub fn of(trace: &'t Trace<'_>, windows: &[Window]) -> Self {
        let mut windows = windows.to_vec();
        windows.sort_unstable();
        let longest = windows.iter().map(|window| window.end.saturating_sub(window.begin)).max().unwrap_or(0);
        let before = windows.iter().map(|window| (window.pid, Vec::new())).collect();
        let scene = |window| Scene { window, segments: Vec::new(), turns: Vec::new(), excerpt: Vec::new(), omitted: 0 };
        Self {
            formats: trace.formats.iter().map(|one| (one.format.id, &one.format)).collect(),
            events: Events::of(&trace.formats, trace.endian),
            endian: trace.endian,
            scenes: windows.into_iter().map(scene).collect(),
            begun: 0,
            longest,
            before,
        }
    }

    pub fn vectors(&self) -> Vec<String> {
        self.events.vectors().to_vec()
    }

    /// The scenes that a time touches, with a margin.
    fn at(&mut self, begin: u64, end: u64) -> impl Iterator<Item = &mut Scene> {
        while let Some(next) =
            self.scenes.get_mut(self.begun).filter(|next| next.window.begin <= end.saturating_add(MARGIN))
        {
            next.turns = self.before.get(&next.window.pid).cloned().unwrap_or_default();
            self.begun += 1;
        }
        let from = begin.saturating_sub(self.longest).saturating_sub(MARGIN);
        let first = self.scenes.partition_point(|scene| scene.window.begin < from);
        let scenes = self.scenes.get_mut(first..self.begun).unwrap_or_default().iter_mut();
        scenes.filter(move |scene| {
            scene.window.begin <= end.saturating_add(MARGIN) && scene.window.end.saturating_add(MARGIN) >= begin
        })
    }

    pub fn explained(self, mut names: Names<'_>) -> Vec<Explained> {
        let explained = |scene: Scene| {
            let slices = cut::slices(&scene, &mut names);
            let Scene { window, segments, excerpt, omitted, .. } = scene;
            Explained { window, slices, segments, excerpt, omitted }
        };
        self.scenes.into_iter().map(explained).collect()
    }

    fn turn(&mut self, time: u64, pid: i32, turn: Turn) {
        if !self.before.contains_key(&pid) {
            return;
        }
        for scene in self.at(time, time).filter(|scene| scene.window.pid == pid) {
            scene.turns.push((time, turn));
        }
        // All that is needed of the time before a window: how it left, and what came since.
        if let Some(before) = self.before.get_mut(&pid) {
            if matches!(turn, Turn::In(_) | Turn::Out(_)) {
                before.clear();
            }
            before.push((time, turn));
            before.truncate(8);
        }
    }
}

impl Sink for Collect<'_> {
    fn event(&mut self, cpu: u32, time: u64, record: &[u8], happened: Option<&Happened>) {
        if let Some(happened) = happened {
            match happened {
                Happened::Switch { from, state, to } => {
                    self.turn(time, from.pid, Turn::Out(*state));
                    self.turn(time, to.pid, Turn::In(cpu));
                }
                Happened::Waking(task) => self.turn(time, task.pid, Turn::Waking(cpu)),
                Happened::Wakeup(task) | Happened::New(task) => self.turn(time, task.pid, Turn::Woken),
                Happened::Migrated { pid, to, .. } => self.turn(time, *pid, Turn::Moved(*to)),
                _ => {}
            }
        }
        let (endian, format) = (self.endian, self.events.id(record).and_then(|id| self.formats.get(&id).copied()));
        for scene in self.at(time, time) {
            if scene.excerpt.len() >= MOST_LINES {
                scene.omitted += 1;
            } else if let Some(format) = format {
                scene.excerpt.push(Line { time, cpu, text: format.describe(record, endian) });
            }
        }
    }

    fn segment(&mut self, segment: &Segment) {
        for scene in self.at(segment.begin, segment.end).filter(|scene| scene.segments.len() < MOST_SEGMENTS) {
            scene.segments.push(*segment);
        }
    }
}
