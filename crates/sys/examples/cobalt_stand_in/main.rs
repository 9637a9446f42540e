//! A stand-in for Cobalt, the real-time core of Xenomai 3, for tests on a kernel without it: it runs a program and answers the program's
//! calls of the core.
//!
//! `cobalt_stand_in [FAULT ...] -- PROGRAM [ARGUMENT ...]` ends with the status of the program. `faults.rs` has the faults that it plants.
//! Status 77 means that this machine cannot run it.
//!
//! A seccomp filter hands each system call of the program and of its descendants with a number of the core to this process. The filter sees
//! no call of Linux, so a thread stays out of band although it makes one: only what a fault plants takes it in-band, a signal, and a call
//! of the core that is made in-band. The stand-in proves the order of calls and what latido does with the answers. It proves nothing about
//! times, and nothing about the layouts of a real core beyond those that it was written from (include/cobalt/uapi of Xenomai 3.3.1,
//! xenomai-ci/xenomai).

mod core;
mod filter;
mod objects;

use self::{core::Core, faults::Faults, filter::Listener};
use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, ExitCode, ExitStatus},
    sync::mpsc,
    thread,
};

/// The status when this machine cannot run the stand-in.
const CANNOT: u8 = 77;
/// The status for a wrong command line.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let mut faults: Vec<String> = std::env::args().skip(1).collect();
    let Some(at) = faults.iter().position(|word| word == "--") else { return failed(USAGE, faults::USAGE) };
    let program = faults.split_off(at).split_off(1);
    let faults = match Faults::of(&faults) {
        Ok(faults) => faults,
        Err(wrong) => return failed(USAGE, &wrong),
    };
    match stand_in(faults, program) {
        Ok(status) => ExitCode::from(status),
        Err(error) => failed(CANNOT, &error.to_string()),
    }
}

fn failed(status: u8, why: &str) -> ExitCode {
    eprintln!("cobalt_stand_in: {why}");
    ExitCode::from(status)
}

/// Runs the program and answers its calls until it has ended. Returns its status.
fn stand_in(faults: Faults, program: Vec<String>) -> io::Result<u8> {
    let (started, starting) = mpsc::channel();
    let (told, ended) = mpsc::channel();
    thread::spawn(move || match start(&program) {
        Ok((listener, mut child)) => {
            let _ = started.send(Ok(listener));
            let _ = told.send(child.wait());
        }
        Err(error) => _ = started.send(Err(error)),
    });
    let listener = starting.recv().map_err(io::Error::other)??;
    let core = Core::new(listener, faults);
    thread::spawn(move || core.answer_all());
    let status = ended.recv().map_err(io::Error::other)??;
    Ok(as_shells_do(status))
}

/// Filters the calls of this thread and starts the program, which inherits the filter.
fn start(program: &[String]) -> io::Result<(Listener, Child)> {
    let listener = filter::install()?;
    let (name, arguments) = program.split_first().ok_or_else(|| io::Error::other(faults::USAGE))?;
    let mut child = Command::new(name).args(arguments).spawn()?;
    // No program has memory there, so that this fails in any case.
    if caller::read::<1>(child.id().cast_signed(), 0) == Err(libc::EPERM) {
        child.kill()?;
        child.wait()?;
        return Err(io::Error::other("this process may not read the memory of its child"));
    }
    Ok((listener, child))
}

/// A shell reports a program that a signal has ended in this way, too.
fn as_shells_do(status: ExitStatus) -> u8 {
    let status = status.code().or_else(|| Some(128 + status.signal()?));
    status.and_then(|status| u8::try_from(status).ok()).unwrap_or(u8::MAX)
}

/// The faults that the stand-in plants, as its command line names them.
mod faults {
    use std::{fs::File, str::FromStr};

    /// How to call the program.
    pub const USAGE: &str = "[abi=ABI] [stopped] [denied] [refuses] [another-clock] [switch=N] [fault=N] [debug=CAUSE@N] \
                             [in-band-end] [no-statistics] [early=NS] [journal=FILE] -- PROGRAM [ARGUMENT ...]";

    /// What is wrong with the core. N counts the sleeps of each thread, timers included, while the core warns it: since its loop began.
    #[derive(Debug)]
    pub struct Faults {
        /// The core has this ABI. 18 and 19 are those of latido.
        pub abi: u32,
        /// Nobody has started the core.
        pub stopped: bool,
        /// The core does not accept the process.
        pub denied: bool,
        /// The core does not accept a thread.
        pub refuses: bool,
        /// The core has a clock that is not Linux's.
        pub another_clock: bool,
        /// The thread goes in-band and back in its Nth sleep, without a warning.
        pub switch: Option<u64>,
        /// The thread has a fault in its Nth sleep.
        pub fault: Option<u64>,
        /// The core sends SIGDEBUG with this cause in the Nth sleep.
        pub debug: Option<(u8, u64)>,
        /// The thread is in-band when it reads its counts after a sleep.
        pub in_band_end: bool,
        /// The core was built without statistics.
        pub no_statistics: bool,
        /// A sleep ends this much too early, in ns.
        pub early_ns: u64,
        /// Each call is a line of this file: the thread and the name of the call.
        pub journal: Option<File>,
    }

