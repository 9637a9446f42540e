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

/// What parts a word and is not seen: a site links `@name`, `#12` and addresses after it has taken the markup away, so that a
/// backslash or an entity does not keep it from that.
const PARTED: &str = "<!-- -->";

/// Text that no Markdown reader takes for markup, HTML or a column, and no site for a link or for somebody's name.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = clean::text(text);
    for (at, c) in text.char_indices() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '<' | '#' | '~' => out.extend(['\\', c]),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        let (before, rest) = text.split_at(at);
        if links(before, c, rest.get(c.len_utf8()..).unwrap_or_default()) {
            out.push_str(PARTED);
        }
    }
    out
}

/// Whether some site links what begins with or around this character: a person, an address, an issue or a request by its number
/// (`#12`, `!12`, `GH-12`, and of GitLab `~12`, `%12`, `$12`, `&12`).
fn links(before: &str, c: char, rest: &str) -> bool {
    let next = rest.chars().next();
    let numbered = next.is_some_and(|next| next.is_ascii_digit());
    match c {
        '@' => next.is_some_and(|next| next.is_alphanumeric() || matches!(next, '-' | '_')),
        '#' | '!' | '~' | '%' | '$' | '&' => numbered,
        '-' => numbered && before.to_ascii_uppercase().ends_with("GH"),
        ':' => rest.starts_with("//"),
        'w' | 'W' => rest.starts_with('.'),
        _ => false,
    }
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

    #[test]
    fn the_summary_is_a_table() {
        insta::assert_snapshot!(summary(&sample::configurations(3)));
    }

    #[test]
    fn hostile_names_stay_text() {
        assert_eq!(escape("a|b\n<script>_x_"), "a\\|b \\<script>\\_x\\_");
    }

    /// Nobody is called, and nothing is linked, by a name in a report.
    #[test]
    fn a_name_calls_nobody() {
        assert_eq!(escape("@root, a@b.org"), "@<!-- -->root, a@<!-- -->b.org");
        assert_eq!(escape("https://a.example"), "https:<!-- -->//a.example");
        assert_eq!(escape("www.a.example"), "www<!-- -->.a.example");
        assert_eq!(escape("#12 !7 ~8 $9 GH-10"), "\\#<!-- -->12 !<!-- -->7 \\~<!-- -->8 $<!-- -->9 GH-<!-- -->10");
        assert_eq!(escape("99%1 &5"), "99%<!-- -->1 &amp;<!-- -->5");
        // An entity would be the character itself behind the markup.
        assert_eq!(escape("&commat;root ~~x~~"), "&amp;commat;root \\~\\~x\\~\\~");
        assert_eq!(escape("wakeup @ 1 ms, busy #"), "wakeup @ 1 ms, busy \\#");
    }
}
