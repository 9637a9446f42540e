//! A running program: what the kernel reports about each of its threads, from /proc (proc_pid_stat(5), proc_pid_status(5)).

use crate::machine::{
    Root,
    task::{self, field},
};
use anyhow::{Context, Result, bail};
use latido_model::{
    check::{Process, Thread},
    clean,
};
use latido_sys::sched::Policy;

/// Returns the number of the process with this number or name.
///
/// # Errors
/// No process matches, or several do.
pub fn find(root: &Root, word: &str) -> Result<u32> {
    if let Ok(pid) = word.parse::<u32>() {
        return if root.exists(&format!("proc/{pid}/stat")) { Ok(pid) } else { bail!("there is no process {pid}") };
    }
    // The kernel keeps 15 characters of a name.
    let short: String = word.chars().take(15).collect();
    let meant = |pid: &u32| {
        let name = root.read(&format!("proc/{pid}/comm")).unwrap_or_default();
        let line = root.read(&format!("proc/{pid}/cmdline")).unwrap_or_default();
        let program = line.split('\0').next().and_then(|path| path.rsplit('/').next()).unwrap_or_default().to_string();
        name == short || program == word
    };
    let own = root.asked(|kernel| kernel.own_process());
    let pids = root.list("proc").into_iter().filter_map(|name| name.parse().ok());
    let found: Vec<u32> = pids.filter(|pid| Some(*pid) != own).filter(meant).collect();
    match found.as_slice() {
        [] => bail!("there is no process named `{word}`"),
        [one] => Ok(*one),
        many => {
            let list: Vec<String> = many.iter().take(20).map(ToString::to_string).collect();
            bail!("{} processes are named `{word}`: select one with its number: {}", many.len(), list.join(" "))
        }
    }
}

/// Reads a process and all its threads.
///
/// # Errors
/// It is gone.
pub fn read(root: &Root, pid: u32) -> Result<Process> {
    let dir = format!("proc/{pid}");
    let status = root.read(&format!("{dir}/status")).with_context(|| format!("process {pid} cannot be read"))?;
    let kib = |name: &str| field(&status, name)?.trim_end_matches("kB").trim().parse().ok();
    let tids = root.list(&format!("{dir}/task")).into_iter().filter_map(|tid| tid.parse::<u32>().ok());
    let threads: Vec<Thread> = tids.filter_map(|tid| thread(root, pid, tid)).collect();
    anyhow::ensure!(!threads.is_empty(), "process {pid} ended");
    let command = root.read(&format!("{dir}/cmdline")).filter(|line| !line.is_empty());
    Ok(Process {
        pid,
        name: clean::line(field(&status, "Name").unwrap_or_default()).into_owned(),
        kernel: flags(root, pid).is_some_and(|flags| flags & PF_KTHREAD != 0),
        command: command.map(|line| clean::line(&line.replace('\0', " ")).into_owned()),
        locked_kib: kib("VmLck"),
        resident_kib: kib("VmRSS"),
        swapped_kib: kib("VmSwap"),
        threads,
    })
}

/// The flag of a kernel thread (include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;

/// Returns the kernel's flags of a process: field 9 of its stat file.
fn flags(root: &Root, pid: u32) -> Option<u64> {
    let stat = root.read(&format!("proc/{pid}/stat"))?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(6)?.parse().ok()
}

fn thread(root: &Root, pid: u32, tid: u32) -> Option<Thread> {
    let dir = format!("proc/{pid}/task/{tid}");
    let stat = root.read(&format!("{dir}/stat"))?;
    let (name, rest) = task::named(&stat)?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field.checked_sub(3)?)?.parse::<i64>().ok();
    let count = |field: usize| number(field)?.try_into().ok();
    let status = root.read(&format!("{dir}/status")).unwrap_or_default();
    let policy = policy(number(41), number(40), number(19));
    // The parameters of a deadline thread are in no file.
    let policy = match policy {
        Some(Policy::Unknown { number: DEADLINE }) => {
            root.asked(|kernel| kernel.policy(tid.try_into().ok()?).ok()).or(policy)
        }
        other => other,
    };
    Some(Thread {
        tid,
        name,
        realtime: policy.map(|policy| {
            matches!(
                policy,
                Policy::Fifo { .. }
                    | Policy::Rr { .. }
                    | Policy::Deadline { .. }
                    | Policy::Unknown { number: DEADLINE }
            )
        }),
        priority: match policy {
            Some(Policy::Fifo { prio } | Policy::Rr { prio }) => Some(prio),
            _ => None,
        },
        policy: policy.map(|policy| match policy {
            Policy::Unknown { number: DEADLINE } => "deadline".into(),
            other => other.to_string(),
        }),
        cpus: field(&status, "Cpus_allowed_list").and_then(|list| list.parse().ok()),
        last_cpu: number(39).and_then(|cpu| cpu.try_into().ok()),
        minor_faults: count(10),
        major_faults: count(12),
        voluntary_switches: field(&status, "voluntary_ctxt_switches").and_then(|n| n.parse().ok()),
        involuntary_switches: field(&status, "nonvoluntary_ctxt_switches").and_then(|n| n.parse().ok()),
        // The kernel shows a thread's slack only under the thread's own number.
        timer_slack_ns: root.value(&format!("proc/{tid}/timerslack_ns")),
        cgroup: root.read(&format!("{dir}/cgroup")),
    })
}

