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
    about: "every table in GitHub's Markdown",
    report: |report| {
        Ok(tables::printed(report, table).unwrap_or_else(|| "*Nothing was measured: there is no table.*\n".into()))
    },
    table: Some(TableForm::Print(table)),
};

/// Returns one table with its caption above it.
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

/// An invisible separator inside a word. A site links `@name`, `#12` and addresses after it has removed the markup, so a backslash or an
/// entity does not prevent the link.
const PARTED: &str = "<!-- -->";

/// Escapes text so that no Markdown reader takes it for markup, HTML or a column, and no site turns it into a link or a mention.
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

/// Returns whether some site links text that starts with or surrounds this character: a person, an address, or an issue or request by its
/// number (`#12`, `!12`, `GH-12`, and on GitLab `~12`, `%12`, `$12`, `&12`).
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
        insta::assert_snapshot!(summary(&sample::configurations(3)), @r"
        **Wake-up latency in µs**

        | configuration | wake-ups | min | p50 | mean | sd | p99 | p99.9 | p99.99 | p99.999 | max | > 100 µs | late | missed |
        | :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
        | 6.12.48, none | 117 660 | 1.10 | 4.09 | 4.88 | 3.63 | 14.8 | 21.1 | 48.5 | 306 | 510 | 9 | 0 | 0 |
        | 6.12.48, full | 117 853 | 1.10 | 3.57 | 3.89 | 1.61 | 9.43 | 12.2 | 17.6 | 64.3 | 70.1 | 0 | 0 | 0 |
        | 6.12.48, rt | 117 601 | 1.34 | 3.32 | 3.47 | 1.04 | 6.49 | 8.51 | 14.2 | 17.6 | 20.3 | 0 | 0 | 0 |

        A once-a-day event shows in 60 s with a chance of less than 1 %, in 3 days with 95 %

        **Wake-up latency, quantiles with 95 % limits in µs**

        | configuration | wake-ups | p50 | p90 | p99 | p99.9 | p99.99 | p99.999 |
        | :-- | --: | --: | --: | --: | --: | --: | --: |
        | 6.12.48, none | 117 660 | 4.09 (4.08 to 4.11) | 8.50 (8.46 to 8.54) | 14.8 (14.6 to 14.8) | 21.1 (20.8 to 21.1) | 48.5 (27.6 to 168) | 306 (213 to n too small) |
        | 6.12.48, full | 117 853 | 3.57 (3.56 to 3.58) | 5.89 (5.88 to 5.93) | 9.43 (9.38 to 9.65) | 12.2 (12.2 to 12.2) | 17.6 (16.0 to 23.2) | 64.3 (26.3 to n too small) |
        | 6.12.48, rt | 117 601 | 3.32 (3.31 to 3.32) | 4.85 (4.82 to 4.86) | 6.49 (6.49 to 6.51) | 8.51 (8.01 to 8.51) | 14.2 (13.5 to 15.2) | 17.6 (15.2 to n too small) |

        Limits by binomial ranks of the number of independent samples, estimated from blocks of time, for these repeats only: if repeats differ, another may lie outside.

        n too small: the number of samples is too small for a 95 % limit of this quantile; a longer measurement has one.

        **Wake-up latency, how often above 100 µs, with 95 % limits**

        | configuration | repeat | CPU | wake-ups | above | share | per hour |
        | :-- | --: | --: | --: | --: | --: | --: |
        | 6.12.48, none | 1 | 2 | 58 706 | 5 | 0.0085 % (0.0028 % to 0.020 %) | 300 (97.4 to 700) |
        | 6.12.48, none | 1 | 3 | 58 954 | 4 | 0.0068 % (0.0018 % to 0.017 %) | 240 (65.4 to 614) |
        | 6.12.48, full | 1 | 2 | 59 101 | 0 | 0 % | 0 (at most 180) |
        | 6.12.48, full | 1 | 3 | 58 752 | 0 | 0 % | 0 (at most 180) |
        | 6.12.48, rt | 1 | 2 | 58 751 | 0 | 0 % | 0 (at most 180) |
        | 6.12.48, rt | 1 | 3 | 58 850 | 0 | 0 % | 0 (at most 180) |

        **Wake-up latency, tails: levels that are exceeded once in the given time, under the causes observed in µs**

        | configuration | repeat | CPU | k | u | shape | gate | once an hour | once a day | once a year |
        | :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: |
        | 6.12.48, none | 1 | 2 | 1 174 | 1.54 | 0.207 (0.164 to 0.256) | shut | none | none | none |
        | 6.12.48, none | 1 | 3 | 1 179 | 1.39 | 0.147 (0.111 to 0.191) | shut | none | none | none |
        | 6.12.48, full | 1 | 2 | 1 182 | 1.67 | 0.023 (−0.001 to 0.056) | shut | none | none | none |
        | 6.12.48, full | 1 | 3 | 1 175 | 1.68 | 0.051 (0.022 to 0.088) | shut | none | none | none |
        | 6.12.48, rt | 1 | 2 | 1 175 | 1.85 | −0.035 (−0.070 to 0.005) | shut | none | none | none |
        | 6.12.48, rt | 1 | 3 | 1 177 | 1.80 | −0.041 (−0.074 to −0.002) | shut | none | none | none |

        No levels of 6.12.48, none, repeat 1, CPU 2: blocks with many exceedances cluster (p \< 0.001); the excesses do not follow the fitted distribution (p \< 0.001); the shape changes with the threshold (p \< 0.001); two causes describe the excesses better (p \< 0.001); the largest values are further out than the rest allows (p \< 0.001).

        No levels of 6.12.48, none, repeat 1, CPU 3; 6.12.48, rt, repeat 1, CPU 3: the excesses do not follow the fitted distribution (p \< 0.001); the shape changes with the threshold (p \< 0.001); two causes describe the excesses better (p \< 0.001); the largest values are further out than the rest allows (p \< 0.001).

        No levels of 6.12.48, full, repeat 1, CPU 2; 6.12.48, rt, repeat 1, CPU 2: blocks with many exceedances cluster (p 0.002); the excesses do not follow the fitted distribution (p \< 0.001); the shape changes with the threshold (p \< 0.001); two causes describe the excesses better (p \< 0.001); the largest values are further out than the rest allows (p \< 0.001).

        No levels of 6.12.48, full, repeat 1, CPU 3: blocks with many exceedances cluster (p 0.003); the excesses do not follow the fitted distribution (p \< 0.001); the shape changes with the threshold (p \< 0.001); two causes describe the excesses better (p \< 0.001); the largest values are further out than the rest allows (p \< 0.001).

        A once-a-day event shows in 60 s with a chance of less than 1 %, in 3 days with 95 %
        ");
    }

    #[test]
    fn hostile_names_stay_text() {
        assert_eq!(escape("a|b\n<script>_x_"), "a\\|b \\<script>\\_x\\_");
    }

    /// No name in a report mentions a person or becomes a link.
    #[test]
    fn a_name_calls_nobody() {
        assert_eq!(escape("@root, a@b.org"), "@<!-- -->root, a@<!-- -->b.org");
        assert_eq!(escape("https://a.example"), "https:<!-- -->//a.example");
        assert_eq!(escape("www.a.example"), "www<!-- -->.a.example");
        assert_eq!(escape("#12 !7 ~8 $9 GH-10"), "\\#<!-- -->12 !<!-- -->7 \\~<!-- -->8 $<!-- -->9 GH-<!-- -->10");
        assert_eq!(escape("99%1 &5"), "99%<!-- -->1 &amp;<!-- -->5");
        // An unescaped entity would turn into its character after the markup.
        assert_eq!(escape("&commat;root ~~x~~"), "&amp;commat;root \\~\\~x\\~\\~");
        assert_eq!(escape("wakeup @ 1 ms, busy #"), "wakeup @ 1 ms, busy \\#");
    }
}
