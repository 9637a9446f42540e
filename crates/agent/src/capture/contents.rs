//! The kernel's description of a trace, read when the recording is over: formats, names, counts.

use super::{CLOCK, Chosen};
use crate::{
    machine::{Root, tracefs::Tracefs},
    measure::Stamped,
};
use anyhow::{Context, Result};
use latido_model::cpus::CpuSet;
use latido_trace::{bytes::Endian, format::Format, page::Layout, write::Contents};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// The greatest distance between an address and the symbol before it that names it, in bytes.
const REACH: u64 = 1 << 20;

/// The order of this machine's bytes.
const ENDIAN: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

/// The kernel's texts that describe a trace.
#[derive(Debug)]
pub struct Description {
    header_page: String,
    header_event: String,
    ftrace: Vec<String>,
    systems: Vec<(String, Vec<String>)>,
    printk: String,
    comms: String,
    statistics: Vec<(u32, String)>,
    cpus: u32,
    /// The layout of the trace's pages.
    pub layout: Layout,
}

impl Description {
    /// Reads the texts from the kernel.
    ///
    /// # Errors
    /// The layout of the pages or the format of an event cannot be read.
    pub fn read(
        tracefs: &Tracefs,
        instance: &Path,
        chosen: &Chosen,
        stamped: Option<&Stamped>,
        cpus: &CpuSet,
        ring: u64,
    ) -> Result<Self> {
        let events = tracefs.dir().join("events");
        let header_page = text(&events.join("header_page"))?;
        let layout = Layout::parse(&header_page, ENDIAN)?;
        let mut systems = BTreeMap::<String, Vec<String>>::new();
        // The formats of a tracer's events (`ftrace`) are read below in any case.
        let own = stamped.filter(|stamped| stamped.system != "ftrace" && stamped.by != "event");
        let own = own.map(|stamped| format!("{}:{}", stamped.system, stamped.event));
        for event in chosen.events.iter().chain(&own) {
            let system = event.split(':').next().unwrap_or_default();
            let format = text(&events.join(event.replace(':', "/")).join("format"))?;
            systems.entry(system.to_owned()).or_default().push(format);
        }
        let own = fs::read_dir(events.join("ftrace")).into_iter().flatten().flatten();
        let ftrace = own.filter_map(|entry| fs::read_to_string(entry.path().join("format")).ok()).collect();
        let statistics = cpus.iter().map(|cpu| {
            let counts = fs::read_to_string(instance.join(format!("per_cpu/cpu{cpu}/stats"))).unwrap_or_default();
            (cpu, format!("CPU: {cpu}\n{counts}ring size kb: {}\n", ring / 1024))
        });
        Ok(Self {
            header_event: text(&events.join("header_event"))?,
            ftrace,
            systems: systems.into_iter().collect(),
            printk: fs::read_to_string(tracefs.dir().join("printk_formats")).unwrap_or_default(),
            comms: comms(&fs::read_to_string(tracefs.dir().join("saved_cmdlines")).unwrap_or_default(), &alive()),
            statistics: statistics.collect(),
            cpus: crate::machine::online_cpus().iter().max().map_or(1, |highest| highest + 1),
            header_page,
            layout,
        })
    }

    /// Returns the number of events that a CPU lost: overwritten before latido read them, or never written.
    pub fn lost(&self, cpu: u32) -> u64 {
        let text = self.statistics.iter().find(|(of, _)| *of == cpu).map(|(_, text)| text.as_str());
        lost(text.unwrap_or_default())
    }

    /// Returns the formats of the recorded events.
    pub fn formats(&self) -> impl Iterator<Item = Format> {
        let all = self.systems.iter().flat_map(|(_, formats)| formats).chain(&self.ftrace);
        all.filter_map(|text| Format::parse(text).ok())
    }

    /// Returns the contents of the trace file. They include only the kernel symbols that these addresses need.
    pub fn contents(&self, sub_buffer: u32, addresses: &BTreeSet<u64>) -> Contents<'_> {
        fn borrowed(texts: &[String]) -> Vec<Cow<'_, str>> {
            texts.iter().map(|text| text.as_str().into()).collect()
        }
        let uname = rustix::system::uname();
        let words = [uname.sysname(), uname.nodename(), uname.release(), uname.machine()];
        let uname = words.map(|word| word.to_string_lossy().into_owned()).join(" ");
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        Contents {
            endian: ENDIAN,
            long: size_of::<usize>() as u8,
            page: u32::try_from(rustix::param::page_size()).unwrap_or(4096),
            header_page: self.header_page.as_str().into(),
            header_event: self.header_event.as_str().into(),
            ftrace: borrowed(&self.ftrace),
            systems: self.systems.iter().map(|(name, formats)| (name.as_str().into(), borrowed(formats))).collect(),
            kallsyms: needed(&symbols, addresses).into(),
            printk: self.printk.as_str().into(),
            comms: self.comms.as_str().into(),
            clock: CLOCK.into(),
            uname: uname.into(),
            recorder: concat!("latido ", env!("CARGO_PKG_VERSION")).into(),
            cpus: self.cpus,
            statistics: self.statistics.iter().map(|(_, text)| text.as_str().into()).collect(),
            sub_buffer,
        }
    }
}

