//! Reads the rings into files. Threads that poll at fixed intervals move whole pages without copying them.

use anyhow::{Context, Result};
use latido_model::cpus::CpuSet;
use latido_sys::sched::{self, Policy};
use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags},
    io::Errno,
    pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice},
};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The interval at which the readers poll the rings, while no ring fills quickly.
const ROUND: Duration = Duration::from_millis(50);

/// The interval at which the readers check the free room on the disk.
const LOOK: Duration = Duration::from_secs(1);

/// The number of CPUs per reading thread.
const EACH: usize = 16;

/// The size that latido requests for a pipe between ring and file, in bytes.
const PIPE: usize = 1 << 20;

/// The readers of all rings.
#[derive(Debug)]
pub struct Drains {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<io::Result<Vec<Reading>>>>,
    /// The rings that are read only when the recording is over.
    later: Vec<Reading>,
    on: Option<CpuSet>,
    page: u32,
    places: Vec<(u32, PathBuf)>,
}

/// What was read.
#[derive(Debug)]
pub struct Drained {
    /// The file of each CPU.
    pub files: Vec<(u32, PathBuf)>,
    /// How long a page is in bytes.
    pub page: u32,
    /// Why reading ended early, if it did.
    pub cut: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    cut: Mutex<Option<String>>,
    tids: Mutex<Vec<i32>>,
}

/// A CPU's ring and its file.
#[derive(Debug)]
struct Reading {
    cpu: u32,
    raw: File,
    pipe: Option<(OwnedFd, OwnedFd)>,
    file: File,
    path: PathBuf,
    page: usize,
}

/// How often [`Drains::start`] checks, a millisecond apart, whether the readers run on their CPUs.
const MOST_LOOKS: u32 = 2_000;

impl Drains {
    /// Opens the rings of an instance, and starts threads on `readers` that read them. Without `readers`, [`Self::finish`] reads them.
    ///
    /// # Errors
    /// A ring cannot be opened, or a thread cannot be started.
    pub fn start(
        instance: &Path,
        cpus: &CpuSet,
        into: &Path,
        page: u32,
        ring: u64,
        readers: Option<&CpuSet>,
    ) -> Result<Self> {
        let open = |cpu| Reading::open(instance, cpu, into, page as usize);
        let mut readings = cpus.iter().map(open).collect::<Result<Vec<_>>>()?;
        let places = readings.iter().map(|reading| (reading.cpu, reading.path.clone())).collect();
        let mut drains =
            Self { shared: Arc::default(), threads: Vec::new(), later: Vec::new(), on: readers.cloned(), page, places };
        let Some(readers) = readers else {
            drains.later = readings;
            return Ok(drains);
        };
        let reserve = free(into) / 2;
        while !readings.is_empty() {
            let part = readings.split_off(readings.len().saturating_sub(EACH));
            let (shared, readers) = (Arc::clone(&drains.shared), readers.clone());
            let keeper = Keeper { into: into.into(), switch: instance.join("tracing_on"), reserve };
            let drain = thread::Builder::new().name("latido-trace".into()).spawn(move || {
                // A reader runs below every real-time task and behind the machine's own work, but not so far behind that rings fill.
                let _ = sched::set_policy(0, Policy::Other { nice: 10 }, false);
                // The kernel refuses this where a cpuset was narrowed meanwhile. The thread then stays where it is.
                let _ = sched::set_affinity(0, readers.iter());
                shared.tids.lock().unwrap_or_else(PoisonError::into_inner).push(sched::gettid());
                shared.read(part, &keeper, ring)
            });
            drains.threads.push(drain.context("cannot start a thread that reads the trace")?);
        }
        // The recording starts only when the readers have left the quiet CPUs. On a starved machine latido does not wait for ever.
        for _ in 0..MOST_LOOKS {
            if drains.shared.tids.lock().unwrap_or_else(PoisonError::into_inner).len() >= drains.threads.len() {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(drains)
    }

    /// How long a page is in bytes.
    pub fn page(&self) -> u32 {
        self.page
    }

    /// Returns the file of each CPU's pages.
    pub fn places(&self) -> &[(u32, PathBuf)] {
        &self.places
    }

    /// Returns the CPUs on which the readers run.
    pub fn on(&self) -> Option<&CpuSet> {
        self.on.as_ref()
    }

    /// Returns why reading ended early, if it did.
    pub fn cut(&self) -> Option<String> {
        self.shared.cut.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lists the threads of this process, including the readers.
    pub fn threads(&self) -> Vec<i32> {
        let own = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let own = own.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let readers = self.shared.tids.lock().unwrap_or_else(PoisonError::into_inner).clone();
        own.chain(readers).collect()
    }

    /// Gives the readers the caller's scheduling policy, because the measurement is over. Behind many other tasks they would read for
    /// minutes.
    fn hurry(&self) {
        let Ok(own) = sched::policy(0) else { return };
        for tid in self.shared.tids.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = sched::set_policy(*tid, own, false);
        }
    }

    /// Reads what is left. The caller must have stopped the recording.
    ///
    /// # Errors
    /// A ring cannot be read, or a file cannot be written.
    pub fn finish(&mut self) -> Result<Drained> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.hurry();
        let mut readings = std::mem::take(&mut self.later);
        let mut failed = None;
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(part)) => readings.extend(part),
                Ok(Err(error)) => failed = Some(error),
                Err(_) => failed = Some(io::Error::other("a thread that reads it ended unexpectedly")),
            }
        }
        for reading in &mut readings {
            if self.cut().is_none()
                && let Err(error) = reading.rest()
            {
                failed = Some(error);
            }
        }
        if let Some(error) = failed {
            return Err(error).context("the trace cannot be read");
        }
        readings.sort_by_key(|reading| reading.cpu);
        let files = readings.into_iter().map(|reading| (reading.cpu, reading.path)).collect();
        Ok(Drained { files, page: self.page, cut: self.cut() })
    }
}

