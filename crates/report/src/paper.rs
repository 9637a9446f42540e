//! What a paper takes from a run: figures as wide as its column, a paragraph on methods, and the entry for a bibliography.

use crate::{
    figures::{Dress, dressed, frame::COLUMN, svg::Drawing},
    formats::{
        FORMATS,
        files::{self, Pictured},
        latex,
    },
    input::ReportInput,
    judged::JudgedRun,
    tree::Report,
    unique::Names,
    words::{self, many},
};
use latido_judge::{configuration::Configurations, finding::Grade, judgement::Judgement};
use latido_model::{
    cell::{Cell, Level},
    machine::Machine,
    units::Ns,
    written,
};

/// Millimetres of paper per pixel of a drawing: the smallest text, 10 pixels, is then 6.2 points high, and that of axes 6.8.
pub const SCALE: f64 = 0.62 * 25.4 / 72.0;

/// The narrowest and the widest figure, in millimetres: the narrowest has room for an axis, the widest fills a page of A3.
pub const WIDTHS: (f64, f64) = (60.0, 420.0);

/// From this width in millimetres on, panels are in pairs side by side, and names are next to what they name.
pub const ABREAST: f64 = COLUMN * SCALE;

/// The figures of a run, drawn for a column of a certain width.
#[derive(Debug)]
pub struct Figures {
    all: Vec<(String, Pictured)>,
}

/// One picture of a figure.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'f> {
    figure: &'f Pictured,
    drawing: &'f Drawing,
}

impl Figures {
    /// Draws the figures of a report at this width in millimetres.
    pub fn of(input: &ReportInput, millimetres: f64) -> Self {
        let report = Report::new(input, FORMATS).wide(millimetres / SCALE);
        let mut names = Names::default();
        let named = |figure: Pictured| (names.unique(figure.stem.clone()), figure);
        Self { all: files::pictured(&report).into_iter().map(named).collect() }
    }

    /// Returns the name and the title of each picture.
    pub fn list(&self) -> Vec<(String, &str)> {
        self.each().map(|(name, picture)| (name, picture.drawing.title.as_str())).collect()
    }

    /// Returns the first variant of each figure, with the figure's name.
    pub fn first_forms(&self) -> impl Iterator<Item = (&str, Picture<'_>)> {
        self.all
            .iter()
            .filter_map(|(name, figure)| Some((name.as_str(), Picture { figure, drawing: figure.drawings.first()? })))
    }

    fn each(&self) -> impl Iterator<Item = (String, Picture<'_>)> {
        self.all.iter().flat_map(|(name, figure)| {
            let of = move |drawing| (format!("{name}{}", files::form(drawing)), Picture { figure, drawing });
            figure.drawings.iter().map(of)
        })
    }

    /// Returns the picture with this name. The name may be the complete one, or its last part if only one picture ends in it. For a figure
    /// with several variants, its name selects the first.
    ///
    /// # Errors
    /// No figure has the name, or several have it: the message lists them.
    pub fn named(&self, name: &str) -> Result<Picture<'_>, String> {
        if let Some((_, picture)) = self.each().find(|(own, _)| own == name) {
            return Ok(picture);
        }
        let ending = format!("-{name}");
        let mut ending_so = self.each().filter(|(own, _)| own.ends_with(&ending));
        if let (Some((_, picture)), None) = (ending_so.next(), ending_so.next()) {
            return Ok(picture);
        }
        let fits = |(own, figure): &&(String, Pictured)| own == name || figure.short == name;
        let found: Vec<&(String, Pictured)> = self.all.iter().filter(fits).collect();
        let names = |all: Vec<String>| all.join(", ");
        match found.as_slice() {
            [(_, figure)] => {
                let drawing = figure.drawings.first();
                drawing
                    .map(|drawing| Picture { figure, drawing })
                    .ok_or_else(|| format!("{name}: this figure is empty"))
            }
            [] if self.all.is_empty() => Err(format!("{name}: this run has no figures, as nothing was measured")),
            [] => Err(format!(
                "{name}: this run has no figure of that name; it has {}",
                names(self.each().map(|(own, _)| own).collect())
            )),
            several => Err(format!(
                "{name}: this run has {} figures of that name; write one of {}",
                several.len(),
                names(several.iter().map(|(own, _)| own.clone()).collect())
            )),
        }
    }
}

