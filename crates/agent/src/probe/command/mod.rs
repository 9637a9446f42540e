//! `command`: a program of the user measures, and sends its samples line by line.

mod account;
mod conversation;
mod pipe;
mod program;
mod threads;

use crate::measure::{Def, Measurand, Probe, Quantity, Stage, with_defaults};
use anyhow::{Result, ensure};
use latido_import::source::{Form, Unit};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
    plan::scheduling::DEFAULT,
    registry::Objection,
    units::Ns,
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "command",
    about: "any program's own samples, told line by line: Java, Python, ROS 2, a device behind a serial line",
    help: "\
Starts a program of yours and takes the samples that it tells, a line each. docs/command.md has the protocol, examples/command/
programs that speak it in Python, Java, C and a shell.

  latido run command -- python3 node.py              started on the cell's CPUs (-c), told to go, told to stop
  latido run command channel=fd -- ros2 run my node  samples on a pipe of their own, as stdout has other things
  latido run command format=cyclictest-v -- cyclictest -v -l 10000
  latido run command -- socat - /dev/ttyACM0,rawer   a device behind a serial line

Options:
  argv      list of strings, required: the program and its arguments; no shell reads them. On the command line behind --
  format    of its lines: latido, cyclictest-v, csv, ndjson, jitterdebugger; default latido
  channel   stdout, or fd for a pipe of its own whose number is in LATIDO_SAMPLES_FD; default stdout
  unit      of numbers in other formats than latido that do not say it: ns, us, ms, s, ps, urad; default us
  ready     how long it may take until it is ready; default 10s
  policy    own: its threads have the policy that it gives them; cell: it is started under the cell's. Default own, but cell
            where the cell has another policy than the usual fifo 80 (--policy, --prio)

In its environment: LATIDO_SAMPLES_FD, LATIDO_CPUS, LATIDO_DURATION_NS, LATIDO_WARMUP_NS, LATIDO_SEED. Its standard input gets
`go`, and `stop` when the cell is over; then SIGTERM and SIGKILL. It runs as you and not as root behind sudo.

  latido-samples 1                                               the first line
  series 0 quantity=latency unit=ns clock=monotonic tid=4711     perhaps cpu=, period= (ns), label.KEY=
  ready                                                          set up; waits for `go`
  0 23456 1234567890123                                          series, value, perhaps the sample's end on its clock, ns
  miss 0 3 1234567890123                                         so many slots passed, perhaps when the first was due, ns
  drop 0 17                                                      samples that it lost itself
  end 0 60000                                                    samples that it produced

Quantity: what the program says, `latency` where a format says nothing. Unit: ns, ps or urad.
Facts: received, early and beyond (samples before and behind the measurement), produced, lost, dropped, backwards (times before
the time before), implied_missed (slots that period and times imply, where the program counts none), placed (0 where its times
are not the machine's), quantum_ns.

The thread that measures must not write: it collects, and another thread writes, or it does so at the end.
Paper: none; the protocol is that of docs/command.md.",
    main_option: Some("argv"),
    new: |table| {
        let probe: CommandProbe = with_defaults(table, CommandProbe::default())?;
        probe.sound()?;
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CommandProbe {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    argv: Vec<String>,
    format: String,
    channel: Channel,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    ready: Ns,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<Whose>,
}

impl Default for CommandProbe {
    fn default() -> Self {
        Self {
            argv: Vec::new(),
            format: Form::Latido.name().into(),
            channel: Channel::Stdout,
            unit: None,
            ready: Ns(10_000_000_000),
            policy: None,
        }
    }
}

/// Where the program writes its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Channel {
    Stdout,
    Fd,
}

impl Channel {
    fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Fd => "fd",
        }
    }
}

/// Whose policy the program has: its own, or the cell's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Whose {
    Own,
    Cell,
}

impl CommandProbe {
    fn sound(&self) -> Result<()> {
        if self.argv.is_empty() {
            let missing = anyhow::Error::from(Objection::Missing("argv".into()));
            return Err(missing.context("name the program that measures: latido run command -- CMD"));
        }
        ensure!(self.argv.first().is_some_and(|it| !it.is_empty()), "`argv` names no program");
        let forms = Form::ALL.map(Form::name).join(", ");
        let form = Form::named(&self.format);
        ensure!(form.is_some(), "`format` must be one of {forms}, not `{}`", self.format);
        let unit = self.unit.as_deref();
        ensure!(unit.is_none_or(|unit| Unit::named(unit).is_some()), "`unit` must be ns, us, ms, s, ps or urad");
        ensure!(
            unit.is_none() || form != Some(Form::Latido),
            "`unit` is for other formats: a series of the format latido says its own"
        );
        ensure!(self.ready.0 > 0, "`ready` must be above 0");
        Ok(())
    }

    fn form(&self) -> Form {
        Form::named(&self.format).unwrap_or(Form::Latido)
    }

    /// Returns the policy under which latido starts it, if one is requested.
    fn asked(&self, cell: &Cell) -> Option<Scheduling> {
        let whose = self.policy.unwrap_or(if cell.scheduling == DEFAULT { Whose::Own } else { Whose::Cell });
        (whose == Whose::Cell).then_some(cell.scheduling)
    }
}

impl Probe for CommandProbe {
    fn measurand(&self) -> Measurand {
        Measurand::new("Reported by a program", [Quantity::time("latency", "Reported: latency")])
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        ensure!(
            cell.conditions.stop_on.is_none(),
            "the samples of `command` come when its program writes them: no sample can stop it in time; leave --stop-on away"
        );
        let deadline = matches!(self.asked(cell), Some(Scheduling::Deadline { .. }));
        ensure!(
            !deadline,
            "no program can be started under the policy deadline, which is not inherited: its threads must ask for it; \
             use policy=own"
        );
        Ok(())
    }

    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        allowed.clone()
    }

    fn starts(&self) -> Option<&str> {
        self.argv.first().map(String::as_str)
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        conversation::hold(self, stage)
    }
}
