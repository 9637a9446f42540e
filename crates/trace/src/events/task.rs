//! Names and priorities of tasks.

use std::fmt;

/// A task's name: up to 15 bytes, then NUL.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// Creates a name from text that may be longer.
    pub fn of(text: &str) -> Self {
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(text.as_bytes().iter().take(15)).for_each(|(to, from)| *to = *from);
        Self(bytes)
    }

    /// Returns the name as text, with bytes that are not UTF-8 replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        let bytes = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(bytes)
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

/// The kernel's effective priority (include/linux/sched/prio.h): below 0 deadline, 0 to 99 real-time (99 minus the priority that users
/// set), 100 to 139 fair (120 plus nice).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub i16);

/// A scheduling class, as far as the priority shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// SCHED_DEADLINE.
    Deadline,
    /// SCHED_FIFO and SCHED_RR, and a fair task that inherited a real-time priority.
    RealTime,
    /// All others.
    Fair,
}

impl Class {
    /// All classes, the most urgent first.
    pub const ALL: [Self; 3] = [Self::Deadline, Self::RealTime, Self::Fair];

    /// Returns the name of the class.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::RealTime => "real-time",
            Self::Fair => "fair",
        }
    }
}

impl Priority {
    /// Returns the class of this priority.
    #[inline]
    pub fn class(self) -> Class {
        match self.0 {
            ..0 => Class::Deadline,
            0..100 => Class::RealTime,
            _ => Class::Fair,
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ..0 => write!(f, "deadline"),
            prio @ 0..100 => write!(f, "real-time {}", 99 - prio),
            prio => write!(f, "nice {}", prio - 120),
        }
    }
}
