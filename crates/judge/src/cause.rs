//! What can make a sample large, inside and outside the system under test.

/// What can make a sample large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The hypervisor ran something else. This is outside the system under test, so it can excuse a sample.
    Steal,
    /// A program other than the loads or latido ran at or above the probe's priority. This can excuse a sample, too.
    Foreign,
    /// The kernel made a real-time task wait, as its settings require.
    Throttle,
    /// A kernel thread at or above the probe's priority ran.
    Kernel,
    /// The firmware took the processor; latido cannot measure for how long.
    Smi,
}

impl Cause {
    /// Returns the name of the trust check that weighs this cause.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steal => "steal",
            Self::Foreign => "foreign tasks",
            Self::Throttle => "throttle",
            Self::Kernel => "kernel threads",
            Self::Smi => "smi",
        }
    }
}
