//! Cuts a window into slices.

use super::{
    Begins, Cause, Names, Slice,
    scene::{MOST_SEGMENTS, Scene, Slices, Turn, Waker},
};
use crate::{
    events::{Class, Off, Priority, State},
    pairing::{Owner, Segment, Span},
};

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// It sleeps until its timer is handled.
    Sleeps,
    /// It sleeps before a job, until a timer is due or until something wakes it.
    Rests,
    /// That CPU woke it; `queued` is when the scheduler put it on a run queue, if it has.
    Woken { by: u32, queued: Option<u64> },
    /// It runs.
    Runs,
    /// It was preempted at that time.
    Preempted(u64),
    /// It waits for something, after it had started to run.
    Blocked,
    /// It was stopped.
    Stopped,
}

impl At {
    /// Returns whether the thread could not run, whichever task had the CPU.
    fn is_off(self) -> bool {
        matches!(self, Self::Rests | Self::Blocked | Self::Stopped)
    }
}

/// A time in which a thread did one thing, with the CPU that counts for it.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    begin: u64,
    end: u64,
    at: At,
    cpu: u32,
    /// Whether the thread's own running is its return from a sleep.
    back: bool,
    /// Whether it waits for a lock of the kernel.
    lock: bool,
}

/// Returns the slices of a window, in order and without a gap.
pub(super) fn slices(scene: &Scene, names: &mut Names<'_>) -> Vec<Slice> {
    let me = scene.window.pid;
    let mine = names.task(me).1;
    // The segments of a CPU have no gap. Time outside them was not recorded, unless there were more segments than latido keeps.
    let uncovered = if scene.segments.len() < MOST_SEGMENTS { Cause::Untraced } else { Cause::TooMany };
    let mut slices = Slices(Vec::new());
    let leavers = scene.leavers();
    for stretch in stretches(scene) {
        let mut at = stretch.begin;
        let touching = |segment: &&Segment| segment.cpu == stretch.cpu && segment.end > stretch.begin;
        for segment in scene.segments.iter().filter(touching) {
            let (begin, end) = (segment.begin.clamp(at, stretch.end), segment.end.min(stretch.end));
            if end <= begin {
                continue;
            }
            slices.push(at, begin, uncovered.clone());
            if is_left_out(scene, &stretch, segment) {
                slices.push(begin, end, cause(scene, &stretch, &run_by(me, segment), mine, names));
                at = end;
                continue;
            }
            // Some kernels leave out the switch away from the idle task. A task that writes an event is running.
            if segment.owner == Owner::Idle
                && let Some((time, pid)) = first_writer(scene, stretch.cpu, begin, end)
            {
                let idle = match cause(scene, &stretch, segment, mine, names) {
                    Cause::Throttled if is_put_off(scene, &stretch, segment, mine) => Cause::Throttled,
                    Cause::IdleExit | Cause::InterProcessor | Cause::Throttled => Cause::Unexplained,
                    other => other,
                };
                slices.push(begin, time, idle);
                slices.push(time, end, cause(scene, &stretch, &run_by(pid, segment), mine, names));
                at = end;
                continue;
            }
            let leaver = leavers.get(&(segment.cpu, segment.came)).copied();
            let leaver = leaver.filter(|pid| matches!(segment.owner, Owner::Task(owner) if owner != *pid));
            match cause(scene, &stretch, segment, mine, names) {
                // A different task left the CPU than the one that came: the kernel left out the switch between them. No event shows which
                // task ran until then; only the window's own thread ran from its first event on.
                _ if leaver.is_some() && !stretch.at.is_off() => {
                    let from =
                        writes_first(scene, stretch.cpu, begin, end).filter(|_| leaver == Some(me)).unwrap_or(end);
                    slices.push(begin, from, Cause::Unexplained);
                    slices.push(from, end, cause(scene, &stretch, &run_by(me, segment), mine, names));
                }
                Cause::NoInterrupt(name) if scene.preemptirq => {
                    disabled(scene, stretch.cpu, (begin, end), &name, &mut slices)
                }
                cause => slices.push(begin, end, cause),
            }
            at = end;
        }
        slices.push(at, stretch.end, uncovered.clone());
    }
    behind_the_end(scene, names, slices)
}

