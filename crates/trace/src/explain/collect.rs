//! Collects what happened in windows while the trace is read.

use super::{
    Awaited, Begins, Explained, Line, Names, Window, cut,
    scene::{Excerpt, MOST_SEGMENTS, Record, Scene, Turn, Waker},
    wakers,
};
use crate::{
    bytes::Endian,
    events::{Above, Class, Events, Happened, Off, State, Switched},
    file::{Described, Trace},
    format::{Format, Number},
    pairing::{Segment, Sink, Span},
};
use std::collections::BTreeMap;

/// The margin that is shown before and after a window, in ns.
const MARGIN: u64 = 20_000;

/// Collects for all windows in one walk.
#[derive(Debug)]
pub(super) struct Collect<'t> {
    formats: BTreeMap<u16, &'t Format>,
    /// The numbers of `contention_begin` and `contention_end`. `pid` and `flags` are the places of a record's writer and context.
    contention: [Option<u16>; 2],
    /// The number of `page_fault_user`, if the kernel has this event.
    fault: Option<u16>,
    pid: Option<Number>,
    flags: Option<Number>,
    events: Events,
    endian: Endian,
    /// The scenes, in order of their start.
    scenes: Vec<Scene>,
    /// How many scenes have started.
    begun: usize,
    /// When the last of the started scenes ends.
    over: u64,
    /// The length of the longest window. An event may touch a window that started this long before it.
    longest: u64,
    /// The last changes of each thread before its window.
    before: BTreeMap<i32, Vec<(u64, Turn)>>,
    /// The last CPU of each of these threads.
    homes: BTreeMap<i32, u32>,
    /// The scenes of jobs whose CPU has an unknown owner at the end of the window.
    open: Vec<usize>,
    /// What each CPU is doing.
    wakers: Vec<Waker>,
    /// The event that sets a timer, and when each set timer is due, in ns on the timer's own clock. Only jobs need it.
    set: Option<Set>,
    due: BTreeMap<u64, u64>,
    /// Since when the scheduler has put off real-time tasks, by CPU.
    put_off: BTreeMap<u32, u64>,
}

/// `hrtimer_start`, and the places of the timer and its expiry in a record.
#[derive(Clone, Copy, Debug)]
struct Set {
    id: u16,
    timer: Number,
    expires: Number,
}

/// The most timers that latido keeps. No sound trace sets more at once.
const MOST_TIMERS: usize = 1 << 16;

/// If a CPU writes no event for this long after a window, in ns, its later events say nothing about the window.
const SILENT: u64 = 100_000_000;

/// Bits of `common_flags`: the record was written in a hard interrupt, or in a soft one (`enum trace_flag_type`,
/// include/linux/trace_events.h).
const HARD: i64 = 0x08;
const SOFT: i64 = 0x10;

/// A bit of the same field: the CPU's task must give way at once.
const GIVE_WAY: i64 = 0x04;

/// latido keeps no waker for CPUs from this number on.
const MOST_CPUS: usize = 1 << 16;

impl<'t> Collect<'t> {
    pub fn of(trace: &'t Trace<'_>, windows: &[Window]) -> Self {
        Self::over(&trace.formats, trace.endian, windows)
    }

    /// Collects from lines of text instead of records.
    pub fn of_text(windows: &[Window]) -> Self {
        Self::over(&[], Endian::Little, windows)
    }

    fn over(all: &'t [Described], endian: Endian, windows: &[Window]) -> Self {
        let mut windows = windows.to_vec();
        // Where time went backwards, a window may end before it starts: it is empty.
        windows.iter_mut().for_each(|window| window.end = window.end.max(window.begin));
        windows.sort_unstable();
        let longest = windows.iter().map(|window| window.end.saturating_sub(window.begin)).max().unwrap_or(0);
        let before = windows.iter().map(|window| (window.pid, Vec::new())).collect();
        let has = |system: &str, name: &str| {
            let found = all.iter().find(|one| one.system == system && one.format.name == name);
            found.map(|one| one.format.id)
        };
        let preemptirq = has("preemptirq", "irq_disable").is_some();
        let start = all.iter().find(|one| one.system == "timer" && one.format.name == "hrtimer_start");
        let set = start.filter(|_| windows.iter().any(|window| window.begins == Begins::Job)).and_then(|one| {
            let number = |name| one.format.number(name, endian);
            Some(Set { id: one.format.id, timer: number("hrtimer")?, expires: number("expires")? })
        });
        Self {
            formats: all.iter().map(|one| (one.format.id, &one.format)).collect(),
            fault: has("exceptions", "page_fault_user"),
            contention: [has("lock", "contention_begin"), has("lock", "contention_end")],
            pid: all.first().and_then(|one| one.format.number("common_pid", endian)),
            flags: all.first().and_then(|one| one.format.number("common_flags", endian)),
            events: Events::of(all, endian),
            endian,
            scenes: windows.into_iter().map(|window| Scene::of(window, preemptirq)).collect(),
            begun: 0,
            over: 0,
            longest,
            before,
            homes: BTreeMap::new(),
            open: Vec::new(),
            wakers: Vec::new(),
            set,
            due: BTreeMap::new(),
            put_off: BTreeMap::new(),
        }
    }

