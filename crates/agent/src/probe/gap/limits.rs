//! How much of a CPU the kernel lets a busy real-time task use, as far as the machine shows it.

use latido_model::machine::{FairServer, RealTime};
use latido_rt::gap::Budget;

/// The limits of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The budgets of the real-time throttle and of the fair server, if they are set.
    pub budgets: [Option<Budget>; 2],
    /// Whether the limits are known: at least one is set, or both are known not to be set.
    pub known: bool,
}

/// Returns the limits of FIFO and RR tasks on a CPU.
pub fn of(realtime: &RealTime, release: &str, cpu: u32) -> Limits {
    let throttle = throttle(realtime, release);
    let server = server(&realtime.fair_server, cpu);
    let budgets = [throttle.flatten(), server.flatten()];
    let known = budgets.iter().any(Option::is_some) || (throttle.is_some() && server.is_some());
    Limits { budgets, known }
}

/// Returns the throttle's budget; the outer `None` means that it is unknown whether there is one.
fn throttle(realtime: &RealTime, release: &str) -> Option<Option<Budget>> {
    if !realtime.throttles(release)? {
        return Some(None);
    }
    let ns = |us: i64| u64::try_from(us).unwrap_or(0).saturating_mul(1000);
    // A group may have less than the whole machine. A budget of 0 is a refusal: then no task runs that could be throttled.
    let group = realtime.group_budget.as_ref().map(|group| group.runtime_us).filter(|us| *us > 0);
    let runtime_us = realtime.runtime_us?;
    let runtime_us = group.map_or(runtime_us, |group| group.min(runtime_us));
    Some(Some(Budget { runtime_ns: ns(runtime_us), period_ns: ns(realtime.period_us?) }))
}

/// Returns the budget that the fair server leaves to real-time tasks. The server takes its runtime of each period.
fn server(server: &FairServer, cpu: u32) -> Option<Option<Budget>> {
    match server {
        FairServer::Absent => Some(None),
        FairServer::Unknown { .. } => None,
        FairServer::Known { budgets } => {
            let own = budgets.iter().find(|budget| budget.cpus.contains(cpu))?;
            let left = own.period_ns.saturating_sub(own.runtime_ns);
            Some((own.runtime_ns > 0).then_some(Budget { runtime_ns: left, period_ns: own.period_ns }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::machine::{FairBudget, GroupBudget};

    const MS: u64 = 1_000_000;

    fn settings(runtime_us: i64, fair_server: FairServer) -> RealTime {
        RealTime {
            runtime_us: Some(runtime_us),
            period_us: Some(1_000_000),
            fair_server,
            group_scheduling: Some(false),
            ..RealTime::default()
        }
    }

    fn fair(runtime_ns: u64) -> FairServer {
        let budget = FairBudget { cpus: "0-1".parse().unwrap(), runtime_ns, period_ns: 1000 * MS };
        FairServer::Known { budgets: vec![budget] }
    }

    #[test]
    fn each_kernel_has_its_own_limit() {
        let budget = |ms: u64| Some(Budget { runtime_ns: ms * MS, period_ns: 1000 * MS });
        let unknown = || FairServer::Unknown { reason: String::new() };
        for (settings, release, cpu, budgets, known) in [
            (settings(950_000, FairServer::Absent), "6.1.0", 1, [budget(950), None], true),
            (settings(-1, FairServer::Absent), "6.1.0", 1, [None, None], true),
            (settings(950_000, fair(50 * MS)), "6.12.0", 1, [None, budget(950)], true),
            (settings(950_000, fair(20 * MS)), "6.12.0", 0, [None, budget(980)], true),
            (settings(950_000, fair(0)), "6.12.0", 1, [None, None], true),
            (settings(950_000, fair(50 * MS)), "6.12.0", 7, [None, None], false),
            (settings(950_000, unknown()), "6.12.0", 1, [None, None], false),
            (RealTime::default(), "6.1.0", 1, [None, None], false),
        ] {
            assert_eq!(of(&settings, release, cpu), Limits { budgets, known }, "{settings:?}");
        }
        let mut grouped = settings(950_000, unknown());
        grouped.group_scheduling = Some(true);
        assert_eq!(of(&grouped, "6.18.0", 0), Limits { budgets: [budget(950), None], known: true });
        grouped.group_budget = Some(GroupBudget { runtime_us: 400_000, group: String::new() });
        assert_eq!(of(&grouped, "6.18.0", 0).budgets, [budget(400), None]);
    }
}
