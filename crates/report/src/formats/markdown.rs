//! Tables in GitHub's Markdown.

use crate::{judge::configuration::Configuration, section, tables::summary, tree::Sheet};

/// The summary table of every quantity.
pub fn summary(configurations: &[Configuration]) -> String {
    let tables = section::sections(configurations);
    tables.iter().map(|s| table(&summary::sheet(s))).collect::<Vec<_>>().join("\n")
}

/// One table with its caption above it.
pub fn table(sheet: &Sheet) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = format!("**{}**\n\n", escape(&sheet.caption));
    out.push_str(&line(sheet.head.iter().map(|h| escape(h)).collect()));
    let rule = |i: usize| if i == 0 { ":--" } else { "--:" };
    out.push_str(&line((0..sheet.head.len()).map(|i| rule(i).to_owned()).collect()));
    for row in &sheet.rows {
        out.push_str(&line(row.iter().map(|d| escape(&d.text(&sheet.unit))).collect()));
    }
    out
}

/// Text that no Markdown reader takes for markup or HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '<' | '#' => out.extend(['\\', c]),
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
    fn the_summary_is_a_table() {
        insta::assert_snapshot!(summary(&sample::configurations(3)));
    }

    #[test]
    fn hostile_names_stay_text() {
        assert_eq!(escape("a|b\n<script>_x_"), "a\\|b \\<script>\\_x\\_");
    }
}
