//! `latido trace record`: records kernel events into a file, while a program runs or for a given time.

use super::{Usage, known};
use crate::host::trace_alone::{self, Order};
use anyhow::Result;
use latido_agent::capture::Spec;
use latido_model::{cpus::CpuSet, registry::Objection, units::Ns};
use std::path::PathBuf;

/// Record events of the kernel while a program runs, for a while, or until Ctrl-C.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Without -e: switches, wake-ups, interrupts, soft interrupts and high-resolution timers, as far as \
                  this kernel has them. Needs root; under sudo the program runs as the user who called it. trace-cmd \
                  and KernelShark open the file.\n\nExit status: the program's own (128 plus the signal's number if a \
                  signal ended it); 0 without a program; 1 error; 64 usage; 130 interrupted before the time had \
                  passed."
)]
pub struct Args {
    /// An event, SYSTEM:EVENT, or all of a system (SYSTEM, 'SYSTEM:*'); may be repeated, or several with commas between them
    #[arg(short, long = "event", value_name = "EVENT", value_delimiter = ',')]
    pub events: Vec<String>,
    /// Record for this long, for example 10s
    #[arg(long = "for", value_name = "TIME", value_parser = known::span)]
    pub span: Option<Ns>,
    /// Record only these CPUs, and keep latido's own work off them where there are others [default: all]
    #[arg(short, long, value_name = "LIST")]
    pub cpus: Option<CpuSet>,
    /// The size of each CPU's ring, for example 16M [default: by the free memory]
    #[arg(long, value_name = "PER_CPU", value_parser = bytes)]
    pub size: Option<u64>,
    /// The file to write [default: trace.dat, unless that is a file of another kind]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// List the events of this kernel and record nothing
    #[arg(long, exclusive = true)]
    pub list: bool,
    /// Wait for another latido that runs here, without limit or for this long
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "200d",
        value_parser = known::span)]
    pub wait: Option<Ns>,
    /// The program and its arguments
    #[arg(value_name = "CMD", last = true)]
    pub command: Vec<String>,
}

/// Carries out `latido trace record`.
///
/// # Errors
/// What is missing and how to get it. latido then leaves no file.
pub fn run(args: Args) -> Result<u8> {
    if args.list {
        return trace_alone::list();
    }
    if args.span.is_some_and(|span| span.0 == 0) {
        return Err(Usage::new("--for 0 records nothing: name a time, for example 10s").into());
    }
    let quiet = args.cpus.clone().unwrap_or_default();
    let order = Order {
        spec: Spec { events: Some(args.events), cpus: args.cpus, quiet, ring: args.size, ..Spec::default() },
        span: args.span,
        output: args.output,
        wait: args.wait,
        command: args.command,
    };
    // A name that is not an event is a mistake in the command line.
    trace_alone::run(&order).map_err(|error| match error.downcast_ref::<Objection>() {
        Some(objection) => Usage::new(objection.to_string()).into(),
        None => error,
    })
}

/// Reads a number of bytes: `4096`, `512K`, `16M`, `1G`.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let scale = match text.get(digits.len()..).unwrap_or_default() {
        "" => Some(1),
        "K" | "k" | "KiB" => Some(1 << 10),
        "M" | "MiB" => Some(1 << 20),
        "G" | "GiB" => Some(1 << 30),
        _ => None,
    };
    let bytes = scale.zip(digits.parse::<u64>().ok()).and_then(|(scale, number)| number.checked_mul(scale));
    let bytes = bytes.ok_or_else(|| "write bytes, with K, M or G: 512K, 16M".to_owned())?;
    // The kernel has no smaller rings.
    (8192..1 << 40)
        .contains(&bytes)
        .then_some(bytes)
        .ok_or_else(|| "a ring holds 8K at least, and less than 1024G".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn what_stands_behind_two_dashes_is_the_program() {
        let words = "record -e sched_switch,irq -e timer --for 2s -c 1 --size 512K -o x.dat -- cyclictest -e -o y";
        let args = Line::try_parse_from(words.split(' ')).unwrap().args;
        assert_eq!(args.events, ["sched_switch", "irq", "timer"]);
        assert_eq!((args.size, args.span), (Some(512 << 10), Some(Ns(2_000_000_000))));
        assert_eq!(args.command, ["cyclictest", "-e", "-o", "y"]);
        assert!(Line::try_parse_from("record cyclictest".split(' ')).is_err(), "a forgotten -- is no event");
    }

    #[test]
    fn sizes_are_bytes_with_a_letter() {
        assert_eq!((bytes("8192"), bytes("16M"), bytes("1GiB")), (Ok(8192), Ok(16 << 20), Ok(1 << 30)));
        for wrong in ["", "M", "1.5M", "16X", "1K", "99999999999999999999", "99999999G"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
