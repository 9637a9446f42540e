//! The common part of the loads that latido itself runs: they report counts ten times per second, run programs, and end in order.

use super::{Launch, account, rates::ELAPSED};
use crate::{
    program::{self, Program},
    scratch::filesystem,
};
use anyhow::{Context, Result};
use latido_model::registry;
use latido_sys::{clock::Clock::Monotonic, process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
use std::{
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// What the threads of a load have done so far, and whether they must end.
#[derive(Debug)]
pub struct Work {
    counts: Vec<(&'static str, AtomicU64)>,
    over: AtomicBool,
    failed: Mutex<Option<String>>,
}

impl Work {
    /// Starts with zero for each of these counts.
    pub fn of(names: &[&'static str]) -> Arc<Self> {
        let counts = names.iter().map(|name| (*name, AtomicU64::new(0))).collect();
        Arc::new(Self { counts, over: AtomicBool::new(false), failed: Mutex::new(None) })
    }

    /// Adds to a count. A name that is not counted is ignored.
    pub fn add(&self, name: &str, more: u64) {
        if let Some((_, count)) = self.counts.iter().find(|(known, _)| *known == name) {
            count.fetch_add(more, Relaxed);
        }
    }

    /// Returns a count.
    #[cfg(test)]
    pub fn done(&self, name: &str) -> u64 {
        self.counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| count.load(Relaxed))
    }

    /// Whether it is time to end.
    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Tells all threads to end.
    pub fn end(&self) {
        self.over.store(true, Relaxed);
    }

    /// Starts a thread that works until the end. Its error ends the load.
    ///
    /// # Errors
    /// The machine allows no further thread.
    pub fn thread(self: &Arc<Self>, body: impl FnOnce(&Self) -> Result<()> + Send + 'static) -> Result<JoinHandle<()>> {
        Arc::clone(self).started(Box::new(body))
    }

    fn started(self: Arc<Self>, body: Body) -> Result<JoinHandle<()>> {
        let started = thread::Builder::new().spawn(move || {
            let result = body(&self);
            // An error after the end is not a failure of the load.
            if let (Err(error), false) = (result, self.is_over()) {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("{error:#}"));
            }
        });
        started.context("cannot start a thread of the load")
    }

    /// Prints the counts until a signal ends the load, then waits for its threads.
    ///
    /// # Errors
    /// A thread failed, or the other end of the pipe is closed.
    pub fn go_on(&self, threads: Vec<JoinHandle<()>>) -> Result<()> {
        let ended = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&ended)).context("cannot wait for a signal")?;
        }
        let started = Monotonic.now();
        let result = loop {
            thread::sleep(Duration::from_millis(100));
            if ended.load(Relaxed) {
                break Ok(());
            }
            if let Some(why) = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
                break Err(anyhow::anyhow!(why));
            }
            let mut told: Vec<_> = self.counts.iter().map(|(name, count)| (*name, count.load(Relaxed))).collect();
            // A load that updates its counts at its own moments also counts the time between them.
            if !told.iter().any(|(name, _)| *name == ELAPSED) {
                told.push((ELAPSED, Monotonic.now().saturating_sub(started)));
            }
            if let Err(error) = account::tell(&told) {
                break Err(error.into());
            }
        };
        self.end();
        end_programs();
        threads.into_iter().for_each(|thread| _ = thread.join());
        result
    }
}

/// The work of a thread until the end.
type Body = Box<dyn FnOnce(&Work) -> Result<()> + Send>;

/// One pass of a load's work, which is repeated. It owns the files that it works with.
pub type Chore = Box<dyn FnMut(&Work) -> Result<()> + Send>;

/// Repeats passes until the end.
///
/// # Errors
/// A pass failed.
pub fn again_and_again(mut chore: Chore, work: &Work) -> Result<()> {
    while !work.is_over() {
        chore(work)?;
    }
    Ok(())
}

/// Runs a load in this process until another process ends it: one thread per chore. The threads start their work when all of them exist. If
/// some worked earlier, they would keep the thread that starts thousands from its CPU for minutes.
///
/// # Errors
/// A chore failed, the machine allows no further thread, or the other end of the pipe is closed.
pub fn bear(counts: &[&'static str], chores: impl IntoIterator<Item = Chore>) -> Result<()> {
    let work = Work::of(counts);
    let threads = together(&work, chores)?;
    work.go_on(threads)
}

/// Starts threads that begin their chores when all of them exist.
fn together(work: &Arc<Work>, chores: impl IntoIterator<Item = Chore>) -> Result<Vec<JoinHandle<()>>> {
    let (open, gate) = mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let thread = |chore| {
        let gate = Arc::clone(&gate);
        work.thread(move |work| {
            // Nothing is ever sent: the call returns when the sender is dropped.
            let _ = gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
            again_and_again(chore, work)
        })
    };
    let threads = chores.into_iter().map(thread).collect();
    drop(open);
    threads
}

/// Ends the programs that this load started: its whole process group, if this process leads one. The signal also reaches this process,
/// which is already ending.
fn end_programs() {
    if rustix::process::getpgrp() == rustix::process::getpid() {
        let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TERM);
    }
}

/// Returns a command for a program that prints nothing, and that ends with the thread that started it, however that ends.
///
/// # Errors
/// The program is not installed, or cannot be trusted.
pub fn program(name: &str) -> Result<Command> {
    Ok(bound(needed(name)?.command()))
}

/// Prepares an existing command like [`program()`].
pub fn bound(mut command: Command) -> Command {
    command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let manners = process::Child { own_group: false, death_signal: Some(SIGKILL), reset_scheduling: false, nice: None };
    process::prepare(&mut command, manners);
    command
}

