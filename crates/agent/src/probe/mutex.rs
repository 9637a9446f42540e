//! `mutex`: what locking and unlocking costs, and how long a priority inversion lasts.

mod calls;
mod inversion;

use crate::measure::{
    Def, Measurand, Probe, Quantity, Stage,
    rounds::{self, Timing},
    with_defaults,
};
use anyhow::{Result, ensure};
use latido_model::{cell::Cell, cpus::CpuSet, units::Ns};
use latido_sys::mutex::Protocol;
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "mutex",
    about: "how long mutex calls take, per call or as a mean; how long a priority inversion lasts",
    help: "\
form=calls (default). One thread calls the C library's mutex functions; no other thread uses the mutex. A round is lock,
unlock, trylock, unlock; each call but the last is one sample, and the kinds alternate round by round. The thread never
sleeps, and measures on one CPU, the last allowed, unless -c names others. Two ways of timing:
  each    (default) every call between two readings of CLOCK_MONOTONIC: for the tails. A sample holds one reading's cost
          (it and the clock's step are in the record; an uncontended lock costs less than either); `empty`, two readings
          with nothing between, is a separate quantity. latido subtracts nothing
  batch   `batch` mutexes in a row: all locked, all unlocked, all tried, all unlocked; then one locked and unlocked as
          often. A sample is the time between two readings, less the cost of one reading (never below 0), divided by the
          number of calls: a mean. It is exact to parts of a nanosecond but hides the worst case: the mean spreads one
          slow call over all of them
Kinds: normal; inherit (priority inheritance); ceiling (priority protection); shared (normal, process-shared). A ceiling
at the thread's own priority, the default, costs bookkeeping only; above it every lock and every unlock is a system call
that changes the priority. In a row of ceilings held together only the first lock and the last unlock do; `pair_batch`
has the whole cost. A time-sharing thread cannot lock a ceiling: glibc asks the kernel for a priority that the
policy does not have, the first lock fails with EINVAL, and further ones succeed without protecting anything. There
kind=all skips this kind and reports that.

form=inversion. Three threads on one CPU, policy fifo or rr: high with the cell's priority, middle one below, low two
below. Each round low locks the mutex and wakes high, which preempts it, requests the mutex and blocks. Low, running
again, wakes middle, which is busy for `busy`; low stays in its critical section for `hold` more and unlocks. A sample
of `inversion` is the time from high's request until it has the mutex. Without inheritance it includes the time that middle
took; with inheritance low runs before middle until it unlocks. Stamps must show that low had locked before the request, had
seen the request before it woke middle, and unlocked before the acquisition; latido counts any other round as `unconfirmed`
without a sample, and so every round where the kernel refuses real-time priorities. The result never excludes a round.

Options of form=calls:
  timing    each or batch
  kind      all (default), normal, inherit, ceiling, shared
  calls     end after this many rounds of each kind instead of after the cell's duration; default 0, by duration
  batch     calls per sample of timing=batch; default 1000
  ceiling   the ceiling, 1 to 99 and not below the thread's priority; default the thread's priority
Options of form=inversion:
  kind      all (default: both alternately), normal, inherit
  rounds    end after this many rounds of each kind instead of after the cell's duration; default 0, by duration
  busy      how long middle is busy; default 200us
  hold      how long low stays in its critical section after waking middle; default 50us
  interval  time from one round to the next, in which low sleeps; default 1ms

Quantities, with the labels kind=normal|inherit|ceiling and shared=no|yes: lock, unlock, trylock, empty (ns); of
timing=batch: lock_batch, unlock_batch, trylock_batch, pair_batch (ps, pair: lock and unlock of one mutex); of
form=inversion: inversion (ns). Facts of `inversion`: unconfirmed; rounds, the samples plus the unconfirmed rounds;
inverted, the confirmed rounds in which middle ran from its beginning to its end between request and acquisition.
The mutex calls of the scheduling-latency study (2019), which timed them call by call. Comparable with ptsematest(8)
(mutexes between threads) and pi_stress(8) (inversions, pass or fail) of rt-tests; see pthread_mutex_lock(3p),
pthread_mutexattr_setprotocol(3p).",
    main_option: Some("form"),
    new: |table| {
        let probe = with_defaults(table, DEFAULTS)?;
        probe.refuse()?;
        Ok(Box::new(probe))
    },
};

/// Roughly how long a round of calls takes, to estimate how many rounds there will be, ns.
const ROUND_NS: u64 = 200;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MutexProbe {
    form: MutexForm,
    kind: MutexKind,
    timing: Timing,
    calls: u64,
    batch: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ceiling: Option<u8>,
    rounds: u64,
    busy: Ns,
    hold: Ns,
    interval: Ns,
}