    pub fn vectors(&self) -> Vec<String> {
        self.events.vectors().to_vec()
    }

    /// Returns the scenes that a time touches, with a margin.
    fn at(&mut self, begin: u64, end: u64) -> impl Iterator<Item = &mut Scene> {
        while let Some(next) =
            self.scenes.get_mut(self.begun).filter(|next| next.window.begin <= end.saturating_add(MARGIN))
        {
            next.home = self.homes.get(&next.window.pid).copied().filter(|_| next.window.begins == Begins::Job);
            self.open.extend(next.home.map(|_| self.begun));
            next.turns = self.before.get(&next.window.pid).cloned().unwrap_or_default();
            next.put_off = self.put_off.iter().map(|(cpu, since)| (*since, *cpu, true)).collect();
            self.over = self.over.max(next.window.end);
            self.begun += 1;
        }
        // Most of a trace is outside all windows.
        let from = begin.saturating_sub(self.longest).saturating_sub(MARGIN);
        let first = match begin > self.over.saturating_add(MARGIN) {
            true => self.begun,
            false => self.scenes.partition_point(|scene| scene.window.begin < from),
        };
        let scenes = self.scenes.get_mut(first..self.begun).unwrap_or_default().iter_mut();
        scenes.filter(move |scene| {
            scene.window.begin <= end.saturating_add(MARGIN) && scene.window.end.saturating_add(MARGIN) >= begin
        })
    }

    pub fn explained(self, mut names: Names<'_>) -> Vec<Explained> {
        let (formats, events, endian) = (&self.formats, &self.events, self.endian);
        let has_faults = self.fault.is_some();
        let line = |record: &Record| {
            let Record { time, cpu, bytes } = record;
            let text = match formats.is_empty() {
                true => String::from_utf8_lossy(bytes).into_owned(),
                false => formats.get(&events.id(bytes)?)?.describe(bytes, endian),
            };
            Some(Line { time: *time, cpu: *cpu, text })
        };
        let explained = |scene: Scene| {
            let (slices, mut chain) = (cut::slices(&scene, &mut names), wakers::chain(&scene, &mut names));
            chain.merely_slept = chain.waking.is_some_and(|waking| wakers::merely_slept(&slices, waking));
            let awaited = awaited(&scene, &mut names);
            let excerpt = scene.excerpt.iter().filter_map(line).collect();
            let cpu = scene.home.unwrap_or(scene.window.cpu);
            let faults = has_faults.then_some(scene.faults);
            let Scene { window, segments, excerpt: Excerpt { omitted, .. }, .. } = scene;
            let name = names.name(window.pid);
            Explained { window, name, slices, segments, excerpt, omitted, chain, awaited, cpu, faults }
        };
        self.scenes.into_iter().map(explained).collect()
    }

    /// Returns the task that wrote a record on its CPU.
    fn task_of(&self, record: &[u8]) -> Option<i32> {
        i32::try_from(self.pid?.of(record)?).ok()
    }

    /// Returns the CPU to which a window's thread is woken (`target_cpu`). In a line of text it is the last word.
    fn target(&self, pid: i32, record: &[u8]) -> Option<u32> {
        self.before.get(&pid)?;
        let format = self.events.id(record).and_then(|id| self.formats.get(&id));
        if let Some(format) = format {
            return u32::try_from(format.number("target_cpu", self.endian)?.of(record)?).ok();
        }
        let text = std::str::from_utf8(record).ok()?;
        text.trim_end().rsplit_once("target_cpu=")?.1.parse().ok()
    }

    /// Returns the waker of a CPU, if the CPU's number is possible.
    fn waker(&mut self, cpu: u32) -> Option<&mut Waker> {
        let at = cpu as usize;
        if at >= self.wakers.len() && at < MOST_CPUS {
            self.wakers.resize(at + 1, Waker::default());
        }
        self.wakers.get_mut(at)
    }

