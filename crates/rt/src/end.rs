//! Why a measuring loop ended.

/// The reason; `F` is the type of this loop's failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<F> {
    /// The loop did all that was requested: slots, rounds, instances, or the time.
    Complete,
    /// The stop flag was set.
    Stopped,
    /// A sample was above `stop_on`; the stop flag is set for the other threads.
    Sample,
    /// The loop could not continue.
    Failed(F),
}

impl<F> End<F> {
    /// Returns the failure, if there is one. Inlined, because callers use it between their two readings of the thread's page faults.
    #[inline(always)]
    pub fn failure(self) -> Option<F> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Complete | Self::Stopped | Self::Sample => None,
        }
    }
}
