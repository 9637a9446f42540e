//! What all outputs of cyclictest have in common: its command line, its unit, its series.

use crate::{
    args::Args,
    floors::Floors,
    format::{Asked, Unit},
    imported::{Finding, Imported, Series, Severity},
    status::{self, Status},
    text::lines,
};

/// The tools of rt-tests whose name a command line may begin with.
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

/// Its short options that take a value, of all versions.
const VALUED: &str = "abBdDFhHiIloOpPtTy";

/// The command line that a person gave, where one did.
pub fn args(asked: &Asked) -> Option<Args<'static>> {
    asked.args.as_deref().map(|line| Args::new(line, VALUED))
}

/// A command line in its words.
pub fn args_of(line: &str) -> Args<'static> {
    Args::new(line, VALUED)
}

/// The unit of a text: as a person says, else as the command line does, else as the columns of its lines `T:` do, else
/// microseconds.
pub fn unit(asked: &Asked, bytes: &[u8]) -> Floors {
    let said = args(asked).map(|args| if args.has('N', "nsecs") { Unit::Ns } else { Unit::Us });
    let unit = asked.unit.or(said).or_else(|| status::unit(bytes));
    Floors::of(unit.unwrap_or(Unit::Us))
}

/// What a text whose unit nobody says was taken for, and why.
pub fn unit_taken(asked: &Asked, bytes: &[u8]) -> Option<Finding> {
    let unsaid = asked.unit.is_none() && asked.args.is_none();
    let text = match status::unit(bytes).filter(|_| unsaid) {
        Some(Unit::Ns) => {
            "ns, as with `cyclictest -N`: the widths of its columns tell them from us; --unit us says otherwise"
        }
        Some(_) => return None,
        None if unsaid => "taken for us: the text does not tell them from the ns of `cyclictest -N`; --unit ns says so",
        None => return None,
    };
    Some(Finding { severity: Severity::Note, name: "unit".into(), text: text.into() })
}

/// Whether a text has an object of JSON: what it prints beside is the same once more.
pub fn is_json(bytes: &[u8]) -> bool {
    lines(bytes).any(|(_, line)| line == b"{")
}

/// Whether the text is cyclicdeadline's, by what only that prints first.
pub fn is_deadline(bytes: &[u8]) -> bool {
    let before = lines(bytes).take_while(|(_, line)| *line != b"# Histogram");
    before.take(100).any(|(_, line)| line == b"Using all CPUS" || line.starts_with(b"deadline thread "))
}

/// An import of a tool of rt-tests, with what the command line says.
pub fn described(tool: &str, asked: &Asked) -> Imported {
    let mut imported = Imported { tool: tool.into(), title: tool.into(), ..Imported::default() };
    if let Some(line) = &asked.args {
        commanded(&mut imported, line);
    }
    imported
}

/// Adds what a command line says: policy, locked memory.
pub fn commanded(imported: &mut Imported, line: &str) {
    let args = args_of(line);
    imported.command = Some(line.into());
    imported.policy = policy(&args);
    if args.has('m', "mlockall") || args.has('S', "smp") {
        imported.findings.push(Finding {
            severity: Severity::Note,
            name: "memory".into(),
            text: "memory was locked, by its command line".into(),
        });
    }
}

/// The first value that a histogram of a command line has no row for (`-h N`, `-H N`).
pub fn bins(args: &Args) -> Option<i64> {
    args.number('h', "histogram").or_else(|| args.number('H', "histofall"))
}

/// The policy by the priority of the lines `T:`, where no command line says it.
pub fn policy_of(imported: &mut Imported, all: &[Status]) {
    if imported.command.is_none() {
        imported.policy = status::priority(all).map(|priority| format!("fifo {priority}"));
        if imported.policy.is_some() {
            imported.notes.push("FIFO by its priority: the lines do not tell it from round robin".into());
        }
    }
}

/// The policy that a command line asks for: a priority alone is FIFO.
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

/// The series as wake-up latency of a thread, on the CPU that the person says.
pub fn series(series: Series, thread: u32, asked: &Asked) -> Series {
    let cpu = series.cpu.or_else(|| asked.cpus.get(thread as usize).copied());
    Series { quantity: "latency".into(), heading: "Wake-up latency".into(), thread, cpu, ..series }
}

/// What SMIs that were counted say of trust.
pub fn smis(series: &[Series]) -> Option<Finding> {
    let counted: Vec<i64> = series.iter().filter_map(|series| series.facts.get("smi").copied()).collect();
    let most = counted.iter().copied().max()?;
    Some(Finding {
        severity: Severity::Note,
        name: "SMIs".into(),
        text: format!("system management interrupts while measured: {most}"),
    })
}
