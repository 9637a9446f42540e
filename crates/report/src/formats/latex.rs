//! Tables in LaTeX (with the booktabs package).

use crate::{
    tables,
    tree::{Datum, Format, Head, Sheet, TableForm},
};
use latido_model::clean;

/// The list entry.
pub const FORMAT: Format = Format {
    name: "latex",
    title: "LaTeX",
    ending: "tex",
    about: "every table, to be set with the package booktabs",
    report: |report| {
        Ok(tables::printed(report, table).unwrap_or_else(|| "% nothing was measured: there is no table\n".into()))
    },
    table: Some(TableForm::Print(table)),
};

/// The number of characters in a line of a page.
const PAGE: usize = 96;
/// The text for a missing figure: a phrase in many columns would make the table wider than the page.
const MISSING: &str = "--";

/// Writes one table with its caption as a comment, because the paper decides about floats and captions. A table that is too wide for a page
/// is split.
fn table(sheet: &Sheet) -> String {
    let pieces = sheet.pieces(PAGE, MISSING.len());
    let caption = clean::line(&sheet.caption()).into_owned();
    let part =
        |at: usize| if pieces.len() > 1 { format!(", part {} of {}", at + 1, pieces.len()) } else { String::new() };
    let told = |at: usize| format!("% {caption}{}; needs \\usepackage{{booktabs}}\n", part(at));
    let tabulars: Vec<String> = pieces.iter().enumerate().map(|(at, piece)| told(at) + &tabular(piece)).collect();
    // The notes follow the last part, as paragraphs of the paper.
    let notes = sheet.notes.iter().map(|note| format!("\n\\par\\noindent {}\n", escape(note)));
    tabulars.join("\n") + &notes.collect::<String>()
}

/// Writes one floating table with a caption and this label: `\ref{tab:...}`.
pub fn float(sheet: &Sheet, label: &str) -> String {
    let pieces = sheet.pieces(PAGE, MISSING.len());
    let tabulars: Vec<String> = pieces.iter().map(tabular).collect();
    let notes = sheet
        .notes
        .iter()
        .map(|note| format!("\\par\\smallskip\n\\parbox{{\\linewidth}}{{\\footnotesize {}}}\n", escape(note)));
    let label: String =
        label.chars().map(|c| if c.is_ascii_alphanumeric() || ".-:".contains(c) { c } else { '-' }).collect();
    format!(
        "% needs \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{label}}}\n{}{}\\end{{table}}\n",
        escape(&sheet.caption()),
        tabulars.join("\\par\\medskip\n"),
        notes.collect::<String>()
    )
}

fn tabular(sheet: &Sheet) -> String {
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let columns = "r".repeat(sheet.head.len().saturating_sub(1));
    let mut out = format!("\\begin{{tabular}}{{l{columns}}}\n\\toprule\n");
    let groups: Vec<&[Head]> = sheet.head.chunk_by(|a, b| !a.group.is_empty() && a.group == b.group).collect();
    if sheet.head.iter().any(|head| !head.group.is_empty()) {
        let over = |heads: &&[Head]| match heads {
            [first, ..] if !first.group.is_empty() => {
                format!("\\multicolumn{{{}}}{{c}}{{{}}}", heads.len(), escape(&first.group))
            }
            _ => String::new(),
        };
        out.push_str(&line(groups.iter().map(over).collect()));
    }
    out.push_str(&line(sheet.head.iter().map(|head| escape(&head.name)).collect()));
    let units: Vec<String> = (0..sheet.head.len()).map(|column| unit(sheet, column)).collect();
    if units.iter().any(|unit| !unit.is_empty()) {
        out.push_str(&line(units));
    }
    out.push_str("\\midrule\n");
    for row in &sheet.rows {
        out.push_str(&line(row.iter().zip(sheet.texts(row)).map(cell).collect()));
    }
    out.push_str("\\bottomrule\n\\end{tabular}\n");
    out
}

/// Returns the unit below the head of a column of values: `(\textmu{}s)`.
fn unit(sheet: &Sheet, column: usize) -> String {
    let valued = sheet.rows.iter().filter_map(|row| row.get(column)).any(|cell| cell.number().is_some());
    match sheet.unit(column).filter(|unit| valued && !unit.name.is_empty()) {
        Some(unit) => format!("({})", escape(&unit.name)),
        None => String::new(),
    }
}

