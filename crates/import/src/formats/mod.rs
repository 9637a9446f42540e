//! The formats: one file each and one line in [`IMPORTS`].

pub(crate) mod csv;
mod cyclicdeadline;
mod cyclictest;
mod cyclictest_json;
mod cyclictest_screen;
pub mod cyclictest_v;
// The worked example of CONTRIBUTING.md: the tests compile it.
#[cfg(test)]
mod hackbench;
mod hgrm;
mod hlog;
mod hwlatdetect;
pub mod jitterdebugger;
mod jitterdebugger_json;
mod jitterdebugger_screen;
mod latmus;
mod latmus_screen;
pub(crate) mod ndjson;
mod oslat;
mod oslat_json;
mod pair_tests;
mod rtai_latency;
mod rtai_preempt;
mod rtai_switches;
mod rteval;
mod rtla_osnoise_hist;
mod rtla_osnoise_top;
mod rtla_timerlat_hist;
mod rtla_timerlat_top;
mod signaltest;
mod stress_ng_cyclic;
mod xenomai;
mod xenomai_plot;

use crate::format::{Format, HEAD};

/// Every format that can be read.
pub const IMPORTS: &[Format] = &[
    cyclictest::FORMAT,
    cyclictest_json::FORMAT,
    cyclictest_v::FORMAT,
    cyclictest_screen::FORMAT,
    oslat::FORMAT,
    oslat_json::FORMAT,
    signaltest::FORMAT,
    pair_tests::PMQTEST,
    pair_tests::PTSEMATEST,
    pair_tests::SVSEMATEST,
    pair_tests::SIGWAITTEST,
    cyclicdeadline::FORMAT,
    rtla_timerlat_hist::FORMAT,
    rtla_timerlat_top::FORMAT,
    rtla_osnoise_hist::FORMAT,
    rtla_osnoise_top::FORMAT,
    jitterdebugger_json::FORMAT,
    jitterdebugger::RAW,
    jitterdebugger::CSV,
    jitterdebugger::HDF5,
    jitterdebugger_screen::FORMAT,
    xenomai::FORMAT,
    xenomai_plot::FORMAT,
    latmus::FORMAT,
    latmus_screen::FORMAT,
    rtai_latency::FORMAT,
    rtai_preempt::FORMAT,
    rtai_switches::FORMAT,
    rteval::FORMAT,
    hgrm::FORMAT,
    hlog::FORMAT,
    hwlatdetect::FORMAT,
    stress_ng_cyclic::FORMAT,
    csv::FORMAT,
    ndjson::FORMAT,
];

/// Returns the formats that a file may have, by its content: by its head if that suffices, else by all of it. Output of another tool at the
/// end of a long file counts too.
pub fn recognised(bytes: &[u8]) -> Vec<&'static Format> {
    let of = |bytes: &[u8]| IMPORTS.iter().filter(|format| (format.recognise)(bytes)).collect::<Vec<_>>();
    let head = bytes.get(..HEAD).map(of).unwrap_or_default();
    // The output on a screen may come before a histogram.
    let screen = head.iter().any(|format| format.name == cyclictest_screen::FORMAT.name);
    if head.is_empty() || screen {
        return of(bytes);
    }
    let end = bytes.get(bytes.len().saturating_sub(HEAD)..).unwrap_or_default();
    // A part of a file may look like the output of a simpler format of the same tool.
    let known = |format: &Format| head.iter().any(|own| own.name == format.name || of_one_tool(own.name, format.name));
    let others = of(end).into_iter().filter(|format| !known(format)).collect::<Vec<_>>();
    [head, others].concat()
}

/// Tells whether two formats are of one tool, such as `cyclictest` and `cyclictest-screen`. Formats of plain samples have no tool.
fn of_one_tool(one: &str, other: &str) -> bool {
    let tool = |name: &str| name.split('-').next().map(str::to_owned);
    tool(one) == tool(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Asked, Interval};

    #[test]
    fn the_worked_example_is_an_import() {
        let text = |time: &str| {
            format!(
                "Running in process mode with 10 groups using 40 file descriptors each (== 400 tasks)\nTime: {time}"
            )
        };
        let whole = text("0.054\n");
        assert!((hackbench::FORMAT.recognise)(whole.as_bytes()) && recognised(whole.as_bytes()).is_empty());
        let import = |text: &str| hackbench::FORMAT.import(text.as_bytes(), &Asked::default());
        let imported = import(&whole).unwrap();
        assert_eq!(imported.series[0].max, Some(Interval::between(54_000_000, 54_999_999)));
        assert!(import(&text("0.05")).unwrap_err().to_string().contains("line 2 has no end"));
        assert!(import(&text("soon\n")).unwrap_err().to_string().contains("line 2: `soon`"));
    }
}