    /// Handles the event that a thread is about to be woken.
    fn waking(&mut self, time: u64, cpu: u32, pid: i32, record: &[u8]) {
        let mut waker = self.waker(cpu).map_or_else(Waker::default, |waker| *waker);
        let flags = self.flags.and_then(|flags| flags.of(record));
        if flags.is_some_and(|flags| flags & HARD != 0) {
            // The interrupt continues after the event of its end.
            waker.behind = waker.left.filter(|_| waker.entered.is_none());
        }
        // In an interrupt, the interrupted task has nothing to do with the waking.
        let by =
            flags.filter(|flags| flags & (HARD | SOFT) == 0).and_then(|_| self.task_of(record)).filter(|by| *by > 0);
        let was_on = self.target(pid, record);
        for scene in self.at(time, time) {
            let Window { pid: me, begin, end, begins, .. } = scene.window;
            let counts = begins != Begins::Reading && me == pid && (begin..=end).contains(&time);
            if counts && scene.wakings.len() < MOST_SEGMENTS {
                scene.was_on = scene.was_on.or(was_on);
                scene.wakings.push((time, waker, by));
            }
        }
        self.turn(time, pid, Turn::Waking(cpu));
    }

    /// Handles a switch. When a runnable real-time task leaves its CPU to the idle task or to an ordinary task, the throttle (or the fair
    /// server) puts off all real-time tasks of that CPU, until a task of a higher class comes again.
    fn chosen(&mut self, time: u64, cpu: u32, (from, state, to): (&Switched, State, &Switched)) {
        let is_lower = to.pid == 0 || to.priority.class() == Class::Fair;
        let puts_off = from.priority.class() == Class::RealTime && state == State::Runnable && is_lower;
        let changed = match (puts_off, is_lower) {
            (true, _) => self.put_off.insert(cpu, time).is_none(),
            (false, true) => false,
            (false, false) => self.put_off.remove(&cpu).is_some(),
        };
        if changed {
            let room = |scene: &&mut Scene| scene.put_off.len() < MOST_SEGMENTS;
            self.at(time, time).filter(room).for_each(|scene| scene.put_off.push((time, cpu, puts_off)));
        }
    }

    /// Records that this task had that CPU.
    fn had(&mut self, time: u64, cpu: u32, pid: i32) {
        let Self { open, scenes, .. } = self;
        open.retain(|at| match scenes.get_mut(*at) {
            Some(scene) if time > scene.window.end && scene.home == Some(cpu) => {
                scene.next = Some(pid);
                false
            }
            Some(scene) => time < scene.window.end.saturating_add(SILENT),
            None => false,
        });
    }

    /// Records that a task starts to wait for a lock of the kernel, or gets it.
    pub(super) fn contention(&mut self, time: u64, pid: i32, begins: bool) {
        self.turn(time, pid, if begins { Turn::Contends } else { Turn::Acquired });
    }

    fn turn(&mut self, time: u64, pid: i32, turn: Turn) {
        if !self.before.contains_key(&pid) {
            return;
        }
        let room = |scene: &&mut Scene| scene.window.pid == pid && scene.turns.len() < MOST_SEGMENTS;
        for scene in self.at(time, time).filter(room) {
            scene.turns.push((time, turn));
        }
        // Only this is needed of the time before a window: the thread's last switch, and what came after it.
        if let Some(before) = self.before.get_mut(&pid) {
            if matches!(turn, Turn::In(_) | Turn::Out(_)) {
                before.clear();
            }
            // Keeps the last switch and the newest changes after it.
            if before.len() >= 8 {
                before.remove(1);
            }
            before.push((time, turn));
        }
    }

