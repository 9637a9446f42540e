//! What can make a sample large, within the system under test and outside of it.

/// What can make a sample large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The hypervisor ran something else. Outside the system under test: it can excuse.
    Steal,
    /// A program other than the loads, or latido itself, ran at or above the probe's priority. It can excuse, too.
    Foreign,
    /// The kernel made a real-time task wait, as its settings say.
    Throttle,
    /// A thread of the kernel at or above the probe's priority ran.
    Kernel,
    /// The firmware took the processor, for how long nobody knows.
    Smi,
}

impl Cause {
    /// The name of the trust check that weighs it.
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
