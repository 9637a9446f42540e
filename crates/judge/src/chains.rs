//! The stages of an event from its instant to the task that waited for it, for the median and the worst event. The data come from the files
//! `stages.csv` next to the records of probes that time-stamp events.

use crate::title::Titles;
use anyhow::{Context, Result, ensure};
use latido_model::{
    cell::{Axis, Cell},
    run::{CellState, Run, StoredCell},
};

/// The name of the file next to a record.
const FILE: &str = "stages.csv";

/// The names of its columns.
const COLUMNS: [&str; 6] = ["event", "at_ns", "entry_ns", "thread_ns", "handler_ns", "task_ns"];

/// The most events that latido reads from a file.
const EVENTS_MAX: usize = 4_000_000;

/// The stages of an event after its instant t1, in this order.
pub const STAGES: [&str; 4] = ["hard interrupt", "interrupt thread", "handler", "task"];

/// The events of a configuration, over all its repeats.
#[derive(Debug)]
pub struct Chains {
    /// The configuration, in words.
    pub name: String,
    /// The number of events with a complete chain, and the two events that the report shows; or why there are no such events.
    pub found: Result<Shown, String>,
}

/// The events that the report shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// The number of events.
    pub events: usize,
    /// The event with the median response (the lower of the two middle ones).
    pub median: Chain,
    /// The event with the longest response.
    pub worst: Chain,
}

/// An event: ns from t1 to each stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The number of the cell in the run.
    pub cell: usize,
    /// The event's number among the events of the source.
    pub event: u64,
    /// The event's t1, ns since the first slot.
    pub at_ns: u64,
    /// When the event reached each of [`STAGES`]; absent for a stage without a stamp.
    pub reached: [Option<i64>; 4],
}

impl Chain {
    /// Returns the response, t3 - t1.
    pub fn response(&self) -> i64 {
        self.reached.last().copied().flatten().unwrap_or(0)
    }

    /// Returns how long each stage took since the previous stage with a stamp, in ns: together they make the response. A stage takes no
    /// time if its stamp is before that of an earlier stage.
    pub fn took(&self) -> [Option<i64>; 4] {
        let mut before = 0;
        self.reached.map(|at| {
            let at = at?.max(before);
            Some(at - std::mem::replace(&mut before, at))
        })
    }
}

/// Returns the chains of every configuration that has such files; `read` returns the text of a file.
pub fn of_run(run: &Run, read: &dyn Fn(&StoredCell, &str) -> Result<String>) -> Vec<Chains> {
    let has = |cell: &&StoredCell| match &cell.state {
        CellState::Measured(record) => record.attachments.iter().any(|name| name == FILE),
        _ => false,
    };
    let cells: Vec<&StoredCell> = run.cells.iter().filter(has).collect();
    let titles = Titles::among(cells.iter().map(|stored| &stored.cell));
    let mut all: Vec<(&Cell, Vec<Chain>, Option<String>)> = Vec::new();
    for stored in cells {
        let alike = |one: &&mut (&Cell, Vec<Chain>, Option<String>)| same(one.0, &stored.cell);
        let at = match all.iter_mut().find(alike) {
            Some(at) => at,
            None => {
                all.push((&stored.cell, Vec::new(), None));
                let Some(last) = all.last_mut() else { continue };
                last
            }
        };
        match read(stored, FILE).and_then(|text| events(&text, stored.number)) {
            Ok(events) => at.1.extend(events),
            Err(error) => at.2 = Some(format!("cell {}: {FILE}: {error:#}", stored.number)),
        }
    }
    let named = |cell: &Cell| titles.of(&Cell { repeat: 1, ..cell.clone() });
    // Without a stamp of the handler there is no chain: the record contains the reason.
    let told = |(cell, events, failed): (&Cell, Vec<Chain>, Option<String>)| {
        let found = failed.map_or_else(|| shown(events).map(Ok), |why| Some(Err(why)))?;
        Some(Chains { name: named(cell), found })
    };
    all.into_iter().filter_map(told).collect()
}

/// Whether two cells are repeats of one configuration.
fn same(a: &Cell, b: &Cell) -> bool {
    let axes = Axis::ALL.into_iter().filter(|axis| *axis != Axis::Boot);
    axes.into_iter().all(|axis| a.agrees(b, axis))
}

/// Returns the median and the worst of the events whose handler has a stamp.
fn shown(mut events: Vec<Chain>) -> Option<Shown> {
    events.retain(|chain| chain.reached.get(2).copied().flatten().is_some());
    events.sort_by_key(|chain| (chain.response(), chain.cell, chain.event));
    let median = *events.get(events.len().checked_sub(1)? / 2)?;
    Some(Shown { events: events.len(), median, worst: *events.last()? })
}

