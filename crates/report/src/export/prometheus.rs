//! Prometheus' text format 0.0.4, for the node exporter's textfile collector, and OpenMetrics 1.0.

use super::{
    exposition::{Family, Sample, families},
    format::{Export, Exported, Writer, Written},
    text,
};

/// The list entry of Prometheus' own text format.
pub const PROMETHEUS: Export = Export {
    name: "prometheus",
    ending: "prom",
    needs: None,
    about: "Prometheus' text format (base units): the node exporter's textfile collector, a push gateway",
    write: Writer::File(|exported| Ok(Written::all(text(exported, false)))),
};

/// The list entry of OpenMetrics.
pub const OPENMETRICS: Export = Export {
    name: "openmetrics",
    ending: "om",
    needs: None,
    about: "OpenMetrics 1.0 (base units): Prometheus and other tools that read this format",
    write: Writer::File(|exported| Ok(Written::all(text(exported, true) + "# EOF\n"))),
};

/// Writes all families, without timestamps: the textfile collector drops a file that has timestamps.
fn text(exported: &Exported, open: bool) -> String {
    let families = families(exported);
    families.iter().map(|(name, family)| head(name, family, open) + &lines(name, &family.samples)).collect()
}

fn head(name: &str, family: &Family, open: bool) -> String {
    // Both formats escape `\` and line ends in a help text. OpenMetrics also escapes quotation marks, as in labels.
    let help = if open { text::label(&family.help) } else { family.help.replace('\\', "\\\\") };
    let unit = match (open, family.unit.as_str()) {
        (false, _) | (true, "") => String::new(),
        (true, unit) => format!("# UNIT {name} {unit}\n"),
    };
    format!("# HELP {name} {help}\n# TYPE {name} {}\n{unit}", family.kind)
}

fn lines(name: &str, samples: &[Sample]) -> String {
    let line = |sample: &Sample| {
        let pairs = sample.labels.iter().map(|(key, value)| format!("{key}=\"{}\"", text::label(value)));
        let pairs = pairs.collect::<Vec<_>>().join(",");
        let labels = if pairs.is_empty() { pairs } else { format!("{{{pairs}}}") };
        format!("{name}{}{labels} {}\n", sample.suffix, sample.value)
    };
    samples.iter().map(line).collect()
}
