//! Records a trace: latido makes an instance of tracefs, reads its rings page by page, and writes one file in trace-cmd's format.
//!
//! Reading must not disturb the recording. A reader that waits for a ring (a blocking read, or poll) is woken by an interrupt on the CPU
//! that writes. The reading threads therefore poll at fixed intervals, and stay off the measured CPUs. Where every CPU is measured, latido
//! makes the rings large, and reads them when the recording is over. latido writes only the instance's files of tracefs, except for the
//! settings of a tracer and the event of a handler.

mod contents;
mod drain;
mod events;
mod handler;
mod keep;
mod ring;
mod tracer;
mod walk;

use crate::{
    journal::{Borrowed, Instance, Journal},
    machine::{self, Root, tracefs::Tracefs},
    measure::{Enough, On, Stamped, Tracer, Wanted},
    scratch::Scratch,
};
use anyhow::{Context, Result, ensure};
use contents::Description;
use drain::{Drained, Drains};
pub use events::Chosen;
use keep::Keeping;
use latido_model::{
    cpus::CpuSet,
    record::{Caused, TraceRecord, TracedCpu},
};
use latido_sys::clock::Clock::Monotonic;
use latido_trace::write::Ring;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};
use walk::Walked;

/// The clock of our traces: the same on all CPUs, and that of the samples (CLOCK_MONOTONIC).
const CLOCK: &str = "mono";

/// What latido must record.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// The events: `sched_switch`, `irq:softirq_entry` or a whole system such as `irq_vectors`. An empty list requests the usual events,
    /// `None` requests only those that `wanted` names.
    pub events: Option<Vec<String>>,
    /// What a probe needs in addition.
    pub wanted: Wanted,
    /// Whether latido also records the events that explain late samples.
    pub explaining: bool,
    /// The CPUs that are recorded; all online CPUs if `None`.
    pub cpus: Option<CpuSet>,
    /// The CPUs that the recorder stays off.
    pub quiet: CpuSet,
    /// The size of each CPU's ring in bytes; as much as the machine can spare if `None`.
    pub ring: Option<u64>,
    /// Whether the measuring process switches the trace off at a sample (`stop_on`).
    pub freezes: bool,
}

/// Checks that these events can be recorded here, before anything is started.
///
/// # Errors
/// What is missing and how to get it.
pub fn possible(events: Option<&[String]>, explaining: bool, wanted: &Wanted) -> Result<()> {
    let tracefs = Tracefs::find(&Root::default())?;
    if let Some(tracer) = &wanted.tracer {
        tracer::possible(tracer, &tracefs)?;
    }
    Chosen::of(events, explaining, wanted, &events::Available::read(tracefs.dir())?).map(drop)
}

/// Whether a tracer changes settings of the machine. A list of named CPUs can be such a setting.
pub fn changes(tracer: &Tracer, named: bool) -> bool {
    let cpus = named && matches!(tracer.on, On::Named(_));
    let steps = Tracefs::find(&Root::default()).and_then(|tracefs| tracer::steps(tracer, &tracefs));
    // latido skips a tracer that is not available.
    cpus || steps.is_ok_and(|steps| !steps.is_empty())
}

/// A trace that is being recorded. Dropping it removes the instance; what was recorded is lost then.
#[derive(Debug)]
pub struct Capture {
    // The fields drop in this order: the kernel removes no instance whose files are open.
    drains: Drains,
    made: Made,
    _hooked: Option<handler::Hooked>,
    stamped: Option<Stamped>,
    tracefs: Tracefs,
    scratch: Scratch,
    dir: PathBuf,
    chosen: Chosen,
    cpus: CpuSet,
    quiet: CpuSet,
    ring: u64,
    irq_work: Option<u64>,
    freezes: bool,
    began: u64,
    keeping: Option<Keeping>,
}

/// Why the recording ended where another program wrote 0 into `tracing_on`.
const SWITCHED_OFF: &str = "another program switched the trace off while latido recorded it";

/// Configures an instance: events, clock, CPUs and ring size. It does not record yet.
fn instruct(dir: &Path, spec: &Spec, chosen: &Chosen, cpus: &CpuSet, ring: u64) -> Result<()> {
    put(&dir.join("tracing_on"), "0")?;
    put(&dir.join("trace_clock"), CLOCK).context("cannot select the clock `mono` (Linux 3.17 and later)")?;
    if *cpus != machine::online_cpus() {
        put(&dir.join("tracing_cpumask"), &ring::mask(cpus))?;
    }
    for cpu in cpus.iter() {
        let path = dir.join(format!("per_cpu/cpu{cpu}/buffer_size_kb"));
        put(&path, &ring.div_ceil(1024).to_string()).with_context(|| {
            format!("cannot make a ring of {} KiB; request a smaller one (--size)", ring.div_ceil(1024))
        })?;
    }
    for event in &chosen.events {
        let path = dir.join(format!("events/{}/enable", event.replace(':', "/")));
        put(&path, "1").with_context(|| format!("the event {event} cannot be enabled"))?;
    }
    if spec.events.is_none() {
        spec.wanted.enough.iter().for_each(|(event, enough)| filter(dir, event, enough));
    }
    Ok(())
}

