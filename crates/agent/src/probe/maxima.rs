//! Tracers that keep only their longest value. latido reads and resets it once per second: one sample each.

use super::looking_on;
use crate::measure::{Gathered, Measurand, On, Stage, Tracer, Wanted};
use anyhow::{Context, Result, ensure};
use latido_model::cell::Cell;
use latido_sys::clock::Clock::Monotonic;
use latido_trace::text::{Latency, Reader};
use serde::{Deserialize, Serialize};
use std::{fmt::Write as _, fs, io::Write as _, path::Path};

/// The time that one sample covers, ns.
const SECOND: u64 = 1_000_000_000;

/// A last piece of time gives no sample if it is shorter than this, ns.
const HALF: u64 = SECOND / 2;

/// How much of a trace's text latido reads, bytes. The header contains everything that it needs.
const HEADER: usize = 1 << 16;

/// The name of the file with the details of each value.
const FILE: &str = "maxima.csv";

/// Whether the tracer also traces the kernel's functions (options/function-trace). The kernel's default is that it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Functions {
    /// It does not trace them.
    Off,
    /// It traces them: the latencies include the cost of that.
    On,
}

impl Functions {
    /// Returns its name in options and labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
        }
    }

    /// Adds the label `function` to what a probe measures, if the cell sets it.
    pub fn labelled(own: Option<Self>, measurand: Measurand) -> Measurand {
        match own {
            Some(own) => measurand.labelled("function", [own.name()]),
            None => measurand,
        }
    }
}

/// Returns what such a tracer needs. A threshold set by another program would make it record more than its longest value.
pub fn wanted(name: &'static str, functions: Option<Functions>) -> Wanted {
    let settings = vec![("tracing_thresh", "0".into())];
    let functions = functions == Some(Functions::On);
    Wanted::tracer(Tracer { name, maxima: true, functions, on: On::All, settings })
}

/// Refuses cells that make no sense with these tracers.
///
/// # Errors
/// The reason.
pub fn check(probe: &str, cell: &Cell) -> Result<()> {
    looking_on::check(probe, cell)?;
    ensure!(
        cell.conditions.trace.is_none(),
        "the tracer of `{probe}` clears its trace at each new maximum: omit --trace, or record at the same time with latido \
         trace record"
    );
    Ok(())
}

/// Measures one sample per second, for the seconds in which the tracer found anything. If the cell sets `functions`, a label of the series
/// repeats it.
///
/// # Errors
/// The instance cannot be read or reset.
pub fn measure(stage: &mut Stage<'_>, quantity: &str, functions: Option<Functions>) -> Result<()> {
    let (_tracefs, dir) = stage.instance()?;
    let begins = Monotonic.now().saturating_add(stage.cell.conditions.warmup.0);
    let mut seconds = Seconds { dir: &dir, since: 0, found: Vec::new(), empty: 0 };
    let interval = stage.watch(|| {
        let now = Monotonic.now();
        match seconds.since {
            _ if now < begins => {}
            0 => seconds.begin()?,
            since if now.saturating_sub(since) >= SECOND => seconds.end(now)?,
            _ => {}
        }
        Ok(true)
    })?;
    if seconds.since > 0 && interval.ended_ns.saturating_sub(seconds.since) >= HALF {
        seconds.end(interval.ended_ns)?;
    }
    let mut gathered = Gathered::over(interval);
    let label = functions.map(|functions| ("function", functions.name()));
    let place = gathered.open(stage.series(quantity)?, label.as_slice())?;
    for longest in &seconds.found {
        gathered.sample(place, i64::try_from(longest.ns).unwrap_or(i64::MAX), longest.begin, longest.end);
    }
    gathered.fact(place, "empty_seconds", seconds.empty);
    stage.attach(FILE)?.write_all(table(&seconds.found, interval.first_slot_ns).as_bytes())?;
    stage.deliver(gathered)
}

/// The longest value of a second.
#[derive(Debug)]
struct Longest {
    begin: u64,
    end: u64,
    ns: u64,
    /// The task and functions that it hit, if the kernel reports them.
    latency: Option<Latency>,
}

struct Seconds<'a> {
    dir: &'a Path,
    since: u64,
    found: Vec<Longest>,
    /// Seconds without a value.
    empty: u64,
}