/// Returns a segment as it is if that task ran in it.
fn run_by(pid: i32, segment: &Segment) -> Segment {
    Segment { owner: Owner::Task(pid), ..*segment }
}

/// Returns when a task first writes an event on that CPU between two times, both inclusive, and which task.
fn first_writer(scene: &Scene, cpu: u32, from: u64, until: u64) -> Option<(u64, i32)> {
    let written = scene.running.iter().skip(scene.running.partition_point(|(time, ..)| *time < from));
    let first = written.take_while(|(time, ..)| *time <= until).find(|(_, of, _)| *of == cpu)?;
    Some((first.0, first.2))
}

/// Returns whether a job that could run had a CPU that seems idle. Some kernels leave out the switch away from the idle task; then the
/// job's thread is the next to write an event on that CPU, or to leave it.
fn is_left_out(scene: &Scene, stretch: &Stretch, segment: &Segment) -> bool {
    let may_run = matches!(stretch.at, At::Woken { queued: Some(_), .. } | At::Runs);
    if scene.window.begins != Begins::Job || segment.owner != Owner::Idle || !may_run {
        return false;
    }
    let from = segment.begin.max(stretch.begin);
    let left = scene.left.iter().skip(scene.left.partition_point(|(time, ..)| *time < from));
    let writes = first_writer(scene, stretch.cpu, from, u64::MAX);
    let leaves = { left }.find(|(_, cpu, ..)| *cpu == stretch.cpu).map(|(time, _, pid, _)| (*time, *pid));
    let behind = scene.next.filter(|_| scene.home == Some(stretch.cpu));
    let next = writes.into_iter().chain(leaves).min().map(|(_, pid)| pid).or(behind);
    next == Some(scene.window.pid)
}

/// Returns when the window's thread writes the first event of a piece of that CPU. If this thread also leaves the CPU, it runs from then
/// on.
fn writes_first(scene: &Scene, cpu: u32, begin: u64, end: u64) -> Option<u64> {
    // The piece starts with the end of an interrupt. The task that it interrupted writes that event.
    let (time, pid) = first_writer(scene, cpu, begin + 1, end)?;
    (pid == scene.window.pid).then_some(time)
}

/// Gives the time between an interrupt's end event and the waking that it still does to that interrupt.
fn behind_the_end(scene: &Scene, names: &Names<'_>, slices: Slices) -> Vec<Slice> {
    let Some((waking, Waker { behind: Some((_, above, ended)), .. }, _)) = scene.woken() else { return slices.0 };
    let mut all = Slices(Vec::new());
    for Slice { begin, end, cause } in slices.0 {
        let waits =
            matches!(cause, Cause::NoInterrupt(_) | Cause::InterruptsOff(_) | Cause::Elsewhere | Cause::IdleExit);
        let cause = if waits && begin >= ended && end <= waking { names.above(above) } else { cause };
        all.push(begin, end, cause);
    }
    all.0
}

/// Splits a time without an interrupt: while the task had interrupts off, that is the cause.
fn disabled(scene: &Scene, cpu: u32, (begin, end): (u64, u64), name: &str, slices: &mut Slices) {
    let mut at = begin;
    let off = |span: &&Span<Off>| span.what == Off::Interrupts && span.cpu == cpu && span.end > begin;
    for span in scene.off.iter().filter(off) {
        let (from, to) = (span.begin.clamp(at, end), span.end.clamp(at, end));
        slices.push(at, from, Cause::Elsewhere);
        slices.push(from, to, Cause::InterruptsOff(name.to_owned()));
        at = to;
    }
    slices.push(at, end, Cause::Elsewhere);
}

