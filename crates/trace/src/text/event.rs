//! Lines with a task, a CPU and a time before the event itself.

use super::{
    header::{Form, Header},
    scan::{decimal, digits, last_word, number, task},
    tracers::{Hwlat, Osnoise, Timerlat, Turn},
};

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The input of a report, if the line names it before the task: `a.dat:`.
    pub source: Option<&'a str>,
    /// The name of the task; `<...>` if the kernel forgot it. Latency traces cut it to 8 letters.
    pub task: &'a str,
    /// Its thread's number; `None` if the text does not show it.
    pub pid: Option<u32>,
    /// Its process's number, if the text shows it.
    pub tgid: Option<u32>,
    /// The CPU.
    pub cpu: u32,
    /// The letters of the flags: `Columns::flag` gives their meaning.
    pub flags: Option<&'a str>,
    /// Its time.
    pub time: Time,
    /// The mark of how long it lasts until the next line, in latency traces.
    pub mark: Option<Mark>,
    /// Its content.
    pub body: Body<'a>,
}

/// When an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Time {
    /// On the trace's clock, in nanoseconds; the text has microseconds.
    Clock(u64),
    /// Since the first entry, in nanoseconds; the text has microseconds.
    SinceFirst(u64),
    /// On a clock that counts something else: cycles, jiffies, events.
    Count(u64),
}

/// The mark after a time span: the span is longer than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// `+`: 10 us.
    Over10Us,
    /// `!`: 100 us.
    Over100Us,
    /// `#`: 1 ms.
    Over1Ms,
    /// `*`: 10 ms.
    Over10Ms,
    /// `@`: 100 ms.
    Over100Ms,
    /// `$`: 1 s.
    Over1S,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// An event with its fields as the kernel prints them.
    Named {
        /// The event's name: `sched_switch`.
        name: &'a str,
        /// Its fields: `prev_comm=sh …`.
        fields: &'a str,
    },
    /// A function was called.
    Function {
        /// The function.
        function: &'a str,
        /// The function that called it.
        caller: &'a str,
    },
    /// The lines of a stack follow.
    Stack,
    /// A latency of timerlat.
    Timerlat(Timerlat),
    /// A period of osnoise.
    Osnoise(Osnoise),
    /// A gap of hwlat.
    Hwlat(Hwlat),
    /// A wake-up or a switch of the wakeup tracers.
    Turn(Turn<'a>),
    /// A system call starts or ends: `sys_dup2(oldfd: 5, newfd: 1)`, `sys_dup2 -> 0x1`.
    Call {
        /// The call.
        call: SystemCall<'a>,
        /// The original text.
        text: &'a str,
    },
    /// Something else.
    Other(&'a str),
}

/// The start or the end of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall<'a> {
    /// The call's name: `dup2`.
    pub name: &'a str,
    /// Whether it starts.
    pub begins: bool,
}

impl<'a> Body<'a> {
    /// Returns the system call that starts or ends, in the form of tracefs or as an event of this call (`sys_enter_read`).
    pub(super) fn system_call(&self) -> Option<SystemCall<'a>> {
        let Self::Named { name, .. } = *self else {
            return if let Self::Call { call, .. } = *self { Some(call) } else { None };
        };
        let begun = name.strip_prefix("sys_enter_").map(|name| SystemCall { name, begins: true });
        begun.or_else(|| name.strip_prefix("sys_exit_").map(|name| SystemCall { name, begins: false }))
    }
}

impl<'a> SystemCall<'a> {
    /// Parses the kernel's form (kernel/trace/trace_syscalls.c): the name of the kernel's function, with its arguments or its return value.
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_end();
        let (name, begins) =
            match (text.strip_suffix(')').and_then(|text| text.split_once('(')), text.split_once(" -> ")) {
                (Some((name, _)), _) => (name, true),
                (None, Some((name, value))) if value.starts_with("0x") => (name, false),
                _ => return None,
            };
        let name = name.strip_prefix("sys_").filter(|name| !name.is_empty() && is_name(name))?;
        Some(Self { name, begins })
    }
}

impl<'a> Event<'a> {
    /// Parses a line, first in the header's form.
    pub(super) fn parse(line: &'a str, header: &Header) -> Option<Self> {
        let (plain, latency) = (Self::plain, Self::latency);
        if header.columns.form == Some(Form::Latency) {
            latency(line).or_else(|| plain(line))
        } else {
            plain(line).or_else(|| latency(line)).or_else(|| Self::verbose(line))
        }
    }

