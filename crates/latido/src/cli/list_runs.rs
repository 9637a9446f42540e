//! `latido list runs`: the runs of a store. latido judges each run anew from its records, as `latido show` does, so both say the same word.

use crate::{
    host::outcome,
    output::{tell, write_out},
    store,
};
use anyhow::Result;
use latido_judge::decide;
use latido_model::{clean, run::Meta};
use latido_report::{
    judged::JudgedRun,
    terminal::{
        Paint, Style, fit, paint,
        table::{self, TextColumn},
    },
};
use std::path::Path;

/// What the list says of one run.
#[derive(Debug)]
struct Row {
    /// The run. Verdict and headline are those of today, not the stored ones.
    meta: Meta,
    /// The word of its verdict, or that latido is measuring it, or that it did not end.
    state: &'static str,
}

/// The rows of a list, and the sentences above them.
#[derive(Debug, Default)]
struct Rows {
    /// The runs, the newest first.
    runs: Vec<Row>,
    /// What in the store is no run, or has a `run.json` that latido cannot read; one sentence each.
    problems: Vec<String>,
}

/// Lists the runs of a store.
///
/// # Errors
/// The store cannot be read.
pub fn run(store: Option<&Path>, json: bool, style: Style) -> Result<u8> {
    let root = store::root(store)?;
    let all = rows(&root)?;
    for problem in &all.problems {
        tell(&format!("warning: {}", clean::line(problem)));
    }
    if json {
        return write_out(&document(&all)?);
    }
    if all.runs.is_empty() {
        let missing = if root.exists() { "" } else { " (there is no such directory)" };
        let place = root.display();
        return write_out(&format!("no runs yet in {place}{missing}: `latido run quick` makes one\n"));
    }
    write_out(&table(&all.runs, jiff::Timestamp::now(), style))
}

/// Reads and judges the runs of a store one after the other, so that only one of them is in memory.
fn rows(root: &Path) -> Result<Rows> {
    let mut all = Rows::default();
    for dir in store::directories(root)? {
        match outcome::judged(&dir) {
            Ok(one) => {
                // The first problem of a damaged run is its `run.json`. The row shows what the other problems of a run come to.
                all.problems.extend(one.run.problems.first().filter(|_| one.run.damaged).cloned());
                all.runs.push(row(one));
            }
            Err(error) => all.problems.push(format!("{error:#}")),
        }
    }
    Ok(all)
}

fn row(one: JudgedRun) -> Row {
    let JudgedRun { run, judgement, word, .. } = one;
    let meta = Meta {
        cells: if run.damaged { run.cells.len() } else { run.meta.cells },
        verdict: Some(judgement.verdict),
        headline: Some(judgement.headline.sentence()),
        unjudged: !decide::is_judged(&run),
        unmeasured: outcome::is_unmeasured(&judgement),
        ..run.meta
    };
    Row { meta, state: word }
}

fn document(all: &Rows) -> Result<String> {
    let stated = |Row { meta, state }: &Row| -> Result<serde_json::Value> {
        let mut run = serde_json::to_value(meta)?;
        run.as_object_mut().map(|run| run.insert("state".into(), (*state).into()));
        Ok(run)
    };
    let runs: Vec<_> = all.runs.iter().map(stated).collect::<Result<_>>()?;
    let document = serde_json::json!({ "schema": 1, "runs": runs, "problems": all.problems });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn table(runs: &[Row], now: jiff::Timestamp, style: Style) -> String {
    let column = |name: &str, cell: &dyn Fn(&Meta) -> String| {
        TextColumn::text(name, runs.iter().map(|run| cell(&run.meta)).collect())
    };
    let mut columns = vec![
        column("run", &|meta| meta.id.clone()),
        TextColumn { left: false, ..column("age", &|meta| age(&meta.started, now)) },
        TextColumn::counts("cells", runs.iter().map(|run| Some(run.meta.cells as u64))),
        TextColumn::text("verdict", runs.iter().map(|run| run.state.to_owned()).collect()),
        column("what decided", &|meta| meta.headline.clone().unwrap_or_default()),
    ];
    if runs.iter().any(|run| run.meta.label.is_some()) {
        columns.insert(1, column("label", &|meta| meta.label.clone().unwrap_or_default()));
    }
    // A narrow terminal cuts the sentence at the end of a line, not the name at its start, which other commands take.
    let lines = table::render(columns, Style { width: usize::MAX, color: false });
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let tone = if at == 0 { Paint::Dim } else { Paint::Plain };
        text.push_str(&paint(&fit(line, style.width), tone, style));
        text.push('\n');
    }
    text
}

