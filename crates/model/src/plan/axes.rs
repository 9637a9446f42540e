//! The keys of a `[[group]]`, or of the command line in its place. Missing ones get their defaults at the end.

use super::{
    CELLS_MAX, Group, Probed, expand, items,
    node::{Keys, Node},
    scheduling,
    source::{At, Place, Problem},
};
use crate::{
    catalogue::{Catalogue, Kind, is_unknown},
    cell::{Conditions, Item, LAB, LOCAL, Level, RUNNING, Scheduling},
    cpus::CpuSet,
    explain::{self, explainable},
    suggest::{closest, nearest},
    units::Ns,
    written,
};
use std::collections::HashSet;
use toml::Value;

/// The keys of a group.
const KEYS: &[&str] = &[
    "target",
    "probe",
    "load",
    "tuning",
    "scheduling",
    "kernel",
    "cpus",
    "duration",
    "warmup",
    "limit",
    "stop_on",
    "max_temp",
    "trace",
    "explain",
    "repeat",
];

/// The most events that a plan may list; for more, it names their systems.
const EVENTS_MAX: usize = 256;

/// How long a cell measures by default.
const DURATION: Ns = Ns::from_secs(60);

/// The axes and common values of a group, as far as the plan sets them.
#[derive(Clone, Debug, Default)]
pub struct Axes {
    target: Option<Vec<String>>,
    kernel: Option<Vec<String>>,
    pub(super) tuning: Option<Vec<At<Level>>>,
    pub(super) load: Option<Vec<At<Level>>>,
    scheduling: Option<Vec<Scheduling>>,
    probe: Option<Vec<At<Item>>>,
    cpus: Option<CpuSet>,
    duration: Option<Ns>,
    warmup: Option<Ns>,
    limit: Option<Ns>,
    stop_on: Option<Ns>,
    max_temp: Option<i32>,
    trace: Option<Vec<String>>,
    explain: Option<At<u32>>,
    repeat: Option<u32>,
}

/// An option from the command line, for every probe of a plan that has it.
#[derive(Clone, Debug)]
pub struct ProbeOption {
    /// The option.
    pub key: String,
    /// Its value as typed.
    pub word: String,
    /// The word of the command line.
    pub place: Place,
}

impl Axes {
    /// Reads the keys of a group.
    pub fn read(keys: Keys, catalogue: &dyn Catalogue) -> Result<Self, Problem> {
        keys.only("a group", KEYS)?;
        let time = |key: &str| keys.get(key).map(|node| node.positive_time(key)).transpose();
        Ok(Self {
            probe: keys.get("probe").map(|node| items::probes(node, catalogue.list(Kind::Probe))).transpose()?,
            load: keys.get("load").map(|node| items::levels(node, catalogue.list(Kind::Load))).transpose()?,
            tuning: keys.get("tuning").map(|node| items::levels(node, catalogue.list(Kind::Tuning))).transpose()?,
            scheduling: keys.get("scheduling").map(scheduling::levels).transpose()?,
            target: keys.get("target").map(targets).transpose()?,
            kernel: keys.get("kernel").map(kernels).transpose()?,
            cpus: keys.get("cpus").map(cpus).transpose()?,
            duration: time("duration")?,
            warmup: keys.get("warmup").map(|node| node.time("warmup")).transpose()?,
            limit: time("limit")?,
            stop_on: time("stop_on")?,
            max_temp: match keys.get("max_temp") {
                Some(node) => Some(node.number("max_temp", 1..=200)? as i32),
                None => None,
            },
            trace: keys.get("trace").map(traced).transpose()?.flatten(),
            explain: keys.get("explain").map(explained).transpose()?.flatten(),
            repeat: match keys.get("repeat") {
                Some(node) => Some(node.number("repeat", 1..=CELLS_MAX as i64)? as u32),
                None => None,
            },
        })
    }

    /// Reads what a plan's size may set for every group: how long and how often latido measures.
    pub(super) fn of_size(keys: Keys) -> Result<Self, Problem> {
        let repeat = keys.get("repeat").map(|node| node.number("repeat", 1..=CELLS_MAX as i64)).transpose()?;
        Ok(Self {
            duration: keys.get("duration").map(|node| node.positive_time("duration")).transpose()?,
            warmup: keys.get("warmup").map(|node| node.time("warmup")).transpose()?,
            repeat: repeat.map(|repeat| repeat as u32),
            ..Self::default()
        })
    }

