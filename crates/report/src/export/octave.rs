//! Writes columns of numbers, one script for GNU Octave and one for gnuplot. The scripts draw the plan's figures and the distribution of
//! each quantity from these columns.

use super::format::{Export, Exported, Named, Writer, Written};
use crate::{
    figures::declared::points::{self, Mark, Plotted, PlottedPanel},
    formats::{
        FORMATS,
        files::{STEM, file_name},
    },
    judged,
    tree::Report,
};
use anyhow::{Result, ensure};
use latido_model::clean;
use std::{collections::BTreeSet, fmt::Write as _};

/// The list entry.
pub const EXPORT: Export = Export {
    name: "octave",
    ending: "m",
    needs: None,
    about: "the plan's figures in a directory: columns.dat, with figures.m for GNU Octave and figures.gp for gnuplot",
    write: Writer::Directory(write),
};

/// The file of numbers.
const COLUMNS: &str = "columns.dat";
/// The script for GNU Octave.
const OCTAVE: &str = "figures.m";
/// The script for gnuplot.
const GNUPLOT: &str = "figures.gp";

fn write(exported: &Exported) -> Result<Vec<Named>> {
    let found = judged::pooled(exported.runs, exported.source);
    let input = judged::input(exported.runs, &found);
    let report = Report::new(&input, FORMATS);
    let figures = points::declared(&report).into_iter().chain(points::distributions(&report));
    let (mut figures, empty): (Vec<Plotted>, Vec<Plotted>) =
        figures.map(with_curves).partition(|one| !one.panels.is_empty());
    name_pictures(&mut figures);
    ensure!(!figures.is_empty(), "nothing was measured: there is nothing to draw");
    let left_out = empty.iter().map(|one| format!("{}: the run measured nothing of it", one.heading)).collect();
    let file = |text: String, left_out| Written { bytes: clean::text(&text).into_owned().into_bytes(), left_out };
    // The columns come first: every script that exists then finds its columns.
    Ok(vec![
        (COLUMNS, file(columns(&figures), left_out)),
        (OCTAVE, file(octave(&figures), Vec::new())),
        (GNUPLOT, file(gnuplot(&figures), Vec::new())),
    ])
}

/// Removes panels in which nothing was measured.
fn with_curves(figure: Plotted) -> Plotted {
    let panels = figure.panels.into_iter().filter(|panel| !panel.curves.is_empty()).collect();
    Plotted { panels, ..figure }
}

/// Gives each figure a name for its picture. The name is valid as a file name and unique among the figures.
fn name_pictures(figures: &mut [Plotted]) {
    let mut taken = BTreeSet::new();
    for figure in figures {
        let stem = file_name(&figure.stem, STEM);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let free = std::iter::once(stem.clone()).chain(numbered).find(|name| !taken.contains(name));
        figure.stem = free.unwrap_or(stem);
        taken.insert(figure.stem.clone());
    }
}

