//! Sends one message to the kernel's routing socket and reads its acknowledgement (netlink(7)).

use super::errno;
use crate::Errno;
use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

/// Sends a complete message that requests an acknowledgement, and reads the acknowledgement.
///
/// # Errors
/// The error that the kernel's acknowledgement contains.
pub(super) fn ask(message: &[u8]) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    let socket = Errno::check(unsafe {
        libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE)
    })?;
    // SAFETY: the descriptor was just created, and no other code has it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut answer = [0_u8; 512];
    // SAFETY: both buffers have the stated lengths, and live through their calls.
    let length = unsafe {
        let sent = libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0);
        if sent < 0 { sent } else { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) }
    };
    if length < 0 {
        return Err(errno(&io::Error::last_os_error()));
    }
    // An acknowledgement is a header of sixteen bytes and a negative error number; zero means success.
    let number = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map_or(-libc::EIO, i32::from_ne_bytes);
    if number == 0 { Ok(()) } else { Err(Errno::from_raw(-number)) }
}