/// SCHED_DEADLINE.
const DEADLINE: u32 = 6;

/// Returns the policy from the numbers of the stat file (sched(7)).
fn policy(number: Option<i64>, priority: Option<i64>, nice: Option<i64>) -> Option<Policy> {
    let prio = u8::try_from(priority?).ok()?;
    let nice = i8::try_from(nice?).ok()?;
    Some(match number? {
        0 => Policy::Other { nice },
        1 => Policy::Fifo { prio },
        2 => Policy::Rr { prio },
        3 => Policy::Batch { nice },
        5 => Policy::Idle,
        other => Policy::Unknown { number: other.try_into().ok()? },
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::fixture::machine::{self as fixture, FakeMachine};

    /// Writes the files of one thread of process 77.
    pub fn write(tree: &FakeMachine, tid: u32, name: &str, policy: u8, prio: u8, cpus: &str) {
        // Fields 3 to 41, of which 10, 12, 19 and 39 to 41 are read.
        let mut fields = vec!["0".to_string(); 39];
        for (number, value) in [(10, 120), (12, 2), (19, 0), (39, 1), (40, prio), (41, policy)] {
            fields[number - 3] = value.to_string();
        }
        fields[0] = "S".into();
        let dir = format!("proc/77/task/{tid}");
        tree.write(&format!("{dir}/stat"), &format!("{tid} ({name}) {}\n", fields.join(" ")));
        let status = format!(
            "Name:\t{name}\nVmLck:\t    4096 kB\nVmRSS:\t    5000 kB\nVmSwap:\t       0 kB\nCpus_allowed_list:\t{cpus}\n\
             voluntary_ctxt_switches:\t900\nnonvoluntary_ctxt_switches:\t3\n"
        );
        tree.write(&format!("{dir}/status"), &status);
        tree.write(&format!("{dir}/cgroup"), "0::/\n");
        tree.write(&format!("proc/{tid}/timerslack_ns"), "50000\n");
        if tid == 77 {
            tree.write("proc/77/stat", "77\n");
            tree.write("proc/77/status", &status);
            tree.write("proc/77/comm", &format!("{name}\n"));
            tree.write("proc/77/cmdline", &format!("/usr/bin/{name}\0--fast\0"));
        }
    }

    #[test]
    fn threads_are_read_whatever_their_names() {
        let tree = fixture::desktop();
        write(&tree, 77, "motor", 0, 0, "0-3");
        write(&tree, 78, "a) 1 (b", 1, 80, "3");
        write(&tree, 79, "dl", 6, 0, "0-3");
        let process = read(&tree.root, 77).unwrap();
        assert_eq!((process.name.as_str(), process.command.as_deref()), ("motor", Some("/usr/bin/motor --fast")));
        assert_eq!((process.locked_kib, process.swapped_kib), (Some(4096), Some(0)));
        let policies: Vec<_> = process.threads.iter().map(|t| (t.policy.as_deref().unwrap(), t.realtime)).collect();
        assert_eq!(policies, [("other", Some(false)), ("fifo 80", Some(true)), ("deadline", Some(true))]);
        let loop_ = &process.threads[1];
        assert_eq!((loop_.name.as_str(), loop_.priority), ("a) 1 (b", Some(80)));
        assert_eq!((loop_.minor_faults, loop_.major_faults, loop_.last_cpu), (Some(120), Some(2), Some(1)));
        assert_eq!((loop_.voluntary_switches, loop_.involuntary_switches), (Some(900), Some(3)));
        assert_eq!((loop_.timer_slack_ns, loop_.cpus.clone()), (Some(50_000), Some("3".parse().unwrap())));
    }

    #[test]
    fn one_that_ended_meanwhile_is_an_error_and_a_kernel_thread_is_known() {
        let tree = fixture::desktop();
        write(&tree, 77, "motor", 0, 0, "0-3");
        assert!(!read(&tree.root, 77).unwrap().kernel);
        tree.write("proc/77/stat", "77 (a b) c) S 2 0 0 0 -1 69238880 0 0\n");
        assert!(read(&tree.root, 77).unwrap().kernel);
        // A thread without files has just ended. A process without threads has ended too.
        std::fs::create_dir_all(tree.root.path("proc/77/task/78")).unwrap();
        assert_eq!(read(&tree.root, 77).unwrap().threads.len(), 1);
        std::fs::remove_dir_all(tree.root.path("proc/77/task/77")).unwrap();
        assert_eq!(read(&tree.root, 77).unwrap_err().to_string(), "process 77 ended");
        std::fs::remove_file(tree.root.path("proc/77/status")).unwrap();
        assert_eq!(read(&tree.root, 77).unwrap_err().to_string(), "process 77 cannot be read");
    }

    #[test]
    fn a_process_is_found_by_number_or_name() {
        let tree = fixture::desktop();
        write(&tree, 77, "motor", 0, 0, "0-3");
        assert_eq!(find(&tree.root, "77").unwrap(), 77);
        assert_eq!(find(&tree.root, "motor").unwrap(), 77);
        assert!(find(&tree.root, "78").unwrap_err().to_string().contains("no process 78"));
        assert!(find(&tree.root, "pump").unwrap_err().to_string().contains("named `pump`"));
        tree.write("proc/80/comm", "motor\n");
        assert!(find(&tree.root, "motor").unwrap_err().to_string().ends_with("77 80"));
    }
}
