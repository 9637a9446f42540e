//! LAVA: signals on a device's console, and `result.txt` as Linaro's test-definitions write it.

use super::{
    case::groups,
    cells::{Figure, OneSeries},
    format::{Export, Exported, Writer, Written},
    state::State,
    text::{self, Names},
    units,
};

/// The list entry of the signals.
pub const SIGNALS: Export = Export {
    name: "lava",
    ending: "txt",
    needs: None,
    about: "LAVA test case signals, to be printed on the console of a device under test",
    write: Writer::Signals(|exported| {
        let line = |one: Entry| {
            let measured = one.measured.map(|(value, unit)| format!(" MEASUREMENT={value} UNITS={unit}"));
            let measured = measured.unwrap_or_default();
            format!("<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={} RESULT={}{measured}>\n", one.id, one.state.words().lava)
        };
        Ok(Written::all(results(exported).into_iter().map(line).collect()))
    }),
};

/// The list entry of `result.txt`.
pub const RESULTS: Export = Export {
    name: "lava-results",
    ending: "txt",
    needs: None,
    about: "result.txt of test-definitions, which send-to-lava.sh reads: ID RESULT [MEASUREMENT UNITS]",
    write: Writer::File(|exported| {
        let line = |one: Entry| {
            let measured = one.measured.map(|(value, unit)| format!(" {value} {unit}")).unwrap_or_default();
            format!("{} {}{measured}\n", one.id, one.state.words().lava)
        };
        Ok(Written::all(results(exported).into_iter().map(line).collect()))
    }),
};

struct Entry {
    id: String,
    state: State,
    measured: Option<(String, String)>,
}

/// Returns the tests and the figures. Their ids are unique and contain no character at which a reader splits.
fn results(exported: &Exported) -> Vec<Entry> {
    let mut names = Names::default();
    let mut all = Vec::new();
    for group in groups(exported) {
        let within = group.step.clone();
        for case in &group.cases {
            let id = names.unique(text::id(&format!("{within}-{}", case.name), "."));
            all.push(Entry { id, state: case.state, measured: None });
        }
        for one in group.cell.iter().flat_map(|cell| cell.series()) {
            let figures = one.figures();
            all.extend(figures.iter().map(|figure| measured(&within, &one, figure, &mut names)));
        }
    }
    all
}

fn measured(within: &str, one: &OneSeries, figure: &Figure, names: &mut Names) -> Entry {
    let unit = units::micro(&one.series.unit);
    let id = format!("{within}-{}-{}-{}", one.place, one.series.quantity, figure.key);
    // `Display` never writes an exponent, and LAVA reads a decimal.
    let value = unit.of(figure.value).to_string();
    let id = names.unique(text::id(&id, "."));
    Entry { id, state: figure.state, measured: Some((value, text::id(&unit.name, ""))) }
}
