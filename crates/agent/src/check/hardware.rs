//! What the hardware does behind the kernel's back: management interrupts, heat.

use super::{Answer, MachineView, Question, power};
use latido_model::{
    check::{Purpose, Severity},
    units::many,
};
use std::{io::ErrorKind, os::unix::fs::FileExt};

pub const SMI: Question = Question {
    name: "management interrupts",
    why: "The firmware takes the CPU for 10 µs up to milliseconds; the kernel cannot see or prevent it.",
    decides: false,
    rules_out: Some(Purpose::HardDeadlines),
    look: smi,
};

/// MSR_SMI_COUNT (Intel SDM volume 4): interrupts since the last reset.
const COUNT: u64 = 0x34;

/// The rate above which management interrupts are often, per hour: more than one a minute hits a measurement of minutes.
const OFTEN_PER_HOUR: f64 = 60.0;

fn smi(view: &MachineView) -> Answer {
    match view.machine.architecture.as_deref() {
        None => return Answer::unknown("the architecture is not known"),
        Some("x86_64" | "i686") => {}
        Some(_) => return Answer::ok("this architecture has no counter for them"),
    }
    if power::is_guest(view) {
        return Answer::ok("left to the host of this virtual machine");
    }
    let mut bytes = [0; 8];
    let read = view.root.open("dev/cpu/0/msr").and_then(|file| file.read_exact_at(&mut bytes, COUNT));
    match read.map_err(|error| error.kind()) {
        Ok(()) => {}
        Err(ErrorKind::NotFound) => return Answer::unknown("there is no /dev/cpu/0/msr").run("sudo modprobe msr"),
        Err(ErrorKind::PermissionDenied) => {
            return Answer::unknown("only root may read /dev/cpu/0/msr").run("sudo latido check");
        }
        Err(_) => return Answer::unknown("this processor does not count them"),
    }
    let count = u64::from_ne_bytes(bytes) & 0xffff_ffff;
    let uptime = view.root.read("proc/uptime");
    let hours = uptime.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok()).map(|s| s / 3600.0);
    match hours.filter(|hours| *hours > 0.0).map(|hours| count as f64 / hours) {
        _ if count == 0 => Answer::ok("none since the start"),
        Some(rate) if rate > OFTEN_PER_HOUR => {
            Answer::new(Severity::Warning, format!("{count} since the start, {rate:.0} per hour"))
                .advise("check USB legacy support, power capping and error reporting in the firmware's setup")
        }
        Some(rate) => Answer::ok(format!("{count} since the start, {rate:.1} per hour")),
        None => Answer::unknown(format!("{count} since the start; /proc/uptime is not readable")),
    }
}

pub const HEAT: Question = Question {
    name: "temperature",
    why: "The hardware slows a hot processor down or stops it, usually under the highest load.",
    decides: false,
    rules_out: Some(Purpose::HardDeadlines),
    look: heat,
};

/// The distance to the critical temperature below which a CPU is too hot, in millidegrees.
const NEAR: i64 = 10_000;

fn heat(view: &MachineView) -> Answer {
    let (hottest, critical) = (crate::machine::heat::hottest(view.root), crate::machine::heat::critical(view.root));
    let throttled = throttled(view);
    let Some(now) = hottest else {
        return match throttled {
            Some(0) => Answer::ok("no thermometer; never throttled since the start"),
            Some(times) => slowed(format!("no thermometer; throttled {} since the start", many(times, "time"))),
            None if power::is_guest(view) => Answer::ok("left to the host of this virtual machine"),
            None => Answer::unknown("there is no thermal zone to read"),
        };
    };
    let mut state = format!("{} degrees", now / 1000);
    if let Some(critical) = critical {
        state.push_str(&format!(", critical at {}", critical / 1000));
    }
    match throttled {
        _ if critical.is_some_and(|critical| now > critical - NEAR) => Answer::new(Severity::Warning, state)
            .run("grep . /sys/class/thermal/thermal_zone*/temp")
            .advise("let it cool down; latido ends loads 5 degrees below the critical point (--max-temp)"),
        Some(times @ 1..) => slowed(format!("{state}; throttled {} since the start", many(times, "time"))),
        _ => Answer::ok(state),
    }
}

fn slowed(state: String) -> Answer {
    Answer::new(Severity::Advice, state)
        .advise("improve the cooling, or set a lower frequency that the processor can hold")
}

/// Counts how often heat throttled CPUs since the start: the kernel's counters on x86 (admin-guide: thermal_throttle), or the firmware's
/// flags of a Raspberry Pi (bits 16 to 19 mean that something has happened).
fn throttled(view: &MachineView) -> Option<u64> {
    let dir = "sys/devices/system/cpu";
    let count = |cpu: &String| view.root.value::<u64>(&format!("{dir}/{cpu}/thermal_throttle/core_throttle_count"));
    let counts: Vec<u64> = view.root.list(dir).iter().filter_map(count).collect();
    if !counts.is_empty() {
        return Some(counts.iter().fold(0, |sum, count| sum.saturating_add(*count)));
    }
    let flags = view.root.read("sys/devices/platform/soc/soc:firmware/get_throttled")?;
    let flags = u64::from_str_radix(flags.trim_start_matches("0x"), 16).ok()?;
    Some(u64::from((flags >> 16 & 0xf).count_ones()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture::machine as fixture, machine};

    fn ask(tree: &fixture::FakeMachine, look: fn(&MachineView) -> Answer) -> Answer {
        let machine = machine::read(&tree.root);
        look(&MachineView { root: &tree.root, machine: &machine, cpus: None })
    }

    #[test]
    fn management_interrupts_are_weighed_by_their_rate() {
        let tree = fixture::desktop();
        let count = |count: u8, uptime: &str| {
            tree.write("dev/cpu/0/msr", &format!("{}{}\0\0\0\0\0\0\0", "\0".repeat(0x34), char::from(count)));
            tree.write("proc/uptime", uptime);
            ask(&tree, smi)
        };
        assert_eq!(count(0, "3600.0 0.0").severity, Severity::Ok);
        assert_eq!(count(30, "3600.0 0.0").state, "30 since the start, 30.0 per hour");
        assert_eq!(count(90, "3600.0 0.0").severity, Severity::Warning);
        assert_eq!(count(90, "junk").severity, Severity::Unknown);
        std::fs::remove_file(tree.root.path("dev/cpu/0/msr")).unwrap();
        assert_eq!(ask(&tree, smi).severity, Severity::Unknown);
    }

    #[test]
    fn heat_and_throttling_are_told_apart() {
        let tree = fixture::board();
        let at = |degrees: u32, flags: &str| {
            tree.write("sys/class/thermal/thermal_zone0/temp", &format!("{degrees}000\n"));
            tree.write("sys/devices/platform/soc/soc:firmware/get_throttled", flags);
            ask(&tree, heat).severity
        };
        assert_eq!(at(50, "0x0"), Severity::Ok);
        assert_eq!(at(50, "0x50000"), Severity::Advice);
        assert_eq!(at(105, "0x0"), Severity::Warning);
    }
}