    /// Returns these axes, with every value replaced that `over` sets.
    pub fn overlaid(&self, over: &Self) -> Self {
        fn pick<T: Clone>(over: &Option<T>, base: &Option<T>) -> Option<T> {
            over.as_ref().or(base.as_ref()).cloned()
        }
        Self {
            target: pick(&over.target, &self.target),
            kernel: pick(&over.kernel, &self.kernel),
            tuning: pick(&over.tuning, &self.tuning),
            load: pick(&over.load, &self.load),
            scheduling: pick(&over.scheduling, &self.scheduling),
            probe: pick(&over.probe, &self.probe),
            cpus: pick(&over.cpus, &self.cpus),
            duration: pick(&over.duration, &self.duration),
            warmup: pick(&over.warmup, &self.warmup),
            limit: pick(&over.limit, &self.limit),
            stop_on: pick(&over.stop_on, &self.stop_on),
            max_temp: pick(&over.max_temp, &self.max_temp),
            trace: pick(&over.trace, &self.trace),
            explain: pick(&over.explain, &self.explain),
            repeat: pick(&over.repeat, &self.repeat),
        }
    }

    /// The levels of load and tuning with their places.
    pub fn levels(&self) -> impl Iterator<Item = (Kind, &At<Level>)> {
        let load = self.load.iter().flatten().map(|level| (Kind::Load, level));
        load.chain(self.tuning.iter().flatten().map(|level| (Kind::Tuning, level)))
    }

    /// Sets an option in every probe that has it; returns whether any probe has it.
    pub fn set(&mut self, option: &ProbeOption, catalogue: &dyn Catalogue) -> Result<bool, Problem> {
        let list = catalogue.list(Kind::Probe);
        let mut known = false;
        for probe in self.probe.iter_mut().flatten() {
            let value = list.value(&probe.it.name, &option.key, &option.word);
            match list.objection(&probe.it.name, &option.key, &value) {
                Some(error) if is_unknown(&error) => continue,
                Some(error) => return Err(option.place.problem(Kind::Probe.complaint(&probe.it.name, &error))),
                None => probe.it.options.insert(option.key.clone(), value),
            };
            known = true;
            if let Err(error) = list.read(&probe.it) {
                return Err(option.place.problem(Kind::Probe.complaint(&probe.it.name, &error)));
            }
        }
        // Levels that differed only in this option are now the same.
        let mut seen = HashSet::new();
        if let Some(probes) = &mut self.probe {
            probes.retain(|probe| seen.insert(written::item(&probe.it)));
        }
        Ok(known)
    }

    /// Replaces each probe that has this option by one probe per value; returns whether any probe has it.
    pub fn vary(&mut self, values: &[ProbeOption], catalogue: &dyn Catalogue) -> Result<bool, Problem> {
        let mut known = false;
        let mut all = Vec::new();
        for probe in self.probe.take().into_iter().flatten() {
            let mut own = HashSet::new();
            for value in values {
                let mut one = Self { probe: Some(vec![probe.clone()]), ..Self::default() };
                let has = one.set(value, catalogue)?;
                let set = one.probe.iter().flatten().filter_map(|probe| probe.it.options.get(&value.key));
                let set: Vec<String> = set.map(meaning).collect();
                if has && !own.insert(set) {
                    return Err(value.place.problem(format!("`{}` repeats an earlier value", value.word)));
                }
                known |= has;
                all.extend(one.probe.into_iter().flatten());
            }
        }
        // A probe without the option appeared once for each value.
        let mut seen = HashSet::new();
        all.retain(|probe| seen.insert(written::item(&probe.it)));
        self.probe = (!all.is_empty()).then_some(all);
        Ok(known)
    }

    /// The options that the probes have, for "did you mean".
    pub fn probe_options(&self, catalogue: &dyn Catalogue) -> Vec<String> {
        let list = catalogue.list(Kind::Probe);
        self.probe.iter().flatten().flat_map(|probe| list.options(&probe.it.name)).collect()
    }

