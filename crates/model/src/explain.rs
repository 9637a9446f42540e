//! Which samples can be explained by a trace, and how many are.

/// So many of the largest samples are explained where nothing else is said.
pub const USUAL: u32 = 20;

/// So many samples of a cell are explained at most, however many lie above the limit: each costs memory, and a page of a
/// thousand is read by nobody.
pub const MOST: u32 = 1_000;

/// What a sample of a probe is, where it is a time of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explainable {
    /// The quantity.
    pub quantity: &'static str,
    /// Whether the thread slept before it, until a timer or an event of a device (or read the clock again and again).
    pub slept: bool,
    /// Whether its timer alone was to wake it.
    pub by_timer: bool,
}

/// Whether samples of a probe can be explained.
pub fn explainable(probe: &str) -> Option<Explainable> {
    match probe {
        "wakeup" => Some(Explainable { quantity: "latency", slept: true, by_timer: true }),
        // By an interrupt's handler, which the event is due for.
        "interrupt" => Some(Explainable { quantity: "response", slept: true, by_timer: false }),
        "gap" => Some(Explainable { quantity: "gap", slept: false, by_timer: false }),
        _ => None,
    }
}