impl Picture<'_> {
    /// Returns the picture as SVG, as wide as requested, with texts in this font.
    pub fn svg(&self, title: bool, font: &str) -> String {
        let names: Vec<&str> = self.figure.names.iter().map(String::as_str).collect();
        let legend = !self.drawing.named && names.len() > 1;
        dressed(&names, self.drawing, Dress { title, legend, millimetres: Some(SCALE), font })
    }

    /// Returns its height without title and legend, in millimetres.
    pub fn height(&self) -> f64 {
        self.drawing.height * SCALE
    }

    /// Returns a text for a caption: what the picture shows, and how to read it.
    pub fn caption(&self) -> String {
        format!("{}. {}", self.drawing.title, self.figure.caption)
    }
}

/// The markup of a citation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// Plain text.
    Plain,
    /// LaTeX.
    Latex,
}

/// What a paper states about a run.
#[derive(Clone, Debug)]
pub struct Citation {
    /// The paragraph on methods.
    pub methods: String,
    /// The entry of BibTeX for latido.
    pub entry: String,
}

/// Returns the paragraph on the methods of a run, and a BibTeX entry for latido. `test` describes how latido compared its configurations.
pub fn citation(one: &JudgedRun, (found, test): (&Configurations, Option<&str>), markup: Markup) -> Citation {
    let text = methods(one, found, test);
    let methods = match markup {
        Markup::Plain => text,
        // The citation follows the first mention of the program.
        Markup::Latex => latex::escape(&text).replacen("latido ", "latido~\\cite{latido} ", 1),
    };
    Citation { methods, entry: bibtex(&one.run.meta.latido, &one.run.meta.started) }
}

/// Returns the BibTeX entry. It has the version, because readers need it, and the year of the measurement.
fn bibtex(version: &str, started: &str) -> String {
    let year = started.get(..4).filter(|year| year.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or_default();
    format!(
        "@misc{{latido,\n  author = {{{{the latido authors}}}},\n  title = {{latido: a laboratory for real-time Linux}},\n  \
         howpublished = {{Computer program}},\n  note = {{Version {version}}},\n  year = {{{year}}}\n}}\n"
    )
}

fn methods(one: &JudgedRun, found: &Configurations, test: Option<&str>) -> String {
    let meta = &one.run.meta;
    let all = &found.all;
    let cells = || all.iter().map(|configuration| &configuration.cell);
    let mut said =
        vec![format!("We measured with latido {} (run {}, started {}).", meta.latido, meta.id, second(&meta.started))];
    said.extend(apart(all.iter().map(|one| machine(&one.machine))));
    let commands: Vec<String> = one.commands.iter().map(|words| command(words)).collect();
    said.push(format!("The command was: {}.", commands.join("; ")));
    if !commands.iter().any(|command| command.contains("--seed")) {
        said.push(format!("The seed was {}.", one.run.plan.seed));
    }
    said.push(format!("The measuring threads: {}.", apart(cells().map(threads)).join("; ")));
    said.push(repeated(found));
    said.extend(test.map(str::to_owned));
    said.push(format!("Load: {}.", apart(cells().map(|cell| level(&cell.load, cell.load.shown_load()))).join("; ")));
    let loads = || all.iter().flat_map(|one| one.loads());
    if loads().any(|load| !load.argv.is_empty()) {
        said.push(format!("The loads did: {}.", words::pooled(loads())));
    }
    said.push(format!(
        "Settings that latido changed: {}.",
        apart(cells().map(|cell| level(&cell.tuning, &cell.tuning.id))).join("; ")
    ));
    said.push(trust(&one.judgement));
    said.join(" ")
}

/// Returns a sentence on how often each condition was measured.
fn repeated(found: &Configurations) -> String {
    let counts: Vec<usize> = found.all.iter().map(|one| one.repeats.len()).collect();
    let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) else {
        return "latido measured nothing.".into();
    };
    let what =
        if counts.len() == 1 { "the one condition".into() } else { format!("each of {} conditions", counts.len()) };
    match least == most {
        true => format!("latido measured {what} {}.", if *most == 1 { "once".into() } else { format!("{most} times") }),
        false => format!("latido measured {what} {least} to {most} times."),
    }
}

