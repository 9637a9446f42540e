//! What this process may do: real-time policies and locked memory.

use super::{Answer, MachineView, Question};
use crate::machine::Root;
use latido_model::{
    check::{Purpose, Severity},
    machine::Layer,
};

/// The priority that a run asks for by default.
const PRIORITY: u64 = 80;

const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

/// Grants both permissions for good; `$USER` is expanded by the user's shell, before sudo.
const GRANT: &str = r#"printf '%s - rtprio 99\n%s - memlock unlimited\n' "$USER" "$USER" | sudo tee /etc/security/limits.d/90-latido.conf"#;
const LOG_IN_AGAIN: &str = "log out and in again after this command; or run latido with sudo";
const CONTAINER: &str =
    "start the container with --cap-add=SYS_NICE --cap-add=IPC_LOCK --ulimit rtprio=99 --ulimit memlock=-1";

/// What the kernel checks before it grants a policy: see sched(7) and capabilities(7).
struct Privileges {
    capabilities: Option<u64>,
    /// The capabilities that a program started here by root could get.
    bounding: Option<u64>,
    /// Whether this is the initial user namespace. In another one, root's capabilities do not count for scheduling.
    initial_namespace: bool,
    seccomp: bool,
    limits: Option<String>,
}

impl Privileges {
    fn read(root: &Root) -> Self {
        let status = root.read("proc/self/status").unwrap_or_default();
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
        let map = root.read("proc/self/uid_map");
        let whole = |map: &String| map.split_whitespace().eq(["0", "0", "4294967295"]);
        let set = |name: &str| field(name).and_then(|hex| u64::from_str_radix(hex, 16).ok());
        Self {
            capabilities: set("CapEff"),
            bounding: set("CapBnd"),
            initial_namespace: map.as_ref().is_none_or(whole),
            seccomp: field("Seccomp") == Some("2"),
            limits: root.read("proc/self/limits"),
        }
    }

    fn has(&self, capability: u32) -> Option<bool> {
        Some(self.initial_namespace && self.capabilities? >> capability & 1 == 1)
    }

    /// Whether the process would have the capability as root.
    fn root_would_have(&self, capability: u32) -> bool {
        self.initial_namespace && self.bounding.is_some_and(|set| set >> capability & 1 == 1)
    }

    /// Returns the soft limit; `u64::MAX` if unlimited.
    fn limit(&self, name: &str) -> Option<u64> {
        let line = self.limits.as_ref()?.lines().find_map(|line| line.strip_prefix(name))?;
        match line.split_whitespace().next()? {
            "unlimited" => Some(u64::MAX),
            number => number.parse().ok(),
        }
    }

    /// Explains why a capability is missing.
    fn lacks(&self, name: &str) -> String {
        match self.initial_namespace {
            true => format!("{name} is missing"),
            false => format!("{name} does not count inside a user namespace"),
        }
    }
}

fn grant(view: &MachineView, process: &Privileges, capability: u32, answer: Answer) -> Answer {
    match &view.machine.container {
        Some(Layer::Present(_)) if process.root_would_have(capability) => {
            answer.advise("run latido as root: this container allows it").advise(CONTAINER)
        }
        Some(Layer::Present(_)) => answer.advise(CONTAINER),
        _ => answer.run(GRANT).advise(LOG_IN_AGAIN),
    }
}

pub const REALTIME: Question = Question {
    name: "real-time permission",
    why: "Without SCHED_FIFO the measurement competes with all other tasks, and its result says little.",
    decides: true,
    rules_out: None,
    look: realtime,
};

fn realtime(view: &MachineView) -> Answer {
    if let Some(refusal) = group_refuses(view) {
        return refusal;
    }
    let process = Privileges::read(view.root);
    let capability = process.has(CAP_SYS_NICE);
    let limit = process.limit("Max realtime priority");
    let seccomp = if process.seccomp { ", unless the active seccomp filter refuses it" } else { "" };
    match (capability, limit) {
        (Some(true), _) => Answer::ok(format!("granted by CAP_SYS_NICE{seccomp}")),
        (_, Some(limit)) if limit >= PRIORITY => {
            Answer::ok(format!("granted up to priority {limit} by ulimit -r{seccomp}"))
        }
        (_, Some(limit @ 1..)) => {
            let state = format!("only up to priority {limit} (ulimit -r); a run requests {PRIORITY}{seccomp}");
            grant(view, &process, CAP_SYS_NICE, Answer::new(Severity::Warning, state))
                .advise(format!("measure with --prio {limit}"))
        }
        (Some(false), Some(0)) => {
            let state = format!("refused: {} and ulimit -r is 0", process.lacks("CAP_SYS_NICE"));
            grant(view, &process, CAP_SYS_NICE, Answer::new(Severity::Unfit, state))
        }
        _ => Answer::unknown("/proc/self/status and /proc/self/limits are not readable"),
    }
}

