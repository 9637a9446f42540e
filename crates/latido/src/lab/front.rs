//! The laboratory as an agent: takes the requests of a session, boots a guest for each cell, and passes its answers on.
//!
//! A guest takes nothing in after its start, so a request becomes an image, and its answers come when it has ended. One cell is
//! one boot: what a cell leaves behind reaches no other. While one is awaited the next ones run on the other CPUs.

use super::{
    fetch::{self, Fetched},
    image::{Image, Member, guests_own},
    kernel::Kernel,
    modules::{self, Module},
    qemu,
};
use crate::{stop::Stopped, target::session::Session};
use anyhow::{Context, Result, bail};
use latido_agent::{load, load::LOADS, loading::Surroundings, program, scratch::Scratch};
use latido_model::{
    cell::Cell,
    cpus::CpuSet,
    machine::Emulated,
    protocol::{Chunks, EndStatus, Hello, Message, Phase, Progress, Reader, Reply, Request, Writer},
    registry,
};
use std::{
    collections::{BTreeSet, VecDeque},
    io::{BufRead, BufReader},
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

/// How often a session hears that a guest is still at work.
const SIGN: Duration = Duration::from_secs(1);

/// How long a guest may take besides its cell, in host seconds, and how many for each second of the cell: emulation takes
/// five to fifty, and a crowd on the host more.
const PATIENCE: (u64, u64) = (900, 300);

/// A kernel's laboratory, as a session with an agent.
///
/// # Errors
/// There is no thread or stream to be had.
pub fn open(kernel: Kernel, fetched: Fetched, stopped: Stopped<'_>) -> Result<Session> {
    let (ours, theirs) = UnixStream::pair().context("a stream to the laboratory")?;
    let input = theirs.try_clone().context("a stream to the laboratory")?;
    let about = Emulated {
        emulator: qemu::version(kernel.arch)?,
        arguments: qemu::arguments(&kernel),
        instruction_ns: qemu::INSTRUCTION_NS,
        kernel: fetched.package.clone(),
        version: fetched.version.clone(),
        kernel_sha256: fetched.sha256.clone(),
        latido_sha256: fetch::hash(&guests_own(kernel.arch)?)?,
        ..Emulated::default()
    };
    let modules = modules::of(fetched.tree.as_deref(), &kernel.board.modules)?;
    let (stop, jobs, changed) = (AtomicBool::new(false), Mutex::default(), Condvar::new());
    let lab = Arc::new(Lab { kernel, fetched, modules, about, stop, jobs, changed });
    let (asked, requests) = channel();
    let hearing = Arc::clone(&lab);
    let from = ours.try_clone().context("a stream to the laboratory")?;
    thread::Builder::new().spawn(move || hearing.hear(BufReader::new(from), &asked)).context("a thread that hears")?;
    for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
        let working = Arc::clone(&lab);
        // It lives as long as the guests that it starts.
        thread::Builder::new().spawn(move || working.work()).context("a thread that boots guests")?;
    }
    let serving = Arc::clone(&lab);
    thread::Builder::new().spawn(move || serving.serve(ours, &requests)).context("a thread that serves")?;
    Session::on(Box::new(input), Box::new(theirs), None, Arc::default(), "the laboratory", stopped)
}

struct Lab {
    kernel: Kernel,
    fetched: Fetched,
    modules: Vec<Module>,
    about: Emulated,
    /// Nobody wants what is going on any more.
    stop: AtomicBool,
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

/// Guests to be booted, in the order in which they will be asked for.
#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    running: Vec<Vec<Request>>,
    done: Vec<(Vec<Request>, Result<Vec<u8>, String>)>,
    over: bool,
}

struct Job {
    requests: Vec<Request>,
    member: Member,
    programs: Vec<PathBuf>,
    within: Duration,
}