/// Returns a name as one line without a character that quotes or escapes. Octave passes names on to gnuplot, and gnuplot runs text between
/// backquotes as a command.
fn line(text: &str) -> String {
    let plain = |c: char| match c {
        '\'' | '`' => '’',
        '"' => '”',
        '\\' => '/',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().map(plain).collect()
}

/// Writes one block per curve, with two empty lines between blocks: gnuplot's `index` counts such blocks.
fn columns(figures: &[Plotted]) -> String {
    let mut out = String::new();
    for figure in figures {
        for panel in &figure.panels {
            for (curve, rows) in &panel.curves {
                let names = [figure.stem.as_str(), &panel.name, curve].into_iter().filter(|name| !name.is_empty());
                let names = line(&names.collect::<Vec<_>>().join(" | "));
                let _ = writeln!(out, "# {names}: {}", line(&figure.columns.join("; ")));
                for row in rows {
                    let words: Vec<String> = row.iter().map(f64::to_string).collect();
                    let _ = writeln!(out, "{}", words.join(" "));
                }
                out.push_str("\n\n");
            }
        }
    }
    out
}

/// The head of the script: functions that read the columns and draw them.
const OCTAVE_HEAD: &str = "\
% Draws the figures of this directory with GNU Octave: octave figures.m
1;
% Empty bins have no place on a logarithmic axis.
warning(\"off\", \"Octave:negative-data-log-axis\");

% The blocks of columns.dat: a matrix for each curve.
function blocks = read_columns(file)
  parts = strsplit(fileread(file), \"\\n\\n\\n\");
  blocks = {};
  for k = 1:numel(parts)
    lines = strsplit(strtrim(parts{k}), \"\\n\");
    if numel(lines) < 2, continue; end
    width = numel(strsplit(lines{2}, \" \"));
    blocks{end + 1} = sscanf(strjoin(lines(2:end), \"\\n\"), \"%f\", [width, Inf])';
  end
end

% One panel. column: what of each block is drawn; curves: name and block of each, as rows of a cell array.
function panel(blocks, mark, column, curves, columns, places, logs, name)
  hold on;
  count = rows(curves);
  colours = get(gca, \"colororder\");
  shown = [];
  for k = 1:count
    data = blocks{curves{k, 2}};
    colour = colours(mod(k - 1, rows(colours)) + 1, :);
    switch mark
      case \"bars\"
        shown(k) = bar(data(:, 1) + (k - (count + 1) / 2) * 0.8 / count, data(:, column), 0.8 / count, \"facecolor\", colour);
      case \"errors\"
        shown(k) = errorbar(data(:, 1), data(:, column), data(:, 3));
        set(shown(k), \"color\", colour);
      case \"steps\"
        shown(k) = stairs(data(:, 1), data(:, column), \"color\", colour);
      otherwise
        shown(k) = plot(data(:, 1), data(:, column), \"color\", colour);
    end
  end
  if logs(1), set(gca, \"xscale\", \"log\"); end
  if logs(2), set(gca, \"yscale\", \"log\"); end
  if ! isempty(places), set(gca, \"xtick\", 1:numel(places), \"xticklabel\", places, \"ticklabelinterpreter\", \"none\"); end
  title(name, \"interpreter\", \"none\");
  xlabel(columns{1}, \"interpreter\", \"none\");
  ylabel(columns{2}, \"interpreter\", \"none\");
  legend(shown, curves(:, 1), \"interpreter\", \"none\", \"location\", \"northeastoutside\");
end

blocks = read_columns(fullfile(fileparts(mfilename(\"fullpath\")), \"columns.dat\"));
";

/// Returns the script for GNU Octave.
fn octave(figures: &[Plotted]) -> String {
    let quoted = |text: &str| format!("'{}'", line(text));
    let list = |all: &[String]| all.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(", ");
    let mut out = OCTAVE_HEAD.to_owned();
    for (figure, drawn) in laid_out(figures) {
        let _ = writeln!(
            out,
            "\n% {}\nfigure(\"visible\", \"off\", \"position\", [0 0 1100 {}]);",
            line(&figure.heading),
            height(drawn.len())
        );
        for (place, picture) in drawn.iter().enumerate() {
            let curve = |(k, (name, _)): (usize, &(String, _))| format!("{}, {}", quoted(name), picture.first + k + 1);
            let curves: Vec<String> = picture.panel.curves.iter().enumerate().map(curve).collect();
            let columns = [figure.columns.first(), figure.columns.get(picture.column - 1)];
            let columns: Vec<String> = columns.into_iter().flatten().cloned().collect();
            let _ = writeln!(
                out,
                "subplot({}, 1, {});\npanel(blocks, \"{}\", {}, {{{}}}, {{{}}}, {{{}}}, [{} {}], {});",
                drawn.len(),
                place + 1,
                word(figure.mark),
                picture.column,
                curves.join("; "),
                list(&columns),
                list(&figure.places),
                u8::from(figure.log.0),
                u8::from(figure.log.1),
                quoted(&picture.title)
            );
        }
        let _ = writeln!(out, "print(\"-dsvg\", {});", quoted(&format!("{}.svg", figure.stem)));
    }
    out
}

/// A picture of a figure.
struct Picture<'a> {
    panel: &'a PlottedPanel,
    /// Its title.
    title: String,
    /// The number of the column that it shows, from 1.
    column: usize,
    /// The block of its first curve, from 0.
    first: usize,
}

/// Lays out the pictures of each figure below each other: one per panel, or two per panel of a figure of two lines.
fn laid_out(figures: &[Plotted]) -> Vec<(&Plotted, Vec<Picture<'_>>)> {
    let mut block = 0;
    let of_figure = |figure| {
        let first = block;
        let pictures = pictures(figure, first);
        block += figure.panels.iter().map(|panel| panel.curves.len()).sum::<usize>();
        (figure, pictures)
    };
    figures.iter().map(of_figure).collect()
}

fn pictures(figure: &Plotted, mut first: usize) -> Vec<Picture<'_>> {
    let columns: &[usize] = if figure.mark == Mark::TwoLines { &[2, 3] } else { &[2] };
    let mut all = Vec::new();
    for panel in &figure.panels {
        for column in columns {
            let heading = Some(figure.heading.as_str()).filter(|_| all.is_empty());
            let name = Some(panel.name.as_str()).filter(|_| figure.panels.len() > 1);
            let title = heading.into_iter().chain(name).collect::<Vec<_>>().join(": ");
            all.push(Picture { panel, title, column: *column, first });
        }
        first += panel.curves.len();
    }
    all
}

/// Returns the height of this number of pictures, in pixels.
fn height(pictures: usize) -> usize {
    pictures * 300 + 150
}

fn word(mark: Mark) -> &'static str {
    match mark {
        Mark::Bars => "bars",
        Mark::ErrorLine => "errors",
        Mark::Steps => "steps",
        Mark::Line | Mark::TwoLines => "lines",
    }
}

/// Returns the script for gnuplot.
fn gnuplot(figures: &[Plotted]) -> String {
    let quoted = |text: &str| format!("'{}'", line(text));
    let mut out =
        "# Draws the figures of this directory with gnuplot: gnuplot figures.gp\nset style fill solid 0.8\n".to_owned();
    for (figure, drawn) in laid_out(figures) {
        let _ = writeln!(out, "\nset terminal svg noenhanced size 1100,{}", height(drawn.len()));
        let _ = writeln!(
            out,
            "set output {}\nset multiplot layout {},1",
            quoted(&format!("{}.svg", figure.stem)),
            drawn.len()
        );
        let _ = writeln!(out, "unset logscale");
        for (axis, _) in [("x", figure.log.0), ("y", figure.log.1)].iter().filter(|(_, log)| *log) {
            let _ = writeln!(out, "set logscale {axis}");
        }
        let places: Vec<String> =
            figure.places.iter().zip(1u32..).map(|(name, at)| format!("{} {at}", quoted(name))).collect();
        let _ = match places.is_empty() {
            true => writeln!(out, "set xtics auto"),
            false => writeln!(out, "set xtics ({})", places.join(", ")),
        };
        for Picture { panel, title, column, first } in &drawn {
            let of = |at: usize| quoted(figure.columns.get(at).map_or("", String::as_str));
            let _ = writeln!(out, "set title {}\nset xlabel {}\nset ylabel {}", quoted(title), of(0), of(column - 1));
            let curve = |(k, (name, _)): (usize, &(String, _))| {
                let how = style(figure.mark, k, panel.curves.len(), *column);
                format!("{} index {} {how} title {}", quoted(COLUMNS), first + k, quoted(name))
            };
            let curves: Vec<String> = panel.curves.iter().enumerate().map(curve).collect();
            let _ = writeln!(out, "plot {}", curves.join(", \\\n     "));
        }
        let _ = writeln!(out, "unset multiplot");
    }
    out
}

/// Returns gnuplot's style for curve `k` of `count` curves.
fn style(mark: Mark, k: usize, count: usize, column: usize) -> String {
    match mark {
        Mark::Bars => {
            let width = 0.8 / count.max(1) as f64;
            let shift = (k as f64 - (count as f64 - 1.0) / 2.0) * width;
            format!("using ($1+({shift})):2:({width}) with boxes")
        }
        Mark::ErrorLine => "using 1:2:3 with yerrorlines".into(),
        Mark::Steps => "using 1:2 with steps".into(),
        Mark::Line | Mark::TwoLines => format!("using 1:{column} with lines"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        export::{Options, tests::fixture},
        judged::JudgedRun,
    };
    use latido_model::{
        needs::{Need, skip},
        sample::Fixture,
    };
    use std::process::Command;

    fn plotted(mark: Mark, names: [&str; 2]) -> Plotted {
        let row = if matches!(mark, Mark::ErrorLine | Mark::TwoLines) { vec![1.0, 2.5, 0.5] } else { vec![1.0, 2.5] };
        let curve = |name: &str| (name.to_owned(), vec![row.clone(), row.clone()]);
        Plotted {
            heading: names[0].into(),
            stem: names[0].into(),
            columns: vec!["x".into(), "ns".into(), "ns²".into()],
            mark,
            places: Vec::new(),
            log: (false, true),
            panels: vec![PlottedPanel { name: String::new(), curves: names.map(curve).into() }],
        }
    }

    /// The plot of each curve reads that curve's block, also where a figure shows its curves twice.
    #[test]
    fn each_curve_is_its_block() {
        let mut figures = vec![plotted(Mark::TwoLines, ["a", "b"]), plotted(Mark::ErrorLine, ["a", "c"])];
        name_pictures(&mut figures);
        assert_eq!(figures.iter().map(|one| one.stem.as_str()).collect::<Vec<_>>(), ["a", "a-2"]);
        let blocks = columns(&figures);
        assert_eq!(blocks.matches("\n\n\n").count(), 4);
        assert!(blocks.starts_with("# a | a: x; ns; ns²\n1 2.5 0.5\n1 2.5 0.5\n\n\n# a | b"), "{blocks}");
        let gnuplot = gnuplot(&figures);
        for (index, column) in [(0, ":2"), (1, ":2"), (0, ":3"), (1, ":3"), (2, ":2:3"), (3, ":2:3")] {
            assert!(gnuplot.contains(&format!("index {index} using 1{column} with")), "{index} {column}: {gnuplot}");
        }
        let octave = octave(&figures);
        for panel in
            ["\"lines\", 2, {'a', 1; 'b', 2}", "\"lines\", 3, {'a', 1; 'b', 2}", "\"errors\", 2, {'a', 3; 'c', 4}"]
        {
            assert!(octave.contains(panel), "{panel}: {octave}");
        }
    }

    /// A name from outside latido is plain text: it ends no string and no comment, and neither program executes it.
    #[test]
    fn a_name_is_text_in_both_scripts() {
        let hostile = "x'\nsystem(\"id\") `id` % # \"";
        let mut figures = vec![plotted(Mark::Line, [hostile, "b"])];
        name_pictures(&mut figures);
        for script in [octave(&figures), gnuplot(&figures)] {
            assert!(script.contains("x’ system(”id”) ’id’ % # ”") && !script.contains("\nsystem"), "{script}");
            assert!(!script.contains('`'), "{script}");
        }
        assert_eq!(figures[0].stem, "x--system--id----id-------");
    }

    /// GNU Octave and gnuplot draw the export of a run, one picture per distribution, and execute no name in it.
    #[test]
    fn both_programs_draw_and_carry_out_no_name() {
        let mut fixture = fixture("'`touch planted`\" ; system \"touch planted\" ; y=\"''");
        let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
        let runs = [JudgedRun::new(run, String::new(), &fixture)];
        let exported = Exported { runs: &runs, source: &fixture, options: Options::default() };
        for (program, script) in [("octave-cli", OCTAVE), ("gnuplot", GNUPLOT)] {
            if Command::new(program).arg("--version").output().is_err() {
                skip(
                    &format!("figures drawn again by {program}"),
                    Need::Program,
                    &format!("{program} is not installed"),
                );
                continue;
            }
            let dir = tempfile::tempdir().unwrap();
            for (name, written) in write(&exported).unwrap() {
                std::fs::write(dir.path().join(name), written.bytes).unwrap();
            }
            let output = Command::new(program).arg(script).current_dir(dir.path()).output().unwrap();
            assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
            let text = std::fs::read_to_string(dir.path().join("wakeup.latency.svg")).unwrap();
            assert!(text.contains("<svg") && text.contains("path"), "{program}: {text}");
            assert!(!dir.path().join("planted").exists(), "{program} carried out a name");
        }
    }
}