/// Parses the events of a file.
fn events(text: &str, cell: usize) -> Result<Vec<Chain>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader.headers()?;
    ensure!(columns.iter().eq(COLUMNS), "its columns are not {}", COLUMNS.join(","));
    let mut all = Vec::new();
    for row in reader.records() {
        let line = all.len() + 2;
        ensure!(all.len() < EVENTS_MAX, "it has more than {EVENTS_MAX} events");
        let row = row.with_context(|| format!("line {line}"))?;
        let word = |at: usize| row.get(at).unwrap_or_default();
        let number = |at: usize| -> Result<u64> {
            word(at).parse().with_context(|| format!("line {line}: `{}` is not a number of ns", word(at)))
        };
        let stage = |at: usize| -> Result<Option<i64>> {
            let parsed = Some(word(at)).filter(|word| !word.is_empty()).map(str::parse::<i64>).transpose();
            let ns = parsed.with_context(|| format!("line {line}: `{}` is not a number of ns", word(at)))?;
            // A response of more than a day is invalid.
            ensure!(
                ns.is_none_or(|ns| ns.unsigned_abs() < 86_400_000_000_000),
                "line {line}: {} ns is not a latency of less than a day",
                word(at)
            );
            Ok(ns)
        };
        let reached = [stage(2)?, stage(3)?, stage(4)?, stage(5)?];
        ensure!(
            reached.last().copied().flatten().is_some_and(|task| task >= 0),
            "line {line}: the task has no stamp after t1"
        );
        all.push(Chain { cell, event: number(0)?, at_ns: number(1)?, reached });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CSV: &str = "event,at_ns,entry_ns,thread_ns,handler_ns,task_ns\n\
        0,0,1800,,2200,8100\n\
        1,10309278,1700,5100,6900,21600\n\
        2,20618556,1700,5100,6900,9000\n\
        3,30927834,1700,5100,,99000\n";

    #[test]
    fn the_median_and_the_worst_of_whole_chains_are_shown() {
        let shown = shown(events(CSV, 3).unwrap()).unwrap();
        assert_eq!((shown.events, shown.median.event, shown.worst.event), (3, 2, 1));
        assert_eq!(shown.worst.took(), [Some(1700), Some(3400), Some(1800), Some(14_700)]);
        let unthreaded = events(CSV, 3).unwrap()[0];
        assert_eq!(unthreaded.took(), [Some(1800), None, Some(400), Some(5900)]);
        assert_eq!(super::shown(Vec::new()), None);
    }

    #[test]
    fn what_is_no_such_file_is_said_with_its_line() {
        let why = |text: &str| format!("{:#}", events(text, 1).unwrap_err());
        assert!(why(&CSV.replace("21600", "late")).contains("line 3: `late`"));
        assert!(why(&CSV.replace("21600", "")).contains("line 3: the task has no stamp"));
        assert!(why(&CSV.replace("21600", "-5")).contains("line 3"));
        assert!(why(&CSV.replace("21600", "9223372036854775807")).contains("not a latency"));
        assert!(why("event,at\n1,2\n").contains("columns"));
        assert!(why("").contains("columns"));
        assert!(why(&format!("{CSV}4,5\n")).contains("line 6"));
    }

    proptest! {
        #[test]
        fn whatever_the_file_holds_there_is_an_answer(
            is_headed in any::<bool>(),
            rows in "([0-9]{1,3},[0-9]{1,12}(,(-?[0-9]{1,13})?){3},[0-9]{1,13}\n){0,6}|[0-9,\n\"x-]{0,200}",
        ) {
            let head = if is_headed { "event,at_ns,entry_ns,thread_ns,handler_ns,task_ns\n" } else { "" };
            if let Ok(Some(shown)) = events(&format!("{head}{rows}"), 1).map(shown) {
                prop_assert!(shown.median.response() <= shown.worst.response());
                let mut took = [shown.median, shown.worst].into_iter().flat_map(|chain| chain.took()).flatten();
                prop_assert!(took.all(|ns| ns >= 0));
            }
        }

        /// Whatever the order of the stamps, the stages add up to the response if no stamp is later than the task's.
        #[test]
        fn stages_add_up(entry in proptest::option::of(-50i64..1000), thread in proptest::option::of(0i64..1000), handler in 0i64..1000, more in 0i64..1000) {
            let task = more + [entry, thread, Some(handler)].into_iter().flatten().max().unwrap();
            let chain = Chain { cell: 1, event: 0, at_ns: 0, reached: [entry, thread, Some(handler), Some(task)] };
            prop_assert_eq!(chain.took().into_iter().flatten().sum::<i64>(), task);
        }
    }
}
