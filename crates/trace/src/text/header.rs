//! The lines that start with `#`: they report the tracer, the number of entries, the worst latency, and the columns of the lines below.

use super::scan::{decimal, digits, number, task, word};

/// The header so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The input of the last line: an index into [`super::Reader::sources`].
    pub source: u32,
    /// The number of that line, from 1.
    pub line: u64,
    /// The number of this header in the text, because texts of several snapshots may follow one another. It counts from 1; 0 means no
    /// header yet.
    pub ordinal: u64,
    /// The tracer: `timerlat`; `nop` for events alone.
    pub tracer: Option<String>,
    /// The kernel's release, if the header names it: headers of latency tracers do.
    pub release: Option<String>,
    /// How many entries the buffer has.
    pub entries: Option<u64>,
    /// How many entries were written: the difference was lost before the text was made.
    pub written: Option<u64>,
    /// How many CPUs were online.
    pub cpus: Option<u32>,
    /// The longest latency, of a latency tracer.
    pub latency: Option<Latency>,
    /// The columns of the lines.
    pub columns: Columns,
    /// The request for a histogram.
    pub trigger: Option<Trigger>,
    /// Whether the kernel reports that its figures are not valid (`# osnoise is tainted!`, `FUNCTION TRACING IS CORRUPTED`).
    pub tainted: bool,
}

/// The longest latency that a tracer saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// In microseconds.
    pub us: u64,
    /// The CPU.
    pub cpu: u32,
    /// The kernel's preemption model, as its header names it: `preempt_rt`, `desktop`.
    pub model: String,
    /// The task that had the latency.
    pub task: String,
    /// Its number.
    pub pid: u32,
    /// Its nice value.
    pub nice: i32,
    /// Its scheduling policy as a number (sched(7)).
    pub policy: u32,
    /// Its real-time priority.
    pub priority: u32,
    /// The function in which it started, of the tracers that report it.
    pub started: Option<String>,
    /// The function in which it ended.
    pub ended: Option<String>,
}

/// The columns of the lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The layout of the lines; `None` before the header describes it, or without a header.
    pub form: Option<Form>,
    /// The meaning of the flags' letters, from the left.
    pub flags: Vec<Flag>,
}

/// The layout of the lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// `TASK-PID CPU# |||| TIMESTAMP FUNCTION`.
    Events {
        /// Whether there is a column `TGID`.
        tgid: bool,
    },
    /// `cmd pid ||||| time | caller`: times since the first entry.
    Latency,
    /// `CPU DURATION FUNCTION CALLS`, with these columns in front of the calls, from the left.
    Graph(Vec<GraphColumn>),
}

/// A column in front of a graph of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphColumn {
    /// The time.
    Time,
    /// The CPU.
    Cpu,
    /// The task.
    Task,
    /// The flags.
    Flags,
    /// The duration of a call.
    Duration,
}

/// The meaning of a letter among the flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flag {
    /// Interrupts are off (`d`), soft ones too (`b`, `D`).
    IrqsOff,
    /// A reschedule is pending.
    NeedResched,
    /// A lazy reschedule is pending (kernels with the RT patch).
    NeedReschedLazy,
    /// In a hard interrupt (`h`, `H`), a soft one (`s`), an NMI (`z`, `Z`).
    Interrupt,
    /// How deep preemption is off, as a hexadecimal digit.
    PreemptDepth,
    /// How deep lazy preemption is off (kernels with the RT patch).
    PreemptLazyDepth,
    /// How deep migration is off.
    MigrateDisable,
    /// A flag that this version does not know.
    Other(String),
}

/// The request for a histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// The request as the kernel prints it: `hist:keys=…`.
    pub text: String,
    /// The names of its keys, without their modifiers.
    pub keys: Vec<String>,
    /// The names of keys and values that the kernel prints in hexadecimal digits (`.hex`).
    pub hex: Vec<String>,
    /// Its state: `active`, `paused`.
    pub state: String,
}