impl Lab {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears requests: an end that is wanted is heeded at once.
    fn hear(&self, from: impl BufRead, asked: &Sender<Request>) {
        let mut lines = Reader::<_, Request>::new(from);
        loop {
            match lines.line() {
                Ok(Some(Request::Ping)) => {}
                Ok(Some(Request::Stop { .. })) => self.stop.store(true, Ordering::Relaxed),
                Ok(Some(request)) => {
                    if asked.send(request).is_err() {
                        break;
                    }
                }
                Ok(None) | Err(_) => break,
            }
        }
        self.stop.store(true, Ordering::Relaxed);
        self.jobs().over = true;
        self.changed.notify_all();
    }

    /// Boots guests until nobody wants any more.
    fn work(&self) {
        loop {
            let mut jobs = self.jobs();
            let job = loop {
                if jobs.over {
                    return;
                }
                if let Some(job) = jobs.waiting.pop_front() {
                    break job;
                }
                jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            };
            jobs.running.push(job.requests.clone());
            drop(jobs);
            let answered = self.boot(&job).map_err(|error| format!("{error:#}"));
            let mut jobs = self.jobs();
            jobs.running.retain(|requests| *requests != job.requests);
            jobs.done.push((job.requests, answered));
            drop(jobs);
            self.changed.notify_all();
        }
    }

    fn boot(&self, job: &Job) -> Result<Vec<u8>> {
        let image = Image::shared(self.kernel.arch, &job.programs)?.with_modules(&self.modules).asking(
            &job.requests,
            job.member,
            &self.about,
        )?;
        let scratch = Scratch::new(0).context("there is no place for a guest")?;
        let stopped = || self.stop.load(Ordering::Relaxed);
        qemu::boot(scratch.path(), &self.kernel, &self.fetched, &image, job.within, &stopped)
    }

    fn serve(&self, to: UnixStream, requests: &Receiver<Request>) {
        let mut voice = Writer::new(to);
        let kernel = self.fetched.sha256.get(..12).unwrap_or_default();
        let hello = Hello::new("lab".into(), "0".into(), format!("lab-{kernel}"));
        let Ok(line) = hello.line() else { return };
        if std::io::Write::write_all(voice.inner(), format!("{line}\n").as_bytes()).is_err() {
            return;
        }
        while let Ok(request) = requests.recv() {
            self.stop.store(false, Ordering::Relaxed);
            let status = match self.answer(request, &mut voice) {
                Ok(status) => status,
                Err(error) => {
                    let _ = voice.send(&Reply::Error { message: format!("{error:#}") });
                    EndStatus::Failed
                }
            };
            if voice.send(&Reply::End { status }).is_err() {
                break;
            }
        }
    }

    fn answer(&self, request: Request, voice: &mut Writer<UnixStream>) -> Result<EndStatus> {
        match request {
            Request::Prepare { cells, .. } => {
                let ready = Request::Prepare { cells: cells.clone(), wait: None };
                self.ask(job(vec![ready.clone()], &[])?, true);
                for cell in &cells {
                    // What cannot be had is told where it is asked for.
                    if let Ok(job) = measuring(cell) {
                        self.ask(job, false);
                    }
                }
                self.pass_on(&[ready], 0, voice)
            }
            Request::Measure { cell } => {
                let job = measuring(&cell)?;
                let requests = job.requests.clone();
                self.ask(job, true);
                self.pass_on(&requests, 1, voice)
            }
            Request::Inspect(_) => {
                self.ask(job(vec![request.clone()], &[])?, true);
                self.pass_on(&[request], 0, voice)
            }
            // A guest is gone with its settings.
            Request::Recover => Ok(EndStatus::Done),
            Request::Tune(_) => {
                bail!("a guest of the laboratory lives for one cell: settings belong to the plan (--tune)")
            }
            Request::Ping | Request::Stop { .. } => Ok(EndStatus::Done),
        }
    }

