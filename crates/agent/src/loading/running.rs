//! A running load: the guard that starts it, watches it, and ends it with all its descendants.

use super::{
    Launch, Load, Surroundings,
    account::{self, Account, Manner},
    listening::Tail,
    orphans,
    rates::{Course, WorkCounts},
};
use crate::{
    journal::{self, Borrowed, Group, Journal, MARK},
    program::{self, Program},
    scratch,
};
use anyhow::{Context, Result};
use latido_model::{
    cell::Item,
    record::{LoadLife, LoadRecord},
};
use latido_sys::{clock::Clock::Monotonic, process};
use signal_hook::consts::SIGKILL;
use std::{
    fs,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How much of a load's error output latido keeps, to explain its death, in bytes.
const TAIL: usize = 2048;

/// How long a load may take to end by itself before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a load may take that reports its work at its end: a machine full of its processes takes long to end them.
const LONG_PATIENCE: Duration = Duration::from_secs(10);

/// A started load. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    item: Item,
    launch: Launch,
    process: Option<Begun>,
    died: Option<String>,
    at_start: Consumed,
    at_end: Consumed,
    /// What it did during the measurement; `None` until that is over.
    course: Option<Course>,
    /// When its program was started, first reported work and ended, on CLOCK_MONOTONIC in ns.
    started_at: u64,
    worked_at: Option<u64>,
    ended_at: Option<u64>,
}

/// What the load had used and done at one moment.
#[derive(Debug, Default)]
struct Consumed {
    cpu_ns: Option<u64>,
    counts: WorkCounts,
}

#[derive(Debug)]
struct Begun {
    child: Child,
    mark: String,
    group: Option<Group>,
    tail: Tail,
    account: Account,
}

impl Running {
    /// Returns the variable that marks the environment of each of its processes; `None` without a process.
    pub fn mark(&self) -> Option<String> {
        self.process.as_ref().map(|process| format!("{MARK}={}", process.mark))
    }

    /// Starts a load in a new process group, and writes it to the journal first, if there is one. The load stays in this session: autogroup
    /// would schedule another session separately, and so decide comparisons of time-sharing tasks.
    ///
    /// # Errors
    /// The program is missing or does not start. The error gives the remedy.
    pub fn start(load: &dyn Load, name: &str, around: &Surroundings, journal: Option<&mut Journal>) -> Result<Self> {
        let item = Item { name: name.into(), options: load.options() };
        let Some(mut launch) = load.launch(around)? else {
            return Ok(Self::new(item, Launch::of(Vec::new()), None));
        };
        let mark = journal::mark();
        let (mut group, argv) = (None, launch.argv.clone());
        if let Some(journal) = journal {
            // Without a journal, no latido would remove the group after a crash.
            group = Group::planned(&mark);
            journal.write(Borrowed::Load { mark: mark.clone(), argv: argv.clone(), group: group.clone() })?;
        }
        let (program, arguments) = argv.split_first().context("the load has no program")?;
        let mut command = match is_own(program) {
            // It runs as latido does: the agent starts the load, and the program is latido itself.
            true => Command::new(program),
            false => {
                let found =
                    program::find(program)?.with_context(|| format!("load `{name}`: there is no `{program}`"))?;
                if !launch.programs.contains(&found) {
                    launch.programs.insert(0, found.clone());
                }
                found.command()
            }
        };
        program::guarded(&mut command)
            .args(arguments)
            .env(MARK, &mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Should the supervisor be killed, the kernel ends the load's first process at once; the host finds the rest.
        let manners =
            process::Child { own_group: true, death_signal: Some(SIGKILL), reset_scheduling: true, nice: None };
        process::prepare(&mut command, manners);
        if let Some(procs) = group.as_ref().and_then(|group| group.make().ok()) {
            process::join(&mut command, procs);
        }
        let started_at = Monotonic.now();
        let mut child = command.spawn().with_context(|| format!("load `{name}`: cannot start `{program}`"))?;
        orphans::expect(child.id());
        let tail = child.stderr.take().map(|stderr| Tail::of(stderr, TAIL)).transpose()?.unwrap_or_default();
        let account = child.stdout.take().map(|out| Account::of(out, launch.manner)).transpose()?.unwrap_or_default();
        crate::fault::point("agent");
        let process = Some(Begun { child, mark, group, tail, account });
        let mut running = Self::new(item, launch, process);
        running.started_at = started_at;
        Ok(running)
    }

    fn new(item: Item, launch: Launch, process: Option<Begun>) -> Self {
        let (at_start, at_end) = (Consumed::default(), Consumed::default());
        let (died, course, started_at, worked_at, ended_at) = (None, None, 0, None, None);
        Self { item, launch, process, died, at_start, at_end, course, started_at, worked_at, ended_at }
    }

    /// Checks whether it lives. A load that has died stays dead.
    pub fn alive(&mut self) -> bool {
        if self.died.is_none()
            && let Some(process) = &mut self.process
            && let Ok(Some(status)) = process.child.try_wait()
        {
            // The kernel may soon give its number to another process: from here on only the mark identifies what it left.
            orphans::forget(process.child.id());
            self.ended_at.get_or_insert_with(|| Monotonic.now());
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => format!("it exited with status {code}"),
                (None, Some(signal)) => format!("it was ended by signal {signal}"),
                (None, None) => "it ended".to_string(),
            };
            let tail = Some(process.tail.text()).filter(|tail| !tail.is_empty());
            let said = tail.map(|tail| format!(": {tail}")).unwrap_or_default();
            self.died = Some(format!("{how}{said}"));
        }
        self.died.is_none()
    }

    /// Returns why it died, if it did.
    pub fn died(&self) -> Option<&str> {
        self.died.as_deref()
    }

