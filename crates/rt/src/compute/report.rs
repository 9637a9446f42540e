//! What the loop writes between two instances: nothing, or each value, as the loop of the execution-times study did.

use latido_sys::descriptor::write_once;

/// What the loop does with a value before the next instance.
pub(super) trait Report {
    fn value(&self, ns: i64);
}

/// Does nothing.
pub(super) struct Silent;

impl Report for Silent {
    #[inline(always)]
    fn value(&self, _: i64) {}
}

/// Two open file descriptors: the study printed each value and also wrote it to a file. Each line contains one value in ms, with six
/// decimals.
#[derive(Clone, Copy, Debug)]
pub struct Reports {
    /// The descriptor on which the loop prints.
    pub screen: i32,
    /// The descriptor of the file.
    pub file: i32,
}

impl Report for Reports {
    #[inline(never)]
    fn value(&self, ns: i64) {
        let (mut line, mut at) = ([b'0'; 32], 31);
        let mut put = |byte: u8| {
            if let Some(place) = line.get_mut(at) {
                *place = byte;
            }
            at = at.saturating_sub(1);
        };
        put(b'\n');
        let mut left = ns.unsigned_abs();
        let mut digits = 0i32;
        while left > 0 || digits < 7 {
            if digits == 6 {
                put(b'.');
            }
            put(b'0'.wrapping_add(left.wrapping_rem(10) as u8));
            left = left.wrapping_div(10);
            digits = i32::wrapping_add(digits, 1);
        }
        if ns < 0 {
            put(b'-');
        }
        let text = line.get(at.saturating_add(1)..).unwrap_or_default();
        write_once(self.screen, text);
        write_once(self.file, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{Read, pipe},
        os::fd::AsRawFd,
        string::String,
    };

    #[test]
    fn each_value_is_a_line_in_ms() {
        let ((mut screen, to_screen), (mut file, to_file)) = (pipe().unwrap(), pipe().unwrap());
        let reports = Reports { screen: to_screen.as_raw_fd(), file: to_file.as_raw_fd() };
        for ns in [0, 5, 1_234_567, 12_000_000_001, -50, i64::MIN] {
            reports.value(ns);
        }
        drop((to_screen, to_file));
        let (mut printed, mut written) = (String::new(), String::new());
        screen.read_to_string(&mut printed).unwrap();
        file.read_to_string(&mut written).unwrap();
        assert_eq!(printed, "0.000000\n0.000005\n1.234567\n12000.000001\n-0.000050\n-9223372036854.775808\n");
        assert_eq!(printed, written);
    }
}
