//! `rtla-osnoise-top`: `rtla osnoise top` and `rtla hwnoise`: the largest single noise of each CPU, and the counts of what interrupted it.

use crate::{
    format::{Asked, Format},
    imported::{Imported, Interval, Series},
    progress,
    rtla::{self, duration, place},
    text::{self, TORN, lines, number, plain, shown},
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "rtla-osnoise-top", about: "rtla osnoise top and rtla hwnoise, 6.1 and newer", recognise, read };

const TITLES: [&str; 2] = ["Operating System Noise", "Hardware-related Noise"];
/// The counters at the end of a line, if there are any.
const COUNTERS: [&str; 5] = ["hw", "nmi", "irq", "softirq", "thread"];

fn title(line: &[u8]) -> Option<usize> {
    TITLES.iter().position(|title| plain(line).trim_ascii() == title.as_bytes())
}

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).any(|(_, line)| title(line).is_some())
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let mut imported = Imported { tool: "rtla".into(), command: asked.args.clone(), ..Imported::default() };
    let (mut cpus, mut rest, mut whole, mut hardware, mut counters) = (Vec::new(), Vec::new(), true, false, None);
    let mut before = Vec::new();
    for (at, raw) in lines(bytes) {
        if let Some(which) = title(raw) {
            let other = !imported.series.is_empty() && hardware != (which == 1);
            ensure!(!other, "line {at}: the other kind of noise: keep one run per file");
            hardware = which == 1;
            (counters, whole, rest) = (None, true, Vec::new());
            cpus.clear();
            if !imported.series.is_empty() {
                before = std::mem::take(&mut imported.series);
            }
            continue;
        }
        let clean = plain(raw);
        let text = String::from_utf8_lossy(&clean);
        let line = text.trim();
        if torn == Some(at) {
            ensure!(counters.is_some(), "line {at} {TORN}");
            whole = false;
            break;
        }
        if let Some(text) = line.strip_prefix("duration:") {
            let (time, unit) = text.split_once('|').with_context(|| format!("line {at}: no unit"))?;
            imported.elapsed_ns = Some(duration(time).with_context(|| format!("line {at}: no duration"))?);
            ensure!(unit.trim() == "time is in us", "line {at}: a unit that is not us: `{}`", shown(unit.as_bytes()));
        } else if line.starts_with("CPU ") && line.contains("Max Single") {
            let (_, names) = line.split_once("Max Single").unwrap_or_default();
            let named = names.split_ascii_whitespace().map(str::to_ascii_lowercase);
            let known = named.clone().zip(COUNTERS).all(|(own, known)| own == known);
            let count = named.count();
            ensure!(known && count <= COUNTERS.len(), "line {at}: counters `{}`", shown(names.as_bytes()));
            counters = Some(count);
        } else if let (Some(counters), true) = (counters, line.starts_with(|first: char| first.is_ascii_digit())) {
            let series = row(line, counters, hardware, &mut cpus).with_context(|| format!("line {at}"))?;
            progress::blocks(&before, std::slice::from_ref(&series)).with_context(|| format!("line {at}"))?;
            imported.series.push(series);
        } else if !line.is_empty() {
            ensure!(rest.len() < 10_000, "line {at}: too many lines below the table");
            rest.push(shown(&clean));
        }
    }
    ensure!(counters.is_some(), "the file ends before the line that names its columns");
    ensure!(!imported.series.is_empty(), "no CPU has a line");
    imported.title = if hardware { "hwnoise" } else { "osnoise" }.into();
    rtla::rest(&mut imported, &rest, whole);
    Ok(imported)
}

/// Reads a CPU's line: period, runtime, noise, share, largest noise, largest single one, counters.
fn row(line: &str, counters: usize, hardware: bool, cpus: &mut Vec<u32>) -> Result<Series> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [cpu, period, runtime, noise, share, most, single, counted @ ..] = &words[..] else {
        anyhow::bail!("not all its columns are there")
    };
    ensure!(counted.len() == counters, "{} counters, but its header has {counters}", counted.len());
    let cpu: u32 = cpu.parse().context("no CPU")?;
    ensure!(!cpus.contains(&cpu) && cpus.len() < 8192, "CPU {cpu} a second time, or more than 8192");
    let value = |word: &str| {
        let value = number(word.as_bytes()).filter(|value| *value >= 0);
        value.with_context(|| format!("`{}` is not a number from 0", shown(word.as_bytes())))
    };
    let single = value(single)?.checked_mul(1000).context("a value beyond 2^63 ns")?;
    let share = share.replacen('.', "", 1);
    ensure!(share.parse::<u64>().is_ok(), "no share of available time");
    let mut series = Series {
        quantity: "gap".into(),
        heading: if hardware { "Hardware noise" } else { "Noise" }.into(),
        unit: "ns",
        thread: place(cpus, cpu),
        cpu: Some(cpu),
        max: Some(Interval::between(single, single.saturating_add(999))),
        width: Some(1000),
        ..Series::default()
    };
    if hardware {
        series.labels.insert("kind".into(), "hardware".into());
    }
    let period = period.strip_prefix('#').context("no `#` with the periods")?;
    let told = [("periods", period), ("runtime_us", runtime), ("noise_us", noise), ("max_noise_us", most)];
    for (name, word) in told.into_iter().chain(COUNTERS.into_iter().zip(counted.iter().copied())) {
        series.facts.insert(name.into(), value(word)?);
    }
    Ok(series)
}
