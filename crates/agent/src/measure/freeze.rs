//! `stop_on` freezes the kernel's trace: the thread that met the sample marks the trace and switches it off, directly after its loop,
//! before anything is freed or read. So the ring still contains the cause.
//!
//! The trace of another latido continues, because that latido takes its samples from it.
//!
//! latido opens all files beforehand. After the loop it makes two system calls per trace and no allocation. It writes the marker first: a
//! trace that is off accepts none.

use crate::{
    journal::Instance,
    machine::{
        Root,
        tracing::{self, Trace},
    },
};
use latido_model::record::Freeze;
use latido_rt::recorder::StopSign;
use latido_sys::{clock::Clock, sched};
use std::{
    fs::{File, OpenOptions},
    io::{Cursor, Write},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// The longest marker in bytes.
const MARKER: usize = 192;

/// The open files of the traces that are on.
#[derive(Debug)]
pub struct Freezer {
    doors: Vec<Door>,
    done: AtomicBool,
    struck: OnceLock<Struck>,
}

/// One trace: the file for markers, and its switch.
#[derive(Debug)]
struct Door {
    marker: File,
    switch: File,
    /// The switch's path, for messages.
    path: String,
}

/// What the measuring thread did.
#[derive(Debug)]
struct Struck {
    value_ns: i64,
    cpu: Option<u32>,
    monotonic_ns: u64,
    failed: Option<std::io::ErrorKind>,
}

impl Freezer {
    /// Opens the files that freeze every trace that is on.
    ///
    /// # Errors
    /// The text for the record, if there is nothing to freeze or no way to freeze it.
    pub fn arm(root: &Root) -> Result<Self, Freeze> {
        let impossible = |why| Freeze::Impossible { why };
        let traces = tracing::traces(root).map_err(impossible)?;
        // The supervisor, which records, is the parent of the measuring process.
        let own = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned());
        let frozen = traces.into_iter().filter(|trace| trace.on && !Instance::of_another(&trace.instance, own));
        let doors = frozen.map(|trace| Door::open(root, &trace));
        let doors = doors.collect::<Result<Vec<Door>, String>>().map_err(impossible)?;
        if doors.is_empty() {
            return Err(Freeze::Off);
        }
        // This runs the code once, on /dev/null. So no measuring thread has a page fault when it touches the code and files for the first
        // time.
        if let Ok(nowhere) = Door::nowhere() {
            Self::of(vec![nowhere]).strike(Some(0), 0, 0);
        }
        Ok(Self::of(doors))
    }

    fn of(doors: Vec<Door>) -> Self {
        Self { doors, done: AtomicBool::new(false), struck: OnceLock::new() }
    }

    /// Freezes the traces at the first sample above `stop_on`. Every measuring thread calls this after its loop, with the stop signs of its
    /// series.
    pub fn after_loop(&self, cpu: Option<u32>, signs: &[StopSign]) {
        let Some(sample) = signs.iter().find_map(StopSign::sample) else { return };
        if !self.done.swap(true, Ordering::Relaxed) {
            // A thread that was free to move has just met its sample here.
            self.strike(cpu.or_else(sched::current_cpu), sample.value, sample.at_ns);
        }
    }

    fn strike(&self, cpu: Option<u32>, value_ns: i64, at_ns: u64) {
        let monotonic_ns = Clock::Monotonic.now();
        let mut text = [0u8; MARKER];
        let mut marker = Cursor::new(text.as_mut_slice());
        // A text that is too long is cut off, not refused.
        let _ = match cpu {
            Some(cpu) => write!(marker, "latido: stop_on: sample {value_ns} ns on CPU {cpu}"),
            None => write!(marker, "latido: stop_on: sample {value_ns} ns"),
        };
        let _ = writeln!(marker, ", {at_ns} ns after the first slot, CLOCK_MONOTONIC {monotonic_ns} ns");
        let length = usize::try_from(marker.position()).unwrap_or(MARKER);
        let marker = text.get(..length).unwrap_or_default();
        let mut failed = None;
        for door in &self.doors {
            let marked = (&door.marker).write(marker);
            let switched = (&door.switch).write(b"0");
            failed = failed.or(marked.and(switched).err().map(|error| error.kind()));
        }
        let _ = self.struck.set(Struck { value_ns, cpu, monotonic_ns, failed });
    }

    /// Returns the text for the record.
    pub fn told(&self) -> Freeze {
        let Some(struck) = self.struck.get() else { return Freeze::Armed };
        Freeze::Frozen {
            switches: self.doors.iter().map(|door| door.path.clone()).collect(),
            value_ns: struck.value_ns,
            cpu: struck.cpu,
            monotonic_ns: struck.monotonic_ns,
            failed: struck.failed.map(|kind| kind.to_string()),
        }
    }
}

