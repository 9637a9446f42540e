//! The filter that hands the calls of the core to this process, and the answers to them: seccomp_unotify(2).

use super::calls::{BEYOND, FIRST};
use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

/// AUDIT_ARCH_X86_64 of linux/audit.h.
const X86_64: u32 = 0xc000_003e;

/// Where a filter finds the number of the call and the architecture: struct seccomp_data.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// The end of the filter that receives the calls.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A call of the core. Its thread waits for the answer.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The name of this call, for its answer.
    pub id: u64,
    /// The calling thread.
    pub tid: i32,
    /// The number of the call in the core.
    pub number: u32,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// Filters the calls of the calling thread and of each process that it starts.
pub fn install() -> io::Result<Listener> {
    if !cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
        return Err(io::Error::other("the stand-in knows only the calls of x86_64"));
    }
    let jump =
        |code: u32, k, jt, jf| libc::sock_filter { code: (libc::BPF_JMP | code | libc::BPF_K) as u16, jt, jf, k };
    let plain = |code: u32, k| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let mut filter = [
        plain(load, ARCHITECTURE),
        jump(libc::BPF_JEQ, X86_64, 0, 4),
        plain(load, NUMBER),
        jump(libc::BPF_JGE, FIRST, 0, 2),
        jump(libc::BPF_JGE, BEYOND, 1, 0),
        plain(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_USER_NOTIF),
        plain(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: takes numbers only. Without it the kernel demands CAP_SYS_ADMIN for a filter.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // The second flag came with Linux 5.19. Without it a signal ends a call while this process still writes to the caller's memory.
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the kernel copies the program and its seven instructions, which live through the call.
    let listener = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
    let listener = i32::try_from(listener).map_err(io::Error::other)?;
    if listener == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and no other code has it. A started program does not inherit it.
    Ok(Listener(unsafe { OwnedFd::from_raw_fd(listener) }))
}

impl Listener {
    /// Waits for a call.
    pub fn next(&self) -> io::Result<Call> {
        loop {
            // SAFETY: zeros are a valid value, and the kernel demands them.
            let mut told: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the structure has the type of the request, is writable, and lives through the call.
            if unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut told) } == 0 {
                let number = told.data.nr.cast_unsigned().wrapping_sub(FIRST);
                return Ok(Call { id: told.id, tid: told.pid.cast_signed(), number, arguments: told.data.args });
            }
            match io::Error::last_os_error() {
                // The caller has died, or a signal came.
                error if [Some(libc::ENOENT), Some(libc::EINTR)].contains(&error.raw_os_error()) => {}
                error => return Err(error),
            }
        }
    }

    /// Gives a call its result or its error number. Returns whether the thread still waits for it: its death ends the wait.
    pub fn answer(&self, id: u64, answer: Result<i64, i32>) -> bool {
        let (val, error) = answer.map_or_else(|error| (0, -error), |result| (result, 0));
        let answer = libc::seccomp_notif_resp { id, val, error, flags: 0 };
        // SAFETY: the structure has the type of the request and lives through the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) == 0 }
    }
}
