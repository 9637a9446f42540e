//! The longest value of each second, from tracers that keep nothing else, with the affected task and the kernel functions around it.

use anyhow::{Context, Result};
use latido_model::run::{CellState, Run, StoredCell};

/// The name of the file next to a record.
const FILE: &str = "maxima.csv";

/// The longest values of a cell.
#[derive(Debug)]
pub struct Maxima {
    /// The name of the cell.
    pub cell: String,
    /// The values, the longest first; or why there are none.
    pub found: Result<Vec<Longest>, String>,
}

/// The longest value of a second. A field is empty where the kernel does not report it.
#[derive(Debug)]
pub struct Longest {
    /// The start of that second, s since the first slot.
    pub begin_s: f64,
    /// The length, ns.
    pub ns: f64,
    /// The CPU.
    pub cpu: String,
    /// The kernel functions at its start and its end.
    pub functions: [String; 2],
    /// The affected task, `name-number`.
    pub task: String,
}

/// Returns the maxima of every cell that has such a file; `read` returns the text of a file.
pub fn of_run(run: &Run, read: &dyn Fn(&StoredCell, &str) -> Result<String>) -> Vec<Maxima> {
    let has = |cell: &&StoredCell| match &cell.state {
        CellState::Measured(record) => record.attachments.iter().any(|name| name == FILE),
        _ => false,
    };
    let of = |cell: &StoredCell| {
        let found = read(cell, FILE).and_then(|text| lines(&text));
        let found = found.map_err(|error| format!("cell {}: {FILE}: {error:#}", cell.number));
        Maxima { cell: format!("Cell {}, {}", cell.number, cell.cell.probe.name), found }
    };
    run.cells.iter().filter(has).map(of).collect()
}

/// Parses the lines of the file, the longest first.
fn lines(text: &str) -> Result<Vec<Longest>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut lines = Vec::new();
    for row in reader.records() {
        let row = row?;
        let word = |at: usize| {
            row.get(at).map(str::to_owned).with_context(|| format!("line {} is too short", lines.len() + 2))
        };
        let number = |at: usize| -> Result<f64> {
            let word = word(at)?;
            word.parse().with_context(|| format!("line {}: `{word}` is not a number", lines.len() + 2))
        };
        let task = match (word(5)?, word(6)?) {
            (task, pid) if task.is_empty() || pid.is_empty() => task,
            (task, pid) => format!("{task}-{pid}"),
        };
        let ns = number(1)? * 1e3;
        lines.push(Longest { begin_s: number(0)?, ns, cpu: word(2)?, functions: [word(3)?, word(4)?], task });
    }
    lines.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "begin_s,longest_us,cpu,begin_function,end_function,task,pid\n\
        0.000,7,,,,,\n\
        1.000,259,2,__lock_task_sighand,_raw_spin_unlock_irqrestore,ps,6143\n";

    #[test]
    fn the_longest_comes_first_and_what_the_kernel_does_not_tell_is_absent() {
        let lines = lines(CSV).unwrap();
        assert_eq!(lines.iter().map(|line| line.ns).collect::<Vec<_>>(), [259_000.0, 7_000.0]);
        assert_eq!((lines[0].task.as_str(), lines[0].functions[0].as_str()), ("ps-6143", "__lock_task_sighand"));
        assert!(lines[1].task.is_empty() && lines[1].cpu.is_empty());
    }

    #[test]
    fn what_is_no_such_file_is_said_with_its_line() {
        let why = |text: &str| format!("{:#}", lines(text).unwrap_err());
        assert!(
            why(&CSV.replace("259", "long")).contains("line 3: `long` is not a number"),
            "{}",
            why(&CSV.replace("259", "long"))
        );
        assert!(why("begin_s,longest_us\n1,2\n").contains("line 2 is too short"));
    }
}