    /// Parses `              sh-187     (    187) [000] d..2.    28.911216: sched_switch: …`.
    fn plain(line: &'a str) -> Option<Self> {
        // A name may contain any part of a line, but not as much as a whole line: so the first place that fits is the right one.
        line.match_indices('[').take(8).find_map(|(at, _)| {
            let (before, after) = line.split_at_checked(at)?;
            let (cpu, after) = digits(after.strip_prefix('[')?)?;
            let (who, tgid) = tgid(before)?;
            let (who, pid) = task(who)?;
            let (source, name) = named(line, who, NAME);
            let after = after.strip_prefix("] ")?;
            let (stamp, body) = after.split_once(':')?;
            let (flags, stamp) = last_word(stamp)?;
            let flags = Some(flags.trim()).filter(|flags| !flags.is_empty());
            flags.is_none_or(|flags| !flags.contains(' ')).then_some(())?;
            let time = stamp.contains('.').then(|| decimal(stamp, 1_000_000_000).map(Time::Clock));
            let time = time.unwrap_or_else(|| number(stamp).map(Time::Count))?;
            let body = Body::of(without_difference(body.trim_start()));
            Some(Self { source, task: name, pid: Some(pid), tgid, cpu, flags, time, mark: None, body })
        })
    }

    /// Parses `  <idle>-0         1dNh4.    2us+: …`, and `<idle>-0  1d.h1. 1201.123450: …` of `trace-cmd report -l`.
    fn latency(line: &'a str) -> Option<Self> {
        line.match_indices(':').take(8).find_map(|(at, _)| {
            let (before, body) = line.split_at_checked(at)?;
            let (rest, marked) = match before.char_indices().next_back()? {
                (_, last) if last.is_ascii_digit() => (before, None),
                (at, last) => (before.get(..at)?, Some(last)),
            };
            let mark = marked.and_then(Mark::of);
            (mark.is_some() || matches!(marked, None | Some(' '))).then_some(())?;
            let (who, stamp) = last_word(rest)?;
            let time = match stamp.strip_suffix("us") {
                Some(us) => Time::SinceFirst(decimal(us, 1000)?),
                None if stamp.contains('.') => Time::Clock(decimal(stamp, 1_000_000_000)?),
                None => Time::Count(number(stamp)?),
            };
            let (who, place) = last_word(who)?;
            let (cpu, flags) = digits(place)?;
            let (who, pid) = task(who)?;
            let (source, name) = named(line, who, SHORT);
            // A word with more letters than this cannot be the flags.
            let flags = Some(flags).filter(|flags| !flags.is_empty());
            flags.is_none_or(|flags| flags.len() <= MOST_FLAGS).then_some(())?;
            let body = Body::of(without_difference(body.strip_prefix(':')?.trim_start()));
            Some(Self { source, task: name, pid: Some(pid), tgid: None, cpu, flags, time, mark, body })
        })
    }

    /// Parses `    <idle>       0   1 1 00000002 00000000 [01b92670] 132.373ms (+1.044ms): …`, the form of the option `verbose`.
    fn verbose(line: &'a str) -> Option<Self> {
        let (before, after) = line.split_once("ms (+")?;
        let (_, body) = after.split_once("ms): ")?;
        let (before, ms) = last_word(before)?;
        let mut rest = before;
        let mut back = || {
            let (before, word) = last_word(rest)?;
            rest = before;
            Some(word)
        };
        back()?.strip_prefix('[')?.strip_suffix(']')?;
        let (_index, _depth, _flags) = (back()?, back()?, back()?);
        let (cpu, pid) = (number(back()?)?, number(back()?)?);
        let time = Time::SinceFirst(decimal(ms, 1_000_000)?);
        let (source, task) = named(line, rest.trim(), NAME);
        let body = Body::of(body);
        Some(Self { source, task, pid: Some(pid), tgid: None, cpu, flags: None, time, mark: None, body })
    }
}

impl Event<'_> {
    /// Formats an event for a report: which task had the CPU, the flags at that moment, and what happened.
    pub(super) fn shown(&self) -> String {
        let what = match self.body {
            Body::Named { name, fields } => format!("{name} {fields}"),
            Body::Function { function, caller } => format!("{function} <- {caller}"),
            Body::Call { text, .. } | Body::Other(text) => text.to_owned(),
            Body::Stack => "<stack trace>".into(),
            Body::Timerlat(value) => format!("timerlat {} {} ns", value.context.name(), value.latency_ns),
            Body::Osnoise(value) => {
                let whole = value.runtime_us.map(|us| format!(" of {us} us"));
                format!("osnoise {} us{}", value.noise_us, whole.unwrap_or_default())
            }
            Body::Hwlat(value) => format!("hwlat {}/{} us", value.inner_us, value.outer_us),
            Body::Turn(turn) => {
                let (from, to) = (turn.from, turn.to);
                let how = if turn.switches { "gives the CPU to" } else { "wakes" };
                format!(
                    "{} (priority {}, {}) {how} {}-{} (priority {}, {}) of CPU {}",
                    from.pid, from.priority, from.state, turn.task, to.pid, to.priority, to.state, turn.cpu
                )
            }
        };
        let process = self.tgid.filter(|tgid| Some(*tgid) != self.pid).map(|tgid| format!(" of process {tgid}"));
        let flags = self.flags.map(|flags| format!(" {flags}"));
        let lasts = self.mark.map(|mark| format!(" (over {} until the next)", mark.span()));
        let (process, flags, lasts) =
            (process.unwrap_or_default(), flags.unwrap_or_default(), lasts.unwrap_or_default());
        let pid = self.pid.map(|pid| format!("-{pid}")).unwrap_or_default();
        format!("{}{pid}{process}{flags}: {what}{lasts}", self.task)
    }
}

