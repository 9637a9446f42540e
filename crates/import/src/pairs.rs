//! pmqtest, ptsematest, svsematest, sigwaittest: pairs of threads that wake each other, as text and as JSON.

use crate::{
    cyclictest,
    floors::{Figures, Floors},
    format::{Asked, Unit},
    imported::{Finding, Imported, Series, Severity},
    progress::Progress,
    rt_json, status,
    text::{TORN, contains, lines, number, plain, shown, torn},
};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The most pairs.
const MOST: u64 = 8192;

/// A pair as text or JSON describes it; times in us.
#[derive(Clone, Debug, Default)]
struct Pair {
    /// The kernel's ids of the receiver and the sender, once they run.
    tasks: [Option<u64>; 2],
    /// The CPU of the receiver, whose wake-up the tool measures, and the CPU of the sender.
    cpus: [Option<u32>; 2],
    priority: Option<i64>,
    interval: Option<i64>,
    timeouts: Option<i64>,
    cycles: Option<u64>,
    min: Option<i64>,
    max: Option<i64>,
    mean: Option<[f64; 2]>,
    /// The extremes in the block before: a count and the figures of one moment belong together.
    before: Progress,
}

/// Whether a text has pairs; with `timeouts`, pairs with the timeouts that only pmqtest prints.
pub fn is_text(bytes: &[u8], timeouts: bool) -> bool {
    let pair = lines(bytes).take(10_000).map(|(_, line)| plain(line).into_owned()).find(|line| is_head(line));
    pair.is_some_and(|line| contains(&line, b", TO ") == timeouts)
}

fn is_head(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"#") && contains(line, b": I") && contains(line, b"; #")
}

/// Reads the text or JSON of a tool; `by` names what wakes the receiver.
///
/// # Errors
/// What is wrong, and in which line.
pub fn read(bytes: &[u8], asked: &Asked, tool: &str, by: &str) -> Result<Imported> {
    let (mut imported, pairs) = match rt_json::is_of(bytes, tool, &["sender", "receiver"], &[]) {
        true => json(bytes, asked, tool)?,
        false => {
            let (mut imported, pairs) = (cyclictest::described(tool, asked), text(bytes)?);
            let blocks = lines(bytes).filter(|(_, line)| is_head(&plain(line))).count();
            imported.notes.extend((blocks > pairs.len()).then(|| status::LIVE.to_owned()));
            (imported, pairs)
        }
    };
    ensure!(!pairs.is_empty(), "no pair of threads");
    // In these tools `-p` is a priority, and `-m` and `-S` do not concern memory.
    imported.findings.clear();
    let prio = pairs.values().next().and_then(|pair| pair.priority).filter(|priority| (1..=99).contains(priority));
    let prio = prio.filter(|priority| pairs.values().all(|pair| pair.priority == Some(*priority)));
    let timeouts = pairs.values().filter_map(|pair| pair.timeouts).fold(0, i64::saturating_add);
    imported.findings.extend((timeouts > 0).then(|| Finding {
        severity: Severity::Note,
        name: "timeouts".into(),
        text: format!("{timeouts} receptions timed out (-f forces them): the figures do not contain these messages"),
    }));
    imported.policy = prio.map(|priority| format!("fifo {priority}"));
    for (thread, (_, pair)) in (0u32..).zip(pairs) {
        let series = pair.series(thread, by, asked).with_context(|| format!("pair {thread}"))?;
        imported.series.push(series);
    }
    Ok(imported)
}

