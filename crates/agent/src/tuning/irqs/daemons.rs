//! Programs that move interrupts on their own initiative. They must keep off the CPUs or be stopped, or latido does nothing.

use crate::machine::{Root, task};
use anyhow::{Result, bail};
use latido_model::cpus::CpuSet;

/// Checks that none of them runs.
///
/// # Errors
/// One runs and is not configured to keep off the CPUs. The message tells how to configure or stop it.
pub fn absent(root: &Root, away: &CpuSet) -> Result<()> {
    for pid in root.list("proc").into_iter().filter_map(|name| name.parse::<i32>().ok()) {
        // Only root moves interrupts, and any user may give a process such a name.
        if !task::acts_as_root(&root.read(&format!("proc/{pid}/status")).unwrap_or_default()) {
            continue;
        }
        match root.read(&format!("proc/{pid}/comm")).unwrap_or_default().as_str() {
            "irqbalance" if !keeps_off(root, pid, away) => bail!(
                "irqbalance runs (pid {pid}) and would move interrupts back: set IRQBALANCE_BANNED_CPULIST={away} in \
                 its environment (/etc/default/irqbalance or /etc/sysconfig/irqbalance) and restart it, or stop it \
                 (systemctl stop irqbalance)"
            ),
            "tuned" => bail!(
                "tuned runs (pid {pid}) and may move interrupts back: stop it (systemctl stop tuned), or let it do this \
                 itself with isolated_cores={away} in its profile realtime or cpu-partitioning, without this tuning"
            ),
            _ => {}
        }
    }
    Ok(())
}

/// Tells whether irqbalance was started with these CPUs banned; see irqbalance(1).
fn keeps_off(root: &Root, pid: i32, away: &CpuSet) -> bool {
    let environ = root.read(&format!("proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environ.split('\0');
    let list = variables.find_map(|variable| variable.strip_prefix("IRQBALANCE_BANNED_CPULIST="));
    list.and_then(|list| list.parse::<CpuSet>().ok()).is_some_and(|banned| away.without(&banned).is_empty())
}
