//! Flags of other tools, and what to write in latido instead. Errors, `latido help TOOL` and docs/other-tools.md share this table.

use super::known::list;
use latido_model::catalogue::{Kind, List};
use std::fmt::Write;

/// One flag of another tool.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    /// The spellings of the tool: `-a`, `--affinity`.
    pub flags: &'static [&'static str],
    /// What the flag does in that tool.
    pub there: &'static str,
    /// What to write in latido.
    pub here: &'static str,
}

/// Another tool.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// The name of the program.
    pub name: &'static str,
    /// Its counterpart in latido.
    pub like: &'static str,
    /// Its flags.
    pub flags: &'static [Foreign],
}

const fn flag(flags: &'static [&'static str], there: &'static str, here: &'static str) -> Foreign {
    Foreign { flags, there, here }
}

/// The tools, the best-known first.
pub const TOOLS: &[Tool] = &[
    Tool { name: "cyclictest", like: "latido run wakeup", flags: CYCLICTEST },
    Tool { name: "oslat", like: "latido run gap", flags: OSLAT },
    Tool { name: "rtla", like: "latido run timerlat, osnoise or hwlat", flags: RTLA },
    Tool { name: "hackbench", like: "--load messaging", flags: HACKBENCH },
    Tool { name: "stress-ng", like: "--load stress-ng", flags: STRESS_NG },
];

const CYCLICTEST: &[Foreign] = &[
    flag(&["-a", "--affinity"], "CPUs of the threads", "-c CPUS, for example -c 2,3"),
    flag(&["-A", "--aligned", "--secaligned"], "align the wake-ups", "align=common, which is the default"),
    flag(&["-b", "--breaktrace"], "stop above this many us", "--stop-on TIME, for example --stop-on 100us"),
    flag(&["-c", "--clock"], "the clock: 0 monotonic, 1 realtime", "clock=realtime; latido's -c names CPUs"),
    flag(
        &["-d", "--distance"],
        "distance of the threads' wake-ups in us",
        "distance=500us; latido's -d is the duration",
    ),
    flag(&["-D", "--duration"], "length of the test", "-d TIME, for example -d 10m"),
    flag(
        &["-h", "--histogram", "-H", "--histofall", "--histfile"],
        "a histogram up to this many us",
        "nothing: the record has a histogram of all samples (three digits); `latido export cyclictest last` writes it",
    ),
    flag(&["-i", "--interval"], "the interval in us", "period=TIME, for example period=250us"),
    flag(&["--json"], "the file of the results", "--json for stdout, or `latido export rt-tests last`"),
    flag(&["-l", "--loops"], "number of wake-ups", "cycles=N"),
    flag(
        &["--latency", "--laptop", "--default-system"],
        "the target of /dev/cpu_dma_latency",
        "--tune cstates:as-is leaves the idle states alone; 0 us is the default",
    ),
    flag(&["-m", "--mlockall"], "lock the memory", "nothing: latido always locks it"),
    flag(
        &["--mainaffinity"],
        "CPU of the main thread",
        "nothing: latido keeps its threads off the measured CPUs where it can",
    ),
    flag(
        &["-M", "--refresh_on_max", "-u", "--unbuffered"],
        "how the screen is refreshed",
        "nothing, or --quiet for the result alone",
    ),
    flag(&["-n", "--nanosleep"], "wait by clock_nanosleep", "nothing: by=nanosleep is the default"),
    flag(&["-N", "--nsecs"], "print ns", "nothing: latido measures and stores ns"),
    flag(&["-o", "--oscope"], "print fewer lines", "--quiet"),
    flag(&["-p", "--priority", "--prio"], "the priority", "--prio N; the default is FIFO 80"),
    flag(&["--priospread"], "another priority for each thread", "a plan with one group per priority"),
    flag(&["-q", "--quiet"], "print a summary alone", "--quiet"),
    flag(
        &["-r", "--relative", "-s", "--system"],
        "wait by another call",
        "by=timerfd or by=posix-timer (`latido help wakeup`)",
    ),
    flag(&["-R", "--resolution"], "check the clock's resolution", "`latido check`"),
    flag(&["-S", "--smp"], "a thread on each CPU", "nothing: latido measures all usable CPUs"),
    flag(
        &["--spike", "--spike-nodes"],
        "record wake-ups above a trigger",
        "nothing: latido stores the largest; --explain says why they were late",
    ),
    flag(&["--smi"], "count system management interrupts", "nothing: latido counts them where the processor does"),
    flag(
        &["-t", "--threads"],
        "number of threads",
        "-c CPUS for one thread on each of them; tasks=N for several on each",
    ),
    flag(&["--tracemark"], "mark the trace", "--trace, with --stop-on TIME"),
    flag(
        &["-v", "--verbose"],
        "print every value",
        "nothing: latido stores the distribution and the largest samples; --trace keeps the kernel's events",
    ),
    flag(&["-x", "--posix_timers"], "wait by POSIX timers", "by=posix-timer"),
];

