//! The laboratory as an agent: receives the requests of a session, boots a guest for each cell, and passes on its answers.
//!
//! A guest accepts no input after its start. So a request becomes part of an image, and the answers arrive when the guest has ended. One
//! cell is one boot: what a cell leaves behind reaches no other cell. While the session waits for one guest, the next ones run on the other
//! CPUs.

use super::{
    answer::Answer,
    brought::Brought,
    fetch::Fetched,
    image::Image,
    jobs::{Job, Jobs, is_measuring, is_short, job, measuring, within},
    kernel::Kernel,
    modules::{self, Module},
    qemu,
    sealed::Sealed,
    unpack,
};
use anyhow::{Context, Result, bail, ensure};
use latido_agent::scratch::Scratch;
use latido_model::{
    cell::Cell,
    machine::Emulated,
    protocol::{Chunks, EndStatus, Hello, Message, Phase, Progress, Reader, Reply, Request, Writer},
};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    os::unix::net::UnixStream,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How often the laboratory reports progress while a guest runs.
const SIGN: Duration = Duration::from_secs(1);

/// How many guests the laboratory boots ahead of their requests, per CPU of the host, so that no CPU waits for the session.
const AHEAD: usize = 2;

/// Starts a kernel's laboratory and returns the stream to it. It ends when the stream does.
///
/// # Errors
/// No thread or stream is available.
pub fn open(kernel: Kernel, fetched: Fetched) -> Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair().context("a stream to the laboratory")?;
    let vmlinuz = Sealed::copy(&fetched.vmlinuz)?;
    ensure!(
        fetched.tree.is_some() || vmlinuz.sha256() == fetched.sha256,
        "the kernel {} was changed while it was read",
        fetched.vmlinuz.display()
    );
    let about = Emulated {
        emulator: qemu::version(kernel.arch)?,
        instruction_ns: (kernel.board.cpus() == 1).then_some(qemu::INSTRUCTION_NS),
        kernel: fetched.package.clone(),
        version: fetched.version.clone(),
        package_sha256: fetched.sha256.clone(),
        kernel_sha256: vmlinuz.sha256().into(),
        ..Emulated::default()
    };
    let vmlinuz = unpack::kernel(vmlinuz).with_context(|| format!("the kernel {}", fetched.vmlinuz.display()))?;
    let modules = modules::of(fetched.tree.as_deref(), &kernel.board.modules)?;
    let (stop, noted) = (AtomicBool::new(false), AtomicBool::new(false));
    let (images, jobs, changed) = (Mutex::default(), Mutex::default(), Condvar::new());
    let lab = Arc::new(Lab { kernel, fetched, vmlinuz, modules, about, images, stop, noted, jobs, changed });
    let (asked, requests) = channel();
    let hearing = Arc::clone(&lab);
    let from = ours.try_clone().context("a stream to the laboratory")?;
    thread::Builder::new().spawn(move || hearing.hear(BufReader::new(from), &asked)).context("a thread that hears")?;
    for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
        let working = Arc::clone(&lab);
        // The thread must live as long as the guests that it starts.
        thread::Builder::new().spawn(move || working.work()).context("a thread that boots guests")?;
    }
    let serving = Arc::clone(&lab);
    thread::Builder::new().spawn(move || serving.serve(ours, &requests)).context("a thread that serves")?;
    Ok(theirs)
}