    /// Queues a job unless it is known; what is wanted now comes first.
    fn ask(&self, job: Job, now: bool) {
        let mut jobs = self.jobs();
        let known =
            jobs.running.contains(&job.requests) || jobs.done.iter().any(|(requests, _)| *requests == job.requests);
        let waits = jobs.waiting.iter().position(|one| one.requests == job.requests);
        match waits {
            _ if known => return,
            Some(place) if now => {
                if let Some(job) = jobs.waiting.remove(place) {
                    jobs.waiting.push_front(job);
                }
            }
            Some(_) => {}
            None if now => jobs.waiting.push_front(job),
            None => jobs.waiting.push_back(job),
        }
        drop(jobs);
        self.changed.notify_all();
    }

    /// Waits for a guest's answers and passes on those to its request of this number.
    fn pass_on(&self, requests: &[Request], number: usize, voice: &mut Writer<UnixStream>) -> Result<EndStatus> {
        let bytes = loop {
            let mut jobs = self.jobs();
            if let Some(place) = jobs.done.iter().position(|(done, _)| done == requests) {
                break jobs.done.swap_remove(place).1;
            }
            if self.stop.load(Ordering::Relaxed) && !jobs.running.iter().any(|one| one == requests) {
                bail!("stopped before its guest was booted");
            }
            drop(self.changed.wait_timeout(jobs, SIGN).unwrap_or_else(PoisonError::into_inner));
            voice.send(&Reply::Progress(Progress::of(Phase::Settling)))?;
        };
        let bytes = bytes.map_err(anyhow::Error::msg)?;
        let mut stream = BufReader::new(&bytes[..]);
        stream.read_line(&mut String::new()).context("the guest's hello")?;
        let mut stream = Chunks::new(stream);
        let mut answered = 0;
        let mut refused = None;
        while let Some(message) = stream.receive().context("what the guest answered")? {
            match message {
                Message::Reply(Reply::End { status }) if answered == number => {
                    return match refused {
                        Some(why) => Err(why),
                        None => Ok(status),
                    };
                }
                Message::Reply(Reply::End { .. }) => answered += 1,
                Message::Reply(Reply::Error { message }) if answered < number => bail!(message),
                Message::Reply(Reply::Progress(_)) => {}
                _ if answered < number || refused.is_some() => {}
                Message::Bytes(piece) => {
                    voice.send(&Reply::Chunk { len: u32::try_from(piece.len())? })?;
                    std::io::Write::write_all(voice.inner(), &piece)?;
                }
                Message::Reply(reply) => {
                    if let Reply::Record(record) = &reply {
                        refused =
                            self.kernel.granted(record.machine.preemption.as_ref().map(|found| found.model)).err();
                    }
                    if refused.is_none() {
                        voice.send(&reply)?;
                    }
                }
            }
        }
        bail!("the guest answered {answered} of {} requests", requests.len())
    }
}

/// The guest of a cell.
fn measuring(cell: &Cell) -> Result<Job> {
    let alone = Request::Prepare { cells: vec![cell.clone()], wait: None };
    job(vec![alone, Request::Measure { cell: Box::new(cell.clone()) }], &[cell])
}

fn job(requests: Vec<Request>, cells: &[&Cell]) -> Result<Job> {
    let mut programs = BTreeSet::new();
    let cpus: CpuSet = [0].into_iter().collect();
    for cell in cells {
        let around = Surroundings { allowed: cpus.clone(), counted: cpus.clone(), seed: cell.seed };
        for item in load::parts(&cell.load.items, &around)?.items {
            let launch = registry::build("load", LOADS, &item)?.launch(&around)?;
            let Some(word) = launch.as_ref().and_then(|launch| launch.argv.first()) else { continue };
            if let Some(found) = program::find(word)?.filter(|_| !latido_agent::loading::running::is_own(word)) {
                programs.insert(PathBuf::from(found.record().path));
            }
        }
    }
    let seconds = cells.iter().map(|cell| cell.conditions.duration.0 / 1_000_000_000 + 1).sum::<u64>();
    let member = cells.first().map_or(Member { offset_ns: 0, padding: 0 }, |cell| Member::of(cell.seed));
    let within = Duration::from_secs(PATIENCE.0 + PATIENCE.1 * seconds);
    Ok(Job { requests, member, programs: programs.into_iter().collect(), within })
}
