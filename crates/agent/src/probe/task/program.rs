//! The watched program: latido finds it by its number or name, or starts and ends it.

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

/// How long the program may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often latido checks whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// The watched program.
pub(super) struct Watched {
    processes: Vec<i32>,
    threads: BTreeSet<i32>,
    started: Option<Started>,
    standings: Standings,
}

/// The watched program after the end of the watching.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Its threads at the beginning of the watching.
    pub threads: BTreeSet<i32>,
    /// Its description, such as `cyclictest (process 12)`.
    pub words: String,
    /// The exit status of a program that latido started and that ended without latido's action, as a shell has it.
    pub exit: Option<u8>,
    /// Its output.
    pub output: Vec<u8>,
    /// What the kernel granted its threads.
    pub standings: Standings,
}

impl Watched {
    /// Finds the program, or starts it.
    ///
    /// # Errors
    /// No such process or program exists. The message suggests similar names.
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
                    bail!("there is no process {pid}; it may have ended: find another with `pgrep -a NAME`");
                }
                vec![pid]
            }
            (None, name) => named(name.as_deref().unwrap_or_default())?,
        };
        let threads = processes.iter().flat_map(|pid| threads_of(*pid)).collect();
        Ok(Self { processes, threads, started: None, standings: Standings::default() })
    }

    /// Looks at what the kernel grants the threads, soon at first and then once per second. Returns whether any process of the program
    /// still exists.
    pub fn looked_at(&mut self) -> bool {
        self.standings.look(&self.processes);
        self.lives()
    }

    /// Returns whether any process of the program still exists.
    fn lives(&mut self) -> bool {
        match &mut self.started {
            Some(started) => !started.has_ended(),
            None => self.processes.iter().any(|pid| is_there(*pid)),
        }
    }

    /// Ends the watching, and the program if latido started it.
    ///
    /// # Errors
    /// The program does not end.
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

/// A program that latido started, in a separate process group.
struct Started {
    name: String,
    child: Child,
    output: Overheard,
    over: bool,
}

impl Started {
    /// Starts the program as the person behind sudo, or as the present user. A privileged latido refuses a program that others can replace.
    fn start(argv: &[String], cpus: &[u32], marked: Option<&Marked>) -> Result<Self> {
        let (name, arguments) = argv.split_first().context("`argv` names no program")?;
        let person = Person::behind_sudo();
        let found = program::of_person(name, person.as_ref())?;
        let (mut command, _) = found.with_context(|| format!("there is no executable program `{name}` here"))?;
        let (reader, writer) = io::pipe().context("cannot create the pipe for the program's output")?;
        let output = Overheard::from(reader)?;
        let errors = writer.try_clone().context("cannot create the pipe for the program's output")?;
        command.args(arguments).stdin(Stdio::null()).stdout(writer).stderr(errors);
        if let Some(person) = person {
            identity::start_as(&mut command, person.identity());
        }
        // The program dies with this thread, which watches it until the end.
        let manners = process::Child {
            own_group: true,
            death_signal: Some(signal_hook::consts::SIGKILL),
            reset_scheduling: true,
            nice: None,
        };
        process::prepare(&mut command, manners);
        // This marks every process that the program starts, including those that leave its group. latido finds them by the mark and ends
        // them with the cell.
        marked.inspect(|marked| marked.put_on(&mut command));
        // A child inherits its parent's CPUs.
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

    /// Tells whether the program has ended. It stays a zombie, so that no other process gets its number and its group.
    fn has_ended(&mut self) -> bool {
        if !self.over {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let ended = waitid(WaitId::Pid(Pid::from_child(&self.child)), options);
            self.over = !matches!(ended, Ok(None));
        }
        self.over
    }

    /// Ends the program and its whole group. Returns its exit status, if it ended without latido's action, and its output.
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

/// Tells whether a process exists and is no zombie (proc_pid_stat(5), field 3).
fn is_there(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Returns the names of a process: its first thread's name, and the file that started it.
fn names(pid: i32) -> Vec<String> {
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned());
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let first = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let first = String::from_utf8_lossy(first).into_owned();
    let file = Path::new(&first).file_name().map(|name| name.to_string_lossy().into_owned());
    comm.into_iter().chain(file).collect()
}

/// Returns the processes with this name, except latido's own.
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

    /// A program that ends without latido's action is reported with its status and the output of both its streams.
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

    /// A program that does not end is ended together with the processes that it started, including one that ignores SIGTERM.
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

    /// latido finds processes by patterns, and answers an unknown name with the nearest one.
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
