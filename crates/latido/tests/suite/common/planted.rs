//! A cause of late samples planted on CPU 0, by the program that the slow campaign uses too.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

/// It ends when this is dropped.
pub struct Planted(Child);

impl Planted {
    /// Plants it, and waits until the program says that it is there.
    pub fn on_cpu_0(cause: &str) -> Self {
        let plant = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/plant");
        let mut command = Command::new("python3");
        // Longer than any test: what ends it is this value.
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
