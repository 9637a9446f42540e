//! `messaging`: groups of senders and receivers that keep the scheduler busy, in the manner of hackbench.

use crate::loading::{
    Launch, Load, Surroundings,
    work::{self, Work, program},
};
use anyhow::{Context, Result, ensure};
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};
use std::{
    io::{Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::Arc,
    thread::JoinHandle,
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "messaging",
    about: "groups of senders and receivers over sockets or pipes: wake-ups without end (as hackbench)",
    help: "\
In each group every sender writes a short message to every receiver, again and again, so that threads sleep and wake all
the time: work for the scheduler more than for the processor.

Options:
  groups   1 to 256; default 2
  pairs    senders of a group, and as many receivers, 1 to 256; default 20
  size     of a message in bytes, 1 to 65536; default 100
  by       sockets (default; UNIX stream sockets) or pipes
  with     latido (default): latido's own threads; hackbench: the program of rt-tests, started again whenever it ends

The record's `achieved` holds messages, elapsed_ns, and with hackbench its rounds.",
    main_option: Some("groups"),
    new: |table| Ok(Box::new(checked(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Messaging {
    groups: u32,
    pairs: u32,
    size: usize,
    by: Through,
    with: With,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Through {
    Sockets,
    Pipes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum With {
    Latido,
    Hackbench,
}

impl Default for Messaging {
    fn default() -> Self {
        Self { groups: 2, pairs: 20, size: 100, by: Through::Sockets, with: With::Latido }
    }
}

/// The most threads of all groups.
const THREADS: u32 = 8192;

/// Messages from a sender to each receiver in one run of hackbench: a fraction of a second on a PC.
const ROUNDS: u64 = 100;

fn checked(table: toml::Table) -> Result<Messaging> {
    let load: Messaging = registry::options(table)?;
    for (name, number) in [("groups", load.groups), ("pairs", load.pairs)] {
        ensure!((1..=256).contains(&number), "`{name}` is 1 to 256");
    }
    let threads = load.groups * load.pairs * 2;
    ensure!(threads <= THREADS, "{threads} threads are more than the {THREADS} allowed: use fewer `groups` or `pairs`");
    ensure!((1..=65_536).contains(&load.size), "`size` is 1 to 65536 bytes");
    Ok(load)
}

impl Load for Messaging {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        let mut launch = work::own(DEF.name, self)?;
        if self.with == With::Hackbench {
            launch.programs = work::versions(&["hackbench"])?.programs;
            launch.commands = vec![self.hackbench().join(" ")];
        }
        Ok(Some(launch))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

impl Messaging {
    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        let work = Work::of(match self.with {
            With::Latido => &["messages"][..],
            With::Hackbench => &["messages", "rounds"],
        });
        if self.with == With::Latido {
            let mut threads = Vec::new();
            for _ in 0..self.groups {
                threads.extend(self.group(&work)?);
            }
            // The threads sleep in the kernel, where they do not notice the end: they end with the process.
            drop(threads);
            return work.go_on(Vec::new());
        }
        let load = self.clone();
        let thread = work.thread(move |work| {
            while !work.is_over() {
                load.run(work)?;
            }
            Ok(())
        })?;
        work.go_on(vec![thread])
    }

    fn hackbench(&self) -> Vec<String> {
        let (groups, pairs) = (self.groups.to_string(), self.pairs.to_string());
        let (rounds, size) = (ROUNDS.to_string(), self.size.to_string());
        let mut argv = vec!["hackbench", "-T", "-g", &groups, "-f", &pairs, "-l", &rounds, "-s", &size];
        argv.extend((self.by == Through::Pipes).then_some("-p"));
        argv.into_iter().map(String::from).collect()
    }

    fn run(&self, work: &Work) -> Result<()> {
        let argv = self.hackbench();
        let status = program("hackbench")?.args(argv.iter().skip(1)).status().context("hackbench")?;
        ensure!(status.success() || work.is_over(), "hackbench failed: {status}");
        work.add("rounds", 1);
        work.add("messages", u64::from(self.groups) * u64::from(self.pairs).pow(2) * ROUNDS);
        Ok(())
    }

    /// Starts the threads of one group.
    fn group(&self, work: &Arc<Work>) -> Result<Vec<JoinHandle<()>>> {
        let (mut threads, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..self.pairs {
            let (from, to) = self.channel().context("messaging: no more sockets or pipes; see `ulimit -n`")?;
            ends.push(Arc::new(to));
            let size = self.size;
            threads.push(work.thread(move |work| receive(from, size, work))?);
        }
        for _ in 0..self.pairs {
            let (ends, size) = (ends.clone(), self.size);
            threads.push(work.thread(move |work| send(&ends, size, work))?);
        }
        Ok(threads)
    }

    /// Returns the ends that messages leave and enter.
    fn channel(&self) -> std::io::Result<(OwnedFd, std::fs::File)> {
        Ok(match self.by {
            Through::Sockets => {
                let (from, to) = UnixStream::pair()?;
                (from.into(), OwnedFd::from(to).into())
            }
            Through::Pipes => {
                let (from, to) = std::io::pipe()?;
                (from.into(), OwnedFd::from(to).into())
            }
        })
    }
}

fn send(ends: &[Arc<std::fs::File>], size: usize, work: &Work) -> Result<()> {
    let message = vec![0x5a; size];
    while !work.is_over() {
        for end in ends {
            (&**end).write_all(&message).context("messaging: sending")?;
        }
    }
    Ok(())
}

fn receive(end: OwnedFd, size: usize, work: &Work) -> Result<()> {
    let mut end = std::fs::File::from(end);
    let mut message = vec![0; size];
    while !work.is_over() {
        end.read_exact(&mut message).context("messaging: receiving")?;
        work.add("messages", 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["groups = 0", "pairs = 257", "size = 0", "by = \"mail\"", "groups = 256\npairs = 256"] {
            assert!(checked(bad.parse().unwrap()).is_err(), "{bad}");
        }
    }

    /// Messages arrive through sockets and pipes. At the end, senders and receivers end if they are awake.
    #[test]
    fn messages_arrive() {
        for by in ["sockets", "pipes"] {
            let load = checked(format!("pairs = 3\nby = \"{by}\"").parse().unwrap()).unwrap();
            let work = Work::of(&["messages"]);
            load.group(&work).unwrap();
            while work.done("messages") < 1000 {
                std::thread::yield_now();
            }
            work.end();
        }
    }

    #[test]
    fn the_program_is_asked_for_the_same() {
        let load = checked("groups = 3\npairs = 5\nsize = 64\nby = \"pipes\"".parse().unwrap()).unwrap();
        assert_eq!(load.hackbench().join(" "), "hackbench -T -g 3 -f 5 -l 100 -s 64 -p");
    }
}
