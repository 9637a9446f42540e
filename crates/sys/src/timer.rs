//! Timers that a thread sets and waits for: descriptors of timerfd_create(2), and POSIX timers with a signal.

use crate::{Errno, clock::Clock};
use std::{
    mem::MaybeUninit,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

const SECOND: u64 = 1_000_000_000;

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / SECOND) as libc::time_t, tv_nsec: (ns % SECOND) as _ }
}

const NEVER: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// A timer descriptor.
#[derive(Debug)]
pub struct TimerDescriptor(OwnedFd);

impl TimerDescriptor {
    /// Creates a timer on a clock, not set.
    ///
    /// # Errors
    /// `EINVAL` for a clock that timer descriptors do not support: [`Clock::Tai`].
    pub fn new(clock: Clock) -> Result<Self, Errno> {
        // SAFETY: takes numbers only.
        let fd = Errno::check(unsafe { libc::timerfd_create(clock.id(), libc::TFD_CLOEXEC) })?;
        // SAFETY: the descriptor was just opened and no other code has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sets the timer to expire once, at a time in ns. A time that has passed expires at once.
    ///
    /// # Errors
    /// A correct kernel returns no error here.
    #[inline(always)]
    pub fn set(&self, at_ns: u64) -> Result<(), Errno> {
        // Zero would stop the timer.
        self.arm(libc::TFD_TIMER_ABSTIME, libc::itimerspec { it_interval: NEVER, it_value: timespec(at_ns.max(1)) })
    }

    /// Sets the timer to expire repeatedly, the first time one period from now.
    ///
    /// # Errors
    /// A correct kernel returns no error here.
    pub fn repeat(&self, period_ns: u64) -> Result<(), Errno> {
        let period = timespec(period_ns.max(1));
        self.arm(0, libc::itimerspec { it_interval: period, it_value: period })
    }

    #[inline(always)]
    fn arm(&self, flags: libc::c_int, times: libc::itimerspec) -> Result<(), Errno> {
        // SAFETY: the structure outlives the call, and the call does not return the old value.
        Errno::check(unsafe { libc::timerfd_settime(self.0.as_raw_fd(), flags, &times, std::ptr::null_mut()) })?;
        Ok(())
    }

    /// Lets [`TimerDescriptor::wait`] return at once whether the clock was stepped since this call (timerfd_create(2): `ECANCELED`).
    #[cfg(test)]
    pub(crate) fn watch_for_steps(&self) -> Result<(), Errno> {
        let long_ago = libc::itimerspec { it_interval: NEVER, it_value: timespec(1) };
        self.arm(libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET, long_ago)
    }

    /// Waits until the timer has expired. Returns how often it expired since the last set or wait.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self) -> Result<u64, Errno> {
        let mut expired = 0u64;
        // SAFETY: the number is writable for its eight bytes.
        let got = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut expired).cast(), size_of::<u64>()) };
        if got == -1 { Err(Errno::last()) } else { Ok(expired) }
    }
}

/// A POSIX timer that sends a signal to the thread that created it. That thread blocks the signal and waits for it.
#[derive(Debug)]
pub struct SignalTimer {
    timer: libc::timer_t,
    signal: libc::sigset_t,
}

impl SignalTimer {
    /// Creates a timer on a clock, not set, for the calling thread. From now on the calling thread has the signal blocked.
    ///
    /// # Errors
    /// `EINVAL` for a clock without timers, `EAGAIN` when the kernel has no room.
    pub fn new(clock: Clock) -> Result<Self, Errno> {
        let number = libc::SIGRTMIN();
        let mut signal = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the first call fills the set; the later calls change it and read it.
        let signal = unsafe {
            libc::sigemptyset(signal.as_mut_ptr());
            libc::sigaddset(signal.as_mut_ptr(), number);
            libc::pthread_sigmask(libc::SIG_BLOCK, signal.as_ptr(), std::ptr::null_mut());
            signal.assume_init()
        };
        // SAFETY: all-zero is a valid sigevent.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = number;
        event.sigev_notify_thread_id = crate::sched::gettid();
        let mut timer = MaybeUninit::<libc::timer_t>::uninit();
        // SAFETY: both structures outlive the call, which fills the timer if it succeeds.
        Errno::check(unsafe { libc::timer_create(clock.id(), &mut event, timer.as_mut_ptr()) })?;
        // SAFETY: the call succeeded.
        Ok(Self { timer: unsafe { timer.assume_init() }, signal })
    }