const DEFAULTS: MutexProbe = MutexProbe {
    form: MutexForm::Calls,
    kind: MutexKind::All,
    timing: Timing::Each,
    calls: 0,
    batch: 1000,
    ceiling: None,
    rounds: 0,
    busy: Ns::from_micros(200),
    hold: Ns::from_micros(50),
    interval: Ns::from_millis(1),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MutexForm {
    Calls,
    Inversion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MutexKind {
    All,
    Normal,
    Inherit,
    Ceiling,
    Shared,
}

impl MutexKind {
    /// Returns the kinds that a form measures in rotation.
    fn each(self, form: MutexForm) -> Vec<Self> {
        let all = match form {
            MutexForm::Calls => vec![Self::Normal, Self::Inherit, Self::Ceiling, Self::Shared],
            MutexForm::Inversion => vec![Self::Normal, Self::Inherit],
        };
        if self == Self::All { all } else { vec![self] }
    }

    /// Returns the labels of this kind's series: kind and shared.
    fn labels(self) -> [(&'static str, &'static str); 2] {
        let kind = match self {
            Self::Inherit => "inherit",
            Self::Ceiling => "ceiling",
            Self::All | Self::Normal | Self::Shared => "normal",
        };
        [("kind", kind), ("shared", if self == Self::Shared { "yes" } else { "no" })]
    }

    fn protocol(self, ceiling: u8) -> Protocol {
        match self {
            Self::Inherit => Protocol::Inherit,
            Self::Ceiling => Protocol::Ceiling(ceiling),
            Self::All | Self::Normal | Self::Shared => Protocol::Normal,
        }
    }
}

impl MutexProbe {
    /// Returns the values of each label.
    fn labels(&self) -> Vec<(String, Vec<String>)> {
        let mut labels = vec![("kind".to_string(), Vec::new()), ("shared".to_string(), Vec::new())];
        for kind in self.kind.each(self.form) {
            for ((_, values), (_, value)) in labels.iter_mut().zip(kind.labels()) {
                if !values.iter().any(|known| known == value) {
                    values.push(value.to_string());
                }
            }
        }
        labels
    }

    /// Refuses impossible options, whatever the cell.
    fn refuse(&self) -> Result<()> {
        ensure!((1..=1_000_000).contains(&self.batch), "`batch` must be 1 to 1000000 calls");
        ensure!(self.ceiling.is_none_or(|prio| (1..=99).contains(&prio)), "`ceiling` must be a priority, 1 to 99");
        ensure!(
            self.interval >= Ns::from_micros(10),
            "`interval` must be 10us or more: a shorter one leaves no time to sleep"
        );
        let second = Ns::from_secs(1);
        ensure!(self.busy <= second && self.hold <= second, "`busy` and `hold` must be at most 1s");
        match self.form {
            MutexForm::Calls => ensure!(self.rounds == 0, "`rounds` belongs to form=inversion; form=calls has `calls`"),
            MutexForm::Inversion => {
                ensure!(self.calls == 0, "`calls` belongs to form=calls; form=inversion has `rounds`");
                ensure!(self.timing == Timing::Each, "form=inversion times each round: timing=batch is for form=calls");
                ensure!(
                    matches!(self.kind, MutexKind::All | MutexKind::Normal | MutexKind::Inherit),
                    "form=inversion has the kinds normal, inherit, and all for both"
                );
            }
        }
        Ok(())
    }
}

impl Probe for MutexProbe {
    fn measurand(&self) -> Measurand {
        let quantities = match self.form {
            MutexForm::Inversion => vec![Quantity::time("inversion", "Mutex: inversion").each("call")],
            MutexForm::Calls => calls::quantities(self.timing),
        };
        let measurand = Measurand { labels: self.labels(), ..Measurand::new("Mutex calls", quantities) };
        let (rounds, each) = match (self.form, self.timing) {
            (MutexForm::Inversion, _) => (self.rounds, self.interval.0),
            (MutexForm::Calls, Timing::Each) => (self.calls, ROUND_NS),
            (MutexForm::Calls, Timing::Batch) => (self.calls, ROUND_NS * self.batch),
        };
        let kinds = self.kind.each(self.form).len() as u64;
        let measurand = measurand.counted_by("calls", self.calls).counted_by("rounds", self.rounds);
        measurand.expected(Ns(rounds.saturating_mul(each).saturating_mul(kinds)))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        match self.form {
            MutexForm::Calls => {
                rounds::check("mutex", self.timing, cell)?;
                self.check_ceiling(cell)
            }
            MutexForm::Inversion => inversion::check(cell),
        }
    }

    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        match self.form {
            MutexForm::Calls => rounds::last_cpu(allowed, self.calls > 0),
            MutexForm::Inversion => allowed.iter().last().into_iter().collect(),
        }
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        match self.form {
            MutexForm::Calls => calls::measure(self, stage),
            MutexForm::Inversion => inversion::measure(self, stage),
        }
    }
}

impl MutexProbe {
    fn check_ceiling(&self, cell: &Cell) -> Result<()> {
        match rounds::realtime(cell.scheduling) {
            Some((_, prio)) => ensure!(
                self.ceiling.is_none_or(|ceiling| ceiling >= prio),
                "a thread of priority {prio} cannot lock a ceiling below it: `ceiling` must be {prio} to 99"
            ),
            None => ensure!(
                self.kind != MutexKind::Ceiling,
                "a thread under `{}` cannot lock a priority ceiling: use fifo or rr for kind=ceiling",
                cell.scheduling
            ),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
