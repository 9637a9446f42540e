//! `rtla-timerlat-top`: `rtla timerlat top`: extremes and means of each CPU; the last block of a screen counts.

use crate::{
    format::{Asked, Format},
    formats::rtla_timerlat_hist::named,
    imported::{Ending, Imported, Interval, Series},
    progress,
    rtla::{self, duration, place},
    text::{self, TORN, lines, number, plain, shown},
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "rtla-timerlat-top", about: "rtla timerlat top, 6.1 and newer", recognise, read };

const TITLE: &str = "Timer Latency";

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).any(|(_, line)| plain(line).trim_ascii() == TITLE.as_bytes())
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let mut imported =
        Imported { tool: "rtla".into(), title: "timerlat".into(), command: asked.args.clone(), ..Imported::default() };
    let (mut kinds, mut unit, mut cpus, mut rest, mut whole) = (Vec::new(), 1000, Vec::new(), Vec::new(), true);
    let mut before = Vec::new();
    for (at, raw) in lines(bytes) {
        let clean = plain(raw);
        let text = String::from_utf8_lossy(&clean);
        let line = text.trim();
        if line == TITLE {
            (kinds, whole) = (Vec::new(), true);
            cpus.clear();
            if !imported.series.is_empty() {
                before = std::mem::take(&mut imported.series);
            }
            rest = Vec::new();
            continue;
        }
        if torn == Some(at) {
            ensure!(!kinds.is_empty(), "line {at} {TORN}");
            whole = false;
            break;
        }
        let mut groups = line.split('|').map(str::trim);
        let first = groups.next().unwrap_or_default();
        if line.is_empty() || first.starts_with("CPU ") || first.starts_with("---") || first.starts_with("ALL ") {
            continue;
        }
        if line.contains("Timer Latency (") {
            imported.elapsed_ns = Some(duration(first).with_context(|| format!("line {at}: no duration"))?);
            (unit, kinds) = header(groups).with_context(|| format!("line {at}"))?;
        } else if first.starts_with(|first: char| first.is_ascii_digit()) && line.contains('|') {
            ensure!(!kinds.is_empty(), "line {at}: a CPU before the line that names the columns");
            let added = row(first, groups, &kinds, unit, &mut cpus).with_context(|| format!("line {at}"))?;
            progress::blocks(&before, &added).with_context(|| format!("line {at}"))?;
            imported.series.extend(added);
        } else {
            ensure!(rest.len() < 10_000, "line {at}: too many lines below the table");
            rest.push(shown(&clean));
        }
    }
    ensure!(!kinds.is_empty(), "the file ends before the line that names its columns");
    ensure!(!imported.series.is_empty(), "no CPU has a line");
    rtla::rest(&mut imported, &rest, whole);
    if !whole && imported.ending == Ending::Complete {
        imported.ending = Ending::Interrupted("the file ends within a line".into());
    }
    Ok(imported)
}

/// Returns the unit, and what each group of columns measures.
fn header<'a>(groups: impl Iterator<Item = &'a str>) -> Result<(i64, Vec<&'static str>)> {
    let (mut units, mut kinds) = (Vec::new(), Vec::new());
    for group in groups {
        let kind = match group.split_once(" Timer Latency ") {
            Some(("IRQ", unit)) => ("IRQ", unit),
            Some(("Thread", unit)) => ("Thr", unit),
            Some(("Ret user", unit)) => ("Usr", unit),
            _ => anyhow::bail!("`{}` is not a group of columns", shown(group.as_bytes())),
        };
        kinds.push(kind.0);
        units.push(match kind.1 {
            "(us)" => 1000,
            "(ns)" => 1,
            other => anyhow::bail!("a unit that is neither us nor ns: `{}`", shown(other.as_bytes())),
        });
    }
    let unit = *units.first().context("no group of columns")?;
    ensure!(units.iter().all(|own| *own == unit), "more than one unit");
    Ok((unit, kinds))
}

/// Reads a CPU's line: `0 #2751 | cur min avg max | ...`, with `-` for missing figures.
fn row<'a>(
    first: &str,
    groups: impl Iterator<Item = &'a str>,
    kinds: &[&str],
    unit: i64,
    cpus: &mut Vec<u32>,
) -> Result<Vec<Series>> {
    let (cpu, count) = first.split_once('#').context("no `#` with the count")?;
    let cpu: u32 = cpu.trim().parse().context("no CPU")?;
    ensure!(!cpus.contains(&cpu), "CPU {cpu} a second time");
    ensure!(cpus.len() < 8192, "more than 8192 CPUs");
    // The kernel's count is an int and may wrap.
    let count = number(count.as_bytes()).and_then(|count| u64::try_from(count).ok());
    let count = count.context("the count is not a number, or has wrapped")?;
    let thread = place(cpus, cpu);
    let (mut all, mut had) = (Vec::new(), 0);
    for group in groups {
        let kind = kinds.get(had).context("more groups than its header has")?;
        had += 1;
        let words: Vec<&str> = group.split_ascii_whitespace().collect();
        let [_, min, avg, max] = words[..] else {
            anyhow::bail!("not cur, min, avg and max: `{}`", shown(group.as_bytes()))
        };
        // This is the count of the interrupt; a thread may have had one less.
        let exact = *kind == "IRQ";
        let mut series =
            Series { unit: "ns", thread, cpu: Some(cpu), count: exact.then_some(count), ..Series::default() };
        series.facts.insert("irq_count".into(), i64::try_from(count)?);
        named(&mut series, kind)?;
        if [min, avg, max].contains(&"-") {
            ensure!([min, avg, max] == ["-"; 3], "figures with gaps: `{}`", shown(group.as_bytes()));
            all.push(series);
            continue;
        }
        let value = |word: &str| {
            let value = number(word.as_bytes()).filter(|value| *value >= 0);
            value
                .and_then(|value| value.checked_mul(unit))
                .with_context(|| format!("`{}` is not a time", shown(word.as_bytes())))
        };
        let floor = |low: i64| Interval::between(low, low.saturating_add(unit - 1));
        let (min, avg, max) = (value(min)?, value(avg)?, value(max)?);
        ensure!(min <= max, "its smallest value is above its largest");
        (series.min, series.max) = (Some(floor(min)), Some(floor(max)));
        series.mean = Some([avg as f64, avg as f64 + 2.0 * unit as f64]);
        series.width = (unit > 1).then_some(1000);
        all.push(series);
    }
    ensure!(had == kinds.len(), "{had} groups of columns, but its header has {}", kinds.len());
    Ok(all)
}