fn cell((datum, text): (&Datum, String)) -> String {
    if datum.is_missing() { MISSING.into() } else { escape(&text) }
}

/// Escapes text so that TeX prints it unchanged.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean::text(text).chars() {
        match c {
            // TeX would join two dashes into one longer dash.
            '-' if out.ends_with('-') => out.push_str("{-}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            // After the end of a row, TeX would read these as an argument of the row end.
            '[' | '*' => out.extend(['{', c, '}']),
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            'µ' => out.push_str("\\textmu{}"),
            '\u{202f}' => out.push_str("\\,"),
            '\u{a0}' => out.push('~'),
            '−' => out.push_str("$-$"),
            '×' => out.push_str("$\\times$"),
            '–' => out.push_str("--"),
            '†' => out.push_str("\\textdagger{}"),
            '‡' => out.push_str("\\textdaggerdbl{}"),
            '§' => out.push_str("\\S{}"),
            '¶' => out.push_str("\\P{}"),
            '≥' => out.push_str("$\\geq$"),
            '≤' => out.push_str("$\\leq$"),
            '→' => out.push_str("$\\rightarrow$"),
            '±' => out.push_str("$\\pm$"),
            c if c.is_control() => out.push(' '),
            c if is_set(c) => out.push(c),
            c => out.push_str(&format!("U+{:04X}", u32::from(c))),
        }
    }
    out
}