impl Pair {
    fn series(self, thread: u32, by: &str, asked: &Asked) -> Result<Series> {
        let unit = Floors::of(asked.unit.unwrap_or(Unit::Us));
        let figures = Figures {
            min: self.min,
            max: self.max,
            mean: self.mean,
            count: self.cycles,
            over: Some(0),
            ..Figures::default()
        };
        let series = unit.series(figures)?;
        let [receiver, sender] = self.cpus.map(|cpu| cpu.map(i64::from));
        let facts = [
            ("priority", self.priority),
            ("interval_us", self.interval),
            ("timeouts", self.timeouts),
            ("sender_cpu", sender.filter(|_| sender != receiver)),
        ];
        Ok(Series {
            quantity: "switch".into(),
            heading: "Wake-up of the partner".into(),
            labels: [("by".to_owned(), by.to_owned())].into(),
            thread,
            cpu: self.cpus.first().copied().flatten().or_else(|| asked.cpus.get(thread as usize).copied()),
            facts: facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect(),
            ..series
        })
    }
}

/// Reads the pairs of a text: the last block, if the text is a terminal's output with several.
fn text(bytes: &[u8]) -> Result<BTreeMap<u64, Pair>> {
    let torn = torn(bytes);
    let mut pairs: BTreeMap<u64, Pair> = BTreeMap::new();
    for (at, line) in lines(bytes) {
        let clean = plain(line);
        let line = clean.trim_ascii();
        if !line.starts_with(b"#") {
            continue;
        }
        let text = std::str::from_utf8(line).with_context(|| format!("line {at}: not text (UTF-8)"))?;
        let told = if is_head(line) {
            head(text, &mut pairs)
        } else if text.contains("->") {
            figures(text, &mut pairs)
        } else {
            continue;
        };
        told.with_context(|| format!("line {at}: `{}`", shown(line)))?;
        ensure!(torn != Some(at), "line {at} {TORN}");
        ensure!(pairs.len() as u64 <= MOST, "line {at}: more than {MOST} pairs");
    }
    for (pair, of) in &pairs {
        ensure!(of.cycles.is_some(), "pair {pair} has figures but no cycles");
        // A pair that is not ready yet has no cycle either.
        let whole = of.max.is_some() || of.cycles == Some(0);
        ensure!(whole, "pair {pair} has {} cycles but no figures: its last block is cut", of.cycles.unwrap_or(0));
    }
    Ok(pairs)
}

/// `#0: ID1, P95, CPU0, I500; #1: ID2, P95, CPU0, TO 0, Cycles 2000`
fn head(text: &str, pairs: &mut BTreeMap<u64, Pair>) -> Result<()> {
    let (sender, receiver) = text.split_once(';').context("no `;`")?;
    let index = own_index(sender)?;
    ensure!(own_index(receiver)? == index + 1, "not a pair");
    let of = |part: &str, name: &str| -> Result<Option<i64>> {
        let words = part.split([',', ':']).map(str::trim);
        let found = words
            .filter_map(|word| word.strip_prefix(name))
            .find(|rest| rest.trim_start().bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-'));
        found.map(|rest| number(rest.as_bytes()).with_context(|| format!("{name}: not a number"))).transpose()
    };
    let cpu = |part: &str| -> Result<Option<u32>> { Ok(of(part, "CPU")?.and_then(|cpu| u32::try_from(cpu).ok())) };
    let cycles = of(receiver, "Cycles")?.context("no `Cycles`")?;
    let task = |part: &str| -> Result<Option<u64>> {
        Ok(of(part, "ID")?.and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0))
    };
    let cycles = u64::try_from(cycles).context("cycles below 0")?;
    // Before its first cycle a thread's entry may show the id of another thread.
    let tasks = if cycles > 0 { [task(receiver)?, task(sender)?] } else { [None; 2] };
    ensure!(
        receiver.rsplit(',').next().is_some_and(|last| last.contains("Cycles")),
        "the text after `Cycles` is not a number"
    );
    let known = pairs.remove(&index).unwrap_or_default();
    for (before, task) in known.tasks.into_iter().zip(tasks) {
        let before = Progress { task: before, count: known.cycles, ..Progress::default() };
        before.then(&Progress { task, count: Some(cycles), ..Progress::default() })?;
    }
    pairs.insert(
        index,
        Pair {
            tasks,
            cpus: [cpu(receiver)?, cpu(sender)?],
            priority: of(receiver, "P")?,
            interval: of(sender, "I")?,
            timeouts: of(receiver, "TO")?,
            cycles: Some(cycles),
            before: Progress {
                min: known.min.or(known.before.min),
                max: known.max.or(known.before.max),
                ..known.before
            },
            ..Pair::default()
        },
    );
    Ok(())
}

