//! The scheduling axis: a policy with exactly the parameters that the kernel has for it, see sched(7), or that a real-time core beside the
//! kernel has.

use super::{node::Node, source::Problem};
use crate::{
    cell::{NiceBy, Scheduling},
    suggest::nearest,
};

/// The policies and the keys of each.
pub const POLICIES: &[(&str, &[&str])] = &[
    ("fifo", &["prio"]),
    ("rr", &["prio"]),
    ("other", &["nice", "by"]),
    ("batch", &["nice"]),
    ("idle", &[]),
    ("deadline", &["runtime", "deadline", "period"]),
    ("evl", &["prio"]),
    ("cobalt", &["prio"]),
];

/// The default scheduling.
pub const DEFAULT: Scheduling = Scheduling::Fifo { prio: PRIO };

/// The default priority of a real-time policy.
const PRIO: u8 = 80;

/// The shortest budget that the kernel accepts (DL_SCALE in kernel/sched/deadline.c), in ns.
const SHORTEST_RUNTIME: u64 = 1024;

/// Reads the axis: `[{ policy = "fifo", prio = 80 }]`.
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
    keys.only(what, &["policy", "prio", "nice", "by", "runtime", "deadline", "period"])?;
    let policy_node = keys.need(what, "policy")?;
    let policy = policy_node.text("policy")?;
    let Some((_, own)) = POLICIES.iter().find(|(name, _)| *name == policy) else {
        let hint = nearest(policy, POLICIES.iter().map(|(name, _)| *name));
        return Err(policy_node.problem(format!(
            "there is no policy `{policy}`{hint}: fifo, rr, other, batch, idle, deadline, evl or cobalt"
        )));
    };
    if let Some(entry) = keys.entries().iter().find(|entry| entry.key != "policy" && !own.contains(&entry.key)) {
        let takes = if own.is_empty() { "nothing".into() } else { own.join(", ") };
        let message = format!("policy `{policy}` has no `{}`; it takes {takes}", entry.key);
        return Err(entry.key_problem(message));
    }
    let prio = || match keys.get("prio") {
        // Bounds of sched(7): 99 is the highest, 0 is not real-time.
        Some(node) => node.number("prio", 1..=99).map(|prio| prio as u8),
        None => Ok(PRIO),
    };
    let nice = || match keys.get("nice") {
        Some(node) => node.number("nice", -20..=19).map(|nice| nice as i8),
        None => Ok(0),
    };
    match policy {
        "fifo" => Ok(Scheduling::Fifo { prio: prio()? }),
        "rr" => Ok(Scheduling::Rr { prio: prio()? }),
        "other" => match (nice()?, keys.get("by").map(nice_by).transpose()?) {
            // A nice value of 0 is never set, so `by` does not matter.
            (0, _) => Ok(Scheduling::OTHER),
            (nice, by) => Ok(Scheduling::Other { nice, by: by.unwrap_or_default() }),
        },
        "batch" => Ok(Scheduling::Batch { nice: nice()? }),
        "idle" => Ok(Scheduling::Idle),
        "evl" => Ok(Scheduling::Evl { prio: prio()? }),
        "cobalt" => Ok(Scheduling::Cobalt { prio: prio()? }),
        _ => {
            let runtime_node = keys.need("policy `deadline`", "runtime")?;
            let runtime = runtime_node.positive_time("runtime")?;
            let period_node = keys.need("policy `deadline`", "period")?;
            let period = period_node.positive_time("period")?;
            let deadline_node = keys.get("deadline").unwrap_or(period_node);
            let deadline = deadline_node.positive_time("deadline")?;
            if runtime.0 < SHORTEST_RUNTIME {
                return Err(runtime_node.problem(format!("runtime {runtime} is below the kernel's minimum, 1024ns")));
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

/// `by = "nice"` or `by = "setpriority"`.
fn nice_by(node: Node) -> Result<NiceBy, Problem> {
    match node.text("by")? {
        "nice" => Ok(NiceBy::Nice),
        "setpriority" => Ok(NiceBy::Setpriority),
        other => {
            let hint = nearest(other, ["nice", "setpriority"]);
            Err(node.problem(format!("`by` cannot be `{other}`{hint}: nice (from outside) or setpriority")))
        }
    }
}
