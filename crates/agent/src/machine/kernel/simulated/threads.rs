//! What a call changed for a thread, in the files of /proc that show it: its policy in `stat`, its CPUs in `status`.

use super::printing::list;
use latido_model::cpus::CpuSet;
use latido_sys::{Errno, sched::Policy};
use std::{fs, io, path::Path};

/// The positions of the policy's fields in `proc/TID/stat`, counted after the name: proc_pid_stat(5), fields 18, 19, 40 and 41.
const PRIORITY: usize = 15;
const NICE: usize = 16;
const RT_PRIORITY: usize = 37;
const POLICY: usize = 38;

/// Reads the `stat` of a thread in two parts: up to the end of the name, and the fields after it.
fn stat(directory: &Path, tid: i32) -> Result<(String, Vec<String>), Errno> {
    let text = fs::read_to_string(directory.join(format!("proc/{tid}/stat"))).map_err(errno)?;
    let (name, fields) = text.rsplit_once(')').ok_or(Errno::EINVAL)?;
    Ok((format!("{name})"), fields.split_whitespace().map(String::from).collect()))
}

/// Returns the policy of a thread. (The file does not show that of a deadline task.)
pub fn policy(directory: &Path, tid: i32) -> Result<Policy, Errno> {
    let (_, fields) = stat(directory, tid)?;
    let field = |place: usize| fields.get(place).and_then(|field| field.parse::<i64>().ok()).unwrap_or_default();
    let nice = i8::try_from(field(NICE)).map_err(|_| Errno::EINVAL)?;
    let prio = u8::try_from(field(RT_PRIORITY)).map_err(|_| Errno::EINVAL)?;
    Ok(match field(POLICY) {
        0 => Policy::Other { nice },
        1 => Policy::Fifo { prio },
        2 => Policy::Rr { prio },
        3 => Policy::Batch { nice },
        5 => Policy::Idle,
        number => Policy::Unknown { number: number.try_into().unwrap_or(u32::MAX) },
    })
}

/// Writes another policy into the file.
pub fn set_policy(directory: &Path, tid: i32, new: Policy) -> Result<(), Errno> {
    let (number, nice, prio) = match new {
        Policy::Other { nice } => (0, Some(nice), 0),
        Policy::Fifo { prio } => (1, None, prio),
        Policy::Rr { prio } => (2, None, prio),
        Policy::Batch { nice } => (3, Some(nice), 0),
        Policy::Idle => (5, None, 0),
        Policy::Deadline { .. } | Policy::Unknown { .. } => return Err(Errno::EINVAL),
    };
    let (name, mut fields) = stat(directory, tid)?;
    let nice = nice.map(|nice| nice.to_string()).or_else(|| fields.get(NICE).cloned()).unwrap_or_default();
    let priority = match prio {
        0 => 20 + nice.parse::<i64>().unwrap_or_default(),
        prio => -1 - i64::from(prio),
    };
    for (place, value) in
        [(PRIORITY, priority.to_string()), (NICE, nice), (RT_PRIORITY, prio.to_string()), (POLICY, number.to_string())]
    {
        *fields.get_mut(place).ok_or(Errno::EINVAL)? = value;
    }
    let text = format!("{name} {}\n", fields.join(" "));
    fs::write(directory.join(format!("proc/{tid}/stat")), text).map_err(errno)
}

/// Writes other CPUs into the file.
pub fn set_affinity(directory: &Path, tid: i32, cpus: &CpuSet) -> Result<(), Errno> {
    let path = directory.join(format!("proc/{tid}/status"));
    let status = fs::read_to_string(&path).map_err(errno)?;
    let line = |line: &str| match line.split_once(':') {
        Some(("Cpus_allowed_list", _)) => format!("Cpus_allowed_list:\t{}\n", list(cpus)),
        _ => format!("{line}\n"),
    };
    fs::write(&path, status.lines().map(line).collect::<String>()).map_err(errno)
}

/// Returns the error of a call on a thread whose files cannot be read or written.
fn errno(error: io::Error) -> Errno {
    match error.kind() {
        io::ErrorKind::NotFound => Errno::ESRCH,
        _ => error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw),
    }
}
