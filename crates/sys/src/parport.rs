//! A parallel port through its character device (include/uapi/linux/ppdev.h, drivers/char/ppdev.c). Its strobe is wired to its own
//! interrupt: pin 1 to pin 10.

use crate::{Errno, ioctl, layout::layout};
use std::{fs::File, time::Duration};

const KIND: u8 = b'p';
const CLAIM: u64 = ioctl::plain(KIND, 0x8b);
const READ_STATUS: u64 = ioctl::reads::<u8>(KIND, 0x81);
const WRITE_CONTROL: u64 = ioctl::writes::<u8>(KIND, 0x84);
const FROB_CONTROL: u64 = ioctl::writes::<Frob>(KIND, 0x8e);
const CLEAR_IRQ: u64 = ioctl::reads::<libc::c_int>(KIND, 0x93);

/// Control lines (include/uapi/linux/parport.h): the strobe, which the port inverts, and the value of a port at rest.
const STROBE: u8 = 0x01;
const REST: u8 = 0x0c;

/// struct ppdev_frob_struct.
#[repr(C)]
#[derive(Clone, Copy)]
struct Frob {
    mask: u8,
    value: u8,
}

// include/uapi/linux/ppdev.h: two `unsigned char`.
layout!(Frob: 2, align 1, { mask: 0, value: 1 });

/// A port that this process has claimed; closing it releases it. The two threads that share it only send requests to the kernel.
#[derive(Debug)]
pub struct Parport(File);

impl Parport {
    /// Claims the port of an open device, enables its interrupt, and sets its strobe (pin 1) low.
    ///
    /// # Errors
    /// `ENXIO` for a port that is gone, `EAGAIN` for one that another driver or process has claimed.
    pub fn claim(file: File) -> Result<Self, Errno> {
        ioctl::ask(&file, CLAIM, &mut 0_u8)?;
        let port = Self(file);
        ioctl::ask(&port.0, WRITE_CONTROL, &mut { REST | STROBE })?;
        port.lower()?;
        port.taken()?;
        Ok(port)
    }

    /// Raises pin 1, and pin 10 with it: this causes an interrupt.
    ///
    /// # Errors
    /// The driver's error.
    #[inline(always)]
    pub fn raise(&self) -> Result<(), Errno> {
        ioctl::ask(&self.0, FROB_CONTROL, &mut Frob { mask: STROBE, value: 0 })
    }

    /// Lowers pin 1 again, which causes no interrupt. Then it reads the status, because some ports need that after an interrupt.
    ///
    /// # Errors
    /// The driver's error.
    #[inline(always)]
    pub fn lower(&self) -> Result<(), Errno> {
        ioctl::ask(&self.0, FROB_CONTROL, &mut Frob { mask: STROBE, value: STROBE })?;
        ioctl::ask(&self.0, READ_STATUS, &mut 0_u8)
    }

    /// Waits for an interrupt, at most `within`. Returns whether one came.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self, within: Duration) -> Result<bool, Errno> {
        ioctl::came(&self.0, within)
    }

    /// Clears the interrupts that came.
    ///
    /// # Errors
    /// The driver's error.
    #[inline(always)]
    pub fn taken(&self) -> Result<(), Errno> {
        ioctl::ask(&self.0, CLEAR_IRQ, &mut 0 as &mut libc::c_int)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers and constants are equal to those of the kernel's headers.
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

    /// `claim` refuses a file that is not a port.
    #[test]
    fn what_is_no_port_is_refused() {
        let error = Parport::claim(File::open("/dev/null").unwrap()).unwrap_err();
        assert_eq!(error, Errno::from_raw(libc::ENOTTY));
    }
}