/// `#1 -> #0, Min    1, Cur    1, Avg    1, Max   56`, or `#1 -> #0 (not yet ready)`.
fn figures(text: &str, pairs: &mut BTreeMap<u64, Pair>) -> Result<()> {
    let (receiver, rest) = text.split_once("->").context("no `->`")?;
    let receiver = own_index(receiver)?;
    let index = receiver.checked_sub(1).context("a receiver without sender")?;
    let Some((sender, rest)) = rest.split_once(',') else {
        ensure!(rest.contains("not yet ready"), "no figures");
        return Ok(());
    };
    ensure!(own_index(sender)? == index, "not a pair");
    // `Max 5,600` does not mean 5.
    let known = |word: &str| ["Min", "Cur", "Avg", "Max"].iter().any(|name| word.trim().starts_with(name));
    ensure!(rest.split(',').all(known), "the text between commas is not a figure");
    let of = |name: &str| -> Result<i64> {
        let found = rest.split(',').map(str::trim).find_map(|word| word.strip_prefix(name));
        found.and_then(|value| number(value.as_bytes())).with_context(|| format!("no `{name}`"))
    };
    let (min, avg, max) = (of("Min")?, of("Avg")?, of("Max")?);
    let pair = pairs.entry(index).or_default();
    // Before the first cycle the tool prints only its start values: a least of -1, an arbitrary mean.
    if pair.cycles == Some(0) {
        return Ok(());
    }
    ensure!(avg >= 0, "an average below 0");
    let same = Progress { min: pair.min, max: pair.max, ..pair.before };
    ensure!(
        pair.max.is_none() || same == Progress { min: Some(min), max: Some(max), ..same },
        "its figures a second time"
    );
    pair.before.then(&Progress { min: Some(min), max: Some(max), ..Progress::default() })?;
    // sigwaittest rounds its mean. latido cannot distinguish a version that truncates it.
    (pair.min, pair.max, pair.mean) = (Some(min), Some(max), Some([(avg as f64 - 0.5).max(0.0), avg as f64 + 1.0]));
    Ok(())
}

/// Parses the number behind `#`.
fn own_index(text: &str) -> Result<u64> {
    let (_, rest) = text.split_once('#').context("no `#`")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    match digits.parse() {
        Ok(index) if index < 2 * MOST => Ok(index),
        _ => bail!("no number after `#`"),
    }
}

#[derive(Deserialize)]
struct Both {
    sender: Sender,
    receiver: Receiver,
}

#[derive(Deserialize)]
struct Sender {
    cpu: Option<u32>,
    samples: u64,
    interval: Option<i64>,
}

#[derive(Deserialize)]
struct Receiver {
    cpu: Option<u32>,
    priority: Option<i64>,
    timeoutcount: Option<i64>,
    min: i64,
    avg: Option<f64>,
    max: i64,
}

fn json(bytes: &[u8], asked: &Asked, tool: &str) -> Result<(Imported, BTreeMap<u64, Pair>)> {
    let (document, notes) = rt_json::read::<Both>(bytes)?;
    let imported = document.imported(tool, notes, asked);
    let pair = |(index, Both { sender, receiver }): (u64, Both)| {
        let pair = Pair {
            tasks: [None; 2],
            cpus: [receiver.cpu, sender.cpu],
            priority: receiver.priority,
            interval: sender.interval,
            timeouts: receiver.timeoutcount,
            cycles: Some(sender.samples),
            min: Some(receiver.min),
            max: Some(receiver.max),
            mean: receiver.avg.map(|avg| [avg - 0.005, avg + 0.005]),
            before: Progress::default(),
        };
        (index, pair)
    };
    Ok((imported, document.thread.0.into_iter().map(pair).collect()))
}