/// Returns whether LaTeX prints a letter as it is, with any engine: ASCII, and the Latin letters and signs of its usual fonts.
fn is_set(c: char) -> bool {
    c.is_ascii() || matches!(c, '\u{a1}'..='\u{17f}' | '‘' | '’' | '“' | '”' | '…')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        formats::FORMATS,
        sample::{self, SampleRun},
        tree::Report,
    };
    use latido_judge::configuration::Configuration;

    fn summary(all: &[Configuration]) -> String {
        tables::printed(&Report::new(&SampleRun::of(all).input(all), FORMATS), table).unwrap()
    }

    /// A row's name is not an argument of the row before: `\\[1cm]` is a distance, and `\\*` keeps two rows on a page.
    #[test]
    fn a_name_is_no_argument() {
        for name in ["[9cm]", "*", "* [x]"] {
            let rows = vec![vec![Datum::Text("first".into())], vec![Datum::Text(name.into())]];
            let sheet = Sheet::new("t".into(), vec!["name".into()], rows, "ns", &[]);
            let text = table(&sheet);
            let begins = |line: &str| line.trim_start().starts_with(['[', '*']);
            assert!(!text.lines().any(begins), "{text}");
        }
        assert_eq!(escape("a[b]*"), "a{[}b]{*}");
    }

    #[test]
    fn the_summary_is_a_tabular() {
        // The tables of limits and tails work in the same way.
        let text = summary(&sample::configurations(3));
        let first = text.split("% Wake-up latency, how often").next().unwrap();
        insta::assert_snapshot!(first.trim_end(), @r"
        % Wake-up latency in µs, part 1 of 2; needs \usepackage{booktabs}
        \begin{tabular}{lrrrrrrr}
        \toprule
        configuration & wake-ups & min & p50 & mean & sd & p99 & p99.9 \\
         &  & (\textmu{}s) & (\textmu{}s) & (\textmu{}s) & (\textmu{}s) & (\textmu{}s) & (\textmu{}s) \\
        \midrule
        6.12.48, none & 117\,660 & 1.10 & 4.09 & 4.88 & 3.63 & 14.8 & 21.1 \\
        6.12.48, full & 117\,853 & 1.10 & 3.57 & 3.89 & 1.61 & 9.43 & 12.2 \\
        6.12.48, rt & 117\,601 & 1.34 & 3.32 & 3.47 & 1.04 & 6.49 & 8.51 \\
        \bottomrule
        \end{tabular}

        % Wake-up latency in µs, part 2 of 2; needs \usepackage{booktabs}
        \begin{tabular}{lrrrrrr}
        \toprule
        configuration & p99.99 & p99.999 & max & \textgreater{} 100 \textmu{}s & late & missed \\
         & (\textmu{}s) & (\textmu{}s) & (\textmu{}s) &  &  &  \\
        \midrule
        6.12.48, none & 48.5 & 306 & 510 & 9 & 0 & 0 \\
        6.12.48, full & 17.6 & 64.3 & 70.1 & 0 & 0 & 0 \\
        6.12.48, rt & 14.2 & 17.6 & 20.3 & 0 & 0 & 0 \\
        \bottomrule
        \end{tabular}

        \par\noindent A once-a-day event shows in 60~s with a chance of less than 1~\%, in 3~days with 95~\%

        % Wake-up latency, quantiles with 95 % limits in µs, part 1 of 2; needs \usepackage{booktabs}
        \begin{tabular}{lrrrr}
        \toprule
        configuration & wake-ups & p50 & p90 & p99 \\
         &  & (\textmu{}s) & (\textmu{}s) & (\textmu{}s) \\
        \midrule
        6.12.48, none & 117\,660 & 4.09 (4.08 to 4.11) & 8.50 (8.46 to 8.54) & 14.8 (14.6 to 14.8) \\
        6.12.48, full & 117\,853 & 3.57 (3.56 to 3.58) & 5.89 (5.88 to 5.93) & 9.43 (9.38 to 9.65) \\
        6.12.48, rt & 117\,601 & 3.32 (3.31 to 3.32) & 4.85 (4.82 to 4.86) & 6.49 (6.49 to 6.51) \\
        \bottomrule
        \end{tabular}

        % Wake-up latency, quantiles with 95 % limits in µs, part 2 of 2; needs \usepackage{booktabs}
        \begin{tabular}{lrrrr}
        \toprule
        configuration & wake-ups & p99.9 & p99.99 & p99.999 \\
         &  & (\textmu{}s) & (\textmu{}s) & (\textmu{}s) \\
        \midrule
        6.12.48, none & 117\,660 & 21.1 (20.8 to 21.1) & 48.5 (27.6 to 168) & 306 (213 to n too small) \\
        6.12.48, full & 117\,853 & 12.2 (12.2 to 12.2) & 17.6 (16.0 to 23.2) & 64.3 (26.3 to n too small) \\
        6.12.48, rt & 117\,601 & 8.51 (8.01 to 8.51) & 14.2 (13.5 to 15.2) & 17.6 (15.2 to n too small) \\
        \bottomrule
        \end{tabular}

        \par\noindent Limits by binomial ranks of the number of independent samples, estimated from blocks of time, for these repeats only: if repeats differ, another may lie outside.

        \par\noindent n too small: the number of samples is too small for a 95 \% limit of this quantile; a longer measurement has one.
        ");
    }

    /// Any table that is too wide for a page is split into parts. Each part has the rows' names and the units of its columns, and no column
    /// is lost.
    #[test]
    fn a_wide_table_of_any_kind_is_split() {
        let columns = 14u8;
        let name = |at: u8| char::from(b'a' + at).to_string().repeat(8);
        let head = std::iter::once(Head::from("name")).chain((0..columns).map(|at| Head::from(name(at).as_str())));
        let row = |name: &str| {
            let values = (0..columns).map(|at| Datum::value(Some(10f64.powi(i32::from(1 + at % 7)))));
            std::iter::once(Datum::Text(name.into())).chain(values).collect::<Vec<_>>()
        };
        let sheet = Sheet::new("Wide".into(), head.collect(), vec![row("one"), row("two")], "ns", &[10.0, 1e7]);
        let text = table(&sheet);
        let parts = text.matches("\\begin{tabular}").count();
        assert!(parts > 1 && text.contains(&format!("part {parts} of {parts}")), "{text}");
        assert_eq!(text.matches("\none & ").count(), parts, "{text}");
        for at in 0..columns {
            let head = name(at);
            assert_eq!(text.matches(&head).count(), 1, "{head}: {text}");
        }
        let widest =
            text.lines().filter(|line| line.ends_with("\\\\")).map(|line| line.replace("\\textmu{}", "u").len());
        assert!(widest.max().unwrap() <= PAGE + 4, "{text}");
    }

    #[test]
    fn a_run_without_samples_is_said_to_have_no_table() {
        let nothing = SampleRun::of(&[]);
        let input = nothing.input(&[]);
        let report = Report::new(&input, FORMATS);
        assert_eq!((FORMAT.report)(&report).unwrap(), "% nothing was measured: there is no table\n");
    }

    #[test]
    fn what_is_missing_is_a_dash_and_hostile_names_are_text() {
        let text = summary(&[sample::empty("50% & \\input{x}")]);
        assert!(text.contains("50\\% \\& \\textbackslash{}input\\{x\\} & 0 & -- & --"), "{text}");
    }
}
