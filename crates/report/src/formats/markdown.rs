//! Tables in GitHub's Markdown.

use crate::{
    tables,
    tree::{Format, Sheet, TableForm},
};
use latido_model::clean;

/// The list entry.
pub const FORMAT: Format = Format {
    name: "markdown",
    title: "Markdown",
    ending: "md",
    about: "every table as GitHub's Markdown has them",
    report: |report| {
        Ok(tables::printed(report, table).unwrap_or_else(|| "*Nothing was measured: there is no table.*\n".into()))
    },
    table: Some(TableForm::Print(table)),
};

/// One table with its caption above it.
fn table(sheet: &Sheet) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = format!("**{}**\n\n", escape(&sheet.caption()));
    out.push_str(&line(sheet.headings().iter().map(|h| escape(h)).collect()));
    let rule = |i: usize| if i == 0 { ":--" } else { "--:" };
    out.push_str(&line((0..sheet.head.len()).map(|i| rule(i).to_owned()).collect()));
    for row in &sheet.rows {
        out.push_str(&line(sheet.texts(row).iter().map(|text| escape(text)).collect()));
    }
    sheet.notes.iter().for_each(|note| out.push_str(&format!("\n{}\n", escape(note))));
    out
}

/// Text that no Markdown reader takes for markup or HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean::text(text).chars() {
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
    use crate::{
        formats::FORMATS,
        judge::configuration::Configuration,
        sample::{self, SampleRun},
        tree::Report,
    };

    fn summary(all: &[Configuration]) -> String {
        tables::printed(&Report::new(&SampleRun::of(all).input(all), FORMATS), table).unwrap()
    }

    #[test]
    fn the_summary_is_a_table() {
        insta::assert_snapshot!(summary(&sample::configurations(3)));
    }

    #[test]
    fn hostile_names_stay_text() {
        assert_eq!(escape("a|b\n<script>_x_"), "a\\|b \\<script>\\_x\\_");
    }
}