    /// Starts the measurement: notes the processor time used so far.
    pub fn measuring_starts(&mut self) {
        if self.process.is_none() && self.died.is_some() {
            return;
        }
        self.at_start = self.usage();
        self.process.iter().for_each(|process| process.account.start());
    }

    /// Ends it before its time. The record gives the reason, and keeps what the load did until now.
    pub fn end_early(&mut self, why: &str) {
        if self.process.is_some() {
            self.measuring_ends();
            self.stop();
            self.died.get_or_insert_with(|| format!("it was ended: {why}"));
        }
    }

    /// Ends the measurement: notes whether the load lives, and its processor time.
    pub fn measuring_ends(&mut self) {
        if self.process.is_none() && self.died.is_some() {
            return;
        }
        self.alive();
        self.at_end = self.usage();
        if let Some(process) = &self.process {
            self.course = Some(process.account.course());
        }
    }

    fn usage(&self) -> Consumed {
        let counts = self.process.as_ref().map(|process| process.account.now()).unwrap_or_default();
        Consumed { cpu_ns: self.cpu_time(), counts }
    }

    /// Returns the command; it is empty for a load that does nothing.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Returns its record, with the results so far. Its times count from `origin_ns` on CLOCK_MONOTONIC, in ns.
    pub fn record(&self, origin_ns: u64) -> LoadRecord {
        let account = self.process.as_ref().map(|process| &process.account);
        let so_far = || account.map(Account::so_far).unwrap_or_default();
        let mut course = self.course.clone().unwrap_or_else(so_far);
        let since = |at_ns: u64| at_ns.wrapping_sub(origin_ns).cast_signed();
        for step in &mut course.steps {
            step.start_ns = since(step.start_ns.cast_unsigned());
        }
        let worked_at = self.worked_at.or_else(|| account.and_then(Account::worked_at));
        let used = self.at_end.cpu_ns.zip(self.at_start.cpu_ns).map(|(end, start)| end.saturating_sub(start));
        LoadRecord {
            item: self.item.clone(),
            argv: self.launch.argv.clone(),
            version: self.launch.version.clone(),
            note: self.launch.note.clone(),
            commands: self.launch.commands.clone(),
            programs: self.launch.programs.iter().map(Program::record).collect(),
            alive: self.died.is_none(),
            died: self.died.clone(),
            cpu_ns: used,
            achieved: account::between(&self.at_start.counts, &self.at_end.counts),
            unaccounted: self.unaccounted(&course),
            rates: course.rates,
            life: (!self.launch.argv.is_empty()).then(|| LoadLife {
                started_ns: since(self.started_at),
                worked_ns: worked_at.map(since),
                ended_ns: self.ended_at.map(since),
            }),
            steps: course.steps,
        }
    }

    /// Returns why its work is unknown. A load that does nothing has nothing to report.
    fn unaccounted(&self, course: &Course) -> Option<String> {
        if !course.rates.is_empty() || self.launch.argv.is_empty() {
            return None;
        }
        Some(match self.launch.manner {
            Manner::StressNg if self.process.is_some() => "stress-ng reports its work only when it ends".into(),
            Manner::StressNg => "stress-ng reported nothing when it ended".into(),
            Manner::Lines => "the program did not report its work during the measurement".into(),
        })
    }

    /// Returns the processor time of all its processes, living and collected, in ns (steps of 10 ms).
    fn cpu_time(&self) -> Option<u64> {
        // After an early death the group's number may be another's.
        let group = self.process.as_ref().filter(|_| self.died.is_none())?.child.id();
        let mut ticks = 0;
        for entry in fs::read_dir("/proc").ok()?.flatten() {
            let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
            // proc_pid_stat(5): after the parenthesised name, field 3 is the state; 5 the group; 14-17 the times.
            let Some((_, rest)) = stat.rsplit_once(')') else { continue };
            let fields: Vec<&str> = rest.split_whitespace().collect();
            let field = |number: usize| fields.get(number - 3).and_then(|f| f.parse::<u64>().ok());
            if field(5) == Some(u64::from(group)) {
                ticks += (14..=17).filter_map(field).sum::<u64>();
            }
        }
        Some(ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)))
    }

    /// Ends it with every descendant: first by SIGTERM (stress-ng then removes its files), then by SIGKILL.
    pub fn stop(&mut self) {
        self.end(PATIENCE);
    }

    /// Ends it like [`Self::stop`], but waits for what it reports at its end.
    pub fn finish(&mut self) {
        self.end(if self.launch.manner == Manner::StressNg { LONG_PATIENCE } else { PATIENCE });
    }

    fn end(&mut self, patience: Duration) {
        let Some(mut process) = self.process.take() else { return };
        self.ended_at.get_or_insert_with(|| Monotonic.now());
        self.worked_at = process.account.worked_at();
        let group = i32::try_from(process.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group.filter(|_| self.died.is_none()) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
            let give_up = Instant::now() + patience;
            while Instant::now() < give_up && rustix::process::test_kill_process_group(group).is_ok() {
                let _ = process.child.try_wait();
                orphans::reap();
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = process.child.wait();
        orphans::forget(process.child.id());
        // Processes that would not end stay in the journal, which reports them when it is settled.
        if let Some(group) = &process.group {
            let _ = group.end(&process.mark);
        }
        let _ = journal::end_marked(&process.mark);
        if self.launch.manner == Manner::StressNg {
            let rates = process.account.at_the_end(PATIENCE);
            self.course = Some(Course { rates, ..Course::default() });
        }
        // A load that had to be killed could not remove its files.
        scratch::sweep();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether a program is latido's own file, which is already running.
pub fn is_own(program: &str) -> bool {
    std::env::current_exe().is_ok_and(|own| own.as_os_str() == program)
}