    /// Fills in the defaults and checks whether each probe can measure such cells.
    pub fn finish(self, place: &Place, catalogue: &dyn Catalogue) -> Result<Group, Problem> {
        let Some(probes) = self.probe else {
            return Err(place.problem("a group needs the key `probe`, for example probe = [\"wakeup\"]"));
        };
        let unexplained = probes.iter().find(|probe| explainable(&probe.it.name).is_none());
        if let (Some(explain), Some(probe)) = (&self.explain, unexplained) {
            return Err(explain.place.problem(format!(
                "explain: samples of `{}` are not times of one thread; latido explains those of wakeup, interrupt, gap and task",
                probe.it.name
            )));
        }
        let levels = |levels: Option<Vec<At<Level>>>, kind| match levels {
            Some(levels) => levels.into_iter().map(|level| level.it).collect(),
            None => vec![Level { id: items::nothing(kind).into(), items: Vec::new() }],
        };
        let duration = self.duration.unwrap_or(DURATION);
        let mut probe = Vec::new();
        let mut places = Vec::new();
        for At { it: item, place } in probes {
            // The options were checked when the probe was read, so this does not fail now.
            let measurand =
                catalogue.measurand(&item).map_err(|error| place.problem(Kind::Probe.complaint(&item.name, &error)))?;
            probe.push(Probed { item, measurand });
            places.push(place);
        }
        let chosen = self.scheduling.is_some();
        let group = Group {
            target: self.target.unwrap_or_else(|| vec![LOCAL.into()]),
            kernel: self.kernel.unwrap_or_else(|| vec![RUNNING.into()]),
            tuning: levels(self.tuning, Kind::Tuning),
            load: levels(self.load, Kind::Load),
            scheduling: self.scheduling.unwrap_or_else(|| vec![scheduling::DEFAULT]),
            probe,
            conditions: Conditions {
                cpus: self.cpus,
                duration,
                warmup: self.warmup.unwrap_or_else(|| usual_warmup(duration)),
                limit: self.limit,
                stop_on: self.stop_on,
                max_temp: self.max_temp,
                trace: self.trace,
                explain: self.explain.as_ref().map(|explain| explain.it),
            },
            repeat: self.repeat.unwrap_or(1),
        };
        if group.cells().is_none_or(|cells| cells > CELLS_MAX) {
            return Err(place.problem(format!("the group has more than {CELLS_MAX} cells")));
        }
        for (probe, place) in group.probe.iter().zip(&places) {
            measurable(&group, probe, chosen, catalogue).map_err(|why_not| place.problem(why_not))?;
        }
        Ok(group)
    }
}

/// Checks whether a probe can measure the cells of its group, and says why not. `chosen` is whether the plan sets their scheduling.
fn measurable(group: &Group, probe: &Probed, chosen: bool, catalogue: &dyn Catalogue) -> Result<(), String> {
    let name = &probe.item.name;
    let duration = group.conditions.duration;
    if let Some(period) = probe.measurand.period.filter(|period| *period > duration && !counts_slots(&probe.item)) {
        return Err(format!(
            "a measurement of {duration} ends before the first period of {period}: measure for several periods, for \
             example -d {}",
            Ns(period.0.saturating_mul(100))
        ));
    }
    if probe.measurand.looks_on && (group.scheduling.len() > 1 || chosen && group.looks_on()) {
        return Err(format!(
            "the probe `{name}` only observes, and what it observes keeps its policy: leave out the scheduling"
        ));
    }
    for scheduling in &group.scheduling {
        let cell = expand::sample(group, probe, *scheduling);
        catalogue
            .check(&cell)
            .map_err(|error| format!("probe `{name}` with scheduling {}: {error:#}", cell.scheduling))?;
    }
    Ok(())
}

/// Whether a number of slots ends the measurement, instead of a duration.
fn counts_slots(item: &Item) -> bool {
    item.options.get("cycles").and_then(Value::as_integer).is_some_and(|cycles| cycles > 0)
}

/// Returns what a value means: a time is the same in every notation.
fn meaning(value: &Value) -> String {
    let time = value.as_str().and_then(|text| text.parse::<Ns>().ok());
    time.map_or_else(|| written::value(value), |time| time.to_string())
}

