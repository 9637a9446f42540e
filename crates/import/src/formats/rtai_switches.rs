//! `rtai-switches`: RTAI's switches test: the mean time of a switch between tasks, one line for each way to switch.
//! Source: `testsuite/{kern,kthreads,user}/switches` in RTAI 3.6 to 5.1.

use crate::{
    doubt::{Doubt, Figure},
    format::{Asked, Format},
    imported::{Ending, Imported, Series},
    text::{TORN, contains, lines, number, plain, shown, torn},
};
use anyhow::{Context, Result, bail, ensure};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "rtai-switches",
    about: "RTAI's switches: the mean of many switches by suspending, semaphores, messages and calls",
    recognise,
    read,
};

/// The ways to switch: what the test prints, and the label `by`.
const WAYS: [(&str, &str); 4] =
    [("SUSP/RES", "suspend"), ("SEM SIG/WAIT", "semaphore"), ("SEND/RCV", "message"), ("RPC/RCV-RET", "rpc")];

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).any(|(_, line)| contains(line, b" TASKS: TIME ") && contains(line, b" SWITCHES "))
}

/// The figures of a line.
struct Switches {
    by: &'static str,
    tasks: i64,
    /// The time of all switches, in ms.
    all_ms: i64,
    count: i64,
    /// The mean, in ns.
    mean_ns: i64,
    /// Whether each switch saved the floating-point registers.
    with_fpu: bool,
}

/// Reads what follows `FOR` in a line: `10 TASKS: TIME 5 (ms), SUSP/RES SWITCHES 40000, SWITCH TIME 145 (ns)`.
fn switches(text: &str) -> Option<Switches> {
    // Some versions print `FOR 10 RTAI KERNEL TASKS`.
    let (tasks, rest) = text.split_once(" TASKS: TIME ")?;
    let (all_ms, rest) = rest.split_once(" (ms), ")?;
    let (way, rest) = rest.split_once(" SWITCHES ")?;
    let (count, rest) = rest.split_once(", SWITCH TIME ")?;
    let plain = rest.strip_prefix("(INCLUDING FULL FP SUPPORT) ");
    let mean_ns = plain.unwrap_or(rest).strip_suffix(" (ns)")?;
    let [tasks, all_ms, count, mean_ns] =
        [tasks.split(' ').next()?, all_ms, count, mean_ns].map(|text| number(text.as_bytes()));
    let by = WAYS.iter().find(|(printed, _)| *printed == way)?.1;
    let all =
        Switches { by, tasks: tasks?, all_ms: all_ms?, count: count?, mean_ns: mean_ns?, with_fpu: plain.is_some() };
    (all.tasks > 0 && all.all_ms >= 0 && all.count > 0 && all.mean_ns >= 0).then_some(all)
}

impl Switches {
    fn series(&self, asked: &Asked) -> Series {
        // Some of RTAI's machines round the mean, and others truncate it.
        let [low, high] = [self.mean_ns.saturating_sub(1), self.mean_ns.saturating_add(1)].map(|ns| ns as f64);
        let allowed = [self.all_ms.saturating_sub(1), self.all_ms.saturating_add(1)];
        let [from, to] = allowed.map(|ms| ms.max(0) as f64 * 1e6 / self.count as f64);
        let is_believed = low <= to && from <= high;
        let why = format!("it is {} ns, but the time of all switches allows {from:.0} to {to:.0}", self.mean_ns);
        Series {
            quantity: "switch".into(),
            heading: "Switch".into(),
            labels: [("by".to_owned(), self.by.to_owned())].into(),
            cpu: asked.cpus.first().copied(),
            unit: "ns",
            count: u64::try_from(self.count).ok(),
            mean: is_believed.then_some([low, high]),
            facts: [("tasks".to_owned(), self.tasks)].into(),
            doubts: if is_believed { Vec::new() } else { vec![Doubt::of(Figure::Mean, why)] },
            ..Series::default()
        }
    }
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = torn(bytes);
    let mut all: Vec<Switches> = Vec::new();
    for (at, raw) in lines(bytes).filter(|(at, _)| torn != Some(*at)) {
        let clean = plain(raw);
        let line = String::from_utf8_lossy(&clean);
        // The system's log puts a time and a name before it.
        let Some((_, text)) = line.split_once("FOR ").filter(|(_, text)| text.contains(" TASKS:")) else { continue };
        let one = switches(text.trim()).with_context(|| format!("line {at}: `{}`", shown(line.as_bytes())))?;
        ensure!(all.iter().all(|other| other.by != one.by), "line {at}: a second run: keep one run per file");
        all.push(one);
    }
    let mut imported = Imported {
        tool: "RTAI switches".into(),
        title: "rtai switches".into(),
        command: asked.args.clone(),
        ..Imported::default()
    };
    let has = |by: &str| all.iter().any(|one| one.by == by);
    imported.ending = match torn {
        _ if all.is_empty() => bail!("no line of switches with figures"),
        Some(at) => Ending::Interrupted(format!("line {at} {TORN}")),
        None if !has("semaphore") => Ending::Interrupted("the file has no line SEM SIG/WAIT".into()),
        None => Ending::Complete,
    };
    if !has("rpc") {
        imported.notes.push("no line RPC/RCV-RET: old versions print none, or somebody cut the file".into());
    }
    if all.iter().any(|one| one.with_fpu) {
        imported.notes.push("each switch saved the floating-point registers".into());
    }
    imported.series = all.iter().map(|one| one.series(asked)).collect();
    Ok(imported)
}