/// Returns what the thread did, from the start of its window to the end.
fn stretches(scene: &Scene) -> Vec<Stretch> {
    let window = scene.window;
    let begun = if window.begins == Begins::Reading { At::Runs } else { At::Sleeps };
    let back = window.begins == Begins::Asleep;
    let first = scene.home.or_else(|| from(scene)).unwrap_or(window.cpu);
    let (mut at, mut cpu, mut since) = (begun, first, window.begin);
    let mut all = Vec::new();
    // The first switch to the thread shows on which CPU it waited, unless it is moved before.
    let mut ran = window.begins == Begins::Reading;
    let mut lock = false;
    for (time, turn) in &scene.turns {
        let next = match (*turn, at) {
            (Turn::Waking(by), At::Sleeps | At::Blocked | At::Stopped) => At::Woken { by, queued: None },
            (Turn::Woken(_), At::Woken { by, queued: None }) => At::Woken { by, queued: Some(*time) },
            (Turn::Woken(_), At::Sleeps | At::Blocked | At::Stopped) => At::Woken { by: cpu, queued: Some(*time) },
            (Turn::In(_), _) => At::Runs,
            (Turn::Out(State::Runnable), _) => At::Preempted(*time),
            (Turn::Out(State::Stopped), _) => At::Stopped,
            // The thread goes to sleep before the timer is due. It does not wait for the timer yet.
            (Turn::Out(State::Sleeping | State::Dead), _) if !ran => At::Sleeps,
            (Turn::Out(State::Sleeping | State::Dead), _) => At::Blocked,
            (_, same) => same,
        };
        let there = match *turn {
            Turn::In(cpu) | Turn::Moved { to: cpu, .. } | Turn::Woken(Some(cpu)) => cpu,
            _ => cpu,
        };
        let cut = (*time).clamp(window.begin, window.end);
        if cut > since {
            all.push(Stretch { begin: since, end: cut, at, cpu, back, lock });
            since = cut;
        }
        match *turn {
            Turn::Contends => lock = true,
            Turn::Acquired => lock = false,
            _ => {}
        }
        ran |= matches!(turn, Turn::In(_)) && *time >= window.begin;
        (at, cpu) = (next, there);
    }
    if window.end > since {
        all.push(Stretch { begin: since, end: window.end, at, cpu, back, lock });
    }
    if window.begins == Begins::Job { all.into_iter().flat_map(|one| rests(scene, one)).collect() } else { all }
}

/// Returns the CPU of a thread before its first move, if it moved before it ran.
fn from(scene: &Scene) -> Option<u32> {
    let ahead = scene.turns.iter().take_while(|(_, turn)| !matches!(turn, Turn::In(_)));
    ahead.filter(|(time, _)| *time >= scene.window.begin).find_map(|(_, turn)| match turn {
        Turn::Moved { from, .. } => Some(*from),
        _ => None,
    })
}

/// Splits a stretch: before a job a thread rests until its timer is due. Only after that is the kernel late.
fn rests(scene: &Scene, stretch: Stretch) -> impl Iterator<Item = Stretch> {
    let Stretch { begin, end, at, .. } = stretch;
    let due = match at {
        At::Sleeps => waking(scene, end).and_then(|(_, waker, _)| waker.due).map_or(end, |due| due.clamp(begin, end)),
        _ => begin,
    };
    let parts = [Stretch { end: due, at: At::Rests, ..stretch }, Stretch { begin: due, ..stretch }];
    parts.into_iter().filter(|part| part.end > part.begin)
}

/// Returns the waking at this time.
fn waking(scene: &Scene, time: u64) -> Option<(u64, Waker, Option<i32>)> {
    scene.wakings.iter().find(|(at, ..)| *at == time).copied()
}

