//! The flags of `latido run`.

use super::{completions, known, words};
use clap_complete::ArgValueCompleter;
use latido_model::units::Ns;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  latido run quick --deadline 100us            a first answer in a minute: PASS or FAIL
  latido run                                   wakeup, 1 ms, FIFO 80, all allowed CPUs, 60 s
  latido run quick                             the shipped plan `quick`: about a minute
  latido run wakeup --period 250us --load stress-cpu --limit 100us
  latido run --vary load=idle,stress-cpu --repeat 10   two configurations in turn, for `latido compare`
  latido run plans/mine.toml --repeat 3
  latido run scheduling-latency --scale 0.01   a published study at a hundredth of its size
  latido run execution-times --budget 2h       with as many repeats as fit into two hours
  latido run execution-times --plan-power=1.2  how many repeats does a ratio of 1.2 take?
  latido run gap -c 2-3 -d 10m --print-plan    show the plan, measure nothing
  latido run task period=1ms -- ./my-program   measure a program of yours, by the kernel's events
Then `latido show` and `latido report` show the run, and `latido cite --into DIR` writes its text, tables and figures for a paper.

NAME is a probe, a shipped plan, or a path with `/` or `.toml` (`latido list`, `latido help NAME`).
Loads and tunings are NAME[:key=value,...]; a piece without `=` extends the value before it.
With a plan, a flag replaces the plan's own axis or value in every group.
Exit status: 0 within limits, 1 error, 2 a limit failed, 3 inconclusive, 64 usage, 130 interrupted.";

/// The headings of the options.
const WHAT: &str = "What and how long";
const LOAD: &str = "Load and tuning";
const JUDGING: &str = "Judging and explaining";
const OUTPUT: &str = "Output";
const PLANS: &str = "Plans and laboratory";

const SHORT: &str = "\
Examples:
  latido run quick --deadline 100us                    a first answer in a minute: PASS or FAIL
  latido run wakeup --period 1ms --deadline 100us --load stress-cpu -d 10m
  latido run --vary load=idle,stress-cpu --repeat 10   two configurations in turn, then `latido compare`
  latido run task --period 1ms --explain -- ./my-program

`latido run --help` shows every option and more examples; `latido cite --into DIR` writes a run for a paper.";