    impl Faults {
        /// Reads the words of a command line.
        pub fn of(words: &[String]) -> Result<Self, String> {
            let mut faults = Self {
                abi: 19,
                stopped: false,
                denied: false,
                refuses: false,
                another_clock: false,
                switch: None,
                fault: None,
                debug: None,
                in_band_end: false,
                no_statistics: false,
                early_ns: 0,
                journal: None,
            };
            words.iter().try_for_each(|word| faults.add(word))?;
            Ok(faults)
        }

        fn add(&mut self, word: &str) -> Result<(), String> {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            match name {
                "abi" => self.abi = number(word, value)?,
                "stopped" => self.stopped = true,
                "denied" => self.denied = true,
                "refuses" => self.refuses = true,
                "another-clock" => self.another_clock = true,
                "switch" => self.switch = Some(number(word, value)?),
                "fault" => self.fault = Some(number(word, value)?),
                "debug" => {
                    let (cause, at) = value.split_once('@').ok_or_else(|| wrong(word))?;
                    self.debug = Some((number(word, cause)?, number(word, at)?));
                }
                "in-band-end" => self.in_band_end = true,
                "no-statistics" => self.no_statistics = true,
                "early" => self.early_ns = number(word, value)?,
                "journal" => {
                    let file = File::options().create(true).append(true).open(value);
                    self.journal = Some(file.map_err(|error| format!("{word}: {error}"))?);
                }
                _ => return Err(wrong(word)),
            }
            Ok(())
        }
    }

    fn number<T: FromStr>(word: &str, value: &str) -> Result<T, String> {
        value.parse().map_err(|_| wrong(word))
    }

    fn wrong(word: &str) -> String {
        format!("`{word}`: expected {USAGE}")
    }
}

/// The calls of the core: their numbers, where each is made, and their names in the journal. They are written here once more, from
/// include/cobalt/uapi/syscall.h and kernel/cobalt/posix/syscall_entries.h: a wrong number in latido shall not go unnoticed.
mod calls {
    /// `__COBALT_SYSCALL_BIT`: the number of the first call.
    pub const FIRST: u32 = 0x1000_0000;
    /// The number after the last call.
    pub const BEYOND: u32 = FIRST + 0x100;
    /// `sigdebug_marker` of include/cobalt/uapi/signal.h.
    pub const MARKER: u32 = 0xfccf_0000;
    /// `XNWARN` of include/cobalt/uapi/kernel/thread.h.
    pub const WARN: u64 = 0x4000;
    /// `XNRELAX` of the same file.
    pub const RELAXED: u32 = 0x80;
    /// `COBALT_PRIMARY`.
    pub const PRIMARY: u64 = 1;
    /// `SIGDEBUG_MIGRATE_SIGNAL` and `SIGDEBUG_MIGRATE_SYSCALL`.
    pub const BY_SIGNAL: u8 = 1;
    pub const BY_CALL: u8 = 2;

    /// Where the core makes a call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Made {
        /// Where the thread is: `current`.
        Anywhere,
        /// Out of band: `primary`. The core takes its threads there first, and refuses other threads.
        OutOfBand,
        /// In-band: `lostage`. The thread stays there.
        InBand,
    }

    /// What a call does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        Bind,
        SetMode,
        Enter,
        Counts,
        SemInit,
        SemDestroy,
        SemPost,
        SemWait,
        MutexInit,
        MutexDestroy,
        MutexLock,
        MutexUnlock,
        TimerCreate,
        /// `timerfd_settime`: its times have 64 bits only in 3.2.
        TimerSet,
        Close,
        Read,
        Migrate,
        ClockRead,
        Sleep,
        /// `timerfd_settime64`, from 3.3 on.
        TimerSet64,
    }

    /// Number, meaning, place, name.
    const CALLS: &[(u32, Kind, Made, &str)] = &[
        (0, Kind::Bind, Made::InBand, "bind"),
        (3, Kind::SetMode, Made::OutOfBand, "mode"),
        (7, Kind::Enter, Made::Anywhere, "enter"),
        (9, Kind::Counts, Made::Anywhere, "counts"),
        (10, Kind::SemInit, Made::Anywhere, "sem_init"),
        (11, Kind::SemDestroy, Made::Anywhere, "sem_destroy"),
        (12, Kind::SemPost, Made::Anywhere, "sem_post"),
        (13, Kind::SemWait, Made::OutOfBand, "sem_wait"),
        (26, Kind::MutexInit, Made::Anywhere, "mutex_init"),
        (28, Kind::MutexDestroy, Made::Anywhere, "mutex_destroy"),
        (29, Kind::MutexLock, Made::OutOfBand, "mutex_lock"),
        (32, Kind::MutexUnlock, Made::OutOfBand, "mutex_unlock"),
        (57, Kind::TimerCreate, Made::InBand, "timer"),
        (58, Kind::TimerSet, Made::OutOfBand, "set"),
        (79, Kind::Close, Made::InBand, "close"),
        (81, Kind::Read, Made::OutOfBand, "read"),
        (88, Kind::Migrate, Made::Anywhere, "migrate"),
        (103, Kind::ClockRead, Made::Anywhere, "clock"),
        (105, Kind::Sleep, Made::OutOfBand, "sleep"),
        (118, Kind::TimerSet64, Made::OutOfBand, "set"),
    ];

    /// Returns what the call with this number does, and where.
    pub fn known(number: u32) -> Option<(Kind, Made)> {
        CALLS.iter().find(|call| call.0 == number).map(|call| (call.1, call.2))
    }

    /// Returns the name of a call in the journal.
    pub fn name(number: u32, arguments: [u64; 6]) -> String {
        let [first, second, ..] = arguments;
        match known(number) {
            Some((Kind::SetMode, _)) if second & WARN != 0 => "warn".into(),
            Some((Kind::SetMode, _)) if first & WARN != 0 => "quiet".into(),
            Some((Kind::Migrate, _)) => if first == PRIMARY { "harden" } else { "relax" }.into(),
            Some(_) => CALLS.iter().find(|call| call.0 == number).map_or_else(String::new, |call| call.3.into()),
            None => format!("unknown-{number}"),
        }
    }
}

