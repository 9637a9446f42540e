//! Creates the two ends of a virtual cable between network namespaces (veth(4)).

use super::{Moving, netlink};
use crate::Errno;
use std::{fs::File, mem::offset_of, os::fd::AsRawFd};

/// Attributes of a link (linux/if_link.h) that the C library's bindings do not name the same everywhere.
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

/// The description of a link (rtnetlink(7)), all zero: the kernel chooses.
const IFINFOMSG: [u8; offset_of!(Moving, length) - offset_of!(Moving, family)] = [0; 16];

/// Creates a cable: the end `here` in the calling thread's network namespace, the end `there` in the other one, as `ip link add HERE type
/// veth peer name THERE netns OTHER` does. The kernel removes both ends when either namespace ends.
///
/// # Errors
/// `EPERM`, `EEXIST` for a name that is in use, `EOPNOTSUPP` from a kernel without veth, `EINVAL` for a name of more than 15 bytes.
pub fn pair(here: &str, there: &str, other: &File) -> Result<(), Errno> {
    let fits = |name: &str| !name.is_empty() && name.len() < 16;
    if !fits(here) || !fits(there) {
        return Err(Errno::EINVAL);
    }
    let namespace = other.as_raw_fd().to_ne_bytes();
    let peer = [IFINFOMSG.to_vec(), text(IFLA_IFNAME, there), attribute(IFLA_NET_NS_FD, &namespace)].concat();
    let data = attribute(IFLA_INFO_DATA, &attribute(VETH_INFO_PEER, &peer));
    let info = attribute(IFLA_LINKINFO, &[text(IFLA_INFO_KIND, "veth"), data].concat());
    let body = [IFINFOMSG.to_vec(), text(IFLA_IFNAME, here), info].concat();
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    // A header: length, kind, flags, number, sender (netlink(7)).
    let message = [
        &(body.len() as u32 + 16).to_ne_bytes()[..],
        &libc::RTM_NEWLINK.to_ne_bytes(),
        &(flags as u16).to_ne_bytes(),
        &1_u32.to_ne_bytes(),
        &0_u32.to_ne_bytes(),
        &body,
    ];
    netlink::ask(&message.concat())
}

/// Builds an attribute: the length including its header, the kind, and the value, padded to a multiple of four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = value.len() as u16 + 4;
    let mut bytes = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn text(kind: u16, value: &str) -> Vec<u8> {
    attribute(kind, &[value.as_bytes(), &[0]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net;
    use std::{
        net::{Ipv4Addr, UdpSocket},
        sync::mpsc::{self, RecvTimeoutError},
        thread,
    };

    #[test]
    fn attributes_are_filled_up() {
        assert_eq!(attribute(3, b"abcde").len(), 12);
        assert_eq!(attribute(3, b"abcde")[..2], 9_u16.to_ne_bytes());
        let here = File::open("/proc/self/ns/net").unwrap();
        assert_eq!(pair("a name of many letters", "b", &here), Err(Errno::EINVAL));
    }

    /// A packet sent at one end arrives at the other end, in another namespace. The machine's own network has neither end.
    #[test]
    fn a_cable_carries() {
        let (give, take) = mpsc::channel();
        let (laid, go) = mpsc::channel::<()>();
        let far = thread::spawn(move || {
            give.send(net::leave()).unwrap();
            go.recv().ok()?;
            net::address("far", Ipv4Addr::new(10, 78, 0, 2)).unwrap();
            net::up("far").unwrap();
            let socket = UdpSocket::bind("10.78.0.2:7").unwrap();
            give.send(Err(Errno::EINVAL)).unwrap();
            // When this thread ends, its channel closes: that tells the sender.
            socket.recv(&mut [0; 8]).ok()
        });
        let Ok(namespace) = take.recv().unwrap() else {
            eprintln!("skipped: no permission for a network namespace");
            return;
        };
        let near = thread::spawn(move || {
            net::leave().unwrap();
            if pair("near", "far", &namespace) == Err(Errno::from_raw(libc::EOPNOTSUPP)) {
                eprintln!("skipped: a kernel without veth");
                return false;
            }
            net::address("near", Ipv4Addr::new(10, 78, 0, 1)).unwrap();
            net::up("near").unwrap();
            laid.send(()).unwrap();
            take.recv().unwrap().unwrap_err();
            let socket = UdpSocket::bind("10.78.0.1:0").unwrap();
            // The kernel brings up the cable and its route in other threads. It loses everything that the test sends before that.
            let mut heard = Err(RecvTimeoutError::Timeout);
            while let Err(RecvTimeoutError::Timeout) = heard {
                socket.send_to(b"abc", "10.78.0.2:7").unwrap();
                heard = take.recv_timeout(std::time::Duration::from_millis(10));
            }
            true
        });
        if near.join().unwrap() {
            assert_eq!(far.join().unwrap(), Some(3));
            assert_eq!(net::up("near"), Err(Errno::from_raw(libc::ENODEV)));
        }
    }
}
