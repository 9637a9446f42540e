//! The result of a run: read back from the store, judged, printed, reported. `show` and `report` do the same later.

use super::{
    exports::{self, Wanted},
    screen::Screen,
};
use crate::store;
use crate::{
    durable,
    host::options::How,
    output::{self, is_broken_pipe, tell, write_out},
    store::Draft,
};
use anyhow::{Context, Result};
use latido_judge::{by_trace, configuration::Configurations, judgement::Judgement, planning::power};
use latido_model::{
    record::{Record, Series},
    run::{SeriesData, SeriesSource, Shown, StoredCell, codec},
    verdict::Verdict,
};
use latido_report::{
    export::Options,
    formats::{self, files, json},
    judged::{self, JudgedRun},
    terminal::{self, Beside, Style},
};
use std::{
    io::{IsTerminal, stderr, stdout},
    path::{Path, PathBuf},
};

/// Reads a run and judges it.
///
/// # Errors
/// The directory contains no run.
pub fn judged(dir: &Path) -> Result<JudgedRun> {
    let run = super::read(dir)?;
    // An unreadable plan is among the run's problems.
    let plan_toml = store::plan_text(dir).unwrap_or_default();
    Ok(JudgedRun::new(run, plan_toml, &Stored))
}

/// Reads and judges a run that this process has measured, and marks it as no longer running.
///
/// # Errors
/// Those of [`judged`].
pub fn judged_here(draft: &Draft) -> Result<JudgedRun> {
    let mut one = judged(&draft.dir)?;
    one.run.at_work = false;
    Ok(one)
}

/// The files next to the records of a store: series and traces.
struct Stored;

impl SeriesSource for Stored {
    fn series(&self, cell: &StoredCell, series: &Series) -> Result<SeriesData> {
        store::series_data(cell, series)
    }

    fn shown(&self, cell: &StoredCell) -> Shown {
        by_trace::shown(cell, &store::series_data, &traced)
    }
}

/// Merges the runs of several kernels of one machine, and explains late samples.
pub fn together(all: Vec<JudgedRun>) -> Vec<JudgedRun> {
    let mut all = judged::merged(all, &Stored);
    all.iter_mut().for_each(explain);
    all
}

/// Explains late samples where the run requested it, by the traces next to the records.
pub fn explain(one: &mut JudgedRun) {
    one.explain(&store::series_data, &traced, &store::text_beside);
}

/// Passes the trace of a cell to `see`.
///
/// # Errors
/// It is missing or cannot be read.
pub fn traced(cell: &StoredCell, see: &mut dyn FnMut(&[u8])) -> Result<()> {
    see(store::trace(cell)?.bytes());
    Ok(())
}

/// Pools the cells of runs.
pub fn pooled(all: &[JudgedRun]) -> Configurations {
    judged::pooled(all, &store::series_data)
}

/// Warns about the problems of runs, for tables, figures and files that have no room for warnings.
pub fn warn_of_losses(all: &[JudgedRun], found: &Configurations) {
    for problem in all.iter().flat_map(|one| &one.run.problems).chain(&found.problems) {
        tell(&format!("warning: {problem}"));
    }
}

/// Reads the run back, judges it, notes the verdict, prints, and writes the report. Returns the exit status.
pub(super) fn finish(draft: Draft, interrupted: bool, how: &How, screen: &mut Screen) -> Result<u8> {
    let mut one = judged_here(&draft)?;
    if !interrupted {
        let judgement = &one.judgement;
        one.run.meta = draft.finish(judgement.verdict, is_unmeasured(judgement), &judgement.headline.sentence())?;
    }
    latido_agent::fault::point("host");
    let id = one.run.meta.id.clone();
    let exit = present(one, how, screen)?;
    if interrupted {
        screen.note(&format!(
            "interrupted; `latido run --resume {id}` measures what is missing, with --keep-checkpoints only the rest of a cell"
        ));
    }
    Ok(exit)
}

/// Returns whether nothing that the run was to measure has figures.
pub fn is_unmeasured(judgement: &Judgement) -> bool {
    judgement.headline.is_unmeasured() || matches!(judgement.verdict, Verdict::Infra | Verdict::Skipped)
}

