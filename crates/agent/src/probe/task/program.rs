//! The program that is watched: found by its number or name, or started and ended.

use super::{TaskProbe, standing::Standings};
use crate::{
    journal::Marked,
    person::Person,
    probe::{ending, looking_on::fits, overheard::Overheard},
    program,
};
use anyhow::{Context, Result, bail};
use latido_model::suggest::nearest;
use latido_sys::{identity, process, sched};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long it may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// What is watched.
pub(super) struct Watched {
    processes: Vec<i32>,
    threads: BTreeSet<i32>,
    started: Option<Started>,
    standings: Standings,
}

/// What became of it.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Its threads when the watching began.
    pub threads: BTreeSet<i32>,
    /// In words: `cyclictest (process 12)`.
    pub words: String,
    /// The exit status of a program that was started and ended by itself, as a shell has it.
    pub exit: Option<u8>,
    /// What it printed.
    pub output: Vec<u8>,
    /// What its threads had of the kernel.
    pub standings: Standings,
}

impl Watched {
    /// Finds it, or starts it.
    ///
    /// # Errors
    /// There is no such process or program, with those that may be meant.
    pub fn find(probe: &TaskProbe, cpus: &[u32], marked: Option<&Marked>) -> Result<Self> {
        if !probe.argv.is_empty() {
            let started = Started::start(&probe.argv, cpus, marked)?;
            let pid = started.child.id().cast_signed();
            let threads = BTreeSet::from([pid]);
            let standings = Standings::default();
            return Ok(Self { processes: vec![pid], threads, started: Some(started), standings });
        }
        let processes = match (probe.pid, &probe.program) {
            (Some(pid), _) => {
                if !is_there(pid) {
                    bail!("there is no process {pid}: it may have ended, `pgrep -a NAME` finds the number of another");
                }
                vec![pid]
            }
            (None, name) => named(name.as_deref().unwrap_or_default())?,
        };
        let threads = processes.iter().flat_map(|pid| threads_of(*pid)).collect();
        Ok(Self { processes, threads, started: None, standings: Standings::default() })
    }

    /// Looks at what its threads have, at first soon and then once a second; whether any of it is still there.
    pub fn looked_at(&mut self) -> bool {
        self.standings.look(&self.processes);
        self.lives()
    }

    /// Whether any of it is still there.
    fn lives(&mut self) -> bool {
        match &mut self.started {
            Some(started) => !started.has_ended(),
            None => self.processes.iter().any(|pid| is_there(*pid)),
        }
    }

    /// Nobody watches any more: what was started is ended.
    ///
    /// # Errors
    /// It does not end.
    pub fn end(mut self) -> Result<Ended> {
        if self.lives() {
            self.standings.look_now(&self.processes);
        }
        let mut ended = Ended { threads: self.threads, standings: self.standings, ..Ended::default() };
        match self.started {
            Some(started) => {
                ended.words = format!("`{}`", started.name);
                (ended.exit, ended.output) = started.end()?;
            }
            None => {
                let numbers: Vec<String> = self.processes.iter().map(i32::to_string).collect();
                ended.words = format!("process {}", numbers.join(", "));
            }
        }
        Ok(ended)
    }
}

/// A program of ours, in a process group of its own.
struct Started {
    name: String,
    child: Child,
    output: Overheard,
    over: bool,
}

impl Started {
    /// As the person behind sudo, or as what we are: then what others may replace is not started.
    fn start(argv: &[String], cpus: &[u32], marked: Option<&Marked>) -> Result<Self> {
        let (name, arguments) = argv.split_first().context("`argv` names no program")?;
        let person = Person::behind_sudo();
        let found = program::of_person(name, person.as_ref())?;
        let (mut command, _) = found.with_context(|| format!("there is no program `{name}` that may be run here"))?;
        let (reader, writer) = io::pipe().context("no pipe for what the program prints")?;
        let output = Overheard::from(reader)?;
        let errors = writer.try_clone().context("no pipe for what the program prints")?;
        command.args(arguments).stdin(Stdio::null()).stdout(writer).stderr(errors);
        if let Some(person) = person {
            identity::start_as(&mut command, person.identity());
        }
        // It dies with this thread, which watches it until the end.
        let manners = process::Child {
            own_group: true,
            death_signal: Some(signal_hook::consts::SIGKILL),
            reset_scheduling: true,
            nice: None,
        };
        process::prepare(&mut command, manners);
        // Whatever it starts, also what leaves its group, is found by this and ended with the cell.
        marked.inspect(|marked| marked.put_on(&mut command));
        // A child has its parent's CPUs.
        let own = sched::affinity(0).ok();
        let _ = sched::set_affinity(0, cpus.iter().copied());
        let child = command.spawn();
        if let Some(own) = own {
            let _ = sched::set_affinity(0, own);
        }
        let child = child.with_context(|| format!("cannot start `{name}`"))?;
        drop(command);
        Ok(Self { name: name.clone(), child, output, over: false })
    }

