//! A cause of late samples on CPU 0, planted by the program that the slow campaign also uses.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

/// A planted cause, which ends on drop.
pub struct Planted(Child);

impl Planted {
    /// Plants a cause, and waits until the program reports that it is there.
    pub fn on_cpu_0(cause: &str) -> Self {
        let plant = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/plant");
        let mut command = Command::new("python3");
        // Longer than any test: dropping this value ends it.
        command.args([plant, cause, "0", "3600"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut planted = Self(command.spawn().unwrap());
        let mut said = String::new();
        BufReader::new(planted.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "planted\n", "{cause}");
        planted
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}