impl Columns {
    /// Returns the letter of a flag among these letters; `None` if the drawing does not fit the letters, because then their meaning is
    /// unknown.
    pub fn flag(&self, letters: &str, flag: &Flag) -> Option<char> {
        let (drawn, count) = (&self.flags, letters.chars().count());
        let lazy = |flag: &&Flag| matches!(flag, Flag::NeedReschedLazy | Flag::PreemptLazyDepth);
        // osnoise and timerlat of PREEMPT_RT draw two columns that the lines no longer have (seen in 6.12).
        let without: Vec<&Flag> = drawn.iter().filter(|flag| !lazy(flag)).collect();
        // Graphs have the depth of migrate-disable at the end and do not draw it (seen in 6.12).
        let undrawn =
            !drawn.contains(&Flag::MigrateDisable) && without.len() == drawn.len() && count == drawn.len() + 1;
        let at = if undrawn && *flag == Flag::MigrateDisable {
            Some(drawn.len())
        } else if undrawn || count == drawn.len() {
            drawn.iter().position(|one| one == flag)
        } else if count == without.len() {
            without.iter().position(|one| *one == flag)
        } else {
            None
        };
        letters.chars().nth(at?)
    }
}

impl Header {
    /// Reads a line that starts with `#`. Returns `None` if the line is neither understood nor a drawing.
    pub(super) fn take(&mut self, line: &str) -> Option<()> {
        let said = line.trim_start_matches('#').trim();
        if let Some(tracer) = said.strip_prefix("tracer: ") {
            self.begin(Some(tracer));
        } else if said == "event histogram" {
            self.begin(None);
        } else if let Some(trigger) = said.strip_prefix("trigger info: ") {
            self.trigger = Some(Trigger::parse(trigger));
        } else if let Some(rest) = said.strip_prefix("entries-in-buffer/entries-written: ") {
            self.entries(rest)?;
        } else if let Some(rest) = said.strip_prefix("latency: ") {
            self.latency(rest)?;
        } else if let Some((tracer, release)) = title(said) {
            // The line that names the tracer may be missing: then this title starts the new header.
            if self.tracer.as_deref() != Some(tracer) || self.release.is_some() || self.latency.is_some() {
                self.begin(Some(tracer));
            }
            self.release = Some(release.into());
        } else if said.ends_with(" is tainted!") || said.ends_with(" IS CORRUPTED") {
            self.tainted = true;
        } else if said.starts_with("| task: ") || said.starts_with("=> ") {
            self.latency.as_mut()?.detail(said)?;
        } else if let Some((_, flag)) = said.split_once("=> ").filter(|(art, _)| art.ends_with('-')) {
            // The text further right belongs to the title of another column.
            let flag = flag.split("  ").next().unwrap_or_default().trim();
            // The CPU is a number before the flags.
            if flag != "CPU#" && self.columns.flags.len() < 32 {
                self.columns.flags.push(Flag::named(flag));
            }
        } else if let Some(form) = Form::titled(said) {
            self.columns.form = Some(form);
        } else {
            return drawn(said).then_some(());
        }
        Some(())
    }

    /// Starts the header of another snapshot.
    fn begin(&mut self, tracer: Option<&str>) {
        let (source, line, ordinal) = (self.source, self.line, self.ordinal + 1);
        *self = Self { source, line, ordinal, tracer: tracer.map(str::to_owned), ..Self::default() };
    }

    /// Parses `3742/3742   #P:2`; some kernels leave out the CPUs.
    fn entries(&mut self, text: &str) -> Option<()> {
        let (counts, cpus) = text.split_once("#P:").unwrap_or((text, ""));
        let (entries, written) = counts.trim().split_once('/')?;
        (self.entries, self.written) = (Some(number(entries)?), Some(number(written)?));
        self.cpus = digits(cpus.trim()).map(|(cpus, _)| cpus);
        Some(())
    }

    /// Parses `259 us, #4/4, CPU#2 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)`; kernels for one CPU have no `#P:`.
    fn latency(&mut self, text: &str) -> Option<()> {
        let (us, rest) = text.split_once(" us, #")?;
        let (counts, rest) = rest.split_once(", CPU#")?;
        let (entries, written) = counts.split_once('/')?;
        let (cpu, rest) = rest.split_once(" | (M:")?;
        let (model, rest) = rest.split_once(" VP:")?;
        let cpus = rest.split_once("#P:").map_or("", |(_, cpus)| cpus);
        let us = decimal(us, 1)?;
        (self.entries, self.written) = (Some(number(entries)?), Some(number(written)?));
        self.cpus = digits(cpus).map(|(cpus, _)| cpus);
        self.latency = Some(Latency { us, cpu: number(cpu)?, model: model.into(), ..Latency::default() });
        Some(())
    }
}

