//! Finds out whether the measuring process was stopped meanwhile: by a signal (SIGSTOP), a debugger, a freezer of control groups, or a
//! suspend of the whole machine. Its measurements then do not show the behavior of the machine.

use super::{
    freezer::{Freezers, Frozen},
    wall::apart,
};
use crate::machine::{Root, task};
use latido_model::record::Stopped;
use latido_sys::clock::Clock;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// The stops of one process. latido checks for them about ten times per second.
#[derive(Debug)]
pub struct Stops {
    pid: u32,
    freezers: Freezers,
    last: Moment,
    /// Since when it is stopped.
    since_ns: Option<u64>,
    seen: Stopped,
}

/// The moment of a look.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// CLOCK_MONOTONIC, which stops while the machine is suspended.
    now_ns: u64,
    /// How long the machine has been suspended since its boot: CLOCK_BOOTTIME minus CLOCK_MONOTONIC.
    suspended_ns: i64,
}

impl Moment {
    /// Returns the present moment.
    pub fn now() -> Self {
        Self { suspended_ns: apart(Clock::Boottime), now_ns: Clock::Monotonic.now() }
    }
}

/// Two successive readings of CLOCK_BOOTTIME and CLOCK_MONOTONIC differ by less than this, ns. A suspend lasts longer.
const SUSPEND_NS: i64 = 1_000_000;

impl Stops {
    /// Starts to watch a process from this moment on.
    pub fn of(root: &Root, pid: u32, moment: Moment) -> Self {
        let mut freezers = Freezers::default();
        freezers.look(root, pid);
        Self { pid, freezers, last: moment, since_ns: None, seen: Stopped::default() }
    }

    /// Takes one look.
    pub fn look(&mut self, root: &Root, moment: Moment) {
        let (standing, frozen) = self.stands(root);
        // After a stop between two looks, the kernel reports once that the process was continued. latido takes that report at each look:
        // left for the next look, it would count as another stop.
        let went_on = self.went_on();
        let between = match frozen {
            Frozen::Between => Some(FREEZER),
            Frozen::No | Frozen::Now => went_on.then_some(SIGNAL),
        };
        self.take(standing, between, moment);
    }

    /// Returns the stops until now; `None` if the process ran all the time.
    pub fn seen(&self, moment: Moment) -> Option<Stopped> {
        let mut seen = self.seen.clone();
        if let Some(since_ns) = self.since_ns {
            add(&mut seen, moment.now_ns.saturating_sub(since_ns));
        }
        (seen.times > 0).then_some(seen)
    }

    /// Takes what stops the process now, and what stopped it between the last look and this one.
    fn take(&mut self, standing: Option<&'static str>, between: Option<&'static str>, moment: Moment) {
        let Moment { now_ns, suspended_ns } = moment;
        let last = std::mem::replace(&mut self.last, moment);
        match (standing, self.since_ns) {
            (Some(how), None) => {
                self.seen.how = how.into();
                self.since_ns = Some(now_ns);
            }
            (None, Some(since_ns)) => {
                add(&mut self.seen, now_ns.saturating_sub(since_ns));
                self.since_ns = None;
            }
            (None, None) => {
                if let Some(how) = between {
                    self.seen.how = how.into();
                    add(&mut self.seen, now_ns.saturating_sub(last.now_ns));
                }
            }
            (Some(_), Some(_)) => {}
        }
        let slept = suspended_ns.saturating_sub(last.suspended_ns);
        if slept >= SUSPEND_NS {
            self.seen.how = SUSPEND.into();
            add(&mut self.seen, slept.unsigned_abs());
        }
    }

    fn stands(&mut self, root: &Root) -> (Option<&'static str>, Frozen) {
        let frozen = self.freezers.look(root, self.pid);
        let stat = root.read(&format!("proc/{}/stat", self.pid)).unwrap_or_default();
        let standing = match task::named(&stat).and_then(|(_, rest)| rest.trim_start().chars().next()) {
            Some('T') => Some(SIGNAL),
            Some('t') => Some("a debugger"),
            _ => (frozen == Frozen::Now).then_some(FREEZER),
        };
        (standing, frozen)
    }

    /// Tells whether the process was continued since the last look.
    fn went_on(&self) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return false };
        let options = WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
        waitid(WaitId::Pid(pid), options).is_ok_and(|status| status.is_some_and(|status| status.continued()))
    }
}

const SIGNAL: &str = "a signal";
const FREEZER: &str = "a freezer";
const SUSPEND: &str = "a suspend of the machine";