/// Returns the times in which a job waited for a task that woke it, each with that task.
pub(super) fn awaited(scene: &Scene) -> Vec<(u64, u64, i32)> {
    if scene.window.begins != Begins::Job {
        return Vec::new();
    }
    let blocked = stretches(scene).into_iter().filter(|stretch| stretch.at == At::Blocked);
    let by = |stretch: Stretch| Some((stretch.begin, stretch.end, waking(scene, stretch.end)?.2?));
    let mut all: Vec<_> = blocked.filter_map(by).collect();
    all.sort_by_key(|(begin, end, _)| std::cmp::Reverse(end - begin));
    all.truncate(MOST_AWAITED);
    all
}

/// How many waits of a job latido follows to the task that ended them: the longest ones.
const MOST_AWAITED: usize = 16;

/// Returns what a job waits for, from what ends the wait.
fn awaits(scene: &Scene, stretch: &Stretch, names: &mut Names<'_>) -> Cause {
    match waking(scene, stretch.end) {
        Some((_, _, Some(by))) => Cause::Awaits(names.task(by).0),
        Some((_, waker, None)) if waker.due.is_some() => Cause::OwnTimer,
        Some((_, waker, None)) => waker
            .came_by()
            .map_or(Cause::Asleep, |(_, above)| Cause::Awaits(format!("interrupt {}", names.interrupt(above)))),
        // The rest until the thread's timer is due ends without a waking.
        None if scene.wakings.iter().any(|(at, waker, _)| waker.due == Some(stretch.end) && *at > stretch.end) => {
            Cause::OwnTimer
        }
        None => Cause::Asleep,
    }
}

/// Returns what a piece of a segment was lost to.
fn cause(scene: &Scene, stretch: &Stretch, segment: &Segment, mine: Priority, names: &mut Names<'_>) -> Cause {
    let me = scene.window.pid;
    let in_job = scene.window.begins == Begins::Job;
    if !matches!(segment.owner, Owner::Lost | Owner::Unknown) {
        match stretch.at {
            At::Rests if segment.owner != Owner::Task(me) => return awaits(scene, stretch, names),
            At::Blocked if in_job && !stretch.lock => {
                return match awaits(scene, stretch, names) {
                    Cause::Asleep => Cause::Blocked,
                    known => known,
                };
            }
            _ => {}
        }
    }
    match segment.owner {
        Owner::Nmi => Cause::Nmi,
        Owner::Above(above) => names.above(above),
        Owner::Lost => Cause::Lost,
        Owner::Unknown => Cause::Unexplained,
        Owner::Idle if is_put_off(scene, stretch, segment, mine) => Cause::Throttled,
        Owner::Idle => idle(stretch, segment),
        Owner::Task(pid) if pid == me => match stretch.at {
            At::Runs if stretch.lock => Cause::Lock,
            _ if in_job => Cause::Own,
            At::Runs if stretch.back => Cause::Itself,
            // Between two readings of a busy loop the thread has no work: the machine was elsewhere.
            At::Runs => Cause::Unexplained,
            // The thread runs, and no event shows its switch: the trace started later, or lost the event.
            _ => Cause::Unexplained,
        },
        Owner::Task(pid) => {
            let (name, known) = names.task(pid);
            let priority = segment.task.filter(|(of, _)| *of == pid).map_or(known, |(_, priority)| priority);
            if name.starts_with("migration/") {
                return Cause::Migration;
            }
            if priority.class() == Class::Fair && is_put_off(scene, stretch, segment, mine) {
                return Cause::Throttled;
            }
            match other(stretch, segment, name, priority, mine) {
                Cause::Kept(name) => kept(scene, stretch, segment, (pid, name), mine),
                other => other,
            }
        }
    }
}

/// Returns whether the scheduler put off the CPU's real-time tasks when this piece started, and the woken thread is one of them.
fn is_put_off(scene: &Scene, stretch: &Stretch, segment: &Segment, mine: Priority) -> bool {
    let is_one = mine.class() == Class::RealTime && matches!(stretch.at, At::Woken { .. });
    is_one && scene.is_put_off(stretch.cpu, segment.begin.max(stretch.begin))
}

