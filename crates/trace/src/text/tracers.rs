//! What tracers write after the time: timerlat, osnoise, hwlat (Documentation/trace/*-tracer.rst), and the wake-ups and switches of the
//! wakeup tracers (ftrace.rst).

use super::scan::{decimal, digits, last_word, number, word};

/// Where a timer latency was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// In the timer's interrupt handler: IRQ latency.
    Irq,
    /// In the thread that it woke: thread latency.
    Thread,
    /// Back in user space: user latency.
    UserReturn,
}

impl Context {
    /// Returns the context of the kernel's number (kernel/trace/trace_osnoise.c).
    pub(crate) fn of(number: u64) -> Option<Self> {
        [Self::Irq, Self::Thread, Self::UserReturn].get(usize::try_from(number).ok()?).copied()
    }

    /// Returns the name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Irq => "interrupt",
            Self::Thread => "thread",
            Self::UserReturn => "user",
        }
    }
}

/// The fields of an event by name, as the kernel's own format prints them in `trace-cmd report`: `seq:1 context:0 timer_latency:932`.
struct Fields<'a>(&'a str);

impl Fields<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        number(self.text(name)?)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'))
    }
}

/// A latency of timerlat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timerlat {
    /// The number of the activation: the contexts of one activation share it.
    pub activation: u64,
    /// Where it was taken.
    pub context: Context,
    /// The time since the timer's expiry, in nanoseconds.
    pub latency_ns: u64,
}

/// A period of osnoise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Osnoise {
    /// The sampling time, in microseconds; `trace-cmd report` does not print it.
    pub runtime_us: Option<u64>,
    /// How long something else ran in that time, in microseconds.
    pub noise_us: u64,
    /// The share of the CPU that was left, in 100,000ths of a percent; `None` if the sampling time is unknown.
    pub available_e5: Option<u64>,
    /// The longest single interruption, in microseconds.
    pub longest_us: u64,
    /// Interruptions without any sign of software: the hardware caused them.
    pub hardware: u64,
    /// Non-maskable interrupts.
    pub nmi: u64,
    /// Hard interrupts.
    pub irq: u64,
    /// Soft interrupts.
    pub softirq: u64,
    /// Threads that ran.
    pub thread: u64,
}

/// Something that interrupted a CPU, from an event of the system `osnoise`. Its time does not include interruptions of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise<'a> {
    /// Its kind.
    pub kind: &'static str,
    /// Its name: `local_timer:236`, `migration/8:54`; empty if there is only one of this kind.
    pub of: &'a str,
    /// Its time, in nanoseconds.
    pub ns: u64,
}

/// The events of the system `osnoise` that contain a duration, and the name for people of what took it.
pub(crate) const NOISES: [(&str, &str); 5] = [
    ("irq_noise", "interrupt"),
    ("softirq_noise", "soft interrupt"),
    ("thread_noise", "thread"),
    ("nmi_noise", "non-maskable interrupt"),
    ("sample_threshold", "interruption above the threshold"),
];

impl<'a> Noise<'a> {
    /// Returns whether events of this name contain such a duration.
    pub(super) fn is_told_by(event: &str) -> bool {
        NOISES.iter().any(|(name, _)| *name == event)
    }

    /// Parses `local_timer:236 start 5789.857529929 duration 1845 ns`, the fields of such an event.
    pub(super) fn parse(event: &str, fields: &'a str) -> Option<Self> {
        let (_, kind) = NOISES.into_iter().find(|(name, _)| *name == event)?;
        let (of, times) =
            fields.strip_prefix("start ").map_or_else(|| fields.split_once(" start "), |at| Some(("", at)))?;
        let (_, rest) = times.split_once(" duration ")?;
        let (ns, unit) = word(rest)?;
        let ns = unit.trim_start().starts_with("ns").then(|| number(ns))??;
        Some(Self { kind, of: of.trim(), ns })
    }
}

