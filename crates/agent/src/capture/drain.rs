//! The rings read into files: whole pages, moved and not copied, by threads that look by the clock.

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

/// How often the rings are looked at, while none fills quickly.
const ROUND: Duration = Duration::from_millis(50);

/// How often is looked for room on the disk.
const LOOK: Duration = Duration::from_secs(1);

/// So many CPUs a thread reads.
const EACH: usize = 16;

/// What a pipe between ring and file is asked to hold, in bytes.
const PIPE: usize = 1 << 20;

/// The readers of all rings.
#[derive(Debug)]
pub struct Drains {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<io::Result<Vec<Reading>>>>,
    /// Those that are read when all is over.
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
    /// Why it was read no further.
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

/// So often is looked, a millisecond apart, whether the readers are where they belong.
const MOST_LOOKS: u32 = 2_000;

impl Drains {
    /// Opens the rings of an instance, and reads them from `readers`; without any, when it is told to finish.
    ///
    /// # Errors
    /// They cannot be opened, or there is no thread to be had.
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
                // Below every real-time task, and behind what the machine is there for; not so far behind that rings fill.
                let _ = sched::set_policy(0, Policy::Other { nice: 10 }, false);
                // Refused where a cpuset was narrowed meanwhile: then it stays where it is.
                let _ = sched::set_affinity(0, readers.iter());
                shared.tids.lock().unwrap_or_else(PoisonError::into_inner).push(sched::gettid());
                shared.read(part, &keeper, ring)
            });
            drains.threads.push(drain.context("cannot start a thread that reads the trace")?);
        }
        // Recorded is only once they have left the CPUs that are to be left alone; on a starved machine not for ever.
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

    /// The file that each CPU's pages go to.
    pub fn places(&self) -> &[(u32, PathBuf)] {
        &self.places
    }

    /// Where the threads are that read.
    pub fn on(&self) -> Option<&CpuSet> {
        self.on.as_ref()
    }

    /// Why it is read no further, where that is so.
    pub fn cut(&self) -> Option<String> {
        self.shared.cut.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The threads of this process, the readers among them.
    pub fn threads(&self) -> Vec<i32> {
        let own = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let own = own.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let readers = self.shared.tids.lock().unwrap_or_else(PoisonError::into_inner).clone();
        own.chain(readers).collect()
    }

    /// Nothing is measured any more: the readers are as urgent as who waits for them. Behind a crowd they would read for minutes.
    fn hurry(&self) {
        let Ok(own) = sched::policy(0) else { return };
        for tid in self.shared.tids.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = sched::set_policy(*tid, own, false);
        }
    }

    /// Reads what is left; to be asked when nothing is written any more.
    ///
    /// # Errors
    /// A ring cannot be read, or a file not be written.
    pub fn finish(&mut self) -> Result<Drained> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.hurry();
        let mut readings = std::mem::take(&mut self.later);
        let mut failed = None;
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(part)) => readings.extend(part),
                Ok(Err(error)) => failed = Some(error),
                Err(_) => failed = Some(io::Error::other("a thread that reads it ended")),
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

/// Sees that a disk is not filled.
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
                        self.cut(keeper, &format!("what is recorded cannot be written: {error}"));
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
                        &format!("half of what was free in {place} is used; name another place with TMPDIR"),
                    );
                    return Ok(readings);
                }
            }
            // A ring that has filled by a quarter meanwhile is not left alone.
            if most < ring / 4 {
                thread::sleep(ROUND);
            }
        }
    }

    /// Nothing more is recorded, for this reason.
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
        let pipe = pipe_with(PipeFlags::CLOEXEC).context("a pipe between ring and file")?;
        // A smaller one takes more turns.
        let _ = fcntl_setpipe_size(&pipe.1, PIPE);
        Ok(Self { cpu, raw: raw.into(), pipe: Some(pipe), file, path, page })
    }

    /// Moves the pages that are full, at most so many bytes; how many it moved.
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
            // Where pages cannot be moved they are copied.
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

    /// One page, full or not.
    fn copied(&mut self) -> io::Result<u64> {
        let mut page = vec![0; self.page];
        loop {
            match self.raw.read(&mut page) {
                Ok(0) => return Ok(0),
                Ok(length) => {
                    // A page is a page, however little there is in it.
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

    /// All that is left, the last page as full as it is.
    fn rest(&mut self) -> io::Result<()> {
        while self.some()? > 0 {}
        while self.copied()? > 0 {}
        Ok(())
    }
}

/// What is free where a file is, in bytes.
fn free(place: &Path) -> u64 {
    rustix::fs::statvfs(place).map_or(u64::MAX, |system| system.f_bavail.saturating_mul(system.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// When nothing is measured any more, a reader is as urgent as who waits for it; where the kernel refuses that, it stays as it is.
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
