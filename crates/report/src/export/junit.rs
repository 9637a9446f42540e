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
    about: "JUnit XML (junit-10.xsd): GitLab, Jenkins, and tools that turn it into comments",
    write: Writer::File(write),
};

/// One `testsuite`: tests that were measured together.
#[derive(Debug, Default)]
pub struct Suite<'a> {
    /// Its name.
    pub name: &'a str,
    /// The class name of each test, below which some readers group them.
    pub class: String,
    /// How long its measurement took, in seconds.
    pub time: f64,
    /// The machine, where there is one.
    pub host: Option<&'a str>,
    /// When it started, as the store writes it; empty where that is unknown.
    pub started: &'a str,
    /// What was measured, and how.
    pub properties: Vec<(String, String)>,
    /// Its tests.
    pub cases: &'a [Case],
}

impl Suite<'_> {
    /// The number of its tests that have this element.
    fn count(&self, child: Child) -> usize {
        self.cases.iter().filter(|case| case.state.words().junit == child).count()
    }
}

fn write(exported: &Exported) -> Result<Written> {
    let groups = groups(exported);
    Ok(Written::all(document(&groups.iter().map(of_group).collect::<Vec<_>>())))
}

fn of_group<'a>(group: &'a Group) -> Suite<'a> {
    let record = group.cell.as_ref().and_then(OneCell::record);
    let meta = &group.run.run.meta;
    Suite {
        name: &group.name,
        class: format!("latido.{}.{}", text::id(&meta.plan, ""), group.step),
        time: record.map_or(0.0, |record| record.elapsed_ns as f64 / 1e9),
        host: Some(record.map_or(meta.machine.as_str(), |record| &record.machine.hostname)),
        started: group.cell.as_ref().map_or(meta.started.as_str(), OneCell::started),
        properties: properties(group),
        cases: &group.cases,
    }
}

/// The file with these suites.
pub fn document(suites: &[Suite]) -> String {
    let sum = |child| suites.iter().map(|suite| suite.count(child)).sum::<usize>();
    let tests: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (failures, errors) = (sum(Child::Failure), sum(Child::Error));
    out.push_str(&format!(
        "<testsuites name=\"latido\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">\n"
    ));
    let mut names = Names::default();
    for suite in suites {
        out.push_str(&of_suite(suite, &mut names));
    }
    out + "</testsuites>\n"
}

fn of_suite(suite: &Suite, names: &mut Names) -> String {
    let host = suite.host.map(|host| format!(" hostname=\"{}\"", xml(&text::line(host)))).unwrap_or_default();
    let mut out = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"{}{host}>\n",
        xml(&text::line(suite.name)),
        suite.cases.len(),
        suite.count(Child::Failure),
        suite.count(Child::Error),
        suite.count(Child::Skipped),
        suite.time,
        timestamp(suite.started),
    );
    out.push_str("    <properties>\n");
    for (name, value) in &suite.properties {
        out.push_str(&format!("      <property name=\"{}\" value=\"{}\"/>\n", xml(name), xml(value)));
    }
    out.push_str("    </properties>\n");
    for one in suite.cases {
        // GitLab drops a test whose name it has already seen, even in another class.
        let name = names.unique(text::line(&format!("{}: {}", suite.name, one.name)));
        out.push_str(&case(one, &suite.class, &name));
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
    // Without a limit a cell is measured, however well its trust check passed.
    let state = group.cell.as_ref().map_or_else(|| group.state(), OneCell::state);
    all.push(("latido.verdict".into(), state.words().word.into()));
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