impl Drop for Drains {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What a reader needs to stop the recording before it fills the disk.
struct Keeper {
    into: PathBuf,
    switch: PathBuf,
    reserve: u64,
}

impl Shared {
    fn read(&self, mut readings: Vec<Reading>, keeper: &Keeper, ring: u64) -> io::Result<Vec<Reading>> {
        let mut looked = Instant::now();
        loop {
            let over = self.stop.load(Ordering::Relaxed);
            let mut most = 0;
            for reading in &mut readings {
                match reading.whole_pages(ring) {
                    Ok(bytes) => most = most.max(bytes),
                    Err(error) => {
                        self.cut(keeper, &format!("cannot write the trace: {error}"));
                        return Ok(readings);
                    }
                }
            }
            if over {
                return Ok(readings);
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if free(&keeper.into) < keeper.reserve {
                    let place = keeper.into.parent().unwrap_or(&keeper.into).display();
                    self.cut(
                        keeper,
                        &format!(
                            "the trace has used half of the free space in {place}; name another directory with TMPDIR"
                        ),
                    );
                    return Ok(readings);
                }
            }
            // If a ring has filled by a quarter meanwhile, the reader continues at once.
            if most < ring / 4 {
                thread::sleep(ROUND);
            }
        }
    }

    /// Stops the recording, and keeps the reason.
    fn cut(&self, keeper: &Keeper, why: &str) {
        let _ = fs::write(&keeper.switch, "0");
        self.cut.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| why.into());
    }
}

impl Reading {
    fn open(instance: &Path, cpu: u32, into: &Path, page: usize) -> Result<Self> {
        let ring = instance.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let raw = rustix::fs::open(&ring, flags, Mode::empty()).with_context(|| format!("{}", ring.display()))?;
        let path = into.join(format!("cpu{cpu}"));
        let file = File::create(&path).with_context(|| format!("{}", path.display()))?;
        let pipe = pipe_with(PipeFlags::CLOEXEC).context("cannot make a pipe between ring and file")?;
        // A smaller pipe needs more rounds.
        let _ = fcntl_setpipe_size(&pipe.1, PIPE);
        Ok(Self { cpu, raw: raw.into(), pipe: Some(pipe), file, path, page })
    }

    /// Moves full pages until at least `most` bytes are moved or no page is left. Returns the number of bytes.
    fn whole_pages(&mut self, most: u64) -> io::Result<u64> {
        let mut moved = 0;
        while moved < most {
            let taken = self.some()?;
            if taken == 0 {
                break;
            }
            moved += taken;
        }
        Ok(moved)
    }

    fn some(&mut self) -> io::Result<u64> {
        let Some((out, inlet)) = &self.pipe else { return self.copied() };
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let taken = match splice(&self.raw, None, inlet, None, PIPE.max(self.page), flags) {
            Ok(taken) => taken,
            Err(Errno::AGAIN) => 0,
            // If the kernel cannot move pages, latido copies them.
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.pipe = None;
                return self.copied();
            }
            Err(Errno::INTR) => return self.some(),
            Err(error) => return Err(error.into()),
        };
        let mut left = taken;
        while left > 0 {
            match splice(out, None, &self.file, None, left, SpliceFlags::MOVE) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => left = left.saturating_sub(written),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(taken as u64)
    }

    /// Copies one page, full or not, and returns its length in bytes: 0 if there is none.
    fn copied(&mut self) -> io::Result<u64> {
        let mut page = vec![0; self.page];
        loop {
            match self.raw.read(&mut page) {
                Ok(0) => return Ok(0),
                Ok(length) => {
                    // The file gets a whole page, however little the ring gave.
                    page.get_mut(length..).unwrap_or_default().fill(0);
                    self.file.write_all(&page)?;
                    return Ok(self.page as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads all that is left. The last page may be partly filled.
    fn rest(&mut self) -> io::Result<()> {
        while self.some()? > 0 {}
        while self.copied()? > 0 {}
        Ok(())
    }
}

/// Returns the free bytes of the file system that contains a file.
fn free(place: &Path) -> u64 {
    rustix::fs::statvfs(place).map_or(u64::MAX, |system| system.f_bavail.saturating_mul(system.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// When the measurement is over, a reader gets the policy of its caller. Where the kernel refuses that, the reader keeps its own.
    #[test]
    fn readers_hurry_at_the_end() {
        let shared: Arc<Shared> = Arc::default();
        let drains = Drains {
            shared: Arc::clone(&shared),
            threads: Vec::new(),
            later: Vec::new(),
            on: None,
            page: 4096,
            places: Vec::new(),
        };
        let (begun, begins) = mpsc::channel();
        let (over, ends) = mpsc::channel::<()>();
        let reader = thread::spawn(move || {
            sched::set_policy(0, Policy::Other { nice: 10 }, false).unwrap();
            begun.send(sched::gettid()).unwrap();
            let _ = ends.recv();
        });
        let tid = begins.recv().unwrap();
        shared.tids.lock().unwrap().push(tid);
        drains.hurry();
        let own = sched::policy(0).unwrap();
        assert!(sched::policy(tid).unwrap() == own || sched::set_policy(tid, own, false).is_err());
        drop(over);
        reader.join().unwrap();
    }
}