/// Reads a file of tracefs. The kernel gives only as much of a header as fits into the first read, and std's first read is small.
fn text(path: &Path) -> Result<String> {
    let read = || -> io::Result<String> {
        let (mut file, mut bytes, mut piece) = (File::open(path)?, Vec::new(), vec![0; 1 << 16]);
        loop {
            let length = file.read(&mut piece)?;
            bytes.extend_from_slice(piece.get(..length).unwrap_or_default());
            if length == 0 {
                return Ok(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    };
    read().with_context(|| format!("{}", path.display()))
}

/// Adds up the counts of lost events in `per_cpu/cpuN/stats`.
fn lost(text: &str) -> u64 {
    let count = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    ["overrun", "commit overrun", "dropped events"].into_iter().map(count).sum()
}

/// Lists the numbers and names of all living tasks.
fn alive() -> Vec<(i32, String)> {
    let numbers = |dir: &str| -> Vec<i32> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let tasks = numbers("/proc").into_iter().flat_map(|pid| numbers(&format!("/proc/{pid}/task")));
    tasks.filter_map(|tid| Some((tid, Root::default().read(&format!("proc/{tid}/comm"))?))).collect()
}

/// Returns the names that the kernel saved, and adds the living tasks that it forgot.
fn comms(saved: &str, alive: &[(i32, String)]) -> String {
    let number = |line: &str| line.trim_start().split(' ').next()?.parse::<i32>().ok();
    let known: BTreeSet<i32> = saved.lines().filter_map(number).collect();
    let mut all = saved.to_owned();
    for (tid, name) in alive.iter().filter(|(tid, _)| !known.contains(tid)) {
        all.push_str(&format!("{tid} {name}\n"));
    }
    all
}

/// Returns the lines of `/proc/kallsyms` that name these addresses. With each comes the line of the next symbol, where this one ends.
fn needed(symbols: &str, addresses: &BTreeSet<u64>) -> String {
    if addresses.is_empty() {
        return String::new();
    }
    let address = |line: &str| u64::from_str_radix(line.split(' ').next()?, 16).ok().filter(|at| *at > 0);
    let mut all: Vec<(u64, &str)> = symbols.lines().filter_map(|line| Some((address(line)?, line))).collect();
    all.sort_by_key(|(at, _)| *at);
    let mut lines = BTreeSet::new();
    for wanted in addresses {
        let behind = all.partition_point(|(at, _)| at <= wanted);
        let Some((at, _)) = all.get(behind.wrapping_sub(1)) else { continue };
        if wanted - at < REACH {
            let first = all.partition_point(|(other, _)| other < at);
            lines.extend(all.get(first..(behind + 1).min(all.len())).unwrap_or_default());
        }
    }
    lines.into_iter().map(|(_, line)| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_all_kinds_are_added_up() {
        let text = "CPU: 1\nentries: 7\noverrun: 5\ncommit overrun: 2\nbytes: 9\ndropped events: 1\nread events: 3\n";
        assert_eq!((lost(text), lost("")), (8, 0));
    }

    #[test]
    fn symbols_are_those_that_are_named_with_their_ends() {
        let symbols = "ffffffff81000200 T third\nffffffff81000000 T first\nffffffff81000100 t second\n\
            ffffffff81000100 T alias\nffffffff82000000 D data\n0000000000000000 A zero\n";
        let needed = |addresses: &[u64]| needed(symbols, &addresses.iter().copied().collect());
        let names =
            |text: String| text.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(needed(&[0xffff_ffff_8100_0110])), ["alias", "second", "third"]);
        assert_eq!(names(needed(&[0xffff_8880_0000_0000, 1, 0xffff_ffff_8300_0000])), [""; 0], "no symbol is near");
        assert_eq!(names(needed(&[0xffff_ffff_8200_0001])), ["data"], "nothing is behind the last");
    }

    #[test]
    fn the_living_are_named_beside_those_that_the_kernel_remembers() {
        let all = comms("12 a name\n", &[(12, "other".into()), (13, "b".into())]);
        assert_eq!(all, "12 a name\n13 b\n");
    }
}
