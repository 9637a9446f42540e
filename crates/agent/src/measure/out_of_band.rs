//! The measuring threads of a real-time core beside the kernel: they enter the core before their dry run, and calls of the core read its
//! counts before any other call.

use crate::machine::{Root, gravity_ns};
use anyhow::{Context, Result, anyhow, bail};
use latido_model::{
    cell::Scheduling,
    machine::CoreKind,
    record::{CoreCounts, CoreRecord},
};
use latido_sys::{
    dual::{Core, Counts, Installed, Member, Refused},
    signal::debug,
};
use std::{cell::RefCell, rc::Rc, sync::OnceLock};

thread_local! {
    /// The membership of the calling thread, for its loop, or why the core refused it; `None` if it requested none.
    static OWN: RefCell<Option<Result<Rc<Member<'static>>, String>>> = const { RefCell::new(None) };
}

/// Returns the core of this kernel, opened by this process.
///
/// # Errors
/// The kernel has no such core, or latido cannot use it.
pub fn installed(kind: CoreKind) -> Result<&'static Installed> {
    static FOUND: OnceLock<Result<Option<Installed>, Refused>> = OnceLock::new();
    let found = FOUND.get_or_init(Installed::find).as_ref().map_err(|refused| anyhow!("{refused}"))?;
    let Some(installed) = found else { bail!("this kernel has no {} core", kind.name()) };
    let own = match installed.core() {
        Core::Evl => CoreKind::Evl,
        Core::Cobalt => CoreKind::Cobalt,
    };
    match own == kind {
        true => Ok(installed),
        false => bail!("this kernel has the core {}, not {}", own.name(), kind.name()),
    }
}

/// Returns the membership of the calling thread: what its loop sleeps with.
///
/// # Errors
/// The thread is no member. The error says why.
pub fn own() -> Result<Rc<Member<'static>>> {
    let own = OWN.with_borrow(Clone::clone).context("the thread is no member of the core")?;
    own.map_err(|why| anyhow!(why))
}

/// A thread that a core schedules.
pub struct OutOfBand {
    member: Rc<Member<'static>>,
    before: Option<Counts>,
}

impl OutOfBand {
    /// Lets the calling thread enter the core that the scheduling names; `None` if it names none. The thread may still call the kernel: each
    /// such call takes it in-band, and the next call of the core takes it back.
    ///
    /// # Errors
    /// The kernel has no such core, or the core refuses the thread.
    pub fn enter(scheduling: Option<Scheduling>) -> Result<Option<Self>> {
        let (kind, prio) = match scheduling {
            Some(Scheduling::Evl { prio }) => (CoreKind::Evl, prio),
            Some(Scheduling::Cobalt { prio }) => (CoreKind::Cobalt, prio),
            _ => return Ok(None),
        };
        let entered = join(kind, prio).inspect(rehearse);
        OWN.set(Some(entered.as_ref().map(Rc::clone).map_err(|error| format!("{error:#}"))));
        Ok(Some(Self { member: entered?, before: None }))
    }

    /// Takes the thread out of band, as the last step before the loop. From here on the core warns of each call of the kernel.
    #[inline(never)]
    pub fn begin(&mut self) {
        let ready = self.member.warn(true).and_then(|()| self.member.harden());
        self.before = ready.and_then(|()| self.member.counts()).ok();
    }

    /// Reads what the core counted since [`Self::begin`], as the first step after the loop, and leaves the core. `None` if the core did not
    /// tell.
    #[inline(never)]
    pub fn end(self) -> Option<CoreCounts> {
        let after = self.member.counts();
        OWN.set(None);
        // The loop has another reference, and the last one leaves the core.
        let _ = self.member.warn(false);
        since(self.before?, after.ok()?)
    }
}

/// Makes the calling thread a member of a core.
fn join(kind: CoreKind, prio: u8) -> Result<Rc<Member<'static>>> {
    let member = installed(kind)?.enter(prio);
    Ok(Rc::new(member.map_err(|error| anyhow!("{} refused the thread: {error}", kind.name()))?))
}

/// Makes the calls of [`OutOfBand::begin`] and [`OutOfBand::end`] once. A page fault at the first of them would take the thread in-band.
fn rehearse(member: &Rc<Member<'static>>) {
    let _ = member.counts();
    let _ = member.warn(false);
}

fn since(before: Counts, after: Counts) -> Option<CoreCounts> {
    let grown = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
    Some(CoreCounts {
        out_of_band_before: before.out_of_band,
        out_of_band_after: after.out_of_band,
        switches: after.switches.saturating_sub(before.switches),
        faults: grown(after.faults, before.faults),
        context_switches: after.context_switches.saturating_sub(before.context_switches),
        system_calls: grown(after.system_calls, before.system_calls),
        cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
    })
}

/// Catches the signals of a core, which would end the process otherwise.
///
/// # Errors
/// The kernel refuses the handler.
pub fn prepare(scheduling: Scheduling) -> Result<()> {
    match scheduling.core() {
        Some(kind) => debug::catch().map_err(|error| anyhow!("cannot catch the signals of {}: {error}", kind.name())),
        None => Ok(()),
    }
}

/// Returns what the record says of the core: its ABI, its gravity, and the signals that it sent to this process.
pub fn record(scheduling: Scheduling) -> Option<CoreRecord> {
    let kind = scheduling.core()?;
    let installed = installed(kind).ok()?;
    let name = |cause: usize| match debug::name(installed.core(), cause) {
        Some(name) => name.to_owned(),
        // The last count has every cause from this number on.
        None if cause + 1 == debug::CAUSES => format!("cause {cause} or above"),
        None => format!("cause {cause}"),
    };
    let counts = debug::counts().into_iter().enumerate().filter(|(_, count)| *count > 0);
    let debug = counts.map(|(cause, count)| (name(cause), count)).collect();
    Some(CoreRecord { kind, abi: installed.abi(), gravity_ns: gravity_ns(&Root::default(), kind), debug })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: Counts = Counts {
        out_of_band: true,
        switches: 3,
        faults: None,
        context_switches: 10,
        system_calls: Some(20),
        cpu_ns: 1_000,
    };

    #[test]
    fn only_what_the_core_counted_meanwhile_is_told() {
        let after = Counts { switches: 5, context_switches: 2_010, system_calls: Some(2_021), cpu_ns: 9_000, ..COUNTS };
        let told = since(COUNTS, after).unwrap();
        assert_eq!((told.switches, told.context_switches, told.cpu_ns), (2, 2_000, 8_000));
        assert_eq!((told.system_calls, told.faults), (Some(2_001), None));
        let in_band = since(Counts { out_of_band: false, ..COUNTS }, COUNTS).unwrap();
        assert!(!in_band.out_of_band_before && in_band.out_of_band_after);
    }

    /// An ordinary kernel has no core, and an ordinary policy asks for none.
    #[test]
    fn an_ordinary_policy_enters_nothing() {
        assert!(OutOfBand::enter(Some(Scheduling::Fifo { prio: 1 })).unwrap().is_none());
        assert!(OutOfBand::enter(None).unwrap().is_none());
        assert!(record(Scheduling::OTHER).is_none() && own().is_err());
        if crate::machine::read(&Root::default()).core.is_none() {
            let error = OutOfBand::enter(Some(Scheduling::Evl { prio: 90 })).err().unwrap().to_string();
            assert_eq!(error, "this kernel has no EVL core");
        }
    }
}