struct Lab {
    kernel: Kernel,
    fetched: Fetched,
    /// The kernel as QEMU boots it.
    vmlinuz: Sealed,
    modules: Vec<Module>,
    about: Emulated,
    /// The shared image and its description, by the programs in it.
    images: Mutex<BTreeMap<Vec<Brought>, (Image, Emulated)>>,
    /// Whether the session requested an end of the running work.
    stop: AtomicBool,
    /// Whether the session got the note about the kernel.
    noted: AtomicBool,
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

impl Lab {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads requests and acts on a stop at once.
    fn hear(&self, from: impl BufRead, asked: &Sender<Request>) {
        let mut lines = Reader::<_, Request>::new(from);
        loop {
            match lines.line() {
                Ok(Some(Request::Ping)) => {}
                Ok(Some(Request::Stop { .. })) => self.stop.store(true, Ordering::Relaxed),
                Ok(Some(request)) => {
                    // Cleared here, where requests arrive in order: a stop may follow before any thread has started this request.
                    self.stop.store(false, Ordering::Relaxed);
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

    /// Boots guests until the session ends.
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
            if is_measuring(&job.requests) {
                jobs.begun.get_or_insert_with(Instant::now);
            }
            drop(jobs);
            let answered = self.boot(&job).map_err(|error| format!("{error:#}"));
            let mut jobs = self.jobs();
            jobs.running.retain(|requests| *requests != job.requests);
            jobs.ended += u32::from(is_measuring(&job.requests));
            // A stopped guest gave no answer. The next request boots it again.
            if answered.is_ok() || !self.stop.load(Ordering::Relaxed) {
                jobs.done.push((job.requests, answered));
            }
            drop(jobs);
            self.changed.notify_all();
        }
    }

    /// Returns the part of the image that all guests with these programs share. It is read once, so that an upgrade of the host meanwhile
    /// does not change later guests.
    fn shared(&self, programs: &[Brought]) -> Result<(Image, Emulated)> {
        let mut all = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = all.get(programs) {
            return Ok(found.clone());
        }
        let image = Image::shared(self.kernel.arch, programs)?
            .with_modules(&self.modules)
            .with_settings(&self.kernel.board.settings);
        let arguments = qemu::arguments(&self.kernel, qemu::memory(image.size()));
        let (image_sha256, latido_sha256) = (image.sha256()?, image.own_sha256());
        let about = Emulated { image_sha256, latido_sha256, arguments, ..self.about.clone() };
        all.insert(programs.to_vec(), (image.clone(), about.clone()));
        Ok((image, about))
    }

    /// Returns whether the cache has the answer to this job, so that no guest needs to boot.
    fn is_answered(&self, job: &Job) -> Result<bool> {
        let (shared, about) = self.shared(&job.programs)?;
        let image = shared.asking(&job.requests, job.member, &about)?;
        Ok(Answer::of(&image, &about)?.read().is_some())
    }

    fn boot(&self, job: &Job) -> Result<Vec<u8>> {
        let (shared, about) = self.shared(&job.programs)?;
        let image = shared.asking(&job.requests, job.member, &about)?;
        let kept = if is_measuring(&job.requests) { None } else { Some(Answer::of(&image, &about)?) };
        if let Some(answers) = kept.as_ref().and_then(Answer::read) {
            return Ok(answers);
        }
        let scratch = Scratch::new(0).context("cannot make a temporary directory for a guest")?;
        let stopped = || self.stop.load(Ordering::Relaxed);
        let answers =
            qemu::boot(scratch.path(), &self.kernel, &about.arguments, &self.vmlinuz, &image, job.within, &stopped)?;
        if let Some(kept) = kept {
            kept.write(&answers)?;
        }
        Ok(answers)
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
                let cpus = self.kernel.board.cpus();
                cells.iter().try_for_each(|cell| within(cell, cpus))?;
                // A kernel offers the same to every replicate: one answer serves all seeds.
                let alike: Vec<Cell> = cells.iter().map(|cell| Cell { seed: 0, ..cell.clone() }).collect();
                // The image contains the programs of their loads. A cell whose programs are missing is left out here: its own request
                // reports the error.
                let had: Vec<&Cell> = alike.iter().filter(|cell| measuring(cell, cpus).is_ok()).collect();
                let ready = Request::Prepare { cells: alike.clone(), wait: None };
                let mut first = job(vec![ready], &had, cpus)?;
                // The measuring guest gets the same request before it measures. If it ends soon, latido boots it now instead of a guest for
                // this request alone.
                if let [cell] = &cells[..]
                    && is_short(cell)
                    && !self.is_answered(&first)?
                {
                    first = measuring(cell, cpus).unwrap_or(first);
                }
                let requests = first.requests.clone();
                self.ask(first, true);
                self.jobs().cells = cells;
                self.pass_on(&requests, 0, voice)
            }
            Request::Measure { cell } => {
                let cpus = self.kernel.board.cpus();
                let job = measuring(&cell, cpus)?;
                let requests = job.requests.clone();
                self.ask(job, true);
                for next in self.after(&cell) {
                    // If a cell is not possible, its own request reports the error.
                    if let Ok(job) = measuring(&next, cpus) {
                        self.ask(job, false);
                    }
                }
                self.pass_on(&requests, 1, voice)
            }
            Request::Inspect(_) => {
                self.ask(job(vec![request.clone()], &[], self.kernel.board.cpus())?, true);
                self.pass_on(&[request], 0, voice)
            }
            // A guest leaves no settings behind.
            Request::Recover => Ok(EndStatus::Done),
            Request::Tune(_) => {
                bail!("a guest of the laboratory runs for one cell only: name settings in the plan (--tune)")
            }
            Request::Ping | Request::Stop { .. } => Ok(EndStatus::Done),
        }
    }