/// Returns a command as a reader types it: without the path of the program.
fn command(words: &[String]) -> String {
    let mut words = words.to_vec();
    if let Some(program) = words.first_mut() {
        *program = program.rsplit('/').next().unwrap_or_default().to_owned();
    }
    written::shell(&words)
}

/// Removes the fraction of a second from a time.
fn second(moment: &str) -> String {
    moment.split_once('.').map_or_else(|| moment.to_owned(), |(whole, _)| format!("{whole}Z"))
}

/// Returns each text once, in the order of first appearance.
fn apart(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for one in all {
        if !known.contains(&one) {
            known.push(one);
        }
    }
    known
}

/// Returns a sentence on the machine, such as `The machine was vm (...), with Linux 6.12 and the preemption model full.`
fn machine(machine: &Machine) -> String {
    let name = if machine.hostname.is_empty() { "without a known name" } else { &machine.hostname };
    let online = machine.cpu.online.as_ref().map(|set| many(set.len() as u64, "CPU"));
    let memory =
        machine.memory.total_kib.map(|kib| format!("{} GiB of memory", words::plain(kib as f64 / 1_048_576.0)));
    let model = machine.cpu.model.clone().unwrap_or_else(|| "an unknown CPU".into());
    let parts = [
        machine.board.clone(),
        Some(model),
        online,
        machine.architecture.clone(),
        memory,
        machine.distribution.clone(),
    ];
    let hardware = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let kernel = if machine.kernel.is_empty() { "an unknown release" } else { &machine.kernel };
    let preemption = machine.preemption.as_ref().map_or("unknown".into(), |preemption| preemption.model.to_string());
    let below = machine.hypervisor.as_ref().map(|layer| format!(", under the hypervisor {layer}"));
    let emulated = machine
        .emulated
        .as_ref()
        .map(|_| "; an emulated processor ran it, and its times are not those of a real machine");
    format!(
        "The machine was {name} ({hardware}{}), with Linux {kernel} and the preemption model {preemption}{}.",
        below.unwrap_or_default(),
        emulated.unwrap_or_default()
    )
}

/// Returns the measuring threads: `wakeup (period=1ms), fifo 80, CPUs 0-1, 5 s after 1 s of warm-up`.
fn threads(cell: &Cell) -> String {
    let conditions = &cell.conditions;
    let cpus = conditions
        .cpus
        .as_ref()
        .map(|set| format!(", on {} {set}", if set.len() == 1 { "CPU" } else { "CPUs" }))
        .unwrap_or_default();
    let time = |ns: Ns| words::round_value(ns.0 as f64, "ns");
    let limit = conditions.limit.map(|limit| format!(", with a limit of {}", time(limit))).unwrap_or_default();
    format!(
        "probe {}, scheduling {}{cpus}, for {} after a warm-up of {}{limit}",
        written::short(&cell.probe),
        cell.scheduling,
        time(conditions.duration),
        time(conditions.warmup)
    )
}

/// Returns a level's items, or its name if it has none.
fn level(level: &Level, name: &str) -> String {
    let items: Vec<String> = level.items.iter().map(written::short).collect();
    if items.is_empty() { name.to_owned() } else { items.join(" with ") }
}

/// Returns the results of the trust checks: alarms and notes in full, the others by number or name.
fn trust(judgement: &Judgement) -> String {
    let findings = || judgement.cells.iter().flat_map(|cell| &cell.findings);
    let worst = |check: &str| {
        findings().filter(|one| one.check == check).map(|one| one.grade).max_by_key(|grade| weight(*grade))
    };
    let checks = apart(findings().map(|one| one.check.clone()));
    let of = |grade: Grade| checks.iter().filter(|check| worst(check) == Some(grade)).cloned().collect::<Vec<String>>();
    let sentences = |grade: Grade| {
        let of =
            |check: &String| findings().find(|one| one.check == *check && one.grade == grade).map(|one| one.sentence());
        checks.iter().filter(|check| worst(check) == Some(grade)).filter_map(of).collect::<Vec<_>>().join("; ")
    };
    if checks.is_empty() {
        return "latido made no trust checks of it.".into();
    }
    let mut said = vec![format!(
        "Of latido's {}, {} found nothing",
        many(checks.len() as u64, "trust check"),
        of(Grade::Ok).len()
    )];
    let parts = [
        (Grade::Note, "noted"),
        (Grade::Contaminated, "found the deciding samples contaminated"),
        (Grade::Invalid, "found that the measurement is not what was requested"),
    ];
    for (grade, what) in parts {
        let number = of(grade).len();
        if number > 0 {
            said.push(format!("{number} {what} ({})", sentences(grade)));
        }
    }
    let unknown = of(Grade::Unknown);
    if !unknown.is_empty() {
        said.push(format!("{} found no way to measure here ({})", unknown.len(), unknown.join(", ")));
    }
    said.join(", ") + "."
}