/// Returns the age of a run in the largest whole unit; the run's name contains its exact time.
fn age(started: &str, now: jiff::Timestamp) -> String {
    let Ok(started) = started.parse::<jiff::Timestamp>() else { return "-".into() };
    match now.as_second().saturating_sub(started.as_second()) {
        ..0 => "-".into(),
        s @ ..120 => format!("{s} s"),
        s @ ..7_200 => format!("{} min", s / 60),
        s @ ..172_800 => format!("{} h", s / 3_600),
        s => format!("{} d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Contents, Draft, New};
    use latido_model::{
        plan::{Order, Plan},
        record::{HostFacts, Outcome},
        run::{Planned, cell_dir},
        sample::{self, quiet},
        verdict::Verdict,
    };
    use std::{fs, path::PathBuf};

    /// Stores a run of one cell, with this outcome and the verdict that it had when it was measured. Its samples keep the limit.
    fn stored(root: &Path, outcome: Outcome, verdict: Verdict) -> PathBuf {
        let cell = sample::cell();
        let plan = Plan { name: "quick".into(), seed: 42, order: Order::AsWritten, ..Plan::default() };
        let planned = Planned { cell: cell.clone(), measurand: 0, written: 0, skipped: None };
        let contents = Contents { plan, measurands: vec![sample::measurand(&cell)], cells: vec![planned] };
        let (command, machine) = (vec!["latido".into()], "here".into());
        let draft =
            Draft::create(root, New { plan: "quick", toml: "", contents, command, machine, label: None }).unwrap();
        let mut record = sample::measured(cell, &[quiet(0), quiet(1)]);
        record.outcome = outcome;
        draft.start_cell(1).unwrap();
        draft.finish_cell(1, &record, &HostFacts::default()).unwrap();
        let dir = draft.dir.clone();
        draft.finish(verdict, false, "what latido said on that day").unwrap();
        dir
    }

    /// A run may have been judged by an older latido, be the import of a file that ends early, or be damaged since. The list must not say
    /// the verdict of that day.
    #[test]
    fn the_list_says_what_show_says() {
        let store = tempfile::tempdir().unwrap();
        let root = store.path();
        let older = stored(root, Outcome::Complete, Verdict::Fail);
        let cut = stored(root, Outcome::Interrupted, Verdict::Inconclusive);
        let broken = stored(root, Outcome::Complete, Verdict::Pass);
        fs::write(cell_dir(&broken, 1).join("record.json"), "{").unwrap();
        let nameless = stored(root, Outcome::Complete, Verdict::Pass);
        fs::write(nameless.join("run.json"), "{").unwrap();
        fs::create_dir(root.join("runs/holiday")).unwrap();

        let all = rows(root).unwrap();
        let listed = |dir: &Path| {
            let id = dir.file_name().unwrap().to_str().unwrap();
            all.runs.iter().find(|row| row.meta.id == id).unwrap()
        };
        for (dir, word) in
            [(&older, "PASS"), (&cut, "INTERRUPTED"), (&broken, "NOT MEASURED"), (&nameless, "INCONCLUSIVE")]
        {
            let (row, shown) = (listed(dir), outcome::judged(dir).unwrap());
            assert_eq!((row.state, row.state), (shown.word, word), "{}", dir.display());
            assert_eq!(row.meta.verdict, Some(shown.judgement.verdict));
            assert_eq!(row.meta.headline, Some(shown.judgement.headline.sentence()));
            assert_eq!(row.meta.cells, 1);
        }
        assert_eq!(all.runs.len(), 4);
        let is_told = |what: &str| all.problems.iter().any(|problem| problem.contains(what));
        let both = is_told("run.json: ") && is_told("holiday: not a run");
        assert!(both && all.problems.len() == 2, "{:?}", all.problems);
        let document = document(&all).unwrap();
        assert!(document.contains("\"state\": \"NOT MEASURED\"") && !document.contains("on that day"), "{document}");
    }

    #[test]
    fn runs_are_aligned_and_only_the_sentence_is_cut() {
        let run = |id: &str, started: &str, cells, state, headline: &str| Row {
            meta: Meta {
                id: id.into(),
                started: started.into(),
                cells,
                headline: Some(headline.into()),
                ..Meta::default()
            },
            state,
        };
        let long = "wakeup, busy: 1 of 20000 samples above the limit of 100 µs, worst 228 µs";
        let runs = [
            run("20261121T200000Z-quick-k3f9", "2026-11-21T20:00:00Z", 4, "FAIL", long),
            run("20261123T195900Z-my-plan-0a1b", "2026-11-23T19:59:00Z", 12, "INTERRUPTED", ""),
            run("20261123T195800Z-quick-7dk2", "2026-11-23T19:58:30Z", 4, "NO LIMIT SET", ""),
            run("20261123T195900Z-study-9x2m", "2026-11-23T19:59:00Z", 40, "NOT MEASURED", ""),
        ];
        let now = "2026-11-23T20:00:00Z".parse().unwrap();
        let text = table(&runs, now, Style { width: 80, color: false });
        insta::assert_snapshot!(text, @"
        run                             age  cells  verdict       what decided
        20261121T200000Z-quick-k3f9     2 d      4  FAIL          wakeup, busy: 1 of 20~
        20261123T195900Z-my-plan-0a1b  60 s     12  INTERRUPTED
        20261123T195800Z-quick-7dk2    90 s      4  NO LIMIT SET
        20261123T195900Z-study-9x2m    60 s     40  NOT MEASURED
        ");
    }

    #[test]
    fn the_age_is_in_whole_units() {
        let now = "2026-11-21T20:00:00Z".parse().unwrap();
        for (started, text) in [
            ("2026-11-21T19:59:01.9Z", "59 s"),
            ("2026-11-21T19:00:00Z", "60 min"),
            ("2026-11-20T20:00:00Z", "24 h"),
            ("2026-11-01T20:00:00Z", "20 d"),
            ("2027-01-01T00:00:00Z", "-"),
            ("yesterday", "-"),
        ] {
            assert_eq!(age(started, now), text, "{started}");
        }
    }
}
