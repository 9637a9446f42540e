//! One line of progress on a terminal, renewed in place; no line where stderr is not a terminal.

use crate::output::{Drawn, can_move, errors_have_colours, tell};
use std::time::{Duration, Instant};

/// The shortest time between two drawings of the line.
const RENEWED: Duration = Duration::from_millis(500);

/// The progress line.
pub struct Gauge {
    begun: Instant,
    /// Whether there is a terminal to draw it on.
    seen: bool,
    /// When it was last drawn; `None` where no line is on the screen.
    drawn: Option<Instant>,
}

impl Gauge {
    /// Returns a gauge with no line drawn yet.
    pub fn new() -> Self {
        Self { begun: Instant::now(), seen: errors_have_colours() && can_move(), drawn: None }
    }

    /// Prints that a step starts, and restarts the clock.
    pub fn step(&mut self, text: &str) {
        self.clear();
        tell(text);
        self.begun = Instant::now();
    }

    /// Draws the progress; `text` receives the seconds passed.
    pub fn now(&mut self, text: impl FnOnce(u64) -> String) {
        if !self.seen || self.drawn.is_some_and(|at| at.elapsed() < RENEWED) {
            return;
        }
        let mut line = Drawn::default();
        line.up(usize::from(self.drawn.is_some()));
        line.line_over(&format!("  {}", text(self.begun.elapsed().as_secs())));
        line.show();
        self.drawn = Some(Instant::now());
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let mut line = Drawn::default();
            line.up(1);
            line.erase_below();
            line.show();
        }
    }
}