/// Measure, store, print the table and the verdict.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(after_help = SHORT, after_long_help = EXAMPLES, override_usage = "latido run [NAME] [KEY=VALUE]... [OPTIONS]\n       latido run task [KEY=VALUE]... [OPTIONS] -- CMD...")]
pub struct Args {
    /// Probe or plan, then options of the probe (key=value)
    #[arg(value_name = "NAME] [KEY=VALUE", add = ArgValueCompleter::new(completions::subjects))]
    pub words: Vec<String>,
    /// CPUs to measure, for example 2-5 [default: the probe's, mostly all usable]
    #[arg(short, long, value_name = "LIST", allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT)]
    pub cpus: Option<String>,
    /// How long each cell measures, for example 10m [default: 60s]
    #[arg(short, long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT)]
    pub duration: Option<String>,
    /// Period of the work, for example 1ms [default: the probe's, mostly 1ms]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT)]
    pub period: Option<String>,
    /// The work of each period must be done within this time, for example 100us: PASS or FAIL
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text, help_heading = JUDGING)]
    pub deadline: Option<String>,
    /// Policy of the measuring threads: fifo, rr, other, batch, idle, deadline[:runtime=T,deadline=T,period=T], evl, cobalt [default: fifo]
    #[arg(long, value_name = "POLICY", add = ArgValueCompleter::new(completions::policies), allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT)]
    pub policy: Option<String>,
    /// Priority under fifo, rr, evl or cobalt, 1 to 99 [default: 80]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT)]
    pub prio: Option<String>,
    /// Nice value under policy other, -20 to 19
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT, hide_short_help = true)]
    pub nice: Option<String>,
    /// SCHED_DEADLINE: the budget of each period
    #[arg(long, alias = "runtime", value_name = "TIME", allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT, hide_short_help = true)]
    pub dl_runtime: Option<String>,
    /// SCHED_DEADLINE: the relative deadline [default: the period]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT, hide_short_help = true)]
    pub dl_deadline: Option<String>,
    /// SCHED_DEADLINE: the period
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT, hide_short_help = true)]
    pub dl_period: Option<String>,
    /// A load during the measurement, NAME[:key=value,...]; several run together
    #[arg(long, value_name = "LOAD", add = ArgValueCompleter::new(completions::loads), help_heading = LOAD)]
    pub load: Vec<String>,
    /// A tuning during the measurement, NAME[:key=value,...]; several apply together
    #[arg(long, value_name = "TUNING", add = ArgValueCompleter::new(completions::tunings), help_heading = LOAD)]
    pub tune: Vec<String>,
    /// Measure several configurations in turn: levels of load, tune, policy, prio, kernel, or values of an option, for example
    /// load=idle,stress-cpu; `latido compare` then compares them
    #[arg(long, value_name = "AXIS=A,B", help_heading = LOAD)]
    pub vary: Vec<String>,
    /// Fail when a sample is above this, for example 100us
    #[arg(long, visible_alias = "threshold", value_name = "TIME", allow_hyphen_values = true, value_parser = words::text, help_heading = JUDGING)]
    pub limit: Option<String>,
    /// End the cell at the first sample above this, and freeze the kernel's trace (tracing_on=0) where one is written
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text, help_heading = JUDGING, hide_short_help = true)]
    pub stop_on: Option<String>,
    /// End the loads and the cell above this temperature in degrees Celsius [default: with loads, 5 below the critical one]
    #[arg(long, value_name = "DEGREES", allow_hyphen_values = true, value_parser = words::text, help_heading = LOAD, hide_short_help = true)]
    pub max_temp: Option<String>,
    /// Also record a kernel trace of each cell: the usual events, or these, EVENT[,EVENT...]
    #[arg(long, value_name = "EVENTS", num_args = 0..=1, require_equals = true, default_missing_value = "", help_heading = JUDGING, hide_short_help = true)]
    pub trace: Option<String>,
    /// Explain the N largest samples and all above the limit, by a trace kept only around them
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "20",
        value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = JUDGING)]
    pub explain: Option<u32>,
    /// How long to run before samples count [default: 1s, or a tenth of a short duration]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT, hide_short_help = true)]
    pub warmup: Option<String>,
    /// How often to repeat everything; in the laboratory each repeat boots its own guest [default: 1]
    #[arg(long, visible_alias = "sweep", value_name = "N", allow_hyphen_values = true, value_parser = words::text, help_heading = WHAT)]
    pub repeat: Option<String>,
    /// A further size of the plan ([[size]]), for example laboratory
    #[arg(long, value_name = "NAME", value_parser = words::text, help_heading = PLANS, hide_short_help = true)]
    pub size: Option<String>,
    /// Shorten every measurement to this fraction, for example 0.01: durations and numbers of samples
    #[arg(long, value_name = "PART", allow_hyphen_values = true, value_parser = words::part, help_heading = PLANS, hide_short_help = true)]
    pub scale: Option<f64>,
    /// Fit repeats and sizes into this time, and report how much certainty that costs, for example 2h
    #[arg(long, value_name = "TIME", value_parser = known::span, help_heading = PLANS, hide_short_help = true)]
    pub budget: Option<Ns>,
    /// Run a pilot of 3 repeats, and report how many repeats find a difference of this ratio [default: 2]
    #[arg(long, value_name = "RATIO", num_args = 0..=1, require_equals = true, default_missing_value = "2",
        value_parser = words::ratio, conflicts_with = "json", help_heading = PLANS, hide_short_help = true)]
    pub plan_power: Option<f64>,
    /// Seed of the order and of all other random choices [default: random, recorded]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = words::seed, help_heading = PLANS, hide_short_help = true)]
    pub seed: Option<u64>,
    #[arg(long, value_name = "TARGET", help = known::targets(), value_parser = known::target, help_heading = WHAT)]
    pub on: Option<String>,
    /// Kernels to boot and compare in the laboratory (--on lab): names from `latido lab kernels`, path/to/KERNEL.toml, or path/to/vmlinuz[:BOOT PARAMETERS]
    #[arg(long, value_name = "KERNEL", add = ArgValueCompleter::new(completions::kernels), value_parser = words::text, help_heading = PLANS, hide_short_help = true)]
    pub kernel: Vec<String>,
    /// Treat the running kernel as this kernel of the plan, whatever it reports: kernel=rt
    #[arg(long = "as", value_name = "kernel=NAME", value_parser = words::text, help_heading = PLANS, hide_short_help = true)]
    pub kernel_as: Option<String>,
    /// Give the laboratory's guests two CPUs and the host's time: a functional test, not a measurement
    #[arg(long, help_heading = PLANS, hide_short_help = true)]
    pub multi_cpu: bool,
    /// Wait for another latido that runs there, without limit or for this long
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "200d",
        value_parser = known::span, help_heading = WHAT, hide_short_help = true)]
    pub wait: Option<Ns>,
    /// Where runs are kept [default: $LATIDO_STORE, else $XDG_DATA_HOME/latido]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT, hide_short_help = true)]
    pub store: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// A name for the run, for `show`, `compare` and all other commands; `prune` keeps the run
    #[arg(long, value_name = "TEXT", value_parser = words::label, help_heading = OUTPUT, hide_short_help = true)]
    pub label: Option<String>,
    /// Print everything about each cell at the end, as `latido show --full`
    #[arg(short, long, conflicts_with = "json", help_heading = OUTPUT, hide_short_help = true)]
    pub verbose: bool,
    /// No live view, only the result
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
    /// Print the plan as TOML and measure nothing
    #[arg(long, help_heading = PLANS, hide_short_help = true)]
    pub print_plan: bool,
    /// Finish an interrupted run; finished cells are kept
    #[arg(long, value_name = "RUN", add = ArgValueCompleter::new(completions::runs), conflicts_with_all = ["words", "command", "cpus", "duration", "period", "policy", "prio",
        "nice", "deadline", "dl_runtime", "dl_deadline", "dl_period", "load", "tune", "vary", "limit", "stop_on", "max_temp", "trace", "explain", "warmup", "repeat", "size", "scale", "seed",
        "budget", "plan_power", "on", "kernel", "kernel_as", "print_plan"], help_heading = PLANS, hide_short_help = true)]
    pub resume: Option<String>,
    /// With --resume: keep the measured part of an unfinished cell, and measure only the rest
    #[arg(long, help_heading = PLANS, hide_short_help = true)]
    pub keep_checkpoints: bool,
    /// Where the report goes; the file's ending selects the format [default: report.html]
    #[arg(short, long, value_name = "FILE", conflicts_with = "no_report", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// When the run ends, write it in formats of other tools; FILE - is stdout, and the table then goes to stderr
    #[arg(long, value_name = "FORMAT=FILE,...", conflicts_with = "json", help_heading = OUTPUT, hide_short_help = true)]
    pub export: Option<String>,
    /// Write no report
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub no_report: bool,
    /// For `task`: your program and its arguments, which latido starts once it records
    #[arg(value_name = "CMD", last = true)]
    pub command: Vec<String>,
}