/// The memory of a calling thread, its process, and the signal that the core sends it.
mod caller {
    use super::calls::MARKER;
    use std::{fs, io};

    /// Reads bytes from the memory of a thread. An error is the number of the kernel.
    pub fn read<const N: usize>(tid: i32, address: u64) -> Result<[u8; N], i32> {
        let mut bytes = [0u8; N];
        let own = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: N };
        let other = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: N };
        // SAFETY: the own bytes are writable for their length. The kernel checks the address in the other process.
        let got = unsafe { libc::process_vm_readv(tid, &raw const own, 1, &raw const other, 1, 0) };
        match usize::try_from(got) {
            Ok(got) if got == N => Ok(bytes),
            Ok(_) => Err(libc::EFAULT),
            Err(_) => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EFAULT)),
        }
    }

    /// Writes bytes to the memory of a thread.
    pub fn write(tid: i32, address: u64, bytes: &[u8]) -> Result<(), i32> {
        let own = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let other = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
        // SAFETY: the kernel only reads the own bytes. It checks the address in the other process.
        let put = unsafe { libc::process_vm_writev(tid, &raw const own, 1, &raw const other, 1, 0) };
        if usize::try_from(put) == Ok(bytes.len()) { Ok(()) } else { Err(libc::EFAULT) }
    }

    /// Reads a number of 32 bits from the memory of a thread, `at` bytes after an address.
    pub fn word(tid: i32, address: u64, at: u64) -> Result<u32, i32> {
        read(tid, address.wrapping_add(at)).map(u32::from_ne_bytes)
    }

    /// Reads a time from the memory of a thread, `at` bytes after an address, in ns: seconds and nanoseconds of 64 bits.
    pub fn time(tid: i32, address: u64, at: u64) -> Result<u64, i32> {
        let bytes: [u8; 16] = read(tid, address.wrapping_add(at))?;
        let both = u128::from_ne_bytes(bytes);
        let (seconds, ns) = (both as u64, (both >> 64) as u64);
        Ok(seconds.wrapping_mul(1_000_000_000).wrapping_add(ns))
    }

    /// Returns the process of a thread.
    pub fn process(tid: i32) -> Option<i32> {
        status(tid, "Tgid:")?.parse().ok()
    }

    /// Returns whether a signal waits for a thread that does not block it.
    pub fn has_signal(tid: i32) -> bool {
        let mask = |field| status(tid, field).and_then(|text| u64::from_str_radix(&text, 16).ok()).unwrap_or(0);
        mask("SigPnd:") & !mask("SigBlk:") != 0
    }

    /// Returns a field of proc_pid_status(5).
    fn status(tid: i32, field: &str) -> Option<String> {
        let text = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        Some(text.lines().find_map(|line| line.strip_prefix(field))?.trim().to_owned())
    }

    /// siginfo_t of a queued signal on 64 bits.
    #[repr(C)]
    struct Queued {
        signal: i32,
        errno: i32,
        code: i32,
        spare: i32,
        pid: i32,
        uid: u32,
        value: u64,
        rest: [u64; 12],
    }

    const _: () = assert!(size_of::<Queued>() == size_of::<libc::siginfo_t>());

    /// Sends a thread SIGDEBUG with a cause.
    pub fn warn(process: i32, tid: i32, cause: u8) {
        let told = Queued {
            signal: libc::SIGXCPU,
            errno: 0,
            code: libc::SI_QUEUE,
            spare: 0,
            pid: std::process::id().cast_signed(),
            uid: 0,
            value: u64::from(MARKER | u32::from(cause)),
            rest: [0; 12],
        };
        // SAFETY: the structure has the size and layout of siginfo_t, and lives through the call. A thread that has died gets no signal.
        unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, tid, libc::SIGXCPU, &raw const told) };
    }
}
