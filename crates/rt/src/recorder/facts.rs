//! What a loop did besides taking samples.

/// What became of the slots of a periodic loop; the three add up to the slots elapsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounts {
    /// Woken for, within the deadline.
    pub met: u64,
    /// Woken for, later than that.
    pub late: u64,
    /// Passed without being armed.
    pub missed: u64,
}

/// What the busy loop did besides counting gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpinCounts {
    /// Time of the loop's own work, recorded as no gap, in ns.
    pub own_ns: u64,
    /// Time slept by the duty cycle, recorded as no gap, in ns.
    pub slept_ns: u64,
    /// Gaps above 100 us in which the kernel counted a run delay, and that its limits do not explain.
    pub preempted: u64,
    /// Gaps with a run delay that have the length and the place of a wait that the kernel's limits impose.
    pub throttled: u64,
    /// How long these were together, in ns.
    pub throttled_ns: u64,
    /// Gaps above 100 us in which it did not: interrupt, SMI or hypervisor.
    pub in_place: u64,
    /// Readings of the counter that were before the one before; they make no sample.
    pub backwards: u64,
}

/// How far a measurement has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecorderPhase {
    /// Not started, or being rehearsed.
    #[default]
    Idle,
    /// Running without counting: what is recorded will be forgotten.
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
