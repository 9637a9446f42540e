//! Network devices (netdevice(7)).

mod netlink;
mod stamp;
mod veth;

use crate::{Errno, layout::layout};
use std::{
    fs::File,
    io, mem,
    net::{Ipv4Addr, UdpSocket},
    os::fd::AsRawFd,
};

pub use stamp::{Arrival, Arrivals, Stamps, receive, stamped};
pub use veth::pair;

/// Brings a device up, as `ip link set NAME up` does.
///
/// # Errors
/// `ENODEV` when no device has that name, `EPERM`, and `EINVAL` for a name of more than 15 bytes.
pub fn up(name: &str) -> Result<(), Errno> {
    let mut request = request(name)?;
    asked(libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: the previous call has filled in this field of the union.
    unsafe { request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short };
    asked(libc::SIOCSIFFLAGS, &mut request)
}

/// Gives a device an address, with the netmask of a network of 256 addresses.
///
/// # Errors
/// As [`up`].
pub fn address(name: &str, address: Ipv4Addr) -> Result<(), Errno> {
    for (call, address) in [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, Ipv4Addr::new(255, 255, 255, 0))] {
        let mut request = request(name)?;
        // SAFETY: a structure of plain numbers, for which zeros are a value.
        let mut to: libc::sockaddr_in = unsafe { mem::zeroed() };
        to.sin_family = libc::AF_INET as libc::sa_family_t;
        to.sin_addr.s_addr = u32::from(address).to_be();
        // SAFETY: both are sixteen bytes of plain numbers, and the kernel reads a `sockaddr` there as a `sockaddr_in` (netdevice(7)).
        request.ifr_ifru.ifru_addr = unsafe { mem::transmute::<libc::sockaddr_in, libc::sockaddr>(to) };
        asked(call, &mut request)?;
    }
    Ok(())
}

/// Builds a request for the device of this name.
fn request(name: &str) -> Result<libc::ifreq, Errno> {
    // SAFETY: a structure of plain numbers, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(Errno::EINVAL);
    }
    request.ifr_name.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
    Ok(request)
}

fn asked(call: libc::Ioctl, request: &mut libc::ifreq) -> Result<(), Errno> {
    // The request names the device. A request about an address needs a socket of the address's own family.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(|error| errno(&error))?;
    // SAFETY: the request is complete, and lives through the call.
    Errno::check(unsafe { libc::ioctl(socket.as_raw_fd(), call, request) }).map(drop)
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EINVAL))
}

/// Moves the calling thread into a new, empty network namespace. Returns a descriptor of that namespace, which lives as long as the thread
/// or the descriptor.
///
/// # Errors
/// `EPERM`, and `EINVAL` from a kernel without network namespaces.
pub fn leave() -> Result<File, Errno> {
    // SAFETY: takes a number only, and changes no descriptor and no memory.
    Errno::check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    File::open("/proc/thread-self/ns/net").map_err(|error| errno(&error))
}

/// The request that moves a device: a header (netlink(7)), a device (rtnetlink(7)), and one attribute.
#[repr(C)]
struct Moving {
    header: libc::nlmsghdr,
    family: u8,
    padding: u8,
    kind: u16,
    index: i32,
    flags: u32,
    change: u32,
    length: u16,
    attribute: u16,
    namespace: i32,
}

// include/uapi/linux/netlink.h: struct nlmsghdr is 16 bytes. include/uapi/linux/rtnetlink.h: struct ifinfomsg is the next 16 bytes, struct
// rtattr the next 4, and its value follows directly. All sizes are fixed; they are the same for 64 and 32 bits.
layout!(Moving: 40, align 4, {
    header: 0,
    family: 16,
    padding: 17,
    kind: 18,
    index: 20,
    flags: 24,
    change: 28,
    length: 32,
    attribute: 34,
    namespace: 36,
});

/// Moves a device to another network namespace, as `ip link set NAME netns` does. It comes back when that namespace ends.
///
/// # Errors
/// `ENODEV` when no device has that name, `EPERM`.
pub fn give(name: &str, namespace: &File) -> Result<(), Errno> {
    let mut wanted = request(name)?;
    asked(libc::SIOCGIFINDEX, &mut wanted)?;
    let moving = Moving {
        header: libc::nlmsghdr {
            nlmsg_len: mem::size_of::<Moving>() as u32,
            nlmsg_type: libc::RTM_NEWLINK,
            nlmsg_flags: (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16,
            nlmsg_seq: 1,
            nlmsg_pid: 0,
        },
        family: libc::AF_UNSPEC as u8,
        padding: 0,
        kind: 0,
        // SAFETY: the previous call has filled in this field of the union.
        index: unsafe { wanted.ifr_ifru.ifru_ifindex },
        flags: 0,
        change: 0,
        length: 8,
        attribute: libc::IFLA_NET_NS_FD,
        namespace: namespace.as_raw_fd(),
    };
    // SAFETY: plain numbers without padding between them, all of them set.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const moving).cast::<u8>(), mem::size_of::<Moving>()) };
    netlink::ask(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_is_refused() {
        assert_eq!(up("no-such-device0"), Err(Errno::from_raw(libc::ENODEV)));
        assert_eq!(up("a name of many letters"), Err(Errno::EINVAL));
        assert_eq!(address("no-such-device0", Ipv4Addr::LOCALHOST), Err(Errno::from_raw(libc::ENODEV)));
    }

    /// In a new namespace a thread sees a loopback that is down; the thread can give it an address and bring it up. A thread cannot move a
    /// device that belongs permanently to its namespace, as the loopback does.
    #[test]
    fn a_thread_leaves_for_a_network_of_its_own() {
        let told = std::thread::spawn(|| {
            let Ok(other) = leave() else { return None };
            leave().unwrap();
            let reached = || std::net::UdpSocket::bind("127.0.0.1:0").and_then(|s| s.connect(s.local_addr()?));
            let before = reached().is_err();
            address("lo", Ipv4Addr::LOCALHOST).unwrap();
            up("lo").unwrap();
            Some((before, reached().is_ok(), give("lo", &other), give("no-such-device0", &other)))
        });
        let Some((before, after, given, nothing)) = told.join().unwrap() else {
            eprintln!("skipped: no permission for a network namespace");
            return;
        };
        assert!(before && after);
        assert_eq!(given, Err(Errno::EINVAL));
        assert_eq!(nothing, Err(Errno::from_raw(libc::ENODEV)));
    }
}
