//! A window, cut into slices.

use super::{
    Begins, Cause, Names, Slice,
    scene::{MOST_SEGMENTS, Scene, Slices, Turn, Waker},
};
use crate::{
    events::{Class, Off, Priority, State},
    pairing::{Owner, Segment, Span},
};

/// What a thread is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// It sleeps until its timer is handled.
    Sleeps,
    /// It sleeps before a job, until a timer is due or somebody wakes it.
    Rests,
    /// It was woken, by that CPU; whether it is among those that may run yet.
    Woken { by: u32, queued: Option<u64> },
    /// It runs.
    Runs,
    /// It was preempted then.
    Preempted(u64),
    /// It waits for something, after it had begun to go on.
    Blocked,
    /// It was stopped.
    Stopped,
}

impl At {
    /// Whether it could not run, which task had the CPU or none.
    fn is_off(self) -> bool {
        matches!(self, Self::Rests | Self::Blocked | Self::Stopped)
    }
}

/// A time in which a thread was at one thing, with the CPU that counts.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    begin: u64,
    end: u64,
    at: At,
    cpu: u32,
    /// Whether what it runs itself is its way back from a sleep.
    back: bool,
    /// Whether it waits for a lock of the kernel.
    lock: bool,
}

/// The slices of a window, in order, without a gap.
pub(super) fn slices(scene: &Scene, names: &mut Names<'_>) -> Vec<Slice> {
    let mine = names.task(scene.window.pid).1;
    // The segments of a CPU have no gap: what lies outside of them was not recorded, unless there are too many to be kept.
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
                let ran = Segment { owner: Owner::Task(scene.window.pid), ..*segment };
                slices.push(begin, end, cause(scene, &stretch, &ran, mine, names));
                at = end;
                continue;
            }
            // Some kernels leave out the switch away from the idle task: who writes an event runs.
            let writer = match segment.owner {
                Owner::Idle => {
                    let behind = scene.running.iter().skip(scene.running.partition_point(|(time, ..)| *time < begin));
                    behind.take_while(|(time, ..)| *time <= end).find(|(_, cpu, _)| *cpu == stretch.cpu)
                }
                _ => None,
            };
            if let Some((time, _, pid)) = writer {
                let ran = Segment { owner: Owner::Task(*pid), ..*segment };
                let idle = match cause(scene, &stretch, segment, mine, names) {
                    Cause::Throttled if is_put_off(scene, &stretch, segment, mine) => Cause::Throttled,
                    Cause::IdleExit | Cause::InterProcessor | Cause::Throttled => Cause::Unexplained,
                    other => other,
                };
                slices.push(begin, *time, idle);
                slices.push(*time, end, cause(scene, &stretch, &ran, mine, names));
                at = end;
                continue;
            }
            let leaver = leavers.get(&(segment.cpu, segment.came)).copied();
            let leaver = leaver.filter(|pid| matches!(segment.owner, Owner::Task(owner) if owner != *pid));
            match cause(scene, &stretch, segment, mine, names) {
                // Another task left the CPU than the one that came: the kernel left out the switch between them, and who ran until then
                // nobody knows, but for the thread itself from its first event on.
                _ if leaver.is_some() && !stretch.at.is_off() => {
                    let me = scene.window.pid;
                    let from =
                        writes_first(scene, stretch.cpu, begin, end).filter(|_| leaver == Some(me)).unwrap_or(end);
                    slices.push(begin, from, Cause::Unexplained);
                    let ran = Segment { owner: Owner::Task(me), ..*segment };
                    slices.push(from, end, cause(scene, &stretch, &ran, mine, names));
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

/// Whether a job that could run had the CPU that seems idle: some kernels leave out the switch away from the idle task, and the next
/// that writes an event there, or leaves it, is the job's thread.
fn is_left_out(scene: &Scene, stretch: &Stretch, segment: &Segment) -> bool {
    let may_run = matches!(stretch.at, At::Woken { queued: Some(_), .. } | At::Runs);
    if scene.window.begins != Begins::Job || segment.owner != Owner::Idle || !may_run {
        return false;
    }
    let from = segment.begin.max(stretch.begin);
    let written = scene.running.iter().skip(scene.running.partition_point(|(time, ..)| *time < from));
    let left = scene.left.iter().skip(scene.left.partition_point(|(time, ..)| *time < from));
    let writes = { written }.find(|(_, cpu, _)| *cpu == stretch.cpu).map(|(time, _, pid)| (*time, *pid));
    let leaves = { left }.find(|(_, cpu, ..)| *cpu == stretch.cpu).map(|(time, _, pid, _)| (*time, *pid));
    let behind = scene.next.filter(|_| scene.home == Some(stretch.cpu));
    let next = writes.into_iter().chain(leaves).min().map(|(_, pid)| pid).or(behind);
    next == Some(scene.window.pid)
}

/// When the window's thread writes the first event of a piece of that CPU: it runs from then on, if it is the one that leaves it.
fn writes_first(scene: &Scene, cpu: u32, begin: u64, end: u64) -> Option<u64> {
    // The end of an interrupt, with which the piece begins, is written by whom it interrupted.
    let behind = scene.running.iter().skip(scene.running.partition_point(|(time, ..)| *time <= begin));
    let first = { behind }.take_while(|(time, ..)| *time <= end).find(|(_, of, _)| *of == cpu)?;
    (first.2 == scene.window.pid).then_some(first.0)
}

/// What lies between the event of an interrupt's end and the waking that is still in it is that interrupt's.
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

/// No interrupt came: as long as the task had turned them off that is why.
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

/// What the thread was at, from the begin of its window to the end.
fn stretches(scene: &Scene) -> Vec<Stretch> {
    let window = scene.window;
    let begun = if window.begins == Begins::Reading { At::Runs } else { At::Sleeps };
    let back = window.begins == Begins::Asleep;
    let first = scene.home.or_else(|| from(scene)).unwrap_or(window.cpu);
    let (mut at, mut cpu, mut since) = (begun, first, window.begin);
    let mut all = Vec::new();
    // The first time that it comes tells where it waited, unless it is moved before.
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
            // On its way to sleep before the timer is due, it does not yet wait for it.
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

/// The CPU on which a thread was before its first move, where that came before it ran.
fn from(scene: &Scene) -> Option<u32> {
    let ahead = scene.turns.iter().take_while(|(_, turn)| !matches!(turn, Turn::In(_)));
    ahead.filter(|(time, _)| *time >= scene.window.begin).find_map(|(_, turn)| match turn {
        Turn::Moved { from, .. } => Some(*from),
        _ => None,
    })
}

/// Before a job a thread rests until its timer is due. Only then the kernel is late.
fn rests(scene: &Scene, stretch: Stretch) -> impl Iterator<Item = Stretch> {
    let Stretch { begin, end, at, .. } = stretch;
    let due = match at {
        At::Sleeps => waking(scene, end).and_then(|(_, waker, _)| waker.due).map_or(end, |due| due.clamp(begin, end)),
        _ => begin,
    };
    let parts = [Stretch { end: due, at: At::Rests, ..stretch }, Stretch { begin: due, ..stretch }];
    parts.into_iter().filter(|part| part.end > part.begin)
}

/// The waking at this time.
fn waking(scene: &Scene, time: u64) -> Option<(u64, Waker, Option<i32>)> {
    scene.wakings.iter().find(|(at, ..)| *at == time).copied()
}

/// The times in which a job waited for a task that woke it, with that.
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

/// So many waits of a job are followed to the task that ended them, the longest ones.
const MOST_AWAITED: usize = 16;

/// What a job waits for, by who ends it.
fn awaits(scene: &Scene, stretch: &Stretch, names: &mut Names<'_>) -> Cause {
    match waking(scene, stretch.end) {
        Some((_, _, Some(by))) => Cause::Awaits(names.task(by).0),
        Some((_, waker, None)) if waker.due.is_some() => Cause::OwnTimer,
        Some((_, waker, None)) => waker
            .came_by()
            .map_or(Cause::Asleep, |(_, above)| Cause::Awaits(format!("interrupt {}", names.interrupt(above)))),
        // The rest until its timer is due ends without a waking.
        None if scene.wakings.iter().any(|(at, waker, _)| waker.due == Some(stretch.end) && *at > stretch.end) => {
            Cause::OwnTimer
        }
        None => Cause::Asleep,
    }
}

/// What a piece of a segment was lost to.
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
            // Between two readings of a busy loop lies no work of its own: the machine was elsewhere.
            At::Runs => Cause::Unexplained,
            // It runs, and no event said that it came: the trace began later, or lost it.
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

/// Whether the scheduler put off the real-time tasks of the CPU when this piece began, and the thread, woken, is one of them.
fn is_put_off(scene: &Scene, stretch: &Stretch, segment: &Segment, mine: Priority) -> bool {
    let is_one = mine.class() == Class::RealTime && matches!(stretch.at, At::Woken { .. });
    is_one && scene.is_put_off(stretch.cpu, segment.begin.max(stretch.begin))
}

/// The CPU was idle. Where it became so although the thread was among those that may run, the scheduler chose nobody.
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

/// It waits, awake, for something.
fn blocked(stretch: &Stretch) -> Cause {
    if stretch.lock { Cause::Lock } else { Cause::Blocked }
}

/// Another task had the CPU. Lower numbers are more urgent.
fn other(stretch: &Stretch, segment: &Segment, name: String, priority: Priority, mine: Priority) -> Cause {
    // Among fair tasks a number is a share, not a rank.
    let above = priority <= mine || priority.class() == Class::Fair && mine.class() == Class::Fair;
    match stretch.at {
        At::Sleeps => Cause::NoInterrupt(name),
        At::Rests => Cause::Asleep,
        At::Blocked => blocked(stretch),
        At::Stopped => Cause::Stopped,
        At::Runs => Cause::Unexplained,
        At::Woken { .. } | At::Preempted(_) if above => Cause::Task(name, priority.class()),
        // It had come before, and was to give way at once.
        // What throttles a real-time thread throttles all of them on its CPU: a lower one that came then was on its way already.
        At::Woken { queued: Some(queued), .. } if segment.came > queued && priority.class() != Class::RealTime => {
            Cause::Throttled
        }
        At::Woken { by, queued: None } if by != stretch.cpu => Cause::InterProcessor,
        At::Woken { .. } => Cause::Kept(name),
        At::Preempted(_) => Cause::Throttled,
    }
}

/// A task that came with lower priority kept the CPU. If it left with one that is high enough, it had raised it. If the kernel's
/// mark stood before and after that it was to give way, it could not be preempted. Else nothing tells which of these: where the
/// mark went without a switch, the kernel chose the task again, so its priority was another.
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
