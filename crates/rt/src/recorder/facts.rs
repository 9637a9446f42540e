//! What a loop did apart from taking samples.

/// The slots of a periodic loop by their outcome; the three add up to the elapsed slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounts {
    /// Slots with a wake-up within the deadline.
    pub met: u64,
    /// Slots with a wake-up after the deadline.
    pub late: u64,
    /// Slots that passed before the loop could set a timer for them.
    pub missed: u64,
}

/// What the busy loop did apart from counting gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpinCounts {
    /// Time that the loop's own work took, in ns; no gap includes it.
    pub own_ns: u64,
    /// Time that the duty cycle slept, in ns; no gap includes it.
    pub slept_ns: u64,
    /// Gaps above 100 us with a run delay that the kernel's limits do not explain.
    pub preempted: u64,
    /// Gaps with a run delay whose length and time match a wait that the kernel's limits impose.
    pub throttled: u64,
    /// The total length of the throttled gaps, in ns.
    pub throttled_ns: u64,
    /// Gaps above 100 us without a run delay: interrupt, SMI or hypervisor.
    pub in_place: u64,
    /// Readings of the counter that were lower than the previous one; they make no sample.
    pub backwards: u64,
}

/// The phase of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecorderPhase {
    /// Not started, or in a dry run.
    #[default]
    Idle,
    /// Running without counting: the end of the warm-up clears what was recorded.
    WarmUp,
    /// Counting.
    Counting,
    /// Ended; the figures are final.
    Ended,
}

impl RecorderPhase {
    pub(super) const fn of(number: u64) -> Self {
        match number {
            1 => Self::WarmUp,
            2 => Self::Counting,
            3 => Self::Ended,
            _ => Self::Idle,
        }
    }
}