/// Installed programs.
#[derive(Debug, Default)]
pub struct Installed {
    /// The versions that they print.
    pub version: String,
    /// The programs.
    pub programs: Vec<Program>,
}

/// Returns a program with the first line of its version output, or `None` where it is not installed or prints none.
///
/// # Errors
/// The program cannot be trusted.
pub fn version(name: &str, asked: &str) -> Result<Option<Installed>> {
    let Some(program) = program::find(name)? else { return Ok(None) };
    let Ok(output) = program.command().arg(asked).stdin(Stdio::null()).output() else { return Ok(None) };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| !line.trim().is_empty());
    Ok(line.map(|line| Installed { version: line.trim().to_string(), programs: vec![program] }))
}

/// Returns the versions of programs, all of which must be installed.
///
/// # Errors
/// One is not installed (the error gives the command that installs it on Debian), or cannot be trusted.
pub fn versions(names: &[&str]) -> Result<Installed> {
    let (mut versions, mut programs) = (Vec::new(), Vec::new());
    for name in names {
        let found = version(name, "--version")?.with_context(|| missing(name))?;
        versions.push(found.version);
        programs.extend(found.programs);
    }
    Ok(Installed { version: versions.join("; "), programs })
}

fn needed(name: &str) -> Result<Program> {
    program::find(name)?.with_context(|| missing(name))
}

fn missing(name: &str) -> String {
    format!("{name} is not installed: apt-get install {}", package(name))
}

/// Returns the Debian package of a program. Most have the program's name.
fn package(program: &str) -> &str {
    match program {
        "find" => "findutils",
        "xz" => "xz-utils",
        "cc" => "gcc",
        "hackbench" => "rt-tests",
        other => other,
    }
}

/// Returns the launch `latido load NAME:key=value,...`: latido runs the load itself with these options.
///
/// # Errors
/// latido cannot find its own file.
pub fn own(name: &str, options: &impl serde::Serialize) -> Result<Launch> {
    let file = std::env::current_exe().context("cannot find latido's own file to start the load")?;
    let word = |(key, value): (String, toml::Value)| match value {
        toml::Value::String(text) => format!("{key}={text}"),
        other => format!("{key}={other}"),
    };
    let options: Vec<String> = registry::resolved(options).into_iter().map(word).collect();
    let word = if options.is_empty() { name.to_string() } else { format!("{name}:{}", options.join(",")) };
    let argv = vec![file.to_string_lossy().into_owned(), "load".into(), word];
    Ok(Launch { version: Some(env!("CARGO_PKG_VERSION").into()), ..Launch::of(argv) })
}

/// Returns the launch of a load that runs other programs on temporary files: like [`own`], with their versions, the command that it runs,
/// and a note where those files are in memory.
///
/// # Errors
/// As [`versions`] and [`own`].
pub fn running(programs: &[&str], command: String, name: &str, options: &impl serde::Serialize) -> Result<Launch> {
    let Installed { version, programs } = versions(programs)?;
    let (commands, note) = (vec![command], memory_note(name));
    Ok(Launch { version: Some(version), programs, note, commands, ..own(name, options)? })
}

/// Returns a note where the directory for temporary files is in memory.
pub fn memory_note(load: &str) -> Option<String> {
    let dir = std::env::temp_dir();
    let kind = filesystem(&dir).filter(|kind| kind == "tmpfs" || kind == "ramfs")?;
    Some(format!(
        "{load}: {} is in memory ({kind}): the load uses no disk; name another directory with TMPDIR",
        dir.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_by_name() {
        let work = Work::of(&["passes", "bytes"]);
        work.add("bytes", 5);
        work.add("bytes", 6);
        work.add("words", 7);
        assert_eq!((work.done("bytes"), work.done("passes"), work.done("words")), (11, 0, 0));
    }

    #[test]
    fn chores_begin_when_all_are_there() {
        let (work, made) = (Work::of(&["early"]), Arc::new(AtomicU64::new(0)));
        let chores = (0..8).map(|_| {
            made.fetch_add(1, Relaxed);
            let made = Arc::clone(&made);
            let chore: Chore = Box::new(move |work| {
                work.add("early", u64::from(made.load(Relaxed) < 8));
                work.end();
                Ok(())
            });
            chore
        });
        let threads = together(&work, chores).unwrap();
        assert_eq!(threads.len(), 8);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(work.done("early"), 0);
    }

    #[test]
    fn a_threads_error_is_the_loads_unless_it_was_over() {
        for over in [false, true] {
            let work = Work::of(&[]);
            if over {
                work.end();
            }
            work.thread(|_| anyhow::bail!("no room")).unwrap().join().unwrap();
            assert_eq!(work.failed.lock().unwrap().is_some(), !over);
        }
    }

    #[test]
    fn the_word_holds_every_option() {
        let options: toml::Table = "size = 64\nmode = \"both\"\nfsync = true\n".parse().unwrap();
        assert_eq!(own("disk", &options).unwrap().argv[1..], ["load", "disk:fsync=true,mode=both,size=64"]);
        assert_eq!(own("disk", &toml::Table::new()).unwrap().argv[1..], ["load", "disk"]);
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let error = versions(&["sh-that-is-nowhere"]).unwrap_err().to_string();
        assert_eq!(error, "sh-that-is-nowhere is not installed: apt-get install sh-that-is-nowhere");
        assert_eq!(package("xz"), "xz-utils");
    }
}