impl Spec {
    /// Returns the CPUs to trace: all online ones by default.
    fn traced_cpus(&self) -> Result<CpuSet> {
        let online = machine::online_cpus();
        let cpus = self.cpus.clone().unwrap_or_else(|| online.clone());
        let absent = cpus.without(&online);
        ensure!(
            absent.is_empty() && !cpus.is_empty(),
            "CPU {absent} is not online and cannot be traced; the online CPUs are {online}"
        );
        Ok(cpus)
    }
}

/// The time of a sample, from its beginning to its end, ns on CLOCK_MONOTONIC.
pub type Time = (u64, u64);

impl Capture {
    /// Starts to record. latido writes the instance to the journal before it makes it.
    ///
    /// # Errors
    /// What is missing and how to get it. Then nothing is recorded, and nothing is left behind.
    pub fn start(spec: &Spec, journal: &mut Journal) -> Result<Self> {
        let tracefs = Tracefs::find(&Root::default())?;
        let chosen = Chosen::of(
            spec.events.as_deref(),
            spec.explaining,
            &spec.wanted,
            &events::Available::read(tracefs.dir())?,
        )?;
        let cpus = spec.traced_cpus()?;
        let tracer = spec.wanted.tracer.as_ref();
        let (readers, ring) = ring::rings(spec, &cpus);
        if let Some(tracer) = tracer {
            tracer::possible(tracer, &tracefs)?;
            tracer::prepare(tracer, &tracefs, journal)?;
        }
        let scratch = Scratch::new(0).context("cannot make a directory for the trace")?;
        let instance = Instance::planned();
        // The handler comes first: recovery undoes the last entry first, and no event can go while a trace records it.
        let handler = spec.wanted.handler.as_ref();
        let handler = handler.map(|handler| handler::prepare(handler, &tracefs, &instance, journal)).transpose()?;
        journal.write(Borrowed::Trace { instance: instance.clone() })?;
        let dir = instance.make(&tracefs)?;
        let made = Made(instance);
        crate::fault::point("agent");
        instruct(&dir, spec, &chosen, &cpus, ring)?;
        if let Some(handler) = &handler {
            handler.enable(&dir)?;
        }
        if let Some(tracer) = tracer {
            tracer::begin(tracer, &dir)?;
        }
        crate::fault::point("agent");
        let page = ring::sub_buffer(&dir);
        let irq_work = ring::irq_work(&spec.quiet);
        let drains = Drains::start(&dir, &cpus, scratch.path(), page, ring, readers.as_ref())?;
        let began = Monotonic.now();
        put(&dir.join("tracing_on"), "1")?;
        let stamped = handler.as_ref().map(|handler| handler.stamped.clone());
        let _hooked = handler.and_then(handler::Prepared::into_held);
        Ok(Self {
            drains,
            made,
            _hooked,
            stamped,
            tracefs,
            scratch,
            dir,
            chosen,
            cpus,
            quiet: spec.quiet.clone(),
            ring,
            irq_work,
            freezes: spec.freezes,
            began,
            keeping: None,
        })
    }

    /// Discards what is around none of these samples. The caller repeats this during the recording, with all samples that may still be
    /// among the largest. All samples that ended before `told` are known. What cannot be discarded stays.
    pub fn keep(&mut self, samples: &[Time], told: u64) {
        let keeping = self.keeping.get_or_insert_with(|| Keeping::of(self.drains.page(), self.drains.places()));
        keeping.sift(samples, told);
    }

    /// The instance.
    pub fn instance(&self) -> &Instance {
        &self.made.0
    }

    /// Returns the recorded event of a handler, if there is one.
    pub fn stamped(&self) -> Option<&Stamped> {
        self.stamped.as_ref()
    }

    /// Returns the recorded events, and those that this kernel does not have.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// Returns the size of each CPU's ring in bytes.
    pub fn ring(&self) -> u64 {
        self.ring
    }

    /// Returns why the recording ended early, if it did.
    pub fn cut(&self) -> Option<String> {
        self.drains.cut()
    }

    /// Returns the CPUs that read the rings during the recording; `None` where latido reads the rings afterwards.
    pub fn read_on(&self) -> Option<&CpuSet> {
        self.drains.on()
    }

    /// Ends the recording. Call it when the measured threads have ended, because the kernel needs work on every CPU to switch events off.
    ///
    /// # Errors
    /// What was recorded cannot be read. The instance is removed all the same.
    pub fn stop(self) -> Result<Stopped> {
        self.stop_with(None)
    }

