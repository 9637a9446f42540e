//! Network devices (netdevice(7)).

use crate::Errno;
use std::{mem, os::fd::AsRawFd, os::unix::net::UnixDatagram};

/// Brings a device up, as `ip link set NAME up` does.
///
/// # Errors
/// `ENODEV` where there is none of that name, `EPERM`, and `EINVAL` for a name of more than 15 bytes.
pub fn up(name: &str) -> Result<(), Errno> {
    // Any socket will do: the device is named in the request.
    let socket =
        UnixDatagram::unbound().map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EINVAL)))?;
    // SAFETY: a structure of plain numbers, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(Errno::EINVAL);
    }
    request.ifr_name.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
    // SAFETY: the request is whole, and lives through the call.
    Errno::check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &mut request) })?;
    // SAFETY: the call before has filled in this member of the union.
    unsafe { request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short };
    // SAFETY: as the first.
    Errno::check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &mut request) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_is_refused() {
        assert_eq!(up("no-such-device0"), Err(Errno::from_raw(libc::ENODEV)));
        assert_eq!(up("a name of many letters"), Err(Errno::EINVAL));
    }
}