/// Returns the cause of idle time. If the CPU became idle although the thread was runnable, the scheduler chose no task.
fn idle(stretch: &Stretch, segment: &Segment) -> Cause {
    match stretch.at {
        At::Woken { queued: Some(queued), .. } if segment.came > queued => Cause::Throttled,
        At::Woken { by, queued: None } if by == stretch.cpu && segment.came > stretch.begin => Cause::Throttled,
        At::Sleeps => Cause::IdleExit,
        At::Rests => Cause::Asleep,
        At::Woken { by, .. } if by != stretch.cpu => Cause::InterProcessor,
        At::Woken { .. } => Cause::IdleExit,
        At::Preempted(_) => Cause::Throttled,
        At::Blocked => blocked(stretch),
        At::Stopped => Cause::Stopped,
        At::Runs => Cause::Unexplained,
    }
}

/// Returns the cause while the thread, awake, waits for something.
fn blocked(stretch: &Stretch) -> Cause {
    if stretch.lock { Cause::Lock } else { Cause::Blocked }
}

/// Returns the cause when another task had the CPU. Lower numbers are more urgent.
fn other(stretch: &Stretch, segment: &Segment, name: String, priority: Priority, mine: Priority) -> Cause {
    // Among fair tasks a priority number is a share, not a rank.
    let above = priority <= mine || priority.class() == Class::Fair && mine.class() == Class::Fair;
    match stretch.at {
        At::Sleeps => Cause::NoInterrupt(name),
        At::Rests => Cause::Asleep,
        At::Blocked => blocked(stretch),
        At::Stopped => Cause::Stopped,
        At::Runs => Cause::Unexplained,
        At::Woken { .. } | At::Preempted(_) if above => Cause::Task(name, priority.class()),
        // A lower task that came after the thread was queued shows throttling; a lower task that came before must give way at once.
        // The throttle puts off all real-time threads of a CPU. So a lower real-time task that came then was already on its way.
        At::Woken { queued: Some(queued), .. } if segment.came > queued && priority.class() != Class::RealTime => {
            Cause::Throttled
        }
        At::Woken { by, queued: None } if by != stretch.cpu => Cause::InterProcessor,
        At::Woken { .. } => Cause::Kept(name),
        At::Preempted(_) => Cause::Throttled,
    }
}

/// Decides why a task that came with lower priority kept the CPU. If it left with a priority that is high enough, it had raised its
/// priority. If the kernel's mark to give way was set before and after, the task could not be preempted. Otherwise no event decides between
/// these: if the mark went away without a switch, the kernel chose the task again, so its priority had changed.
fn kept(scene: &Scene, stretch: &Stretch, segment: &Segment, (pid, name): (i32, String), mine: Priority) -> Cause {
    let leaves = scene
        .left
        .iter()
        .find(|(time, cpu, of, _)| *cpu == stretch.cpu && *of == pid && *time >= segment.begin.max(stretch.begin));
    if let Some((.., priority)) = leaves.filter(|(.., priority)| *priority <= mine) {
        return Cause::Task(name, priority.class());
    }
    let from = match stretch.at {
        At::Woken { queued: Some(queued), .. } => queued,
        _ => stretch.begin,
    };
    let until = leaves.map_or(stretch.end, |(time, ..)| *time);
    let here = |(time, cpu, _): &&(u64, u32, bool)| *cpu == stretch.cpu && (from..=until).contains(time);
    let marks: Vec<_> = scene.to_give_way.iter().filter(here).collect();
    let (before, after) = marks.split_at(marks.partition_point(|(time, ..)| *time <= segment.end.min(stretch.end)));
    let marked = before.last().is_some_and(|(.., mark)| *mark) && after.first().is_none_or(|(.., mark)| *mark);
    if marked { Cause::NotPreemptible(name) } else { Cause::Kept(name) }
}