/// Returns the default warm-up: a second, or a tenth of a short duration.
pub fn usual_warmup(duration: Ns) -> Ns {
    if duration < Ns::from_secs(10) { Ns(duration.0 / 10) } else { Ns::from_secs(1) }
}

fn targets(node: Node) -> Result<Vec<String>, Problem> {
    let mut targets: Vec<String> = Vec::new();
    for element in node.levels("target")? {
        let name = element.text("target")?;
        // The host knows which kinds exist. A name contains nothing that a terminal or a shell could misread.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@[]%/+".contains(c);
        // A place must not start like an option of the program that gets it.
        let placed = |(kind, place): (&str, &str)| !kind.is_empty() && !place.is_empty() && !place.starts_with('-');
        let known = name == LOCAL || name == LAB || name.split_once(':').is_some_and(placed);
        if !known || name.len() > 256 || !name.chars().all(plain) {
            return Err(element.problem(
                "a target is `local`, `lab`, or KIND:PLACE such as `ssh:root@board`, of letters, digits and -_.:@[]%/+",
            ));
        }
        if targets.iter().any(|known| known == name) {
            return Err(element.problem(format!("the target `{name}` is named twice")));
        }
        targets.push(name.into());
    }
    Ok(targets)
}

fn kernels(node: Node) -> Result<Vec<String>, Problem> {
    let mut kernels: Vec<String> = Vec::new();
    for element in node.levels("kernel")? {
        let name = element.text("kernel")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        // A file or a package, with its boot parameters: nothing that the emulator's command line could misread.
        let file = (name.contains('/') || name.starts_with("linux-image-"))
            && name.len() <= 512
            && name.chars().all(|c| c.is_ascii_graphic() || c == ' ');
        if !file && (name.is_empty() || name.len() > 64 || !name.chars().all(plain)) {
            return Err(element.problem(
                "a kernel's name is 1 to 64 letters, digits, `-`, `_`, `.` or `+`, or path/to/vmlinuz or linux-image-PACKAGE, both with [:BOOT PARAMETERS]",
            ));
        }
        // Any other name counts as a kernel that may exist later, so a misspelled one would go unmeasured.
        if name != RUNNING && closest(name, [RUNNING]).is_some() {
            return Err(element.problem(format!("there is no kernel `{name}`{}", nearest(name, [RUNNING]))));
        }
        if kernels.iter().any(|known| known == name) {
            return Err(element.problem(format!("the kernel `{name}` is named twice")));
        }
        kernels.push(name.into());
    }
    Ok(kernels)
}

/// Reads whether latido records a trace, and of which events. The target knows which events exist.
fn traced(node: Node) -> Result<Option<Vec<String>>, Problem> {
    match node.plain()? {
        Value::Boolean(true) => return Ok(Some(Vec::new())),
        Value::Boolean(false) => return Ok(None),
        _ => {}
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-:*/".contains(c);
    let event = |node: Node| match node.as_text() {
        Some(text) if !text.is_empty() && text.len() <= 128 && text.chars().all(plain) => Ok(text.to_owned()),
        _ => Err(node.problem("an event is its name, such as sched_switch or irq:softirq_entry")),
    };
    let events = node.as_array().ok_or_else(|| node.problem("trace is true, false, or a list of events"))?;
    match &events[..] {
        [] => Err(node.problem("trace names no event; `true` records the usual ones")),
        events if events.len() > EVENTS_MAX => Err(node.problem(format!("trace names more than {EVENTS_MAX} events"))),
        events => Ok(Some(events.iter().map(|node| event(*node)).collect::<Result<_, _>>()?)),
    }
}

/// Reads how many of the largest samples latido explains.
fn explained(node: Node) -> Result<Option<At<u32>>, Problem> {
    match node.plain()? {
        Value::Boolean(true) => Ok(Some(node.at(explain::USUAL))),
        Value::Boolean(false) => Ok(None),
        Value::Integer(_) => Ok(Some(node.at(node.number("explain", 1..=i64::from(explain::MOST))? as u32))),
        _ => Err(node.problem(format!(
            "explain is true, false, or the number of largest samples to explain, 1 to {}",
            explain::MOST
        ))),
    }
}

fn cpus(node: Node) -> Result<CpuSet, Problem> {
    node.text("cpus")?.parse().map_err(|error| node.problem(format!("cpus: {error}")))
}