/// A gap that hwlat measured with interrupts off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hwlat {
    /// The number of the sample.
    pub sample: u64,
    /// The longest gap between two readings of one loop, in microseconds.
    pub inner_us: u64,
    /// The longest gap between two loops, in microseconds.
    pub outer_us: u64,
    /// Its wall-clock time, in nanoseconds since 1970.
    pub at_ns: u64,
    /// How many gaps were above the threshold; old kernels do not report it.
    pub count: Option<u64>,
    /// The time in non-maskable interrupts, in microseconds. Depending on the kernel it is present always, or only if there were any.
    pub nmi_us: Option<u64>,
    /// How many non-maskable interrupts there were.
    pub nmi_count: Option<u64>,
}

/// `22: 98:R`: a task in a wake-up or a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party<'a> {
    /// Its thread's number.
    pub pid: u32,
    /// The kernel's priority: below 100 real-time, 98 for a real-time priority of 1; -1 for a deadline task.
    pub priority: i32,
    /// The letter of its state.
    pub state: &'a str,
}

/// One task wakes another, or gives it the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn<'a> {
    /// Whether the task gives up the CPU (`==>`); otherwise it wakes the other task (`+`).
    pub switches: bool,
    /// The running task.
    pub from: Party<'a>,
    /// The CPU of the other task.
    pub cpu: u32,
    /// The other task.
    pub to: Party<'a>,
    /// The name of the other task.
    pub task: &'a str,
}

impl<'a> Party<'a> {
    fn parse(text: &'a str) -> Option<(Self, &'a str)> {
        let (pid, rest) = text.split_once(':')?;
        let (priority, rest) = rest.split_once(':')?;
        let (state, rest) = word(rest)?;
        Some((Self { pid: number(pid.trim())?, priority: priority.trim().parse().ok()?, state }, rest))
    }
}

impl<'a> Turn<'a> {
    /// Parses `670:120:Z   + [000]      22: 98:R rcuc/0`.
    pub(super) fn parse(body: &'a str) -> Option<Self> {
        let (from, rest) = Party::parse(body)?;
        let (sign, rest) = word(rest)?;
        let (cpu, rest) = digits(rest.strip_prefix('[')?)?;
        let (to, task) = Party::parse(rest.strip_prefix(']')?)?;
        let switches = match sign {
            "==>" => true,
            "+" => false,
            _ => return None,
        };
        Some(Self { switches, from, cpu, to, task: task.trim_end() })
    }
}

impl Timerlat {
    /// Parses `#1     context    irq timer_latency       932 ns`.
    pub(super) fn parse(body: &str) -> Option<Self> {
        let (activation, rest) = word(body.strip_prefix('#')?)?;
        let (context, rest) = word(rest.strip_prefix("context")?)?;
        let context = match context {
            "irq" => Context::Irq,
            "thread" => Context::Thread,
            "user-ret" => Context::UserReturn,
            _ => return None,
        };
        let (latency, unit) = word(rest.strip_prefix("timer_latency")?)?;
        let latency_ns = (unit.trim_end() == "ns").then(|| number(latency))??;
        Some(Self { activation: number(activation)?, context, latency_ns })
    }
}

impl Timerlat {
    /// Parses `seq:1 context:0 timer_latency:932`, the event `timerlat` of `trace-cmd report`.
    pub(super) fn of_event(fields: &str) -> Option<Self> {
        let fields = Fields(fields);
        let (activation, latency_ns) = (fields.number("seq")?, fields.number("timer_latency")?);
        Some(Self { activation, context: Context::of(fields.number("context")?)?, latency_ns })
    }
}

impl Osnoise {
    /// Parses `noise:190 max_sample:9 hw:18 nmi:0 irq:1007 softirq:18 thread:1`, the event `osnoise` of `trace-cmd report`.
    pub(super) fn of_event(fields: &str) -> Option<Self> {
        let fields = Fields(fields);
        let count = |name: &str| fields.number(name);
        Some(Self {
            runtime_us: None,
            noise_us: count("noise")?,
            available_e5: None,
            longest_us: count("max_sample")?,
            hardware: count("hw")?,
            nmi: count("nmi")?,
            irq: count("irq")?,
            softirq: count("softirq")?,
            thread: count("thread")?,
        })
    }

