//! What the core knows of its threads and timers, and how it answers their calls.

use super::{
    caller,
    calls::{self, Kind, Made},
    faults::Faults,
    filter::{Call, Listener},
    objects::Objects,
};
use latido_sys::clock::Clock::Monotonic;
use std::{
    collections::{HashMap, HashSet},
    io::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

/// The result of a call, or its error number.
pub type Answer = Result<i64, i32>;

/// When the core answers a call.
enum Reply {
    Now(Answer),
    /// At this time of the monotonic clock, in ns. A timer then says at this address how often it expired.
    At(u64, Option<u64>),
    /// Another thread's call brings the answer, or nothing does.
    Later,
}

/// The core.
pub struct Core {
    listener: Listener,
    state: Mutex<State>,
}

struct State {
    faults: Faults,
    /// The bound processes.
    bound: HashSet<i32>,
    threads: HashMap<i32, Thread>,
    /// The time of each timer, in ns; `None` while it is not set.
    timers: HashMap<u64, Option<u64>>,
    objects: Objects,
}

/// A thread that has called.
#[derive(Default)]
struct Thread {
    process: i32,
    is_member: bool,
    is_out_of_band: bool,
    /// Whether the core sends SIGDEBUG when the thread goes in-band.
    warns: bool,
    prio: u8,
    switches: u64,
    faults: u32,
    context_switches: u64,
    calls: u64,
    /// Sleeps since the thread asked for warnings.
    sleeps: u64,
}

impl Thread {
    /// Returns whether a fault belongs into this sleep.
    fn has(&self, planted: Option<u64>) -> bool {
        self.warns && planted == Some(self.sleeps)
    }

    /// Takes the thread in-band although it did not ask for that.
    fn relax(&mut self, tid: i32, cause: u8) {
        if std::mem::take(&mut self.is_out_of_band) {
            self.switches += 1;
            if self.warns {
                caller::warn(self.process, tid, cause);
            }
        }
    }
}

impl Core {
    /// Makes a core with these faults for the calls of a listener.
    pub fn new(listener: Listener, faults: Faults) -> Arc<Self> {
        let state = State {
            faults,
            bound: HashSet::new(),
            threads: HashMap::new(),
            timers: HashMap::new(),
            objects: Objects::default(),
        };
        Arc::new(Self { listener, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers calls for ever.
    pub fn answer_all(self: Arc<Self>) {
        while let Ok(call) = self.listener.next() {
            let mut state = self.state();
            state.note(call);
            match state.judge(call, &self.listener) {
                Reply::Now(answer) => self.listener.answer(call.id, answer),
                // Other threads call meanwhile.
                Reply::At(at_ns, ticks) => {
                    let core = Arc::clone(&self);
                    thread::spawn(move || core.wake(call, at_ns, ticks));
                    true
                }
                Reply::Later => true,
            };
        }
    }

    /// Lets a thread sleep until a time or a signal, and then answers its call.
    fn wake(&self, call: Call, at_ns: u64, ticks: Option<u64>) {
        let is_kicked = sleep(call.tid, at_ns);
        let mut state = self.state();
        let debug = state.faults.debug;
        let Some(thread) = state.threads.get_mut(&call.tid) else { return };
        if let Some((cause, _)) = debug.filter(|(_, at)| thread.has(Some(*at))) {
            caller::warn(thread.process, call.tid, cause);
        }
        let answer = match ticks {
            _ if is_kicked => {
                thread.relax(call.tid, calls::BY_SIGNAL);
                Err(libc::EINTR)
            }
            Some(address) => caller::write(call.tid, address, &1u64.to_ne_bytes()).map(|()| 8),
            None => Ok(0),
        };
        // The state is locked: what the thread does next comes after this.
        self.listener.answer(call.id, answer);
    }
}

/// Sleeps until a time in ns. Returns early, with `true`, when a signal waits for the thread: the core wakes it then.
fn sleep(tid: i32, at_ns: u64) -> bool {
    const LOOK_NS: u64 = 10_000_000;
    loop {
        let now = Monotonic.now();
        if now < at_ns {
            let _ = Monotonic.sleep_until(at_ns.min(now + LOOK_NS));
        }
        if caller::has_signal(tid) {
            return true;
        }
        if now >= at_ns {
            return false;
        }
    }
}

impl State {
    /// Notes a call in the journal and in the counts of its thread.
    fn note(&mut self, call: Call) {
        if let Some(journal) = &mut self.faults.journal {
            let line = format!("{} {}\n", call.tid, calls::name(call.number, call.arguments));
            let _ = journal.write_all(line.as_bytes());
        }
        let new = || Thread { process: caller::process(call.tid).unwrap_or(call.tid), ..Thread::default() };
        let thread = self.threads.entry(call.tid).or_insert_with(new);
        if thread.is_member && !self.faults.no_statistics {
            thread.calls += 1;
        }
    }

    /// Takes the thread where the call is made, and finds the answer.
    fn judge(&mut self, call: Call, listener: &Listener) -> Reply {
        let Some((kind, made)) = calls::known(call.number) else { return Reply::Now(Err(libc::ENOSYS)) };
        let Some(thread) = self.threads.get_mut(&call.tid) else { return Reply::Now(Err(libc::ESRCH)) };
        let is_bound = self.bound.contains(&thread.process);
        if kind != Kind::Bind && !is_bound || made == Made::OutOfBand && !thread.is_member {
            return Reply::Now(Err(libc::EPERM));
        }
        match made {
            Made::OutOfBand => thread.is_out_of_band = true,
            Made::InBand => thread.relax(call.tid, calls::BY_CALL),
            Made::Anywhere => {}
        }
        let [first, second, third, ..] = call.arguments;
        match kind {
            Kind::Bind => Reply::Now(self.bind(call.tid, first)),
            Kind::Enter => Reply::Now(self.enter(call)),
            Kind::SetMode => Reply::Now(self.set_mode(call)),
            Kind::Migrate => Reply::Now(self.migrate(call.tid, first)),
            Kind::Counts => Reply::Now(self.counts(call.tid, second)),
            Kind::ClockRead => Reply::Now(self.clock(call.tid, second)),
            Kind::Sleep => match caller::time(call.tid, third, 0) {
                Ok(at_ns) if (first, second) == MONOTONIC_UNTIL => self.sleep(call.tid, at_ns, None),
                Ok(_) => Reply::Now(Err(libc::EINVAL)),
                Err(error) => Reply::Now(Err(error)),
            },
            Kind::TimerCreate => Reply::Now(Ok(self.create_timer())),
            Kind::TimerSet | Kind::TimerSet64 => Reply::Now(self.set_timer(kind, call)),
            Kind::Read => match self.timers.get_mut(&first).map(Option::take) {
                Some(Some(at_ns)) => self.sleep(call.tid, at_ns, Some(second)),
                Some(None) => Reply::Later,
                None => Reply::Now(Err(libc::EBADF)),
            },
            Kind::Close => Reply::Now(self.timers.remove(&first).map(|_| 0).ok_or(libc::EBADF)),
            _ => self.objects.answer(kind, call, listener).map_or(Reply::Later, Reply::Now),
        }
    }

    /// Plants what belongs into this sleep.
    fn sleep(&mut self, tid: i32, at_ns: u64, ticks: Option<u64>) -> Reply {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.sleeps += 1;
            thread.context_switches += 1;
            thread.switches += u64::from(thread.has(self.faults.switch));
            thread.faults += u32::from(thread.has(self.faults.fault));
        }
        Reply::At(at_ns.saturating_sub(self.faults.early_ns), ticks)
    }

    /// struct cobalt_bindreq. The core tells its ABI and features before it refuses, unless it does not run.
    fn bind(&mut self, tid: i32, request: u64) -> Answer {
        const FEATURES: u32 = 0xa400_0000;
        if self.faults.stopped {
            return Err(libc::EAGAIN);
        }
        let (wanted, abi) = (caller::word(tid, request, 0)?, caller::word(tid, request, 4)?);
        let missing = wanted & !FEATURES;
        let told = [self.faults.abi, FEATURES, wanted & FEATURES, wanted, missing];
        caller::write(tid, request.wrapping_add(20), &told.map(u32::to_ne_bytes).concat())?;
        if missing != 0 {
            return Err(libc::EINVAL);
        }
        if abi != self.faults.abi {
            return Err(libc::ENOEXEC);
        }
        if self.faults.denied {
            return Err(libc::EPERM);
        }
        self.bound.extend(self.threads.get(&tid).map(|thread| thread.process));
        Ok(0)
    }

    /// struct sched_param_ex begins with the priority. A new member gets the place of its window and the news that it is one.
    fn enter(&mut self, call: Call) -> Answer {
        let [_, policy, parameters, window, is_new, _] = call.arguments;
        let prio = caller::word(call.tid, parameters, 0)?;
        let prio = u8::try_from(prio).ok().filter(|prio| (1..=99).contains(prio)).ok_or(libc::EINVAL)?;
        if i32::try_from(policy) != Ok(libc::SCHED_FIFO) {
            return Err(libc::EINVAL);
        }
        let thread = self.threads.get_mut(&call.tid).ok_or(libc::ESRCH)?;
        let promoted = !thread.is_member;
        if promoted && (window == 0 || self.faults.refuses) {
            return Err(if window == 0 { libc::ESRCH } else { libc::EAGAIN });
        }
        if promoted {
            caller::write(call.tid, window, &64u32.to_ne_bytes())?;
        }
        caller::write(call.tid, is_new, &i32::from(promoted).to_ne_bytes())?;
        (thread.is_member, thread.is_out_of_band, thread.prio) = (true, true, prio);
        // The core counts the call in which the thread became a member.
        thread.calls += u64::from(promoted && !self.faults.no_statistics);
        Ok(0)
    }

    fn set_mode(&mut self, call: Call) -> Answer {
        let [clear, set, old, ..] = call.arguments;
        let thread = self.threads.get_mut(&call.tid).ok_or(libc::ESRCH)?;
        let before = if thread.warns { calls::WARN as i32 } else { 0 };
        caller::write(call.tid, old, &before.to_ne_bytes())?;
        if set & calls::WARN != 0 {
            (thread.warns, thread.sleeps) = (true, 0);
        } else if clear & calls::WARN != 0 {
            thread.warns = false;
        }
        Ok(0)
    }

    /// The answer is 1 if the thread was somewhere else.
    fn migrate(&mut self, tid: i32, to: u64) -> Answer {
        let thread = self.threads.get_mut(&tid).ok_or(libc::ESRCH)?;
        let out_of_band = to == calls::PRIMARY;
        if out_of_band && !thread.is_member {
            return Err(libc::EPERM);
        }
        let was = std::mem::replace(&mut thread.is_out_of_band, out_of_band);
        // A thread that asks for it gets no warning.
        thread.switches += u64::from(was && !out_of_band);
        Ok(i64::from(was != out_of_band))
    }

    /// struct cobalt_threadstat.
    fn counts(&self, tid: i32, address: u64) -> Answer {
        let thread = self.threads.get(&tid).filter(|thread| thread.is_member).ok_or(libc::ESRCH)?;
        let ends_in_band = self.faults.in_band_end && thread.warns && thread.sleeps > 0;
        let status = if thread.is_out_of_band && !ends_in_band { 0 } else { calls::RELAXED };
        // A core without statistics counts nothing, but it knows the state of the thread.
        let counted = |count: u64| if self.faults.no_statistics { 0 } else { count };
        let longs = [1_000 * thread.context_switches, 0, thread.switches, thread.context_switches, thread.calls];
        let mut told = longs.map(|long| counted(long).to_ne_bytes()).concat();
        let faults = if self.faults.no_statistics { 0 } else { thread.faults };
        told.extend([status, faults, 0, thread.prio.into()].map(u32::to_ne_bytes).concat());
        told.resize(120, 0);
        caller::write(tid, address, &told)?;
        Ok(0)
    }

    fn clock(&self, tid: i32, address: u64) -> Answer {
        let ns = Monotonic.now() + if self.faults.another_clock { 3_600_000_000_000 } else { 0 };
        let time = [ns / 1_000_000_000, ns % 1_000_000_000];
        caller::write(tid, address, &time.map(u64::to_ne_bytes).concat()).map(|()| 0)
    }

    fn create_timer(&mut self) -> i64 {
        // No descriptor of Linux has this number.
        let number = 100_000 + self.timers.len() as u64;
        self.timers.insert(number, None);
        number.cast_signed()
    }

    /// struct __kernel_itimerspec: the interval, then the time. A time that has passed is an error, and a time of zero stops the timer.
    fn set_timer(&mut self, kind: Kind, call: Call) -> Answer {
        let [number, _, times, ..] = call.arguments;
        let timer = self.timers.get_mut(&number).ok_or(libc::EBADF)?;
        // 3.3 reads other times under the old number. 3.2 does not know the new one.
        match (kind, self.faults.abi) {
            (Kind::TimerSet, 19..) => return Ok(0),
            (Kind::TimerSet64, ..19) => return Err(libc::ENOSYS),
            _ => {}
        }
        let at_ns = caller::time(call.tid, times, 16)?;
        let has_passed = at_ns != 0 && at_ns <= Monotonic.now();
        *timer = (at_ns != 0 && !has_passed).then_some(at_ns);
        if has_passed { Err(libc::ETIMEDOUT) } else { Ok(0) }
    }
}

/// CLOCK_MONOTONIC and TIMER_ABSTIME.
const MONOTONIC_UNTIL: (u64, u64) = (libc::CLOCK_MONOTONIC as u64, libc::TIMER_ABSTIME as u64);
