//! Exit statuses: the meaning of the number with which a latido command ends.

/// How a command of latido ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command did everything; every measurement is within its limits; nothing is worse.
    Done = 0,
    /// Something other than the machine under test failed.
    Error = 1,
    /// What latido checked is not as it should be: a limit failed, a machine is unfit, a side of a comparison is worse, bytes differ.
    Failed = 2,
    /// latido cannot decide.
    Undecided = 3,
    /// The command line is wrong (EX_USAGE of sysexits.h).
    Usage = 64,
    /// A person or another program interrupted the command (128 plus the number of SIGINT, as in shells).
    Interrupted = 130,
}

impl Exit {
    /// All statuses, by number.
    pub const ALL: [Self; 6] = [Self::Done, Self::Error, Self::Failed, Self::Undecided, Self::Usage, Self::Interrupted];

    /// The statuses of a run. If several apply, the first one wins.
    pub const PRECEDENCE: [Self; 5] = [Self::Interrupted, Self::Error, Self::Undecided, Self::Failed, Self::Done];

    /// The number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the status with this number. A program that latido started may end with any other number.
    pub fn of(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| exit.code() == code)
    }

    /// Returns what the status means for a run, as in `latido help exit-status`.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Done => "measured, and within every limit and expectation",
            Self::Error => "error: a file, a plan's content, the store or the machine prevented the measurement",
            Self::Failed => "a limit or an expectation failed",
            Self::Undecided => {
                "inconclusive or degraded: no real-time permission, contaminated, undecided, an expectation that matches nothing"
            }
            Self::Usage => "the command line is wrong",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the same in one to three words, as in `latido run --help` and the manual page.
    pub const fn brief(self) -> &'static str {
        match self {
            Self::Done => "within limits",
            Self::Error => "error",
            Self::Failed => "a limit failed",
            Self::Undecided => "inconclusive",
            Self::Usage => "usage",
            Self::Interrupted => "interrupted",
        }
    }
}
