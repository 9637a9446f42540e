//! Two lines of a GPIO chip, wired to each other: latido drives one, and the edges of the other are events (include/uapi/linux/gpio.h, the
//! ABI's second version; Linux 5.10).

use crate::{Errno, ioctl, layout::layout};
use std::{
    fs::File,
    mem::MaybeUninit,
    os::fd::{FromRawFd, OwnedFd},
    time::Duration,
};

const KIND: u8 = 0xb4;
const GET_LINE: u64 = ioctl::exchanges::<LineRequest>(KIND, 0x07);
const SET_VALUES: u64 = ioctl::exchanges::<Values>(KIND, 0x0f);

/// Flags of a line: input, output, rising edges are events.
const INPUT: u64 = 1 << 2;
const OUTPUT: u64 = 1 << 3;
const RISING: u64 = 1 << 4;

/// The consumer name of the lines and of the interrupt.
pub const CONSUMER: &str = "latido";

/// struct gpio_v2_line_config_attribute: a struct gpio_v2_line_attribute and its mask; latido uses none.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attribute {
    id: u32,
    padding: u32,
    value: u64,
    mask: u64,
}

/// struct gpio_v2_line_config.
#[repr(C)]
#[derive(Clone, Copy)]
struct LineConfig {
    flags: u64,
    attributes: u32,
    padding: [u32; 5],
    attribute: [Attribute; 10],
}

/// struct gpio_v2_line_request.
#[repr(C)]
#[derive(Clone, Copy)]
struct LineRequest {
    offsets: [u32; 64],
    consumer: [u8; 32],
    config: LineConfig,
    lines: u32,
    buffer: u32,
    padding: [u32; 5],
    fd: i32,
}

/// struct gpio_v2_line_values.
#[repr(C)]
#[derive(Clone, Copy)]
struct Values {
    bits: u64,
    mask: u64,
}

/// struct gpio_v2_line_event.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    timestamp_ns: u64,
    id: u32,
    offset: u32,
    sequence: u32,
    line_sequence: u32,
    padding: [u32; 6],
}

// The structures in include/uapi/linux/gpio.h have only members of fixed sizes (`__u32`, `__aligned_u64`): they are the same for 64 and 32
// bits.
layout!(Attribute: 24, align 8, { id: 0, padding: 4, value: 8, mask: 16 });
layout!(LineConfig: 272, align 8, { flags: 0, attributes: 8, padding: 12, attribute: 32 });
layout!(LineRequest: 592, align 8, {
    offsets: 0,
    consumer: 256,
    config: 288,
    lines: 560,
    buffer: 564,
    padding: 568,
    fd: 588,
});
layout!(Values: 16, align 8, { bits: 0, mask: 8 });
layout!(Event: 48, align 8, { timestamp_ns: 0, id: 8, offset: 12, sequence: 16, line_sequence: 20, padding: 24 });

/// A line that latido drives and a line whose edges are events. This process owns both; closing them releases the lines.
#[derive(Debug)]
pub struct Gpio {
    driven: File,
    seen: File,
}

impl Gpio {
    /// Requests both lines of an open chip: `out`, driven low, and `input`.
    ///
    /// # Errors
    /// `EINVAL` for a line that the chip does not have, `EBUSY` for one that is in use, `ENXIO` for one that has no interrupt.
    pub fn take(chip: &File, out: u32, input: u32) -> Result<Self, Errno> {
        let driven = line(chip, out, OUTPUT)?;
        let seen = line(chip, input, INPUT | RISING)?;
        Ok(Self { driven, seen })
    }

    /// Drives the line high: an edge.
    ///
    /// # Errors
    /// The error that the driver returns.
    #[inline(always)]
    pub fn raise(&self) -> Result<(), Errno> {
        ioctl::ask(&self.driven, SET_VALUES, &mut Values { bits: 1, mask: 1 })
    }

    /// Drives the line low, which is not an event.
    ///
    /// # Errors
    /// The error that the driver returns.
    #[inline(always)]
    pub fn lower(&self) -> Result<(), Errno> {
        ioctl::ask(&self.driven, SET_VALUES, &mut Values { bits: 0, mask: 1 })
    }

    /// Waits for an edge, and returns whether one came in time.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self, within: Duration) -> Result<bool, Errno> {
        ioctl::came(&self.seen, within)
    }

    /// Reads the edges that came, so that they no longer wait.
    ///
    /// # Errors
    /// The error that the driver returns.
    #[inline(always)]
    pub fn taken(&self) -> Result<(), Errno> {
        // The contents do not matter: clearing the memory first would be another call in the loop.
        ioctl::take(&self.seen, &mut [MaybeUninit::<Event>::uninit(); 16]).map(drop)
    }
}

fn line(chip: &File, offset: u32, flags: u64) -> Result<File, Errno> {
    let mut consumer = [0; 32];
    consumer.iter_mut().zip(CONSUMER.as_bytes()).for_each(|(to, from)| *to = *from);
    let mut offsets = [0; 64];
    offsets[0] = offset;
    let none = Attribute { id: 0, padding: 0, value: 0, mask: 0 };
    let config = LineConfig { flags, attributes: 0, padding: [0; 5], attribute: [none; 10] };
    let mut request = LineRequest { offsets, consumer, config, lines: 1, buffer: 0, padding: [0; 5], fd: -1 };
    ioctl::ask(chip, GET_LINE, &mut request)?;
    if request.fd < 0 {
        return Err(Errno::EINVAL);
    }
    // SAFETY: the kernel made the descriptor for this request, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(request.fd) }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// The numbers, flags, sizes and offsets of the members equal those of the kernel's headers.
    #[test]
    fn structures_are_those_of_the_headers() {
        let told = [
            ("GPIO_V2_GET_LINE_IOCTL", GET_LINE),
            ("GPIO_V2_LINE_SET_VALUES_IOCTL", SET_VALUES),
            ("GPIO_V2_LINE_FLAG_INPUT", INPUT),
            ("GPIO_V2_LINE_FLAG_OUTPUT", OUTPUT),
            ("GPIO_V2_LINE_FLAG_EDGE_RISING", RISING),
            ("sizeof(struct gpio_v2_line_event)", size_of::<Event>() as u64),
            ("sizeof(struct gpio_v2_line_config)", size_of::<LineConfig>() as u64),
            ("offsetof(struct gpio_v2_line_request, config)", offset_of!(LineRequest, config) as u64),
            ("offsetof(struct gpio_v2_line_request, num_lines)", offset_of!(LineRequest, lines) as u64),
            ("offsetof(struct gpio_v2_line_request, fd)", offset_of!(LineRequest, fd) as u64),
            ("offsetof(struct gpio_v2_line_event, line_seqno)", offset_of!(Event, line_sequence) as u64),
            ("offsetof(struct gpio_v2_line_values, mask)", offset_of!(Values, mask) as u64),
        ];
        let Some(headers) = ioctl::tests::by_headers(&["linux/gpio.h"], &told.map(|(text, _)| text)) else { return };
        assert_eq!(headers, told.map(|(_, own)| own));
    }

    #[test]
    fn what_is_no_chip_is_refused() {
        let error = Gpio::take(&File::open("/dev/null").unwrap(), 1, 2).unwrap_err();
        assert_eq!(error, Errno::from_raw(libc::ENOTTY));
    }
}
