//! One message to the kernel's routing socket and its acknowledgement (netlink(7)).

use super::errno;
use crate::Errno;
use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

/// Sends a whole message that asks for an acknowledgement, and takes that.
///
/// # Errors
/// What the kernel acknowledges with.
pub(super) fn ask(message: &[u8]) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    let socket = Errno::check(unsafe {
        libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE)
    })?;
    // SAFETY: the descriptor was just made, and nobody else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut answer = [0_u8; 512];
    // SAFETY: both buffers are as long as is said, and live through their calls.
    let length = unsafe {
        let sent = libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0);
        if sent < 0 { sent } else { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) }
    };
    if length < 0 {
        return Err(errno(&io::Error::last_os_error()));
    }
    // An acknowledgement is a header of sixteen bytes and an error, negative; zero is none.
    let number = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map_or(-libc::EIO, i32::from_ne_bytes);
    if number == 0 { Ok(()) } else { Err(Errno::from_raw(-number)) }
}