/// Refuses where the process's group has no real-time budget: the kernel then refuses real-time policies even to root, before any other
/// check.
fn group_refuses(view: &MachineView) -> Option<Answer> {
    let budget = view.machine.realtime.group_budget.as_ref().filter(|budget| budget.runtime_us == 0)?;
    let contained = matches!(view.machine.container, Some(Layer::Present(_)));
    let group = &budget.group;
    let refused = |state: String| Answer::new(Severity::Unfit, state);
    Some(match (group.ends_with("cpu.rt_runtime_us"), contained) {
        (true, true) => refused(format!("refused by the container's control group: {group} is 0")).advise(
            "start the container with --cpu-rt-runtime=950000 (the daemon needs its own --cpu-rt-runtime first)",
        ),
        (true, false) => refused(format!("refused by the control group: {group} is 0"))
            .run(format!("echo 950000 | sudo tee {group}"))
            .advise("if the kernel refuses this, set the budget of the parent groups first"),
        (false, true) => {
            refused(format!("refused by the container's control group: {group} cannot have a real-time budget"))
                .boot("rt_group_sched=0")
                .advise("set it on the host (Linux 6.16 or newer); older kernels need CONFIG_RT_GROUP_SCHED=n")
        }
        (false, false) => refused(format!("refused by the control group: {group} cannot have a real-time budget"))
            .run("echo $$ | sudo tee /sys/fs/cgroup/cgroup.procs")
            .boot("rt_group_sched=0")
            .advise(
                "the parameter needs Linux 6.16; the command moves this shell to the root group, which has a budget",
            ),
    })
}

pub const MEMORY: Question = Question {
    name: "memory locking",
    why: "A page fault in the loop costs microseconds to milliseconds.",
    decides: false,
    rules_out: Some(Purpose::HardDeadlines),
    look: memory,
};

/// The limit of locked memory that is enough, in bytes. mlockall counts the whole address space of the process, not only the pages in use.
const ENOUGH: u64 = 64 << 20;

fn memory(view: &MachineView) -> Answer {
    let process = Privileges::read(view.root);
    match (process.has(CAP_IPC_LOCK), process.limit("Max locked memory")) {
        (Some(true), _) => Answer::ok("granted by CAP_IPC_LOCK"),
        (_, Some(u64::MAX)) => Answer::ok("unlimited (ulimit -l)"),
        (_, Some(limit)) if limit >= ENOUGH => Answer::ok(format!("up to {} MiB (ulimit -l)", limit >> 20)),
        (Some(false), Some(limit)) => {
            let state = format!("only {} KiB (ulimit -l), and {}", limit >> 10, process.lacks("CAP_IPC_LOCK"));
            grant(view, &process, CAP_IPC_LOCK, Answer::new(Severity::Warning, state))
        }
        _ => Answer::unknown("/proc/self/status and /proc/self/limits are not readable"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(status: &str, map: &str, limits: &str) -> Privileges {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        for (name, text) in [("status", status), ("uid_map", map), ("limits", limits)] {
            std::fs::write(dir.path().join("proc/self").join(name), text).unwrap();
        }
        Privileges::read(&Root::new(dir.path()))
    }

    #[test]
    fn capabilities_count_only_in_the_initial_namespace() {
        let status = "Name:\tx\nCapEff:\t0000000000800000\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        let whole = process(status, "         0          0 4294967295", "");
        assert_eq!((whole.has(CAP_SYS_NICE), whole.has(CAP_IPC_LOCK), whole.seccomp), (Some(true), Some(false), true));
        assert_eq!(process(status, "0 100000 65536", "").has(CAP_SYS_NICE), Some(false));
        assert_eq!(process("", "0 0 4294967295", "").has(CAP_SYS_NICE), None);
    }

    #[test]
    fn limits_are_read_by_name() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max locked memory         8388608              unlimited            bytes     \n\
                      Max realtime priority     unlimited            99                             \n";
        let process = process("", "", limits);
        assert_eq!(process.limit("Max locked memory"), Some(8_388_608));
        assert_eq!(process.limit("Max realtime priority"), Some(u64::MAX));
        assert_eq!(process.limit("Max realtime timeout"), None);
    }
}
