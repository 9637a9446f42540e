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