const OSLAT: &[Foreign] = &[
    flag(
        &["-b", "--bucket-size", "-B", "--bias"],
        "the histogram's buckets",
        "nothing: the record has a histogram of all gaps (three digits)",
    ),
    flag(&["-c", "--cpu-list"], "CPUs of the loops", "-c CPUS"),
    flag(&["-C", "--cpu-main-thread"], "CPU of the main thread", "nothing: latido leaves one CPU for everything else"),
    flag(&["-D", "--duration"], "length of the test", "-d TIME, for example -d 10m"),
    flag(&["-f", "--rtprio"], "priority under SCHED_FIFO", "--prio N"),
    flag(&["-m", "--workload-mem", "-w", "--workload"], "work between the readings", "--load memory"),
    flag(&["-s", "--single-preheat"], "how the loop warms up", "--warmup TIME"),
    flag(&["-T", "--trace-threshold"], "stop above this many us", "--stop-on TIME"),
    flag(&["-z", "--zero-omit"], "leave empty buckets out", "nothing: latido prints none"),
];

const RTLA: &[Foreign] = &[
    flag(
        &["-a", "--auto"],
        "record a trace, and stop above this many us",
        "--limit TIME, which judges the run and stops nothing; `latido run wakeup --explain` says why a wake-up was late",
    ),
    flag(&["-c", "--cpus"], "CPUs to measure", "-c CPUS"),
    flag(&["-d", "--duration"], "length of the test", "-d TIME"),
    flag(
        &["-H", "--house-keeping"],
        "CPUs of the tool",
        "nothing: latido keeps its threads off the measured CPUs where it can",
    ),
    flag(&["-i", "--irq"], "stop above this interrupt latency", "--limit TIME, which judges the run and stops nothing"),
    flag(
        &["-k", "--kernel-threads", "-u", "--user-threads"],
        "the thread that waits",
        "timerlat for the kernel's thread, wakeup for one of user space",
    ),
    flag(&["-p", "--period"], "the period in us", "period=TIME"),
    flag(
        &["-P", "--priority"],
        "policy and priority",
        "nothing: the kernel sets the priority of a tracer's threads; `latido run wakeup --prio 90` measures at another priority",
    ),
    flag(&["-r", "--runtime"], "how long osnoise looks in each period", "runtime=TIME of osnoise"),
    flag(&["-s", "--stack"], "stacks of long latencies", "`latido run wakeup --explain`"),
    flag(
        &["-S", "--stop", "-T", "--stop-total", "--thread"],
        "stop above this many us",
        "--limit TIME, which judges the run and stops nothing",
    ),
    flag(&["-t", "--trace"], "the file of the trace", "--trace; latido stores it next to the record"),
    flag(&["-E", "--entries"], "buckets of the histogram", "nothing: the record has a histogram of all samples"),
    flag(
        &["--dma-latency"],
        "the deepest idle state of the CPUs",
        "nothing: 0 us is the default; --tune cstates:as-is leaves the idle states alone",
    ),
    flag(&["--aa-only"], "print only the automatic analysis", "`latido run wakeup --explain`"),
    flag(&["--nano"], "print ns", "nothing: latido counts in ns"),
    flag(&["-e", "--event"], "events of the trace", "`latido trace record -e EVENT`"),
    flag(&["--dump-tasks"], "print the tasks when the tracing stops", "`latido run wakeup --explain`"),
    flag(&["--warm-up"], "warm-up time in seconds", "--warmup TIME"),
    flag(&["--threshold"], "gaps that osnoise counts, in us", "nothing: tracing_thresh stays as the kernel has it"),
];

const HACKBENCH: &[Foreign] = &[
    flag(&["-g", "--groups"], "number of groups", "--load messaging:groups=N"),
    flag(&["-f", "--fds"], "senders and receivers of a group", "--load messaging:pairs=N"),
    flag(&["-l", "--loops"], "number of messages", "nothing: a load lasts as long as its cell"),
    flag(&["-s", "--datasize"], "size of a message", "--load messaging:size=BYTES"),
    flag(&["-p", "--pipe"], "send by pipes", "--load messaging:by=pipes"),
    flag(
        &["-i", "--inet", "-T", "--threads", "-P", "--process", "-F", "--fifo"],
        "the kind of workers and channels",
        "--load messaging:with=hackbench takes hackbench with its defaults",
    ),
];

const STRESS_NG: &[Foreign] = &[
    flag(&["-c", "--cpu"], "workers that compute", "--load stress-cpu, or --load stress-ng:cpu=N"),
    flag(&["-m", "--vm", "--vm-bytes"], "workers that fill memory", "--load stress-ng:vm=N,vm-bytes=SIZE"),
    flag(&["-i", "--io", "-d", "--hdd"], "workers that write", "--load disk, or --load stress-ng:hdd=N"),
    flag(&["-t", "--timeout"], "when it ends", "nothing: a load lasts as long as its cell"),
    flag(&["--taskset"], "CPUs of the workers", "--load stress-ng:cpu=N,taskset=CPU"),
];