impl Seconds<'_> {
    fn begin(&mut self) -> Result<()> {
        let path = self.dir.join("tracing_max_latency");
        fs::write(&path, "0").with_context(|| format!("cannot reset {}", path.display()))?;
        self.since = Monotonic.now();
        Ok(())
    }

    /// Takes the value of this second and begins the next.
    fn end(&mut self, end: u64) -> Result<()> {
        let path = self.dir.join("tracing_max_latency");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // In microseconds. A value below one microsecond counts as no value.
        let us = text.trim().parse::<u64>().ok().filter(|us| *us > 0);
        let begin = self.since;
        match us {
            None => self.empty += 1,
            Some(us) => {
                // If another one came directly after, the text is about that one, which is longer.
                let latency = header(&self.dir.join("trace")).filter(|latency| latency.us >= us);
                let us = latency.as_ref().map_or(us, |latency| latency.us);
                self.found.push(Longest { begin, end, ns: us.saturating_mul(1000), latency });
            }
        }
        self.begin()
    }
}

/// Reads what the header of a trace's text reports about the longest latency. Some kernels print no such header.
fn header(path: &Path) -> Option<Latency> {
    use std::io::Read;
    let (mut reader, mut text) = (Reader::default(), Vec::new());
    fs::File::open(path).ok()?.take(HEADER as u64).read_to_end(&mut text).ok()?;
    reader.push(&text, |_, _| {});
    reader.header().latency.clone()
}

/// Formats the table, with one line per sample.
fn table(found: &[Longest], origin: u64) -> String {
    let mut csv = String::from("begin_s,longest_us,cpu,begin_function,end_function,task,pid\n");
    for one in found {
        let begin = one.begin.saturating_sub(origin) as f64 / SECOND as f64;
        let word = |text: Option<&str>| text.unwrap_or_default().replace([',', '"', '\n'], " ");
        let latency = one.latency.as_ref();
        let cpu = latency.map_or_else(String::new, |latency| latency.cpu.to_string());
        let pid = latency.map_or_else(String::new, |latency| latency.pid.to_string());
        let functions = [latency.and_then(|of| of.started.as_deref()), latency.and_then(|of| of.ended.as_deref())];
        let [started, ended] = functions.map(word);
        let task = word(latency.map(|latency| latency.task.as_str()));
        let _ = writeln!(csv, "{begin:.3},{},{cpu},{started},{ended},{task},{pid}", one.ns / 1000);
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "# tracer: irqsoff\n#\n# irqsoff latency trace v1.1.5 on 6.12.0\n\
        # --------------------------------------------------------------------\n\
        # latency: 259 us, #4/4, CPU#2 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)\n#    -----------------\n\
        #    | task: ps-6143 (uid:0 nice:0 policy:0 rt_prio:0)\n#    -----------------\n\
        #  => started at: __lock_task_sighand\n#  => ended at:   _raw_spin_unlock_irqrestore\n#\n";

    /// A fake instance must give a value with its text, a value without text, and a second without a value.
    #[test]
    fn each_second_has_its_longest_with_its_functions_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut seconds = Seconds { dir: dir.path(), since: 0, found: Vec::new(), empty: 0 };
        let put = |max: &str, trace: &str| {
            fs::write(dir.path().join("tracing_max_latency"), max).unwrap();
            fs::write(dir.path().join("trace"), trace).unwrap();
        };
        for (max, trace) in [("259\n", TRACE), ("7\n", "# tracer: irqsoff\n#\n"), ("0\n", TRACE), ("300\n", TRACE)] {
            seconds.begin().unwrap();
            put(max, trace);
            let end = seconds.since + 5;
            seconds.end(end).unwrap();
            assert_eq!(fs::read_to_string(dir.path().join("tracing_max_latency")).unwrap(), "0", "it is reset");
        }
        assert_eq!(seconds.found.iter().map(|one| one.ns).collect::<Vec<_>>(), [259_000, 7_000, 300_000]);
        assert_eq!(seconds.empty, 1, "none is no zero");
        let csv = table(&seconds.found, 0);
        let lines: Vec<&str> = csv.lines().map(|line| line.split_once(',').unwrap().1).collect();
        let pair = "259,2,__lock_task_sighand,_raw_spin_unlock_irqrestore,ps,6143";
        assert_eq!(lines[1..], [pair, "7,,,,,", "300,,,,,"], "an older text is not of a longer value");
    }
}