    /// Sets the timer to expire once, at a time in ns. A time that has passed expires at once.
    ///
    /// # Errors
    /// A correct kernel returns no error here.
    #[inline(always)]
    pub fn set(&self, at_ns: u64) -> Result<(), Errno> {
        self.arm(timespec(at_ns.max(1)))
    }

    #[inline(always)]
    fn arm(&self, value: libc::timespec) -> Result<(), Errno> {
        let times = libc::itimerspec { it_interval: NEVER, it_value: value };
        // SAFETY: the timer lives as long as this value; the structure outlives the call, and the call does not return the old value.
        Errno::check(unsafe { libc::timer_settime(self.timer, libc::TIMER_ABSTIME, &times, std::ptr::null_mut()) })?;
        Ok(())
    }

    /// Waits for the timer's signal.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran: the timer is then stopped, and no signal of it is pending.
    #[inline(always)]
    pub fn wait(&self) -> Result<(), Errno> {
        // SAFETY: the set is readable, and the call does not return the signal's information.
        let taken = unsafe { libc::sigwaitinfo(&self.signal, std::ptr::null_mut()) };
        if taken == -1 { Err(self.interrupted()) } else { Ok(()) }
    }

    /// Stops the timer and discards a pending signal. The next wait must not take that signal for its own.
    #[cold]
    #[inline(never)]
    fn interrupted(&self) -> Errno {
        let error = Errno::last();
        let _ = self.arm(NEVER);
        // SAFETY: as in `wait`, without waiting.
        while unsafe { libc::sigtimedwait(&self.signal, std::ptr::null_mut(), &NEVER) } != -1 {}
        error
    }
}

impl Drop for SignalTimer {
    fn drop(&mut self) {
        // SAFETY: the timer was created, and is deleted once.
        unsafe { libc::timer_delete(self.timer) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[test]
    fn a_descriptor_wakes_no_earlier_than_asked_and_counts() {
        for clock in [Clock::Monotonic, Clock::Realtime, Clock::Boottime] {
            let timer = TimerDescriptor::new(clock).unwrap();
            let due = clock.now() + 1_000_000;
            timer.set(due).unwrap();
            assert_eq!((timer.wait(), clock.now() >= due), (Ok(1), true), "{clock:?}");
            timer.set(0).unwrap();
            assert_eq!(timer.wait(), Ok(1), "a time that has passed");
        }
        let timer = TimerDescriptor::new(Clock::Monotonic).unwrap();
        timer.repeat(100_000).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(timer.wait().unwrap() > 5);
        assert_eq!(TimerDescriptor::new(Clock::Tai).err(), Some(Errno::EINVAL));
    }

    #[test]
    fn a_signal_wakes_no_earlier_than_asked() {
        for clock in Clock::ALL {
            let timer = SignalTimer::new(clock).unwrap();
            let due = clock.now() + 1_000_000;
            timer.set(due).unwrap();
            assert_eq!((timer.wait(), clock.now() >= due), (Ok(()), true), "{clock:?}");
            timer.set(0).unwrap();
            assert_eq!(timer.wait(), Ok(()), "a time that has passed");
        }
    }

    /// After an interrupted wait, a signal of an expired time must not end the next wait, which waits for its own time.
    #[test]
    fn a_signal_left_over_is_not_taken_for_the_next() {
        crate::signal::interrupt_only(libc::SIGUSR1).unwrap();
        let timer = SignalTimer::new(Clock::Monotonic).unwrap();
        let tid = crate::sched::gettid();
        // An hour is so long that the timer's own signal cannot come first on any machine.
        timer.set(Clock::Monotonic.now() + 3_600 * SECOND).unwrap();
        let back = AtomicBool::new(false);
        let waited = std::thread::scope(|scope| {
            scope.spawn(|| {
                // The thread may not be waiting yet when the first signal comes.
                while !back.load(Relaxed) {
                    crate::signal::send_to_thread(tid, libc::SIGUSR1).unwrap();
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
            let waited = timer.wait();
            back.store(true, Relaxed);
            waited
        });
        assert_eq!(waited, Err(Errno::EINTR));
        timer.set(Clock::Monotonic.now()).unwrap();
        let due = Clock::Monotonic.now() + 50_000_000;
        timer.interrupted();
        timer.set(due).unwrap();
        assert_eq!((timer.wait(), Clock::Monotonic.now() >= due), (Ok(()), true));
    }
}
