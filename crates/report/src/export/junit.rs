//! JUnit XML as Jenkins' xUnit plugin describes it (junit-10.xsd); GitLab, Jenkins and most other CI systems read it.

use super::{
    case::{Case, Group, groups},
    cells::OneCell,
    format::{Export, Exported, Writer, Written},
    state::Child,
    text::{self, Names, xml},
};
use anyhow::Result;
use latido_model::cell::Axis;

/// The list entry.
pub const EXPORT: Export = Export {
    name: "junit",
    ending: "xml",
    needs: None,
    about: "JUnit XML (junit-10.xsd): GitLab, Jenkins, and what turns it into comments elsewhere",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let groups = groups(exported);
    let sum = |child| groups.iter().map(|group| group.count(child)).sum::<usize>();
    let tests: usize = groups.iter().map(|group| group.cases.len()).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (failures, errors) = (sum(Child::Failure), sum(Child::Error));
    out.push_str(&format!(
        "<testsuites name=\"latido\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">\n"
    ));
    let mut names = Names::default();
    for group in &groups {
        out.push_str(&suite(group, &mut names));
    }
    Ok(Written::all(out + "</testsuites>\n"))
}

fn suite(group: &Group, names: &mut Names) -> String {
    let record = group.cell.as_ref().and_then(OneCell::record);
    let meta = &group.run.run.meta;
    let time = record.map_or(0.0, |record| record.elapsed_ns as f64 / 1e9);
    let host = record.map_or(meta.machine.as_str(), |record| &record.machine.hostname);
    let started = group.cell.as_ref().map_or(meta.started.as_str(), OneCell::started);
    let mut out = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{time:.3}\"{} hostname=\"{}\">\n",
        xml(&text::line(&group.name)),
        group.cases.len(),
        group.count(Child::Failure),
        group.count(Child::Error),
        group.count(Child::Skipped),
        timestamp(started),
        xml(&text::line(host)),
    );
    out.push_str("    <properties>\n");
    for (name, value) in properties(group) {
        out.push_str(&format!("      <property name=\"{}\" value=\"{}\"/>\n", xml(&name), xml(&value)));
    }
    out.push_str("    </properties>\n");
    let class = format!("latido.{}.{}", text::id(&meta.plan, ""), group.step);
    for one in &group.cases {
        // GitLab drops a test whose name it has already seen, even in another class.
        let name = names.unique(text::line(&format!("{}: {}", group.name, one.name)));
        out.push_str(&case(one, &class, &name));
    }
    out + "  </testsuite>\n"
}

fn case(case: &Case, class: &str, name: &str) -> String {
    let words = case.state.words();
    let message = xml(&case.why);
    let kind = words.word;
    let child = match words.junit {
        Child::None => None,
        Child::Failure => Some(format!("<failure type=\"{kind}\" message=\"{message}\"/>")),
        Child::Error => Some(format!("<error type=\"{kind}\" message=\"{message}\"/>")),
        Child::Skipped => Some(format!("<skipped message=\"{kind}: {message}\"/>")),
    };
    let out = child.unwrap_or_default();
    let said = match words.junit {
        Child::None if !message.is_empty() => format!("<system-out>{message}</system-out>"),
        _ => String::new(),
    };
    format!("    <testcase classname=\"{}\" name=\"{}\" time=\"0\">{out}{said}</testcase>\n", xml(class), xml(name))
}

/// Returns the date and time without fractions of a second, as xs:dateTime of the schema requires; empty if it is not a time.
fn timestamp(started: &str) -> String {
    let at: Option<jiff::Timestamp> = started.parse().ok();
    at.map(|at| format!(" timestamp=\"{}\"", at.strftime("%Y-%m-%dT%H:%M:%S"))).unwrap_or_default()
}

/// Returns what was measured and how. The schema allows properties only for suites.
fn properties(group: &Group) -> Vec<(String, String)> {
    let meta = &group.run.run.meta;
    let mut all = vec![("latido.run".to_owned(), meta.id.clone()), ("latido.version".into(), meta.latido.clone())];
    all.push(("latido.verdict".into(), group.state().words().word.into()));
    let Some(cell) = &group.cell else { return all };
    for axis in Axis::ALL {
        all.push((format!("latido.{}", axis.name()), cell.stored.cell.level(axis)));
    }
    all.extend(cell.record().map(|record| ("latido.uname".into(), record.machine.kernel.clone())));
    for one in cell.series() {
        let prefix = format!("latido.{}.{}", text::id(&one.place, ""), text::id(&one.series.quantity, ""));
        for figure in one.figures() {
            all.push((format!("{prefix}.{}_{}", figure.key, one.series.unit), figure.value.to_string()));
        }
        all.extend(one.slots().into_iter().map(|(slot, count)| (format!("{prefix}.slots_{slot}"), count.to_string())));
        all.extend(one.censored().map(|why| (format!("{prefix}.censored"), why)));
    }
    all
}