/// Returns the weight of a severity.
fn weight(grade: Grade) -> u8 {
    match grade {
        Grade::Ok => 1,
        Grade::Unknown => 0,
        Grade::Note => 2,
        Grade::Contaminated => 3,
        Grade::Invalid => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, SampleRun, calls};
    use latido_judge::configuration::Configuration;

    fn each(all: &[Configuration], millimetres: f64, see: impl Fn(&str, &str)) -> Vec<String> {
        let judged = SampleRun::of(all);
        let figures = Figures::of(&judged.input(all), millimetres);
        for (name, picture) in figures.each() {
            see(&name, &picture.svg(false, "DejaVu Sans"));
        }
        figures.list().into_iter().map(|(name, _)| name).collect()
    }

    /// A legend names the curves of a narrow figure, and each has a dash, a marker or a pattern that no other has.
    #[test]
    fn curves_are_told_apart_without_colour() {
        let all = sample::configurations(3);
        let drawn = each(&all, 84.0, |name, svg| {
            if name.ends_with("percentiles") {
                assert_eq!(svg.matches("class=\"name\"").count(), 3, "{name}");
            }
            for (slot, rule) in [(1, "stroke-dasharray:8 3"), (2, "stroke-dasharray:3 1.6")] {
                assert!(svg.contains(&format!(".s{slot}{{")) && svg.contains(rule), "{name}");
                assert!(svg.contains(&format!(".s{slot} .bar")) && svg.contains(&format!("id=\"h{slot}\"")), "{name}");
            }
            assert!(!svg.contains(".s0 .bar") && !svg.contains("var("), "{name}");
        });
        assert!(drawn.len() > 5 && drawn.iter().any(|name| name.ends_with("percentiles")), "{drawn:?}");
    }

    #[test]
    fn a_figure_is_found_by_the_part_of_its_name_that_it_has_alone() {
        let all = sample::configurations(2);
        let judged = SampleRun::of(&all);
        let figures = Figures::of(&judged.input(&all), 84.0);
        let title = |name: &str| figures.named(name).map(|picture| picture.drawing.variant.clone());
        assert_eq!(title("histogram"), Ok(Some("log x".into())));
        assert_eq!(title("wakeup.latency-histogram-linear-x"), Ok(Some("linear x".into())));
        let error = title("nothing").unwrap_err();
        assert!(error.contains("no figure of that name; it has ") && error.contains("wakeup.latency-bands"), "{error}");
        let calls = calls::mutex(&["idle"]);
        let judged = SampleRun::of(&calls);
        assert!(figures.named("histogram-log-x").is_ok(), "the last part of a name");
        let several = Figures::of(&judged.input(&calls), 84.0).named("histogram").map(|_| ()).unwrap_err();
        assert!(several.contains("figures of that name; write one of mutex.lock"), "{several}");
    }

    #[test]
    fn moments_and_commands_are_as_a_reader_wants_them() {
        assert_eq!(second("2026-11-28T13:57:26.572231123Z"), "2026-11-28T13:57:26Z");
        assert_eq!(command(&["./target/debug/latido".into(), "run".into(), "a b".into()]), "latido run 'a b'");
        let entry = bibtex("0.1.0", "2026-11-28T13:57:26Z");
        assert!(
            entry.starts_with("@misc{latido,\n  author = {{the latido authors}}") && entry.contains("year = {2026}")
        );
    }
}
