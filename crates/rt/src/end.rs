//! Why a measuring loop ended.

/// The reason; `F` is how this loop can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<F> {
    /// All that was asked for: slots, rounds, instances, or the time.
    Complete,
    /// The stop flag was set.
    Stopped,
    /// A sample was above `stop_on`; the stop flag is set for the other threads.
    Sample,
    /// It could not go on.
    Failed(F),
}

impl<F> End<F> {
    /// How it failed, if it did. In line: asked between two looks at the thread's page faults.
    #[inline(always)]
    pub fn failure(self) -> Option<F> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Complete | Self::Stopped | Self::Sample => None,
        }
    }
}
