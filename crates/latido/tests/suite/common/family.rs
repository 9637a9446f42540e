//! Tasks of other programs, which a tuning moves and must restore.

use crate::common::{Background, Need, skip};
use std::{fs, path::PathBuf};

/// Tasks that a tuning could damage: bound to the CPU that it isolates, with a policy, in a cpuset of their own, forking.
pub struct Family {
    _tasks: Vec<Background>,
    pub forking: Background,
    set: Option<PathBuf>,
}

impl Family {
    pub fn start(cpu: u32) -> Self {
        let [pinned, urgent, apart] = [(); 3].map(|()| Background::shell("exec sleep 100000"));
        let bind = |task: &Background| latido_sys::sched::set_affinity(task.pid(), [cpu]).unwrap();
        bind(&pinned);
        bind(&apart);
        let fifo = latido_sys::sched::Policy::Fifo { prio: 3 };
        if latido_sys::sched::set_policy(urgent.pid(), fifo, false).is_err() {
            skip("a real-time task under kills of tunings", Need::Realtime, "SCHED_FIFO is refused here");
        }
        // Only cgroup v1 has cpusets that must shrink.
        let set = PathBuf::from("/sys/fs/cgroup/cpuset/kill-test");
        let fill = |file: &str, text: &str| fs::write(set.join(file), text);
        let above = |file: &str| fs::read_to_string(set.with_file_name(file)).unwrap_or_default();
        let made = set.with_file_name("tasks").exists()
            && fs::create_dir(&set).is_ok()
            && fill("cpuset.cpus", &above("cpuset.cpus")).is_ok()
            && fill("cpuset.mems", &above("cpuset.mems")).is_ok()
            && fill("tasks", &apart.pid().to_string()).is_ok();
        bind(&apart);
        if !made {
            skip(
                "a cpuset of somebody else's under kills of tunings",
                Need::ControlGroups,
                "no cpuset of cgroup v1 can be made here",
            );
        }
        // About thirty children at a time, born at all moments.
        let forking = Background::shell("while :; do sleep 3 & sleep 0.1; done");
        Self { _tasks: vec![pinned, urgent, apart], forking, set: made.then_some(set) }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self._tasks.clear();
        if let Some(set) = &self.set {
            let _ = fs::remove_dir(set);
        }
    }
}
