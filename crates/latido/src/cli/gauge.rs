//! One line of progress on a terminal, renewed in place; nothing of it where nobody looks.

use crate::output::{Drawn, can_move, errors_have_colours, tell};
use std::time::{Duration, Instant};

/// How often the line is renewed.
const RENEWED: Duration = Duration::from_millis(500);

/// The line.
pub struct Gauge {
    begun: Instant,
    /// Whether there is a terminal to draw it on.
    seen: bool,
    /// When it was drawn; absent where it is not.
    drawn: Option<Instant>,
}

impl Gauge {
    /// With nothing drawn yet.
    pub fn new() -> Self {
        Self { begun: Instant::now(), seen: errors_have_colours() && can_move(), drawn: None }
    }

    /// Says that something begins.
    pub fn step(&mut self, text: &str) {
        self.clear();
        tell(text);
        self.begun = Instant::now();
    }

    /// Draws how far it is, given how many seconds have passed.
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

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let mut line = Drawn::default();
            line.up(1);
            line.erase_below();
            line.show();
        }
    }
}
