//! Which samples can be explained by a trace, and how many are.

/// So many of the largest samples are explained where nothing else is said.
pub const USUAL: u32 = 20;

/// So many samples of a cell are explained at most, however many lie above the limit: each costs memory, and a page of a
/// thousand is read by nobody.
pub const MOST: u32 = 1_000;

/// What samples of a probe are, where they are times of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explainable {
    /// The quantity.
    pub quantity: &'static str,
    /// What the thread was at when such a time began.
    pub begins: Begins,
    /// Whether its timer alone was to wake it.
    pub by_timer: bool,
}

/// What a thread was at when a time began that is to be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// It slept, until a timer or an event of a device.
    Asleep,
    /// It read the clock again and again.
    Reading,
    /// A job of a program was due.
    Job,
}

/// The quantities of a program's jobs: from a slot's time until its job was done; from the time of a slot that had no job until the
/// thread had done another one; from a waking until the thread waited again.
pub const COMPLETION: &str = "completion";
/// See [`COMPLETION`].
pub const MISSED: &str = "missed";
/// See [`COMPLETION`].
pub const RESPONSE: &str = "response";

/// Whether samples of a probe can be explained.
pub fn explainable(probe: &str) -> Option<Explainable> {
    match probe {
        "wakeup" => Some(Explainable { quantity: "latency", begins: Begins::Asleep, by_timer: true }),
        // By an interrupt's handler, which the event is due for.
        "interrupt" => Some(Explainable { quantity: "response", begins: Begins::Asleep, by_timer: false }),
        "gap" => Some(Explainable { quantity: "gap", begins: Begins::Reading, by_timer: false }),
        // Where its program has a period, of its slots.
        "task" => Some(Explainable { quantity: RESPONSE, begins: Begins::Job, by_timer: false }),
        _ => None,
    }
}
