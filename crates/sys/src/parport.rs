//! A parallel port through its character device (include/uapi/linux/ppdev.h, drivers/char/ppdev.c), whose strobe is wired
//! to its own interrupt: pin 1 to pin 10.

use crate::{Errno, ioctl, layout::layout};
use std::{fs::File, time::Duration};

const KIND: u8 = b'p';
const CLAIM: u64 = ioctl::plain(KIND, 0x8b);
const READ_STATUS: u64 = ioctl::reads::<u8>(KIND, 0x81);
const WRITE_CONTROL: u64 = ioctl::writes::<u8>(KIND, 0x84);
const FROB_CONTROL: u64 = ioctl::writes::<Frob>(KIND, 0x8e);
const CLEAR_IRQ: u64 = ioctl::reads::<libc::c_int>(KIND, 0x93);

/// Of the control lines (include/uapi/linux/parport.h): the strobe, which the port inverts, and what a port at rest has.
const STROBE: u8 = 0x01;
const REST: u8 = 0x0c;

/// struct ppdev_frob_struct.
#[repr(C)]
#[derive(Clone, Copy)]
struct Frob {
    mask: u8,
    value: u8,
}

// include/uapi/linux/ppdev.h: two of `unsigned char`.
layout!(Frob: 2, align 1, { mask: 0, value: 1 });

/// A port that this process has claimed; closing it gives it back. Both threads that share it only ask the kernel.
#[derive(Debug)]
pub struct Parport(File);

impl Parport {
    /// Claims the port of an open device, with its interrupt on and its strobe (pin 1) low.
    ///
    /// # Errors
    /// `ENXIO` for a port that is gone, `EAGAIN` for one that somebody else has.
    pub fn claim(file: File) -> Result<Self, Errno> {
        ioctl::ask(&file, CLAIM, &mut 0_u8)?;
        let port = Self(file);
        ioctl::ask(&port.0, WRITE_CONTROL, &mut { REST | STROBE })?;
        port.lower()?;
        port.taken()?;
        Ok(port)
    }

    /// Pin 1 goes up, and pin 10 with it: an interrupt.
    ///
    /// # Errors
    /// What the driver answers.
    #[inline(always)]
    pub fn raise(&self) -> Result<(), Errno> {
        ioctl::ask(&self.0, FROB_CONTROL, &mut Frob { mask: STROBE, value: 0 })
    }

    /// Pin 1 goes down again, which is no interrupt; the status is read, as some ports want it after one.
    ///
    /// # Errors
    /// What the driver answers.
    #[inline(always)]
    pub fn lower(&self) -> Result<(), Errno> {
        ioctl::ask(&self.0, FROB_CONTROL, &mut Frob { mask: STROBE, value: STROBE })?;
        ioctl::ask(&self.0, READ_STATUS, &mut 0_u8)
    }

    /// Whether an interrupt comes within a time.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self, within: Duration) -> Result<bool, Errno> {
        ioctl::came(&self.0, within)
    }

    /// Takes the interrupts that came.
    ///
    /// # Errors
    /// What the driver answers.
    #[inline(always)]
    pub fn taken(&self) -> Result<(), Errno> {
        ioctl::ask(&self.0, CLEAR_IRQ, &mut 0 as &mut libc::c_int)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers and constants are the kernel's headers'.
    #[test]
    fn requests_are_those_of_the_headers() {
        let expressions = [
            "PPCLAIM",
            "PPRSTATUS",
            "PPWCONTROL",
            "PPFCONTROL",
            "PPCLRIRQ",
            "PARPORT_CONTROL_STROBE",
            "PARPORT_CONTROL_INIT | PARPORT_CONTROL_SELECT",
        ];
        let Some(told) = ioctl::tests::by_headers(&["linux/ppdev.h", "linux/parport.h"], &expressions) else { return };
        let own = [CLAIM, READ_STATUS, WRITE_CONTROL, FROB_CONTROL, CLEAR_IRQ, STROBE.into(), REST.into()];
        assert_eq!(told, own);
    }

    /// A file that is no port is refused.
    #[test]
    fn what_is_no_port_is_refused() {
        let error = Parport::claim(File::open("/dev/null").unwrap()).unwrap_err();
        assert_eq!(error, Errno::from_raw(libc::ENOTTY));
    }
}
