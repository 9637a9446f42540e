//! The common parts of all outputs of cyclictest: command line, unit, series.

use crate::{
    args::Args,
    floors::Floors,
    format::{Asked, Unit},
    imported::{Finding, Imported, Series, Severity},
    status::{self, Status},
    text::lines,
};

/// The rt-tests tools whose name may begin a command line.
pub const KNOWN: &[&str] = &[
    "cyclictest",
    "oslat",
    "signaltest",
    "pmqtest",
    "ptsematest",
    "svsematest",
    "sigwaittest",
    "cyclicdeadline",
    "hwlatdetect",
];

/// Its short options that take a value, in all versions.
const VALUED: &str = "abBdDFhHiIloOpPtTy";

/// Returns the command line that the user gave, if any.
pub fn args(asked: &Asked) -> Option<Args<'static>> {
    asked.args.as_deref().map(|line| Args::new(line, VALUED))
}

/// Parses a command line.
pub fn args_of(line: &str) -> Args<'static> {
    Args::new(line, VALUED)
}

/// Returns the unit of a text: from the user, else from the command line, else from the columns of its lines `T:`, else microseconds.
pub fn unit(asked: &Asked, bytes: &[u8]) -> Floors {
    let said = args(asked).map(|args| if args.has('N', "nsecs") { Unit::Ns } else { Unit::Us });
    let unit = asked.unit.or(said).or_else(|| status::unit(bytes));
    Floors::of(unit.unwrap_or(Unit::Us))
}

/// Returns a finding with the assumed unit and the reason, if nothing states the unit of a text.
pub fn unit_taken(asked: &Asked, bytes: &[u8]) -> Option<Finding> {
    let unsaid = asked.unit.is_none() && asked.args.is_none();
    let text = match status::unit(bytes).filter(|_| unsaid) {
        Some(Unit::Ns) => {
            "latido assumes ns, as `cyclictest -N` prints, because of the column widths; --unit us overrides this"
        }
        Some(_) => return None,
        None if unsaid => "latido assumes us: the ns of `cyclictest -N` look the same; --unit ns overrides this",
        None => return None,
    };
    Some(Finding { severity: Severity::Note, name: "unit".into(), text: text.into() })
}

/// Tells whether a text contains a JSON object: the rest of such a text repeats it.
pub fn is_json(bytes: &[u8]) -> bool {
    lines(bytes).any(|(_, line)| line == b"{")
}

/// Tells whether the text is cyclicdeadline's, by the lines that only cyclicdeadline prints first.
pub fn is_deadline(bytes: &[u8]) -> bool {
    let before = lines(bytes).take_while(|(_, line)| *line != b"# Histogram");
    before.take(100).any(|(_, line)| line == b"Using all CPUS" || line.starts_with(b"deadline thread "))
}

/// Starts an import of an rt-tests tool, with the facts from the command line.
pub fn described(tool: &str, asked: &Asked) -> Imported {
    let mut imported = Imported { tool: tool.into(), title: tool.into(), ..Imported::default() };
    if let Some(line) = &asked.args {
        commanded(&mut imported, line);
    }
    imported
}

/// Adds the facts from a command line: policy, locked memory.
pub fn commanded(imported: &mut Imported, line: &str) {
    let args = args_of(line);
    imported.command = Some(line.into());
    imported.policy = policy(&args);
    if args.has('m', "mlockall") || args.has('S', "smp") {
        imported.findings.push(Finding {
            severity: Severity::Note,
            name: "memory".into(),
            text: "memory was locked, according to the command line".into(),
        });
    }
}

/// Returns the first value for which a histogram has no row, by its command line (`-h N`, `-H N`).
pub fn bins(args: &Args) -> Option<i64> {
    args.number('h', "histogram").or_else(|| args.number('H', "histofall"))
}

/// Sets the policy by the priority in the lines `T:`, if there is no command line.
pub fn policy_of(imported: &mut Imported, all: &[Status]) {
    if imported.command.is_none() {
        imported.policy = status::priority(all).map(|priority| format!("fifo {priority}"));
        if imported.policy.is_some() {
            imported
                .notes
                .push("latido infers FIFO from the priority: the lines do not distinguish it from round robin".into());
        }
    }
}

/// Returns the policy that a command line requests: a priority alone means FIFO.
fn policy(args: &Args) -> Option<String> {
    let priority = args.number('p', "priority").or_else(|| args.number('\0', "prio"));
    let priority = priority.filter(|priority| (1..=99).contains(priority));
    match args.value('\0', "policy").map(str::to_ascii_lowercase).as_deref() {
        None | Some("fifo") => priority.map(|priority| format!("fifo {priority}")),
        Some("rr") => priority.map(|priority| format!("rr {priority}")),
        Some(other @ ("other" | "normal" | "batch" | "idle")) => Some(other.replace("normal", "other")),
        Some(_) => None,
    }
}

/// Turns a series into the wake-up latency of a thread, on the CPU that the user gave.
pub fn series(series: Series, thread: u32, asked: &Asked) -> Series {
    let cpu = series.cpu.or_else(|| asked.cpus.get(thread as usize).copied());
    Series { quantity: "latency".into(), heading: "Wake-up latency".into(), thread, cpu, ..series }
}

/// Returns a finding about the SMIs, if the tool counted them.
pub fn smis(series: &[Series]) -> Option<Finding> {
    let counted: Vec<i64> = series.iter().filter_map(|series| series.facts.get("smi").copied()).collect();
    let most = counted.iter().copied().max()?;
    Some(Finding {
        severity: Severity::Note,
        name: "SMIs".into(),
        text: format!("system management interrupts while measured: {most}"),
    })
}
