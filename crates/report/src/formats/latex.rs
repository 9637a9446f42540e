//! Tables in LaTeX (with the booktabs package).

use crate::{judge::configuration::Configuration, section, tables::summary, tree::{Datum, Sheet}};

/// The summary table of every quantity.
pub fn summary(configurations: &[Configuration]) -> String {
    let tables = section::sections(configurations);
    tables.iter().map(|s| table(&summary::sheet(s))).collect::<Vec<_>>().join("\n")
}

/// One table, its caption as a comment: where it floats and what it is called is the paper's business.
pub fn table(sheet: &Sheet) -> String {
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let columns = "r".repeat(sheet.head.len().saturating_sub(1));
    let caption = sheet.caption.replace(['\n', '\r'], " ");
    let mut out = format!("% {caption}; needs \\usepackage{{booktabs}}\n\\begin{{tabular}}{{l{columns}}}\n\\toprule\n");
    out.push_str(&line(sheet.head.iter().map(|h| escape(h)).collect()));
    out.push_str("\\midrule\n");
    for row in &sheet.rows {
        out.push_str(&line(row.iter().map(|d| cell(d, sheet)).collect()));
    }
    out.push_str("\\bottomrule\n\\end{tabular}\n");
    out
}

fn cell(datum: &Datum, sheet: &Sheet) -> String {
    // A phrase in every other column would make the table wider than the page.
    if datum.is_missing() { "--".into() } else { escape(&datum.text(&sheet.unit)) }
}

/// Text that TeX sets as it is.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
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
            '–' => out.push_str("--"),
            '†' => out.push_str("\\textdagger{}"),
            '‡' => out.push_str("\\textdaggerdbl{}"),
            '§' => out.push_str("\\S{}"),
            '¶' => out.push_str("\\P{}"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_summary_is_a_tabular() {
        insta::assert_snapshot!(summary(&sample::configurations(3)));
    }

    #[test]
    fn what_is_missing_is_a_dash_and_hostile_names_are_text() {
        let text = summary(&[sample::empty("50% & \\input{x}")]);
        assert!(text.contains("50\\% \\& \\textbackslash{}input\\{x\\} & 0 & -- & --"), "{text}");
    }
}
