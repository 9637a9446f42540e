//! The scheduling axis: a policy with exactly the parameters that the kernel knows for it, see sched(7).

use super::{node::Node, source::Problem};
use crate::{cell::Scheduling, suggest::nearest};

/// The policies and the keys of each.
pub const POLICIES: &[(&str, &[&str])] =
    &[("fifo", &["prio"]), ("rr", &["prio"]), ("other", &["nice"]), ("deadline", &["runtime", "deadline", "period"])];

/// What runs where nothing is said.
pub const DEFAULT: Scheduling = Scheduling::Fifo { prio: PRIO };

/// The priority of a real-time policy where none is given.
const PRIO: u8 = 80;

/// The shortest budget that the kernel accepts (DL_SCALE in kernel/sched/deadline.c), in ns.
const SHORTEST_RUNTIME: u64 = 1024;

/// The axis: `[{ policy = "fifo", prio = 80 }]`.
pub fn levels(node: Node) -> Result<Vec<Scheduling>, Problem> {
    let mut levels = Vec::new();
    for element in node.levels("scheduling")? {
        let level = level(element)?;
        if levels.contains(&level) {
            return Err(element.problem(format!("the scheduling `{level}` is named twice")));
        }
        levels.push(level);
    }
    Ok(levels)
}

fn level(node: Node) -> Result<Scheduling, Problem> {
    let what = "a level of scheduling";
    let keys = node.table(what)?;
    keys.only(what, &["policy", "prio", "nice", "runtime", "deadline", "period"])?;
    let policy_node = keys.need(what, "policy")?;
    let policy = policy_node.text("policy")?;
    let Some((_, own)) = POLICIES.iter().find(|(name, _)| *name == policy) else {
        let hint = nearest(policy, POLICIES.iter().map(|(name, _)| *name));
        return Err(policy_node.problem(format!("there is no policy `{policy}`{hint}: fifo, rr, other or deadline")));
    };
    if let Some(entry) = keys.entries().iter().find(|entry| entry.key != "policy" && !own.contains(&entry.key)) {
        let message = format!("policy `{policy}` has no `{}`; it takes {}", entry.key, own.join(", "));
        return Err(entry.key_problem(message));
    }
    let prio = || match keys.get("prio") {
        // Bounds of sched(7): 99 is the highest, 0 is not real-time.
        Some(node) => node.number("prio", 1..=99).map(|prio| prio as u8),
        None => Ok(PRIO),
    };
    match policy {
        "fifo" => Ok(Scheduling::Fifo { prio: prio()? }),
        "rr" => Ok(Scheduling::Rr { prio: prio()? }),
        "other" => match keys.get("nice") {
            Some(node) => Ok(Scheduling::Other { nice: node.number("nice", -20..=19)? as i8 }),
            None => Ok(Scheduling::Other { nice: 0 }),
        },
        _ => {
            let runtime_node = keys.need("policy `deadline`", "runtime")?;
            let runtime = runtime_node.positive_time("runtime")?;
            let period_node = keys.need("policy `deadline`", "period")?;
            let period = period_node.positive_time("period")?;
            let deadline_node = keys.get("deadline").unwrap_or(period_node);
            let deadline = deadline_node.positive_time("deadline")?;
            if runtime.0 < SHORTEST_RUNTIME {
                return Err(runtime_node.problem(format!("runtime {runtime} is below the kernel's least, 1024ns")));
            }
            if runtime > deadline {
                return Err(runtime_node.problem(format!("runtime {runtime} is longer than the deadline {deadline}")));
            }
            if deadline > period {
                return Err(deadline_node.problem(format!("deadline {deadline} is longer than the period {period}")));
            }
            Ok(Scheduling::Deadline { runtime, deadline, period })
        }
    }
}