    /// It stays a zombie, so that its number and its group remain its own.
    fn has_ended(&mut self) -> bool {
        if !self.over {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let ended = waitid(WaitId::Pid(Pid::from_child(&self.child)), options);
            self.over = !matches!(ended, Ok(None));
        }
        self.over
    }

    /// Ends it and all of its group; its own exit status, and what it said.
    ///
    /// # Errors
    /// It does not end.
    fn end(mut self) -> Result<(Option<u8>, Vec<u8>)> {
        let by_itself = self.has_ended();
        if !by_itself {
            ending::send(&self.child, Signal::TERM);
            let until = Instant::now() + PATIENCE;
            while !self.has_ended() && Instant::now() < until {
                thread::sleep(LOOK);
            }
        }
        let status = Some(ending::kill(&mut self.child, &self.name)?).filter(|_| by_itself);
        let exit = status.and_then(|status| status.code().or_else(|| status.signal().map(|signal| 128 + signal)));
        Ok((exit.and_then(|exit| u8::try_from(exit).ok()), self.output.all()))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = ending::kill(&mut self.child, &self.name);
    }
}

fn numbers(dir: &str) -> impl Iterator<Item = i32> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn threads_of(pid: i32) -> impl Iterator<Item = i32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// Whether a process is there and no zombie (proc_pid_stat(5), field 3).
fn is_there(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// What a process is called: its first thread's name, and the file it was started by.
fn names(pid: i32) -> Vec<String> {
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned());
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let first = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let first = String::from_utf8_lossy(first).into_owned();
    let file = Path::new(&first).file_name().map(|name| name.to_string_lossy().into_owned());
    comm.into_iter().chain(file).collect()
}

/// The processes of this name; our own are none.
fn named(pattern: &str) -> Result<Vec<i32>> {
    let own = [std::process::id(), std::os::unix::process::parent_id()].map(u32::cast_signed);
    let all: Vec<(i32, Vec<String>)> =
        numbers("/proc").filter(|pid| !own.contains(pid) && is_there(*pid)).map(|pid| (pid, names(pid))).collect();
    let fitting = all.iter().filter(|(_, names)| names.iter().any(|name| fits(pattern, name)));
    let found: Vec<i32> = fitting.map(|(pid, _)| *pid).collect();
    if found.is_empty() {
        let known: BTreeSet<&str> = all.iter().flat_map(|(_, names)| names).map(String::as_str).collect();
        bail!(
            "there is no process named `{pattern}`{}; * stands for anything, ? for one character",
            nearest(pattern, known)
        );
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(argv: &[&str]) -> TaskProbe {
        TaskProbe { argv: argv.iter().map(|word| (*word).into()).collect(), ..TaskProbe::default() }
    }

    /// A program that ends by itself is told with its status and what it said on both of its outputs.
    #[test]
    fn a_program_that_ends_is_told() {
        let cpus = sched::affinity(0).unwrap();
        let told = probe(&["/bin/sh", "-c", "echo a; echo b >&2; exit 7"]);
        let mut watched = Watched::find(&told, &cpus, None).unwrap();
        while watched.lives() {
            thread::sleep(LOOK);
        }
        let ended = watched.end().unwrap();
        assert_eq!((ended.exit, ended.output), (Some(7), b"a\nb\n".to_vec()));
    }

    /// One that does not end is ended with what it started, also what heeds no SIGTERM.
    #[test]
    fn a_program_that_goes_on_is_ended_with_its_group() {
        let cpus = sched::affinity(0).unwrap();
        let script = "trap '' TERM; sleep 61 & echo $!; while :; do sleep 1; done";
        let mut watched = Watched::find(&probe(&["/bin/sh", "-c", script]), &cpus, None).unwrap();
        let said = || watched.started.as_ref().unwrap().output.all();
        while !said().ends_with(b"\n") {
            thread::sleep(LOOK);
        }
        let child: i32 = String::from_utf8(said()).unwrap().trim().parse().unwrap();
        assert!(watched.lives() && is_there(child));
        assert_eq!(watched.end().unwrap().exit, None, "it did not end by itself");
        while is_there(child) {
            thread::sleep(LOOK);
        }
    }

    /// Processes are found by patterns, and who is not there is answered with the nearest name.
    #[test]
    fn a_name_that_nobody_has_is_answered_with_the_nearest() {
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = sleeper.id().cast_signed();
        while !names(pid).iter().any(|name| name == "sleep") {
            thread::sleep(LOOK);
        }
        let found = named("sl*p").unwrap();
        let why = named("slepe").unwrap_err().to_string();
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(found.contains(&pid), "{found:?}");
        assert!(why.contains("`sleep`"), "{why}");
        let gone = TaskProbe { pid: Some(i32::MAX), ..TaskProbe::default() };
        assert!(Watched::find(&gone, &[0], None).err().unwrap().to_string().contains("there is no process"));
    }
}
