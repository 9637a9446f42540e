//! `priority`: what it costs a thread to change its own priority.

use crate::measure::{
    Def, Measurand, Probe, Quantity, Stage,
    rounds::{self, Timing},
    with_defaults,
};
use anyhow::{Context, Result, ensure};
use latido_model::{cell::Cell, cpus::CpuSet, units::Ns};
use latido_rt::{
    priority::{Alternating, ChangeBatch, Changes, OwnThread},
    rounds::MANY,
};
use latido_sys::{
    priority::{Own, Realtime},
    sched,
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "priority",
    about: "how long pthread_setschedparam and pthread_setschedprio take",
    help: "\
One thread changes its priority from its own level to `other` and back. Every call changes the level and is a system
call; the two functions alternate in going first, so that each lowers as often as it raises. At the end the thread
has its own priority again. It never sleeps, and measures on one CPU, the last allowed, unless -c names others.

Options:
  timing   each (default): every call between two readings of CLOCK_MONOTONIC. A sample holds one reading's cost (it and
           the clock's step are in the record); `empty`, two readings with nothing between, is a separate quantity;
           latido subtracts nothing
           batch: `batch` calls of one function between two readings. A sample is the time between them, less the cost
           of one reading, divided by the number of calls: a mean. It is exact to parts of a nanosecond but hides the
           worst case: the mean spreads one slow call over all of them
  other    the other level, 1 to 99; default one below the thread's own
  calls    end after this many rounds (one sample of each quantity) instead of after the cell's duration; default 0, by
           duration
  batch    calls per sample of timing=batch; default 1000

Quantities of timing=each: setschedparam, setschedprio, empty (ns); of timing=batch: setschedparam_batch,
setschedprio_batch (ps). Policy fifo or rr only: a time-sharing thread has no priority to change.
While the thread is at the lower level, a real-time thread between the two levels may take the CPU.
The priority calls of the scheduling-latency study (2019), which timed them call by call; see pthread_setschedparam(3),
pthread_setschedprio(3).",
    main_option: None,
    new: |table| {
        let probe = with_defaults(table, PriorityProbe { timing: Timing::Each, other: None, calls: 0, batch: 1000 })?;
        ensure!(probe.other.is_none_or(|other| (1..=99).contains(&other)), "`other` must be a priority, 1 to 99");
        ensure!((1..=1_000_000).contains(&probe.batch), "`batch` must be 1 to 1000000 calls");
        Ok(Box::new(probe))
    },
};

/// Roughly how long a round takes, to estimate how many rounds there will be, ns.
const ROUND_NS: u64 = 2_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriorityProbe {
    timing: Timing,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<u8>,
    calls: u64,
    batch: u64,
}

impl PriorityProbe {
    /// Returns the policy, the thread's own level, and the other level.
    fn levels(&self, cell: &Cell) -> Result<(Realtime, u8, u8)> {
        let (policy, own) = rounds::realtime(cell.scheduling).with_context(|| {
            format!("`{}` has no priority to change: use fifo or rr for the probe `priority`", cell.scheduling)
        })?;
        let other = self.other.unwrap_or(own.saturating_sub(1));
        ensure!(
            other >= 1 && other != own,
            "the other level must differ from the thread's own priority {own}, and no level is below 1: set `other`"
        );
        Ok((policy, own, other))
    }
}

impl Probe for PriorityProbe {
    fn measurand(&self) -> Measurand {
        let call = |name, title| Quantity::time(name, title).each("call");
        let batch = |name, title| Quantity::time(name, title).each("batch").in_unit("ps").beside();
        let quantities = match self.timing {
            Timing::Each => vec![
                call("setschedparam", "Priority: setschedparam"),
                call("setschedprio", "Priority: setschedprio"),
                call("empty", "Priority: empty").beside(),
            ],
            Timing::Batch => vec![
                batch("setschedparam_batch", "Priority: setschedparam in batches"),
                batch("setschedprio_batch", "Priority: setschedprio in batches"),
            ],
        };
        let each = if self.timing == Timing::Batch { ROUND_NS * self.batch } else { ROUND_NS };
        let measurand = Measurand::new("Priority changes", quantities).counted_by("calls", self.calls);
        measurand.expected(Ns(self.calls.saturating_mul(each)))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        self.levels(cell)?;
        rounds::check("priority", self.timing, cell)
    }

    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        rounds::last_cpu(allowed, self.calls > 0)
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let (policy, own, other) = self.levels(&stage.cell)?;
        let course = rounds::course(&stage.cell, self.calls);
        let (count, cost_ps) = (self.batch, rounds::cost_ps(stage));
        let thread = move || Alternating::new(OwnThread { own: Own::thread(), policy }, own, other);
        for cpu in stage.cpus() {
            let stop = stage.stop();
            match self.timing {
                Timing::Each => {
                    let names = ["setschedparam", "setschedprio", "empty"];
                    let (mut channel, series) = rounds::channel(stage, names, &[], MANY)?;
                    stage.thread(cpu, series, move || {
                        as_before(|| Changes::new(thread()).rehearse(&mut channel));
                        move || rounds::interval(Changes::new(thread()).run(&course, &stop, &mut channel))
                    });
                }
                Timing::Batch => {
                    let names = ["setschedparam_batch", "setschedprio_batch"];
                    let (mut channel, series) = rounds::channel(stage, names, &[], 1)?;
                    let batch = move || ChangeBatch::new(thread(), count, cost_ps);
                    stage.thread(cpu, series, move || {
                        as_before(|| batch().rehearse(&mut channel));
                        move || rounds::interval(batch().run(&course, &stop, &mut channel))
                    });
                }
            }
        }
        stage.run()
    }
}

/// Runs `work`, which changes the thread's policy, and then restores that policy. The stage sets the policy of the measurement when all
/// threads are ready.
pub fn as_before(work: impl FnOnce()) {
    let before = sched::policy(0);
    work();
    if let Ok(before) = before {
        // The thread had this policy a moment ago. If it cannot be restored, the stage overwrites it.
        let _refused = sched::set_policy(0, before, false);
    }
}