    /// Ends the recording as [`Self::stop`] does, but keeps only the surroundings of these samples.
    ///
    /// # Errors
    /// As [`Self::stop`].
    pub fn stop_around(self, samples: &[Time]) -> Result<Stopped> {
        self.stop_with(Some(samples))
    }

    fn stop_with(mut self, samples: Option<&[Time]>) -> Result<Stopped> {
        let recorded_ns = Monotonic.now().saturating_sub(self.began);
        // A full disk and stop_on switch it off too.
        let off = Root::default().flag(&self.dir.join("tracing_on").to_string_lossy()) == Some(false);
        let foreign = (off && !self.freezes).then(|| SWITCHED_OFF.to_owned());
        put(&self.dir.join("tracing_on"), "0")?;
        let irq_work = ring::irq_work(&self.quiet).zip(self.irq_work).map(|(now, then)| now.saturating_sub(then));
        let own = self.drains.threads();
        let mut drained = self.drains.finish()?;
        let mut kept = None;
        if let Some(samples) = samples {
            self.keep(samples, u64::MAX);
            if let Some(keeping) = self.keeping.take() {
                kept = Some(keeping.close(&mut drained.files, samples.len() as u64)?);
            }
        }
        crate::fault::point("agent");
        let description =
            Description::read(&self.tracefs, &self.dir, &self.chosen, self.stamped.as_ref(), &self.cpus, self.ring)?;
        let walked = Walked::all(&description, &drained, &self.quiet, &own)?;
        let cpus = self.cpus.iter().map(|cpu| TracedCpu {
            cpu,
            events: walked.events.get(&cpu).copied().unwrap_or(0),
            lost: description.lost(cpu),
        });
        let caused =
            (!self.quiet.is_empty()).then(|| Caused { cpus: self.quiet.clone(), own_events: walked.own, irq_work });
        let function = |stamped: &Stamped| Some(format!("{}:{}", stamped.by, stamped.symbol.as_ref()?));
        let handler = self.stamped.as_ref().and_then(function);
        let record = TraceRecord {
            events: self.chosen.events.iter().cloned().chain(handler).collect(),
            missing: self.chosen.missing.clone(),
            clock: CLOCK.into(),
            ring_bytes: self.ring,
            sub_buffer_bytes: drained.page,
            recorded_ns,
            cpus: cpus.collect(),
            read_on: self.drains.on().cloned(),
            cut: drained.cut.clone().or(foreign),
            caused,
            kept,
            bytes: 0,
        };
        self.made.0.remove()?;
        Ok(Stopped { record, description, drained, walked, _scratch: self.scratch })
    }
}

/// An instance that latido made. Dropping it removes the instance.
#[derive(Debug)]
struct Made(Instance);

impl Drop for Made {
    fn drop(&mut self) {
        // The instance is in the journal: whichever latido recovers the journal tries again, and reports it.
        let _ = self.0.remove();
    }
}

/// A finished recording, not yet written as one file.
#[derive(Debug)]
pub struct Stopped {
    /// The description of the recording. The file's length is known once it is written.
    pub record: TraceRecord,
    description: Description,
    drained: Drained,
    walked: Walked,
    _scratch: Scratch,
}

impl Stopped {
    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(mut self, mut out: File) -> Result<TraceRecord> {
        let mut rings = Vec::new();
        for (cpu, path) in &self.drained.files {
            let pages = File::open(path).with_context(|| format!("{}", path.display()))?;
            // An incomplete page does not count.
            let length = pages.metadata()?.len() / u64::from(self.drained.page) * u64::from(self.drained.page);
            rings.push(Ring { cpu: *cpu, length, pages });
        }
        let contents = self.description.contents(self.drained.page, &self.walked.addresses);
        let written = contents.write(&mut out, rings);
        self.record.bytes = written.context("the trace cannot be written")?;
        Ok(self.record)
    }
}

/// Filters out what latido does not need of an event. Where the kernel refuses the filter, it records all of the event.
fn filter(dir: &Path, event: &str, enough: &Enough) {
    let text = match enough {
        Enough::Filter(text) => Some(text.clone()),
        Enough::At { field, symbol } => {
            handler::address(&Root::default(), symbol).map(|address| format!("{field}=={address:#x}"))
        }
    };
    if let Some(text) = text {
        let _ = put(&dir.join(format!("events/{}/filter", event.replace(':', "/"))), &text);
    }
}

/// Writes a file of tracefs.
fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::PermissionDenied => "; a sandbox or a security module forbids it: run latido outside of it",
            io::ErrorKind::OutOfMemory => "; the machine has too little free memory",
            _ => "",
        };
        anyhow::anyhow!("cannot write {text} to {}: {error}{remedy}", path.display())
    })
}
