//! What is kept of a window.

use super::{Line, Window};
use crate::{events::State, pairing::Segment};

/// What became of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Somebody is about to wake it, on that CPU.
    Waking(u32),
    /// It is among those that may run.
    Woken,
    /// It has a CPU.
    In(u32),
    /// It left its CPU.
    Out(State),
    /// It goes to another CPU.
    Moved(u32),
}

/// A window with what happened in it.
#[derive(Debug)]
pub(super) struct Scene {
    pub window: Window,
    /// Segments of all CPUs that touch it.
    pub segments: Vec<Segment>,
    /// What became of its thread, before it (the last time) and in it.
    pub turns: Vec<(u64, Turn)>,
    pub excerpt: Vec<Line>,
    pub omitted: u64,
}