/// Prints a judged run and writes its report. Returns the exit status.
pub(super) fn present(mut one: JudgedRun, how: &How, screen: &mut Screen) -> Result<u8> {
    explain(&mut one);
    let all = [one];
    let found = pooled(&all);
    let [one] = &all;
    let text = match how.json {
        true => json::document(&one.run, &one.judgement, None)?,
        false => {
            let beside = Beside { explained: &one.explained, maxima: &one.maxima, chains: &one.chains };
            match how.verbose {
                true => terminal::show(&one.run, &one.judgement, &found, (false, beside), style()),
                false => terminal::summary(&one.run, &one.judgement, &found, beside, style()),
            }
        }
    };
    let pilot = how.plan_power.map(|ratio| {
        let Judgement { cells, .. } = &one.judgement;
        power::sentences(&one.run, cells, &store::series_data, ratio)
    });
    let text = text + &pilot.unwrap_or_default();
    let printed = match how {
        How { untold: true, .. } => Ok(0),
        // stdout carries an exported document, so the table goes to stderr with the notes.
        _ if how.exports.iter().any(Wanted::to_stdout) => {
            tell(text.trim_end());
            Ok(0)
        }
        _ => write_out(&text),
    };
    // A run that measured nothing does not replace a report that the user may want.
    let empty = one.judgement.verdict == Verdict::Infra && how.output.is_none();
    if let Some(path) = report_path(how).filter(|_| !empty) {
        let usual = how.output.is_none();
        match unless_foreign(&path, usual).and_then(|()| write_report(&all, &found, report_format(how), &path)) {
            Ok(()) => screen.say(&format!("report: {}", path.display())),
            Err(error) if how.output.is_some() => return Err(error),
            // The user did not name the report, so its failure does not change the run's exit status.
            Err(error) => screen.warn(&format!("no report: {error:#}; `latido report {}` makes one", one.run.meta.id)),
        }
    }
    for wanted in &how.exports {
        exports::write(&all, wanted, Options::default())?;
        if !wanted.to_stdout() {
            screen.say(&format!("{}: {}", wanted.format, wanted.path.display()));
        }
    }
    match printed {
        // A reader that closes the pipe (`| head`) has seen enough; the verdict stays as it is.
        Err(error) if !is_broken_pipe(&error) => Err(error.context("cannot write to standard output")),
        // The status of a pilot shows whether the measurement worked, not whether its verdict is decided.
        _ if how.plan_power.is_some() => Ok(u8::from(one.judgement.verdict == Verdict::Infra)),
        _ => Ok(one.judgement.exit),
    }
}

/// Returns where the report goes. `--json` prints one document and nothing else: a report then needs an explicit `-o`.
pub(super) fn report_path(how: &How) -> Option<PathBuf> {
    let usual = Some(PathBuf::from("report.html")).filter(|_| !how.json);
    how.output.clone().or(usual).filter(|_| !how.no_report)
}

/// Refuses to replace a file that latido did not write, unless the user named it. `usual` means that latido chose the name.
///
/// # Errors
/// The file is not a report, or cannot be read.
pub fn unless_foreign(path: &Path, usual: bool) -> Result<()> {
    if !usual {
        return Ok(());
    }
    durable::unless_foreign(
        path,
        durable::What {
            name: "report of latido's",
            within: formats::TITLE_WITHIN,
            ours: formats::is_page,
            instead: "name a file with -o; the same file replaces it",
        },
    )
}

/// Writes the report of runs in one of [`formats::FORMATS`].
///
/// # Errors
/// There is no such format.
pub fn report(all: &[JudgedRun], found: &Configurations, format: &str) -> Result<String> {
    formats::render(format, &judged::input(all, found))
}

/// Returns the format of a run's report, by the ending of its file. The command line has refused unknown endings.
fn report_format(how: &How) -> &'static str {
    formats::of_file(how.output.as_deref(), None).unwrap_or("html")
}

/// Writes the report of runs.
///
/// # Errors
/// The file cannot be written.
pub fn write_report(all: &[JudgedRun], found: &Configurations, format: &str, path: &Path) -> Result<()> {
    durable::write_named(path, report(all, found, format)?.as_bytes()).context("cannot write the report")
}

/// Writes each figure of a report as a separate file. Returns the paths.
///
/// # Errors
/// The directory cannot be written.
pub fn write_figures(all: &[JudgedRun], found: &Configurations, dir: &Path) -> Result<Vec<PathBuf>> {
    let files = files::all(&judged::input(all, found))?;
    write_files(files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect(), dir)
}

/// Writes these files, given by name, into a directory. Returns the paths.
///
/// # Errors
/// The directory cannot be written.
pub fn write_files(files: Vec<(String, Vec<u8>)>, dir: &Path) -> Result<Vec<PathBuf>> {
    let files: Vec<(PathBuf, Vec<u8>)> = files.into_iter().map(|(name, bytes)| (dir.join(name), bytes)).collect();
    let cannot = |path: &Path| format!("cannot write {}", path.display());
    durable::make_named_dirs(dir)?;
    // Writes all files or none, as far as latido can check beforehand.
    files.iter().try_for_each(|(path, _)| durable::replaceable(path).with_context(|| cannot(path)))?;
    files.iter().try_for_each(|(path, bytes)| durable::write_named(path, bytes).with_context(|| cannot(path)))?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// Returns the layout of stdout: its colours and width. In a pipe (`| less`), the width is that of the terminal of stderr, where most text
/// is read; 100 columns without a terminal.
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub fn style() -> Style {
    let sizes = [rustix::termios::tcgetwinsize(stdout()), rustix::termios::tcgetwinsize(stderr())];
    let width = sizes.into_iter().flatten().map(|size| usize::from(size.ws_col)).find(|width| *width > 0);
    let color = output::is_coloured(stdout().is_terminal());
    Style { width: width.unwrap_or(100).clamp(40, 240), color }
}

/// Prints a record that the store did not accept, so that the user has at least seen it.
pub(super) fn print_unstored(record: &Record, files: &[(String, Vec<u8>)]) {
    // stdout may be as full as the disk. There is no other place.
    let _ = write_out(&terminal::rescue(&[record], style()));
    for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(".hdr")) {
        if let Ok(histogram) = codec::decode_histogram(bytes) {
            let mut text = format!("{name}: value_ns count\n");
            for bucket in histogram.iter_recorded() {
                text.push_str(&format!("{} {}\n", bucket.value_iterated_to(), bucket.count_at_value()));
            }
            let _ = write_out(&text);
        }
    }
}