    /// Follows what tasks and interrupts do, from the events that latido resolves.
    fn follow(&mut self, time: u64, cpu: u32, record: &[u8], happened: &Happened) {
        match happened {
            Happened::Switch { from, state, to } => {
                for pid in [from.pid, to.pid].iter().filter(|pid| self.before.contains_key(pid)) {
                    self.homes.insert(*pid, cpu);
                }
                self.turn(time, from.pid, Turn::Out(*state));
                self.turn(time, to.pid, Turn::In(cpu));
                self.chosen(time, cpu, (from, *state, to));
            }
            Happened::Waking(task) => self.waking(time, cpu, task.pid, record),
            Happened::Enter(above @ (Above::Vector(_) | Above::Line(_))) => {
                self.waker(cpu).into_iter().for_each(|waker| waker.entered = Some((time, *above)));
            }
            Happened::Exit(Above::Vector(_) | Above::Line(_)) => {
                let ended = |waker: &mut Waker| {
                    *waker =
                        Waker { left: waker.entered.map(|(began, above)| (began, above, time)), ..Waker::default() }
                };
                self.waker(cpu).into_iter().for_each(ended);
            }
            Happened::Expired { timer, now } => {
                // The timer's clock may differ from the trace's clock: it read `now` at this time.
                let due =
                    self.due.remove(timer).map(|due| time.saturating_sub(now.cast_unsigned().saturating_sub(due)));
                self.waker(cpu).into_iter().for_each(|waker| (waker.expired, waker.due) = (Some(time), due));
            }
            Happened::Wakeup(task) | Happened::New(task) => {
                let cpu = self.target(task.pid, record);
                self.turn(time, task.pid, Turn::Woken(cpu));
            }
            Happened::Migrated { pid, from, to } => {
                self.turn(time, *pid, Turn::Moved { from: *from, to: *to });
            }
            _ => {}
        }
    }

    /// Reads events that show when a timer is due, which task waits for a lock of the kernel, and page faults.
    fn kernel_tells(&mut self, time: u64, record: &[u8]) {
        if let Some(set) = self.set.filter(|set| self.events.id(record) == Some(set.id))
            && let (Some(timer), Some(expires)) = (set.timer.of(record), set.expires.of(record))
            && (self.due.len() < MOST_TIMERS || self.due.contains_key(&timer.cast_unsigned()))
        {
            self.due.insert(timer.cast_unsigned(), expires.cast_unsigned());
        }
        if let Some(id) = self.events.id(record)
            && let Some(at) = self.contention.iter().position(|one| *one == Some(id))
            && let Some(pid) = self.task_of(record)
        {
            self.contention(time, pid, at == 0);
        }
        if self.fault.is_some()
            && self.events.id(record) == self.fault
            && let Some(me) = self.task_of(record)
        {
            let mine =
                |scene: &&mut Scene| scene.window.pid == me && (scene.window.begin..=scene.window.end).contains(&time);
            self.at(time, time).filter(mine).for_each(|scene| scene.faults += 1);
        }
    }
}

impl Sink for Collect<'_> {
    fn event(&mut self, cpu: u32, time: u64, record: &[u8], happened: Option<&Happened>) {
        if let Some(happened) = happened {
            self.follow(time, cpu, record, happened);
        }
        self.kernel_tells(time, record);
        // The task that leaves writes the switch.
        let switches = matches!(happened, Some(Happened::Switch { .. }));
        let running = self.task_of(record).filter(|pid| *pid > 0 && !switches);
        let left = match happened {
            Some(Happened::Switch { from, .. }) => Some(from.pid),
            _ => running,
        };
        if let Some(pid) = left.filter(|_| !self.open.is_empty()) {
            self.had(time, cpu, pid);
        }
        let to_give_way =
            self.flags.filter(|_| !switches).and_then(|flags| flags.of(record)).map(|flags| flags & GIVE_WAY != 0);
        for scene in self.at(time, time) {
            scene.excerpt.push(time, cpu, record);
            if let Some(told) = to_give_way.filter(|_| scene.to_give_way.len() < MOST_SEGMENTS) {
                scene.to_give_way.push((time, cpu, told));
            }
            if let Some(Happened::Switch { from, .. }) = happened.filter(|_| scene.left.len() < MOST_SEGMENTS) {
                scene.left.push((time, cpu, from.pid, from.priority));
            }
            if let Some(pid) = running.filter(|_| scene.running.len() < MOST_SEGMENTS) {
                scene.running.push((time, cpu, pid));
            }
        }
    }

    fn off(&mut self, off: &Span<Off>) {
        for scene in self.at(off.begin, off.end).filter(|scene| scene.off.len() < MOST_SEGMENTS) {
            scene.off.push(*off);
        }
    }

    fn segment(&mut self, segment: &Segment) {
        for scene in self.at(segment.begin, segment.end).filter(|scene| scene.segments.len() < MOST_SEGMENTS) {
            scene.segments.push(*segment);
        }
    }
}

/// Returns the tasks that a job waited for.
fn awaited(scene: &Scene, names: &mut Names<'_>) -> Vec<Awaited> {
    let all = cut::awaited(scene);
    all.into_iter().map(|(begin, end, pid)| Awaited { begin, end, pid, name: names.task(pid).0 }).collect()
}