/// The longest name of a task, in plain lines and in lines of latency traces, which cut names.
const NAME: usize = 15;
const SHORT: usize = 8;

/// The most letters of flags: no kernel has more.
const MOST_FLAGS: usize = 16;

/// Splits the input that a report of several inputs names before the task from the task. A name may contain a colon, but it is never longer
/// than `longest`, and blanks come before a shorter name.
fn named<'a>(line: &str, who: &'a str, longest: usize) -> (Option<&'a str>, &'a str) {
    let Some((source, name)) = who.split_once(": ") else { return (None, who) };
    let first = line.trim_start().len() == line.len();
    if first || who.chars().count() > longest { (Some(source), name.trim_start()) } else { (None, who) }
}

/// Returns the text after `(+10)`, the time since the previous event in `trace-cmd report --ts-diff`.
fn without_difference(body: &str) -> &str {
    let rest = body.strip_prefix("(+").and_then(|rest| rest.split_once(')'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    rest.filter(|(number, _)| is_number(number)).map_or(body, |(_, rest)| rest.trim_start())
}

/// Splits the task from its process: `sh-187     (    187)`, `<idle>-0       (-------)`.
fn tgid(text: &str) -> Option<(&str, Option<u32>)> {
    let text = text.trim_end();
    let Some((who, process)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) else {
        return Some((text, None));
    };
    let process = process.trim();
    let unknown = !process.is_empty() && process.bytes().all(|byte| byte == b'-');
    Some((who, if unknown { None } else { Some(number(process)?) }))
}

impl Mark {
    /// Returns the span.
    pub fn span(self) -> &'static str {
        match self {
            Self::Over10Us => "10 us",
            Self::Over100Us => "100 us",
            Self::Over1Ms => "1 ms",
            Self::Over10Ms => "10 ms",
            Self::Over100Ms => "100 ms",
            Self::Over1S => "1 s",
        }
    }

    /// Returns the mark of a sign.
    pub(super) fn of(sign: char) -> Option<Self> {
        Some(match sign {
            '+' => Self::Over10Us,
            '!' => Self::Over100Us,
            '#' => Self::Over1Ms,
            '*' => Self::Over10Ms,
            '@' => Self::Over100Ms,
            '$' => Self::Over1S,
            _ => return None,
        })
    }
}

impl<'a> Body<'a> {
    /// Determines the content by its form: a recording may contain events in addition to what its tracer writes.
    pub(super) fn of(text: &'a str) -> Self {
        if let Some(timerlat) = Timerlat::parse(text) {
            return Self::Timerlat(timerlat);
        }
        if let Some(hwlat) = Hwlat::parse(text) {
            return Self::Hwlat(hwlat);
        }
        if let Some(osnoise) = Osnoise::parse(text) {
            return Self::Osnoise(osnoise);
        }
        if matches!(text.trim_end(), "<stack trace>" | "<user stack trace>") {
            return Self::Stack;
        }
        if let Some(turn) = Turn::parse(text) {
            return Self::Turn(turn);
        }
        if let Some((name, fields)) = text.split_once(':').filter(|(name, _)| is_name(name)) {
            return Self::of_tracer(name, fields).unwrap_or(Self::Named { name, fields: fields.trim_start() });
        }
        if let Some(call) = SystemCall::parse(text) {
            return Self::Call { call, text };
        }
        let word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        match text.split_once("<-") {
            Some((function, caller)) if !function.is_empty() && word(caller.trim_end()) => {
                Self::Function { function: function.trim_end(), caller: caller.trim_end() }
            }
            _ => Self::Other(text),
        }
    }
}

impl Body<'_> {
    /// Parses what a tracer wrote, as an event of `trace-cmd report`.
    fn of_tracer(name: &str, fields: &str) -> Option<Self> {
        match name {
            "timerlat" => Timerlat::of_event(fields).map(Self::Timerlat),
            "osnoise" => Osnoise::of_event(fields).map(Self::Osnoise),
            "hwlat" => Hwlat::of_event(fields).map(Self::Hwlat),
            _ => None,
        }
    }
}

/// Returns whether a text may be the name of an event, or of the function that printed a line. `sys_dup2(oldfd` is not a name.
fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '/'))
        && text.contains(char::is_alphabetic)
}