    /// Parses `1000000        190  99.98100       9     18      0   1007     18      1`.
    pub(super) fn parse(body: &str) -> Option<Self> {
        let mut words = body.split_whitespace();
        let mut count = || number::<u64>(words.next()?);
        let (runtime_us, noise_us) = (Some(count()?), count()?);
        let available_e5 = Some(decimal(words.next()?, 100_000)?);
        let mut count = || number::<u64>(words.next()?);
        let (longest_us, hardware, nmi, irq) = (count()?, count()?, count()?, count()?);
        let (softirq, thread) = (count()?, count()?);
        let all = Self { runtime_us, noise_us, available_e5, longest_us, hardware, nmi, irq, softirq, thread };
        words.next().is_none().then_some(all)
    }
}

impl Hwlat {
    /// Parses `cnt:1 ts:1581527483.0343962693 inner:11 outer:12 count:6 nmi-ts:0 nmi-count:0`, the event `hwlat` of `trace-cmd report`. Its
    /// seconds and nanoseconds are two numbers with leading zeros.
    pub(super) fn of_event(fields: &str) -> Option<Self> {
        let fields = Fields(fields);
        let count = |name: &str| fields.number(name);
        let (seconds, ns) = fields.text("ts")?.split_once('.')?;
        let at_ns = number::<u64>(seconds)?.checked_mul(1_000_000_000)?.checked_add(number(ns)?)?;
        Some(Self {
            sample: count("cnt")?,
            inner_us: count("inner")?,
            outer_us: count("outer")?,
            at_ns,
            count: count("count"),
            nmi_us: count("nmi-ts"),
            nmi_count: count("nmi-count"),
        })
    }

    /// Parses `#1     inner/outer(us):   11/12    ts:1581527483.343962693 count:6 nmi-total:4 nmi-count:1`.
    pub(super) fn parse(body: &str) -> Option<Self> {
        let (sample, rest) = word(body.strip_prefix('#')?)?;
        let (gaps, rest) = rest.strip_prefix("inner/outer(us):")?.split_once(" ts:")?;
        let (inner, outer) = gaps.split_once('/')?;
        let (at, mut rest) = word(rest)?;
        let mut hwlat = Self {
            sample: number(sample)?,
            inner_us: number(inner.trim())?,
            outer_us: number(outer.trim())?,
            at_ns: decimal(at, 1_000_000_000)?,
            count: None,
            nmi_us: None,
            nmi_count: None,
        };
        while let Some((before, part)) = last_word(rest) {
            let (key, value) = part.split_once(':')?;
            let value = Some(number(value)?);
            match key {
                "count" => hwlat.count = value,
                "nmi-total" => hwlat.nmi_us = value,
                "nmi-count" => hwlat.nmi_count = value,
                _ => return None,
            }
            rest = before;
        }
        Some(hwlat)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{durations::Tally, summary::Summary};

    /// What interrupted a CPU must be read with its net time; a thread's name may contain blanks.
    #[test]
    fn what_interrupted_is_read() {
        let text =
            b"osnoise/8-961 [008] d.h.  5.857532: irq_noise: local_timer:236 start 5.857529929 duration 1845 ns\n\
            osnoise/8-961 [008] d.h.  5.858532: irq_noise: local_timer:236 start 5.858529929 duration 2848 ns\n\
            a b-54 [008] d...  5.858413: thread_noise: a b:54 start 5.858409300 duration 3068 ns\n\
            osnoise/8-961 [008] ....  5.859413: sample_threshold: start 5.858404555 duration 8812 ns interferences 2\n\
            osnoise/8-961 [008] d...  5.860413: nmi_noise: start 5.860409300 duration 5068 us\n";
        let (summary, _) = Summary::of(text);
        let of = |kind: &'static str, name: &str| summary.noises.by.get(&(kind, name.to_owned())).copied();
        let timer = Tally { count: 2, least: 1845, most: 2848, sum: 4693 };
        assert_eq!(of("interrupt", "local_timer:236"), Some(timer));
        assert_eq!(of("thread", "a b:54").map(|one| one.sum), Some(3068));
        assert_eq!(of("interruption above the threshold", "").map(|one| one.sum), Some(8812));
        // A text in a unit other than the kernel's is not a value.
        assert_eq!((summary.noises.by.len(), summary.others), (3, 1));
    }
}
