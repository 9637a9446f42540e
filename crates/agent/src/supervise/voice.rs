//! The supervisor's voice: one stream to the host, for the cell's course and for the signs of life in between.

use anyhow::Result;
use latido_model::protocol::{Body, Progress, Writer};
use std::{
    cell::RefCell,
    io::{Stdout, stdout},
    rc::Rc,
};

/// Writes the stream to the host; its copies write the same stream.
#[derive(Clone)]
pub struct Voice(Rc<RefCell<Writer<Stdout>>>);

impl Default for Voice {
    fn default() -> Self {
        Self(Rc::new(RefCell::new(Writer::new(stdout()))))
    }
}

impl Voice {
    /// One line.
    ///
    /// # Errors
    /// The host is gone.
    pub fn send(&self, body: Body) -> Result<()> {
        self.0.try_borrow_mut()?.send(body)
    }

    /// A file of the cell.
    ///
    /// # Errors
    /// The host is gone.
    pub fn blob(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.0.try_borrow_mut()?.blob(name, bytes)
    }

    /// How the cell goes.
    ///
    /// # Errors
    /// The host is gone.
    pub fn progress(&self, progress: Progress) -> Result<()> {
        self.send(Body::Progress(progress))?;
        crate::fault::point("agent");
        Ok(())
    }

    /// The cell's next phase.
    ///
    /// # Errors
    /// The host is gone.
    pub fn phase(&self, name: &str) -> Result<()> {
        self.progress(Progress { phase: name.into(), ..Progress::default() })
    }

    /// Still in a phase. No crash point: how often it is said depends on the machine.
    pub fn alive(&self, phase: &str) {
        // A host that is gone changes nothing for what is to be put back.
        let _ = self.send(Body::Progress(Progress { phase: phase.into(), ..Progress::default() }));
    }
}
