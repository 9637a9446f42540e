//! `rteval`: its summary.xml: the histogram of each core that cyclictest measured.

use crate::{
    cyclictest,
    floors::{Figures, Floors},
    format::{Asked, Format, Unit},
    imported::{Ending, Imported, Series},
};
use anyhow::{Context, Result, bail, ensure};
use quick_xml::{
    XmlVersion,
    events::{BytesStart, Event},
    reader::Reader,
};

/// The list entry.
pub const FORMAT: Format = Format { name: "rteval", about: "rteval's summary.xml with cyclictest", recognise, read };

fn recognise(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(4096)).unwrap_or_default();
    String::from_utf8_lossy(head).contains("<rteval ")
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>> {
    let attribute = element.try_get_attribute(name)?;
    attribute.map(|one| Ok(one.normalized_value(XmlVersion::Implicit1_0)?.into_owned())).transpose()
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T> {
    text.trim()
        .parse()
        .ok()
        .with_context(|| format!("{what}: `{}` is not a number", text.chars().take(100).collect::<String>()))
}

/// The part of a core's data that was read so far.
#[derive(Default)]
struct Core {
    id: u32,
    priority: Option<i64>,
    samples: Option<u64>,
    min: Option<i64>,
    max: Option<i64>,
    rows: Vec<(i64, u64)>,
    end: i64,
    timed: bool,
}

#[derive(Default)]
struct State {
    cores: Vec<Core>,
    imported: Imported,
    measured: bool,
    stamps: [Option<String>; 2],
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let text = std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
        .context("bytes that are not UTF-8")?;
    let mut reader = Reader::from_str(text);
    let (mut path, mut state): (Vec<String>, _) = (Vec::new(), State::default());
    let mut content = String::new();
    loop {
        let line = |reader: &Reader<&[u8]>| {
            let place = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
            let before = text.as_bytes().get(..place).unwrap_or_default();
            format!("line {}", before.iter().filter(|byte| **byte == b'\n').count() + 1)
        };
        let event = reader.read_event().with_context(|| line(&reader))?;
        match event {
            Event::Start(element) => {
                path.push(element.name().as_ref().to_owned());
                ensure!(path.len() <= 64, "{}: elements 64 deep", line(&reader));
                content.clear();
                state.begun(&path, &element).with_context(|| line(&reader))?;
            }
            Event::Empty(element) => {
                path.push(element.name().as_ref().to_owned());
                state.begun(&path, &element).with_context(|| line(&reader))?;
                path.pop();
            }
            Event::Text(part) if content.len() < 4096 => content.push_str(&part.xml10_content()),
            Event::End(_) => {
                state.ended(&path, content.trim()).with_context(|| line(&reader))?;
                content.clear();
                path.pop();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    ensure!(path.is_empty(), "the file ends within `{}`: it is cut", path.join("/"));
    state.finish(asked)
}

/// Returns the place of an element as in version 3.8. Version 2 has a `Profile` around each set of measurements, and earlier ones have
/// cyclictest directly in the root (rteval's server/parser/xmlparser.xsl distinguishes them).
fn place(path: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = path.iter().map(String::as_str).collect();
    match names[..] {
        ["rteval", "Measurements", "Profile", ..] => drop(names.remove(2)),
        ["rteval", "cyclictest", ..] => names.insert(1, "Measurements"),
        _ => {}
    }
    names
}

impl State {
    fn begun(&mut self, path: &[String], element: &BytesStart<'_>) -> Result<()> {
        let names = place(path);
        match names[..] {
            ["rteval"] => self.imported.version = attribute(element, "version")?,
            ["rteval", "Measurements", "timerlat"] => {
                bail!(
                    "rteval's timerlat adds up interrupts, threads and user threads in one histogram, so it is the distribution of none"
                )
            }
            ["rteval", "Measurements", "cyclictest"] => {
                ensure!(!self.measured, "cyclictest a second time");
                self.measured = true;
                if let Some(line) = attribute(element, "command_line")? {
                    cyclictest::commanded(&mut self.imported, &line);
                }
            }
            ["rteval", "Measurements", "cyclictest", "abort_report", "breaktrace"] => {
                let value = attribute(element, "measured_latency")?.context("a break without its latency")?;
                let value = Floors::of(Unit::Us).interval(number(&value, "measured_latency")?)?;
                self.imported.ending = Ending::Stopped { value, thread: None };
            }
            [.., "uname", "kernel"] => {
                if let Some(realtime) = attribute(element, "is_RT")? {
                    self.imported.machine.insert("realtime".into(), realtime);
                }
            }
            ["rteval", "Measurements", "cyclictest", "core"] => {
                let id = number(&attribute(element, "id")?.context("a core without id")?, "id")?;
                ensure!(self.cores.iter().all(|core| core.id != id), "core {id} a second time");
                ensure!(self.cores.len() < 8192, "more than 8192 cores");
                let priority = attribute(element, "priority")?.map(|text| number(&text, "priority")).transpose()?;
                self.cores.push(Core { id, priority, ..Core::default() });
            }
            ["rteval", "Measurements", "cyclictest", "core", "histogram"] => {
                let end = attribute(element, "nbuckets")?.map(|text| number(&text, "nbuckets")).transpose()?;
                let core = self.cores.last_mut().context("a histogram without a core")?;
                core.end = end.unwrap_or(i64::MAX);
                core.timed = true;
            }
            ["rteval", "Measurements", "cyclictest", "core", "histogram", "bucket"] => {
                let index: i64 = number(&attribute(element, "index")?.context("a bucket without index")?, "index")?;
                let count: u64 = number(&attribute(element, "value")?.context("a bucket without value")?, "value")?;
                let core = self.cores.last_mut().context("a bucket without a core")?;
                let after = core.rows.last().is_none_or(|(last, _)| *last < index);
                ensure!(index >= 0 && after && core.rows.len() < 10_000_000, "bucket {index} is out of order");
                if count > 0 {
                    core.rows.push((index, count));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, path: &[String], content: &str) -> Result<()> {
        let names = place(path);
        match names[..] {
            ["rteval", "Measurements", "cyclictest", "core", "statistics", name] => {
                let core = self.cores.last_mut().context("statistics without a core")?;
                match name {
                    "samples" => core.samples = Some(number(content, name)?),
                    "minimum" => core.min = Some(number(content, name)?),
                    "maximum" => core.max = Some(number(content, name)?),
                    _ => {}
                }
            }
            ["rteval", "Measurements", "cyclictest", "timestamps", "runloop_start"] => {
                self.stamps[0] = Some(content.into())
            }
            ["rteval", "Measurements", "cyclictest", "timestamps", "runloop_stop"] => {
                self.stamps[1] = Some(content.into())
            }
            [.., "uname", name @ ("kernel" | "node" | "arch")] => {
                let name = if name == "arch" { "architecture" } else { name };
                self.imported.machine.insert(name.into(), content.into());
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self, asked: &Asked) -> Result<Imported> {
        let Self { cores, mut imported, measured, stamps } = self;
        ensure!(measured, "no cyclictest among its measurements");
        ensure!(
            cores.iter().any(|core| core.samples.is_some()),
            "no statistics: rteval leaves them out if a sample was beyond the buckets (--cyclictest-buckets)"
        );
        (imported.tool, imported.title, imported.times) = ("rteval".into(), "cyclictest".into(), stamps);
        for (thread, core) in (0..).zip(cores) {
            let end = core.end.min(core.rows.last().map_or(0, |(last, _)| last.saturating_add(1)));
            let figures = Figures {
                rows: core.rows,
                collected: core.timed,
                end,
                over: Some(0),
                min: core.min,
                max: core.max,
                count: core.samples,
                mean: None,
                total: None,
                converted: false,
            };
            let series = Floors::of(Unit::Us).series(figures).with_context(|| format!("core {}", core.id))?;
            let mut series = cyclictest::series(Series { cpu: Some(core.id), ..series }, thread, asked);
            series.facts.extend(core.priority.map(|priority| ("priority".to_owned(), priority)));
            imported.series.push(series);
        }
        Ok(imported)
    }
}
