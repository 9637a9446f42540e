//! Gives latido priority while it changes or restores settings.

use latido_sys::sched::{self, Policy};

/// Keeps the calling thread at a real-time priority. Dropping it restores the former policy.
///
/// While CPUs are isolated, all tasks crowd on the other CPUs. Where a task was moved between runqueues, its session may wait there for a
/// minute before the scheduler counts it as eligible (seen with EEVDF and autogroup, Linux 6.18): the machine would stay half changed for
/// that time. The work is short, and a user who may change settings may also have a priority. Without that right latido goes on as before.
#[derive(Debug)]
pub struct Urgent(Option<Policy>);

impl Urgent {
    /// Takes the lowest real-time priority: above all ordinary tasks, below every other real-time task.
    pub fn take() -> Self {
        let before = sched::policy(0)
            .ok()
            .filter(|policy| matches!(policy, Policy::Other { .. } | Policy::Batch { .. } | Policy::Idle));
        // Programs that this thread starts meanwhile do not inherit it.
        Self(before.filter(|_| sched::set_policy(0, Policy::Fifo { prio: 1 }, true).is_ok()))
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // Without privileges latido can restore the policy, but not what children inherit (sched(7)).
            if sched::set_policy(0, before, false).is_err() {
                let _ = sched::set_policy(0, before, true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};

    #[test]
    fn the_policy_of_before_comes_back() {
        let fifo = Policy::Fifo { prio: 1 };
        let granted = std::thread::spawn(move || sched::set_policy(0, fifo, true).is_ok()).join().unwrap();
        let before = sched::policy(0).unwrap();
        let urgent = Urgent::take();
        assert_eq!(sched::policy(0).unwrap(), if granted { fifo } else { before });
        drop(urgent);
        assert_eq!(sched::policy(0).unwrap(), before);
        if !granted {
            skip("a priority for a change", Need::Realtime, "no right to real-time scheduling");
        }
    }
}