fn add(seen: &mut Stopped, ns: u64) {
    seen.times += 1;
    seen.total_ns = seen.total_ns.saturating_add(ns);
    seen.longest_ns = seen.longest_ns.max(ns);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine::empty;

    const MS: u64 = 1_000_000;

    /// Returns a moment of a machine that was never suspended.
    fn at(now_ns: u64) -> Moment {
        Moment { now_ns, suspended_ns: 0 }
    }

    fn stat(state: char) -> String {
        format!("70 (latido (x)) {state} 1 70 70 0 -1 4194304\n")
    }

    /// Returns the stops of a process that is stopped from 200 to 500 ms, as its files show.
    fn over(files: &[(&str, &str, &str)]) -> Option<Stopped> {
        let tree = empty();
        tree.write("proc/70/stat", &stat('S'));
        tree.write("proc/70/cgroup", "4:memory:/x\n3:freezer:/old\n0::/new\n");
        let mounts = "30 25 0:26 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n\
                      31 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        tree.write("proc/self/mountinfo", mounts);
        let mut stops = Stops::of(&tree.root, 70, at(0));
        for ms in [100, 200, 300, 400, 500, 600] {
            for (file, stands, goes_on) in files {
                tree.write(file, if (200..500).contains(&ms) { stands } else { goes_on });
            }
            let (standing, _) = stops.stands(&tree.root);
            stops.take(standing, None, at(ms * MS));
        }
        stops.seen(at(600 * MS))
    }

    #[test]
    fn each_way_to_stop_is_seen_with_its_length() {
        let stopped = |how: &str| Some(Stopped { times: 1, total_ns: 300 * MS, longest_ns: 300 * MS, how: how.into() });
        assert_eq!(over(&[("proc/70/stat", &stat('T'), &stat('S'))]), stopped("a signal"));
        assert_eq!(over(&[("proc/70/stat", &stat('t'), &stat('R'))]), stopped("a debugger"));
        let events = ("sys/fs/cgroup/unified/new/cgroup.events", "populated 1\nfrozen 1\n", "populated 1\nfrozen 0\n");
        assert_eq!(over(&[events]), stopped("a freezer"));
        assert_eq!(over(&[("sys/fs/cgroup/freezer/old/freezer.state", "FROZEN\n", "THAWED\n")]), stopped("a freezer"));
        assert_eq!(over(&[]), None);
    }

    /// A process that was stopped and continued between two looks counts as stopped for the time between them at most.
    #[test]
    fn a_stop_between_two_looks_counts() {
        let tree = empty();
        let mut stops = Stops::of(&tree.root, 70, at(0));
        stops.take(None, None, at(100 * MS));
        stops.take(None, Some(SIGNAL), at(200 * MS));
        assert_eq!(stops.seen(at(300 * MS)).map(|seen| (seen.times, seen.longest_ns)), Some((1, 100 * MS)));
        stops.take(Some(SIGNAL), None, at(300 * MS));
        assert_eq!(
            stops.seen(at(900 * MS)).map(|seen| (seen.times, seen.longest_ns)),
            Some((2, 600 * MS)),
            "it stands still"
        );
    }

    /// A process is frozen between two looks, and a signal stops and continues it as well: latido counts one stop. The kernel's report that
    /// the process continued must not count at the next look.
    #[test]
    fn a_freeze_and_a_signal_at_once_are_one_stop() {
        use rustix::process::{Signal, kill_process};
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (pid, tree) = (child.id(), empty());
        let events = "sys/fs/cgroup/new/cgroup.events";
        tree.write(&format!("proc/{pid}/stat"), &stat('S'));
        tree.write(&format!("proc/{pid}/cgroup"), "0::/new\n");
        tree.write("proc/self/mountinfo", "31 25 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        tree.write(events, "populated 1\nfrozen 0\n");
        let mut stops = Stops::of(&tree.root, pid, at(0));
        let signal = |signal| kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
        signal(Signal::STOP);
        let stopped = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ");
        while !stopped() {
            std::thread::yield_now();
        }
        signal(Signal::CONT);
        std::fs::write(tree.root.path(events), "populated 1\nfrozen 0\n").unwrap();
        stops.look(&tree.root, at(100 * MS));
        stops.look(&tree.root, at(200 * MS));
        signal(Signal::KILL);
        child.wait().unwrap();
        let seen = stops.seen(at(300 * MS)).unwrap();
        assert_eq!((seen.times, seen.how.as_str()), (1, FREEZER), "{seen:?}");
    }

    /// The machine slept for 2 s between two looks: CLOCK_MONOTONIC stopped, CLOCK_BOOTTIME went on.
    #[test]
    fn a_suspend_of_the_machine_is_a_stop_with_its_length() {
        let tree = empty();
        let mut stops = Stops::of(&tree.root, 70, Moment { now_ns: 0, suspended_ns: 5_000_000_000 });
        stops.take(None, None, Moment { now_ns: 100 * MS, suspended_ns: 5_000_000_400 });
        assert_eq!(stops.seen(at(100 * MS)), None, "two readings are never at the same moment");
        stops.take(None, None, Moment { now_ns: 200 * MS, suspended_ns: 7_000_000_000 });
        let seen = stops.seen(at(300 * MS)).unwrap();
        assert_eq!((seen.times, seen.how.as_str()), (1, "a suspend of the machine"));
        assert!((1_999 * MS..=2_000 * MS).contains(&seen.longest_ns), "{seen:?}");
    }
}