/// Parses `irqsoff latency trace v1.1.5 on 6.14.0`. Returns the tracer and the kernel's release.
fn title(said: &str) -> Option<(&str, &str)> {
    let (tracer, rest) = said.split_once(" latency trace v")?;
    let (_, release) = rest.split_once(" on ")?;
    (!tracer.contains(' ')).then_some((tracer, release.trim()))
}

/// Returns whether a line is a drawing, or the upper part of titles that have two lines.
fn drawn(said: &str) -> bool {
    const TITLES: [&str; 10] =
        ["delay", "ACTIVATION", "MAX", "SINGLE", "Interference", "counters:", "RUNTIME", "NOISE", "OF", "CPU"];
    let art = |word: &str| !word.contains(char::is_alphanumeric);
    said == "MAY BE MISSING FUNCTION EVENTS" || said.split_whitespace().all(|word| art(word) || TITLES.contains(&word))
}

impl Latency {
    /// Reads a further line about the latency. Returns `None` if the line is not about it.
    fn detail(&mut self, said: &str) -> Option<()> {
        if let Some(rest) = said.strip_prefix("| task: ") {
            let (who, how) = rest.rsplit_once(" (uid:")?;
            let of = |key: &str| how.split_once(key)?.1.split([' ', ')']).next();
            let (name, pid) = task(who)?;
            (self.task, self.pid) = (name.into(), pid);
            self.nice = of("nice:")?.parse().ok()?;
            (self.policy, self.priority) = (number(of("policy:")?)?, number(of("rt_prio:")?)?);
        } else if let Some(function) = said.strip_prefix("=> started at: ") {
            self.started = Some(function.trim().into());
        } else {
            self.ended = Some(said.strip_prefix("=> ended at: ")?.trim().into());
        }
        Some(())
    }
}

impl Form {
    /// Determines the layout from the line of titles.
    fn titled(said: &str) -> Option<Self> {
        let at = |title: &str| said.find(title);
        if at("FUNCTION CALLS").is_some() {
            let titles = [
                (at("TIME"), GraphColumn::Time),
                (at("CPU"), GraphColumn::Cpu),
                (at("TASK/PID"), GraphColumn::Task),
                (at("||"), GraphColumn::Flags),
                (at("DURATION"), GraphColumn::Duration),
            ];
            let mut found: Vec<_> = titles.into_iter().filter_map(|(at, column)| Some((at?, column))).collect();
            found.sort_by_key(|(at, _)| *at);
            return Some(Self::Graph(found.into_iter().map(|(_, column)| column).collect()));
        }
        let words = |title: &str| said.split_whitespace().any(|word| word == title);
        // Kernels up to 2.6.29 write this title differently.
        if (words("TASK-PID") || words("TASK_PID")) && words("CPU#") {
            return Some(Self::Events { tgid: words("TGID") });
        }
        let cmd = word(said).filter(|(first, rest)| *first == "cmd" && rest.starts_with("pid"));
        cmd.map(|_| Self::Latency)
    }
}

impl Flag {
    fn named(name: &str) -> Self {
        match name {
            // Newer kernels add `/BH-disabled`.
            name if name.starts_with("irqs-off") => Self::IrqsOff,
            "need-resched" => Self::NeedResched,
            "need-resched-lazy" | "need-resched_lazy" => Self::NeedReschedLazy,
            "hardirq/softirq" => Self::Interrupt,
            "preempt-depth" => Self::PreemptDepth,
            "preempt-lazy-depth" => Self::PreemptLazyDepth,
            "migrate-disable" => Self::MigrateDisable,
            other => Self::Other(other.chars().take(64).collect()),
        }
    }
}

impl Trigger {
    /// Parses `hist:keys=prev_comm,prev_pid:vals=hitcount:sort=hitcount:size=2048 [active]`.
    fn parse(text: &str) -> Self {
        let (text, state) = text.rsplit_once(" [").unwrap_or((text, ""));
        let part = |name: &str| text.split(':').find_map(|part| part.strip_prefix(name)).unwrap_or_default();
        let (keys, values) = (part("keys="), part("vals="));
        let name = |key: &str| key.split(['.', '=']).next().unwrap_or_default().to_owned();
        let hex = keys.split(',').chain(values.split(',')).filter(|one| one.ends_with(".hex")).map(name).collect();
        let keys = keys.split(',').map(name).filter(|key| !key.is_empty()).collect();
        Self { text: text.into(), keys, hex, state: state.trim_end_matches(']').into() }
    }
}
