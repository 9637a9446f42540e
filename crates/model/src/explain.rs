//! Which samples a trace can explain, and how many of them latido explains.

/// How many of the largest samples latido explains by default.
pub const USUAL: u32 = 20;

/// The most samples of a cell that latido explains, however many are above the limit. Each one costs memory, and a page of a thousand is
/// too long to read.
pub const MOST: u32 = 1_000;

/// How to explain a probe's samples, if they are times of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explainable {
    /// The quantity.
    pub quantity: &'static str,
    /// What the thread was doing when such a time began.
    pub begins: Begins,
    /// Whether only the thread's timer should wake it.
    pub by_timer: bool,
}

/// What a thread was doing when the time to explain began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// It slept, until a timer or a device event.
    Asleep,
    /// It read the clock repeatedly.
    Reading,
    /// A job of a program was due.
    Job,
}

/// Quantities of a program's jobs. `completion` is the time from a slot until its job was done. `missed` is the time from a slot that had
/// no job until the thread had done its next job. `response` is the time from a wake-up until the thread waited again.
pub const COMPLETION: &str = "completion";
/// See [`COMPLETION`].
pub const MISSED: &str = "missed";
/// See [`COMPLETION`].
pub const RESPONSE: &str = "response";

/// Returns how to explain samples of a probe; `None` if latido cannot.
pub fn explainable(probe: &str) -> Option<Explainable> {
    match probe {
        "wakeup" => Some(Explainable { quantity: "latency", begins: Begins::Asleep, by_timer: true }),
        // An interrupt's handler wakes the thread, and the event is due for that handler.
        "interrupt" => Some(Explainable { quantity: "response", begins: Begins::Asleep, by_timer: false }),
        "gap" => Some(Explainable { quantity: "gap", begins: Begins::Reading, by_timer: false }),
        // If its program has a period, latido explains its slots instead.
        "task" => Some(Explainable { quantity: RESPONSE, begins: Begins::Job, by_timer: false }),
        _ => None,
    }
}