impl Door {
    fn nowhere() -> std::io::Result<Self> {
        let open = || OpenOptions::new().write(true).open("/dev/null");
        Ok(Self { marker: open()?, switch: open()?, path: String::new() })
    }

    fn open(root: &Root, trace: &Trace) -> Result<Self, String> {
        let open = |name: &str| {
            let path = format!("{}/{name}", trace.dir);
            let file = OpenOptions::new().write(true).open(root.path(&path));
            file.map_err(|error| format!("{path}: {error}"))
        };
        Ok(Self {
            marker: open("trace_marker")?,
            switch: open("tracing_on")?,
            path: format!("{}/tracing_on", trace.dir),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_rt::{Config, recorder};
    use std::fs;

    const TOP: &str = "/sys/kernel/tracing";

    fn plant(root: &Root, dir: &str, on: &str) {
        fs::create_dir_all(root.path(dir)).unwrap();
        fs::write(root.path(&format!("{dir}/tracing_on")), on).unwrap();
        fs::write(root.path(&format!("{dir}/trace_marker")), "").unwrap();
    }

    fn read(root: &Root, file: &str) -> String {
        fs::read_to_string(root.path(file)).unwrap()
    }

    /// Returns the stop sign of a recorder that met this sample.
    fn sign(value: i64) -> StopSign {
        let (mut recorder, reader) = recorder::new(&Config { stop_on_ns: Some(1_000), ..Config::default() }).unwrap();
        recorder.sample(value, 5_000);
        reader.stop_sign()
    }

    #[test]
    fn the_first_thread_with_a_sample_above_marks_and_switches_off_every_trace_that_is_on() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        plant(&root, TOP, "1");
        plant(&root, "/sys/kernel/tracing/instances/mine", "1");
        plant(&root, "/sys/kernel/tracing/instances/idle", "0");
        let another = format!("/sys/kernel/tracing/instances/latido-{}-1", std::process::id());
        plant(&root, &another, "1");
        let freezer = Freezer::arm(&root).unwrap();
        freezer.after_loop(Some(0), &[sign(999)]);
        assert_eq!((freezer.told(), read(&root, "/sys/kernel/tracing/tracing_on")), (Freeze::Armed, "1".into()));
        freezer.after_loop(Some(1), &[sign(7), sign(23_456)]);
        freezer.after_loop(Some(0), &[sign(99_999)]);
        assert_eq!(
            read(&root, &format!("{another}/tracing_on")),
            "1",
            "another latido takes its samples from its trace"
        );
        for place in [TOP, "/sys/kernel/tracing/instances/mine"] {
            assert_eq!(read(&root, &format!("{place}/tracing_on")), "0");
            let marker = read(&root, &format!("{place}/trace_marker"));
            let expected = "latido: stop_on: sample 23456 ns on CPU 1, 5000 ns after the first slot, CLOCK_MONOTONIC ";
            assert!(marker.starts_with(expected) && marker.lines().count() == 1, "{marker}");
        }
        assert_eq!(read(&root, "/sys/kernel/tracing/instances/idle/trace_marker"), "");
        let Freeze::Frozen { switches, value_ns, cpu, failed, .. } = freezer.told() else { panic!() };
        let expected = ["/sys/kernel/tracing/tracing_on", "/sys/kernel/tracing/instances/mine/tracing_on"];
        assert_eq!((&switches[..], value_ns, cpu, failed), (&expected.map(String::from)[..], 23_456, Some(1), None));
    }

    #[test]
    fn what_cannot_be_frozen_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let Err(Freeze::Impossible { why }) = Freezer::arm(&root) else { panic!() };
        assert!(why.contains("not mounted"), "{why}");
        plant(&root, TOP, "0");
        assert_eq!(Freezer::arm(&root).unwrap_err(), Freeze::Off);
        fs::remove_file(root.path("/sys/kernel/tracing/trace_marker")).unwrap();
        fs::write(root.path("/sys/kernel/tracing/tracing_on"), "1").unwrap();
        let Err(Freeze::Impossible { why }) = Freezer::arm(&root) else { panic!() };
        assert!(why.contains("trace_marker"), "{why}");
    }

    /// If a write fails on a full device, the record reports the failure.
    #[test]
    fn a_write_that_fails_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        plant(&root, TOP, "1");
        let marker = root.path("/sys/kernel/tracing/trace_marker");
        fs::remove_file(&marker).unwrap();
        std::os::unix::fs::symlink("/dev/full", marker).unwrap();
        let freezer = Freezer::arm(&root).unwrap();
        freezer.after_loop(None, &[sign(2_000)]);
        let Freeze::Frozen { failed, cpu, .. } = freezer.told() else { panic!() };
        assert!(cpu.is_some(), "one that was free to move was somewhere");
        assert_eq!(failed.as_deref(), Some("no storage space"));
        assert_eq!(read(&root, "/sys/kernel/tracing/tracing_on"), "0", "the switch is turned all the same");
    }
}