    /// Returns the cells of the next requests.
    fn after(&self, cell: &Cell) -> Vec<Cell> {
        let ahead = thread::available_parallelism().map_or(1, usize::from) * AHEAD;
        self.jobs().cells.iter().skip_while(|known| *known != cell).skip(1).take(ahead).cloned().collect()
    }

    /// Returns the progress while a guest runs: its time so far, and the mean time per guest.
    fn progress(&self, since: Instant) -> Progress {
        let jobs = self.jobs();
        let each = jobs.begun.map(|begun| begun.elapsed()).filter(|_| jobs.ended > 0).map(|all| all / jobs.ended);
        let ns = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let (elapsed_ns, total_ns) = (ns(since.elapsed()), each.map_or(0, ns));
        Progress { elapsed_ns, total_ns, ..Progress::of(Phase::Emulating) }
    }

    /// Queues a job unless it is queued, running or done. A job that the session waits for goes first.
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

    /// Passes on a note about the kernel once: each of its guests gives the same note.
    fn note(&self, note: Option<String>, voice: &mut Writer<UnixStream>) -> Result<()> {
        match note {
            Some(message) if !self.noted.swap(true, Ordering::Relaxed) => Ok(voice.send(&Reply::Note { message })?),
            _ => Ok(()),
        }
    }

    /// Waits for a guest's answers and passes on those to its request of this number.
    fn pass_on(&self, requests: &[Request], number: usize, voice: &mut Writer<UnixStream>) -> Result<EndStatus> {
        let since = Instant::now();
        let bytes = loop {
            let mut jobs = self.jobs();
            if let Some(place) = jobs.done.iter().position(|(done, _)| done == requests) {
                // The answers to later requests stay until their turn.
                let is_last = number + 1 == requests.len();
                let kept = if is_last { None } else { jobs.done.get(place).map(|(_, answered)| answered.clone()) };
                break kept.unwrap_or_else(|| jobs.done.swap_remove(place).1);
            }
            if self.stop.load(Ordering::Relaxed) && !jobs.running.iter().any(|one| one == requests) {
                bail!("stopped before its guest was booted");
            }
            drop(self.changed.wait_timeout(jobs, SIGN).unwrap_or_else(PoisonError::into_inner));
            voice.send(&Reply::Progress(self.progress(since)))?;
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
                        match self.kernel.granted(&record.machine) {
                            Ok(note) => self.note(note, voice)?,
                            Err(why) => refused = Some(why),
                        }
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
