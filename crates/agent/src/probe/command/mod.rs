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
    about: "samples that your program reports line by line: Java, Python, ROS 2, a device behind a serial line",
    help: "\
Starts your program and takes the samples that it prints, one per line. docs/command.md has the protocol; examples/command/ has
programs that use it in Python, Java, C and a shell.

  latido run command -- python3 node.py              runs on the cell's CPUs (-c); latido sends go and stop
  latido run command channel=fd -- ros2 run my node  samples on a separate pipe, as stdout has other text
  latido run command format=cyclictest-v -- cyclictest -v -l 10000
  latido run command -- socat - /dev/ttyACM0,rawer   a device behind a serial line

Options:
  argv      list of strings, required: the program and its arguments; no shell reads them. On the command line after --
  format    format of its lines: latido, cyclictest-v, csv, ndjson, jitterdebugger; default latido
  channel   stdout, or fd for a separate pipe whose number is in LATIDO_SAMPLES_FD; default stdout
  unit      unit of numbers in formats other than latido that do not state it: ns, us, ms, s, ps, urad; default us
  ready     how long latido waits until the program is ready; default 10s
  policy    own: the program sets the policy of its threads; cell: latido starts it under the cell's policy. Default own, but
            cell where the cell's policy is not the default fifo 80 (--policy, --prio)

Its environment has LATIDO_SAMPLES_FD, LATIDO_CPUS, LATIDO_DURATION_NS, LATIDO_WARMUP_NS, LATIDO_SEED. latido writes `go` to its
standard input, and `stop` when the cell is over; then it sends SIGTERM and SIGKILL. Under sudo it runs as you, not as root.

  latido-samples 1                                               the first line
  series 0 quantity=latency unit=ns clock=monotonic tid=4711     optional: cpu=, period= (ns), label.KEY=
  ready                                                          set up; waits for `go`
  0 23456 1234567890123                                          series, value, optionally the sample's end on its clock, ns
  miss 0 3 1234567890123                                         number of missed slots, optionally when the first was due, ns
  drop 0 17                                                      number of samples that the program lost
  end 0 60000                                                    number of samples that the program produced

Quantity: as the program declares it, `latency` where a format has no name for it. Unit: ns, ps or urad.
Facts: received, early and beyond (samples before and after the measurement), produced, lost, dropped, backwards (times earlier
than the previous one), implied_missed (missed slots that period and times imply, where the program counts none), placed (0 where
its times are not from this machine's clock), quantum_ns.

The thread that measures must not write its samples during the measurement: another thread must write them, or it must write
them at the end.
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
            "`unit` is for other formats: in the format latido each series declares its unit"
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
            "`command` receives samples only when its program writes them, so --stop-on cannot stop it in time; omit --stop-on"
        );
        let deadline = matches!(self.asked(cell), Some(Scheduling::Deadline { .. }));
        ensure!(
            !deadline,
            "latido cannot start a program under the policy deadline, which is not inherited: its threads must request it; \
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
