//! When a packet arrived, by the kernel's clock and the network card's own clock (SO_TIMESTAMPING;
//! Documentation/networking/timestamping.rst).

use super::errno;
use crate::{Errno, clock::Clock};
use std::{io, mem, net::UdpSocket, os::fd::AsRawFd, time::Duration};

/// Which timestamps are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// The kernel's, taken when the driver passes the packet on: CLOCK_REALTIME.
    Software,
    /// The kernel's, and those of the card's own clock, which is its PHC.
    Hardware,
}

/// A packet that arrived. Times are ns of CLOCK_REALTIME; the card's stamp is in ns of the card's clock. 0 means no stamp, as in the
/// kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// How many of the packet's bytes are in the buffer.
    pub bytes: usize,
    /// The kernel's stamp.
    pub software_ns: u64,
    /// The card's stamp.
    pub hardware_ns: u64,
    /// When the call returned.
    pub returned_ns: u64,
}

/// A receiver of packets from a socket, for a loop that uses no library.
#[derive(Debug)]
pub struct Arrivals(UdpSocket);

impl Arrivals {
    /// Wraps a socket. Each receive waits at most `within`. `stamps` selects the timestamps, if any.
    ///
    /// # Errors
    /// The kernel does not support the timestamps.
    pub fn at(socket: UdpSocket, within: Duration, stamps: Option<Stamps>) -> Result<Self, Errno> {
        socket.set_read_timeout(Some(within)).map_err(|error| errno(&error))?;
        stamps.map_or(Ok(()), |stamps| stamped(&socket, stamps))?;
        Ok(Self(socket))
    }

    /// Waits for a packet.
    ///
    /// # Errors
    /// See [`receive`].
    #[inline(always)]
    pub fn next(&self, buffer: &mut [u8]) -> Result<Arrival, Errno> {
        receive(&self.0, buffer)
    }
}

/// Requests timestamps for every packet that arrives at a socket.
///
/// # Errors
/// The kernel does not support the timestamps.
pub fn stamped(socket: &UdpSocket, stamps: Stamps) -> Result<(), Errno> {
    let mut flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    if stamps == Stamps::Hardware {
        flags |= libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
    }
    // SAFETY: the option is a number of the stated length, and lives through the call.
    Errno::check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            mem::size_of_val(&flags) as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Waits for a packet. It allocates nothing.
///
/// # Errors
/// As recvmsg(2): `EAGAIN` when the socket's timeout has passed, `EINTR`.
pub fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Result<Arrival, Errno> {
    #[repr(align(8))]
    struct Control([u8; 256]);
    let mut control = Control([0; 256]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: a structure of numbers and pointers, for which zeros are a value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: all that the message points to has the stated lengths, and lives through the call.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let returned_ns = Clock::Realtime.now();
    if length < 0 {
        return Err(errno(&io::Error::last_os_error()));
    }
    let mut arrival = Arrival { bytes: length.cast_unsigned(), returned_ns, ..Arrival::default() };
    // SAFETY: the macros walk the control data that the kernel wrote, within the length that it set.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(header) = at.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) {
                let stamps = libc::CMSG_DATA(at).cast::<[libc::timespec; 3]>().read_unaligned();
                (arrival.software_ns, arrival.hardware_ns) = (ns(stamps[0]), ns(stamps[2]));
            }
            at = libc::CMSG_NXTHDR(&raw const message, at);
        }
    }
    Ok(arrival)
}

fn ns(time: libc::timespec) -> u64 {
    // A long has 32 bits on other processors.
    let [seconds, rest] =
        [u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec)].map(|part| part.unwrap_or_default());
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer::TimerDescriptor;

    /// The kernel's stamp is between the sending and the return, unless the clock was stepped meanwhile.
    #[test]
    fn what_arrives_has_the_kernels_stamp() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        stamped(&socket, Stamps::Hardware).unwrap();
        let mut buffer = [0; 64];
        let steps = TimerDescriptor::new(Clock::Realtime).unwrap();
        // After the machine's first request for stamps, the kernel switches them on later, in another thread.
        loop {
            // This fails if the clock is stepped at this very moment.
            let watched = steps.watch_for_steps();
            let before = Clock::Realtime.now();
            socket.send_to(b"abc", socket.local_addr().unwrap()).unwrap();
            let arrival = receive(&socket, &mut buffer).unwrap();
            assert_eq!((arrival.bytes, arrival.hardware_ns), (3, 0));
            if arrival.software_ns != 0 && watched.and_then(|()| steps.wait()).is_ok() {
                assert!(before <= arrival.software_ns && arrival.software_ns <= arrival.returned_ns, "{arrival:?}");
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