/// Returns what an unknown flag means in other tools, and what to write in latido; `None` if no tool has the flag. The tool whose
/// counterpart the user typed (`gap`, `messaging`) comes first.
pub fn hint(command: &str, typed: &str, flag: &str) -> Option<String> {
    let is_meant = |tool: &&Tool| tool.like.split([' ', ',']).any(|word| word == typed);
    let (meant, others): (Vec<&Tool>, Vec<&Tool>) = TOOLS.iter().partition(is_meant);
    let mut all: Vec<(&str, &str)> = Vec::new();
    for tool in meant.into_iter().chain(others) {
        let here = tool.flags.iter().find(|one| one.flags.contains(&flag)).map(|one| one.here);
        all.extend(here.filter(|here| !all.iter().any(|(_, known)| known == here)).map(|here| (tool.name, here)));
    }
    let (first, _) = all.first()?;
    let each: Vec<String> = all
        .iter()
        .map(|(tool, here)| format!("for the option of {tool} write {here}{}", elsewhere(typed, here)))
        .collect();
    Some(format!("latido {command} has no {flag}; {} (`latido help {first}`)", each.join("; ")))
}

/// Returns ` with the probe `wakeup``, where the hint starts with an option that the typed probe does not have.
fn elsewhere(typed: &str, here: &str) -> &'static str {
    let probes = list(Kind::Probe);
    let has = |probe: &str, key: &str| probes.options(probe).iter().any(|option| option == key);
    let is_elsewhere = |(key, _): (&str, &str)| probes.entry(typed).is_some() && has("wakeup", key) && !has(typed, key);
    if here.split_once('=').is_some_and(is_elsewhere) { " with the probe `wakeup`" } else { "" }
}

/// Returns what to write instead of a load or a tuning, `NAME` or `NAME:OPTIONS`, that names another tool.
pub fn instead_of(list: List<'_>, word: &str) -> Option<String> {
    let name = word.split_once(':').map_or(word, |(name, _)| name);
    instead(name).filter(|_| list.entry(name).is_none())
}

/// Returns what to write instead of another tool's name; `None` for any other name.
pub fn instead(name: &str) -> Option<String> {
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    Some(format!("`{name}` is another program: latido's counterpart is `{}` (`latido help {name}`)", tool.like))
}

/// Returns the help page of a tool.
pub fn page(name: &str) -> Option<String> {
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    let mut text = format!("{name} and latido: its counterpart is `{}`\n\n", tool.like);
    for one in tool.flags {
        let _ = writeln!(text, "  {}\n      there: {}\n      here:  {}", one.flags.join(", "), one.there, one.here);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/other-tools.md has a row for each flag, with the same text as here.
    #[test]
    fn the_page_of_the_documentation_has_the_same_rows() {
        let page = include_str!("../../../../docs/other-tools.md");
        let mut rows = 0;
        for tool in TOOLS {
            assert!(page.contains(&format!("## {}\n", tool.name)), "{}", tool.name);
            for one in tool.flags {
                let row = format!("| `{}` | {} | {} |\n", one.flags.join("`, `"), one.there, one.here);
                assert!(page.contains(&row), "{row}");
                rows += 1;
            }
        }
        assert_eq!(page.lines().filter(|line| line.starts_with("| `-")).count(), rows);
    }

    /// A user who measures gaps comes from oslat, so the hint names oslat's flag first.
    #[test]
    fn the_tool_of_the_probe_comes_first() {
        let first = |typed| hint("run", typed, "-D").unwrap();
        assert!(first("gap").contains("no -D; for the option of oslat write"), "{}", first("gap"));
        assert!(first("wakeup").contains("no -D; for the option of cyclictest write"), "{}", first("wakeup"));
        let first = |typed| hint("load", typed, "-l").unwrap();
        assert!(first("gap").contains("cycles=N with the probe `wakeup`"), "{}", first("gap"));
        assert!(!first("wakeup").contains("with the probe"), "{}", first("wakeup"));
        assert!(first("messaging").contains("no -l; for the option of hackbench write"), "{}", first("messaging"));
        assert_eq!(hint("run", "gap", "--no-such-flag"), None);
    }

    #[test]
    fn a_tool_is_met_with_its_counterpart() {
        assert!(instead("oslat").unwrap().contains("`latido run gap` (`latido help oslat`)"));
        assert_eq!(instead("wakeup"), None);
        let loads = list(Kind::Load);
        assert!(instead_of(loads, "hackbench:groups=2").unwrap().contains("`--load messaging`"));
        assert_eq!([instead_of(loads, "stress-ng:cpu=1"), instead_of(loads, "messaging")], [None, None]);
    }

    #[test]
    fn a_flag_is_met_with_what_to_write() {
        let said = hint("run", "wakeup", "--affinity").unwrap();
        assert_eq!(
            said,
            "latido run has no --affinity; for the option of cyclictest write -c CPUS, for example -c 2,3 (`latido help cyclictest`)"
        );
        let said = hint("run", "wakeup", "--groups").unwrap();
        assert!(said.contains("--load messaging:groups=N"), "{said}");
        assert_eq!(hint("run", "", "--no-such-flag"), None);
        // The hint names a meaning that two tools share once, and different meanings each.
        let said = hint("run", "wakeup", "-t").unwrap();
        assert_eq!(said.matches("for the option of").count(), 3, "{said}");
    }
}
